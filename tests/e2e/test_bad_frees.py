"""Blocks freed twice, pointers freed that are no block's, and functions that do not fit: what findings say of the
target bad_frees, of tapes written by hand, and that they say nothing of programs without such mistakes."""

import json
import shutil
import subprocess

import pytest

import recording
from tape_writer import TapeWriter

PROGRAM = recording.target("bad_frees")
BAD = ("double_free", "invalid_free", "mismatched_free")


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    known = {}

    def record(run):
        if run not in known:
            known[run] = tmp_path_factory.mktemp(run) / "the.mtape"
            recording.run_recorded([PROGRAM, run], known[run])
        return known[run]
    return record


def bad(tape):
    answer = recording.report(tape, "findings")
    return [found for found in answer["findings"] if found["type"] in BAD], answer


def tops(found):
    return [found[key] and found[key][0]["function"] for key in ("stack", "allocated_stack", "freed_before_stack")]


@pytest.mark.parametrize("run, kind, stacks, size", [
    ("twice", "double_free", ["free_again", "make", "free_first"], 1001),
    ("reused", "double_free", ["free_again", "make", "free_first"], 1002),
    ("inside", "invalid_free", ["free_again", "make", None], 1003),
    ("stack", "invalid_free", ["free_again", None, None], 0),
    ("realloc", "double_free", ["grow", "make", "free_first"], 1004),
])
def test_a_bad_free_is_told_with_its_stacks(tapes, run, kind, stacks, size):
    found, answer = bad(tapes(run))
    assert [one["type"] for one in found] == [kind] and found == answer["findings"][:1]
    assert tops(found[0]) == stacks and (found[0]["count"], found[0]["bytes"]) == (1, size)
    assert found[0]["possible"] is False and "possibl" not in found[0]["title"]
    assert found[0]["stack"][-1]["function"] == "main"


def test_what_a_bad_free_names_is_in_the_list_of_allocations(tapes):
    for run, count in (("twice", 1), ("inside", 1), ("reused", 2)):
        command = bad(tapes(run))[0][0]["filter"]
        assert len(recording.report(tapes(run), "allocations", "--filter", command)) == count


def test_functions_that_do_not_fit_are_told_by_pairs_of_stacks(tapes):
    found, _ = bad(tapes("mismatched"))
    assert [one["type"] for one in found] == ["mismatched_free"] * 4
    assert [(*tops(one)[:2], one["count"], one["bytes"]) for one in found] == [
        ("free_first", "make_new", 3, 3 * 1005), ("delete_one", "make_array", 2, 2 * 1006),
        ("delete_one", "make", 1, 1007), ("grow", "make_new", 1, 1008)]
    words = [one["evidence"] for one in found]
    assert "that operator new had given were freed by free" in words[0]
    assert "that operator new[] had given were freed by operator delete" in words[1]
    assert "that operator new had given was freed by realloc" in words[3]
    rows = recording.report(tapes("mismatched"), "allocations", "--filter", found[0]["filter"])
    assert rows and {(row["function"], row["free_function"]) for row in rows} == {("operator new", "free")}


@pytest.mark.parametrize("run", ["fine", "crowd"])
def test_what_fits_is_no_finding(tapes, run):
    found, answer = bad(tapes(run))
    assert not found and not any("given out" in text for text in answer["missing"])


def test_what_a_process_of_a_session_leaves_is_not_freed_by_another_function(tmp_path):
    command = ["/bin/sh", "-c", '"$0" left; "$0" left', str(PROGRAM)]
    assert recording.run_recorded(command, tmp_path / "session", ["-q", "--follow"]).returncode == 0
    left = recording.report(tmp_path / "session", "allocations", "--filter", "size = 1009 and leaked")
    found, _ = bad(tmp_path / "session")
    assert len(left) == 2 and not found


COUNTS = """select (select unknown_free_count from summary) as unknown, (select lost_free_count from summary) as lost,
count(*) as freed from allocations where size = 1020 and free_ns is not null"""


