/*
 * What a user waits for in the app: one pass over its pages in Chromium, its figures as JSON.
 *
 *	MEMTAPE_WEB=web MEMTAPE_URL=URL CHROMIUM=PATH node app.mjs PASS
 *
 * PASS is a number that decides where is clicked; the server has just started and knows nothing yet.
 * Moments are taken inside the page: an input has its event's time stamp, an answer the end of its parsing, a picture the
 * first frame after the canvas was drawn, or the document changed.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.MEMTAPE_WEB, "package.json"))("playwright-core");
const { URL: ADDRESS, CHROMIUM } = { URL: process.env.MEMTAPE_URL, CHROMIUM: process.env.CHROMIUM };
const ROW_PX = 21; /* of a flame graph */
const ZOOMS = 40, SCROLL_MS = 3000, PATIENCE_MS = Number(process.env.BENCH_PATIENCE_MS ?? 60_000);
const PAGES = ["tree", "sites", "allocations", "leaks", "lifetimes", "threads", "source", "console", "maps", "space"];
const FILTER = 'function ~ "^w.rk$" and size >= 100 and lifetime < 1ms';

let state = 0x9e3779b9 ^ (Number(process.argv[2] ?? 1) * 0x85ebca6b);
const random = () => {
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	return (state >>> 0) / 2 ** 32;
};

/* Runs in the page before anything else: takes down when what happened. */
function watch() {
	const bench = (globalThis.bench = { inputs: [], answers: [], paints: [], tasks: [], waits: [], content: null, heap: 0, flying: 0 });
	const ask = globalThis.fetch;
	globalThis.fetch = async (...args) => {
		bench.flying++;
		try {
			return await ask(...args);
		} finally {
			bench.flying--;
		}
	};
	const json = Response.prototype.json;
	Response.prototype.json = async function () {
		bench.flying++;
		try {
			const value = await json.call(this);
			bench.answers.push({ path: new URL(this.url).pathname.replace("/api/v1/", ""), at: performance.now() });
			return value;
		} finally {
			bench.flying--;
		}
	};
	const set = CanvasRenderingContext2D.prototype.setTransform; /* what every picture of the app begins with */
	CanvasRenderingContext2D.prototype.setTransform = function (...args) {
		if (this.canvas.classList.contains("flame-canvas"))
			bench.paints.push(performance.now());
		return set.apply(this, args);
	};
	addEventListener("click", (e) => bench.inputs.push({ type: "click", at: e.timeStamp }), true);
	addEventListener("pointermove", (e) => { if (e.buttons) bench.inputs.push({ type: "drag", at: e.timeStamp }); }, true);
	const observe = (type, options, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...options });
	observe("longtask", {}, (e) => bench.tasks.push(e.duration));
	observe("event", { durationThreshold: 16 }, (e) => { if (e.interactionId) bench.waits.push(e.duration); });
	const look = () => {
		bench.heap = Math.max(bench.heap, performance.memory.usedJSHeapSize);
		const tiles = document.querySelectorAll("main .tile");
		if (bench.content === null && tiles.length > 0 && !document.querySelector("main .tile .skeleton"))
			bench.content = performance.now();
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}

const settled = (page) => page.waitForFunction(() => document.querySelector("main > *") && !document.querySelector(".skeleton, .stale"), null, { timeout: PATIENCE_MS });
const frames = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))); }));

async function opened(browser, timings) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	await page.addInitScript(watch);
	await page.addInitScript(() => performance.setResourceTimingBufferSize(5000));
	await page.goto(ADDRESS);
	await page.waitForFunction(() => bench.content !== null);
	const content = await page.evaluate(() => bench.content);
	await settled(page);
	timings.push({ content, whole: await page.evaluate(() => performance.now()) });
	return page;
}

async function go(page, fragment) {
	const begun = await page.evaluate((hash) => { location.hash = hash; return performance.now(); }, fragment);
	await frames(page);
	await settled(page);
	return await frames(page) - begun;
}

/* From the last input of a type until the first answer of a path after it is on the screen; null: nothing was asked. */
async function answered(page, type, path) {
	return page.evaluate(async ({ type, path, patience }) => {
		const input = bench.inputs.filter((i) => i.type === type).at(-1).at, isFlame = path === "flame";
		const found = () => {
			const answer = bench.answers.find((a) => a.path === path && a.at > input);
			return answer && (!isFlame || bench.paints.some((at) => at > answer.at)) ? answer : null;
		};
		for (;;) {
			await new Promise((done) => { requestAnimationFrame(done); });
			const waited = performance.now() - input;
			if (found())
				break;
			if (waited > patience || (waited > 1000 && bench.flying === 0))
				return null;
		}
		await new Promise((done) => { requestAnimationFrame(done); });
		return performance.now() - input;
	}, { type, path, patience: PATIENCE_MS });
}

const depth = (page) => page.evaluate(() => (new URLSearchParams(location.hash.split("?")[1]).get("z") ?? "").split(".").filter(Boolean).length);

