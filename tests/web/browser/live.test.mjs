// A program that is recorded while the pages look at it: really one, which works until its input ends.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clean, open, settled, THEMES, violations } from "./harness.mjs";

const { MEMTAPE_COMMAND, MEMTAPE_WATCHED } = process.env;
const folder = mkdtempSync(join(tmpdir(), "live-")),
	tape = join(folder, "watched.mtape");
let recorder, server, url;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const ended = (child) =>
	new Promise((done) => (child.exitCode !== null || child.signalCode ? done() : child.on("exit", done)));

/* Where a `record --serve` says that it serves. */
async function address(child) {
	let said = "";
	child.stderr.on("data", (data) => {
		said += data;
	});
	await until("no URL", async () => said.includes("\n"));
	return /http:\S+/.exec(said)[0];
}

async function serve(port = 0) {
	server = spawn(MEMTAPE_COMMAND, [
		"serve",
		"--json",
		...(port ? ["--port", port, "--no-token"] : ["--no-token"]),
		tape,
	]);
	let said = "";
	server.stdout.on("data", (data) => {
		said += data;
	});
	while (!said.includes("\n")) await sleep(50);
	url = JSON.parse(said).url;
	return JSON.parse(said).port;
}

async function stop() {
	server.kill();
	await ended(server);
}

before(async () => {
	recorder = spawn(MEMTAPE_COMMAND, ["record", "-q", "--live", "-o", tape, "--", MEMTAPE_WATCHED]);
	while (!existsSync(tape) || statSync(tape).size < 8192) await sleep(50);
	await serve();
});
after(async () => {
	recorder.kill();
	await stop();
	rmSync(folder, { recursive: true });
});

const badge = (page) => page.locator("header.top .badge");
const figure = async (page) =>
	(
		await page
			.locator("main")
			.getByRole("link", { name: /^Allocated/ })
			.innerText()
	).replace(/\s+/g, " ");

async function until(what, is) {
	for (let i = 0; i < 200; i++) {
		if (await is()) return;
		await sleep(100);
	}
	assert.fail(what);
}

async function changes(what, read) {
	const first = await read();
	await until(`${what} stays ${first}`, async () => (await read()) !== first);
}

test("figures follow, and can be held", async () => {
	const page = await open("", { url });
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	await changes("the badge", () => badge(page).innerText());
	await changes("what was allocated", () => figure(page));
	const infos = [];
	page.on("request", (r) => {
		if (/\/api\/v1\/info/.test(r.url())) infos.push(r.url());
	});
	await changes("what was allocated", () => figure(page));
	assert.deepEqual(infos, []); // the stream tells
	await page.keyboard.press("Space");
	await until("not held", async () => /^Held at/.test(await badge(page).innerText()));
	const rests = async () => {
		const now = await figure(page);
		await sleep(500);
		return now === (await figure(page));
	};
	await until("not of the moment that is held", rests);
	const held = await figure(page),
		behind = () => badge(page).innerText();
	await changes("how far it is behind", behind);
	await changes("how far it is behind", behind);
	assert.equal(await figure(page), held);
	const gens = new Set(); // of what is asked from now on
	const listen = async (r) => {
		const answer = /\/api\/v1\/(sites|summary|curves|allocs)/.test(r.url()) && (await r.json().catch(() => null)); // of a page that is left
		if (answer) gens.add(answer.gen);
	};
	page.on("response", listen);
	for (const name of ["Call sites", "Allocations", "Overview"]) {
		await page.getByRole("navigation").getByRole("link", { name }).first().click();
		await settled(page);
	}
	page.off("response", listen);
	assert.equal(gens.size, 1);
	assert.equal(await figure(page), held);
	for (const theme of THEMES) {
		await page.emulateMedia({ colorScheme: theme });
		assert.deepEqual(await violations(page), []);
	}
	await page.getByRole("button", { name: "Follow updates" }).click();
	await until("still held", async () => (await figure(page)) !== held);
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	await clean(page);
});

