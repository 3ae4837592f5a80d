// The frame and the Overview in a browser, against the server, on a tape of program.c.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, THEMES, URL, violations } from "./harness.mjs";

for (const theme of THEMES)
	for (const width of [1440, 1024])
		test(`the Overview is accessible and quiet, ${theme} at ${width}`, async () => {
			const page = await open("", { theme, width });
			await page.getByRole("link", { name: /Peak heap/ }).waitFor();
			await page.getByRole("heading", { name: "Live heap" }).waitFor();
			assert.deepEqual(await violations(page), []);
			await soon(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			await soon(() => page.title(), /^Overview – program – memtape$/);
			await clean(page);
		});

test("the token leaves the address and stays for a reload", async () => {
	const page = await open();
	await soon(
		() => page.evaluate(() => location.href),
		(address) => !address.includes("k="),
	);
	await page.reload();
	await settled(page);
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await clean(page);
});

test("without the token the page asks for it, and takes the whole address", async () => {
	const page = await open();
	const token = await page.evaluate(() => sessionStorage.getItem("memtape.token"));
	await page.evaluate(() => {
		sessionStorage.clear();
		location.hash = "#k=wrong";
	});
	await page.getByRole("heading", { name: "Access token required" }).waitFor();
	assert.deepEqual(await violations(page), []);
	await page.getByLabel("Address or token").fill(`http://127.0.0.1:1/#k=${token}`);
	await page.getByRole("button", { name: "Open" }).click();
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await clean(page, /status of 401/);
});

test("figures are those of the tape", async () => {
	const page = await open();
	const tile = (name) => page.getByRole("link", { name }).innerText();
	await soon(() => tile(/^Leaked/), /196 KiB|195 KiB/); // 40 of 5000 and 5 of 77, and libc's own
	await soon(() => tile(/^Leaked/), /195 KiB growing/); // the 40, as the Leaks page judges
	await soon(() => tile(/^Temporary/), /9\d\.\d\s*%/);
	await soon(() => tile(/^Peak heap/), /9\d\d KiB/);
	await clean(page);
});

test("names from strangers are text", async () => {
	const page = await open("#/overview?v=1&rank=leaked");
	await page.getByRole("link", { name: "<img src=x onerror=document.title=1>" }).waitFor();
	await soon(() => page.locator("main img").count(), 0);
	await soon(() => page.title(), /^Overview/);
	await clean(page);
});

test("dragging over the timeline selects, Back takes it back", async () => {
	const page = await open();
	const before = await page
		.locator("main")
		.getByRole("link", { name: /^Allocations/ })
		.innerText();
	const plot = await page.locator(".plot").boundingBox();
	await page.mouse.move(plot.x + plot.width * 0.4, plot.y + 60);
	await page.mouse.down();
	for (let i = 1; i <= 10; i++) await page.mouse.move(plot.x + plot.width * (0.4 + i * 0.03), plot.y + 60);
	await page.mouse.up();
	await settled(page);
	await has(page, "t", (range) => {
		const [from, until] = range?.split("..").map(Number) ?? [];
		return from < until;
	});
	await page.waitForFunction(
		(text) => ![...document.querySelectorAll(".tile")].some((tile) => tile.innerText === text),
		before,
	);
	await soon(() => page.getByRole("button", { name: /^Time range/ }).innerText(), /–/);
	await page.goBack();
	await settled(page);
	await has(page, "t", null);
	await soon(
		() =>
			page
				.locator("main")
				.getByRole("link", { name: /^Allocations/ })
				.innerText(),
		before,
	);
	await clean(page);
});

test("the range and the time point move by the keyboard", async () => {
	const page = await open();
	await page.getByRole("slider", { name: "Range from" }).focus();
	await page.keyboard.press("Shift+ArrowRight");
	await has(page, "t", (range) => Number(range?.split("..")[0]) > 0);
	await page.getByRole("slider", { name: "Range until" }).focus();
	await page.keyboard.press("ArrowLeft");
	await page.keyboard.press("p");
	await has(page, "m", "live");
	const peak = await has(page, "at", (at) => at !== null);
	await page.getByRole("slider", { name: "Time point" }).focus();
	await page.keyboard.press("ArrowRight");
	await has(page, "at", (at) => at !== peak);
	await page.keyboard.press("Delete");
	await has(page, "at", null);
	await clean(page);
});

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/* "2.98 MiB" */
function bytesOf(text) {
	const found = /^([\d.]+)\s([KMG]?i?B)$/.exec(text);
	return Number(found[1]) * UNITS[found[2]];
}

/* The samples of resident memory: [ns, bytes]. */
async function samplesOfRss() {
	const [root, token] = URL.split("#k="),
		answer = await fetch(`${root}api/v1/curves`, { headers: { Authorization: `Bearer ${token}` } }),
		{ rss } = await answer.json();
	return rss.ns.map((ns, i) => [ns, rss.bytes[i]]);
}

test("both peaks are those of the range", async () => {
	const samples = await samplesOfRss(),
		most = (until) => Math.max(...samples.filter(([ns]) => ns <= until).map(([, bytes]) => bytes)),
		near = (bytes) => (shown) => Math.abs(shown - bytes) <= bytes / 100;
	const page = await open("#/overview?v=1&t=0..0.1"),
		tile = (name) => page.getByRole("link", { name }).innerText(),
		rss = async (name) => bytesOf((await tile(name)).split("\n")[1]);
	await soon(() => tile(/^Peak heap in range/), /\d [KM]iB/);
	await soon(() => rss(/^Peak RSS in range/), near(most(1e8)));
	await page.keyboard.press("u");
	await page.evaluate(() => {
		location.hash = "#/overview?v=1";
	});
	await soon(() => rss(/^Peak RSS(?! in range)/), near(most(Infinity)));
	await clean(page);
});

test("of a range that the recording does not reach the tiles keep nothing of the one before", async () => {
	const page = await open("#/overview?v=1"),
		tiles = page.locator(".tiles");
	await soon(() => tiles.innerText(), /\/s · at most[^]*\sof \d+ sites · .* growing/);
	await page.evaluate(() => {
		location.hash = "#/overview?v=1&t=900..1000";
	});
	await soon(() => tiles.innerText(), /nothing alive/);
	await settled(page);
	await soon(
		() => tiles.innerText(),
		(text) => !/at most|median|site|growing|[1-9]/.test(text),
	);
	assert.equal(await tiles.locator("svg").count(), 0);
	await clean(page, /status of 400/);
});

test("a tile whose figures are not all of the same range is dimmed", async () => {
	const page = await open("#/overview?v=1"),
		dim = page.locator(".tile.stale .tile-title");
	await soon(() => page.locator(".tiles").innerText(), /\/s · at most[^]*\sof \d+ sites · .* growing/);
	let go;
	const wait = new Promise((done) => {
		go = done;
	});
	await page.route(/\/api\/v1\/growth\?/, async (route) => {
		await wait;
		await route.continue();
	});
	await page.evaluate(() => {
		location.hash = "#/overview?v=1&t=0..0.1";
	});
	await soon(async () => (await dim.allInnerTexts()).join(), "Leaked");
	go();
	await soon(() => dim.count(), 0);
	await clean(page);
});

test("a click sets the time point and a double click resets", async () => {
	const page = await open();
	const plot = await page.locator(".plot").boundingBox();
	await page.mouse.click(plot.x + plot.width * 0.7, plot.y + 80);
	await page.locator(".point-label").waitFor();
	await has(page, "m", "live");
	await page.mouse.move(plot.x + 300, plot.y + 80);
	await page.mouse.wheel(0, -400);
	await page.getByRole("button", { name: "Zoom out" }).waitFor();
	await settled(page);
	await page.mouse.dblclick(plot.x + 300, plot.y + 80);
	await settled(page);
	await has(page, "at", null);
	await has(page, "view", null);
	await clean(page);
});

test("times are typed", async () => {
	const page = await open();
	await page.getByRole("button", { name: /^Time range/ }).click();
	await page.getByRole("textbox", { name: "From" }).fill("25%");
	await page.getByRole("textbox", { name: "Until" }).fill("nonsense");
	await soon(() => page.getByRole("textbox", { name: "Until" }).getAttribute("aria-invalid"), "true");
	await page.getByRole("button", { name: "Apply" }).click();
	await has(page, "t", null);
	await page.getByRole("textbox", { name: "From" }).fill("mark(loaded)-50ms"); // 25 % may be later on a slow machine
	await page.getByRole("textbox", { name: "Until" }).fill("mark(loaded)+200ms");
	assert.deepEqual(await violations(page), []);
	await page.getByRole("button", { name: "Apply" }).click();
	await has(page, "t", /^\d.*\.\.\d/);
	await settled(page);
	await clean(page);
});

test("a filter is completed, checked, applied, edited and removed", async () => {
	const page = await open();
	await page.keyboard.press("/");
	await page.keyboard.type("lea");
	await page
		.getByRole("option", { name: /^leaked/ })
		.first()
		.waitFor();
	assert.deepEqual(await violations(page), []);
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await page.getByText(/allocations match/).waitFor();
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => location.hash.includes("q=leaked"));
	await page.keyboard.type("size >= 4KiB");
	await page.getByText(/allocations match/).waitFor();
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => new URLSearchParams(location.hash).get("q") === "leaked and size >= 4KiB");
	await page.keyboard.press("Backspace");
	await has(page, "q", "leaked");
	await soon(() => page.getByRole("combobox", { name: "Filter" }).inputValue(), "size >= 4KiB");
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: "Remove leaked" }).click();
	await has(page, "q", null);
	await settled(page);
	await clean(page, /status of 400/); // what is half typed
});

