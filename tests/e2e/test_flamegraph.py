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
    done = recording.run([recording.memtape(), "flamegraph", tape, "-f", "-o", "out.svg", *words],
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
    assert stacks(draw(shop, "--min-width", "5%")) == stacks(few)  # 3000 bytes are 4.4 %
    assert "main;basket.constprop.0" in stacks(draw(shop, "--min-width", "4.3%"))
    for wrong in ("thin", "5px", "101%", "-1", "1.5.5", ""):
        assert "--min-width" in draw(shop, "--min-width", wrong, code=2)


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


PALETTES = ("hot", "mem", "io", "red", "green", "blue", "aqua", "yellow", "purple", "orange", "java",
            "js", "perl", "chain", "wakeup")
RAMPS = {"hot": ((205, 255), (0, 230), (0, 55)), "mem": ((0, 0), (190, 240), (0, 210)),
         "io": ((80, 140), (80, 140), (190, 245)), "red": ((200, 255), (50, 130), (50, 130)),
         "green": ((50, 110), (200, 255), (50, 110)), "blue": ((80, 140), (80, 140), (205, 255)),
         "aqua": ((50, 110), (165, 220), (165, 220)), "yellow": ((175, 230), (175, 230), (50, 70)),
         "purple": ((190, 255), (80, 140), (190, 255)), "orange": ((190, 255), (90, 155), (0, 0))}


def colours(root):
    """{function: (r, g, b)} of what is drawn."""
    frames = next(g for g in root.iter(SPACE + "g") if g.get("id") == "frames")
    found = data(root)
    names = [found["names"][frame[1]][0] for frame in found["frames"]]
    assert len(names) == len(frames)
    return {name: tuple(bytes.fromhex(rect.get("fill")[1:])) for name, rect in zip(names, frames)}


def test_palettes_are_those_of_flamegraph_pl_and_never_by_chance(shop):  # noqa: F811
    usual = colours(draw(shop))
    for palette in PALETTES:
        root = draw(shop, "--colors", palette)
        first = (shop / "out.svg").read_bytes()
        drawn = colours(root)
        assert drawn != usual
        ramp = RAMPS[{"java": "red", "js": "red", "perl": "red", "chain": "blue", "wakeup": "aqua"}.get(palette, palette)]
        for channels in drawn.values():
            assert all(low <= value <= high for value, (low, high) in zip(channels, ramp))
        assert len(set(drawn.values())) > 1  # neighbours are told apart
        # another part of the same tape: the same names have the same colours
        part = colours(draw(shop, "--colors", palette, "--metric", "allocated", "--icicle"))
        assert all(part[name] == drawn[name] for name in part.keys() & drawn.keys())
        draw(shop, "--colors", palette)
        assert first == (shop / "out.svg").read_bytes()
    assert "module" in draw(shop, "--colors", "rainbow", code=2)


def test_kinds_of_names_choose_the_colour(tmp_path):
    tape = TapeWriter()
    kinds = {"java/util/List_[j]": "green", "inlined_[i]": "aqua", "Lost:::method": "green",
             "std::sort": "yellow", "do_page_fault_[k]": "orange", "malloc_it": "red"}
    tape.functions = list(kinds)
    main = tape.stream(100, "app")
    tape.process(main, "/usr/bin/app", "app")
    tape.clock(main)
    tape.at(1)
    main.event(MALLOC, 0x1000, 4 * KIB, node=main.stack(*((name,) for name in kinds)))
    tape.clock(main)
    tape.write(tmp_path / "kinds.mtape")
    names = tape.names()
    drawn = colours(draw(tmp_path, "--colors", "java", "--frames=exact", tape="kinds.mtape"))
    names.unlink()
    for name, ramp in kinds.items():
        assert all(low <= value <= high for value, (low, high) in zip(drawn[name], RAMPS[ramp])), name


def test_looks_are_what_was_asked_for(shop):  # noqa: F811
    root = draw(shop, "--width", "900", "--height", "31", "--font-size", "15", "--font-type", "Noto Sans, Verdana",
                "--bg-colors", "#123456", "--notes", "by <me> & ]]> --", "--count-name", "octets <b>",
                "--name-type", "Fn <i>:")
    assert root.get("width") == "900"
    rect = next(r for r in root.iter(SPACE + "rect") if r.get("rx") == "2")
    assert rect.get("height") == "30"
    assert next(root.iter(SPACE + "desc")).text == "by <me> & ]]> --"
    styles = "".join(s.text for s in root.iter(SPACE + "style"))
    assert "Noto Sans, Verdana" in styles and "15px" in styles and "#123456" in styles
    tips = [t.text for t in next(g for g in root.iter(SPACE + "g") if g.get("id") == "frames").iter(SPACE + "title")]
    assert tips[1] == "Fn <i>: main (66.9 KiB octets <b>, 100.0 %)"
    told = data(root)
    assert told["metric"] == "octets <b>" and told["name_type"] == "Fn <i>:" and told["layout"]["is_fixed"]
    shaded = draw(shop, "--bg-colors", "yellow")
    assert [stop.get("stop-color") for stop in shaded.iter(SPACE + "stop")] == ["#eeeeee", "#eeeeb0"]


@pytest.mark.parametrize("words", (("--width", "639"), ("--width", "40000"), ("--height", "7"), ("--height", "201"),
                                   ("--font-size", "3"), ("--font-size", "73"), ("--font-type", "x;}</style>"),
                                   ("--font-type", ""), ("--bg-colors", "#12345"), ("--bg-colors", "#12345g"),
                                   ("--bg-colors", "url(x)"), ("--bg-colors", "")))
def test_looks_that_cannot_be_are_refused(shop, words):  # noqa: F811
    (shop / "out.svg").unlink(missing_ok=True)
    assert words[0] in draw(shop, *words, code=2)
    assert not (shop / "out.svg").exists()


def test_every_frame_tells_every_metric(shop):  # noqa: F811
    found = data(draw(shop))
    summary = recording.report(shop / "monday.mtape", "summary")
    assert found["frames"][0][8] == [summary[key][unit] for key in ("peak", "leaked", "allocations", "temporary")
                                     for unit in ("bytes", "count")]
    for i, frame in enumerate(found["frames"]):  # what is below a frame is part of it
        for child in (f for f in found["frames"] if f[0] == i):
            assert all(part <= whole for part, whole in zip(child[8], frame[8]))


def test_export_has_the_same_picture(shop):  # noqa: F811
    draw(shop, "--metric", "leaked")
    done = recording.run([recording.memtape(), "export", "monday.mtape", "--to", "flamegraph", "-m", "leaked",
                          "-o", "export.svg"], cwd=shop, env=recording.clean_env())
    assert done.returncode == 0, done.stderr
    assert (shop / "export.svg").read_bytes() == (shop / "out.svg").read_bytes()


def test_differences_can_be_negated(shop):  # noqa: F811
    def diff(*words, to="flamegraph", code=0):
        done = recording.run([recording.memtape(), "diff", "monday.mtape", "tuesday.mtape", "--to", to, "-f", "-o",
                              "diff.svg", *words], cwd=shop, env=recording.clean_env())
        assert done.returncode == code, done.stderr
        return done.stderr.decode() if code else colours(xml.parse(shop / "diff.svg").getroot())

    there, back = diff(), diff("--negate")
    assert there != back
    changed = [name for name in there if there[name] != back[name]]
    # blue has more blue than red, orange the other way round
    assert changed and all((there[n][0] < there[n][2]) != (back[n][0] < back[n][2]) for n in changed)
    assert diff("--title", "Week <1>", "--height", "30") == there
    assert "Week &lt;1&gt;" in (shop / "diff.svg").read_text()
    assert "--to flamegraph" in diff("--negate", to="folded", code=2)


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


LOOKS = """
const { chromium } = require(process.argv[2]);
(async () => {
	const browser = await chromium.launch({ executablePath: process.argv[3], args: ["--no-sandbox"] });
	const seen = {};
	for (const scheme of ["light", "dark"]) {
		const context = await browser.newContext({ viewport: { width: 1300, height: 600 }, colorScheme: scheme, offline: true });
		const page = await context.newPage();
		const faults = [];
		page.on("pageerror", (e) => faults.push(String(e)));
		page.on("request", (r) => r.url().startsWith("file://") || faults.push(r.url()));
		await page.goto("file://" + process.argv[4]);
		for (const key of ["ArrowUp", "ArrowUp"])
			await page.keyboard.press(key);
		await page.waitForFunction(() => document.getElementById("tip").style.visibility === "visible");
		seen[scheme] = await page.evaluate(() => ({
			card: [...document.querySelectorAll("#tip text")].map((t) => t.textContent),
			paper: getComputedStyle(document.getElementById("ground")).fill,
			ink: getComputedStyle(document.querySelector("#labels text")).fill,
			box: getComputedStyle(document.querySelectorAll("#frames rect")[1]).fill,
			width: document.documentElement.getAttribute("width"),
			titles: document.querySelectorAll("#frames title").length }));
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => location.hash.includes("zoom="));
		await page.keyboard.press("/");
		await page.keyboard.type("no such (");
		await page.waitForFunction(() => document.getElementById("search").classList.contains("bad"));
		seen[scheme].faults = faults;
		await context.close();
	}
	console.log(JSON.stringify(seen));
	await browser.close();
})();
"""


def look(folder):
    core = recording.ROOT / "web/node_modules/playwright-core"
    chromium = shutil.which("chromium")
    if not core.exists() or not chromium or not shutil.which("node"):
        pytest.skip("no browser here")
    (folder / "looks.cjs").write_text(LOOKS)
    done = subprocess.run(["node", folder / "looks.cjs", core, chromium, folder / "out.svg"],
                          capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_themes_in_a_browser_without_a_network(shop):  # noqa: F811
    draw(shop)
    seen = look(shop)
    assert seen["light"]["faults"] == seen["dark"]["faults"] == []
    assert seen["light"]["paper"] != seen["dark"]["paper"] and seen["light"]["box"] != seen["dark"]["box"]
    card = seen["light"]["card"]
    for what in ("alive at the peak", "leaked", "allocated", "of them temporary", "mean size"):
        assert what in card
    assert seen["light"]["titles"] == 0 and seen["light"]["width"] == "1300"


def test_palettes_and_paper_stay_in_both_themes(shop):  # noqa: F811
    draw(shop, "--colors", "mem", "--bg-colors", "#fefefe", "--width", "1000")
    seen = look(shop)
    for key in ("paper", "ink", "box", "width"):
        assert seen["light"][key] == seen["dark"][key]
    assert seen["light"]["paper"] == "rgb(254, 254, 254)" and seen["light"]["width"] == "1000"


def test_a_picture_is_what_its_name_says(tmp_path):
    tape = tmp_path / "tape"
    assert recording.run_recorded([recording.target("hoard"), "50"], tape, ["-q"]).returncode == 0
    for command in ("flamegraph", "heatmap"):
        for name in ("picture.png", "picture.pdf"):
            done = recording.run([recording.memtape(), command, tape, "-o", tmp_path / name])
            assert done.returncode == 2 and b"this picture is an SVG" in done.stderr and not (tmp_path / name).exists()
        for name in ("picture", "picture.svg"):
            assert recording.run([recording.memtape(), command, tape, "-f", "-o", tmp_path / name]).returncode == 0
            assert (tmp_path / name).read_text().startswith(("<svg", "<?xml"))
