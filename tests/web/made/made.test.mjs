// Tapes that are not as they were recorded - one made of folded stacks, one stripped of blocks that lived shortly -, and one of a
// program that freed a block twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, open, settled, show, soon, THEMES, violations } from "../browser/harness.mjs";

const banner = (page) => page.locator("main details.banner");
const go = async (page, name) => {
	await page.evaluate((hash) => {
		location.hash = location.hash.replace(/^#\/\w+/, hash);
	}, `#/${name}`);
	await settled(page);
};

for (const theme of THEMES)
	test(`a converted tape says what of, and pages say what it has not, ${theme}`, async () => {
		const page = await open("", { theme });
		await show(page, "made.mtape");
		assert.equal(await page.locator("header.top .pulse").count(), 0); // nobody writes to it, though it is new
		await page.locator("header.top").getByText("Converted", { exact: true }).waitFor();
		await soon(
			() => banner(page).locator("summary").innerText(),
			/^This tape was made from sums\.folded \(folded\), without times, threads, addresses, frees and 7 more facts\.$/,
		);
		assert.equal(await banner(page).locator("li").first().isVisible(), false);
		await banner(page).locator("summary").click();
		await soon(
			() => banner(page).locator("ul").innerText(),
			/not in that file: times \(only the order is known\), threads[^]*read as live bytes/,
		);
		await page.getByRole("heading", { name: "This tape has no times" }).waitFor();
		await soon(
			() =>
				page
					.getByRole("region", { name: "Summary" })
					.innerText()
					.then((text) => text.replace(/\s+/g, " ")),
			/^Peak heap 4\.98 KiB in 2 blocks Peak RSS \S+ not sampled on this tape Allocations 2 times unknown Allocated 4\.98 KiB .* Temporary \S+ not known on this tape$/,
		);
		await soon(
			() =>
				page
					.locator("main .sites th")
					.allInnerTexts()
					.then((all) => all.join()),
			/^Function,Alive at the peak\s*↓,Count$/,
		);
		assert.equal(await page.locator("main canvas, main .spark, main .heat").count(), 0);
		assert.deepEqual(await violations(page), []);
		await go(page, "flame");
		await page.locator("canvas.flame-canvas").waitFor();
		assert.equal(await page.locator("main .chart").count(), 0);
		assert.equal(await page.getByRole("button", { name: /^Time range/ }).count(), 0);
		await page.keyboard.press("]");
		await page.keyboard.press("p");
		assert.ok(!/[?&]at=/.test(await page.evaluate(() => location.hash)));
		await page.keyboard.press("?");
		await page.locator("dialog .help-keys").first().waitFor();
		assert.equal(
			await page
				.locator("dialog .help-keys")
				.getByText(/time point|timeline/)
				.count(),
			0,
		);
		await page.keyboard.press("Escape");
		await go(page, "sites");
		await soon(
			() =>
				page
					.getByRole("columnheader")
					.allInnerTexts()
					.then((all) => all.map((text) => text.trim().split("\n")[0]).join()),
			/^Call site,Alive at the peak\s*↓,Leaked,Allocated,Allocations$/,
		);
		await go(page, "leaks");
		await page.getByRole("columnheader", { name: "Never freed" }).waitFor();
		assert.equal((await page.getByText("Growing").count()) + (await page.locator("main .spark").count()), 0);
		await go(page, "compare");
		await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
		assert.equal(await page.locator("main .compare-time").count(), 0);
		for (const [name, title] of [
			["threads", "This tape has no threads"],
			["space", "This tape has no addresses"],
			["lifetimes", "This tape has no times"],
		]) {
			await go(page, name);
			await page.getByRole("heading", { name: title }).waitFor();
			assert.equal(await page.locator("main table, main canvas").count(), 0);
			assert.deepEqual(await violations(page), []);
		}
		await go(page, "allocations");
		await page
			.getByText("Not known on this tape: time, usable, lifetime, call, thread, address; sizes are averages")
			.waitFor();
		await soon(
			() =>
				page
					.getByRole("columnheader")
					.allInnerTexts()
					.then((all) => all.map((text) => text.trim().split("\n")[0]).join()),
			/^Size\S*,Call site$/,
		);
		await page.locator("main [role=row]").nth(1).click();
		await page.getByText(/^Allocated by/).waitFor();
		assert.equal(await page.getByText("Neighbours in memory").count(), 0);
		assert.deepEqual(await violations(page), []);
		await clean(page);
	});

test("a stripped tape says of what, has all its columns; the recording itself says nothing", async () => {
	const page = await open();
	await show(page, "stripped.mtape");
	await soon(
		() => banner(page).locator("summary").innerText(),
		/^This tape was stripped of [\d,]+ allocations \(.* KiB\) freed in less than 1\.00 ms\.$/,
	);
	await banner(page).locator("summary").click();
	await soon(
		() => banner(page).locator("li").innerText(),
		/sums of what was allocated, freed and temporary are without them/,
	);
	await go(page, "allocations");
	await page.getByRole("columnheader", { name: /Address/ }).waitFor();
	assert.equal(await page.getByText(/Not known on this tape/).count(), 0);
	await go(page, "lifetimes");
	await page.getByText("Still alive after").waitFor();
	assert.deepEqual(await violations(page), []);
	await show(page, "program.mtape");
	await soon(() => banner(page).count(), 0);
	await go(page, "overview");
	await page.locator("main .timeline canvas").waitFor();
	await page.locator("main .heat").waitFor();
	await soon(
		() => page.locator("main .tiles .spark").count(),
		(count) => count >= 5,
	);
	await clean(page);
});

test("a block that was freed twice is a finding, with its three stacks", async () => {
	const page = await open();
	await show(page, "twice.mtape");
	const finding = page.locator(".finding").filter({ hasText: "A block is freed twice" });
	await finding.getByText(/^free was called for a block that had been freed already/).waitFor();
	await finding.getByText("Stacks").click();
	for (const [name, frame] of [
		["Freed by", "free_again"],
		["Allocated by", "make"],
		["Freed before by", "free_first"],
	])
		await finding
			.getByRole("region", { name, exact: true })
			.getByRole("link", { name: frame, exact: true })
			.waitFor();
	assert.deepEqual(await violations(page), []);
	await finding.getByRole("link", { name: /Evidence/ }).click();
	await page.getByRole("grid", { name: "Allocations" }).waitFor();
	await soon(() => page.locator(".list-tools .note").innerText(), /^1 /);
	await clean(page);
});
