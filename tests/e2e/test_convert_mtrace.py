"""Logs of glibc's mtrace(3): a real one, and what the mtrace script says of it."""

import re
from pathlib import Path

import pytest

import recording
from test_convert_sums import convert, library, missing, needs, sums

DEBUG = "libc_malloc_debug.so.0"
needs_debug = pytest.mark.skipif(not library(DEBUG), reason=f"{DEBUG} is not installed")


def traced(tmp_path, program="traced"):
    path = tmp_path / "mtrace.log"
    done = recording.run([recording.target(program)], env=recording.clean_env(
        MALLOC_TRACE=path, LD_PRELOAD=library(DEBUG)))
    assert done.returncode == 0 and path.stat().st_size > 1000
    return path


@needs_debug
@needs("mtrace")
def test_what_is_alive_is_what_the_script_says_was_not_freed(tape, tmp_path):
    # not optimised: the script looks up the address behind the call, where the next line may begin
    path = traced(tmp_path, "traced-O0")
    convert(path, tape)
    done = recording.run(["mtrace", recording.target("traced-O0"), path])
    told = re.findall(r"^0x0*([0-9a-f]+) +0x([0-9a-f]+) +at (.*)$", done.stdout.decode(), re.M)
    alive = [row for row in recording.rows(tape) if row["free_ns"] is None]
    assert len(told) == 22
    assert sorted((row["address"] if isinstance(row["address"], int) else int(row["address"], 0), row["size"])
                  for row in alive) == sorted((int(address, 16), int(size, 16)) for address, size, _ in told)
    places = {int(address, 16): re.search(r"([^/]+\.[ch]):(\d+)", where).groups() for address, _, where in told}
    for row in recording.report(tape, "allocations"):
        if row["free_ns"] is None:
            frame = row["stack"][0]
            assert (Path(frame["file"]).name, str(frame["line"])) == places[int(row["address"], 0)]


@needs_debug
@pytest.mark.parametrize("variant", ["", "-O0"])
def test_every_call_has_its_size_and_its_function(variant, tape, tmp_path):
    said = convert(traced(tmp_path, f"traced{variant}"), tape)
    shown = sums(tape)
    assert shown["allocated_count"] == 20 + 10 + 1 + 3
    assert shown["allocated_bytes"] == 20 * 101 + 10 * 102 + 63 + 40 + 4000 + 40000
    assert shown["leaked_bytes"] == 20 * 101 + 63 + 40000
    assert recording.report(tape, "summary")["reallocs"] == 2
    inner = {frame["function"] for row in recording.report(tape, "allocations") for frame in row["stack"]}
    assert inner - {"need_block"} == {"take", "cleared", "regrown"}
    assert {"times", "threads", "functions"} <= missing(tape)[0]
    assert "only its place is known" in said


LOG = """= Start
@ ./not there/shop:(take+0x15)[0x11b1] + 0x55ef1dd784a0 0x64
@ /usr/lib/not-there.so.1:[0x1210] < 0x55ef1dd784a0
@ /usr/lib/not-there.so.1:[0x1210] > 0x55ef1dd786d0 0x1388
@ [0x7f1234567890] + 0x55ef1dd78000 0x8
@ ./not there/shop:(take+0x15)[0x11b1] + (nil) 0x64
@ ./not there/shop:(take+0x15)[0x11b1] ! 0x55ef1dd784a0 0xffffffff
@ ./not there/shop:(drop+0x9)[0x12b1] - 0x55ef1dd78000
= End
"""


def test_without_the_programs_the_log_itself_has_names(tape, tmp_path):
    path = tmp_path / "x"
    path.write_text(LOG)
    said = convert(path, tape)
    assert sums(tape)["leaked_bytes"] == 0x1388 and sums(tape)["allocated_count"] == 3
    rows = {row["size"]: row for row in recording.report(tape, "allocations")}
    assert rows[0x64]["stack"][0]["function"] == "take"
    assert rows[0x64]["stack"][0]["module"] == "./not there/shop"
    assert rows[8]["free_stack"][0]["function"] == "drop"
    assert "calls that failed: 2" in said


@pytest.mark.parametrize("text, words, allocated", [
    (LOG.replace("@ [0x7f", "hello\n@ [0x7f"), "the first is line 5", 3),
    (LOG[:LOG.index(" 0x8\n") + 2], "in the middle of this line", 2),
    (LOG.replace("0x64\n", "0x6g\n", 1), "the first is line 2", 2),
])
def test_what_is_wrong_in_a_log_is_told_with_its_line(text, words, allocated, tape, tmp_path):
    path = tmp_path / "x"
    path.write_text(text)
    assert words in convert(path, tape, code=(0, 1))
    assert sums(tape)["allocated_count"] == allocated


def test_a_log_of_nothing_is_refused(tape, tmp_path):
    path = tmp_path / "x"
    path.write_text("= Start\n= End\n")
    assert "no allocation" in convert(path, tape, code=(1,)) and not tape.exists()
