// A folder of tapes: the list, sorted and searched, several curves on one axis, a tape opened, one that is being recorded.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clean, open, param, soon, THEMES, violations } from "./harness.mjs";

const { MEMTAPE_COMMAND, MEMTAPE_SHOTS_OF_TAPES } = process.env;
const folder = mkdtempSync(join(tmpdir(), "tapes-"));
const NOT_YET = /503/; // on a slow machine a tape is asked about before it was read
const UUID_AT = 72;
let server, live, url;

function record(name, size) {
	const program = ["python3", "-c", `x = [bytearray(${size}) for i in range(200)]; x = x[100:]`];
	execFileSync(MEMTAPE_COMMAND, ["record", "-q", "-o", join(folder, name), "--", ...program]);
}

before(async () => {
	execFileSync(MEMTAPE_COMMAND, ["record", "-q", "-o", join(folder, "true.mtape"), "--", "true"]);
	record("large.mtape", 40_000);
	record("small.mtape", 4_000);
	writeFileSync(join(folder, "cut.mtape"), readFileSync(join(folder, "true.mtape")).subarray(0, 100));
	live = spawn(MEMTAPE_COMMAND, ["record", "-q", "--live", "-o", join(folder, "now.mtape"), "--", "cat"], {
		stdio: ["pipe", "pipe", "ignore"],
	});
	live.stdin.write("x\n");
	await new Promise((go) => live.stdout.once("data", go)); // it runs, and so it is recorded
	server = spawn(MEMTAPE_COMMAND, ["serve", "--json", folder]);
	let said = "";
	server.stdout.on("data", (data) => {
		said += data;
	});
	while (!said.includes("\n")) await new Promise((go) => setTimeout(go, 50));
	url = JSON.parse(said).url;
});
after(async () => {
	const ends = [server, live].map((child) => new Promise((done) => child.on("exit", done)));
	server.kill();
	live.stdin.end();
	await Promise.all(ends);
	rmSync(folder, { recursive: true });
});

const rows = (page) => page.locator(".vgrid-row");
const files = (page) => page.locator(".vgrid-row > :last-child").allInnerTexts();
const row = (page, file) => rows(page).filter({ hasText: file });

async function shown(options = {}) {
	const page = await open("#/tapes", { url, ...options });
	await soon(() => rows(page).count(), 5);
	await soon(() => page.getByText(/^reading \d/).count(), 0);
	return page;
}

test("all are listed, with what is on them, and what is being recorded is marked", async () => {
	const page = await shown();
	await soon(() => page.locator(".vgrid-row .spark").count(), 4); // cut cannot be read
	assert.match(await row(page, "large.mtape").innerText(), /python3/);
	assert.match(await row(page, "now.mtape").innerText(), /Live/);
	assert.match(await row(page, "cut.mtape").innerText(), /Unreadable/);
	assert.match(await row(page, "true.mtape").innerText(), /exited 0/);
	await clean(page, NOT_YET);
});

test("they are sorted and found", async () => {
	const page = await shown();
	await page.getByRole("button", { name: "Peak" }).click();
	await soon(async () => (await files(page))[0], "large.mtape");
	await page.getByRole("button", { name: "Peak" }).click();
	await soon(async () => (await files(page))[4], "large.mtape");
	await page.getByRole("button", { name: "Program" }).click();
	await soon(async () => (await files(page))[0], "now.mtape"); // cat
	assert.equal(await param(page, "sort"), "program");
	await page.getByLabel("Find a tape").fill("PYTHON3 bytearray(4000)");
	await soon(async () => (await files(page)).join(), "small.mtape");
	await page.getByLabel("Find a tape").fill("nothing has this name");
	await page.getByRole("button", { name: "Show all 5" }).click();
	await soon(() => rows(page).count(), 5);
	await clean(page, NOT_YET);
});

