// What somebody does without having read anything: a click on a row, arrow keys on a page just gone to, a right click, a
// column dragged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, violations } from "./harness.mjs";

const go = (page, hash) =>
	page.evaluate((to) => {
		location.hash = to;
	}, hash);
const press = async (page, ...keys) => {
	for (const key of keys) await page.keyboard.press(key);
};
const until = (page, condition, argument) => page.waitForFunction(condition, argument);
const focusIn = (page, css) => until(page, (within) => !!document.activeElement?.matches(within), css);

// Every page: its letter, what has the focus then, keys that move, and the state that Enter makes and `back` unmakes.
const ROW = ".vgrid-row.active[aria-selected=true]",
	DETAIL = ".vgrid-detail";
const JUMPS = [
	["o", "overview", ".sites tbody a", ["ArrowDown"], "#/sites", "Back"],
	["f", "flame", "canvas.flame-canvas", ["ArrowDown", "ArrowDown"], "z=", "Escape"],
	["t", "tree", "[role=treegrid]", ["ArrowDown"], "s=", "Escape"],
	["s", "sites", "[role=grid]", ["ArrowDown", "ArrowDown"], DETAIL, "Escape"],
	["a", "allocations", "[role=grid]", ["ArrowDown"], DETAIL, "Escape"],
	["c", "source", "[role=table]", ["End"], null, null],
	["l", "leaks", "[role=grid]", ["ArrowDown"], DETAIL, "Escape"],
	["i", "lifetimes", "svg[role=application]", ["ArrowRight", "ArrowUp"], "q=", "Back"],
	["p", "space", "canvas[role=application]", ["ArrowRight"], null, null],
	["h", "threads", "[aria-label=Threads] a", ["ArrowDown"], "#/sites", "Back"],
	["m", "maps", "[role=grid]", ["ArrowDown"], DETAIL, "Escape"],
	["d", "compare", "canvas.flame-canvas", ["ArrowDown", "ArrowDown"], "z=", "Escape"],
];

