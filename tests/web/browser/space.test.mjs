// The Address space page: colours, layouts, a cell and what is in it, the moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, open, param, settled, THEMES, violations } from "./harness.mjs";

const legend = (page) => page.getByRole("list", { name: "Legend" });
const map = (page) => page.getByRole("application").first();

for (const theme of THEMES)
	for (const width of [1440, 1024])
		test(`every colouring has its legend and no fault, ${theme} at ${width}`, async () => {
			const page = await open("#/space", { theme, width });
			for (const [name, expected] of [
				["Age", /below 1 ms|1 ms|ms/],
				["Size", /[KM]?i?B/],
				["Thread", /program/],
				["Call site", /grow/],
				["Use", /in use/],
			]) {
				await page.getByRole("radio", { name, exact: true }).click();
				await legend(page).getByText(expected).first().waitFor();
				await settled(page);
			}
			await page.getByRole("radio", { name: "Hilbert" }).click();
			await page.waitForFunction(() => location.hash.includes("curve=hilbert"));
			await page.getByRole("radio", { name: "Call site" }).click();
			await page.waitForFunction(() => location.hash.includes("by=site"));
			await settled(page);
			assert.deepEqual(await violations(page), []);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			await clean(page);
		});

test("a cell is chosen by keys, tells its blocks, and Enter lists them", async () => {
	const page = await open("#/space");
	await map(page).focus();
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowRight");
	const cell = page.getByRole("region", { name: "The chosen cell" });
	await cell.waitFor();
	const first = await cell.locator("header b").first().innerText();
	await page.keyboard.press("ArrowLeft");
	await page.waitForFunction((old) => document.querySelector(".space-cell header b")?.innerText !== old, first);
	await page.locator("tr[aria-current]").waitFor();
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => location.hash.startsWith("#/allocations"));
	assert.match(await param(page, "q"), /^address in 0x[0-9a-f]+\.\.0x[0-9a-f]+ and alive_at \d+ns$/);
	await settled(page);
	await page.goBack();
	await map(page).waitFor();
	await clean(page);
});

test("a click on a cell in use shows an allocation", async () => {
	const page = await open("#/space?curve=hilbert");
	const box = await map(page).boundingBox();
	await page.mouse.click(box.x + 4, box.y + 4);
	await page.getByRole("region", { name: "The chosen cell" }).locator("tbody tr").first().waitFor();
	await clean(page);
});

test("the moment plays, stops, and is in the address", async () => {
	const page = await open("#/space");
	await page.getByRole("slider").focus();
	await page.keyboard.press("Home");
	await page.waitForFunction(() => /[?&]at=0/.test(location.hash));
	await page.getByRole("slider").evaluate((element) => element.blur());
	await page.keyboard.press("Space");
	await page.getByRole("button", { name: "Pause" }).waitFor();
	await page.waitForFunction(() => !/[?&]at=0(ns)?(&|$)/.test(location.hash) && /[?&]at=/.test(location.hash));
	await page.keyboard.press("Space");
	await page.getByRole("button", { name: "Play" }).waitFor();
	await page.getByRole("button", { name: "Peak" }).click();
	await page.waitForFunction(() => !/[?&]at=/.test(location.hash));
	await clean(page);
});

test("regions are told by what they are for, and the first has most that nobody uses", async () => {
	const page = await open("#/space"),
		table = page.locator(".space-list"),
		cells = (n) => table.locator(`tbody td:nth-child(${n})`).allInnerTexts();
	await table.waitFor();
	assert.ok((await cells(2)).every((use) => /^(Main heap|Thread arena|Mapped arena|Single blocks?)$/.test(use)));
	const unused = async () =>
		(await table.locator("tbody td:nth-child(3) [data-exact]").evaluateAll((all) => all.map((e) => e.value))).map(
			Number,
		);
	const first = await unused();
	assert.ok(first.length > 1 && first[0] > 0);
	assert.deepEqual(
		first,
		[...first].sort((a, b) => b - a),
	);
	await page.getByRole("radio", { name: "By address" }).click();
	await page.waitForFunction(() => location.hash.includes("order=address"));
	const addresses = await table.locator("tbody th").allInnerTexts();
	assert.deepEqual(
		addresses,
		[...addresses].sort((a, b) => Number(a) - Number(b)),
	);
	await clean(page);
});
