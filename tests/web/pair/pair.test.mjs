// Compare on two tapes of one program: the second build leaks in a function that the first does not have.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, violations } from "../browser/harness.mjs";

const PLANTED = "205 KiB"; // 30 blocks of 7000 bytes
const list = (page) => page.getByRole("complementary", { name: "Changes" });

test("the planted leak is what is new", async () => {
	const page = await open("#/compare?m=leaked");
	await list(page).getByText("plant").first().waitFor();
	await list(page).getByText(new RegExp(PLANTED)).first().waitFor();
	await soon(() => page.locator(".compare-total").innerText(), /→/);
	assert.deepEqual(await violations(page), []);
	await clean(page);
});

test("a search finds it in the graph and says its share", async () => {
	const page = await open("#/compare?m=leaked");
	await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
	await page.keyboard.press("Control+f");
	await page.keyboard.type("^plant$");
	const found = page.locator(".flame-search output");
	await found.waitFor();
	await page.waitForFunction(() => /^1 · \d/.test(document.querySelector(".flame-search output")?.innerText ?? ""));
	await has(page, "find", "^plant$");
	await page.getByRole("searchbox").press("Enter");
	await page.waitForFunction(() => /plant/.test(document.querySelector("[role=treeitem]")?.textContent ?? ""));
	await page.getByRole("searchbox").press("Escape");
	await page.waitForFunction(() => !location.hash.includes("find="));
	await clean(page);
});

test("the graph of differences is asked for once, and again only where the picture is wider", async () => {
	const page = await open("#/overview"),
		asked = [];
	page.on("request", (request) => {
		if (/\/api\/v1\/diff\/flame\?/.test(request.url())) asked.push(request.url());
	});
	await page.evaluate(() => {
		location.hash = "#/compare?m=leaked";
	});
	await page.getByRole("tree", { name: "Difference flame graph" }).waitFor();
	await settled(page);
	assert.equal(asked.length, 1, asked.join("\n"));
	await page.setViewportSize({ width: 2600, height: 900 });
	await soon(() => asked.length, 2);
	await settled(page);
	assert.equal(asked.length, 2, asked.join("\n"));
	await clean(page);
});

test("swapped, it is what is gone; Back swaps again", async () => {
	const page = await open("#/compare?m=leaked");
	await list(page).getByText("absent before").waitFor();
	await page.keyboard.press("s");
	await list(page).getByText("absent after").waitFor();
	await list(page).getByText("plant").first().waitFor();
	await page.goBack();
	await list(page).getByText("absent before").waitFor();
	await clean(page);
});

test("spans of time are compared for what was allocated", async () => {
	const page = await open("#/compare?m=allocated");
	const whole = await page.locator(".compare-total").innerText();
	for (const [name, text] of [
		["Time before", "start..1%"],
		["Time after", "start..end"],
	]) {
		await page.getByLabel(name, { exact: true }).fill(text);
		await page.getByLabel(name, { exact: true }).press("Enter");
	}
	await page.waitForFunction(() => /[?&]ra=/.test(location.hash) && /[?&]rb=/.test(location.hash));
	await page.waitForFunction((old) => document.querySelector(".compare-total")?.innerText !== old, whole);
	await settled(page);
	await soon(() => page.locator(".compare-total").innerText(), /\+|new/);
	await clean(page);
});
