"""Two moments of one tape: pairs of marks, and those that are compared where none are given."""

import json
import pathlib
import urllib.parse

import pytest

import recording
from test_findings import Program
from test_serve_data import serve

ROOT = pathlib.Path(__file__).parents[2]

# Each word is a step: +N keeps N bytes, -N frees the oldest N blocks, =NAME sets a mark, ?N waits N ms.
STAGES = r"""
#include <stdlib.h>
#include <unistd.h>
#include "memtape/memtape.h"
static void *kept[100];
static int first, last;
__attribute__((noinline)) static void keep(int size) { kept[last++] = malloc(size); }
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i] + 1;
		if (argv[i][0] == '+')
			keep(atoi(word));
		else if (argv[i][0] == '-')
			for (int n = atoi(word); n > 0; n--)
				free(kept[first++]);
		else if (argv[i][0] == '=')
			memtape_mark(word);
		else
			usleep(1000 * atoi(word));
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stages")
    (folder / "stages.c").write_text(STAGES)
    done = recording.run(["gcc", "-g", "-O1", "-I", str(ROOT / "include"), "-o", "stages", "stages.c"], cwd=folder)
    assert done.returncode == 0, done.stderr.decode()

    def record(*steps):
        tape = folder / "stages.mtape"
        tape.unlink(missing_ok=True)
        done = recording.run([recording.memtape(), "record", "-q", "-o", tape.name, "./stages", *steps], cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        return tape
    return record


def diff(tape, *words, code=0):
    done = recording.run([recording.memtape(), "diff", tape.name, *words], cwd=tape.parent)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


def change(tape, *words):
    found = json.loads(diff(tape, "--json", *words))
    return found["pair"], found["totals"]["live"]["difference"]


STEPS = ["+10000", "=loaded", "+3000", "=step", "+500", "=step", "+70", "=step", "+9", "?2"]


@pytest.mark.parametrize("at, bytes", [
    ("mark(loaded),mark(step)", 3000), ("mark(step),mark(step#2)", 500), ("mark(step#2),mark(step#-1)", 70),
    ("mark(#1),mark(#-1)", 3570), ("mark(#-1),end", 9), ("mark(step#3),mark(loaded)", -3570)])
def test_marks_of_one_name_are_told_apart(stages, at, bytes):
    assert change(stages(*STEPS), "--at", at) == (None, bytes)


def test_the_first_and_the_last_mark_are_the_usual_pair(stages):
    tape = stages(*STEPS)
    words = "from mark 'loaded' to mark 'step' (3 of 3)"
    assert change(tape) == (words, 3570)
    text = diff(tape)
    assert f"Live memory {words}; --at T,T compares other times." in text
    assert "stages.mtape mark(loaded) " in text and "stages.mtape mark(step#3) " in text
    assert "100.0 % of it from keep (stages.c:7)." in text


@pytest.mark.parametrize("steps, words, bytes", [
    (["+4000", "=loaded", "+300", "-1", "?2"], "from mark 'loaded' to the end", -3700),
    (["+4000", "=a", "=b", "+300", "=c, d", "?2"], "from mark 'a' to mark 'c, d'", 300),
    (["+4000", "=", "+300", "=", "?2"], "from a mark without a name to a mark without a name", 300),
], ids=["one", "several", "nameless"])
def test_fewer_marks_are_compared_with_the_end(stages, steps, words, bytes):
    assert change(stages(*steps)) == (words, bytes)


@pytest.mark.parametrize("steps, words, bytes", [
    ([(5, 4000), (50, 300), (60, 200)], "from 10% of the run to the end", 500),
    ([(5, 4000), (50, 300)], "from the start to the peak", 4300),
    ([(5, 4000), (30, 3000), (40, -4000)], "from the start to the peak", 7000),
    ([(5, 1)], "from the start to the peak", 1),
], ids=["growth", "little", "freed", "one"])
def test_without_marks_growth_or_else_the_peak_is_compared(tmp_path, steps, words, bytes):
    program, blocks = Program(), {}
    for ms, size in steps:
        if size > 0:
            blocks[size] = program.alloc(ms, size, program.stack("load"))
        else:
            program.free(ms, blocks[-size])
    names = program.write(tmp_path / "x.mtape", 100)
    assert change(tmp_path / "x.mtape") == (words, bytes)
    names.unlink(missing_ok=True)


def test_a_mark_with_a_comma_is_one_moment(stages):
    tape = stages("=a, b", "+4000", "=c, (d)", "+300", "=f..g", "?2")
    assert change(tape, "--at", "mark(a, b),mark(c, (d))") == (None, 4000)
    assert change(tape, "--at", "mark(c, (d)),end") == (None, 300)
    assert change(tape, "--at", "start,mark(c, (d))")[1] >= 4000
    found = recording.report(tape, "allocations", "--from", "mark(c, (d))")
    assert [block["size"] for block in found] == [300]


def test_what_cannot_be_is_refused(stages):
    tape = stages(*STEPS)
    assert "no mark 'step#4'" in diff(tape, "--at", "start,mark(step#4)", code=1)
    assert "no mark '#5'" in diff(tape, "--at", "mark(#5),end", code=1)
    assert "one tape is compared at two times" in diff(tape, "--at", "end", code=2)


def test_the_server_has_the_same_pair(stages):
    tape = stages(*STEPS)
    mine = json.loads(diff(tape, "--json"))
    with serve(tape) as server:
        tape_id = server.json("/api/v1/info")["tapes"][0]["id"]
        pair = server.json(f"/api/v1/tape?c={tape_id}")["pair"]
        assert pair == {"a": "mark(loaded)", "b": "mark(step#3)", "words": mine["pair"]}
        theirs = server.json(f"/api/v1/diff?c={tape_id}")
        chosen = server.json(f"/api/v1/diff?c={tape_id}&" + urllib.parse.urlencode(
            {"a_at": pair["a"], "b_at": pair["b"]}))
        flame = server.json(f"/api/v1/diff/flame?c={tape_id}")
        error = json.loads(server.get(f"/api/v1/diff?c={tape_id}&m=leaked", 400)[1])["error"]
    for key in ("pair", "verdict", "totals", "below"):
        assert theirs[key] == mine[key]
    assert (chosen["pair"], chosen["totals"]) == (None, mine["totals"])
    assert flame["after"][0] - flame["before"][0] == 3570
    assert error["parameter"] == "b"