test("a mistake in a filter is underlined and never applied", async () => {
	const page = await open();
	await page.keyboard.press("/");
	await page.keyboard.type("leaked and sise > 3");
	await page.locator(".filter-under u", { hasText: "sise" }).waitFor();
	await page.keyboard.press("Enter");
	await has(page, "q", null);
	await clean(page, /status of 400/);
});

test("a filter that matches nothing says what to take away", async () => {
	const page = await open("#/overview?v=1&q=size+%3E+1TiB+and+leaked");
	await page.getByRole("heading", { name: "No allocations match" }).first().waitFor();
	await page.getByText("1 of 2 conditions match something; the marked ones match nothing.").first().waitFor();
	await page.locator(".state").getByRole("button", { name: "size > 1TiB × matches nothing" }).first().waitFor();
	assert.deepEqual(await violations(page), []);
	await page
		.locator(".state")
		.getByRole("button", { name: /size > 1TiB/ })
		.first()
		.click();
	await has(page, "q", "leaked");
	await settled(page);
	await clean(page);
});

test("cells of size by lifetime become conditions", async () => {
	const page = await open();
	await page.locator(".heat-map").focus();
	for (const key of ["ArrowRight", "ArrowRight", "Shift+ArrowUp", "Enter"]) await page.keyboard.press(key);
	await has(page, "q", /^size in \d.* and lifetime in \d+ns\.\.\d+ns$/);
	await settled(page);
	await clean(page);
});

