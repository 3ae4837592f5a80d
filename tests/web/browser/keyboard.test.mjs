// The whole app by the keyboard alone: nothing here has a pointer. A first walk goes through every page, at three widths, in
// the order of the rail, reaches what the page is for by Tab and works with it; a second one comes back to what the first kind
// of thing left behind, by Back, Forward and a copied link.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { clean, open, settled } from "./harness.mjs";

const TABS_MAX = 120;
const LOOKS = [
	{ width: 1440, height: 900, theme: "light" },
	{ width: 1024, height: 768, theme: "dark" },
	{ width: 390, height: 844, theme: "light" },
];

// What has the focus: that it is seen, is in the window, and is not covered.
function focusNow() {
	const el = document.activeElement;
	if (!el || el === document.body) return null;
	const outlined = (e) => {
		const s = getComputedStyle(e);
		return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1;
	};
	const shadowed = (e) => getComputedStyle(e).boxShadow !== "none";
	let isSeen = outlined(el) || shadowed(el);
	if (/^(INPUT|TEXTAREA)$/.test(el.tagName))
		// what frames a field may show it instead
		for (let at = el.parentElement, i = 0; at && i < 3; at = at.parentElement, i++)
			isSeen ||= outlined(at) || shadowed(at);
	const r = el.getBoundingClientRect();
	const top = document.elementFromPoint(
		Math.max(1, Math.min(innerWidth - 1, r.x + r.width / 2)),
		Math.max(1, Math.min(innerHeight - 1, r.y + r.height / 2)),
	);
	return {
		name: `${el.tagName.toLowerCase()} ${el.getAttribute("aria-label") ?? el.title ?? ""} ${el.textContent.slice(0, 40)}`,
		isSeen,
		isInside: r.width > 0 && r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth,
		isFree: top !== null && (el.contains(top) || top.contains(el)),
	};
}

async function press(page, ...keys) {
	for (const key of keys) await page.keyboard.press(key);
}

// Polls: the machine that runs this may be slow.
const until = (page, condition, argument) => page.waitForFunction(condition, argument);
const untilHash = (page, part) =>
	until(page, (text) => decodeURIComponent(location.hash.replace(/\+/g, " ")).includes(text), part);
const untilFocus = (page, selector) => until(page, (css) => document.activeElement?.matches(css), selector);

// Tab until the focus is on it; at each stop it is seen.
async function tabTo(page, selector, key = "Tab") {
	for (let i = 0; i < TABS_MAX; i++) {
		await page.keyboard.press(key);
		const now = await page.evaluate(focusNow);
		if (now)
			assert.deepEqual({ ...now, name: "" }, { name: "", isSeen: true, isInside: true, isFree: true }, now.name);
		if (await page.evaluate((css) => document.activeElement?.matches(css), selector)) return;
	}
	assert.fail(`Tab does not reach ${selector}`);
}

// All the way round: from where it is back to it, through the whole page.
async function tabRound(page) {
	const seen = [];
	await page.keyboard.press("Tab");
	await page.evaluate(() => {
		globalThis.tabBegin = document.activeElement;
	});
	for (let i = 0; i < TABS_MAX; i++) {
		await page.keyboard.press("Tab");
		const now = await page.evaluate(focusNow);
		if (now)
			assert.deepEqual({ ...now, name: "" }, { name: "", isSeen: true, isInside: true, isFree: true }, now.name);
		seen.push(now?.name ?? "-");
		if (await page.evaluate(() => document.activeElement === globalThis.tabBegin)) return;
	}
	assert.fail(`Tab does not come round: ${seen.slice(-6).join(", ")}`);
}

