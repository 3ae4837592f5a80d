"""What a program says to its recorder."""

import collections
import json
import string
import struct

import pytest

import recording
from tape_writer import TapeWriter

TEXTS = ["loaded", "served \"all\"\n", ""]


def test_nothing_without_a_recorder():
    assert recording.run_plain([recording.target("marks")]).returncode == 0


@pytest.mark.parametrize("variant", ["", "-O0", "-fp", "-clang"])
def test_marks(tape, variant):
    target = recording.target("marks" + variant)
    if not target.exists():
        pytest.skip("not built")
    assert recording.run_recorded([target], tape).returncode == 0
    marks = recording.report(tape, "marks")["marks"]
    assert [mark["name"] for mark in marks] == TEXTS
    assert marks[0]["ns"] <= marks[1]["ns"] <= marks[2]["ns"]
    live = (3, 3 * 4201)  # what was freed is not
    mine = [b for b in recording.report(tape, "allocations") if b["size"] not in (4201, 4202)]
    for mark in marks:
        rest = [b["size"] for b in mine if b["alloc_ns"] <= mark["ns"] and (
            b["free_ns"] is None or b["free_ns"] > mark["ns"])]
        assert (mark["live_count"], mark["live_bytes"]) == (live[0] + len(rest), live[1] + sum(rest))
    assert "load" in json.dumps(marks[0]["stack"])
    assert recording.report(tape, "at", "mark(loaded)")["live_bytes"] >= 3 * 4201
    rows = recording.report(tape, "allocations", "--filter", 'mark = loaded and size = 4202')
    assert len(rows) == 4
    assert not recording.report(tape, "allocations", "--filter", 'mark = loaded and size = 4201')


LONG = (string.ascii_lowercase * 12)[:299]


def test_a_long_mark_is_cut_and_errno_stays(tape):
    done = recording.run_recorded([recording.target("marks"), "say"], tape)
    assert done.stdout == b"recording 1 errno 1234\n"
    marks = recording.report(tape, "marks")["marks"]
    assert [mark["name"] for mark in marks] == [*TEXTS, LONG[:255]]


def test_who_is_not_recorded_knows(tape):
    target = recording.target("marks")
    assert recording.run_plain([target, "say"]).stdout == b"recording 0 errno 1234\n"
    nowhere = tape.parent / "no" / "such" / "folder.mtape"
    assert recording.run_bare([target, "say"], nowhere).stdout == b"recording 0 errno 1234\n"


def test_what_happens_at_a_mark_has_happened(tmp_path):
    tape = TapeWriter()
    main = tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    tape.usage(main, 100 << 10)
    for at, text in ((10, b"a"), (20, b"b"), (30, b"c")):
        tape.at(at)
        main.event(0, at << 20, at)  # malloc
        if at > 10:
            main.event(1, (at - 10) << 20)  # free
        if at == 20:
            tape.usage(main, 200 << 10)
        main.extended(24, struct.pack("<II", 0, 0) + text + b"\0")
    tape.at(35)
    main.event(1, 30 << 20)
    tape.usage(main, 300 << 10)
    tape.at(40)
    tape.clock(main)
    tape.write(tmp_path / "x.mtape")
    assert [(mark["ns"], mark["live_count"], mark["live_bytes"], mark["rss_bytes"])
            for mark in recording.report(tmp_path / "x.mtape", "marks")["marks"]] == [
        (10 * 10**6, 1, 10, 100 << 10), (20 * 10**6, 1, 20, 200 << 10), (30 * 10**6, 1, 30, 200 << 10)]


def tagged(tape, of):
    """(size, how many) of what was allocated with a tag; of: a filter."""
    counts = collections.Counter(row["size"] for row in recording.report(
        tape, "allocations", "--filter", f'site = "keep" and ({of})'))
    return sorted(counts.items())


@pytest.mark.parametrize("variant", ["", "-O0", "-clang"])
def test_tags(variant, tmp_path):
    target = recording.target("tags" + variant)
    if not target.exists():
        pytest.skip("not built")
    assert recording.run_plain([target]).stdout == b"not recorded\n"
    tape = tmp_path / "the.mtape"
    done = recording.run_recorded([target], tape, ["-q", "--follow"])
    assert done.answer() == (0, b"recorded\n", b"")
    assert tagged(tape, 'tag = "outer"') == [(200, 2)]
    assert tagged(tape, "tag = inner") == [(300, 1)]
    assert tagged(tape, "tag = worker") == [(1000, 50), (1001, 50), (1002, 50)]
    assert tagged(tape, "tag = none") == [(100, 1), (101, 1), (2000, 150)]
    groups = recording.report(tape, "groups", "--by", "tag", "--filter", 'site = "keep"')["groups"]
    assert {group["title"]: group["only_matched"]["allocated_count"] for group in groups} == {
        "outer": 2, "inner": 1, "worker": 150, "(no tag)": 152}
    told = {row["tag"]: row["n"] for row in json.loads(recording.run(
        [recording.memtape(), "sql", tape, "--json", "SELECT tag, count(*) AS n FROM allocations "
         "GROUP BY tag"]).stdout)}
    assert {name: told[name] for name in ("outer", "inner", "worker")} == {
        "outer": 2, "inner": 1, "worker": 150}
    [child] = tmp_path.glob("the.mtape.*")
    assert tagged(child, "tag = parent") == [(400, 1)] and tagged(child, "tag = none") == [(401, 1)]


def test_tags_in_cxx(tmp_path):
    source, program = tmp_path / "the.cc", tmp_path / "the"
    source.write_text('#include <memtape/memtape.h>\n#include <vector>\n'
                      'int main() {\n'
                      '    MEMTAPE_TAG("first");\n'
                      '    std::vector<char> one(12345);\n'
                      '    { MEMTAPE_TAG("second"); MEMTAPE_TAG("third"); one.reserve(54321); }\n'
                      '    memtape_pause(); memtape_resume();\n'
                      '    return one[7];\n'
                      '}\n')
    include = recording.ROOT / "include"
    done = recording.run(["g++", "-std=c++11", "-Wall", "-Werror", "-pedantic", "-g", "-I", include, source,
                          "-o", program])
    assert done.returncode == 0, done.stderr
    tape = tmp_path / "the.mtape"
    assert recording.run_recorded([program], tape, ["-q"]).returncode == 0
    for size, tag in ((12345, "first"), (54321, "third")):
        assert recording.report(tape, "allocations", "--filter", f"size = {size} and tag = {tag}")
