// What the frame shows when a tape is not simply there: still being read, growing, with losses, gone. The server's own answer about
// its tapes is altered on the way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, violations } from "./harness.mjs";

// Every /info passes through change(answer) from now on.
async function alter(page, change) {
	await page.route("**/api/v1/events", (route) =>
		route.fulfill({ contentType: "text/event-stream", body: "retry: 1000\n\n" }),
	); // no news: it asks itself
	await page.route("**/api/v1/info", async (route) => {
		try {
			const answer = await (await route.fetch()).json();
			change(answer);
			await route.fulfill({ json: answer });
		} catch (error) {
			if (!page.isClosed() && !/disposed|closed/.test(error.message)) throw error;
		}
	});
	await page.reload();
}

test("what the first page begins with is asked once, before the app is there", async () => {
	const page = await open("#/threads"); /* a tab that is opened again knows its token */
	const ask = (path) =>
		page.evaluate(
			(wanted) =>
				performance
					.getEntriesByType("resource")
					.filter((e) => new URL(e.name).pathname === wanted)
					.map((e) => e.startTime),
			path,
		);
	await page.evaluate(() => {
		location.hash = "#/overview";
		location.reload();
	});
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await settled(page);
	for (const path of ["info", "fields", "tape", "summary"]) {
		const times = await ask(`/api/v1/${path}`);
		assert.equal(times.length, 1, `${path} was asked ${times.length} times`);
		assert.ok(times[0] < (await ask("/api/v1/curves"))[0], `${path} was asked late`);
	}
	await clean(page);
});

test("a tape that is being read shows how far, and then itself", async () => {
	const page = await open();
	let loading = true;
	await alter(page, (info) => {
		const { id, file, tape_bytes } = info.tapes[0];
		if (loading)
			info.tapes[0] = {
				id,
				file,
				state: "loading",
				gen: 0,
				error: null,
				progress: { done: 250, total: 1000 },
				tape_bytes,
			};
	});
	await page.getByRole("heading", { name: "Reading program.mtape" }).waitFor();
	await soon(() => page.locator("header.top").innerText(), /Loading 25 %/);
	assert.deepEqual(await violations(page), []);
	loading = false;
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await settled(page);
	await clean(page);
});

