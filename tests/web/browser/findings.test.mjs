// Findings in a browser: one a cause with its evidence, and the badge in the rail that counts the serious ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, open, settled, soon, THEMES, violations } from "./harness.mjs";

const finding = (type, title, more) => ({
	type,
	title,
	bytes: 3 << 20,
	count: 12,
	evidence: `${title}: evidence.`,
	advice: `${title}: advice.`,
	function: "gw::Session::Session(int)",
	file: "/src/gw.cpp",
	line: 112,
	module: "/usr/bin/gw",
	hash: null,
	page: "sites",
	report: "groups",
	filter: 'site = "main"',
	metric: null,
	at: null,
	from: null,
	until: null,
	sort: null,
	command: "groups",
	stack: null,
	allocated_stack: null,
	freed_before_stack: null,
	possible: false,
	serious: true,
	stake_bytes: 3 << 20,
	also: [],
	...more,
});

const also = finding("slack", "Blocks are much larger than requested", { bytes: 5 << 20 });
const FOUND = [
	finding("growth", "Live bytes grow all the time", { stake_bytes: 5 << 20, also: [also] }),
	finding("huge", "One block is a large part of the peak", { function: `gw::${"load_".repeat(30)}()` }),
	finding("churn", "Short-lived allocations", { function: "gw::parse()", serious: false }),
];

/* The app, which the server tells of these findings. */
async function openWith(findings, options) {
	const page = await open("", options);
	await page.route(/\/api\/v1\/findings/, async (route) => {
		const response = await route.fetch();
		await route.fulfill({ response, json: { ...(await response.json()), findings } });
	});
	await page.reload();
	await settled(page);
	return page;
}

const badge = (page) => page.getByRole("navigation", { name: "Pages" }).locator(".rail-badge");

for (const theme of THEMES)
	for (const width of [1440, 390])
		test(`the rail counts the findings that the Overview lists, ${theme} at ${width}`, async () => {
			const page = await openWith(FOUND, { theme, width });
			await badge(page).waitFor();
			assert.equal(await badge(page).textContent(), "3 findings");
			assert.match(await page.locator(".findings-card .note").innerText(), /^3, worst first/);
			assert.match(await page.locator(".finding-where").first().innerText(), /gw\.cpp:112$/); // whole
			const cut = (all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1).length;
			assert.equal(await page.locator(".finding-where").evaluateAll(cut), 0);
			assert.match(await badge(page).getAttribute("class"), /\bbad\b/);
			await soon(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			assert.deepEqual(await violations(page), []);
			await page.keyboard.press("g");
			await page.keyboard.press("s"); // and it stays on other pages
			await soon(() => page.title(), /^Call sites/);
			await settled(page);
			assert.equal(await badge(page).count(), 1);
			await page.getByRole("link", { name: "Overview", exact: true }).click(); // it is not in the way
			await soon(() => page.title(), /^Overview/);
			await clean(page);
		});

test("the badge's colour says how bad the worst is, and one finding is one", async () => {
	const quiet = await openWith([FOUND[2]]);
	await soon(() => badge(quiet).textContent(), "1 finding");
	assert.doesNotMatch(await badge(quiet).getAttribute("class"), /\b(bad|warn)\b/);
	assert.deepEqual(await violations(quiet), []);
	const page = await openWith([FOUND[1]]);
	await soon(() => badge(page).textContent(), "1 finding");
	assert.match(await badge(page).getAttribute("class"), /\bwarn\b/);
	await clean(quiet);
	await clean(page);
});

test("a cause has its line, its evidence of every kind and what is at stake", async () => {
	const page = await openWith(FOUND);
	const items = page.locator(".findings > ul > li");
	await soon(() => items.count(), 3);
	const text = await items.first().innerText();
	assert.match(text, /Live bytes grow all the time\s+3\.0+\sMiB/);
	assert.match(text, /gw::Session::Session\(int\) .*gw\.cpp:112/);
	assert.match(text, /Also: Blocks are much larger than requested\s+5\.0+\sMiB/);
	assert.match(text, /Blocks are much larger than requested: evidence\./);
	assert.match(text, /5\.0+\sMiB at stake in all/);
	assert.doesNotMatch(await items.nth(1).innerText(), /Also|at stake/);
	await clean(page);
});
