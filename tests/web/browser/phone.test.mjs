// Every page of the rail on a phone: as wide as the screen, what is wider is scrolled by itself, nothing axe finds. And lines that
// must not break on larger screens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { clean, open, settled, soon, THEMES, violations } from "./harness.mjs";

const PHONE = { width: 390, height: 844 };

async function go(page, hash) {
	await page.evaluate((to) => {
		location.hash = to;
	}, hash);
	await page.waitForFunction(
		(to) => document.querySelector(".rail-link[aria-current]")?.getAttribute("href")?.startsWith(to.split("?")[0]),
		hash,
	);
	await settled(page);
}

const links = (page) =>
	page.locator(".rail-link").evaluateAll((all) => all.map((link) => link.getAttribute("href").replace(/\?.*/, "")));

for (const theme of THEMES)
	test(`every page fits a phone, ${theme}`, async () => {
		const page = await open("", { theme, ...PHONE }),
			pages = await links(page);
		assert.ok(pages.length >= 12, pages.join());
		for (const hash of pages) {
			await go(page, hash);
			await soon(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
			const height = await page.evaluate(() => document.documentElement.scrollHeight);
			assert.ok(height < 8000, `${hash} is ${height} px long: all rows of a list are drawn`);
			assert.deepEqual(await violations(page), [], `${hash} ${theme}`);
		}
		await clean(page);
	});

test("on a phone all pages, the filter, the measures and the code of a file are in sight", async () => {
	const page = await open("#/source", PHONE);
	const right = (locator) => locator.evaluate((el) => el.getBoundingClientRect().right);
	for (const link of await page.locator(".rail-link").all()) assert.ok((await right(link)) <= PHONE.width);
	assert.ok((await right(page.getByRole("button", { name: "More measures" }))) <= PHONE.width);
	const code = page.locator(".source-line.hot > span").last();
	await code.waitFor();
	assert.ok((await code.boundingBox()).x < PHONE.width / 2);
	await clean(page);
});

test("on a phone the menus of the top bar are whole, and the page is named", async () => {
	const page = await open("#/flame", PHONE);
	assert.equal(await page.locator(".page-name").innerText(), "Flame graph");
	for (const name of ["Export", "Time range: Whole recording", "Frames: My code"]) {
		await page.getByRole("button", { name }).click();
		const box = await page.locator(".popover-panel").boundingBox();
		assert.ok(box.x >= 0 && box.x + box.width <= PHONE.width, `${name}: ${JSON.stringify(box)}`);
		assert.ok(box.y + box.height <= PHONE.height, `${name}: ${JSON.stringify(box)}`);
		await page.keyboard.press("Escape");
		await page.locator(".popover-panel").waitFor({ state: "detached" });
	}
	await clean(page);
});

test("on a phone a menu is within the window when it is first painted", async () => {
	const page = await open("#/flame", PHONE);
	const { left, right } = await page.evaluate(
		() =>
			new Promise((found) => {
				new MutationObserver((_, observer) => {
					const panel = document.querySelector(".popover-panel");
					if (!panel) return;
					observer.disconnect(); // called before the browser paints what has changed
					found(panel.getBoundingClientRect().toJSON());
				}).observe(document.body, { childList: true, subtree: true });
				document.querySelector('button[aria-label^="Time range"]').click();
			}),
	);
	assert.ok(left >= 0 && right <= PHONE.width, `${left} to ${right}`);
	await clean(page);
});

test("on a phone labels of time do not overlap", async () => {
	const page = await open("#/lifetimes", PHONE);
	for (const [hash, labels] of [
		["#/lifetimes", ".field-x"],
		["#/compare", ".compare-axis"],
	]) {
		await go(page, hash);
		await page.locator(labels).first().locator(":scope > *").first().waitFor();
		const overlap = (axis) => {
			const boxes = [...axis.children].map((e) => e.getBoundingClientRect());
			return boxes.some((box, i) => i > 0 && box.left < boxes[i - 1].right);
		};
		await soon(() => page.locator(labels).first().evaluate(overlap), false);
	}
	await clean(page);
});

test("Compare's toolbar is one line, whatever is measured, and says what has gone into its menus", async () => {
	const page = await open("#/compare");
	for (const width of [1440, 1024]) {
		await page.setViewportSize({ width, height: 800 });
		for (const hash of ["#/compare", "#/compare?m=allocated", "#/compare?m=leaked&per=1000%3A2500"]) {
			await go(page, hash);
			const line = page.getByRole("group", { name: "What is compared" });
			await soon(() => line.evaluate((el) => el.scrollWidth <= el.clientWidth + 1 && el.clientHeight < 40), true);
			assert.equal(await page.locator(".compare-top").evaluate((el) => el.clientHeight < 40), true);
		}
	}
	await go(page, "#/compare?m=allocated");
	await page.getByRole("button", { name: "Measure: Allocated" }).click();
	await page.getByRole("button", { name: "Live at moments" }).click();
	await page.waitForFunction(() => location.hash.includes("m=live"));
	await clean(page);
});

test("threads of one name are told apart wherever they are named", async () => {
	const page = await open("#/threads"),
		names = await page.getByRole("rowheader").allInnerTexts();
	assert.ok(
		names.every((name) => /^\S+ \(\d+\)$/.test(name)),
		names.join(),
	);
	assert.equal(new Set(names).size, names.length / 2); // in both tables
	const columns = await page.locator(".matrix thead th").allInnerTexts();
	assert.equal(new Set(columns).size, columns.length, columns.join());
	await go(page, "#/sites?by=thread");
	await page
		.getByText(/^program \(\d+\)$/)
		.nth(1)
		.waitFor();
	await go(page, "#/allocations");
	await page
		.getByText(/^program \(\d+\)$/)
		.first()
		.waitFor();
	await clean(page);
});

test("the export menu has the page without a server, and every format once", async () => {
	const page = await open("#/overview");
	await page.getByRole("button", { name: "Export" }).click();
	const group = page.getByRole("group", { name: "Everything" }),
		names = await page.locator(".export-menu .menu-item b").allInnerTexts();
	assert.ok(names.length > 15 && new Set(names).size === names.length, names.join());
	const [file] = await Promise.all([page.waitForEvent("download"), group.getByRole("button").click()]);
	assert.match(file.suggestedFilename(), /^memtape\.program\.\d+\.html$/);
	await clean(page);
});

test("a file for another tool has the functions that are on the screen", async () => {
	const page = await open("#/overview");
	for (const frames of ["my", "exact", "all"]) {
		await go(page, `#/sites?frames=${frames}`);
		await page.getByRole("button", { name: "Export" }).click();
		const csv = page.locator(".export-menu .menu-item").filter({ has: page.getByText("csv", { exact: true }) });
		const [asked, file] = await Promise.all([
			page.waitForRequest(/\/export\?/),
			page.waitForEvent("download"),
			csv.click(),
		]);
		assert.equal(new URL(asked.url()).searchParams.get("frames"), frames);
		const functions = readFileSync(await file.path(), "utf8")
			.split("\r\n")
			.map((row) => row.split(",")[0]);
		assert.equal(functions.includes("main"), frames === "my", functions.join()); // for the C library's pthread_create
		assert.equal(functions.includes("calloc"), frames === "all", functions.join());
		await page.locator(".export-menu").waitFor({ state: "detached" });
	}
	await clean(page);
});

test("on a phone labels over the timeline keep within the window, wherever the peak is", async () => {
	const page = await open("#/threads", PHONE);
	let share = 0,
		duration = 0;
	await page.route("**/api/v1/curves?*", async (route) => {
		const answer = await (await route.fetch()).json();
		duration = answer.until_ns;
		answer.peak.ns = share * duration;
		await route.fulfill({ json: answer });
	});
	const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
	await go(page, "#/overview");
	for (share of [0, 0.2, 0.5, 0.75, 0.85, 0.95, 0.99]) {
		await go(page, "#/threads");
		await page.reload();
		await go(page, `#/overview?at=${((share * duration) / 1e9).toFixed(9)}`);
		for (const label of [".peak-label", ".point-label"]) {
			await page.locator(label).waitFor();
			const box = await page.locator(label).boundingBox();
			assert.ok(box.x >= 0 && box.x + box.width <= PHONE.width, `${label} ${share}: ${JSON.stringify(box)}`);
		}
		assert.equal(await sideways(), 0, `${share}`);
	}
	await page.unrouteAll({ behavior: "ignoreErrors" });
	await clean(page);
});

test("where there is no room for the filter's example, it is seen that it goes on", async () => {
	const page = await open("#/overview"),
		field = page.getByRole("combobox", { name: "Filter" });
	assert.equal(await field.evaluate((el) => getComputedStyle(el).textOverflow), "ellipsis");
	await clean(page);
});

test("one call site is not called all of them", async () => {
	const page = await open("#/threads");
	await page.route("**/api/v1/sites?*", async (route) => {
		const answer = await (await route.fetch()).json();
		await route.fulfill({ json: { ...answer, count: 1, rows: answer.rows.slice(0, 1) } });
	});
	await go(page, "#/overview");
	await soon(() => page.locator(".all-link").innerText(), "The call site");
	await page.unrouteAll({ behavior: "ignoreErrors" });
	await clean(page);
});