test("figures that are compared are of one reading", async () => {
	const page = await open("", { url }),
		leaked = page.locator("main").getByRole("link", { name: /^Not freed yet/ }),
		heading = page.locator(".list-tools .note").first();
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	await page.route(/\/api\/v1\/growth\?/, async (route) => {
		// of a reading that no other answer is of
		const response = await route.fetch(),
			growth = await response.json();
		growth.growing.leaked_bytes = 2 ** 50;
		await route.fulfill({ response, json: { ...growth, gen: growth.gen + 1e6 } });
	});
	await page.reload();
	await changes("what was allocated", () => figure(page));
	await changes("what was allocated", () => figure(page)); // which goes on, for all that
	assert.doesNotMatch(await leaked.innerText(), /growing/);
	await page.unroute(/\/api\/v1\/growth\?/);
	await page.getByRole("navigation").getByRole("link", { name: "Allocations" }).click();
	await settled(page);
	const counts = new Set();
	await until("no other count", async () => counts.add(await heading.innerText()).size > 5);
	assert.deepEqual(
		[...counts].filter((text) => !/^[\d,]+$/.test(text)),
		[],
	);
	await page.evaluate(() => {
		location.hash = "#/allocations?q=size%20%3E%3D%200";
	});
	await until("the filter's are not all", async () => /^[\d,]+$/.test(await heading.innerText()));
	await clean(page);
});

test("a moment can be marked, and is marked on the tape", async () => {
	const own = join(folder, "marked.mtape"),
		child = spawn(MEMTAPE_COMMAND, [
			"record",
			"--serve",
			"--serve-until-exit",
			"-q",
			"-o",
			own,
			"--",
			MEMTAPE_WATCHED,
		]);
	try {
		const at = await address(child),
			page = await open("", { url: at });
		await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
		await page.getByRole("button", { name: "Snapshot now" }).waitFor();
		await page.locator(".tape-chip > b").evaluate((name) => {
			name.textContent = "a-program-of-26-characters";
		});
		assert.ok(await page.locator(".tape-chip > b").evaluate((name) => name.scrollWidth <= name.clientWidth + 1)); // though three tools stand beside it
		await page.keyboard.press("k");
		const name = page.getByLabel("Name of the mark");
		await name.waitFor();
		await page.keyboard.press("Enter"); // no name, no mark
		await name.fill("before the button");
		for (const theme of THEMES) {
			await page.emulateMedia({ colorScheme: theme });
			assert.deepEqual(await violations(page), []);
		}
		await page.keyboard.press("Enter");
		await page.getByText("Marked: before the button").waitFor();
		await page.getByRole("button", { name: "Mark this moment" }).click();
		await name.fill("the button");
		await page.keyboard.press("Enter");
		await page.getByText("Marked: the button").waitFor();
		const [root, token] = at.split("#k=");
		const marks = async () =>
			(await (await fetch(`${root}api/v1/tape`, { headers: { Authorization: `Bearer ${token}` } })).json()).marks;
		await until("no marks", async () => (await marks()).length === 2);
		assert.deepEqual(
			(await marks()).map((one) => one.text),
			["before the button", "the button"],
		);
		await clean(page);
	} finally {
		child.stdin.end();
		await ended(child);
	}
});

test("a snapshot can be taken, and is a tape beside the one that goes on", async () => {
	const own = join(folder, "going.mtape"),
		child = spawn(MEMTAPE_COMMAND, [
			"record",
			"--serve",
			"--serve-until-exit",
			"-q",
			"-o",
			own,
			"--",
			MEMTAPE_WATCHED,
		]);
	try {
		const at = await address(child);
		const page = await open("", { url: at }),
			button = page.getByRole("button", { name: "Snapshot now" });
		await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
		await button.focus();
		await page.keyboard.press("Enter");
		await page.getByText("Snapshot: going-1.mtape").waitFor();
		await until("no file", async () => existsSync(join(folder, "going-1.mtape")));
		await page.keyboard.press("Control+k");
		await page.getByRole("combobox", { name: "Command" }).fill("Snapshot now");
		await page.keyboard.press("Enter");
		await page.getByText("Snapshot: going-2.mtape").waitFor();
		await until("not live any more", async () => /^Live/.test(await badge(page).innerText()));
		await page.getByRole("button", { name: "Switch tape" }).click();
		for (const name of ["going-1.mtape", "going-2.mtape", "going.mtape"])
			await page.getByText(name, { exact: true }).first().waitFor(); // one that is being read has no other name
		for (const theme of THEMES) {
			await page.emulateMedia({ colorScheme: theme });
			assert.deepEqual(await violations(page), []);
		}
		await page.getByText("going-1.mtape", { exact: true }).first().click();
		await until("no badge of the snapshot", async () => (await badge(page).innerText()) === "Complete");
		assert.equal(await button.count(), 0); // that one is finished
		await clean(page);
	} finally {
		child.stdin.end();
		await ended(child);
	}
});

