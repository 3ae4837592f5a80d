// Processes that run already: the list, attaching to one, seeing it live, letting it go.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clean, open, soon, THEMES, violations } from "./harness.mjs";

const { MEMTAPE_COMMAND, MEMTAPE_WATCHED } = process.env;
const folder = mkdtempSync(join(tmpdir(), "processes-"));
const LIST = /api\/v1\/attachable/;
const NO_TAPE = /404 .*c=last/; // what a page with a tape begins with
const NEW_TAPE = /404 .*c=last|503/; // on a slow machine it is asked about before it was read
let program, server, url;

const ended = (child) =>
	new Promise((done) => (child.exitCode !== null || child.signalCode ? done() : child.on("exit", done)));

before(async () => {
	program = spawn(MEMTAPE_WATCHED, ["one-of-a-kind"], { stdio: ["pipe", "ignore", "ignore"] });
	server = spawn(MEMTAPE_COMMAND, ["serve", "--json", folder]);
	let said = "";
	server.stdout.on("data", (data) => {
		said += data;
	});
	while (!said.includes("\n")) await new Promise((go) => setTimeout(go, 50));
	url = JSON.parse(said).url;
});
after(async () => {
	server.kill();
	await ended(server);
	program.kill();
	rmSync(folder, { recursive: true });
});

const rows = (page) => page.locator(".vgrid-row");
const isAttached = () => readFileSync(`/proc/${program.pid}/maps`, "utf8").includes(".spool");

async function find(page, text) {
	await page.getByLabel("Find a process").fill(text);
	await soon(() => rows(page).count(), 1);
}

test("without a tape the processes are shown, and any of them is found", async () => {
	const page = await open("", { url });
	await soon(() => page.evaluate(() => location.hash), /^#\/processes/);
	assert.match(await page.title(), /^Processes/);
	await soon(
		() => rows(page).count(),
		(n) => n > 1,
	);
	const sizes = page.locator(".vgrid-row > :first-child");
	assert.match(await sizes.first().innerText(), /\d (MiB|GiB|KiB)$/);
	await find(page, `one-of-a-kind ${program.pid}`);
	const text = (await rows(page).innerText()).split("\n");
	assert.ok(text.includes("watched") && text.includes(String(program.pid)), text);
	assert.match(await page.locator(".card-head .note").innerText(), /^1 of \d+$/);
	await page.getByLabel("Find a process").fill("nothing has this name");
	await page.getByRole("button", { name: /^Show all/ }).click();
	await soon(
		() => rows(page).count(),
		(n) => n > 1,
	);
	await page.getByRole("button", { name: "PID" }).click();
	await soon(
		async () => Number((await rows(page).first().innerText()).split("\n")[1]),
		(first) => first < program.pid,
	);
	await clean(page, NO_TAPE);
});

for (const theme of THEMES)
	test(`the list is accessible, ${theme}`, async () => {
		const page = await open("#/processes", { url, theme });
		await find(page, "one-of-a-kind");
		await rows(page).locator("b").click();
		await page.getByText(/^Running since/).waitFor();
		for (const width of [1440, 1024]) {
			await page.setViewportSize({ width, height: 800 });
			assert.deepEqual(await violations(page), [], `${width}`);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
		}
		await clean(page, NO_TAPE);
	});

test("a click records a process, another one lets it go, and its tape is shown", async () => {
	const page = await open("#/processes", { url });
	await find(page, "one-of-a-kind");
	await page.getByRole("button", { name: `Attach to watched, process ${program.pid}` }).click();
	await page.getByText(/^Recording watched; it stood still for/).waitFor();
	assert.ok(isAttached());
	await soon(() => page.locator("header.top .badge").first().innerText(), /^Live/);
	await soon(() => page.evaluate(() => location.hash), /^#\/overview/);
	await page.getByText(/^Recording began while watched ran/).click();
	await page.getByText("before attach").waitFor();
	await page.getByRole("button", { name: "Pause recording" }).click();
	await page.getByText("Recording paused", { exact: true }).waitFor();
	await page.getByRole("button", { name: "Resume recording" }).click();
	await page.keyboard.press("g");
	await page.keyboard.press("r");
	await page.getByText(/is being recorded/).waitFor();
	await find(page, "one-of-a-kind");
	assert.deepEqual(await violations(page), []);
	await page.getByRole("link", { name: "Show", exact: true }).waitFor();
	await page.getByLabel("Find a process").fill("");
	assert.ok(
		await page
			.getByRole("button", { name: /^Attach to/ })
			.first()
			.isDisabled(),
	);
	await find(page, "one-of-a-kind");
	await rows(page).getByRole("button", { name: "Detach" }).click();
	assert.ok(isAttached());
	await page.getByRole("dialog").getByRole("button", { name: "Detach" }).click();
	await page.getByText("Detached; watched continues as before").waitFor();
	assert.ok(!isAttached() && program.exitCode === null);
	await soon(() => page.locator("header.top .badge").first().innerText(), "Complete");
	assert.match(await page.evaluate(() => location.hash), /^#\/overview/);
	assert.deepEqual(
		readdirSync(folder).filter((name) => name.endsWith(".mtape")),
		[`memtape.watched.${program.pid}.0.mtape`],
	);
	await clean(page, NEW_TAPE);
});

test("a process that has gone is said to be gone", async () => {
	const gone = spawn(MEMTAPE_WATCHED, ["soon-gone"], { stdio: ["pipe", "ignore", "ignore"] });
	const page = await open("#/processes", { url });
	const answered = page.waitForResponse(LIST);
	await page.getByRole("button", { name: "Refresh" }).click();
	await answered; // by a server that still sees the process
	await find(page, "soon-gone");
	let told; // the list is not told meanwhile: its row would go before the click, on a slow machine
	const held = new Promise((go) => (told = go));
	await page.route(LIST, (route) => held.then(() => route.continue()));
	gone.kill("SIGKILL");
	await ended(gone);
	await page.getByRole("button", { name: /^Attach to/ }).click();
	await page.getByText(/there is no process/).waitFor();
	told();
	await page.getByText("No process matches").waitFor();
	await clean(page, /503/);
});