def test_what_threads_hand_over_is_freed_once_and_never_lost(tmp_path):
    """Threads' clocks differ by more than a handover takes: in one run of five or so some frees come too early."""
    for number in range(5):
        tape = tmp_path / f"{number}.mtape"
        recording.run_recorded([PROGRAM, "crowd"], tape)
        found, answer = bad(tape)
        assert not found and not any("given out" in text for text in answer["missing"])
        done = recording.run([recording.memtape(), "sql", "--json", tape, COUNTS])
        [row] = json.loads(done.stdout)
        assert row == {"unknown": 0, "lost": 0, "freed": 40000}


def test_people_are_shown_all_stacks(tapes):
    text = recording.run([recording.memtape(), "report", tapes("twice"), "findings"]).stdout.decode()
    places = [text.index(words) for words in ("A block is freed twice", "freed by", "free_again", "allocated by", "make",
                                              "freed before by", "free_first")]
    assert places == sorted(places)


def test_the_index_has_what_the_first_reading_had(tapes):
    first = bad(tapes("twice"))
    assert bad(tapes("twice")) == first
    recording.run([recording.memtape(), "index", "-f", tapes("twice")])
    assert bad(tapes("twice"))[0] == first[0]


def test_programs_over_http_get_the_stacks(tapes):
    command = [str(recording.memtape()), "serve", "--json", str(tapes("twice"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=recording.clean_env()) as server:
        try:
            url = json.loads(server.stdout.readline())["url"]
            base, token = url.split("#k=")
            answer = json.loads(recording.run(["curl", "-s", "-H", f"Authorization: Bearer {token}",
                                               f"{base.rstrip('/')}/api/v1/findings?c=last"]).stdout)
        finally:
            server.terminate()
    found = answer["findings"][0]
    assert found["type"] == "double_free" and found["possible"] is False
    assert [found[key][0]["function"] for key in ("stack", "allocated_stack", "freed_before_stack")] == [
        "free_again", "make", "free_first"]


@pytest.mark.parametrize("name", ["conformance_cxx", "exceptions", "newhandler", "own_new", "own_malloc"])
def test_what_operators_throw_is_seen_to_come_and_go(name, tmp_path):
    """An operator that fails throws out of its hook; the exception is a block like others."""
    recording.run_recorded([recording.target(name)], tmp_path / "the.mtape")
    found, answer = bad(tmp_path / "the.mtape")
    assert not found and not any("given out" in text for text in answer["missing"])


# --- tapes by hand ----------------------------------------------------------------------------------

MALLOC, FREE, HERE = 0, 1, 0x5000_1000


class Tape:
    """make, then free_first and free_again at one address; `more` is called before the second free, which may be left out."""

    def __init__(self, folder, more=lambda tape: None, again=True):
        self.path, self.tape = folder / "the.mtape", TapeWriter()
        self.one, self.two = self.tape.stream(11, "one"), self.tape.stream(12, "two")
        self.tape.process(self.one, "/bin/program", "program")
        self.tape.clock(self.one)
        self.event(1, self.one, MALLOC, HERE, "make", 64)
        self.event(2, self.one, FREE, HERE, "free_first")
        more(self)
        if again:
            self.event(8, self.one, FREE, HERE, "free_again")
        self.event(9, self.one, MALLOC, HERE + 4096, "make", 32)
        self.tape.at(10)
        self.tape.clock(self.one)
        self.tape.write(self.path)
        self.map = self.tape.names()
        self.found, self.answer = bad(self.path)
        self.map.unlink()

    def event(self, milliseconds, stream, fn, address, function, size=0):
        self.tape.at(milliseconds)
        stream.event(fn, address, size, node=stream.stack(("main", 0x10), (function, 0x10)))


def test_a_whole_tape_proves_that_a_block_was_freed_twice(tmp_path):
    tape = Tape(tmp_path)
    assert [(one["type"], one["possible"]) for one in tape.found] == [("double_free", False)]
    assert tops(tape.found[0]) == ["free_again", "make", "free_first"]


def test_a_block_that_was_given_out_again_is_not_freed_twice(tmp_path):
    assert not Tape(tmp_path, lambda tape: tape.event(5, tape.two, MALLOC, HERE, "make", 64)).found


def test_a_free_a_moment_before_another_threads_allocation_is_its_blocks(tmp_path):
    """Their clocks differ: nothing is freed twice, and nothing leaks."""
    def handed_over(tape):
        tape.event(7.999, tape.two, MALLOC, HERE + 8192, "make", 100)  # some block of its own
        tape.event(8, tape.one, FREE, HERE, "free_early")
        tape.event(8.002, tape.two, MALLOC, HERE, "make_late", 48)
    tape = Tape(tmp_path, handed_over, again=False)
    assert not tape.found and not any("given out" in text for text in tape.answer["missing"])
    [row] = recording.report(tape.path, "allocations", "--filter", "size == 48")
    assert row["free_function"] == "free" and row["free_ns"] == row["alloc_ns"]


def test_a_block_freed_twice_is_told_though_its_address_is_given_out_at_once(tmp_path):
    def reused(tape):
        tape.event(8, tape.one, FREE, HERE, "free_again")
        tape.event(8.002, tape.two, MALLOC, HERE, "make_late", 48)
        tape.event(8.9, tape.two, FREE, HERE, "free_late")
    tape = Tape(tmp_path, reused, again=False)
    assert [(one["type"], one["possible"]) for one in tape.found] == [("double_free", False)]
    assert tops(tape.found[0]) == ["free_again", "make", "free_first"]
    recording.run([recording.memtape(), "index", "-f", tape.path])
    assert [one["type"] for one in bad(tape.path)[0]] == ["double_free"]


def test_a_sign_of_an_allocator_that_was_not_seen_weakens_the_claim(tmp_path):
    tape = Tape(tmp_path, lambda tape: tape.event(5, tape.two, FREE, HERE + 0x10_0000, "free_first"))
    assert [(one["type"], one["possible"]) for one in tape.found] == [("double_free", True)]
    assert "possibly" in tape.found[0]["title"] and "possibly" in tape.found[0]["evidence"]
    assert any(text.startswith("whether 1 free of what") for text in tape.answer["missing"])


def test_a_free_that_was_not_seen_weakens_the_claim(tmp_path):
    def twice_given_out(tape):
        tape.event(4, tape.two, MALLOC, HERE + 8192, "make", 16)
        tape.event(5, tape.two, MALLOC, HERE + 8192, "make", 16)
    assert [one["possible"] for one in Tape(tmp_path, twice_given_out).found] == [True]


def test_a_stripped_tape_weakens_the_claim(tmp_path):
    tape = Tape(tmp_path)
    done = recording.run([recording.memtape(), "strip", "-q", tape.path, "-o", tmp_path / "less.mtape", "--min-lifetime", "1ns"])
    assert done.returncode == 0, done.stderr
    assert all(one["possible"] for one in bad(tmp_path / "less.mtape")[0])


def test_of_many_frees_of_unknown_blocks_it_says_how_many_are_looked_at(tmp_path):
    def many(tape):
        for number in range(3):
            stream = tape.tape.stream(20 + number, "many")
            for i in range(1500):
                tape.event(5, stream, FREE, 0x7000_0000 + 4096 * i + number, "free_first")
    tape = Tape(tmp_path, many)
    assert not tape.found  # it comes after the first 4,096
    assert [text for text in tape.answer["missing"] if text.startswith("whether 4,501 frees of what") and "first 4,096" in text]


# --- programs of others -----------------------------------------------------------------------------

PROGRAMS = {
    "python": ["python3", "-c", "import json, threading\n"
               "def work():\n for i in range(200): json.loads(json.dumps(list(range(i))))\n"
               "ts = [threading.Thread(target=work) for _ in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]"],
    "git": ["git", "--version"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values (1), (2); select * from t order by a desc"],
    "bash": ["bash", "-c", "for i in 1 2 3; do x=$(echo $i | tr 1 a); done; declare -A a; a[x]=y"],
    "perl": ["perl", "-e", "my %h; $h{$_} = [1 .. 9] for 1 .. 999; fork() or exit; wait"],
    "jq": ["jq", "-n", "[range(999) | {a: .}] | length"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_of_programs_that_free_well(name, tmp_path):
    if not shutil.which(PROGRAMS[name][0]):
        pytest.skip(f"needs {PROGRAMS[name][0]}")
    recording.run_recorded(PROGRAMS[name], tmp_path / "the.mtape")
    found, answer = bad(tmp_path / "the.mtape")
    assert not found and not any("given out" in text for text in answer["missing"])
