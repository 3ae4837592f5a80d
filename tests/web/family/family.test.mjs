// The process tree of a session: who is whose child, when each lived, how it ended, and whose the heap was.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, THEMES, violations } from "../browser/harness.mjs";

const table = (page) => page.getByRole("region", { name: "Process tree", exact: true }).locator("table");
const rows = (page) => table(page).locator("tbody tr");
const shot = async (page, name) => {
	if (process.env.FAMILY_SHOTS)
		await page.screenshot({ path: `${process.env.FAMILY_SHOTS}/${name}.png`, fullPage: true });
};

for (const theme of THEMES)
	for (const width of [1440, 1024, 390])
		test(`the whole tree without a fault, ${theme} at ${width}`, async () => {
			const page = await open("#/family", { theme, width });
			await soon(() => rows(page).count(), 4);
			await page.locator("svg .bands-line").waitFor();
			await shot(page, `${theme}-${width}`);
			const levels = await rows(page)
				.locator("th a")
				.evaluateAll((all) => all.map((a) => Number(/level (\d+)/.exec(a.getAttribute("aria-label"))[1])));
			assert.deepEqual([...levels].sort(), [1, 2, 2, 3]);
			assert.equal(levels[levels.indexOf(3) - 1], 2); // below its parent
			const text = await table(page).innerText();
			assert.match(text, /exit 3/);
			assert.match(text, /SIGKILL|not known/);
			assert.match(await rows(page).nth(0).innerText(), /exit 0/);
			const bars = await table(page)
				.locator(".life > i")
				.evaluateAll((all) => all.map((bar) => [parseFloat(bar.style.left), parseFloat(bar.style.width)]));
			assert.equal(bars.length, 4);
			for (const [left, length] of bars)
				assert.ok(left >= 0 && length > 0 && left + length < 100.1, bars.join(" "));
			assert.equal(bars[0][0], 0); // one axis for all: the first begins it
			assert.deepEqual(await violations(page), []);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			const cut = await table(page).evaluate((e) => e.scrollWidth - e.parentElement.clientWidth);
			if (width === 1440) assert.ok(cut <= 0, `${cut} px of the columns are out of sight`);
			await clean(page);
		});

test("a process leads to the app for it alone, by the keyboard, and Back to the tree", async () => {
	const page = await open("#/family");
	const link = rows(page).nth(1).getByRole("link"),
		pid = await rows(page).nth(1).locator("td").first().innerText();
	await link.focus();
	await page.keyboard.press("Enter");
	await has(page, "q", `pid = ${pid} and process = "family"`);
	await settled(page);
	assert.match(await page.evaluate(() => location.hash), /^#\/overview/);
	await page.goBack();
	await soon(() => rows(page).count(), 4);
	await clean(page);
});
