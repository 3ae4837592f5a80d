"""What `memtape report TAPE findings` finds: in programs with one planted problem each, and on tapes
written by hand; and that the query behind a finding says the same numbers.
"""

import csv
import io
import json
import os
import pathlib
import re
import shlex

import pytest

import recording
import tape_writer
from tape_writer import PID, TapeWriter

MALLOC, FREE, OUT, IN = 0, 1, 3, 5
KIB, MIB = 1024, 1 << 20
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
HOSTILE = '<b>"x";&\x1b[31m</b>'
PROBLEM = recording.target("problems")


def findings(tape, *options):
    return recording.report(tape, "findings", *options)


def follow(tape, finding):
    """The answer of the command that a finding names."""
    done = recording.run([recording.memtape(), "report", tape, *shlex.split(finding["command"]),
                          "--json"])
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def group_of(tape, finding):
    groups = follow(tape, finding)["groups"]
    assert [group["function"] for group in groups] == [finding["function"]]
    return groups[0]["only_matched"]


# --- recorded programs: exactly one finding each ----------------------------------------------------

@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """problem -> its tape and its findings; each is recorded once."""
    known = {}

    def record(problem):
        if problem in known:
            return known[problem]
        for _ in range(5 if problem in ("growth", "swing") else 1):  # a machine that halts for a while bends the line
            if problem in known and bool(known[problem][1]["findings"]) == (problem == "growth"):
                break
            tape = tmp_path_factory.mktemp(problem) / "the.mtape"
            done = recording.run_recorded([PROBLEM, problem], tape)
            assert done.returncode == 0, done.stderr.decode()
            known[problem] = tape, findings(tape)
        return known[problem]
    return record


def only(answer, kind, function):
    found = answer["findings"]
    assert [(f["type"], f["function"]) for f in found] == [(kind, function)], found
    finding = found[0]
    for member in ("title", "evidence", "advice"):
        assert re.match(r"^[A-Z0-9].*[^ ]$", finding[member]), finding[member]
    assert finding["evidence"].endswith(".") and finding["advice"].endswith(".")
    if function:
        assert finding["module"].endswith("/problems") and finding["line"] > 0
        assert finding["file"].endswith("problems.c")
        assert finding["stack"][0]["function"] == function
    return finding


def test_steady_growth(recorded):
    tape, answer = recorded("growth")
    finding = only(answer, "growth", "grow")
    matched = group_of(tape, finding)
    assert finding["bytes"] == matched["size"] == 4001 * finding["count"]
    assert matched["allocated_count"] == finding["count"] and 900 <= finding["count"] < 1000
    assert "100.0 % of its 1,000 allocations were never freed" in finding["evidence"]
    r2 = float(re.search(r"R² (\S+)\)", finding["evidence"]).group(1))
    assert 0.8 <= r2 <= 1


def test_blocks_that_are_freed_at_once(recorded):
    tape, answer = recorded("churn")
    cause = only(answer, "per_call", "churn")
    finding, = cause["also"]
    assert finding["type"] == "churn"
    matched = group_of(tape, {**finding, "function": cause["function"]})
    assert finding["count"] == matched["temporary_count"] == matched["allocated_count"]
    assert finding["bytes"] == matched["size"] == 801 * finding["count"]
    assert 39_990 <= finding["count"] <= 40_000
    assert "801 B each" in finding["evidence"]


def test_growth_by_realloc(recorded):
    tape, answer = recorded("realloc")
    finding = only(answer, "realloc", "extend")
    # 96 steps, of which each moves what there was: 65 + 4096 i bytes
    assert finding["bytes"] == sum(65 + 4096 * i for i in range(96))
    assert finding["count"] == 96
    answer = follow(tape, finding)
    assert answer["copied_bytes"] == finding["bytes"] and answer["reallocs"] == 96
    assert "from 65 B to 384.1 KiB in 96 steps, 4.0 KiB at a time" in finding["evidence"]


def test_tiny_blocks(recorded):
    tape, answer = recorded("tiny")
    finding = only(answer, "tiny", "make_nodes")
    matched = group_of(tape, finding)
    assert finding["count"] == matched["peak_count"] == 100_000
    assert finding["bytes"] == matched["usable_size"] - 5 * 100_000 + 8 * 100_000


