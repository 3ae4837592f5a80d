"""bytehound's files as tapes. It is not in Debian: some files are its own (samples/README.md), the others
are written here from the format's description."""

import json
import struct
from pathlib import Path

import pytest

import recording
from bytehound_writer import WALL_S, Writer
from test_convert_heaptrack import convert, import_of, memtape, values, written

SAMPLES = Path(__file__).parent / "samples"
MAPS = b"""400000-402000 r--p 00000000 08:01 11 /opt/shop
402000-403000 r-xp 00002000 08:01 11 /opt/shop
7f0000000000-7f0000002000 r-xp 00001000 08:01 12 /opt/lib/one.so
7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]
"""
MAIN, ONE = 0x402800, 0x7F0000000400


def usable(tape):
    """Bytes alive at the end and how many blocks: bytehound exports usable sizes."""
    alive = [row["usable_size"] for row in recording.rows(tape) if row["free_ns"] is None]
    return sum(alive), len(alive)


@pytest.mark.parametrize("name", ["bytehound.dat", "bytehound.postprocessed.dat.zst"])
def test_a_real_file_has_the_numbers_that_bytehound_has(name, tmp_path):
    tape = convert(SAMPLES / name, tmp_path / "small.mtape")
    summary = recording.report(tape, "summary")
    assert summary["allocations"]["count"] == 1003
    assert summary["temporary"]["count"] == 667
    assert usable(tape) == (250_688, 336)
    kept = sum(100 + i for i in range(0, 1000, 3)) + 5000 + 777  # what the program asked for
    assert values(tape) == {"allocations": 1003, "leaked": kept, "peak": kept}
    functions = [row["function"] for row in recording.report(tape, "allocations")]
    assert (functions.count("calloc"), functions.count("realloc")) == (1, 1)


def test_frames_of_bytehound_itself_are_left_out(tmp_path):
    for name in ("bytehound.dat", "bytehound.postprocessed.dat.zst"):
        tape = convert(SAMPLES / name, tmp_path / f"{name}.mtape")
        for row in recording.report(tape, "allocations"):
            modules = [Path(frame["module"]).name for frame in row["stack"]]
            assert modules[0] == "small" and modules[-1] == "small", modules
            assert not any("bytehound" in module for module in modules)


def test_a_postprocessed_file_brings_names_and_lines(tmp_path):
    tape = convert(SAMPLES / "bytehound.postprocessed.dat.zst", tmp_path / "small.mtape")
    places = set()
    for row in recording.report(tape, "allocations"):
        inner = row["stack"][0]
        places.add((inner["function"], Path(inner["file"]).name, inner["line"]))
        assert [frame["function"] for frame in row["stack"]][-4:][0] in ("main", "mk")
        assert row["stack"][-1]["function"] == "_start"
    assert places == {("mk", "small.c", 3), ("main", "small.c", 4)}


def test_a_stripped_file_has_the_totals_of_the_whole(tmp_path):
    tape = convert(SAMPLES / "bytehound.stripped.dat.zst", tmp_path / "thr.mtape")
    assert recording.report(tape, "summary")["allocations"]["count"] == 40_004
    alive, count = usable(tape)
    assert (alive, count) == (769_536, 2004)
    assert any("left out 36000 blocks" in note for note in import_of(tape)["notes"])


def test_a_file_of_which_nothing_can_be_read_leaves_no_tape(tmp_path):
    whole = (SAMPLES / "bytehound.dat").read_bytes()
    begin = 5 + struct.unpack_from("<I", whole, 1)[0]  # of the chunk that has all events
    damaged = bytearray(whole)
    damaged[begin + 3000] ^= 0xFF
    damaged[begin + 5] = 0xF0
    out = tmp_path / "no.mtape"
    for data, words in ((whole[:begin + 2000], "middle of a chunk"), (whole[:begin], "no allocation"),
                        (bytes(damaged), "damaged")):
        done = memtape("convert", written(tmp_path, data), "-o", out, "--from", "bytehound")
        said = (done.stdout + done.stderr)
        said = said.decode() if isinstance(said, bytes) else said
        assert done.returncode == 1 and words in said, said
        assert words == "no allocation" or "byte " in said
        assert not out.exists() and not list(tmp_path.glob("no.mtape*"))


def shop():
    file = Writer()
    file.file("/opt/shop", bytes(3000))  # not needed, and compresses well
    file.file("/proc/self/maps", MAPS)
    file.backtrace(1, MAIN)
    file.backtrace(2, ONE, MAIN)
    file.rest()
    file.alloc(1000, 0xA000, 100, 1, 10)
    file.alloc(2000, 0xB000, 50, 2, 11, flags=1 << 31, extra=6)
    file.realloc(3000, 0xA000, 0xC000, 300, 1, 10)
    file.event(7, "I", 42)
    # the other thread's were handed over later: this free came before 0xB000 was given out again
    file.alloc(6000, 0xB000, 20, 1, 10)
    file.free(5000, 0xB000, 2, 11)
    return file