test("after g and a letter arrows move, Enter opens, and one comes back to where one was", async (t) => {
	const page = await open("#/console");
	for (const [key, id, target, moves, opened, back] of JUMPS)
		await t.test(id, async () => {
			await press(page, "g", key);
			await until(page, (hash) => location.hash.startsWith(hash), `#/${id}?`);
			await focusIn(page, target);
			await settled(page);
			await press(page, ...moves);
			if (target === "[role=grid]") await page.locator(ROW).waitFor();
			if (!opened) return;
			const isThere = (what) =>
				/[#=]/.test(what) ? location.hash.includes(what) : !!document.querySelector(what);
			await press(page, "Enter");
			await until(page, isThere, opened);
			await settled(page);
			if (back === "Back") await page.goBack();
			else await press(page, back);
			await until(
				page,
				(what) => (/[#=]/.test(what) ? !location.hash.includes(what) : !document.querySelector(what)),
				opened,
			);
			await focusIn(page, target);
		});
	await clean(page);
});

test("the first click on a row opens it, in every table", async () => {
	const page = await open("#/sites");
	for (const id of ["sites", "allocations", "leaks", "maps"]) {
		await go(page, `#/${id}`);
		await page.locator("main [role=grid]").waitFor();
		await settled(page);
		const row = page.locator(".vgrid-row").nth(1);
		await row.locator(":scope > :first-child").click();
		await page.locator(DETAIL).waitFor();
		await row.locator(":scope > :first-child").click();
		await page.locator(DETAIL).waitFor({ state: "detached" });
		await row.locator(":scope > :first-child").dblclick(); // opens once
		await page.locator(DETAIL).waitFor();
	}
	await go(page, "#/overview");
	await page.locator(".sites tbody tr").nth(1).locator("td").nth(2).click();
	await until(page, () => location.hash.startsWith("#/sites"));
	await page.locator(DETAIL).getByText("grow").first().waitFor();
	await go(page, "#/threads");
	await page.locator("[aria-label=Threads] tbody tr").first().locator("td").nth(3).click();
	await until(page, () => location.hash.startsWith("#/sites"));
	await has(page, "q", /^thread = \d+$/);
	await clean(page);
});

const headWidth = (page, name) =>
	page.getByRole("columnheader", { name }).evaluate((e) => Math.round(e.getBoundingClientRect().width));

test("columns are made wider by dragging and by keys, fit by a double click, and stay so", async () => {
	const page = await open("#/sites"),
		name = "Allocated";
	const handle = page.getByRole("separator", { name: `Width of ${name}`, exact: true }),
		width = () => headWidth(page, new RegExp(`^${name}`));
	const usual = await width(),
		box = await handle.boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + 10);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 2 + 60, box.y + 10, { steps: 3 });
	await page.mouse.up();
	assert.equal(await soon(width, usual + 60), usual + 60);
	await page.reload();
	await settled(page);
	assert.equal(await soon(width, usual + 60), usual + 60);
	await page.getByRole("separator").first().focus();
	await press(page, "ArrowDown", "ArrowDown", "ArrowDown"); // site, peak, leaked, allocated
	await until(page, (label) => document.activeElement.getAttribute("aria-label") === label, `Width of ${name}`);
	await press(page, "ArrowLeft");
	await soon(width, usual + 52);
	assert.equal(await handle.getAttribute("aria-valuenow"), String(usual + 52));
	await press(page, "Delete");
	await soon(width, usual);
	await page.getByRole("separator", { name: "Width of Call site" }).dblclick();
	const cut = (e) => [...e.querySelectorAll(".code")].some((c) => c.scrollWidth > c.clientWidth);
	await soon(() => page.locator(".vgrid").evaluate(cut), false);
	const gaveWay = (e) =>
		[...e.querySelectorAll("[data-whole]")].some((l) => l.querySelector(".code").textContent !== l.dataset.whole);
	await soon(() => page.locator(".vgrid").evaluate(gaveWay), false);
	await soon(
		() => page.evaluate(() => Object.keys(JSON.parse(localStorage.getItem("memtape.columns.v1"))).join()),
		"Call sites/Call site",
	);
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("so are those of plain tables: the same keys, the same memory", async () => {
	const page = await open("#/threads"),
		table = page.getByRole("region", { name: "Threads" }),
		name = "Blocks",
		width = () => headWidth(page, new RegExp(`^${name}`));
	const handle = table.getByRole("separator", { name: `Width of ${name}`, exact: true }),
		usual = await width(),
		box = await handle.boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + 8);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 2 + 70, box.y + 8, { steps: 3 });
	await page.mouse.up();
	assert.equal(await soon(width, usual + 70), usual + 70);
	await page.reload();
	await settled(page);
	assert.equal(await soon(width, usual + 70), usual + 70);
	await table.getByRole("separator").first().focus();
	await press(page, "ArrowDown", "ArrowDown"); // thread, allocated, blocks
	await until(page, (label) => document.activeElement.getAttribute("aria-label") === label, `Width of ${name}`);
	await press(page, "ArrowLeft");
	await soon(width, usual + 62);
	await press(page, ...Array(12).fill("Shift+ArrowLeft"));
	assert.equal(await soon(width, 40), 40);
	const over = () => document.documentElement.scrollWidth - innerWidth;
	assert.ok((await page.evaluate(over)) <= 0);
	assert.deepEqual(await violations(page), []);
	await press(page, "Enter");
	assert.ok((await soon(width, (px) => px > 40)) < usual + 70);
	await press(page, "Delete");
	await soon(width, usual);
	await clean(page);
});

test("marks have flags on every chart with time along it", async () => {
	const page = await open("#/lifetimes");
	for (const [hash, chart] of [
		["#/lifetimes", ".field-marks"],
		["#/maps", ".bands-marks"],
		["#/overview?by=rate", ".chart"],
	]) {
		await go(page, hash);
		await settled(page);
		const flag = page
			.locator(chart)
			.first()
			.getByRole("button", { name: /^Mark loaded at / });
		await flag.getByText("loaded").waitFor();
		const place = await flag.evaluate((e) => {
			const box = (e.closest(".field-grid")?.querySelector("svg") ?? e.parentElement).getBoundingClientRect(),
				at = e.getBoundingClientRect();
			return (at.left + at.width / 2 - box.left) / box.width;
		});
		assert.ok(place > 0 && place < 1, `${hash}: ${place}`);
		await flag.focus();
		await press(page, "Enter");
		await has(page, "at", /^\d+/);
		assert.deepEqual(await violations(page), []);
	}
	await clean(page);
});

test("a right click in the flame graph has a menu of the function, and so have keys", async () => {
	const page = await open("#/flame?m=count"),
		menu = page.getByRole("menu"),
		canvas = page.locator("canvas.flame-canvas");
	const box = await canvas.boundingBox();
	await page.mouse.click(box.x + 40, box.y + 30, { button: "right" });
	await page.getByRole("menu", { name: "main" }).waitFor();
	const items = await menu.getByRole("menuitem").allInnerTexts();
	assert.deepEqual(
		items.map((text) => text.split("\n")[0]),
		[
			"Zoom in",
			"Only stacks with it",
			"Only stacks without it",
			"Hide it, keep what it calls",
			"Its callers and callees",
			"Its call sites",
			"Its source",
			"This is my code \u2026",
			"This is a library\u2019s \u2026",
			"This is a wrapper \u2026",
			"Copy its name",
		],
	);
	assert.deepEqual(await violations(page), []);
	await press(page, "Escape");
	await menu.waitFor({ state: "detached" });
	await focusIn(page, "canvas.flame-canvas");
	for (const key of ["Shift+F10", "ContextMenu"]) {
		await press(page, key);
		await menu.waitFor();
		await focusIn(page, ".menu-item");
		await press(page, "ArrowUp", "Enter"); // the last: copy
		await menu.waitFor({ state: "detached" });
		await soon(() => page.evaluate(() => navigator.clipboard.readText()), "main");
		await page.evaluate(() => navigator.clipboard.writeText(""));
		await focusIn(page, "canvas.flame-canvas");
	}
	await press(page, "Shift+F10", "ArrowDown", "Enter");
	await has(page, "q", 'function = "main"');
	await settled(page);
	await focusIn(page, "canvas.flame-canvas");
	await press(page, "Shift+F10", ...Array(6).fill("ArrowUp"), "Enter"); // its call sites
	await until(page, () => location.hash.startsWith("#/sites"));
	await focusIn(page, "[role=grid]");
	await press(page, "g", "t");
	await focusIn(page, "[role=treegrid]");
	await press(page, "ArrowDown", "Shift+F10");
	await menu.waitFor();
	await press(page, "Enter");
	await page.getByRole("complementary", { name: "Selected function" }).waitFor();
	await clean(page);
});

// At a box of its third row.
async function pointAtFlame(page) {
	await go(page, "#/flame");
	const canvas = page.locator("canvas.flame-canvas");
	await canvas.waitFor();
	await settled(page);
	const box = await canvas.boundingBox();
	await page.mouse.move(box.x + 60, box.y + 52);
}

test("beside the pointer in the flame graph the figures are in sight, however long a name is", async () => {
	const page = await open("#/threads");
	await page.route("**/api/v1/flame?*", async (route) => {
		const answer = await (await route.fetch()).json();
		answer.briefs = answer.briefs.map((brief) => `${brief}<${"argument, ".repeat(300)}>`);
		answer.names = answer.briefs.map((brief) => `void ${brief}`);
		await route.fulfill({ json: answer });
	});
	await pointAtFlame(page);
	const figures = page.locator(".tooltip .pairs");
	await figures.waitFor();
	for (const seen of [page.locator(".tooltip"), figures]) {
		const { y, height } = await seen.boundingBox();
		assert.ok(y >= 0 && y + height <= 900, `${y} ${height}`);
	}
	await page.unrouteAll({ behavior: "ignoreErrors" });
	await clean(page);
});

test("names are asked for where a field has names, not while a number is typed", async () => {
	const page = await open("#/overview"),
		asked = [];
	page.on("request", (request) => {
		const { pathname, searchParams } = new URL(request.url());
		if (pathname.endsWith("/names")) asked.push(searchParams.get("field"));
	});
	await press(page, "/");
	await focusIn(page, "[aria-label=Filter]");
	for (const field of ["thread", "free_thread", "function"]) {
		const first = page.waitForResponse(/\/api\/v1\/(names|filter)\?/);
		await page.keyboard.type(`${field} = `);
		await first;
		await page.keyboard.type(field === "function" ? '"' : "1 and ");
	}
	await soon(
		() => asked.length,
		(n) => n > 0,
	);
	assert.deepEqual([...new Set(asked)], ["function"]);
	await clean(page, /\/filter\?/);
});

test("the columns of allocations show what called and both threads, where there is room", async () => {
	const page = await open("#/threads");
	await page.route("**/api/v1/allocs?*", async (route) => {
		const answer = await (await route.fetch()).json(),
			threads = [...new Set(answer.rows.map((a) => a.thread))];
		for (const a of answer.rows) {
			a.call = "operator new[]";
			a.free_thread = threads.find((thread) => thread !== a.thread) ?? a.thread;
		}
		await route.fulfill({ json: answer });
	});
	await go(page, "#/allocations");
	await page
		.getByText(/^→ program/)
		.first()
		.waitFor();
	await settled(page);
	const cut = () =>
		page
			.locator(".vgrid-row .thread, .vgrid-row .thread > *, .vgrid-row [role=gridcell]:has(> .code:only-child)")
			.evaluateAll((all) => all.filter((el) => el.scrollWidth > el.clientWidth + 1).map((el) => el.textContent));
	await soon(cut, (all) => all.length === 0);
	await page.unrouteAll({ behavior: "ignoreErrors" });
	await clean(page);
});

test("what has no name is written in one way, in the flame graph and in a stack", async () => {
	const page = await open("#/threads"),
		nameless = "0xa5780 [libparse.so+0xa5780]";
	await page.route(/\/api\/v1\/(flame|alloc)\?/, async (route) => {
		const answer = await (await route.fetch()).json();
		if (answer.briefs) answer.briefs = answer.names = answer.briefs.map(() => nameless);
		else
			for (const frame of answer.stack) Object.assign(frame, { brief: nameless, function: nameless, file: null });
		await route.fulfill({ json: answer });
	});
	await pointAtFlame(page);
	await soon(() => page.locator(".flame-tip-name").innerText(), "libparse.so+0xa5780");
	await go(page, "#/allocations");
	await page.locator(".vgrid-row").first().click();
	await soon(() => page.locator(".stack li").first().innerText(), "libparse.so+0xa5780");
	await page.unrouteAll({ behavior: "ignoreErrors" });
	await clean(page);
});