// Every page: its key after g, what it is for, and what that does. `leave` undoes what would narrow the pages after it.
const WALK = [
	{
		id: "overview",
		key: "o",
		main: "[role=slider][aria-label='Range until']",
		operate: async (page) => {
			await press(page, "Shift+ArrowLeft");
			await untilHash(page, "t=");
			await press(page, "+");
			await untilHash(page, "view=");
			await press(page, "-");
			await until(page, () => !location.hash.includes("view="));
			await press(page, "t");
			await until(page, () => document.querySelector("[aria-label='Timeline as a table']"));
			await press(page, "t");
			await press(page, "u");
			await until(page, () => !location.hash.includes("t="));
		},
	},
	{
		id: "flame",
		key: "f",
		main: "canvas.flame-canvas",
		operate: async (page) => {
			await press(page, "ArrowDown", "ArrowDown", "Enter");
			await untilHash(page, "z=");
			await settled(page);
			await press(page, "Escape");
			await until(page, () => !location.hash.includes("z="));
			await press(page, "i");
			await untilHash(page, "lay=inverted");
			await press(page, "i", "v");
			await untilHash(page, "lay=sandwich");
			await press(page, "v", "r");
			await untilHash(page, "rec=merge");
			await press(page, "r", "2");
			await untilHash(page, "m=");
			await press(page, "1", "Control+f");
			await untilFocus(page, "#flame-search");
			await page.keyboard.type("load");
			await until(page, () => /^\d+ /.test(document.querySelector(".flame-search output")?.textContent ?? ""));
			await press(page, "Control+a", "Delete");
			await tabTo(page, "canvas.flame-canvas");
			await press(page, "Escape");
			await until(page, () => !location.hash.includes("s="));
		},
	},
	{
		id: "tree",
		key: "t",
		main: "[role=treegrid]",
		operate: async (page) => {
			await press(page, "ArrowDown", "*");
			await until(page, () => document.querySelector("[role=treegrid] [aria-expanded=true]"));
			await press(page, "ArrowDown", "Space");
			await until(page, () => document.querySelector("aside[aria-label='Selected function']"));
			await press(page, "Escape");
			await until(page, () => !document.querySelector("aside[aria-label='Selected function']"));
			await press(page, "t");
			await untilHash(page, "#/flame");
			await press(page, "t");
			await untilHash(page, "#/tree");
		},
	},
	{
		id: "sites",
		key: "s",
		main: "[role=grid][aria-label='Call sites']",
		operate: async (page) => {
			await press(page, "ArrowDown", "ArrowDown", "Enter");
			await until(page, () => document.querySelector(".vgrid-detail .stack li a"));
			await tabTo(page, ".vgrid-detail .detail-actions a");
			await press(page, "Escape");
			await until(page, () => !document.querySelector(".vgrid-detail"));
		},
	},
	{
		id: "allocations",
		key: "a",
		main: "[role=grid][aria-label='Allocations']",
		operate: async (page) => {
			await press(page, "End");
			await until(
				page,
				() => Number(document.querySelector(".vgrid-row.active")?.getAttribute("aria-rowindex")) > 1000,
			);
			await press(page, "Home", "Enter");
			await until(page, () => document.querySelector(".vgrid-detail .memory"));
			await press(page, "Escape");
			await tabTo(page, "button.sort");
			await press(page, "Enter");
			await untilHash(page, "sort=time");
			await settled(page);
		},
	},
	{
		id: "source",
		key: "c",
		main: "[role=table]",
		operate: async (page) => {
			const at = await page.evaluate(() => document.activeElement.scrollTop);
			await press(page, "n");
			await untilHash(page, "line=");
			await press(page, "End");
			await until(page, (top) => document.activeElement.scrollTop !== top, at);
		},
	},
	{
		id: "leaks",
		key: "l",
		main: "[role=grid][aria-label='Call sites that leak']",
		operate: async (page) => {
			await press(page, "ArrowDown", "Enter");
			await until(page, () => document.querySelector(".vgrid-detail .suppress"));
			await press(page, "Escape");
			await until(page, () => !document.querySelector(".vgrid-detail"));
		},
	},
	{
		id: "lifetimes",
		key: "i",
		main: "svg[role=application]",
		operate: async (page) => {
			await press(page, "ArrowRight", "ArrowUp", "Shift+ArrowUp", "Shift+ArrowRight");
			await until(page, () => document.querySelector(".heat-box"));
			await press(page, "Enter");
			await untilHash(page, "lifetime in");
			await press(page, "u");
			await until(page, () => !location.hash.includes("q="));
		},
	},
	{
		id: "space",
		key: "p",
		main: "canvas[role=application]",
		operate: async (page) => {
			await press(page, "ArrowRight", "ArrowRight");
			await until(page, () => document.querySelector(".space-cell"));
		},
	},
	{
		id: "threads",
		key: "h",
		main: "[aria-label='Threads'] a",
		operate: async (page) => {
			await press(page, "Enter");
			await untilHash(page, "thread = ");
			await press(page, "u");
			await untilHash(page, "#/threads");
			await until(page, () => !location.hash.includes("thread+"));
		},
	},
	{
		id: "maps",
		key: "m",
		main: "[role=grid][aria-label='Mappings']",
		operate: async (page) => {
			await press(page, "ArrowDown", "Enter");
			await until(page, () => document.querySelector(".vgrid-detail"));
			await press(page, "Escape");
			await until(page, () => !document.querySelector(".vgrid-detail"));
		},
	},
	{
		id: "compare",
		key: "d",
		main: "canvas.flame-canvas",
		operate: async (page) => {
			await press(page, "ArrowDown", "ArrowDown", "Enter");
			await untilHash(page, "z=");
			await press(page, "Escape");
			await until(page, () => !location.hash.includes("z="));
			await press(page, "s");
			await untilHash(page, "ta=end");
			await press(page, "t");
			await until(page, () => document.querySelector("[aria-label='Differences as a table']"));
			await press(page, "t");
		},
	},
	{
		id: "console",
		key: "q",
		main: "textarea",
		operate: async (page) => {
			await press(page, "Control+a");
			await page.keyboard.type("SELECT 6 * 7 AS answer");
			await press(page, "Escape", "Control+Enter");
			await until(page, () => document.querySelector(".sql-result [role=gridcell]")?.textContent === "42");
			await tabTo(page, ".sql-result [role=grid]");
		},
	},
];

