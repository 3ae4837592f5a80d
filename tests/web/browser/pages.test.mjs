// Every page in both themes and two sizes: it loads, nothing on the console, nothing from elsewhere, nothing axe finds; then what
// each page is for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { URL as ADDRESS, clean, has, open, settled, soon, THEMES, violations } from "./harness.mjs";

const PAGES = [
	"flame",
	"tree",
	"sites",
	"allocations",
	"source",
	"leaks",
	"lifetimes",
	"space",
	"threads",
	"maps",
	"compare",
	"console",
];

for (const name of PAGES)
	test(`${name} loads without a fault in both themes and sizes`, async () => {
		for (const theme of THEMES)
			for (const [width, height] of [
				[1440, 900],
				[1024, 768],
			]) {
				const page = await open(`#/${name}`, { theme, width, height });
				await page.waitForFunction(
					(id) =>
						document.querySelector(`.rail-link[aria-current]`)?.getAttribute("href")?.startsWith(`#/${id}`),
					name,
				);
				await settled(page);
				assert.deepEqual(await violations(page), [], `${name} ${theme} ${width}`);
				await clean(page);
			}
	});

test("the system's memory is that of the server, as a chart and as a table", async () => {
	const [root, token] = ADDRESS.split("#k="),
		answer = await fetch(`${root}api/v1/usage?points=400`, { headers: { Authorization: `Bearer ${token}` } }),
		rows = (await answer.json()).usage.filter((row) => row.memory !== null);
	assert.ok(rows.length >= 2);
	const page = await open("#/maps");
	await page.getByRole("heading", { name: "Memory of the system" }).waitFor();
	const chart = page.getByRole("img", { name: /^Memory of the system over time/ });
	await soon(
		() => chart.locator("path.system-line").count(),
		(lines) => lines >= 1,
	);
	await chart.hover();
	await page.getByText("Memory used").nth(1).waitFor();
	await page.keyboard.press("t");
	const table = page.getByRole("region", { name: "Memory of the system over time as a table" });
	await soon(() => table.locator("tbody tr").count(), rows.length);
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("the flame graph zooms by keys, goes back, searches and opens a function", async () => {
	const page = await open("#/flame?m=allocated");
	const canvas = page.locator("canvas.flame-canvas");
	await canvas.focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await soon(() => page.locator("[role=treeitem]").innerText(), /%/);
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => location.hash.includes("z="));
	await settled(page);
	await page.getByRole("complementary", { name: "Selected function" }).waitFor();
	await page.goBack();
	await page.waitForFunction(() => !location.hash.includes("z="));
	await page.getByRole("searchbox").fill("main");
	await page.locator(".flame-search output").waitFor();
	await soon(() => page.locator(".flame-search output").innerText(), /^\d+ · [\d.]+ %/);
	await has(page, "find", "main");
	await clean(page);
});

/* What of all that the filter selects is in stacks with such a function, as the server counts it; in per cent. */
async function shareOf(term, filter) {
	const [root, token] = ADDRESS.split("#k=");
	const total = async (q) => {
		const answer = await fetch(`${root}api/v1/children?m=count&n=1&q=${encodeURIComponent(q)}`, {
			headers: { Authorization: `Bearer ${token}` },
		});
		return (await answer.json()).total;
	};
	return ((await total(`(${filter}) and ${term}`)) / (await total(filter))) * 100;
}

test("what a search finds has the same share however little of it is drawn", async () => {
	const page = await open("#/flame?v=1&m=count"),
		found = page.locator(".flame-search output"),
		share = async () => Number(/^\d+ · ([\d.]+) %$/.exec(await found.innerText())?.[1] ?? NaN);
	await page.route(/\/api\/v1\/flame\?/, (route) => {
		const to = new globalThis.URL(route.request().url());
		to.searchParams.set("px", "1");
		return route.continue({ url: String(to) });
	});
	const all = "size >= 0"; // another question than that of the first picture, which is finer
	for (const [search, filter, term] of [
		["DECODE|decode", "size > 99 or size < 9", 'function ~ "DECODE|decode"'],
		["GROW|until", all, 'function ~ "GROW|until"'],
		["grow", all, 'function ~ "grow"'],
		["(grow", all, "function ~ '[(]grow'"],
		['img src=x onerror=document.title=1>"?$', all, 'function ~ "img src"'],
	]) {
		await page.evaluate(
			(options) => {
				location.hash = `#/flame?${new URLSearchParams(options)}`;
			},
			{ v: 1, m: "count", find: search, q: filter },
		);
		const wanted = await shareOf(term, filter);
		await soon(share, (shown) => Math.abs(shown - wanted) <= Math.max(0.06, wanted / 100));
	}
	await clean(page);
});

test("a click into the flame graph zooms to what is under the pointer", async () => {
	const page = await open("#/flame?m=count");
	const box = await page.locator("canvas.flame-canvas").boundingBox();
	await page.mouse.click(box.x + 40, box.y + 31);
	await page.waitForFunction(() => /[?&]z=[0-9a-f]{16}(&|$)/.test(location.hash));
	await settled(page);
	await soon(() => page.locator(".crumbs li").count(), 2);
	await page.keyboard.press("Escape");
	await page.waitForFunction(() => !location.hash.includes("z="));
	await clean(page);
});

test("a right click into the flame graph tells of what is under the pointer, and stays", async () => {
	const page = await open("#/flame?v=1"),
		box = await page.locator("canvas.flame-canvas").boundingBox();
	await page.mouse.click(box.x + 40, box.y + 30, { button: "right" });
	await page
		.getByRole("complementary", { name: "Selected function" })
		.getByRole("heading", { name: "main" })
		.waitFor();
	await has(page, "s", /^[0-9a-f]{16}$/);
	await has(page, "z", null);
	await clean(page);
});

test("the flame graph is asked for once a zoom, also where the panel beside it narrows it", async () => {
	const page = await open("#/overview"),
		asked = [];
	page.on("request", (request) => {
		if (/\/api\/v1\/flame\?/.test(request.url())) asked.push(request.url());
	});
	await page.evaluate(() => {
		location.hash = "#/flame?m=leaked";
	});
	await page.locator("canvas.flame-canvas").waitFor();
	await settled(page);
	assert.equal(asked.length, 1, asked.join("\n"));
	const wide = await page.locator("canvas.flame-canvas").boundingBox();
	await page.mouse.click(wide.x + 40, wide.y + 31);
	await page.locator(".inspector-metrics").waitFor();
	await soon(() => page.locator(".crumbs li").count(), 2);
	await page.waitForFunction(
		(width) => document.querySelector(".flame-canvas").clientWidth < width - 100,
		wide.width,
	);
	await settled(page);
	assert.equal(asked.length, 2, asked.join("\n"));
	await clean(page);
});

test("without a leak scan retained size is not offered, and an address that has it says how to get one", async () => {
	const page = await open("#/flame");
	await page.getByRole("button", { name: "More measures" }).click();
	await page.getByRole("button", { name: /^Wasted/ }).waitFor();
	assert.equal(await page.getByRole("button", { name: "Retained size" }).count(), 0);
	await page.keyboard.press("Escape");
	await page.evaluate(() => {
		location.hash = "#/flame?m=retained";
	});
	await page
		.getByRole("alert")
		.getByText(/no leak scan; memtape record --leak-scan makes one/)
		.waitFor();
	assert.equal(await page.getByRole("radio", { checked: true, name: /size|peak|leaked/ }).count(), 0);
	await clean(page, /404/);
});

test("layouts, measures and the table twin keep the selection", async () => {
	const page = await open("#/flame?m=allocated");
	await page.locator("canvas.flame-canvas").focus();
	await page.keyboard.press("i");
	await page.waitForFunction(() => location.hash.includes("lay=inverted"));
	await page.keyboard.press("4");
	await page.waitForFunction(() => location.hash.includes("m=count"));
	await settled(page);
	await page.keyboard.press("t");
	await page.waitForFunction(() => location.hash.startsWith("#/tree"));
	await has(page, "m", "count");
	await settled(page);
	const grid = page.getByRole("treegrid");
	await grid.focus();
	const before = await grid.getAttribute("aria-rowcount");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("*");
	await page.waitForFunction(
		(n) => document.querySelector("[role=treegrid]").getAttribute("aria-rowcount") !== n,
		before,
	);
	await clean(page);
});

test("a function's source is a click away, and what is searched and grouped stays on its page", async () => {
	const page = await open("#/flame?v=1&find=grow");
	await page.locator(".flame-search output").waitFor();
	await page.locator("canvas.flame-canvas").focus();
	await page.keyboard.press("n");
	await has(page, "s", /^[0-9a-f]{16}$/);
	await page.getByRole("complementary", { name: "Selected function" }).getByRole("link", { name: "Source" }).click();
	await page.getByRole("table", { name: /program\.c by line/ }).waitFor();
	await page
		.locator(".source-line.now")
		.filter({ hasText: /malloc\(5000\)/ })
		.waitFor();
	await has(page, "find", null);
	await page.keyboard.press("Control+z");
	await has(page, "find", "grow");
	await page.keyboard.press("g");
	await page.keyboard.press("d");
	await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
	assert.equal(await page.getByRole("searchbox").inputValue(), "");
	await page.evaluate(() => {
		location.hash = "#/overview?v=1&by=thread";
	});
	await settled(page);
	await page.keyboard.press("g");
	await page.keyboard.press("s");
	await page.getByRole("radio", { name: "Function", checked: true }).waitFor();
	await clean(page);
});

test("a function, or all of a module, is taken out of the flame graph and put back", async () => {
	const page = await open("#/flame?v=1&m=count"),
		canvas = page.locator("canvas.flame-canvas"),
		total = () => page.locator(".crumbs .num").innerText();
	const before = await total(),
		hidden = page.locator(".flame-head .chip");
	const choose = async (name) => {
		await page.getByRole("searchbox", { name: /^Search functions/ }).fill(name);
		await page.locator(".flame-search output").waitFor();
		await canvas.focus();
		await page.keyboard.press("n");
		await page
			.getByRole("complementary", { name: "Selected function" })
			.getByRole("heading", { name: new RegExp(name) })
			.waitFor();
	};
	await choose("decode");
	await page.keyboard.press("h");
	await hidden.filter({ hasText: "1 function hidden" }).waitFor();
	await has(page, "hide", /^[0-9a-f]{16}$/);
	await settled(page);
	await soon(() => page.locator(".flame-search output").innerText(), /^0 /);
	assert.equal(await total(), before);
	assert.deepEqual(await violations(page), []);
	await page.keyboard.press("u");
	await soon(() => hidden.count(), 0);
	await soon(() => page.locator(".flame-search output").innerText(), /^[1-9]/);
	await choose("decode");
	await page.keyboard.press("H");
	await hidden.filter({ hasText: "libparse.so hidden" }).waitFor();
	await soon(
		() =>
			page
				.locator(".legend")
				.innerText()
				.then((text) => text.includes("libparse")),
		false,
	);
	await page.getByRole("button", { name: "Show libparse.so again" }).click();
	await soon(() => page.locator(".legend").innerText(), /libparse\.so/);
	await has(page, "hidem", null);
	await clean(page);
});

test("nothing of a page lies over another part of it, whatever is open", async () => {
	const page = await open("#/source?v=1"); // beside the panel of a function the head of the file has two lines
	await page.locator(".source-line.hot").first().click();
	await page.getByRole("complementary", { name: "Selected function" }).waitFor();
	const edge = (css, side) =>
		page
			.locator(css)
			.first()
			.evaluate((el, s) => el.getBoundingClientRect()[s], side);
	await soon(
		async () => (await edge(".source-code .card-head", "bottom")) <= (await edge(".source-head", "top")) + 0.5,
		true,
	);
	await page.evaluate(() => {
		location.hash = "#/space?v=1";
	});
	const table = page.getByRole("region", { name: "Functions whose blocks hold pages" });
	await table.waitFor();
	await soon(() => table.evaluate((el) => el.scrollWidth <= el.clientWidth), true);
	await clean(page);
});

test("totals of the pages are one", async () => {
	const page = await open("#/allocations");
	const whole = Number((await page.locator(".list-tools .note").innerText()).replace(/\D/g, ""));
	await page.evaluate(() => {
		location.hash = "#/console?sql=SELECT+count(*)+FROM+allocations";
	});
	await page.locator(".sql-result [role=gridcell]").first().waitFor();
	assert.equal(
		Number((await page.locator(".sql-result [role=gridcell]").first().innerText()).replace(/\D/g, "")),
		whole,
	);
	await page.evaluate(() => {
		location.hash = "#/tree?m=count";
	});
	await page.getByRole("treegrid").waitFor();
	await settled(page);
	await soon(() => page.locator("[role=treegrid] [role=row]").nth(1).innerText(), /%/);
	await clean(page);
});

test("a row of call sites opens, and its stack leads to the flame graph", async () => {
	const page = await open("#/sites");
	await page.getByRole("grid", { name: "Call sites" }).focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	const left = await page
		.locator(".detail dt", { hasText: "Without it" })
		.locator("xpath=following-sibling::dd[1]")
		.innerText();
	assert.match(left, /^the peak would be [\d.]+ KiB instead of 9\d\d KiB, at /); // three blocks of 300,000 bytes, and more
	await page.locator(".stack li a").first().click();
	await page.waitForFunction(() => location.hash.startsWith("#/flame") && /[?&]s=[0-9a-f]{16}/.test(location.hash));
	await settled(page);
	await clean(page);
});

test("an allocation opens with both stacks, and a sort is kept in the address", async () => {
	const page = await open("#/allocations");
	await page.getByRole("button", { name: /^Size/ }).click();
	await page.waitForFunction(() => location.hash.includes("sort=size"));
	await settled(page);
	await page.getByRole("grid", { name: "Allocations" }).focus();
	await page.keyboard.press("Enter");
	await page.getByRole("region", { name: /^Allocated by/ }).waitFor();
	await page.getByRole("heading", { name: "Neighbours in memory" }).waitFor();
	await page.keyboard.press("Escape");
	await soon(() => page.locator(".vgrid-detail").count(), 0);
	await clean(page);
});

test("names that are markup are text", async () => {
	const page = await open("#/sites");
	await settled(page);
	await soon(() => page.locator("main img, main script").count(), 0);
	await clean(page);
});

test("the source page shows the program with its figures", async () => {
	const page = await open("#/source?m=allocated");
	await page.locator(".source-line.hot").first().waitFor();
	await page.locator(".source-line .tok-keyword").first().waitFor();
	await page.keyboard.press("n");
	await page.waitForFunction(() => /[?&]line=\d+/.test(location.hash));
	await soon(
		async () =>
			(await page.locator(".source-line.hot").allInnerTexts()).some((t) => /never|\d (ns|µs|ms|s)/.test(t)),
		true,
	);
	const asked = [];
	page.on("request", (r) => {
		if (/\/api\/v1\/frame/.test(r.url())) asked.push(new URL(r.url()).searchParams.get("q"));
	});
	await page.locator(".source-line.hot").first().click();
	const panel = page.getByRole("complementary", { name: "Selected function" });
	await panel.getByText(/Only allocations through/).waitFor();
	await soon(() => asked.at(-1), /^location = ".*program\.c:\d+"$/);
	await panel.getByRole("button", { name: "Whole function" }).click();
	await soon(() => panel.getByText(/Only allocations through/).count(), 0);
	await clean(page);
});

test("a statement that is wrong says so, and the next one works", async () => {
	const page = await open("#/console");
	await page.getByRole("textbox", { name: "SQL statement" }).fill("SELEC 1");
	await page.keyboard.press("Control+Enter");
	await page.getByRole("alert").waitFor();
	await page.getByRole("textbox", { name: "SQL statement" }).fill("SELECT 6 * 7 AS answer");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Control+Enter");
	await page.getByText("42", { exact: true }).waitFor();
	await clean(page, /400/);
});

test("every page of the rail is reached by its key", async () => {
	const page = await open();
	for (const [key, id] of [
		["f", "flame"],
		["t", "tree"],
		["s", "sites"],
		["a", "allocations"],
		["c", "source"],
		["l", "leaks"],
		["i", "lifetimes"],
		["p", "space"],
		["h", "threads"],
		["m", "maps"],
		["d", "compare"],
		["q", "console"],
		["o", "overview"],
	]) {
		await page.evaluate(() => document.activeElement?.blur());
		await page.keyboard.press("g");
		await page.keyboard.press(key);
		await page.waitForFunction((name) => location.hash.startsWith(`#/${name}`), id);
		await settled(page);
	}
	await clean(page);
});

test("call sites say what each would save, and are sorted by it", async () => {
	const page = await open("#/sites"),
		grid = page.getByRole("grid", { name: "Call sites" });
	await grid
		.getByRole("row", { name: /load/ })
		.getByTitle(/^The peak would be/)
		.waitFor();
	await grid.getByRole("button", { name: /^Saves/ }).click();
	await has(page, "sort", "saves");
	await settled(page);
	const first = grid.getByRole("row").nth(1);
	await soon(() => first.innerText(), /^load/);
	await first.getByTitle(/^The peak would be \d/).waitFor();
	await soon(
		() =>
			grid
				.getByRole("row", { name: /decode/ })
				.getByTitle("The peak would be the same without it")
				.count(),
		1,
	);
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("whose functions count is chosen once for all pages, in the address and remembered", async () => {
	const page = await open("#/sites");
	await page.getByRole("button", { name: "Frames: My code" }).click();
	assert.deepEqual(await violations(page), []);
	await page.getByRole("button", { name: /^All frames/ }).click();
	await has(page, "frames", "all");
	for (const other of ["overview", "flame", "tree", "leaks"]) {
		await page.evaluate((id) => {
			location.hash = location.hash.replace(/#\/\w+/, `#/${id}`);
		}, other);
		await page.getByRole("button", { name: "Frames: All frames" }).waitFor();
	}
	await settled(page);
	assert.deepEqual(await violations(page), []);
	await page.evaluate(() => {
		location.hash = "#/sites?v=1";
	});
	await page.getByRole("button", { name: "Frames: All frames" }).waitFor();
	await page.evaluate(() => {
		location.hash = "#/sites?v=1&frames=exact";
	});
	await page.getByRole("button", { name: "Frames: Exact" }).waitFor();
	await clean(page);
});
