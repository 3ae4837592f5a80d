// What every browser test begins with: Chromium, a page that remembers what went wrong, axe.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";

const web = createRequire(join(process.env.MEMTAPE_WEB, "package.json"));
const { chromium } = web("playwright-core");
const axeSource = readFileSync(web.resolve("axe-core/axe.min.js"), "utf8");

export const URL = process.env.MEMTAPE_URL; // with the token, as `memtape serve` prints it
const SLOW = Number(process.env.MEMTAPE_SLOW ?? 1); // times as slow as this machine: tests that do not wait are red then
export const THEMES = ["light", "dark"];

let browser;
before(async () => {
	browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
	});
});
after(() => browser?.close());

// A page in a browser profile of its own. `faults` collects errors on its console and requests to other hosts.
export async function open(path = "", { theme = "light", width = 1440, height = 900, url = URL } = {}) {
	const context = await browser.newContext({
		viewport: { width, height },
		colorScheme: theme,
		permissions: ["clipboard-read", "clipboard-write"],
		acceptDownloads: true,
	});
	const page = await context.newPage();
	const faults = [],
		host = new globalThis.URL(url).host;
	page.on("console", (m) => {
		if (m.type() === "error") faults.push(`${m.text()} ${m.location().url}`);
	});
	page.on("pageerror", (e) => faults.push(String(e.stack)));
	page.on("request", (r) => {
		const u = new globalThis.URL(r.url());
		if (!["blob:", "data:"].includes(u.protocol) && u.host !== host) faults.push(`request to ${r.url()}`);
	});
	page.setDefaultTimeout(15000 * SLOW);
	if (SLOW > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: SLOW });
	await page.goto(url);
	if (path)
		await page.evaluate((hash) => {
			location.hash = hash;
		}, path);
	await settled(page);
	return Object.assign(page, { faults });
}

// Nothing is being loaded and nothing is dimmed.
export async function settled(page) {
	const rests = () => document.querySelector("main > *") && !document.querySelector(".skeleton, .stale");
	do {
		// what a key asks for begins a moment after it
		await page.waitForFunction(rests);
		await page.waitForTimeout(80);
	} while (!(await page.evaluate(rests)));
}

// What axe finds and goes on finding: what fades in or is dimmed for a moment may be faint.
// Of a page with an open menu, what it finds in the menu: that covers what is behind it until it is closed.
export async function violations(page) {
	const end = Date.now() + 10000 * SLOW;
	let found;
	await page.evaluate(axeSource);
	do {
		({ violations: found } = await page.evaluate(() =>
			globalThis.axe.run(document.querySelector(".popover-panel") ?? document, {
				runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
			}),
		));
	} while (found.length && Date.now() < end);
	return found.map(
		(v) =>
			`${v.id}: ${v.nodes
				.map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? n.failureSummary))
				.slice(0, 4)
				.join(" | ")}`,
	);
}

// `known`: refusals that the test caused; browsers write them to the console.
export async function clean(page, known = /^$/) {
	assert.deepEqual(
		page.faults.filter((fault) => !known.test(fault)),
		[],
	);
	await page.context().close();
}

// The fragment's parameters: param(page, "q").
export async function param(page, name) {
	const fragment = await page.evaluate(() => location.hash);
	return new URLSearchParams(fragment.slice(fragment.indexOf("?") + 1)).get(name);
}

// What `read` gives in the end: a change of the page follows the key or click that asked for it, on a slow machine much later.
export async function soon(read, wanted) {
	const fits = (value) =>
		wanted instanceof RegExp ? wanted.test(value) : typeof wanted === "function" ? wanted(value) : value === wanted;
	const end = Date.now() + 15000 * SLOW;
	let value = await read();
	while (!fits(value) && Date.now() < end) {
		await new Promise((go) => setTimeout(go, 50));
		value = await read();
	}
	assert.ok(fits(value), `${JSON.stringify(value)} where ${wanted} was expected`);
	return value;
}

// The fragment's parameter becomes `wanted`: a text, null, a pattern or a test.
export const has = (page, name, wanted) => soon(() => param(page, name), wanted);

// Of several tapes the one whose file's name has `tape` in it is shown.
export async function show(page, tape) {
	const title = page.locator(".tape-chip");
	await page.getByRole("button", { name: "Switch tape" }).click();
	await page.locator(".menu-item").filter({ hasText: tape }).click();
	await title.locator(`b[title*="${tape}"]`).waitFor();
	await settled(page);
}