test("a recording can be paused and resumed, which the timeline shows", async () => {
	const own = join(folder, "paused.mtape"),
		child = spawn(MEMTAPE_COMMAND, ["record", "--serve", "-o", own, "--", MEMTAPE_WATCHED]);
	try {
		const at = await address(child);
		const page = await open("", { url: at }),
			chip = page.locator("header.top .badge").getByText("Recording paused", { exact: true }),
			legend = page.locator(".timeline .legend").getByText("recording paused");
		const command = async (name) => {
			await page.keyboard.press("Control+k");
			await page.getByRole("combobox", { name: "Command" }).fill(name);
			await page.keyboard.press("Enter");
		};
		await changes("what was allocated", () => figure(page));
		assert.equal((await chip.count()) + (await legend.count()), 0);
		await page.getByRole("button", { name: "Pause recording" }).click();
		await page.getByText(/^Recording paused; the program continues/).waitFor();
		await chip.waitFor();
		await legend.waitFor();
		await page.getByText(/^Recording is paused: /).waitFor();
		assert.match(await badge(page).first().innerText(), /^Live/); // which goes on
		for (const theme of THEMES) {
			await page.emulateMedia({ colorScheme: theme });
			assert.deepEqual(await violations(page), []);
		}
		const of = await figure(page);
		await changes("the time", () => badge(page).first().innerText());
		await changes("the time", () => badge(page).first().innerText());
		assert.equal(await figure(page), of);
		const hovered = page.locator(".tooltip").getByText("recording was paused, on request"),
			box = await page.locator(".timeline .plot").boundingBox();
		await page.mouse.move(box.x + box.width - 3, box.y + 40);
		await hovered.waitFor();
		await command("Resume recording");
		await page.getByText("Recording resumed").waitFor();
		await until("still paused", async () => (await chip.count()) === 0);
		await changes("what was allocated", () => figure(page));
		await page.mouse.move(box.x + 3, box.y + 40);
		await until("paused at the beginning, too", async () => (await hovered.count()) === 0);
		child.stdin.end();
		await until("never complete", async () => (await badge(page).innerText()) === "Complete");
		await page
			.getByText(/^Recording was paused, for .* of .*: allocations from then are not on this tape/)
			.waitFor();
		await legend.waitFor(); // of a finished tape, too
		await page.keyboard.press("t");
		const cells = page.getByRole("region", { name: "Timeline as a table" }).locator("tbody td:last-child");
		const texts = await cells.allInnerTexts();
		assert.ok(texts.includes("\u2014") && texts.some((text) => /\d m?s$/.test(text)), texts.join());
		await clean(page);
	} finally {
		child.stdin.end();
		await sleep(500);
		child.kill("SIGINT");
		await ended(child);
	}
});

test("leaks can be looked for while the program runs", async () => {
	const child = spawn(MEMTAPE_COMMAND, [
		"record",
		"--serve",
		"--serve-until-exit",
		"-q",
		"-o",
		join(folder, "leaking.mtape"),
		"--",
		MEMTAPE_WATCHED,
	]);
	try {
		const at = await address(child);
		const page = await open("", { url: at }),
			lost = page.getByRole("group", { name: "Classes" }).getByRole("button", { name: /^Definitely lost/ });
		await changes("what was allocated", () => figure(page));
		await page.getByRole("navigation").getByRole("link", { name: "Leaks" }).click();
		await page.getByRole("button", { name: "Scan now" }).focus();
		await page.keyboard.press("Enter");
		await page.getByText(/^Leak scan 1: the program stood still for /).waitFor();
		await page.getByText(/^Scan 1, on request after/).waitFor();
		const blocks = async () => Number(/(\d+) blocks/.exec(await lost.innerText())?.[1] ?? 0);
		await until("nothing is lost", async () => (await blocks()) > 0);
		const before = await blocks();
		for (const theme of THEMES) {
			await page.emulateMedia({ colorScheme: theme });
			assert.deepEqual(await violations(page), []);
		}
		await page.keyboard.press("Control+k");
		await page.getByRole("combobox", { name: "Command" }).fill("Scan for leaks now");
		await page.keyboard.press("Enter");
		await page.getByText(/^Scan 2, on request after/).waitFor();
		await until("no more is lost", async () => (await blocks()) > before);
		await clean(page);
	} finally {
		child.stdin.end();
		await ended(child);
	}
});