def test_a_huge_block(recorded):
    tape, answer = recorded("huge")
    finding = only(answer, "huge", "load_all")
    assert (finding["bytes"], finding["count"]) == (40_000_001, 1)
    assert [row["size"] for row in follow(tape, finding)] == [40_000_001]


def test_frees_by_another_thread(recorded):
    tape, answer = recorded("foreign")
    finding = only(answer, "foreign_free", "produce")
    matched = group_of(tape, finding)
    assert finding["count"] == matched["allocated_count"] == 20_000
    assert finding["bytes"] == matched["size"] == 301 * 20_000


def test_a_short_peak(recorded):
    tape, answer = recorded("spike")
    finding = only(answer, "spike", "burst")
    matched = group_of(tape, finding)
    assert finding["count"] == matched["allocated_count"] == 64
    assert finding["bytes"] == matched["size"] == 524_321 * 64


def test_memory_that_is_never_touched(recorded):
    tape, answer = recorded("untouched")
    finding = only(answer, "untouched", "reserve")
    assert "32.0 MiB requested in 32 large blocks, of which at most " in finding["evidence"]
    rows = follow(tape, finding)
    assert finding["count"] == len(rows) == 32
    assert {row["size"] for row in rows} == {1_048_609}
    # a block's header is on its first page, and 256 pages follow, the last of them partly its own
    assert 32 * 255 * 4 * KIB <= finding["bytes"] <= 32 * 256 * 4 * KIB


def test_free_memory_that_stays_resident(recorded):
    tape, answer = recorded("kept")
    finding = only(answer, "rss_kept", None)
    there = follow(tape, finding)
    assert finding["count"] == there["free_pages"]
    assert finding["bytes"] == there["free_pages"] * 4096
    assert 0.95 * 4000 * 8001 < finding["bytes"] < 1.01 * 4000 * 8016 + MIB


def test_what_is_needed_again_soon_is_not_kept(recorded):
    _, answer = recorded("swing")
    assert answer["findings"] == []


def test_blocks_between_free_pages_are_named(recorded):
    tape, answer = recorded("between")
    finding = only(answer, "rss_kept", "describe")
    assert "Between them lie 800 blocks of this function, 38.3 KiB" in finding["evidence"]
    there = follow(tape, finding)
    assert finding["bytes"] == there["free_pages"] * 4096 > 0.9 * 800 * 60001
    assert there["sites"][0]["function"] == "describe"


def test_memory_that_is_mapped_beside_the_allocator(recorded):
    tape, answer = recorded("mapped")
    finding = only(answer, "mapped", "map_arenas")
    assert finding["count"] == 40 and finding["bytes"] == 40 * MIB
    assert "--allocator" in finding["advice"]
    made = [row for row in follow(tape, finding)["mappings"] if "map_arenas" in row["stack"]]
    assert sum(row["resident_bytes"] for row in made) == finding["bytes"]


def test_pythons_own_memory_is_named(tape):
    script = "import time; kept = [(i, str(i)) for i in range(400000)]; time.sleep(1)"
    done = recording.run_recorded(["/usr/bin/python3", "-c", script], tape)
    assert done.returncode == 0, done.stderr.decode()
    finding, = [finding for finding in findings(tape)["findings"] if finding["type"] == "mapped"]
    assert finding["bytes"] > 20 * MIB and "PYTHONMALLOC=malloc" in finding["advice"]


def test_blocks_that_pin_pages(recorded):
    tape, answer = recorded("pinning")
    finding = only(answer, "pinning", "remember")
    site = follow(tape, finding)["sites"][0]
    assert site["function"] == "remember"
    assert finding["bytes"] == site["unused_bytes"] and finding["count"] == site["partial_blocks"]
    assert finding["count"] == 8000 and finding["bytes"] > 7500 * 3900


def test_a_program_that_is_well(recorded):
    _, answer = recorded("clean")
    assert answer["findings"] == [] and answer["missing"] == []


def test_people_see_the_same(recorded):
    tape, answer = recorded("growth")
    done = recording.run([recording.memtape(), "report", tape, "findings"])
    finding = answer["findings"][0]
    text = " ".join(done.stdout.decode().split())
    for words in (finding["title"], finding["evidence"], finding["advice"], "grow  problems.c:"):
        assert " ".join(words.split()) in text
    assert f"memtape report {tape} {finding['command']}" in done.stdout.decode()
    rows = list(csv.DictReader(io.StringIO(recording.run(
        [recording.memtape(), "report", tape, "findings", "--csv"]).stdout.decode())))
    assert [row["type"] for row in rows] == ["growth"]
    assert int(rows[0]["bytes"]) == finding["bytes"] and rows[0]["command"] == finding["command"]