async function walk(t, look) {
	const page = await open("", look);
	for (const step of WALK)
		await t.test(step.id, async () => {
			await until(page, () => {
				const el = document.activeElement;
				return !/^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) || (el.blur(), false);
			});
			await press(page, "g", step.key);
			await untilHash(page, `#/${step.id}`);
			await settled(page);
			await until(page, (css) => document.querySelector(css), step.main);
			await tabRound(page);
			await tabTo(page, step.main);
			await step.operate(page);
		});
	await clean(page);
}

for (const look of LOOKS)
	test(`every page is reached, gone round and worked with by keys alone, ${look.theme} at ${look.width}`, (t) =>
		walk(t, look));

// The next key may come before the next frame: it is dispatched in the same task here.
test("what opens a sheet has its keys at once", async () => {
	const page = await open();
	const after = (key, more) =>
		page.evaluate(
			async ([key, more]) => {
				document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
				for (let i = 0; i < 20; i++) await Promise.resolve();
				const dialog = document.querySelector("dialog:modal");
				return dialog && [dialog.getAttribute("aria-label"), document.activeElement.getAttribute("aria-label")];
			},
			[key, more],
		);
	assert.deepEqual(await after("k", { ctrlKey: true }), ["Command palette", "Command"]);
	await press(page, "Escape");
	await until(page, () => !document.querySelector("dialog"));
	assert.equal((await after("?"))?.[0], "Help");
	await clean(page);
});

test("help, the palette and the filter are opened, used and left by keys", async () => {
	const page = await open();
	await press(page, "?");
	await until(page, () => document.querySelector("dialog[aria-label=Help]"));
	await tabTo(page, "dialog input[type=checkbox]");
	await press(page, "Escape");
	await until(page, () => !document.querySelector("dialog"));
	await press(page, "Control+k");
	await untilFocus(page, ".palette-input");
	assert.ok((await page.evaluate(focusNow)).isSeen);
	await page.keyboard.type("call s");
	await until(page, () =>
		document.querySelector(".palette-list [aria-selected=true]")?.textContent.startsWith("Call sites"),
	);
	await press(page, "Enter");
	await untilHash(page, "#/sites");
	await settled(page);
	await press(page, "/");
	await untilFocus(page, "[aria-label=Filter]");
	await page.keyboard.type("siz >= 1000");
	await until(page, () => document.querySelector("#filter-verdict button"));
	await tabTo(page, "#filter-verdict button"); // what the server suggests instead
	await press(page, "Enter");
	await until(page, () => document.querySelector("[aria-label=Filter]").value === "size >= 1000");
	await untilFocus(page, "[aria-label=Filter]");
	await press(page, "Enter");
	await untilHash(page, "q=size >= 1000");
	await tabTo(page, "[aria-label='Remove size >= 1000']", "Shift+Tab");
	await press(page, "Enter");
	await until(page, () => !location.hash.includes("q="));
	await clean(page, /400/);
});

test("the help sheet names every key of the page, and letters can be switched off", async () => {
	const page = await open("#/flame");
	await press(page, "?");
	await until(page, () => document.querySelector(".help-keys"));
	const keys = await page.evaluate(() => [...document.querySelectorAll(".help-keys kbd")].map((k) => k.textContent));
	for (const key of [
		"/",
		"Ctrl+K",
		"?",
		"y",
		"p",
		"P",
		"[",
		"]",
		"t",
		"u",
		"+",
		"-",
		"i",
		"v",
		"r",
		"n",
		"N",
		"f",
		"x",
		"h",
		"H",
		"Ctrl+F",
		"c",
		"0",
		"Enter",
		"Esc",
	])
		assert.ok(keys.includes(key), key);
	await tabTo(page, "dialog input[type=checkbox]");
	await press(page, "Space", "Escape");
	await until(page, () => !document.querySelector("dialog"));
	await press(page, "i", "?");
	assert.ok(!(await page.evaluate(() => location.hash)).includes("lay="));
	assert.equal(await page.locator("dialog").count(), 0);
	await press(page, "Control+k");
	await untilFocus(page, ".palette-input");
	await clean(page);
});