test("every chart is a table, too", async () => {
	const page = await open();
	await page.keyboard.press("t");
	await page.getByRole("region", { name: "Timeline as a table" }).waitFor();
	await page.getByRole("region", { name: "Size by lifetime as a table" }).waitFor();
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("help and palette open by their keys and give the focus back", async () => {
	const page = await open();
	await page.keyboard.press("?");
	await page.getByRole("dialog", { name: "Help" }).waitFor();
	assert.deepEqual(await violations(page), []);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Control+k");
	await page.getByRole("combobox", { name: "Command" }).fill("light or dark");
	assert.deepEqual(await violations(page), []);
	await page.keyboard.press("Enter");
	await soon(() => page.evaluate(() => document.documentElement.dataset.theme), "dark");
	await page.reload();
	await soon(() => page.evaluate(() => document.documentElement.dataset.theme), "dark");
	await clean(page);
});

test("letters can be switched off as keys", async () => {
	const page = await open();
	await page.keyboard.press("?");
	await page.getByLabel("Keys without Ctrl").uncheck();
	await page.keyboard.press("Escape");
	await page.keyboard.press("t");
	await has(page, "table", null);
	await clean(page);
});

test("a copied link names the tape and not the token", async () => {
	const page = await open();
	await page.keyboard.press("y");
	await page.getByText("Link copied").waitFor();
	const link = await page.evaluate(() => navigator.clipboard.readText());
	assert.match(link, /#\/overview\?v=1&c=[0-9a-f]{32}$/);
	await clean(page);
});

test("an export is a file", async () => {
	const page = await open();
	await page.getByRole("button", { name: "Export" }).click();
	const [file] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: /^folded/ }).click(),
	]);
	assert.match(file.suggestedFilename(), /./);
	await clean(page);
});

