"""Heat maps: every event is in a cell, and cells tell what is in them."""

import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

import recording
from test_reading import run, shop  # noqa: F401 (a fixture)

SVG = "{http://www.w3.org/2000/svg}"


def heatmap(text, *words, code=0):
    done = recording.run([recording.memtape(), "heatmap", *words], stdin=text.encode())
    assert done.returncode == code, done.stderr
    return ElementTree.fromstring(done.stdout) if code == 0 else done.stderr.decode()


def cells(root):
    group = next(g for g in root.iter(f"{SVG}g") if g.get("id") == "cells")
    return [(float(rect.get("x")), float(rect.get("y")), int(rect.get("data-count")),
             rect.find(f"{SVG}title").text) for rect in group]


def texts(root):
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


EVENTS = "# time latency\n1000 10\n1001 10\n1001.5 20 more words\n\n1003 99\n"


def test_the_last_column_and_the_top_row_are_drawn():
    found = cells(heatmap(EVENTS))
    assert sum(count for _, _, count, _ in found) == 4
    assert len({x for x, *_ in found}) == 3
    assert found[-1][3] == "time 3 s - 4 s, range 98 - 100, count: 1, colpct: 100%"


def test_the_order_of_lines_does_not_matter():
    shuffled = "# time latency\n1003 99\n1001.5 20\n1000 10\n1001 10\n"
    assert cells(heatmap(shuffled)) == cells(heatmap(EVENTS))


def test_tips_have_what_the_original_tells():
    root = heatmap("0 50250\n10000 50350\n20000 50250\n", "--unitstime=us", "--stepsec=0.1",
                   "--unitslatency=us", "--minlat=50000", "--maxlat=60000", "--accstats")
    assert [tip for *_, tip in cells(root)] == [
        "time 0 - 100 ms, range 50.2 ms - 50.4 ms, count: 3, colpct: 100%, acc: 3, acc pct: 100%"]
    root = heatmap("0 1\n0 1\n0 9\n", "--rows", "2", "--accstats")
    assert [tip.split("count: ")[1] for *_, tip in cells(root)] == [
        "2, colpct: 66%, acc: 2, acc pct: 66%", "1, colpct: 33%, acc: 3, acc pct: 100%"]


@pytest.mark.parametrize("unit, value", [("us", "50250"), ("µs", "50250"), ("ms", "50.25"), ("ns", "50250000"), ("s", "0.05025")])
def test_a_map_has_one_way_to_write_times(unit, value):
    root = heatmap(f"0 {value}\n", "--unitslabel", unit, "--minlat", str(float(value) / 2), "--maxlat", value, "--reflat", value, "--rows", "2")
    assert re.fullmatch(r"range 3[78]\.\d ms - 5[01]\.\d ms", [tip for *_, tip in cells(root)][0].split(", ")[1]), unit
    assert not [text for text in texts(root) if text.endswith("0us") or text == unit]
    other = heatmap("0 50250\n1 50250\n", "--unitslabel", "B", "--minlat", "50000", "--maxlat", "51000", "--rows", "1")
    assert "range 50000B - 51000B" in cells(other)[0][3]


def test_limits_leave_out_and_say_so():
    root = heatmap("0 5\n1 50\n2 500\n", "--minlat", "10", "--maxlat", "100")
    assert sum(count for _, _, count, _ in cells(root)) == 1
    assert any("2 events are outside" in text for text in texts(root))
    assert len({x for x, *_ in cells(heatmap("0 5\n1 5\n2 5\n", "--maxcol", "2"))}) == 2


def test_the_reference_line_is_at_its_value():
    root = heatmap("0 0\n0 100\n", "--rows", "10", "--boxsize", "10", "--reflat", "25")
    line = next(l for l in root.iter(f"{SVG}line") if l.get("class") == "reference")
    bottom = max(y for _, y, *_ in cells(root)) + 10
    assert float(line.get("y1")) == float(line.get("y2")) == bottom - 25
    outside = heatmap("0 0\n0 100\n", "--reflat", "101")
    assert not [l for l in outside.iter(f"{SVG}line") if l.get("class") == "reference"]