test("several are laid over each other, by click and by key, and the address has them", async () => {
	const page = await shown();
	await page.getByLabel("Lay large.mtape over the others").click();
	await page.getByRole("img", { name: /^Live memory of 1 tape / }).waitFor();
	await page.getByLabel("Find a tape").fill("small");
	await soon(async () => (await files(page)).join(), "small.mtape");
	await page.getByRole("grid").focus();
	await page.keyboard.press("Space");
	await page.getByRole("img", { name: /^Live memory of 2 tapes / }).waitFor();
	assert.equal(await page.locator(".tapes-curves path").count(), 2);
	const toggle = page.getByRole("button", { name: /^python3/, pressed: true }).first();
	await toggle.click();
	await page.getByRole("img", { name: /^Live memory of 1 tape / }).waitFor();
	await page.reload();
	await page.getByRole("img", { name: /^Live memory of 2 tapes / }).waitFor();
	await page.getByRole("button", { name: "Take large.mtape away" }).click();
	await page.getByRole("img", { name: /^Live memory of 1 tape / }).waitFor();
	await page.getByRole("button", { name: "Clear" }).click();
	await soon(() => page.locator(".tapes-curves").count(), 0);
	await clean(page, NOT_YET);
});

test("a click opens a tape, and a new one is in the list by itself", async () => {
	const page = await shown();
	const body = readFileSync(join(folder, "true.mtape"));
	body.fill(7, UUID_AT, UUID_AT + 16);
	writeFileSync(join(folder, "new.mtape"), body);
	await soon(() => row(page, "new.mtape").count(), 1);
	await row(page, "new.mtape").getByRole("button", { name: "true" }).click();
	await soon(() => page.evaluate(() => location.hash), /^#\/overview/);
	assert.equal(await param(page, "c"), "07".repeat(16));
	await page.keyboard.press("g");
	await page.keyboard.press("b");
	await soon(() => row(page, "new.mtape").count(), 1);
	await row(page, "new.mtape").locator(":scope > :last-child").click();
	await soon(() => page.evaluate(() => location.hash), /^#\/overview/);
	rmSync(join(folder, "new.mtape"));
	await clean(page, NOT_YET);
});

test("a file that was replaced is not shown as the old one", async () => {
	const page = await shown();
	copyFileSync(join(folder, "small.mtape"), join(folder, "spare"));
	await page.route("**/api/v1/tapes*", (route) => route.abort()); // the list stays as it is
	const body = readFileSync(join(folder, "true.mtape"));
	body.fill(9, UUID_AT, UUID_AT + 16);
	writeFileSync(join(folder, "small.mtape"), body);
	await row(page, "small.mtape").getByRole("button", { name: "python3" }).click();
	await page.getByText(/was replaced by another recording/).waitFor();
	assert.match(await page.evaluate(() => location.hash), /^#\/tapes/);
	copyFileSync(join(folder, "spare"), join(folder, "small.mtape"));
	rmSync(join(folder, "spare"));
	await page.context().close();
});

test("a list that takes longer than the time between two is shown", async () => {
	const page = await open("#/tapes", { url });
	await page.route("**/api/v1/tapes*", async (route) => {
		const answer = await route.fetch();
		await new Promise((go) => setTimeout(go, 2500)); // the next question is due after one second
		await route.fulfill({ response: answer });
	});
	await page.reload();
	await soon(() => rows(page).count(), 5);
	await page.context().close();
});

for (const theme of THEMES)
	test(`the page is accessible, ${theme}, however wide it is`, async () => {
		const page = await shown({ theme });
		for (const file of ["large", "small", "now"])
			await page.getByLabel(`Lay ${file}.mtape over the others`).click();
		await page.getByRole("img", { name: /^Live memory of 3 tapes / }).waitFor();
		for (const width of [1440, 1024, 390]) {
			await page.setViewportSize({ width, height: 900 });
			if (MEMTAPE_SHOTS_OF_TAPES)
				await page.screenshot({ path: join(MEMTAPE_SHOTS_OF_TAPES, `tapes-${theme}-${width}.png`) });
			assert.deepEqual(await violations(page), []);
		}
		await clean(page, NOT_YET);
	});