test("a recording can be stopped: the tape is complete, and the program goes on", async () => {
	const own = join(folder, "stopped.mtape"),
		child = spawn(MEMTAPE_COMMAND, ["record", "--serve", "-o", own, "--", MEMTAPE_WATCHED]);
	try {
		const at = await address(child);
		const page = await open("", { url: at }),
			button = page.getByRole("button", { name: "Stop the recording" });
		const sheet = page.getByRole("dialog", { name: "Stop the recording" }),
			live = async () => /^(Live|Held)/.test(await badge(page).innerText());
		await until("no badge", live);
		await changes("what was allocated", () => figure(page));
		await button.click();
		await sheet.getByText(/keeps running but is no longer recorded/).waitFor();
		for (const theme of THEMES) {
			await page.emulateMedia({ colorScheme: theme });
			assert.deepEqual(await violations(page), []);
		}
		await page.keyboard.press("Enter"); // which changes nothing
		await until("not closed", async () => (await sheet.count()) === 0);
		assert.ok(await live());
		await page.getByRole("button", { name: "Hold updates" }).click(); // they are let go then
		await until("not held", async () => /^Held at/.test(await badge(page).innerText()));
		await page.keyboard.press("Control+k");
		await page.getByRole("combobox", { name: "Command" }).fill("Stop the recording");
		await page.keyboard.press("Enter");
		await sheet.getByRole("button", { name: "Stop the recording" }).click();
		await page.getByText("Recording stopped; the program continues").waitFor();
		await until("never complete", async () => (await badge(page).innerText()) === "Complete");
		assert.equal(await badge(page).getAttribute("title"), "Recorded up to this point; the program continued");
		await settled(page);
		assert.equal(
			(await button.count()) +
				(await page
					.getByRole("button", { name: /^(Hold updates|Follow updates|Mark this|Pause|Snapshot)/ })
					.count()),
			0,
		);
		assert.equal(child.exitCode, null); // it works
		await clean(page);
	} finally {
		child.stdin.end();
		await sleep(500); // the server goes on until it is interrupted
		child.kill("SIGINT");
		await ended(child);
	}
});

test("a server that was away is met again", async () => {
	const page = await open("", { url }),
		port = Number(new globalThis.URL(url).port);
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	await stop();
	await page.getByText(/The server does not answer/).waitFor();
	await until("not said", async () => /^Reconnecting/.test(await badge(page).innerText()));
	await serve(port);
	await until("not met again", async () => /^Live/.test(await badge(page).innerText()));
	await changes("what was allocated", () => figure(page));
	assert.equal(await page.getByText(/The server does not answer/).count(), 0);
	await clean(page, /status of 503|net::ERR_/);
});

test('a server that answers "not now" is asked again', async () => {
	const page = await open("", { url }),
		port = Number(new globalThis.URL(url).port);
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	let refused = 0;
	await page.route(/\/api\/v1\/(info|events)/, (route) => {
		// as it does while it ends
		refused++;
		return route.fulfill({
			status: 503,
			contentType: "application/json",
			body: JSON.stringify({ code: "limit", message: "the server ends" }),
		});
	});
	await stop();
	await until("not asked again", async () => refused > 1);
	assert.match(await badge(page).innerText(), /^(Live|Reconnecting)/); // with all of the page
	await page.unroute(/\/api\/v1\/(info|events)/);
	await serve(port);
	await changes("what was allocated", () => figure(page));
	await until("not met again", async () => /^Live/.test(await badge(page).innerText()));
	await clean(page, /status of 503|net::ERR_/);
});

test("while the program runs nothing is said to have leaked, on any page", async () => {
	const page = await open("", { url }),
		words = async () => (await page.locator("main").innerText()).match(/\b(leaked|never)\b/gi);
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	for (const id of [
		"overview",
		"flame",
		"tree",
		"sites",
		"allocations",
		"source",
		"threads",
		"lifetimes",
		"compare",
	]) {
		await page.evaluate((to) => {
			location.hash = `#/${to}`;
		}, id);
		await until(
			`${id} is not shown`,
			async () => (await page.locator(`.rail-link[aria-current][href^="#/${id}"]`).count()) === 1,
		);
		await page.waitForFunction(() => document.querySelector("main > *") && !document.querySelector(".skeleton"));
		assert.deepEqual(await words(), null, id);
		if (/overview|tree|sites|threads/.test(id))
			assert.match(await page.locator("main").innerText(), /Not freed yet/, id);
	}
	await clean(page);
});

test("at the end of the program the page has the whole tape", async () => {
	const page = await open("", { url });
	await until("no badge", async () => /^Live/.test(await badge(page).innerText()));
	recorder.stdin.end();
	await until("never complete", async () => /^Complete/.test(await badge(page).innerText()));
	await settled(page);
	assert.equal(await page.getByRole("button", { name: "Hold updates" }).count(), 0);
	await page
		.locator("main")
		.getByRole("link", { name: /^Leaked/ })
		.waitFor();
	await clean(page);
});