@pytest.mark.parametrize("pack", [True, False], ids=["lz4", "stored"])
@pytest.mark.parametrize("chunk", [17, 700, 1 << 16])
def test_what_was_written_is_on_the_tape(pack, chunk, tmp_path):
    tape = convert(shop().write(tmp_path / "shop.dat", pack, chunk), tmp_path / "shop.mtape", "--from", "bytehound")
    assert values(tape) == {"allocations": 4, "leaked": 320, "peak": 350}
    rows = recording.report(tape, "allocations")
    assert sorted((int(row["address"], 0), row["size"], row["usable_size"], row["function"]) for row in rows) == [
        (0xA000, 100, 100, "malloc"), (0xB000, 20, 20, "malloc"), (0xB000, 50, 56, "calloc"),
        (0xC000, 300, 300, "realloc")]
    freed = next(row for row in rows if row["function"] == "calloc")
    assert abs(freed["alloc_ns"] - 2_000_000) < 100 and abs(freed["free_ns"] - 5_000_000) < 100
    assert len(freed["free_stack"]) == 2
    info = json.loads(memtape("info", tape, "--json").stdout)
    assert sorted(thread["tid"] for thread in info["threads"]) == [10, 11]
    assert info["process"]["pid"] == 4321 and info["process"]["argv"] == ["shop", "--open"]
    assert info["process"]["started"].startswith("2023-11-14T22:13:20") and WALL_S == 1_700_000_000
    assert info["import"]["missing"] == ["functions"]
    assert "SECRET" not in json.dumps(info)


def test_the_format_is_told_by_its_content(tmp_path):
    for pack in (True, False):
        tape = convert(shop().write(tmp_path / "no-name", pack, 4096), tmp_path / f"{pack}.mtape")
        assert import_of(tape)["format"] == "bytehound"


def test_addresses_are_of_what_was_mapped(tmp_path):
    tape = convert(shop().write(tmp_path / "shop.dat"), tmp_path / "shop.mtape", "--from", "bytehound")
    rows = recording.report(tape, "allocations")
    stack = next(row for row in rows if row["function"] == "calloc")["stack"]
    assert [frame["module"] for frame in stack] == ["/opt/lib/one.so", "/opt/shop"]
    assert "one.so+0x1400" in stack[0]["function"]  # as it is in the file: mapped from 0x1000 on


def test_sums_of_stripped_files_count(tmp_path):
    file = Writer()
    file.backtrace(1, MAIN)
    file.event(17, "QQQQQQQ", 1, 0, 0, 10, 1003, 1, 200)
    tape = convert(file.write(tmp_path / "shop.dat"), tmp_path / "shop.mtape", "--from", "bytehound")
    totals = recording.report(tape, "summary")
    assert (totals["allocations"]["count"], totals["allocations"]["bytes"]) == (10, 1003)
    assert totals["leaked"]["bytes"] == 0
    assert {"sizes", "lifetimes", "addresses"} <= set(import_of(tape)["missing"])


@pytest.mark.parametrize("tail, words", [
    (struct.pack("<I", 13), "not known"),
    (struct.pack("<I", 99), "not known"),
    (struct.pack("<I", 20) + bytes(20), "middle of an event"),
])
def test_what_cannot_be_read_further_on_is_told(tail, words, tmp_path):
    file = shop()
    file.data += tail
    tape = convert(file.write(tmp_path / "bad.dat"), tmp_path / "bad.mtape", "--from", "bytehound", code=1)
    assert values(tape)["allocations"] == 4
    assert any(words in note and "byte" in note for note in import_of(tape)["notes"])


def test_a_torn_file_is_read_as_far_as_it_is_whole(tmp_path):
    path = shop().write(tmp_path / "shop.dat", chunk=64)
    path.write_bytes(path.read_bytes()[:-70])
    tape = convert(path, tmp_path / "shop.mtape", "--from", "bytehound", code=1)
    assert values(tape)["allocations"] >= 2
    assert any("middle of" in note for note in import_of(tape)["notes"])


@pytest.mark.parametrize("data", [b"\x01", b"\x02\x04\0\0\0\x07\0\0\0", b"\x01\x02\0\0\0\x0f\xff", b"\x02\xff\xff\xff\xff"])
def test_what_is_no_header_is_refused(data, tmp_path):
    done = memtape("convert", written(tmp_path, data), "-o", tmp_path / "no.mtape", "--from", "bytehound")
    assert done.returncode == 1 and not (tmp_path / "no.mtape").exists()