test("the export menu has every format that the server has", async () => {
	const page = await open("#/flame?m=wasted"),
		asked = page.waitForResponse(/\/api\/v1\/fields$/);
	await page.reload();
	const { exports } = await (await asked).json(),
		names = exports.map((one) => one.name);
	assert.ok(names.includes("perfetto") && names.includes("heaptrack"), names.join());
	await page.getByRole("button", { name: "Export" }).click();
	const items = page.locator(".export-menu .menu-item");
	await soon(() => items.count(), names.length);
	assert.deepEqual((await items.locator("b").allInnerTexts()).sort(), names.sort());
	/* What has one number a stack is offered where commands have the measure; the picture has all of them. */
	assert.deepEqual(await items.and(page.locator(":disabled")).locator("b").allInnerTexts(), ["dot", "folded"]);
	const [file] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: /^flamegraph/ }).click(),
	]);
	assert.match(file.suggestedFilename(), /\.svg$/);
	await clean(page);
});

test("a measure that the server does not have is as if the address had none", async () => {
	const page = await open("#/flame?m=nonsense");
	await page.getByRole("radio", { name: "Alive at the peak", checked: true }).waitFor();
	await clean(page);
});

test("the rail's pages open by their keys", async () => {
	const page = await open("#/overview?v=1&q=leaked");
	for (const link of await page.locator(".rail-link").all()) {
		const key = /\(g (.)\)/.exec(await link.getAttribute("title"))[1],
			id = /#\/([a-z]+)/.exec(await link.getAttribute("href"))[1];
		await page.keyboard.press("g");
		await page.keyboard.press(key);
		await page.waitForFunction((name) => location.hash.startsWith(`#/${name}?`), id);
		await has(page, "q", "leaked");
	}
	await settled(page);
	await clean(page);
});

test("what was on the screen stays when the server is gone, and it says so", async () => {
	const page = await open();
	await page.route("**/api/**", (route) => route.abort());
	await page.getByRole("radio", { name: "By thread" }).click();
	await page.getByText(/The server does not answer/).waitFor();
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	assert.deepEqual(await violations(page), []);
	await page.unroute("**/api/**");
	await page.getByText(/The server does not answer/).waitFor({ state: "hidden" });
	await clean(page, /Failed to load resource/);
});

for (const theme of THEMES)
	test(`marks have their names in the timeline, and a click shows that moment, ${theme}`, async () => {
		const page = await open("#/overview", { theme });
		const mark = page.getByRole("button", { name: /^Mark loaded at / });
		assert.equal(await mark.innerText(), "loaded");
		await mark.focus();
		await page.keyboard.press("Enter");
		await page.getByRole("slider", { name: "Time point" }).waitFor();
		await has(page, "at", /./);
		assert.deepEqual(await violations(page), []);
		await clean(page);
	});

test("the timeline opens on the user's functions where one module has nearly all, and a band is a filter", async () => {
	const page = await open();
	const timeline = page.locator(".timeline"),
		choice = (name) =>
			timeline.getByRole("radio", { name }).or(timeline.getByRole("button", { name, exact: true }));
	const isChosen = (name) => async () =>
		(await choice(name).getAttribute("aria-checked")) ?? (await choice(name).getAttribute("aria-pressed"));
	await soon(isChosen("By my code"), "true");
	await choice("By module").click();
	await has(page, "by", "module");
	await timeline.getByRole("button", { name: "program", exact: true }).waitFor();
	await choice("By function").click();
	await has(page, "by", "function");
	await settled(page);
	assert.deepEqual(await violations(page), []);
	await timeline.getByRole("button", { name: "load", exact: true }).click();
	await has(page, "q", /^exact_site = "load"$/);
	await clean(page);
});