/* Into boxes that were not looked into before: the app keeps what it was answered. */
async function zooms(page, count) {
	const times = [], start = await page.evaluate(() => `#/flame?v=1&m=count&s=${new URLSearchParams(location.hash.split("?")[1]).get("s") ?? ""}`);
	for (let i = 0; i < count * 2 && times.length < count; i++) {
		const at = await depth(page), box = await page.locator(".flame-canvas").boundingBox();
		await page.mouse.click(box.x + box.width * (.02 + .9 * random()), box.y + (at + 1.5 + Math.floor(random() * 4)) * ROW_PX);
		const ms = await answered(page, "click", "flame");
		if (ms !== null)
			times.push(ms);
		await settled(page);
		if (await depth(page) > 14)
			await go(page, start);
	}
	return times;
}

async function brushed(page, path) {
	const plot = await page.locator(".plot").first().boundingBox();
	const from = .1 + .4 * random(), to = from + .1 + .3 * random(), y = plot.y + plot.height / 2;
	await page.mouse.move(plot.x + plot.width * from, y);
	await page.mouse.down();
	await page.mouse.move(plot.x + plot.width * (from + to) / 2, y);
	await page.mouse.move(plot.x + plot.width * to, y);
	await page.mouse.up();
	const ms = await answered(page, "drag", path);
	await settled(page);
	return ms;
}

/* Frames while a list is scrolled by so many pixels a frame, and how many of them had a row that was not there yet. */
function scrolled(page, step) {
	return page.evaluate(({ step, span }) => new Promise((done) => {
		const list = document.querySelector(".vgrid"), begun = performance.now(), gaps = [];
		const isEmptyInView = (row) => row.querySelector(".skeleton") && row.getBoundingClientRect().top < list.getBoundingClientRect().bottom && row.getBoundingClientRect().bottom > list.getBoundingClientRect().top;
		let last = begun, empty = 0;
		const frame = () => {
			const now = performance.now();
			gaps.push(now - last);
			last = now;
			empty += [...list.querySelectorAll(".vgrid-row")].some(isEmptyInView);
			if (now - begun < span) {
				if (list.dispatchEvent(new WheelEvent("wheel", { deltaY: step, bubbles: true, cancelable: true })))
					list.scrollTop += step;
				requestAnimationFrame(frame);
				return;
			}
			gaps.sort((a, b) => a - b);
			done({ fps: gaps.length / (now - begun) * 1000, p95: gaps[Math.floor(gaps.length * .95)], most: gaps.at(-1), empty: empty / gaps.length });
		};
		requestAnimationFrame(frame);
	}), { step, span: SCROLL_MS });
}

async function heapOf(page) {
	const devtools = await page.context().newCDPSession(page);
	await devtools.send("HeapProfiler.collectGarbage");
	return { kept: (await devtools.send("Runtime.getHeapUsage")).usedSize, most: await page.evaluate(() => bench.heap) };
}

/* Every answer of the server, from asking to its last byte. */
const answersOf = (page) => page.evaluate(() => performance.getEntriesByType("resource").filter((r) => r.name.includes("/api/v1/")).map((r) => {
	const url = new URL(r.name);
	return { path: url.pathname.slice("/api/v1/".length), range: url.searchParams.has("from") && !url.pathname.endsWith("curves"), filter: url.searchParams.has("q"), later: Number(url.searchParams.get("off") ?? 0) > 0,
		ms: r.responseEnd - r.requestStart, bytes: r.encodedBodySize, status: r.responseStatus };
}));

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info"] });
const result = { content: [], pages: {}, brush: {}, scroll: {} };
await (await opened(browser, result.content)).context().close(); /* the server's first question */
const page = await opened(browser, result.content);
result.brush.overview = [];
for (let i = 0; i < 5; i++)
	result.brush.overview.push(await brushed(page, "summary"));
await go(page, "#/flame?v=1&m=count");
await zooms(page, 2); /* the first opens the panel beside the graph, which asks for another width */
result.zoom = await zooms(page, ZOOMS);
await go(page, "#/flame?v=1&m=count");
result.brush.flame = [];
for (let i = 0; i < 5; i++)
	result.brush.flame.push(await brushed(page, "flame"));
for (const name of PAGES)
	result.pages[name] = await go(page, `#/${name}?v=1`);
await go(page, "#/allocations?v=1");
result.rows = await page.evaluate(() => Number(document.querySelector(".list-tools .note").textContent.replace(/\D/g, "")));
for (const [name, step] of [["lines", 28], ["pages", 700], ["far", 40_000]])
	result.scroll[name] = await scrolled(page, step);
const filter = encodeURIComponent(FILTER);
for (const name of ["overview", "flame", "allocations", "sites"])
	result.pages[`${name}, filtered`] = await go(page, `#/${name}?v=1&q=${filter}`);
result.heap = await heapOf(page);
result.answers = await answersOf(page);
Object.assign(result, await page.evaluate(() => ({ waits: bench.waits, tasks: bench.tasks })));
result.chromium = browser.version();
await browser.close();
console.log(JSON.stringify(result));
