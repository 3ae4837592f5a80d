// The file of `memtape report --html` in a browser, opened from where it lies, on the tape of program.c.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, open, param, settled, THEMES, violations } from "../browser/harness.mjs";

const totals = JSON.parse(process.env.MEMTAPE_TOTALS); // what the command line says of the same tape, as the app writes it

for (const theme of THEMES)
	test(`the Overview shows the tape's totals, ${theme}`, async () => {
		const page = await open("", { theme });
		const tile = async (name) => (await page.getByRole("link", { name }).innerText()).replace(/\s+/g, " ");
		assert.ok((await tile(/^Peak heap/)).includes(totals.peak), await tile(/^Peak heap/));
		assert.ok((await tile(/^Leaked/)).includes(totals.leaked), await tile(/^Leaked/));
		await page.getByText("Peak " + totals.peak).waitFor();
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
		assert.deepEqual(await violations(page), []);
		await clean(page);
	});

test("the flame graph changes its measure, zooms, and keeps both in its address", async () => {
	const page = await open("#/flame?v=1");
	await page.getByText(totals.peak).first().waitFor();
	await page
		.getByRole("radio", { name: "Leaked" })
		.or(page.getByRole("button", { name: "Leaked" }))
		.first()
		.click();
	await settled(page);
	await page.getByText(totals.leaked).first().waitFor();
	assert.equal(await param(page, "m"), "leaked");
	await page.evaluate((hash) => {
		location.hash = `#/flame?v=1&z=${hash}`;
	}, totals.main);
	await settled(page);
	await page.locator(".flame-head").getByText("main").first().waitFor();
	await page.reload();
	await settled(page);
	assert.equal(await param(page, "z"), totals.main);
	await clean(page);
});

test("of a search in the flame graph a report knows the least it can be", async () => {
	const page = await open("#/flame?v=1&find=main");
	await page
		.locator(".flame-search output")
		.filter({ hasText: /^\d+ · \u2265\u2009[\d.]+ %$/ })
		.waitFor();
	await clean(page);
});

test("call sites are those of the tape, in any order", async () => {
	const page = await open("#/sites?v=1");
	await page.getByText("load").first().waitFor();
	await page.evaluate(() => {
		location.hash = "#/sites?v=1&sort=leaked_size";
	});
	await settled(page);
	const first = await page.locator("[role=row]").filter({ hasText: "KiB" }).first().innerText();
	assert.match(first, /grow/);
	assert.ok(first.includes(totals.grown), first);
	await clean(page);
});

test("what is not in the report says so, and what to do", async () => {
	const page = await open();
	await page.evaluate(() => {
		location.hash = "#/allocations?v=1";
	});
	await page.getByText("Not in this report").waitFor();
	await page.getByText(/memtape serve program\.mtape/).waitFor();
	await page.evaluate(() => {
		location.hash = "#/flame?v=1&q=size%20%3E%201";
	});
	await page.getByText("Not in this report").first().waitFor();
	await clean(page);
});

test("the report has which files there are, and not their text", async () => {
	const page = await open("#/source?v=1");
	await page.getByText("program.c").first().waitFor();
	await page.getByText("Not in this report").waitFor();
	await clean(page);
});

test("nothing is offered that a report cannot do", async () => {
	const page = await open();
	const rail = await page.locator(".rail-link").allInnerTexts();
	assert.ok(
		rail.some((text) => text.startsWith("Leaks")),
		rail.join(),
	);
	for (const name of ["Allocations", "Address space", "Compare", "Console"])
		assert.ok(!rail.some((text) => text.startsWith(name)), name);
	assert.equal(await page.getByRole("button", { name: "Export" }).count(), 0);
	assert.equal(await page.getByRole("combobox").count(), 0);
	await page.evaluate(() => {
		location.hash = "#/sites?v=1&q=size%20%3E%201";
	});
	await page.getByText("Not in this report").first().waitFor();
	assert.equal(await page.getByRole("button", { name: /Try again|Copy request/ }).count(), 0);
	await page.getByRole("button", { name: "Remove the filter" }).first().click();
	await page.getByText("grow").first().waitFor();
	await clean(page);
});

test("a part of the time is shown larger, by pointer and by text", async () => {
	const page = await open();
	const box = await page.locator(".timeline .brush").boundingBox();
	await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 4 });
	await page.mouse.up();
	await page.getByRole("button", { name: "Zoom out" }).waitFor();
	assert.match(await param(page, "view"), /\.\./);
	assert.equal(await param(page, "t"), null);
	assert.equal(await page.getByText("Not in this report").count(), 0);
	await page.getByRole("button", { name: /^Time range/ }).click();
	await page.getByLabel("From").fill("50%");
	await page.getByLabel("Until").fill("end");
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => /view=/.test(location.hash) && document.querySelector(".time-button.set"));
	await page.getByRole("button", { name: "Zoom out" }).click();
	await page.waitForFunction(() => !/view=/.test(location.hash));
	await clean(page);
});

for (const name of ["tree", "leaks", "lifetimes", "threads", "maps"])
	test(`the page ${name} has what it asks for`, async () => {
		const page = await open(`#/${name}?v=1`);
		await settled(page);
		assert.equal(await page.getByText("Not in this report").count(), 0);
		await clean(page);
	});
