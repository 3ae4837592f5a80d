"""bytehound's files as tapes: written here from the format's description, for it is not in Debian."""

import json
import struct

import pytest

import recording
from bytehound_writer import WALL_S, Writer
from test_convert_heaptrack import convert, import_of, memtape, values, written

MAPS = b"""400000-402000 r--p 00000000 08:01 11 /opt/shop
402000-403000 r-xp 00002000 08:01 11 /opt/shop
7f0000000000-7f0000002000 r-xp 00001000 08:01 12 /opt/lib/one.so
7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]
"""
MAIN, ONE = 0x402800, 0x7F0000000400


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
