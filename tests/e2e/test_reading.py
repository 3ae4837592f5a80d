"""What the reading commands say about a tape on which everything is known.

Texts are compared with tests/golden/; MEMTAPE_BLESS=1 writes them anew. Look at the difference.
"""

import csv
import io
import json
import os
import pathlib
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

import recording
from tape_writer import PID, TRUNCATED, TapeWriter

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
MALLOC, FREE, CALLOC, OUT, IN, REALLOC_FAIL, NEW, DELETE = 0, 1, 2, 3, 5, 6, 19, 27
KIB = 1024
PUSH_BACK = "std::vector<int, std::allocator<int> >::push_back(int const&)"
REALLOC_INSERT = ("void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>"
                  "(__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, "
                  "int const&)")
HOSTILE = '<b>"x";&\x1b[31m</b>'


def write_shop(path):
    """A shop: stock that stays to the end, baskets that come and go, one leak, two threads."""
    tape = TapeWriter()
    main, worker = tape.stream(100, "shop"), tape.stream(101, "till")
    tape.process(main, "/usr/bin/shop", "shop", "--open", "today")
    tape.clock(main)
    tape.module(main, 1, "/nonexistent/libgone.so.1", 0x7F0000000000, 0x7F0000100000, bytes(20))
    start, main_fn = ("_start", 0x20), ("main", 0x40)
    load = main.stack(start, main_fn, ("stock_load",), ("stock_grow", 0x30))
    basket = main.stack(start, main_fn, ("basket(int)",), (PUSH_BACK,), (REALLOC_INSERT,))
    gone = main.stack(start, main_fn, 0x7F0000001235)
    sale = worker.stack(("clone3",), ("till_run",), ("receipt_print",))
    hostile = worker.stack(("clone3",), ("till_run",), (HOSTILE,))
    cut = worker.stack(("callback",), parent=TRUNCATED)
    free = main.stack(start, main_fn, ("stock_close",))

    tape.usage(main, 3 << 20)
    for i in range(8):  # stock: 64 KiB, freed at the end but for one block
        tape.at(1 + i)
        main.event(MALLOC, 0x10000 + i * 0x4000, 8 * KIB, 8 * KIB + 8, load)
    for i in range(40):  # baskets: temporary, as is the last receipt, freed by the other thread
        tape.at(20 + i)
        main.event(NEW, 0x90000, 100, 104, basket)
        tape.at(20.5 + i)
        main.event(DELETE, 0x90000, node=basket)
    tape.at(70)
    tape.usage(main, 5 << 20)
    worker.event(CALLOC, 0xA0000, 3000, 3000, sale)
    worker.event(MALLOC, 0xB0000, 500, 504, hostile)
    worker.event(MALLOC, 0xC0000, 60, 72, cut)
    main.event(MALLOC, 0xD0000, 0, 24, gone)
    tape.at(80)  # the receipt grows, and once does not
    worker.event(OUT, 0xA0000, node=sale)
    tape.at(81)
    worker.event(IN, 0xE0000, 6000, 6000, sale)
    tape.at(82)
    worker.event(OUT, 0xE0000, node=sale)
    worker.event(REALLOC_FAIL, 0, 1 << 50, 0, sale)
    tape.at(90)
    for i in range(7):
        main.event(FREE, 0x10000 + i * 0x4000, node=free)
    main.event(FREE, 0xE0000, node=free)  # allocated by the other thread
    main.event(FREE, 0xF0000, node=free)  # never seen
    tape.at(100)
    tape.clock(main)
    main.extended(23, b"\1\0\0\0\3\0\0\0")  # exit code 3
    tape.write(path)
    return tape


@pytest.fixture
def shop(tmp_path):
    names = write_shop(tmp_path / "shop.mtape").names()
    yield tmp_path
    names.unlink()


def run(folder, *words, code=0):
    done = recording.run([recording.memtape(), *words], cwd=folder,
                         env=recording.clean_env(TZ="UTC"))
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return done.stdout.decode()