// What is to be seen again: the address, and what of the page depends on it. Numbers of milliseconds are no part of it.
function stateNow() {
	const list = (css, of) => [...document.querySelectorAll(css)].map(of);
	return {
		hash: location.hash.replace(/[?&]c=[0-9a-f]+/, ""),
		chosen: list("main [role=radio][aria-checked=true], main [aria-pressed=true]", (e) => e.textContent),
		sorted: list("[aria-sort]:not([aria-sort=none])", (e) => e.textContent),
		expanded: list("[role=treegrid] [aria-expanded=true] .code", (e) => e.textContent),
		detail: list(".vgrid-detail h3", (e) => e.textContent),
		details: list("aside .inspector-name, aside h2", (e) => e.textContent),
		tokens: list(".chip", (e) => e.textContent),
		fields: list("main input", (e) => e.value),
		time: document.querySelector(".time-button")?.textContent,
		crumbs: list(".crumbs li", (e) => e.textContent),
		now: list("[aria-current=true]", (e) => e.textContent.slice(0, 40)),
		cells: list(".sql-result [role=gridcell]", (e) => e.textContent),
	};
}

// What makes a page show something of its own, by keys.
const STATES = {
	overview: { main: "[role=slider][aria-label='Range until']", keys: ["Shift+ArrowLeft", "t"] },
	flame: { main: "canvas.flame-canvas", keys: ["3", "ArrowDown", "ArrowDown", "Enter"] },
	tree: { main: "[role=treegrid]", keys: ["ArrowDown", "*", "Space"] },
	sites: { main: "[role=grid]", keys: ["ArrowDown", "ArrowDown", "Enter"] },
	allocations: { main: "[role=grid]", keys: ["PageDown", "PageDown", "PageDown", "Enter"] },
	source: { main: "[role=table]", keys: ["n", "n"] },
	leaks: { main: "[role=grid]", keys: ["ArrowDown", "Enter"] },
	lifetimes: { main: "svg[role=application]", keys: ["ArrowRight", "Shift+ArrowRight", "Enter"] },
	space: { main: "input[type=range]", keys: ["Home", "PageUp"] },
	threads: { main: "[aria-label='Threads'] a", keys: [] },
	maps: { main: "[role=grid]", keys: ["ArrowDown", "Enter"] },
	compare: { main: "canvas.flame-canvas", keys: ["ArrowDown", "ArrowDown", "Enter", "s"] },
	console: { main: "textarea", keys: ["Control+a", ..."SELECT 1 AS one", "Escape", "Control+Enter"] },
};

async function sameState(page, state) {
	let now;
	for (let i = 0; i < 60; i++) {
		now = await page.evaluate(stateNow);
		if (isDeepStrictEqual(now, state)) return;
		await page.waitForTimeout(250);
	}
	assert.deepEqual(now, state);
}

for (const { id } of WALK)
	test(`Back, Forward and a copied link bring ${id} back as it was`, async () => {
		const page = await open(`#/${id}`),
			{ main, keys } = STATES[id];
		await until(page, (css) => document.querySelector(css), main);
		await tabTo(page, main);
		for (const key of keys) {
			await press(page, key);
			await settled(page);
		}
		await page.waitForTimeout(300); // what a key began may still be on its way
		await settled(page);
		const there = await page.evaluate(stateNow);
		if (keys.length > 0) assert.notEqual(there.hash, `#/${id}`);
		await page.evaluate(() => document.activeElement.blur());
		await press(page, "y");
		await until(page, () => document.querySelector(".toast"));
		const link = await page.evaluate(() => navigator.clipboard.readText());
		await press(page, "g", id === "threads" ? "o" : "h");
		await untilHash(page, id === "threads" ? "#/overview" : "#/threads");
		await settled(page);
		await page.goBack();
		await sameState(page, there);
		await page.goForward();
		await untilHash(page, id === "threads" ? "#/overview" : "#/threads");
		await page.goBack();
		await sameState(page, there);
		const other = await open();
		await other.evaluate((address) => {
			location.hash = new globalThis.URL(address).hash;
		}, link);
		await sameState(other, there);
		await clean(other);
		await clean(page);
	});
