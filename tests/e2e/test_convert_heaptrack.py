"""heaptrack's recordings as tapes: real ones keep every total, there and back; written ones say what is
missing, where they are torn and what is wrong with them."""

import gzip
import json
import subprocess

import pytest

import heaptrack_tools
import recording

PYTHON = ("/usr/bin/python3", "-c", "import json; print(len([json.dumps({'a': i}) for i in range(9000)]))")
SQLITE = ("/usr/bin/sqlite3", ":memory:",
          "create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n where i < 4000) "
          "insert into t select i, hex(i) from n; create index u on t(b); select count(*) from t;")
PROGRAMS = [pytest.param(PYTHON, id="python"), pytest.param(SQLITE, id="sqlite")]

INTERPRETED = """v 10400 3
X ./shop --open
I 1000 5e298f
s 9 /opt/shop
s 4 main
s 6 shop.c
i 401201 1 2 3 a
t 1 0
s 6 inline
s 5 stock
i 4011b6 1 4 3 5 5 3 6
i 4011ff 1
t 2 1
t 3 1
a 0 1
a 3e8 2
a 10 3
+ 1
c a
R 3a4
+ 1
+ 2
- 1
c 14
- 2
c 1e
# strings: 5
"""

RAW = """v 10400 3
x 9 /opt/shop
X ./shop
I 1000 5e298f
m 1 -
m 1 x 400000 0 3000
m f /opt/lib/one.so 7f0000000000 0 2000
t 400fff 0
t 7f0000001000 1
+ 20 2 a000
+ 30 1 b000
c a
m 1 -
m 1 x 400000 0 3000
m f /opt/lib/two.so 7f0000000000 0 1000
t 7f0000000800 1
- a000
+ 8 3 a000
c 14
- b000
"""


def memtape(*args, **options):
    return recording.run_plain([recording.memtape(), *args], **options)


def convert(path, tape, *options, code=0):
    done = memtape("convert", path, "-o", tape, *options)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert memtape("verify", tape).returncode == 0
    return tape


def import_of(tape):
    return json.loads(memtape("info", tape, "--json").stdout)["import"]


def written(tmp_path, text, name="shop.data"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def values(tape):
    totals = recording.report(tape, "summary", "--no-suppressions")
    return {"allocations": totals["allocations"]["count"], "leaked": totals["leaked"]["bytes"],
            "peak": totals["peak"]["bytes"]}


needs_heaptrack = pytest.mark.skipif(not heaptrack_tools.HAS_HEAPTRACK, reason="heaptrack is not installed")


@needs_heaptrack
@pytest.mark.parametrize("command", PROGRAMS)
@pytest.mark.parametrize("raw", [False, True], ids=["interpreted", "raw"])
def test_real_recordings_keep_every_total_there_and_back(command, raw, tmp_path):
    file = heaptrack_tools.record(tmp_path / "real", *command, raw=raw)
    known = heaptrack_tools.interpret(file, tmp_path / "interpreted") if raw else file
    expected = heaptrack_tools.totals(known, tmp_path)
    assert expected["allocations"] > 1000
    tape = convert(file, tmp_path / "real.mtape")
    assert values(tape) == {cost: expected[cost] for cost in ("allocations", "leaked", "peak")}
    back = tmp_path / "back"
    done = memtape("export", tape, "--to", "heaptrack", "--frames=all", "-o", back)
    assert done.returncode == 0, done.stderr
    assert heaptrack_tools.totals(back, tmp_path) == expected
    for cost in ("allocations", "leaked", "peak"):
        assert heaptrack_tools.top(back, cost, tmp_path) == heaptrack_tools.top(known, cost, tmp_path)


@needs_heaptrack
def test_names_are_those_of_heaptrack(tmp_path):
    file = heaptrack_tools.record(tmp_path / "real", *SQLITE)
    tape = convert(file, tmp_path / "real.mtape")
    text = subprocess.run(["zstd", "-dc", file], check=True, capture_output=True).stdout.decode()
    strings = {line.split(" ", 2)[2] for line in text.splitlines() if line.startswith("s ")}
    rows = recording.report(tape, "top", "--frames=exact", "--top", "20")["sites"]
    names = [row["function"] for row in rows if not row["function"].startswith("0x")]
    assert len(names) > 3
    assert set(names) <= strings


def test_an_interpreted_file_is_a_tape(tmp_path):
    tape = convert(written(tmp_path, INTERPRETED), tmp_path / "shop.mtape")
    assert values(tape) == {"allocations": 3, "leaked": 1000, "peak": 2016}
    info = json.loads(memtape("info", tape, "--json").stdout)
    assert info["process"]["argv"] == ["./shop", "--open"]
    assert info["process"]["duration_ns"] == 30 * 10**6
    assert info["import"]["format"] == "heaptrack"
    assert info["import"]["tool"] == "heaptrack 1.4.0"
    assert info["import"]["file"] == "shop.data"
    assert set(info["import"]["missing"]) == {"threads", "addresses", "usable_sizes", "free_stacks", "functions",
                                              "lifetimes"}
    folded = memtape("export", tape, "--to", "folded", "-m", "allocated").stdout
    folded = folded.decode() if isinstance(folded, bytes) else folded
    assert sorted(folded.splitlines()) == ["main;0x4011ff 16", "main;stock;inline 2000"]


def test_every_report_says_where_it_comes_from(tmp_path):
    tape = convert(written(tmp_path, INTERPRETED), tmp_path / "shop.mtape")
    for what in ("summary", "top", "leaks", "threads", "lifetimes", "sizes", "fragmentation"):
        done = memtape("report", tape, what)
        text = done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout
        assert "not recorded by memtape" in text and "addresses of blocks" in text, what
        assert "addresses" in recording.report(tape, what)["quality"]["import"]["missing"], what


def test_recorded_tapes_say_nothing_of_it(tape):
    recording.run_bare([recording.target("frames")], tape)
    assert "import" not in json.loads(memtape("info", tape, "--json").stdout)


def test_a_raw_file_keeps_addresses_and_what_was_loaded_when(tmp_path):
    tape = convert(written(tmp_path, RAW), tmp_path / "shop.mtape")
    rows = recording.report(tape, "allocations")
    assert sorted((int(str(row["address"]), 0), row["size"]) for row in rows) == [
        (0xA000, 8), (0xA000, 32), (0xB000, 48)]
    modules = {module["path"]: module for module in json.loads(memtape("info", tape, "--json").stdout)["modules"]}
    assert set(modules) == {"/opt/shop", "/opt/lib/one.so", "/opt/lib/two.so"}
    one, two = modules["/opt/lib/one.so"], modules["/opt/lib/two.so"]
    assert int(str(one["begin"]), 0) == 0x7F0000000000
    assert int(str(two["begin"]), 0) != int(str(one["begin"]), 0)  # was in its place: moved
    text = memtape("report", tape, "top", "--sort", "allocated").stdout
    text = text.decode() if isinstance(text, bytes) else text
    assert "one.so+0x1000" in text and "two.so+0x800" in text


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: subprocess.run(
    ["zstd", "-c"], input=data, check=True, capture_output=True).stdout], ids=["gzip", "zstd"])
