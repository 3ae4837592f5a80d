// The Compare page in a browser, on one tape: its start and its peak, until other moments are chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, param, settled, soon, THEMES, violations } from "./harness.mjs";

const total = (page) => page.locator(".compare-total");

for (const theme of THEMES)
	for (const width of [1440, 1024])
		test(`Compare is accessible and quiet, ${theme} at ${width}`, async () => {
			const page = await open("#/compare", { theme, width });
			await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
			assert.deepEqual(await violations(page), []);
			await soon(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			await soon(() => page.title(), /^Compare – .* – memtape$/);
			await page.keyboard.press("t");
			await page.getByRole("region", { name: "Differences as a table" }).waitFor();
			assert.deepEqual(await violations(page), []);
			await clean(page);
		});

test("one tape says how two are served, and compares its mark with its end", async () => {
	const page = await open("#/compare");
	await page.getByText("memtape serve before.mtape after.mtape").first().waitFor();
	assert.equal(await page.getByLabel("Moment before").inputValue(), "mark(loaded)");
	assert.equal(await page.getByLabel("Moment after").inputValue(), "end");
	await soon(() => total(page).innerText(), / → /);
	await clean(page);
});

test("marks are chosen from lists, for a pair and for each side, and on the curve", async () => {
	const page = await open("#/compare", { theme: "dark" });
	const button = page.getByRole("button", { name: "Choose moments" });
	await button.focus();
	await page.keyboard.press("Enter");
	const side = (name) => page.getByRole("group", { name, exact: true });
	assert.equal(await side("Pairs").getByRole("button", { pressed: true }).innerText(), "mark(loaded) \u2192 end");
	assert.deepEqual(await violations(page), []);
	await side("Before").getByRole("button", { name: "start", exact: true }).click();
	await side("After").getByRole("button", { name: "mark(loaded)", exact: true }).click();
	await has(page, "ta", "start");
	await has(page, "tb", "mark(loaded)");
	await page.keyboard.press("Escape");
	await soon(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Choose moments");
	await page.getByText("--at 'start,mark(loaded)'").waitFor();
	await page.getByRole("button", { name: "Mark loaded" }).click({ modifiers: ["Shift"] });
	await has(page, "ta", "mark(loaded)");
	await button.click();
	await side("Pairs").getByRole("button", { name: "start \u2192 peak" }).click();
	await has(page, "tb", "peak");
	await soon(() => total(page).innerText(), /^0 B → .*new$/s);
	await clean(page);
});

test("a phone shows the lists of moments", async () => {
	const page = await open("#/compare", { width: 390 });
	await page.getByRole("button", { name: "Choose moments" }).click();
	const box = await page.locator(".compare-moments").boundingBox();
	assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("moments are typed, swapped by a key, and live in the address", async () => {
	const page = await open("#/compare");
	const before = page.getByLabel("Moment before"),
		first = await total(page).innerText();
	await before.fill("50%");
	await before.press("Enter");
	await settled(page);
	await has(page, "ta", "50%");
	const there = await soon(
		() => total(page).innerText(),
		(text) => text !== first,
	);
	await page.getByLabel("Moment before").evaluate((field) => field.blur());
	await page.keyboard.press("s");
	await settled(page);
	await has(page, "ta", "end");
	await has(page, "tb", "50%");
	await page.waitForFunction((old) => document.querySelector(".compare-total")?.innerText !== old, there);
	await page.goBack();
	await settled(page);
	await has(page, "ta", "50%");
	await page.waitForFunction((old) => document.querySelector(".compare-total")?.innerText === old, there);
	await clean(page);
});

test("a change is chosen by keyboard and leads to other pages", async () => {
	const page = await open("#/compare");
	const row = page.locator(".compare-single, .compare-row").first();
	await row.focus();
	await page.keyboard.press("Enter");
	await page.getByRole("region", { name: "Selected function" }).waitFor();
	await has(page, "s", /^[0-9a-f]{16}$/);
	const link = page.getByRole("region", { name: "Selected function" }).getByRole("link", { name: "Flame graph" });
	await link.press("Enter");
	await page.getByRole("tree", { name: /^Flame graph/ }).waitFor();
	await clean(page);
});

test("the line above leaves room for the total, however late the browser tells of widths", async () => {
	const page = await open("#/compare?ta=50%25&tb=peak");
	await page.addInitScript(() => {
		const Soon = globalThis.ResizeObserver;
		globalThis.ResizeObserver = class extends Soon {
			observe(element) {
				setTimeout(() => super.observe(element), 1000);
			}
		};
	});
	await page.reload();
	await total(page).waitFor();
	await soon(
		() =>
			page.evaluate(() => {
				const right = (element) => element.getBoundingClientRect().right,
					parts = [...document.querySelectorAll(".compare-tools > *")];
				return (
					Math.max(...parts.map(right)) <=
					document.querySelector(".compare-total").getBoundingClientRect().left
				);
			}),
		true,
	);
	await clean(page);
});

test("units of work divide what is shown", async () => {
	const page = await open("#/compare?ta=50%25&tb=peak");
	const there = await total(page).innerText();
	await page.getByRole("radio", { name: "Per unit" }).click();
	await page.getByLabel("Units of work, before:after").fill("10:1000");
	await page.getByLabel("Units of work, before:after").press("Enter");
	await settled(page);
	await has(page, "per", "10:1000");
	await page.waitForFunction((old) => document.querySelector(".compare-total")?.innerText !== old, there);
	await soon(() => total(page).innerText(), /−/);
	await clean(page);
});

test("one tape's spans: what was allocated in the first half and in the second", async () => {
	const page = await open("#/compare");
	await page.getByRole("radio", { name: "Allocated" }).click();
	await page.getByLabel("Time before", { exact: true }).waitFor();
	const first = await total(page).innerText();
	await page.getByLabel("Time after", { exact: true }).fill("0%..1%");
	await page.getByLabel("Time after", { exact: true }).press("Enter");
	await page.waitForFunction((old) => document.querySelector(".compare-total")?.innerText !== old, first);
	assert.equal(await param(page, "rb"), "0%..1%");
	await page.getByLabel("Time before", { exact: true }).fill("90%..10%");
	await page.getByLabel("Time before", { exact: true }).press("Enter");
	await page.getByText("it begins after it ends").first().waitFor();
	await clean(page, /400/);
});

test("Shift and a click on the timeline compare two moments", async () => {
	const page = await open("#/overview");
	const box = await page.locator(".timeline .brush").boundingBox();
	await page.mouse.click(box.x + box.width * 0.1, box.y + 60);
	await page.waitForFunction(() => /[?&]at=/.test(location.hash));
	await page.keyboard.down("Shift");
	await page.mouse.click(box.x + box.width * 0.9, box.y + 60);
	await page.keyboard.up("Shift");
	await page.waitForFunction(() => location.hash.startsWith("#/compare"));
	await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
	assert.ok(parseInt(await param(page, "ta")) < parseInt(await param(page, "tb")));
	await page.goBack();
	await page.waitForFunction(() => location.hash.startsWith("#/overview"));
	await clean(page);
});
