// Whose functions are, edited in the app: by keys, from menus, and what the pages show then.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clean, open, settled, soon, THEMES, URL, violations } from "../browser/harness.mjs";

const CONFIG = join(process.env.MEMTAPE_FOLDER, ".memtape", "config");
const kept = () => (existsSync(CONFIG) ? readFileSync(CONFIG, "utf8") : null);
const press = async (page, ...keys) => {
	for (const key of keys) await page.keyboard.press(key);
};
const headline = (page) => page.locator(".sites tbody a").first().innerText();
const dialogOf = (page) => page.getByRole("dialog", { name: "My code" });
const focused = (page, name) =>
	soon(() => page.evaluate(() => document.activeElement.getAttribute("aria-label")), name);

// From the button that has the focus.
async function byMenu(page) {
	await press(page, "Enter");
	await page.waitForFunction(() => document.activeElement.classList.contains("menu-item"));
	await press(page, "ArrowUp", "Enter");
	await focused(page, "Pattern");
}

for (const theme of THEMES)
	for (const width of [1440, 390])
		test(`patterns are added and removed by keys alone, ${theme}, ${width} px`, async () => {
			const page = await open("#/overview", { theme, width, height: 844 }),
				dialog = dialogOf(page);
			assert.match(await headline(page), /^wrap_/);
			await page.getByRole("button", { name: /^Frames/ }).focus();
			await byMenu(page);
			await dialog.getByText("No patterns of your own").waitFor();
			await page.keyboard.type("wrap_*,,x");
			await press(page, "Enter");
			await dialog.getByRole("alert").getByText("empty pattern at character 8").waitFor();
			assert.equal(kept(), null);
			assert.deepEqual(await violations(page), []);
			await press(page, "Control+a");
			await page.keyboard.type("wrap_*");
			await press(page, "Tab", "ArrowRight", "ArrowRight", "Tab", "Enter");
			await dialog.getByRole("cell", { name: "config, line 1" }).waitFor();
			assert.equal(kept(), "wrapper = wrap_*\n");
			assert.deepEqual(await violations(page), []);
			const over = () => document.documentElement.scrollWidth - innerWidth;
			assert.ok((await page.evaluate(over)) <= 0);
			await press(page, "Escape");
			await dialog.waitFor({ state: "detached" });
			await focused(page, /^Frames/);
			await soon(() => headline(page), /^request/);
			await byMenu(page);
			await dialog.getByRole("button", { name: "Remove wrap_*" }).focus();
			await press(page, "Enter");
			await dialog.getByText("No patterns of your own").waitFor();
			assert.equal(kept(), "");
			await press(page, "Escape");
			await soon(() => headline(page), /^wrap_/);
			await clean(page, /400 \(Bad Request\)/);
			rmSync(CONFIG);
		});

test("a menu of a function says whose it is, and pages that are open follow", async () => {
	const page = await open("#/tree?m=count"),
		other = await page.context().newPage(),
		dialog = dialogOf(page);
	await other.goto(`${URL}`);
	await soon(() => headline(other), /^wrap_it/);
	await page.bringToFront();
	await page.getByRole("treegrid").focus();
	await press(page, "*");
	await page
		.getByRole("treegrid")
		.getByText(/^wrap_/)
		.waitFor();
	await press(page, "End", "Shift+F10");
	const menu = page.getByRole("menu"),
		name = await menu.getAttribute("aria-label");
	assert.match(name, /^wrap_/);
	await menu.getByRole("menuitem", { name: "This is a library" }).focus();
	await press(page, "Enter");
	await focused(page, "Pattern");
	assert.equal(await dialog.getByLabel("Pattern").inputValue(), "wrap_it");
	assert.equal(await dialog.getByRole("radio", { checked: true }).innerText(), "Library");
	assert.ok((await dialog.locator(".my-code-chips button").allInnerTexts()).some((text) => text.endsWith("mine.c")));
	await press(page, "Enter");
	await dialog.getByRole("cell", { name: "wrap_it", exact: true }).waitFor();
	assert.equal(kept(), "library = wrap_it\n");
	await press(page, "Escape");
	await settled(page);
	await soon(
		() => page.locator(".vgrid").innerText(),
		(text) => !text.includes("wrap_it") && text.includes("request"),
	);
	await soon(() => headline(other), /^request/);
	await clean(page);
});

test("what is built in is listed", async () => {
	const page = await open("#/overview");
	await press(page, "Control+k");
	await page.keyboard.type("my code");
	await press(page, "Enter");
	await focused(page, "Pattern");
	await page.getByText(/^Built in: \d+ patterns/).click();
	await dialogOf(page).getByText("libstdc++.so*", { exact: true }).waitFor();
	assert.deepEqual(await violations(page), []);
	await clean(page);
});
