"""How a flame graph can be asked for: titles, widths, recursion; and links to what is zoomed into."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest

import recording
from test_diff import FREE, KIB, MALLOC, shop  # noqa: F401 - a fixture
from tape_writer import TapeWriter

SPACE = "{http://www.w3.org/2000/svg}"


def draw(folder, *words, tape="monday.mtape", code=0):
    done = recording.run([recording.memtape(), "flamegraph", tape, "-o", "out.svg", *words],
                         cwd=folder, env=recording.clean_env())
    assert done.returncode == code, done.stderr.decode()
    return done.stderr.decode() if code else xml.parse(folder / "out.svg").getroot()


def data(root):
    return json.loads(next(s.text for s in root.iter(SPACE + "script") if s.get("id") == "data"))


def stacks(root):
    found = data(root)
    names, paths = [name for name, _ in found["names"]], []
    for frame in found["frames"]:
        paths.append([*(paths[frame[0]] if frame[0] >= 0 else []), names[frame[1]]])
    return [";".join(path[1:]) for path in paths[1:]]


def test_titles_are_what_was_asked_for(shop):  # noqa: F811
    root = draw(shop, "--title", "A<b> & \"c\"", "--subtitle", "]]> two")
    texts = [t.text for t in root.iter(SPACE + "text")]
    assert root[0].text == "A<b> & \"c\"" and "A<b> & \"c\"" in texts and "]]> two" in texts
    assert root[0].text not in [t.text for t in draw(shop).iter(SPACE + "text")]


def test_reverse_is_another_word_for_inverted(shop):  # noqa: F811
    draw(shop, "--reverse")
    text = (shop / "out.svg").read_text()
    draw(shop, "--inverted")
    assert text == (shop / "out.svg").read_text()
    assert stacks(draw(shop, "--reverse"))[0] == "stock_grow" != stacks(draw(shop))[0]


def test_thin_frames_are_left_out(shop):  # noqa: F811
    # 3000 bytes of 68,536: 52 of 1200 pixels
    assert "main;basket.constprop.0" in stacks(draw(shop, "--min-width", "52"))
    few = draw(shop, "--min-width", "53")
    assert stacks(few) == ["main", "main;stock_load", "main;stock_load;stock_grow"]
    assert any("left out" in (t.text or "") for t in few.iter(SPACE + "text"))
    assert "1200" in draw(shop, "--min-width", "1201", code=2)


def test_recursion_can_be_one_frame(shop):  # noqa: F811
    tape = TapeWriter()
    tape.functions = ["main", "walk", "keep"]
    main = tape.stream(100, "shop")
    tape.process(main, "/usr/bin/shop", "shop")
    tape.clock(main)
    deep = main.stack(("main",), ("walk", 1), ("walk", 2), ("walk", 3), ("keep",))
    tape.at(1)
    main.event(MALLOC, 0x1000, 4 * KIB, node=deep)
    tape.at(2)
    main.event(FREE, 0x1000, node=deep)
    tape.clock(main)
    tape.write(shop / "deep.mtape")
    tape.names()  # the fixture removes it
    assert stacks(draw(shop, tape="deep.mtape"))[-1] == "main;walk;walk;walk;keep"
    assert stacks(draw(shop, "--merge-recursion", tape="deep.mtape"))[-1] == "main;walk;keep"


SCRIPT = """
const { chromium } = require(process.argv[2]);
(async () => {
	const browser = await chromium.launch({ executablePath: process.argv[3], args: ["--no-sandbox"] });
	const page = await browser.newPage({ viewport: { width: 1200, height: 500 } });
	const faults = [];
	page.on("pageerror", (e) => faults.push(String(e)));
	const shown = () => page.evaluate(() => [...document.querySelectorAll("#frames rect")].filter((r) => r.style.display !== "none").length);
	await page.goto("file://" + process.argv[4]);
	const all = await shown();
	await page.evaluate(() => document.querySelectorAll("#frames rect")[4].dispatchEvent(new MouseEvent("click", { bubbles: true })));
	const zoomed = await shown(), link = page.url();
	await page.keyboard.press("/");
	await page.keyboard.type("^stock_.*");
	const found = await page.evaluate(() => document.getElementById("result").textContent);
	const both = page.url();
	const again = await browser.newPage({ viewport: { width: 1200, height: 500 } });
	await again.goto(both);
	const restored = await again.evaluate(() => [[...document.querySelectorAll("#frames rect")].filter((r) => r.style.display !== "none").length,
		document.getElementById("search").value, document.getElementById("result").textContent]);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	console.log(JSON.stringify({ faults, all, zoomed, link, found, both, restored, end: page.url(), back: await shown() }));
	await browser.close();
})();
"""


def test_the_address_keeps_zoom_and_search(shop):  # noqa: F811
    core = recording.ROOT / "web/node_modules/playwright-core"
    chromium = shutil.which("chromium")
    if not core.exists() or not chromium or not shutil.which("node"):
        pytest.skip("no browser here")
    draw(shop)
    (shop / "links.cjs").write_text(SCRIPT)
    done = subprocess.run(["node", shop / "links.cjs", core, chromium, shop / "out.svg"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["faults"] == []
    assert seen["zoomed"] < seen["all"] == seen["back"]
    assert "#zoom=" in seen["link"] and "search=" in seen["both"] and "zoom=" in seen["both"]
    assert seen["restored"] == [seen["zoomed"], "^stock_.*", seen["found"]] and "%" in seen["found"]
    assert "#" not in seen["end"]