def test_the_bare_library_says_what_is_missing(tape):
    done = recording.run_bare([PROBLEM, "pinning"], tape)
    assert done.returncode == 0
    answer = findings(tape)
    assert answer["findings"] == []
    assert len(answer["missing"]) == 2
    assert "blocks that pin pages" in answer["missing"][0] and "short of memory" in answer["missing"][1]
    assert all("`memtape record` takes them" in text for text in answer["missing"])
    text = recording.run([recording.memtape(), "report", tape, "findings"]).stdout.decode()
    assert "Not looked for" in text and "Nothing was found" in text


def test_without_stacks_it_is_nobody(tape):
    done = recording.run_recorded([PROBLEM, "huge"], tape, options=["--no-stacks"])
    assert done.returncode == 0
    answer = findings(tape)
    finding, = answer["findings"]
    assert (finding["type"], finding["bytes"]) == ("huge", 40_000_001)
    assert [row["size"] for row in follow(tape, finding)] == [40_000_001]
    assert any("no stacks" in words for words in answer["missing"])


# --- tapes written by hand --------------------------------------------------------------------------

EXITED, KILLED, RUNNING, REPLACED, CUT_OFF = 1, 2, 3, 4, 0  # how a tape ends


class Program:
    """A tape with one stream; blocks have addresses of their own."""

    def __init__(self):
        self.end = EXITED
        self.tape = TapeWriter()
        self.main = self.tape.stream(100, "main")
        self.tape.process(self.main, "/usr/bin/made", "made")
        self.tape.clock(self.main)
        self.next = 1 << 32

    def stack(self, *functions):
        return self.main.stack(("main", 0x40), *[(name,) for name in functions])

    def alloc(self, ms, size, stack, usable=None):
        self.tape.at(ms)
        self.next += (size + 4095) // 4096 * 4096 + 4096
        self.main.event(MALLOC, self.next, size, usable, stack)
        return self.next

    def free(self, ms, address):
        self.tape.at(ms)
        self.main.event(FREE, address, node=self.stack("close"))

    def write(self, path, end_ms):
        self.tape.at(end_ms)
        self.tape.clock(self.main)
        if self.end:
            self.main.extended(23, bytes([self.end]) + bytes(7))
        self.tape.write(path)
        return self.tape.names()


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(tape_writer, "CHUNK_BYTES", 8 << 20)
    names = []

    def finish(program, end_ms):
        path = tmp_path / "made.mtape"
        names.append(program.write(path, end_ms))
        return path
    yield finish
    for path in names:
        path.unlink(missing_ok=True)


def kinds(tape):
    return [(f["type"], f["function"]) for f in findings(tape)["findings"]]


def test_a_leak_of_known_slope(made):
    """100 blocks of 100 KiB in 10 s, one each 100 ms: 1000 KiB a second."""
    program = Program()
    leak = program.stack("serve", "leak")
    for i in range(100):
        program.alloc(i * 100, 100 * KIB, leak)
    tape = made(program, 10_000)
    finding, = findings(tape)["findings"]
    alive = sum(i * 100 <= 10_000 * 124 / 128 for i in range(100))
    assert (finding["type"], finding["function"]) == ("growth", "leak")
    assert (finding["bytes"], finding["count"]) == (alive * 100 * KIB, alive)
    words = re.search(r"([\d.]+) KiB more every second from \S+ \S+ on \(R² ([\d.]+)\)",
                      finding["evidence"])
    assert abs(float(words.group(1)) - 1000) < 10 and float(words.group(2)) > 0.999
    assert group_of(tape, finding)["size"] == finding["bytes"]


def test_what_is_built_up_first_is_not_part_of_growth(made):
    program = Program()
    table = program.stack("table")
    for _ in range(40):
        program.alloc(10, 256 * KIB, table)
    for i in range(1, 100):
        program.alloc(i * 100, 100 * KIB, table)
    finding, = findings(made(program, 10_000))["findings"]
    assert finding["type"] == "growth"
    assert 8 * MIB < finding["bytes"] < 9 * MIB  # of 9.8 MiB, what came after the first tenth
    assert re.search(r"alive after 9.6. s, and 10.. MiB after (9.. ms|1... s): ", finding["evidence"])