def test_what_is_compressed_is_told_by_its_content(pack, tmp_path):
    plain = convert(written(tmp_path, INTERPRETED, "plain"), tmp_path / "plain.mtape")
    packed = written(tmp_path, pack(INTERPRETED.encode()), "no-suffix")
    assert values(convert(packed, tmp_path / "packed.mtape")) == values(plain)


def test_a_torn_file_is_read_as_far_as_it_is_whole(tmp_path):
    text = INTERPRETED[:INTERPRETED.index("- 1\n") + 2]
    tape = convert(written(tmp_path, text), tmp_path / "torn.mtape", code=1)
    assert values(tape)["allocations"] == 3
    assert any("line 23" in note and "middle" in note for note in import_of(tape)["notes"])


def test_a_torn_compressed_file_is_read_as_far_as_it_is_whole(tmp_path):
    lines = INTERPRETED + "".join(f"+ 1\nc {i:x}\n- 1\n" for i in range(31, 60000))
    packed = gzip.compress(lines.encode())
    tape = convert(written(tmp_path, packed[:len(packed) // 2]), tmp_path / "torn.mtape", code=1)
    assert 3 < values(tape)["allocations"] < 60000
    assert any("truncated" in note for note in import_of(tape)["notes"])


@pytest.mark.parametrize("line, number, words", [
    ("+ 7\n", 18, "was not defined before"),
    ("t 9 0\n", 18, "trace"),
    ("s 5 ab", 18, "middle"),
    ("i zz 1\n", 18, "address"),
], ids=["kind", "trace", "string", "number"])
def test_what_is_wrong_further_on_is_named_with_its_line(line, number, words, tmp_path):
    head = INTERPRETED[:INTERPRETED.index("+ 1\n")]
    head = "".join(head.splitlines(True)[:16]) + "+ 1\n"
    tape = convert(written(tmp_path, head + line), tmp_path / "bad.mtape", code=1)
    assert any(f"line {number}" in note and words in note for note in import_of(tape)["notes"])


@pytest.mark.parametrize("text, options, words", [
    ("", (), "is empty"),
    ("v 10400 9\n", (), "version 9"),
    ("hello\n", (), "unknown format"),
    ("hello\n", ("--from", "heaptrack"), "a version was expected"),
    ("hello\n", ("--from", "nothing"), "unknown format 'nothing'"),
    (INTERPRETED[:INTERPRETED.index("+ 1\n")], (), "it has no allocations"),
    (INTERPRETED[:INTERPRETED.index("+ 1\n")] + "+ 1 zz", (), "no allocations could be read: read up to line 18"),
    ("MEMTAPE\n", (), "already a tape"),
])
def test_what_cannot_be_read_is_refused_with_the_remedy(text, options, words, tmp_path):
    tape = tmp_path / "no.mtape"
    done = memtape("convert", written(tmp_path, text), "-o", tape, *options)
    error = done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr
    assert done.returncode in (1, 2) and words in error
    assert not tape.exists()


def test_nothing_is_overwritten_unless_asked(tmp_path):
    path, tape = written(tmp_path, INTERPRETED), tmp_path / "there"
    tape.write_text("precious")
    done = memtape("convert", path, "-o", tape)
    error = done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr
    assert done.returncode != 0 and "-f" in error and tape.read_text() == "precious"
    convert(path, tape, "-f")


def test_other_commands_say_how_to_convert(tmp_path):
    path = written(tmp_path, INTERPRETED)
    for command in ("report", "info", "serve", "verify"):
        done = memtape(command, path)
        error = done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr
        assert done.returncode != 0 and f"memtape convert {path}" in error, command


def test_formats_are_listed():
    done = memtape("convert", "--list")
    text = done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout
    assert "heaptrack PROGRAM" in text