test("a tape that cannot be read says why", async () => {
	const page = await open();
	await alter(page, (info) => {
		const { id, file } = info.tapes[0];
		info.tapes[0] = {
			id,
			file,
			state: "failed",
			gen: 0,
			error: "not a tape of this version",
			progress: null,
			tape_bytes: 7,
		};
	});
	await page.getByText("not a tape of this version").waitFor();
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("losses make sums lower bounds, and it is said", async () => {
	const page = await open();
	await alter(page, (info) => {
		info.tapes[0].lost_events = 12345;
	});
	await page.getByText(/12,345 events could not be recorded/).waitFor();
	await soon(
		() =>
			page
				.locator("main")
				.getByRole("link", { name: /^Allocated/ })
				.innerText(),
		/\u2265/,
	);
	assert.deepEqual(await violations(page), []);
	await settled(page);
	await clean(page);
});

test("a tape that ends before its program has lower bounds, too", async () => {
	const page = await open();
	await alter(page, (info) => {
		Object.assign(info.tapes[0], { state: "truncated", end: "not known" });
	});
	await page.getByText("The tape ends before the program did: totals are lower bounds.").waitFor();
	await soon(
		() =>
			page
				.locator("main")
				.getByRole("link", { name: /^Peak heap/ })
				.innerText(),
		/\u2265/,
	);
	await settled(page);
	await clean(page);
});

test("functions without names are told where functions are shown, as the summary says it", async () => {
	const page = await open();
	let unnamed;
	await page.route("**/api/v1/summary?*", async (route) => {
		const answer = await (await route.fetch()).json();
		await route.fulfill({ json: { ...answer, unnamed } });
	});
	const go = (to) =>
		page.evaluate((hash) => {
			location.hash = hash;
		}, to);
	const banner = page.getByText(
		/^No debug information for libparse\.so: some functions appear as raw addresses \(73\.1 % of the peak\)\.$/,
	);
	await go("#/flame");
	await page.locator("canvas.flame-canvas").waitFor();
	await settled(page);
	assert.equal(await page.getByText(/^No debug information/).count(), 0); // too little of the peak
	const module = { module: "/opt/libparse.so", reason: "no symbols at all", build_id: "c0ffee", bytes: 2048 };
	unnamed = { bytes: 2048, share: 73.1, modules: [module] };
	await go("#/overview");
	await page.reload();
	await settled(page);
	assert.equal(await page.getByText(/^No debug information/).count(), 0); // the Overview is of more than functions
	await go("#/flame");
	await banner.click();
	await page.getByText(/libparse\.so: 2(\.00?)? KiB, no symbols at all, build-id c0ffee/).waitFor();
	await page.getByText("DEBUGINFOD_URLS").waitFor();
	assert.deepEqual(await violations(page), []);
	await page.getByRole("button", { name: "Do not show this again" }).click();
	await banner.waitFor({ state: "detached" });
	await page.reload();
	await settled(page);
	await page.locator("canvas.flame-canvas").waitFor();
	assert.equal(await banner.count(), 0);
	await clean(page);
});

test("a tape that grows is asked again when it has grown, and only then", async () => {
	const page = await open();
	let gen = 1,
		summaries = 0;
	page.on("request", (r) => {
		if (/\/api\/v1\/summary/.test(r.url())) summaries++;
	});
	await alter(page, (info) => {
		Object.assign(info.tapes[0], { state: "live", goes_on: true, gen, readings: gen });
	});
	await page.getByText("Not freed yet").first().waitFor();
	await settled(page);
	const first = summaries;
	await page.waitForTimeout(2600); // it looks every two seconds
	assert.equal(summaries, first);
	gen = 2;
	await page.waitForRequest(/\/api\/v1\/summary/);
	await soon(() => page.locator(".tile.stale, .tiles.stale").count(), 0);
	await settled(page);
	await clean(page);
});

test("an address of another tape says that the server does not have it", async () => {
	const page = await open("#/overview?v=1&c=00000000000000000000000000000000");
	await page.getByRole("heading", { name: "This tape is not served" }).waitFor();
	await page.getByRole("link", { name: "Show the tape that is served" }).click();
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await settled(page);
	await clean(page);
});

test("a page that is not there leads back", async () => {
	const page = await open("#/nowhere?v=1");
	await page.getByRole("heading", { name: /Page .* not found/ }).waitFor();
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("a filter in the address that cannot be read is marked, and can be removed", async () => {
	const page = await open("#/overview?v=1&q=nonsense+%3D+1");
	await page.locator(".filter-verdict.bad").waitFor();
	await page.getByRole("button", { name: "Remove nonsense = 1" }).click();
	await has(page, "q", null);
	await page.getByRole("link", { name: /Peak heap/ }).waitFor();
	await settled(page);
	await clean(page, /status of 400/);
});

test("what a filter got wrong is mended in its place, in the bar and on the page", async () => {
	const page = await open("#/sites");
	const wrong = 'function ~ "\u00e4" or sise > 4',
		/* positions are bytes */ right = 'function ~ "\u00e4" or size > 4';
	for (const place of [".state", ".filter-verdict"]) {
		await page.evaluate((q) => {
			location.hash = `#/sites?v=1&q=${encodeURIComponent(q)}`;
		}, wrong);
		const use = page.locator(place).getByRole("button", { name: "Use size" });
		await use.waitFor();
		await soon(() => page.locator("main .stale").count(), 0); // an error is not old content
		await use.click();
		await has(page, "q", right);
		await page.getByRole("grid").waitFor();
	}
	await clean(page, /status of 400/);
});

test("at 400 % zoom nothing is wider than the window", async () => {
	const page = await open("", { width: 360, height: 256 });
	await soon(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("a wheel moves a list by rows, however many there are", async () => {
	const page = await open();
	await page.route("**/api/v1/allocs?*", async (route) => {
		const answer = await (await route.fetch()).json();
		await route.fulfill({ json: { ...answer, count: 50_000_000 } });
	});
	await page.evaluate(() => {
		location.hash = "#/allocations?v=1";
	});
	const list = page.locator(".vgrid"),
		top = () =>
			page.evaluate(() => {
				const head = document.querySelector(".vgrid-head").getBoundingClientRect().bottom;
				const row = [...document.querySelectorAll(".vgrid-row")].find(
					(one) => one.getBoundingClientRect().bottom > head + 1,
				);
				return row ? Number(row.getAttribute("aria-rowindex")) - 2 : null;
			});
	await soon(() => list.getAttribute("aria-rowcount"), "50000001");
	assert.equal(await top(), 0);
	const { x, y } = await list.boundingBox();
	await page.mouse.move(x + 200, y + 200);
	let before = 0;
	for (let i = 0; i < 5; i++) {
		// far less than a pixel of the scrollbar
		await page.mouse.wheel(0, 120);
		await soon(async () => (await top()) > before, true);
		before = await top();
	}
	assert.ok(before >= 10 && before <= 30, `${before} rows`);
	await page.mouse.wheel(0, -10_000);
	await soon(top, 0);
	await clean(page);
});

test("the page keeps little", async () => {
	const page = await open();
	const client = await page.context().newCDPSession(page);
	await client.send("HeapProfiler.collectGarbage");
	const { usedSize } = await client.send("Runtime.getHeapUsage");
	assert.ok(usedSize < 40e6, `${usedSize} bytes of heap`);
	await clean(page);
});
