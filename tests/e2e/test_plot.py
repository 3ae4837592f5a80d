"""Charts: that they are files others can read, and say what the reports say."""

import re
import shutil
import struct
import xml.etree.ElementTree as ElementTree
import zlib

import pytest

import recording
from tape_writer import TapeWriter
from test_reading import HOSTILE, run, shop  # noqa: F401 (a fixture)

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ["timeline", "histogram", "lifetimes", "heatmap", "rate"]


def texts(path):
    return ["".join(text.itertext()) for text in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def tips(path):
    root = ElementTree.parse(path).getroot()
    return [title.text for shape in root.iter() if shape is not root
            for title in shape.findall(f"{SVG}title")]


def plot(folder, *words, out="out.svg", code=0):
    run(folder, "plot", *words, "-f", "-o", out, code=code)
    return folder / out


def pixels(path):
    """Width, height and rows of 3 bytes a pixel of a PNG as cairo writes it."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    assert (depth, colour) == (8, 2)
    raw, stride, last, rows = zlib.decompress(packed), width * 3, bytearray(width * 3), []
    for y in range(height):
        how, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left = row[x - 3] if x >= 3 else 0
            above, corner = last[x], last[x - 3] if x >= 3 else 0
            guess = left + above - corner
            paeth = min((left, above, corner), key=lambda v: abs(guess - v))
            row[x] = row[x] + (0, left, above, (left + above) // 2, paeth)[how] & 255
        rows.append(bytes(row))
        last = row
    return width, height, rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_is_sound_xml_with_a_title_and_labels(shop, kind, theme):
    found = texts(plot(shop, "shop.mtape", "--kind", kind, "--theme", theme))
    assert any("shop --open today" in text for text in found)
    assert sum(bool(re.match(r"[\d.,]+( |$)", text)) for text in found) >= 3  # labels of ticks


@pytest.mark.parametrize("kind", KINDS)
def test_png_has_the_size_asked_for_and_something_on_it(shop, kind):
    path = plot(shop, "shop.mtape", "-k", kind, "--width", "300", "--height", "200",
                out="out.png")
    width, height, rows = pixels(path)
    assert (width, height) == (300, 200)
    colours = {row[x:x + 3] for row in rows for x in range(0, len(row), 3)}
    assert b"\xff\xff\xff" in colours and len(colours) > 20
    assert all(row[:3] == b"\xff\xff\xff" for row in rows)  # nothing runs into the edges
    assert all(row[-3:] == b"\xff\xff\xff" for row in rows)


def test_dpi_makes_a_png_finer(shop):
    path = plot(shop, "shop.mtape", "--width", "300", "--height", "200", "--dpi", "192",
                out="out.png")
    assert pixels(path)[:2] == (600, 400)


def test_pdf_is_one_page_of_the_size(shop):
    data = plot(shop, "shop.mtape", "--width", "960", "--height", "480",
                out="out.pdf").read_bytes()
    assert data.startswith(b"%PDF-1") and data.rstrip().endswith(b"%%EOF")
    assert re.search(rb"/MediaBox \[ 0 0 720 360 \]", data)
    assert re.search(rb"/Count 1\b", data)


def test_the_peak_is_that_of_the_report(shop):
    peak = recording.report(shop / "shop.mtape", "summary")["peak"]["bytes"]
    for more in ([], ["--x", "number"], ["--by", "function"]):
        assert f"peak {iec(peak)}" in texts(plot(shop, "shop.mtape", *more))


def flat(value, key=""):
    if isinstance(value, dict):
        for name, part in value.items():
            yield from flat(part, f"{key}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from flat(part, key)
    else:
        yield key, value


def iec(value):
    for unit in ["B", "KiB", "MiB", "GiB"]:
        if value < 1024:
            return f"{value} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError(value)


def polylines(path):
    return [[tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
            for line in ElementTree.parse(path).getroot().iter(f"{SVG}polyline")]


def live_by_number(rows):
    """The most that was alive from before each allocation to before the next."""
    events = [(row["alloc_ns"], 1, row["size"]) for row in rows]
    events += [(row["free_ns"], 0, -row["size"]) for row in rows if row["free_ns"] is not None]
    live, steps = 0, []
    for _, is_allocation, size in sorted(events, key=lambda event: event[:2]):
        if is_allocation:
            steps.append([live])
        live += size
        steps[-1].append(live)
    return [max(step) for step in steps]


def test_the_curve_is_what_was_alive(shop):
    path = plot(shop, "shop.mtape", "--x", "number", "--rss", "no")
    expected = live_by_number(list(recording.rows(shop / "shop.mtape")))
    curve = next(line for line in polylines(path) if len(line) > 10)
    left, right = curve[0][0], curve[-1][0]
    labels = {text.text: float(text.get("y"))
              for text in ElementTree.parse(path).getroot().iter(f"{SVG}text")
              if text.get("text-anchor") == "end"}
    pixels_a_byte = (labels["0"] - labels["50 KiB"]) / (50 * 1024)
    heights = []
    for i in range(len(expected)):
        x = left + (right - left) * (i + .5) / len(expected)
        heights.append(next(y0 for (x0, y0), (x1, y1) in zip(curve, curve[1:])
                            if x0 <= x < x1 and y0 == y1))
    bottom = heights[0] + expected[0] * pixels_a_byte
    for height, live in zip(heights, expected):
        assert abs(bottom - height - live * pixels_a_byte) < 0.05


def test_bands_are_the_groups_of_the_report(shop):
    path = plot(shop, "shop.mtape", "--by", "function", "--top", "2")
    groups = recording.report(shop / "shop.mtape", "groups", "--by", "function",
                              "--sort", "peak_size")["groups"]
    sizes = [(group["title"], group["only_matched"]["peak_size"]) for group in groups]
    rest = sum(size for _, size in sizes[2:])
    expected = [*sizes[:2], ("all others", rest)]
    assert set(tips(path)) == {f"{title}: {iec(size)} at the peak" for title, size in expected}
    assert {text for pair in expected for text in (pair[0], iec(pair[1]))} <= set(texts(path))


def counts(tip):
    return int(re.search(r": ([\d,]+) block", tip)[1].replace(",", ""))


@pytest.mark.parametrize("buckets", ["log2", "16"])
def test_bars_count_every_block_once(shop, buckets):
    found = set(tips(plot(shop, "shop.mtape", "-k", "histogram", "--buckets", buckets)))
    sizes = recording.report(shop / "shop.mtape", "sizes")
    whole = sum(row["allocated_count"] for row in sizes["sizes"])
    assert sum(map(counts, found)) == whole
    if buckets == "log2":
        assert sorted(map(counts, found)) == sorted(row["allocated_count"] for row in sizes["sizes"])


def test_filters_choose_what_is_counted(shop):
    found = set(tips(plot(shop, "shop.mtape", "-k", "histogram", "--filter", "size = 100")))
    assert list(map(counts, found)) == [40]


def test_lifetimes_are_those_of_the_report(shop):
    found = set(tips(plot(shop, "shop.mtape", "-k", "lifetimes")))
    report = recording.report(shop / "shop.mtape", "lifetimes")
    never = next(value for key, value in flat(report) if "never" in key and "count" in key)
    assert [counts(tip) for tip in found if tip.startswith("never")] == [never]
    assert next(counts(tip) for tip in found if tip.startswith("500 us")) == 40  # the baskets


def test_a_window_is_what_the_axis_shows(shop):
    found = texts(plot(shop, "shop.mtape", "--from", "20ms", "--until", "60ms"))
    assert "30 ms" in found and "0" in found
    assert "70 ms" not in found and "10 ms" not in found


def test_hostile_names_stay_text(shop):
    path = plot(shop, "shop.mtape", "--by", "function", "--top", "12", "--title", "a & <b>")
    assert "<b>" not in path.read_text()
    assert "a & <b>" in texts(path)
    assert any(text.startswith('<b>"x";&') for text in texts(path)), HOSTILE
    for out in ("out.png", "out.pdf"):
        plot(shop, "shop.mtape", "--by", "function", "--top", "12", out=out)


def test_pictures_are_the_same_every_time(shop):
    for kind in KINDS:
        first = plot(shop, "shop.mtape", "-k", kind).read_bytes()
        assert plot(shop, "shop.mtape", "-k", kind).read_bytes() == first


def test_nothing_is_overwritten_unasked(shop):
    (shop / "old.svg").write_text("old")
    run(shop, "plot", "shop.mtape", "-o", "old.svg", code=2)
    run(shop, "plot", "shop.mtape", "-f", "-o", "shop.mtape", code=2)
    run(shop, "heatmap", "shop.mtape", "-o", "old.svg", code=2)
    assert (shop / "old.svg").read_text() == "old"


@pytest.mark.parametrize("words", [
    ["--width", "10"], ["--height", "99999"], ["--dpi", "0"], ["--top", "0"], ["--top", "99"],
    ["--kind", "pie"], ["--stack", "same-scale"], ["--total"], ["--clock", "5"], ["--from", "x"],
    ["--from", "end", "--until", "start"], ["--time", "--x", "number"], ["--filter", "size >"],
])
def test_nonsense_is_refused_and_leaves_nothing(shop, words):
    run(shop, "plot", "shop.mtape", "-o", "new.svg", *words, code=2)
    assert not list(shop.glob("new*"))


def test_the_ending_of_the_name_is_the_format(shop):
    run(shop, "plot", "shop.mtape", "-o", "out.gif", code=2)
    run(shop, "plot", "shop.mtape", code=2)
    assert plot(shop, "shop.mtape", out="OUT.PNG").read_bytes().startswith(b"\x89PNG")


# --- data files of memusage -------------------------------------------------------------------

def record(heap, stack, ticks):
    return struct.pack("<QQII", heap, stack, ticks & 0xFFFFFFFF, ticks >> 32)


BEGIN = 7 << 33
EVENTS = [(1000 * i, 64 * (i % 3), BEGIN + 500 * i) for i in range(1, 31)]
BODY = b"".join(record(*event) for event in EVENTS)
EMPTY = record(0, 0, BEGIN) * 2
HEAD = record(0, 30064, BEGIN) + record(30000, 128, BEGIN + 20000)


@pytest.mark.parametrize("data", [HEAD + BODY, EMPTY + BODY, EMPTY + BODY + HEAD,
                                  HEAD + BODY + b"rest"],
                         ids=["finished", "killed", "piped", "cut off"])
def test_data_files_of_memusage_are_read_however_they_end(tmp_path, data):
    (tmp_path / "m.dat").write_bytes(data)
    found = texts(plot(tmp_path, "m.dat"))
    assert "peak 29.3 KiB" in found
    assert any(text.startswith("30 calls and samples") for text in found)
    assert {"stack", "calls of memory functions"} <= set(found)
    assert (tmp_path / "m.dat").read_bytes() == data
    lines = run(tmp_path, "plot", "m.dat", "--print-parsed-entries").splitlines()
    assert lines[:2] == ["entries: 30", "heap peak: 30000"]
    assert lines[8:] == [f"{i}: ({heap}, {stack}, {ticks & 0xFFFFFFFF}, {ticks >> 32} ({ticks}))"
                         for i, (heap, stack, ticks) in enumerate(EVENTS)]


def test_the_options_of_plot_memusage(tmp_path):
    (tmp_path / "m.dat").write_bytes(HEAD + BODY)
    assert "stack" not in texts(plot(tmp_path, "m.dat", "--stack", "none"))
    assert "stack (right scale)" in texts(plot(tmp_path, "m.dat", "--stack", "different-scales"))
    assert "heap and stack" in texts(plot(tmp_path, "m.dat", "-T"))
    assert "time in ticks of the clock" in texts(plot(tmp_path, "m.dat", "-t"))
    found = texts(plot(tmp_path, "m.dat", "-t", "--clock", "1000000", "--title", "words"))
    assert {"time", "words", "10 ms"} <= set(found)
    run(tmp_path, "plot", "m.dat", "other.png")
    assert pixels(tmp_path / "other.png")[:2] == (1200, 675)


@pytest.mark.parametrize("data, code", [
    (b"", 1), (b"short", 1), (b"\1" * 480, 1), (HEAD[:47], 1), (EMPTY, 0),
    (record(0, 0, 9) + record(0, 0, 3), 1), (HEAD + b"\xff" * 240, 0),
])
def test_bad_data_files_are_errors_or_pictures(tmp_path, data, code):
    (tmp_path / "m.dat").write_bytes(data)
    for more in ([], ["-t"], ["-T"], ["--stack", "different-scales"]):
        path = plot(tmp_path, "m.dat", *more, code=code)
        assert path.exists() == (code == 0)


def test_data_files_come_from_pipes_too(tmp_path):
    done = recording.run([recording.memtape(), "plot", "-", "-o", "out.svg"], cwd=tmp_path,
                         stdin=HEAD + BODY)
    assert done.returncode == 0, done.stderr
    assert "peak 29.3 KiB" in texts(tmp_path / "out.svg")


def test_a_data_file_has_no_sizes(tmp_path):
    (tmp_path / "m.dat").write_bytes(HEAD + BODY)
    for words in (["-k", "histogram"], ["--by", "function"], ["--from", "1s"]):
        run(tmp_path, "plot", "m.dat", "-o", "out.svg", *words, code=2)


def test_the_real_memusage_is_understood(tmp_path):
    if not shutil.which("memusage"):
        pytest.skip("needs memusage")
    done = recording.run(["memusage", "--no-timer", "-d", tmp_path / "m.dat", "/bin/sh", "-c", "exit 0"])
    assert done.returncode == 0
    size = (tmp_path / "m.dat").stat().st_size
    lines = run(tmp_path, "plot", "m.dat", "--print-parsed-entries").splitlines()
    assert lines[0] == f"entries: {size // 24 - 2}"
    plot(tmp_path, "m.dat")


def marked(path, names):
    """A tape of 1 s with marks at equal distances, one block before each."""
    tape = TapeWriter()
    main = tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    for i, name in enumerate(names):
        tape.at(1 + i * 1000 // len(names))
        main.event(0, (i + 1) << 20, 1000)  # malloc
        main.extended(24, struct.pack("<II", 0, 0) + name.encode() + b"\0")
    tape.at(1000)
    tape.clock(main)
    tape.write(path)


def names_of_marks(path):
    """(x, text) of the line above the curves, from left to right, the width of each guessed; and what is left out."""
    shown = list(ElementTree.parse(path).getroot().iter(f"{SVG}text"))
    size = float(shown[1].get("font-size"))
    top = min(float(text.get("y")) for text in shown if text.text == "bytes") - 2 * size
    row = sorted((float(text.get("x")), text) for text in shown if abs(float(text.get("y")) - top) < size)
    names = [(x, x + .5 * size * len(text.text), text.text) for x, text in row if text.get("text-anchor") != "end"]
    return names, [text.text for _, text in row if text.text.endswith((" more marks", " more mark"))]


@pytest.mark.parametrize("width", ["400", "1200"])
@pytest.mark.parametrize("more", [[], ["--x", "number"], ["--by", "size"], ["--theme", "dark"]], ids="time number by dark".split())
def test_names_of_marks_do_not_overlap_and_the_rest_is_counted(tmp_path, width, more):
    names = [f"step {i}" for i in range(300)]
    marked(tmp_path / "x.mtape", names)
    shown, more = names_of_marks(plot(tmp_path, "x.mtape", "--width", width, *more))
    assert len(shown) >= int(width) // 200 and shown[0][2] == "step 0"
    assert [name for *_, name in shown] == [name for name in names if name in {row[2] for row in shown}]
    assert all(left[1] < right[0] for left, right in zip(shown, shown[1:]))
    assert more == [f"{300 - len(shown)} more marks"]


def test_few_marks_all_have_their_names(tmp_path):
    names = ["loaded", "<b>&\x1b[31m", "a name that is much too long for a quarter of the width of this picture, in one line",
             "", "served"]
    marked(tmp_path / "x.mtape", names)
    shown, more = names_of_marks(plot(tmp_path, "x.mtape"))
    assert [name for *_, name in shown][:2] == ["loaded", "<b>&?[31m"] and shown[-1][2] == "served"
    assert len(shown) == 4 and shown[2][2].startswith("a name that") and shown[2][2].endswith("…")
    assert more == []
    shown, more = names_of_marks(plot(tmp_path, "x.mtape", "--from", "300ms"))
    assert [name for *_, name in shown][-1] == "served" and len(shown) == 2


@pytest.mark.parametrize("words", [["--width", "120", "--height", "80"], ["--width", "300", "--height", "200"]])
def test_a_thumbnail_with_marks_is_drawn(tmp_path, words):
    marked(tmp_path / "x.mtape", [f"step {i}" for i in range(50)])
    assert len(pixels(plot(tmp_path, "x.mtape", *words, out="out.png"))[2]) == int(words[3])


@pytest.mark.parametrize("kind", ["heatmap", "rate"])
def test_other_pictures_over_time_have_the_marks(tmp_path, kind):
    marked(tmp_path / "x.mtape", ["loaded", "served", "ended"])
    plain = plot(tmp_path, "x.mtape", "-k", "histogram", out="sizes.svg").read_text()
    assert "loaded" not in plain  # not over time
    drawn = plot(tmp_path, "x.mtape", "-k", kind, out=f"{kind}.svg").read_text()
    assert drawn.count(">loaded<") == drawn.count(">served<") == 1


def test_a_heat_map_for_a_browser_names_marks_or_says_them_to_the_pointer(tmp_path):
    names = ["<b>&\x1b[31m", *(f"step {i}" for i in range(900))]
    marked(tmp_path / "x.mtape", names)
    done = recording.run([recording.memtape(), "heatmap", tmp_path / "x.mtape"])
    root = ElementTree.fromstring(done.stdout)
    groups = [group for group in root.iter(f"{SVG}g") if group.get("class") == "mark"]
    titles = [group.find(f"{SVG}title").text for group in groups]
    assert titles[0] == "<b>&?[31m" and 30 < len(titles) < 901  # those on one line are one
    shown = [(float(text.get("x")), text.text) for group in groups for text in group.iter(f"{SVG}text")]
    assert shown[0][1] == "<b>&?[31m" and 3 < len(shown) < len(titles)
    assert all(x < y for (x, _), (y, _) in zip(shown, shown[1:]))
    by_size = recording.run([recording.memtape(), "heatmap", "--what", "size-lifetime", tmp_path / "x.mtape"])
    assert b'class="mark"' not in by_size.stdout
