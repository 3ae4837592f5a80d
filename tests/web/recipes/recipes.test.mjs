// The steps that docs/recipes tell for the app, on the programs they tell of; with MEMTAPE_SHOTS, their pictures, too.
import { join } from "node:path";
import { test } from "node:test";
import { clean, open, param, settled, show, soon } from "../browser/harness.mjs";

const SHOTS = process.env.MEMTAPE_SHOTS;
const SIZE = { width: 1180, height: 700 };
const rail = (page, name) =>
	page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: new RegExp(`^${name}`) });

async function shot(page, name, height) {
	await settled(page);
	const { x, y, width } = await page.locator("main").boundingBox();
	if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}.png`), clip: { x, y, width, height } });
}

async function sides(page, before, after) {
	for (const [side, tape] of [
		[/^Before/, before],
		[/^After/, after],
	]) {
		await page.getByRole("button", { name: side }).click();
		await page.locator(".menu-item").filter({ hasText: tape }).click();
	}
}

const verdict = async (page) =>
	(await page.getByRole("complementary", { name: "Changes" }).innerText()).replace(/\s+/g, " ");

test("find-a-leak.md: what grows in redis is the module's function", async () => {
	const page = await open("", SIZE);
	await show(page, "redis.mtape");
	await rail(page, "Leaks").click();
	await page.getByText("Growing").first().click();
	await soon(() => page.locator("main [role=row]").nth(1).innerText(), /^remember_visit/);
	await shot(page, "leak-in-redis", 250);
	await page.getByRole("grid").focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await page.getByText("visit_command").first().waitFor();
	await clean(page);
});

test("compare.md: the planted change is the verdict", async () => {
	const page = await open("", SIZE);
	await show(page, "after.mtape");
	await rail(page, "Compare").click();
	await sides(page, "before.mtape", "after.mtape");
	await page.getByRole("radio", { name: "Leaked" }).click();
	await soon(() => param(page, "m"), "leaked");
	await soon(() => verdict(page), /Verdict \+\S+ KiB leaked .* from plant[. ]/i);
	await page.getByRole("searchbox", { name: /^Search functions/ }).fill("plant");
	await page.locator(".flame-search output").waitFor();
	await shot(page, "compare-two-builds", 380);
	await clean(page);
});

test("reduce-the-peak.md: one line of a script holds its file, and the peak falls without it", async () => {
	const page = await open("", SIZE);
	await show(page, "all.mtape");
	await rail(page, "Flame graph").click();
	await soon(() => page.getByRole("radio", { name: "Alive at the peak" }).getAttribute("aria-checked"), "true");
	await page.getByRole("searchbox", { name: /^Search functions/ }).fill("PyUnicode_Splitlines");
	await soon(
		() => page.locator(".flame-search output").innerText(),
		(text) => Number(/([\d.]+) %/.exec(text)?.[1]) > 50,
	);
	await shot(page, "python-peak", 592);
	await rail(page, "Compare").click();
	await sides(page, "all.mtape", "each.mtape");
	await soon(() => verdict(page), /Verdict \D2\S+ MiB alive at the peak \(\D[789]\d\.\d %\)/i);
	await shot(page, "python-compared", 380);
	await clean(page);
});

test("rss-higher-than-the-heap.md: the heap is free and resident, and one function pins its pages", async () => {
	const page = await open("", SIZE);
	await show(page, "sessions.mtape");
	await rail(page, "Maps").click();
	await page.getByText(/free memory and overhead inside the heap/).waitFor();
	await rail(page, "Address space").click();
	await page.getByRole("slider").focus();
	await page.keyboard.press("End");
	await page.waitForFunction(() => /[?&]at=/.test(location.hash));
	await settled(page);
	const heap = page.getByRole("region", { name: "Arenas and mappings" }).locator("tbody tr").first();
	await soon(async () => parseFloat(await heap.locator("td").nth(3).innerText()) < 5, true); // in use
	await page.getByRole("radio", { name: "Call site" }).click();
	await page.getByRole("list", { name: "Legend" }).getByText("session_create").waitFor();
	await shot(page, "pinned-pages", 430);
	const pins = page.getByRole("region", { name: "Functions whose blocks hold pages" }).locator("tbody tr").first();
	await soon(() => pins.innerText(), /^session_create/);
	await clean(page);
});
