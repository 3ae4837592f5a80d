"""memtape diff --to html: what the page says, that it needs nothing else, and that nothing gets in."""

import html.parser
import json
import shutil
import subprocess

import pytest

import recording
from exporting import HOSTILE, write_hostile
from tape_writer import TapeWriter
from test_diff import BOTH, KIB, MALLOC, run, shop  # noqa: F401 - a fixture


class Page(html.parser.HTMLParser):
    """Its tags, and {heading: [row of texts]} of its tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.heading, self.text = [], {"": []}, "", ""
        self.row = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("h1", "h2", "td", "th"):
            self.text = ""
        if tag == "tr":
            self.row = []

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in ("h1", "h2"):
            self.heading = self.text
            self.tables[self.heading] = []
        elif tag in ("td", "th") and self.row is not None:
            self.row.append(self.text.strip())
        elif tag == "tr":
            self.tables[self.heading].append(self.row)

    def handle_data(self, data):
        self.text += data


def page(folder, *words, code=0):
    run(folder, *words, "--to", "html", "-f", "-o", "out.html", code=code)
    return Page((folder / "out.html").read_text())


def test_the_page_says_what_the_report_says(shop):  # noqa: F811
    told = page(shop, *BOTH)
    report = json.loads(run(shop, *BOTH, "--json"))
    assert report["verdict"] in told.tables and "higher" in report["verdict"]
    rows = report["rows"]
    changed = told.tables["What changed most"][1:]
    assert [row[5].split()[0] for row in changed] == [row["function"] for row in rows if row["difference"]]
    assert [row[4] for row in changed] == [row["status"] for row in rows if row["difference"]]
    assert {row[5].split()[0] for row in told.tables["New in B"][1:]} == {
        row["function"] for row in rows if row["status"] == "new"} == {"gift_wrap"}
    assert [row[0] for row in told.tables["Totals"][1:]] == list(report["totals"])
    leaked = next(row for row in told.tables["Totals"] if row[0] == "leaked")
    assert leaked[1:4] == ["0 B", "9.0 KiB", "+9.0 KiB"]
    assert (shop / "out.html").read_text() == (page(shop, *BOTH), (shop / "out.html").read_text())[1]


def test_what_vanished_is_there(shop):  # noqa: F811
    told = page(shop, *reversed(BOTH))
    assert {row[5].split()[0] for row in told.tables["Gone from B"][1:]} == {"gift_wrap"}
    assert told.tables["New in B"] == []  # no table
    picture = (shop / "out.html").read_text().split('id="frames"')[1].split("</g>")[0]
    assert "gift_wrap" in picture and "<?xml" not in (shop / "out.html").read_text()


def test_conditions_moments_and_units(shop):  # noqa: F811
    page(shop, *BOTH, "--fail-if", "peak>1%,count>50%", code=1)
    text = (shop / "out.html").read_text()
    assert '<span class="failed">failed</span> peak&gt;1%' in text
    assert '<span class="passed">passed</span> count&gt;50%' in text
    told = page(shop, "monday.mtape", "--at", "3500us,peak")
    assert [row[0] for row in told.tables["Totals"][1:]][0] == "live"
    assert "per unit" in next(h for h in page(shop, *BOTH, "--per", "8:20").tables if "B's" in h)


def test_nothing_of_the_place_it_was_made_at(shop):  # noqa: F811
    page(shop, shop / "monday.mtape", shop / "tuesday.mtape")
    assert str(shop) not in (shop / "out.html").read_text()


def test_hostile_names_stay_text(tmp_path):
    names = write_hostile(tmp_path / "hostile.mtape").names()
    told = page(tmp_path, "hostile.mtape", "--at", "start,peak")
    names.unlink()
    text = (tmp_path / "out.html").read_text()  # which is UTF-8, or this fails
    assert "\x1b" not in text
    functions = [row[5] for row in told.tables["New in B"][1:]]
    for name in HOSTILE:
        if b"\xff" not in name and b"\x1b" not in name:
            assert any(name.decode() in function for function in functions), name
    allowed = {"html", "head", "meta", "title", "style", "body", "p", "h1", "h2", "div", "table", "tr", "th", "td",
               "span", "svg", "line", "rect", "text", "g", "script", "pre"}
    assert {tag for tag, _ in told.tags} <= allowed
    assert not any(key.startswith("on") or key in ("style", "href", "src") for _, attrs in told.tags for key in attrs)


def test_it_is_never_too_large(tmp_path):
    """More frames than there is room for: 6,000 functions with long names."""
    tape = TapeWriter()
    tape.functions = ["main"] + [f"a_function_with_a_rather_long_name_{'x' * 300}_{i}" for i in range(6000)]
    streams = [tape.stream(100 + i, "wide") for i in range(20)]
    tape.process(streams[0], "/usr/bin/wide", "wide")
    tape.clock(streams[0])
    for i, name in enumerate(tape.functions[1:]):
        stream = streams[i // 300]
        tape.at(1 + i // 300)
        stream.event(MALLOC, 0x100000 + i * 0x1000, KIB, node=stream.stack(("main",), (name,)))
    tape.clock(streams[-1])
    tape.write(tmp_path / "wide.mtape")
    names = tape.names()
    page(tmp_path, "wide.mtape", "--at", "start,end")
    names.unlink()
    assert (tmp_path / "out.html").stat().st_size <= 4 << 20
    assert "left out" in (tmp_path / "out.html").read_text()


def test_a_terminal_gets_no_page_and_looks_are_for_pictures(shop):  # noqa: F811
    for words in (("--negate",), ("--title", "x"), ("--top", "3"), ("--json",), ("--by", "module")):
        run(shop, *BOTH, "--to", "html", "-o", "x.html", *words, code=2)
    assert not (shop / "x.html").exists()


SCRIPT = """
const { chromium } = require(process.argv[2]);
(async () => {
	const browser = await chromium.launch({ executablePath: process.argv[3], args: ["--no-sandbox"] });
	const seen = {};
	for (const colorScheme of ["light", "dark"]) {
		const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, colorScheme, offline: true });
		const page = await context.newPage();
		const faults = [];
		page.on("pageerror", (e) => faults.push(String(e)));
		page.on("console", (m) => faults.push(m.text())); /* what the policy refuses, too */
		page.on("request", (r) => r.url().startsWith("file://") || faults.push(r.url()));
		await page.goto("file://" + process.argv[4]);
		const rects = "#frames rect";
		await page.hover(rects + ":nth-child(2)");
		await page.waitForFunction(() => document.getElementById("tip").style.visibility === "visible");
		const card = await page.evaluate(() => document.getElementById("tip").textContent);
		await page.click(rects + ":nth-child(3)");
		await page.waitForFunction(() => location.hash.includes("zoom="));
		await page.keyboard.press("/");
		await page.keyboard.type("gift");
		await page.waitForFunction(() => document.getElementById("result").textContent.includes("%"));
		seen[colorScheme] = { faults, card, width: await page.evaluate(() => [document.querySelector("#picture").clientWidth,
			+document.querySelector("#picture svg").getAttribute("width"), document.documentElement.scrollWidth]),
			paper: await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
			box: await page.evaluate(() => getComputedStyle(document.querySelectorAll("#frames rect")[1]).fill) };
		/* The policy is the page's own: what gets in all the same does nothing. */
		seen[colorScheme].stopped = await page.evaluate(() => {
			const script = document.createElement("script");
			script.textContent = "window.wasHere = true";
			document.body.appendChild(script);
			return window.wasHere === undefined;
		});
		await context.close();
	}
	console.log(JSON.stringify(seen));
	await browser.close();
})();
"""


def test_it_lives_in_a_browser_without_a_network(shop):  # noqa: F811
    core = recording.ROOT / "web/node_modules/playwright-core"
    chromium = shutil.which("chromium")
    if not core.exists() or not chromium or not shutil.which("node"):
        pytest.skip("no browser here")
    page(shop, *BOTH)
    (shop / "page.cjs").write_text(SCRIPT)
    done = subprocess.run(["node", shop / "page.cjs", core, chromium, shop / "out.html"],
                          capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    for theme in seen.values():
        assert theme["stopped"] and "main" in theme["card"] and "before" in theme["card"]
        assert theme["width"][0] == theme["width"][1] and theme["width"][2] <= 1200
        # of what was tried at the end alone
        assert all("Content Security Policy" in fault for fault in theme["faults"]) and len(theme["faults"]) <= 1
    assert seen["light"]["paper"] != seen["dark"]["paper"] and seen["light"]["box"] != seen["dark"]["box"]