def test_maps_of_two_runs_have_one_scale():
    how = ["--minlat", "0", "--maxlat", "100", "--maxcount", "8"]
    one = heatmap("0 10\n0 10\n1 90\n", *how)
    two = heatmap("0 10\n0 10\n1 40\n", *how)
    shade = lambda root: [r.get("class") for r in root.iter(f"{SVG}rect") if r.get("data-count") == "2"]
    assert cells(one)[0][:2] == cells(two)[0][:2] and shade(one) == shade(two)
    assert {t for t in texts(one) if t.endswith("0")} == {t for t in texts(two) if t.endswith("0")}


def test_times_alone_are_enough():
    root = heatmap("time\n100\n150\n250\n", "--delta", "--unitstime", "ms", "--rows", "100",
                   "--stepsec", ".05")
    assert [tip.split(", ")[1] for *_, tip in cells(root)] == ["range 50 - 51", "range 99 - 100"]


def test_titles_are_text():
    root = heatmap("0 1\n1 2\n", "--title", "a & <b>", "--unitslabel", "<us>", "--fonttype", "x\" y")
    assert "a & <b>" in texts(root)


@pytest.mark.parametrize("text, words, message", [
    ("1 2\nx y\n", [], "line 2: expected two numbers, not 'x y'"),
    ("1 2\n3\n", [], "line 2"), ("1 2\n1 nan\n", [], "line 2"), ("", [], "nothing to draw"),
    ("0 1\n1e9 1\n", [], "too many"), ("0 1\n", ["--stepsec", "0"], "greater than 0"),
    ("0 1\n", ["--minlat", "x"], "not a number"), ("0 1\n", ["--rows", "0"], "--rows"),
    ("0 1\n", ["--minlat", "5", "--maxlat", "1"], "greater than --maxlat"),
    ("0 1\n", ["--filter", "size > 1"], "for tapes"), ("0 1\n", ["--boxsize", "0"], "--boxsize"),
    ("0 1\n", ["--unitstime", "h"], "--unitstime"),
])
def test_nonsense_is_told_apart(text, words, message):
    done = recording.run([recording.memtape(), "heatmap", *words], stdin=text.encode())
    assert done.returncode in (1, 2) and message in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize("what", ["size", "lifetime", "size-lifetime"])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_every_allocation_of_a_tape_is_in_a_cell(shop, what, scale):
    root = ElementTree.fromstring(run(shop, "heatmap", "shop.mtape", "--what", what,
                                      "--scale", scale))
    rows = list(recording.rows(shop / "shop.mtape"))
    freed = [row for row in rows if row["free_ns"] is not None]
    assert sum(n for _, _, n, _ in cells(root)) == len(rows if what == "size" else freed)
    assert any("shop --open today" in text for text in texts(root))


def test_values_of_tapes_have_units(shop):
    root = ElementTree.fromstring(run(shop, "heatmap", "shop.mtape", "--minlat", "1KiB",
                                      "--maxlat", "16KiB", "--reflat", "8KiB"))
    assert "8 KiB" in texts(root)
    run(shop, "heatmap", "shop.mtape", "--minlat", "1ms", code=2)
    run(shop, "heatmap", "shop.mtape", "--what", "lifetime", "--minlat", "1ms")


def test_a_browser_tells_about_cells(tmp_path):
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("needs chromium")
    svg = recording.run([recording.memtape(), "heatmap"], stdin=EVENTS.encode()).stdout.decode()
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}));"
    press = "".join(key % name for name in ("Home", "ArrowRight"))
    (tmp_path / "out.svg").write_text(svg.replace("</svg>", f"<script>{press}</script></svg>"))
    page = recording.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                          f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000",
                          "--dump-dom", f"file://{tmp_path}/out.svg"]).stdout.decode()
    status = re.search(r'<text id="status"[^>]*>([^<]*)', page)[1]
    assert status.startswith("time 1 s - 2 s, range ") and "count: 1" in status