REPORTS = {  # in the order of --list, with what stands behind the name
    "summary": [], "findings": [], "top": [], "leaks": [], "temporary": [], "tree": [], "sizes": [],
    "lifetimes": [], "reallocs": [], "threads": [], "modules": [], "timeline": [], "at": ["75ms"], "between": ["20ms", "85%"], "allocations": [],
    "groups": [],
}
COMMANDS = {
    **{f"{name}.txt": ["report", "shop.mtape", name, *more] for name, more in REPORTS.items()},
    **{f"{name}.json": ["report", "shop.mtape", name, *more, "--json"]
       for name, more in REPORTS.items()},
    **{f"{name}.csv": ["report", "shop.mtape", name, *more, "--csv"]
       for name, more in REPORTS.items()},
    **{f"tree-function.{face}": ["report", "shop.mtape", "tree", "--function", "stock_load", *how]
       for face, how in (("txt", []), ("json", ["--json"]), ("csv", ["--csv"]))},
    **{f"lifetimes-sites.{face}": ["report", "shop.mtape", "lifetimes", "--sites", *how]
       for face, how in (("txt", []), ("json", ["--json"]), ("csv", ["--csv"]))},
    "timeline-window.csv": ["report", "shop.mtape", "timeline", "--points", "7", "--from", "10ms",
                            "--until", "90%", "--csv"],
    "between-net.txt": ["report", "shop.mtape", "between", "start", "end", "--sort", "net"],
    "top-count-1.txt": ["report", "shop.mtape", "top", "--sort", "count", "--top", "1"],
    "tree-bottom-up.txt": ["report", "shop.mtape", "tree", "--bottom-up"],
    "tree-all.txt": ["report", "shop.mtape", "tree", "--frames=all", "--sort", "allocated"],
    "groups-stack.json": ["report", "shop.mtape", "groups", "--by", "stack", "--filter", "size < 1KiB",
                          "--sort", "all.leaked_count", "--json"],
    "groups-thread.csv": ["report", "shop.mtape", "groups", "--by", "thread", "--from", "20ms", "--csv"],
    "top-filter.txt": ["report", "shop.mtape", "top", "--filter", "function = stock_load or leaked"],
    "allocations-filter.json": ["report", "shop.mtape", "allocations", "--filter", "chain_length > 1",
                                "--sort", "time:desc", "--json"],
    "folded.txt": ["export", "shop.mtape", "--to", "folded", "--metric", "allocated"],
    "info.txt": ["info", "shop.mtape"],
    "info.json": ["info", "shop.mtape", "--json"],
    "verify.txt": ["verify", "shop.mtape"],
    "verify.json": ["verify", "shop.mtape", "--json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_answer_is_as_it_was(shop, name):
    text = run(shop, *COMMANDS[name]).replace(str(PID), "5000000")
    golden = GOLDEN / name
    if os.environ.get("MEMTAPE_BLESS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_the_numbers_are_those_of_the_tape(shop):
    summary = json.loads(run(shop, "report", "shop.mtape", "summary", "--json"))
    stock, rest = 64 * KIB, 500 + 60
    assert summary["allocations"] == {"count": 8 + 40 + 4 + 1,
                                      "bytes": stock + 4000 + 3000 + rest + 6000}
    assert summary["frees"]["count"] == 40 + 1 + 7 + 1
    assert summary["peak"] == {"bytes": stock + rest + 6000, "count": 8 + 4, "time_ns": 81_000_000}
    assert summary["leaked"] == {"count": 1 + 2 + 1, "bytes": 8 * KIB + rest}
    assert summary["temporary"] == {"count": 41, "bytes": 10000}
    assert summary["lost_events"] == 0
    functions = summary["functions"]
    assert functions["operator new"] == {"calls": 40, "bytes": 4000, "failed": 0}
    assert functions["realloc"] == {"calls": 2, "bytes": 6000, "failed": 1}
    assert functions["calloc"] == {"calls": 1, "bytes": 3000, "failed": 0}
    assert summary["process"]["exit_code"] == 3
    assert summary["unknown_frees"] == 1


def test_allocations_tell_the_whole_story_of_a_block(shop):
    blocks = json.loads(run(shop, "report", "shop.mtape", "allocations", "--json"))
    receipt = next(b for b in blocks if b["address"] == "0xa0000")
    grown = next(b for b in blocks if b["address"] == "0xe0000")
    assert blocks[grown["realloc_of"]] is receipt
    assert receipt["free_ns"] == 81_000_000 and receipt["thread"] == 101
    assert grown["free_thread"] == 100 and grown["free_ns"] == 90_000_000
    assert [f["function"] for f in receipt["stack"]] == ["receipt_print", "till_run", "clone3"]
    assert [f["function"] for f in grown["free_stack"]] == ["stock_close", "main", "_start"]
    leaked = [b for b in blocks if b["free_ns"] is None]
    assert all(b["free_thread"] is None and b["free_stack"] is None for b in leaked)
    assert {b["address"] for b in leaked} == {"0x2c000", "0xb0000", "0xc0000", "0xd0000"}
    for block in blocks:
        for frame in block["stack"]:
            assert set(frame) == {"function", "file", "line", "module", "inlined"}


@pytest.mark.parametrize("report", REPORTS)
def test_csv_has_as_many_cells_in_every_row(shop, report):
    rows = list(csv.reader(io.StringIO(run(shop, "report", "shop.mtape", report, *REPORTS[report],
                                      "--csv"))))
    assert len(rows) > 1 or report == "findings"  # nothing is wrong with the shop
    assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("metric", ["peak", "leaked", "allocated", "count", "temporary"])
@pytest.mark.parametrize("shape", [[], ["--icicle"], ["--inverted"]])
def test_flame_graphs_are_sound_xml_with_a_frame_per_function(shop, metric, shape):
    run(shop, "flamegraph", "shop.mtape", "-o", "out.svg", "--metric", metric, *shape)
    root = ElementTree.parse(shop / "out.svg").getroot()
    space = {"svg": "http://www.w3.org/2000/svg"}
    rects = root.findall(".//svg:g[@id='frames']/svg:rect", space)
    data = json.loads(root.find(".//svg:script[@id='data']", space).text)
    assert len(rects) == len(data["frames"]) > 1
    whole = data["frames"][0][2]
    for parent, _, value, *_ in data["frames"][1:]:
        assert 0 < value <= data["frames"][parent][2] <= whole
    names = {name for name, _ in data["names"]}
    if metric != "temporary":
        assert any("<b>" in name for name in names)  # as text: it was parsed


def test_a_browser_searches_the_picture(shop):
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("needs chromium")
    run(shop, "flamegraph", "shop.mtape", "-o", "out.svg")

    def page(hash_part):
        return recording.run([browser, "--headless", "--no-sandbox", "--disable-gpu",
                              f"--user-data-dir={shop / 'profile'}", "--virtual-time-budget=2000",
                              "--dump-dom", f"file://{shop}/out.svg{hash_part}"]).stdout.decode()

    assert "hit" not in [c for part in page("").split('class="')[1:]
                         for c in part.split('"')[0].split()]
    found = page("#search=stock_load%7Cstock_grow")
    assert '2 frames \u00b7 64.0 KiB \u00b7 90.9 %' in found  # one in the other: counted once
    assert found.count(" hit\"") == 2
    assert "<b>" not in found


def test_hostile_names_never_reach_the_terminal_raw(shop):
    for name, words in COMMANDS.items():
        if not name.endswith(".csv"):  # for programs: exact
            assert "\x1b" not in run(shop, *words)


def test_lists_name_what_there_is(shop):
    listed = [line.split()[0] for line in run(shop, "report", "--list").splitlines()]
    assert [name for name in listed if name in REPORTS] == list(REPORTS)
    assert "\n  folded " in run(shop, "export", "--list")


def test_the_tape_is_not_overwritten(shop):
    before = (shop / "shop.mtape").read_bytes()
    for command in (["flamegraph", "shop.mtape"], ["export", "shop.mtape", "--to", "folded"],
                    ["report", "shop.mtape"]):
        run(shop, *command, "-o", "./shop.mtape", code=2)
    (shop / "other.mtape").write_bytes(before)
    for sides in (("shop.mtape", "other.mtape"), ("other.mtape", "shop.mtape")):
        run(shop, "diff", *sides, "--force", "-o", "shop.mtape", code=2)
    assert (shop / "shop.mtape").read_bytes() == before


@pytest.mark.parametrize("words", [
    ["report"], ["report", "--html"], ["sql", "SELECT 1"], ["diff", "shop.mtape"], ["diff", "shop.mtape", "--to", "html"],
    ["flamegraph"], ["plot"], ["heatmap"], ["export", "--to", "folded"], ["export", "--to", "html"],
    ["export", "--to", "sqlite"], ["repack"], ["strip", "--no-names"], ["anonymise"], ["symbols", "embed"],
], ids=" ".join)
def test_what_exists_is_overwritten_by_force_only(shop, words):
    """Whatever a command writes; but those that take the place of glibc's do as these."""
    at = 2 if words[0] == "symbols" else 1
    run(shop, "repack", "shop.mtape")  # which is what names can be added to
    words = [*words[:at], "shop.mtape", *words[at:], "-o", "old.svg"]
    (shop / "old.svg").write_text("old")
    done = recording.run([recording.memtape(), *words], cwd=shop)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.decode().startswith("memtape: old.svg exists; --force overwrites it\n")
    assert (shop / "old.svg").read_text() == "old"
    run(shop, *words, "--force")
    assert (shop / "old.svg").read_bytes() not in (b"old", b"")
    if words[0] != "report":  # where -f is --function
        run(shop, *words, "-f")


@pytest.mark.parametrize("words", [["report"], ["export", "--to", "folded"], ["repack"], ["strip", "--no-names"],
                                   ["anonymise"], ["symbols", "embed"]], ids=" ".join)
@pytest.mark.parametrize("force", ([], ["--force"]))
def test_a_device_is_written_to_and_never_replaced(shop, words, force):
    """By a link: what renames a file to it would replace that, and not the machine's device."""
    at = 2 if words[0] == "symbols" else 1
    (shop / "null").symlink_to("/dev/null")
    run(shop, *words[:at], "shop.mtape", *words[at:], *force, "-o", "null", code=0 if words[0] in ("report", "export") else 2)
    assert (shop / "null").is_symlink() and (shop / "null").is_char_device()


def test_a_link_to_nothing_is_not_replaced(shop):
    (shop / "link").symlink_to("nowhere")
    run(shop, "export", "shop.mtape", "--to", "folded", "-o", "link", code=2)
    assert (shop / "link").is_symlink() and not (shop / "nowhere").exists()


def test_an_error_leaves_the_old_picture(shop):
    (shop / "out.svg").write_text("old")
    (shop / "broken.mtape").write_bytes(b"no tape")
    run(shop, "flamegraph", "broken.mtape", "-f", "-o", "out.svg", code=1)
    assert (shop / "out.svg").read_text() == "old"
    assert sorted(p.name for p in shop.iterdir()) == ["broken.mtape", "out.svg", "shop.mtape"]


@pytest.mark.parametrize("kept", [3000, 4095])
def test_what_is_cut_off_is_not_sound(kept, shop):
    (shop / "cut.mtape").write_bytes((shop / "shop.mtape").read_bytes()[:kept])
    found = json.loads(run(shop, "verify", "cut.mtape", "--json", code=1))
    assert not found["sound"] and "cut off" in found["damage"][0]["text"]
    assert found["damage"][0]["offset"] == kept


def test_verify_names_the_byte_of_the_damage(shop):
    data = bytearray((shop / "shop.mtape").read_bytes())
    second = 4096 + (1 << 16)
    data[second + 64] = 62  # the first record of the second chunk is of no kind
    (shop / "bad.mtape").write_bytes(data)
    found = json.loads(run(shop, "verify", "bad.mtape", "--json", code=1))
    assert not found["sound"]
    assert second <= found["damage"][0]["offset"] < second + (1 << 16)
    assert run(shop, "verify", "bad.mtape", "--quiet", code=1) == ""
    assert str(found["damage"][0]["offset"]) in run(shop, "verify", "bad.mtape", code=1)


@pytest.mark.parametrize("words, hint", [
    (["report"], "one tape"),
    (["report", "shop.mtape", "everything"], "timeline"),
    (["report", "shop.mtape", "--json", "--csv"], "exclude"),
    (["report", "shop.mtape", "--sort", "size"], "peak"),
    (["report", "shop.mtape", "at"], "wants T"),
    (["report", "shop.mtape", "top", "5"], "nothing"),
    (["report", "shop.mtape", "at", "noon"], "75%"),
    (["report", "shop.mtape", "at", "mark("], "mark(NAME)"),
    (["report", "shop.mtape", "between", "1ms", "101%"], "101%"),
    (["report", "shop.mtape", "between", "50%", "1ms"], "later"),
    (["report", "shop.mtape", "between", "1ms", "2ms", "--sort", "peak"], "survived"),
    (["report", "shop.mtape", "reallocs", "--sort", "peak"], "copied"),
    (["report", "shop.mtape", "timeline", "--from", "x"], "--from"),
    (["report", "shop.mtape", "timeline", "--from", "peak", "--until", "1ms"], "later"),
    (["report", "shop.mtape", "timeline", "--points", "1000000000"], "--points"),
    (["export", "shop.mtape"], "--to"),
    (["export", "shop.mtape", "--to", "xml"], "folded"),
    (["verify"], "one tape"),
    (["info"], "tape"),
])
def test_wrong_words_are_told_from_wrong_tapes(shop, words, hint):
    done = recording.run([recording.memtape(), *words], cwd=shop)
    assert done.returncode == 2 and hint in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize("later, duration_ms", [((1, 7), 100), ((2, 9), 3600)], ids=["exited", "killed"])
def test_a_run_ends_when_the_program_exits_not_when_its_collector_comes_to_it(tmp_path, monkeypatch, later, duration_ms):
    """A busy machine may let the collector wait; a signal says that the program still ran."""
    monkeypatch.setattr("tape_writer.CHUNK_BYTES", 1 << 20)
    tape = TapeWriter()
    main, collector = tape.stream(100, "batch"), tape.stream(101, "collector")
    tape.process(main, "/usr/bin/batch", "batch")
    tape.clock(main)
    for i in range(50):
        tape.at(i)
        main.event(MALLOC, 0x10000 + i * 0x4000, 8 * KIB, node=main.stack(("main", 0x40)))
    tape.at(100)
    main.extended(23, bytes([1, 0, 0, 0, 7, 0, 0, 0]))
    tape.at(3600)
    tape.clock(collector)
    collector.extended(23, bytes([later[0], 0, 0, 0, later[1], 0, 0, 0]))
    tape.write(tmp_path / "the.mtape")
    try:
        summary = recording.report(tmp_path / "the.mtape", "summary")
    finally:
        tape.names().unlink(missing_ok=True)
    assert abs(summary["duration_ns"] - duration_ms * 1e6) < 1e6