def test_a_leak_that_is_freed_at_the_end_is_growth(made):
    program = Program()
    leak = program.stack("collect")
    blocks = [program.alloc(i * 100, 100 * KIB, leak) for i in range(100)]
    for block in blocks:
        program.free(9_990, block)
    finding, = findings(made(program, 10_000))["findings"]
    assert (finding["type"], finding["function"]) == ("growth", "collect")
    assert "; all of its 100 allocations were freed in the end" in finding["evidence"]
    assert "a cache, a table or a queue kept them" in finding["advice"]


@pytest.mark.parametrize("end, stop_ms, found", [(EXITED, 8_400, True), (EXITED, 6_000, False), (RUNNING, 8_400, False)])
def test_a_program_may_need_long_to_free_what_grew(made, end, stop_ms, found):
    """From 8.5 s on it only frees, up to 9.9 s: as destructors do on a busy machine. What has stopped long before, or
    falls in a program that goes on, is no growth."""
    program = Program()
    cache, table = program.stack("Cache::put"), program.stack("Table::Table")
    rows = [program.alloc(0, 2 * KIB, table) for i in range(1000)]
    blocks = [program.alloc(i * 50, 100 * KIB, cache) for i in range(stop_ms // 50)]
    for i, block in enumerate(rows):  # the table goes first; the cache has to wait
        program.free(8_500 + i / 2, block)
    for i, block in enumerate(blocks):
        program.free(9_000 + i * 5, block)
    program.end = end
    assert [kind for kind in kinds(made(program, 10_000)) if kind[0] == "growth"] == [("growth", "Cache::put")] * found


COURSES = {
    "what is made at the start and kept": lambda i: 100 if i == 0 else 0,
    "what has ended to grow": lambda i: 2 if i < 50 else 0,
    "what begins late": lambda i: 2 if i >= 60 else 0,
    "three steps": lambda i: 30 if i in (10, 40, 70) else 0,
}


@pytest.mark.parametrize("course", COURSES)
def test_what_is_no_growth(made, course):
    program = Program()
    stack = program.stack("keep")
    for i in range(100):
        for _ in range(COURSES[course](i)):
            program.alloc(i * 100, 100 * KIB, stack)
    assert kinds(made(program, 10_000)) == []


def test_a_cache_that_is_full_is_no_growth(made):
    program = Program()
    stack, cache = program.stack("cache_put"), []
    for i in range(300):
        cache.append(program.alloc(i * 33, 100 * KIB, stack))
        if len(cache) > 40:
            program.free(i * 33 + 1, cache.pop(0))
    assert kinds(made(program, 10_000)) == []


def test_a_short_run_is_no_growth(made):
    program = Program()
    stack = program.stack("build")
    for i in range(100):
        program.alloc(i * 10, 100 * KIB, stack)
    assert kinds(made(program, 1_990)) == [("never_freed", "build")]


@pytest.mark.parametrize("end, blocks, found", [(EXITED, 100, True), (CUT_OFF, 100, False), (RUNNING, 100, False),
                                                (KILLED, 100, False), (REPLACED, 100, False), (EXITED, 15, False)])
def test_what_is_kept_to_the_end_of_a_short_run(made, end, blocks, found):
    program = Program()
    stack, freed = program.stack("build"), program.stack("scratch")
    for i in range(blocks):
        program.alloc(i, 100 * KIB, stack)
        program.free(i, program.alloc(i, 2 * MIB, freed))
    program.end = end
    tape = made(program, 1_000)
    answer = findings(tape)["findings"]
    assert [finding["type"] for finding in answer] == ["never_freed"] * found
    if found:
        assert (answer[0]["function"], answer[0]["bytes"], answer[0]["count"]) == ("build", blocks * 100 * KIB, blocks)
        assert group_of(tape, answer[0])["leaked_count"] == blocks


def test_where_nothing_is_found_the_rest_is_named(made):
    program = Program()
    stack = program.stack("build")
    program.alloc(1, 3000, stack)
    tape = made(program, 1_000)
    done = recording.run([recording.memtape(), "report", tape, "findings"])
    assert f"\n2.9 KiB in 1 block never freed: memtape report {tape} leaks\n" in done.stdout.decode()
    assert findings(tape)["leaked"] == {"bytes": 3000, "count": 1}


def test_a_leak_scan_tells_what_is_lost(tmp_path):
    found = {}
    for options in ((), ("--leak-scan",)):
        tape = tmp_path / "lost.mtape"
        done = recording.run_recorded([PROBLEM, "lost"], tape, options=["-f", *options])
        assert done.returncode == 0, done.stderr.decode()
        found[options] = findings(tape)["findings"]
    assert [(f["type"], f["function"], f["bytes"]) for f in found[()]] == [
        ("never_freed", "lose", 4_000_040), ("never_freed", "hold", 3_600_040)]
    lost, = found[("--leak-scan",)]
    assert (lost["function"], lost["bytes"], lost["count"]) == ("lose", 4_000_040, 40)
    assert "40 blocks to which no pointer was left" in lost["evidence"]
    assert follow(tape, lost)["definitely_lost"] == {"bytes": 4_000_040, "blocks": 40}


def test_blocks_larger_than_asked_for(made):
    program = Program()
    stack, fine = program.stack("round"), program.stack("fine")
    for block in [program.alloc(1, *sizes) for _ in range(100) for sizes in ((40_000, stack, 65_536), (60_000, fine, 65_536))]:
        program.free(99, block)
    tape = made(program, 100)
    finding, = findings(tape)["findings"]
    assert (finding["type"], finding["function"]) == ("slack", "round")
    assert (finding["bytes"], finding["count"]) == (100 * 25_536, 100)
    matched = group_of(tape, finding)
    assert matched["usable_size"] - matched["size"] == finding["bytes"]


def churn(program, stack, count, gap_us):
    for i in range(count):
        block = program.alloc(i * gap_us / 1000, 500, stack)
        program.free((i * gap_us + 0.3) / 1000, block)


def test_churn_has_to_be_quick(made):
    program = Program()
    churn(program, program.stack("slow"), 12_000, 200)  # 5,000 a second
    assert kinds(made(program, 3000)) == []


def test_churn_of_known_lifetime(made):
    program = Program()
    churn(program, program.stack("quick"), 12_000, 25)
    cause, = findings(made(program, 400))["findings"]
    assert cause["type"] == "per_call"  # of one size: the same buffer
    finding, = cause["also"]
    assert (finding["type"], finding["bytes"], finding["count"]) == ("churn", 6_000_000, 12_000)
    assert re.search(r"half of them lived at most 30[01] ns", finding["evidence"])
    assert re.search(r"40,00\d a second", finding["evidence"])


def test_churn_has_to_be_what_the_function_does(made):
    program = Program()
    stack = program.stack("mixed")
    churn(program, stack, 12_000, 25)
    for i in range(13_000):  # not temporary: the next comes before the free
        block = program.alloc(310 + i / 1000, 10, stack)
        program.alloc(310 + i / 1000, 0, stack)
        program.free(310 + i / 1000, block)
    assert kinds(made(program, 400)) == []


def test_a_spike_is_what_came_and_went(made):
    """Half of the peak stays; of the other half one block is older, and one outlives it."""
    program = Program()
    base, burst = program.stack("base"), program.stack("burst")
    program.alloc(10, 10 * MIB, base)
    old = program.alloc(20, MIB, burst)
    blocks = [program.alloc(2000 + i, 6 * MIB, burst) for i in range(4)]
    late = program.alloc(2010, 2 * MIB, burst)
    for block in blocks:
        program.free(2020, block)
    program.free(2500, old)
    program.free(2600, late)
    tape = made(program, 4000)
    finding, = [f for f in findings(tape)["findings"] if f["type"] == "spike"]
    assert (finding["function"], finding["bytes"], finding["count"]) == ("burst", 24 * MIB, 4)
    assert group_of(tape, finding)["size"] == finding["bytes"]
    assert "37.0 MiB were alive" in finding["evidence"]
    assert "never more than 13.0 MiB before" in finding["evidence"]


@pytest.mark.parametrize("rest", [26, 22])
def test_a_peak_that_is_not_much_higher_is_no_spike(made, rest):
    """26 MiB of 38 are 68 %, 22 MiB of 34 are 65 %."""
    program = Program()
    program.alloc(10, rest * MIB, program.stack("base"))
    block = program.alloc(2000, 12 * MIB, program.stack("burst"))
    program.free(2010, block)
    spikes = [f for f in findings(made(program, 4000))["findings"] if f["type"] == "spike"]
    assert len(spikes) == (rest == 22)


def test_churn_of_a_few_is_none(made):
    program = Program()
    churn(program, program.stack("rare"), 9_000, 25)
    assert kinds(made(program, 400)) == []


def test_functions_of_one_name_are_told_apart(made):
    """`site = parse` would take both; the filter has to be the exact one. Hostile names do not matter."""
    program = Program()
    names = ["parse", "parse(int)", 'q"uo\'te\\', "[a-z]+.*$", "operator()(int)", HOSTILE]
    for i, name in enumerate(names):
        for _ in range(120):
            program.alloc(20, 40_000 + i, program.stack(name), 80_000)
    tape = made(program, 100)
    found = findings(tape)["findings"]
    slack = {f["function"]: f for f in found if f["type"] == "slack"}
    assert set(slack) == set(names)
    for i, name in enumerate(names):
        matched = group_of(tape, slack[name])
        assert matched["allocated_count"] == 120 and matched["size"] == 120 * (40_000 + i)


def write_made(made):
    """A leak, blocks that are too large, and a block that is the whole of a short peak."""
    program = Program()
    leak, large = program.stack("serve", "leak"), program.stack("serve", "load(int)")
    rounded = program.stack("serve", HOSTILE)
    for i in range(100):
        program.alloc(i * 100, 100 * KIB, leak)
        program.alloc(i * 100, 10_000 + i, rounded, 32_768)
        if i == 80:
            block = program.alloc(i * 100 + 1, 20 * MIB, large)
        if i == 82:
            program.free(i * 100 + 1, block)
    return made(program, 10_000)


COMMANDS = {"findings-made.txt": [], "findings-made.json": ["--json"], "findings-made.csv": ["--csv"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_answer_is_as_it_was(made, name):
    tape = write_made(made)
    done = recording.run([recording.memtape(), "report", tape.name, "findings", *COMMANDS[name]],
                         cwd=tape.parent)
    assert done.returncode == 0, done.stderr.decode()
    text, golden = done.stdout.decode().replace(str(PID), "5000000"), GOLDEN / name
    if os.environ.get("MEMTAPE_BLESS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_those_at_the_top_have_most_at_stake(made):
    tape = write_made(made)
    found = findings(tape)["findings"]
    assert [f["type"] for f in found] == ["spike", "growth", "slack"]
    assert [f["bytes"] for f in found] == sorted((f["bytes"] for f in found), reverse=True)
    assert findings(tape, "--top", "2")["findings"] == found[:2]


def test_what_passes_weighs_less_than_what_stays(made):
    program = Program()
    leak, quick = program.stack("leak"), program.stack("quick")
    for i in range(100):
        program.alloc(i * 100, 100 * KIB, leak)
        for j in range(120):
            block = program.alloc(i * 100 + 1 + j / 50, 5000, quick)
            program.free(i * 100 + 1.001 + j / 50, block)
    found = findings(made(program, 10_000))["findings"]
    assert [f["type"] for f in found] == ["growth"]  # 1,200 a second are not worth a word
    program = Program()
    leak, quick = program.stack("leak"), program.stack("quick")
    churn_at_start(program, quick, 12_000)
    for i in range(5, 100):
        program.alloc(i * 100, 100 * KIB, leak)
    found = findings(made(program, 10_000))["findings"]
    assert [f["type"] for f in found] == ["growth", "per_call"]
    assert found[0]["bytes"] < found[1]["bytes"] == 12_000 * 5000


def churn_at_start(program, stack, count):
    for i in range(count):
        block = program.alloc(i / 40, 5000, stack)
        program.free(i / 40 + 0.001, block)


def test_fifty_are_told_at_most(made):
    program = Program()
    leaks = [program.stack(f"leak_{i}") for i in range(60)]
    for i in range(20):
        for leak in leaks:
            program.alloc(i * 500, 100 * KIB, leak)
    tape = made(program, 10_000)
    assert len(findings(tape)["findings"]) == 50
    text = recording.run([recording.memtape(), "report", tape, "findings"]).stdout.decode()
    assert "38 more findings; --top says how many are shown" in text


def test_an_empty_tape_has_no_findings(made):
    answer = findings(made(Program(), 10))
    assert answer["findings"] == []


def test_findings_are_about_the_whole_tape(made):
    tape = made(Program(), 10)
    done = recording.run([recording.memtape(), "report", tape, "findings", "--filter", "leaked"])
    assert done.returncode == 2 and b"is about the whole tape" in done.stderr
    assert b"(null)" not in done.stderr
