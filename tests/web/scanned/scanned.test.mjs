// The Leaks page of a tape with a leak scan: its classes, what holds memory, and what came when.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { clean, has, open, settled, soon, THEMES, violations } from "../browser/harness.mjs";

const tile = (page, name) => page.getByRole("group", { name: "Classes" }).getByRole("button", { name });
const rows = (page, label) => page.getByRole("grid", { name: label }).getByRole("row");

test("the classes have their bytes and blocks, and choose the records", async () => {
	const page = await open("#/leaks");
	for (const [name, blocks] of [
		["Definitely lost", "40 blocks"],
		["Indirectly lost", "40 blocks"],
		["Possibly lost", "1 block"],
		["Still reachable", "30 blocks"],
	])
		assert.match(await tile(page, name).innerText(), new RegExp(`${blocks}$`), name);
	await soon(() => rows(page, "Loss records").count(), 5); // with the head
	await tile(page, "Definitely lost").click();
	await has(page, "class", "definitely_lost");
	await soon(() => rows(page, "Loss records").count(), 2);
	const row = rows(page, "Loss records").nth(1);
	assert.match(await row.innerText(), /lose[^]*definitely lost[^]*19\.5 KiB[^]*40[^]*11\.7 KiB/);
	await page.getByRole("grid", { name: "Loss records" }).focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await page.getByText("nothing points to it; 11.7 KiB in 40 blocks hang on it.").waitFor();
	await page.getByText("leak:lose").waitFor();
	await page.getByText(/^Scan 1, at the end of the program after/).waitFor();
	await clean(page);
});

test("a variable is named with what it keeps alive, and with the way to it", async () => {
	const page = await open("#/leaks");
	await page.getByRole("radio", { name: "Holders" }).click();
	await has(page, "view", "holders");
	await settled(page);
	const holder = rows(page, "Holders").filter({ hasText: "the_list" });
	assert.match(await holder.innerText(), /global[^]*the_list[^]*struct item \*[^]*30\.0 KiB[^]*30[^]*keep/);
	await holder.click();
	await page.getByRole("list", { name: "What the_list keeps" }).getByText("30 blocks").waitFor();
	const site = rows(page, "Call sites by what they keep alive").filter({ hasText: "the_list" });
	await site.click();
	const chain = page.getByRole("region", { name: "Shortest chain of pointers to it" });
	assert.match(await chain.innerText(), /the_list[^]*at \+0x0[^]*keep/);
	await clean(page);
});

test("retained size is a measure: what the blocks of each function keep alive", async () => {
	const page = await open("#/flame");
	await page.getByRole("button", { name: "More measures" }).click();
	await page.getByRole("button", { name: "Retained size" }).click();
	await has(page, "m", "retained");
	await page.getByRole("radio", { name: "Retained size", checked: true }).waitFor();
	await page.getByRole("tree", { name: "Flame graph, Retained size" }).waitFor();
	await settled(page);
	await page.getByRole("button", { name: "Export" }).click();
	const [file] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: /^folded/ }).click(),
	]);
	assert.equal(
		readFileSync(await file.path(), "utf8"),
		"main;lose 32000\nmain;keep 30720\nmain;middle 9000\n", // what hangs on lost blocks is theirs
	);
	await page.locator("canvas.flame-canvas").focus();
	await page.keyboard.press("t");
	await page.waitForFunction(() => location.hash.startsWith("#/tree"));
	await has(page, "m", "retained");
	await settled(page);
	await page.getByRole("treegrid").focus();
	await page.keyboard.press("*");
	await soon(
		() => page.getByRole("treegrid").innerText(),
		/main[^]*70\.0 KiB[^]*lose[^]*31\.3 KiB[^]*keep[^]*30\.0 KiB/,
	);
	await clean(page);
});

test("over time the page is as without a scan, and says nothing of what is unknown", async () => {
	const page = await open("#/leaks?view=growth");
	await page.getByRole("group", { name: "Patterns" }).getByRole("button", { name: "All" }).waitFor();
	assert.equal(await page.getByText(/is known from a leak scan/).count(), 0);
	await clean(page);
});

test("memory that is not used is listed with its site", async () => {
	const page = await open("#/leaks");
	await page.getByRole("radio", { name: "Not used" }).click();
	await has(page, "view", "stale");
	await settled(page);
	const row = rows(page, "Call sites of memory that is not used").filter({ hasText: "keep" });
	assert.match(await row.innerText(), /keep[^]*(2[6-9]|30)\.\d KiB[^]*%[^]*30[^]*ms/);
	await page
		.getByText(/^Live blocks after .* (what was only read counts as not touched|reads and writes are seen)/)
		.waitFor();
	await row.click();
	await page.getByText(/blocks of 30 not used at all/).waitFor();
	await clean(page);
});

for (const theme of THEMES)
	for (const view of ["classes", "holders", "growth", "stale"])
		test(`the view of ${view} is accessible in the ${theme} theme, and fits a phone`, async () => {
			const page = await open(`#/leaks?view=${view}&open=0`, { theme });
			assert.deepEqual(await violations(page), []);
			await page.setViewportSize({ width: 390, height: 844 });
			await settled(page);
			assert.ok(
				await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
				"no sideways scrolling",
			);
			assert.deepEqual(await violations(page), []);
			await clean(page);
		});
