"""How long calls take: an allocator that is slow now and then, and everybody who tells of it."""

import collections
import html
import json
import re
import subprocess

import pytest

import recording
import targets
from tape_reader import ALLOC, FREE, FUNCTIONS, IN, OUT, Tape

SLOW_NS = 2_000_000
FLAG_LATENCY = 32
NO_LATENCIES = "the tape has no call latencies; record with --latency"

# Sizes say which calls may be slow: one in a hundred of them is. Blocks of 5,000 bytes and more are
# freed slowly, those of 3,000 are asked for slowly, 7,000 is what realloc is slow with.
ALLOCATOR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

static int count_malloc, count_free, count_realloc;

static void maybe_slow(int *count)
{
	struct timespec moment = { .tv_nsec = 2000000 };

	if (++*count % 100 == 0)
		while (nanosleep(&moment, &moment) != 0)
			;
}

static int is_near(size_t size, size_t wanted)
{
	return size >= wanted && size < wanted + 100;
}

size_t malloc_usable_size(void *block)
{
	static size_t (*real)(void *);

	if (!real)
		real = (size_t (*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
	return real(block);
}

void *malloc(size_t size)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	if (size == 3000)
		maybe_slow(&count_malloc);
	return real(size);
}

void *realloc(void *block, size_t size)
{
	static void *(*real)(void *, size_t);

	if (!real)
		real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	if (size == 7000)
		maybe_slow(&count_realloc);
	return real(block, size);
}

void free(void *block)
{
	static void (*real)(void *);

	if (!real)
		real = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	if (block && is_near(malloc_usable_size(block), 5000))
		maybe_slow(&count_free);
	real(block);
}
"""

PROGRAM = r"""
#include <stdlib.h>

static void *volatile block;

__attribute__((noinline)) static void asks(void)
{
	block = malloc(3000);
	free(block);
}

__attribute__((noinline)) static void frees(void)
{
	block = malloc(5000);
	free(block);
}

__attribute__((noinline)) static void moves(void)
{
	block = malloc(10);
	block = realloc(block, 7000);
	free(block);
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		asks();
	for (int i = 0; i < 700; i++)
		frees();
	for (int i = 0; i < 300; i++)
		moves();
	return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    (folder / "allocator.c").write_text(ALLOCATOR)
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "-fno-builtin", "-o", folder / "allocator.so",
                    folder / "allocator.c", "-ldl"], check=True)
    subprocess.run(["cc", "-O1", "-g", "-fno-builtin", "-fno-omit-frame-pointer", "-o", folder / "program",
                    folder / "program.c"], check=True)
    slow = {"LD_PRELOAD": folder / "allocator.so"}
    for name, options in (("slow", ["--latency"]), ("without", [])):
        done = recording.run_recorded([folder / "program"], folder / f"{name}.mtape",
                                      ["--quiet", *options], env=slow)
        assert done.returncode == 0, done.stderr
    return folder


def ask(folder, *words, code=0):
    done = recording.run([recording.memtape(), *words], cwd=folder, env=recording.clean_env())
    assert done.returncode == code, done.stderr.decode()
    return (done.stdout if code == 0 else done.stderr).decode()


def rows_of(folder, *words):
    return json.loads(ask(folder, "report", "slow.mtape", "allocations", "--json", *words))


def test_exactly_the_slow_calls_are_slow(folder):
    """Each hundredth call of its kind, and nothing else but where the machine had no time for us."""
    rows = rows_of(folder)
    for size, field, calls in ((3000, "latency_ns", 1000), (5000, "free_latency_ns", 700),
                               (7000, "latency_ns", 300)):
        times = [row[field] for row in rows if row["size"] == size]
        assert len(times) == calls
        assert all(time >= SLOW_NS for time in times[99::100])
        others = [time for i, time in enumerate(times) if i % 100 != 99]
        # a thread may lose its processor anywhere; that is rare, and no multiple of anything
        assert sum(time >= SLOW_NS for time in others) <= calls // 50, sorted(others)[-20:]
        assert sorted(others)[len(others) // 2] < SLOW_NS / 20


def test_a_moved_block_was_not_freed(folder):
    rows = {row["id"]: row for row in rows_of(folder)}
    moved = [row for row in rows.values() if row["size"] == 7000]
    for row in moved:
        assert rows[row["realloc_of"]]["free_latency_ns"] is None
        assert row["latency_ns"] is not None and row["free_latency_ns"] is not None


def test_filters_sort_and_sql_know_them(folder):
    slow = rows_of(folder, "--filter", "latency >= 2ms and size in 3000..7000")
    assert 13 <= len(slow) <= 50
    assert all(row["latency_ns"] >= SLOW_NS for row in slow)
    freed = rows_of(folder, "--filter", "free_latency > 2ms and size = 5000")
    assert 7 <= len(freed) <= 21
    times = [row["latency_ns"] for row in rows_of(folder, "--sort", "latency", "--top", "20")]
    assert times == sorted(times, reverse=True) and times[0] >= SLOW_NS
    text = ask(folder, "sql", "slow.mtape", "--csv", "select count(*), min(latency), max(free_latency) "
               "from allocations where size = 5000")
    count, least, most = text.splitlines()[1].split(",")
    assert int(count) == 700 and 0 <= int(least) < SLOW_NS <= int(most)


def test_segments_are_passed_over_rightly(folder):
    """What a filter on bounds finds is what all the rows say."""
    rows = rows_of(folder)
    for limit in (0, 10, 50, 1000, SLOW_NS):
        found = rows_of(folder, "--filter", f"latency > {limit}ns")
        assert [row["id"] for row in found] == [
            row["id"] for row in rows if (row["latency_ns"] or 0) > limit]


def test_the_report_says_who_waits(folder):
    answer = json.loads(ask(folder, "report", "slow.mtape", "latency", "--json"))
    rows = rows_of(folder)
    times = [row[field] for row in rows for field in ("latency_ns", "free_latency_ns")
             if row[field] is not None]
    functions = {row["call"]: row for row in answer["functions"]}
    assert answer["calls"] >= len(times)
    assert answer["total_ns"] >= 20 * SLOW_NS
    assert answer["max_ns"] >= max(times) == answer["slowest"][0]["latency_ns"]
    assert {"malloc", "free", "realloc"} <= set(functions)
    assert functions["realloc"]["calls"] == 300
    for row in functions.values():
        assert sum(bucket["count"] for bucket in row["histogram"]) == row["calls"]
        assert row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["max_ns"]
        assert all(bucket["min_ns"] <= bucket["max_ns"] for bucket in row["histogram"])
    # whose calls they are; the share of each is what it says
    sites = {site["function"]: site for site in answer["sites"]}
    assert list(sites)[:3] == sorted(("asks", "frees", "moves"), key=lambda name: -sites[name]["total_ns"])
    assert sites["asks"]["calls"] == 2000 and sites["frees"]["calls"] == 1400 and sites["moves"]["calls"] == 900
    assert sites["asks"]["max_ns"] >= SLOW_NS
    assert sum(site["calls"] for site in answer["sites"]) == answer["calls"]
    slow_stacks = collections.Counter(call["stack"][0]["function"] for call in answer["slowest"][:20])
    assert set(slow_stacks) <= {"asks", "frees", "moves"}
    assert {call["is_free"] for call in answer["slowest"][:20]} == {True, False}


def test_a_part_of_a_tape_is_that_part(folder):
    answer = json.loads(ask(folder, "report", "slow.mtape", "latency", "--json", "--filter", "size = 5000"))
    functions = {row["call"]: row for row in answer["functions"]}
    assert {name: row["calls"] for name, row in functions.items()} == {"malloc": 700, "free": 700}
    assert [site["function"] for site in answer["sites"]] == ["frees"]
    assert functions["free"]["total_ns"] >= 7 * SLOW_NS


def test_text_and_csv_say_the_same(folder):
    answer = json.loads(ask(folder, "report", "slow.mtape", "latency", "--json"))
    csv = [line.split(",") for line in ask(folder, "report", "slow.mtape", "latency", "--csv").splitlines()]
    assert csv[0] == ["call", "calls", "total_ns", "mean_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns"]
    assert {row[0]: int(row[2]) for row in csv[1:]} == {
        row["call"]: row["total_ns"] for row in answer["functions"]}
    text = ask(folder, "report", "slow.mtape", "latency")
    for words in ("Time in the allocator", "Slowest calls", "Who spends it", "asks()", "realloc"):
        assert words.removesuffix("()") in text
    ask(folder, "report", "slow.mtape", "latency", "--sort", "size", code=2)


def test_the_summary_has_a_line(folder):
    summary = json.loads(ask(folder, "report", "slow.mtape", "--json"))
    answer = json.loads(ask(folder, "report", "slow.mtape", "latency", "--json"))
    for key in ("calls", "total_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"):
        assert summary["latency"][key] == answer[key]
    assert re.search(r"^  allocator +[\d.]+ ms +in [\d,]+ calls, on average", ask(folder, "report", "slow.mtape"),
                     re.M)
    assert "latency" not in json.loads(ask(folder, "report", "without.mtape", "--json"))
    assert "allocator " not in ask(folder, "report", "without.mtape")


@pytest.mark.parametrize("words", [
    ["report", "without.mtape", "latency"],
    ["report", "without.mtape", "allocations", "--filter", "latency > 1us"],
    ["report", "without.mtape", "top", "--filter", "free_latency > 1us"],
    ["report", "without.mtape", "allocations", "--sort", "latency"],
    ["sql", "without.mtape", "select max(latency) from allocations"],
    ["heatmap", "without.mtape", "--what", "latency"],
    ["plot", "without.mtape", "--kind", "heatmap", "--what", "free-latency", "-o", "no.svg"],
])
def test_a_tape_without_them_says_so(folder, words):
    assert NO_LATENCIES in ask(folder, *words, code=1)
    assert not (folder / "no.svg").exists()


def test_heat_maps_have_a_cell_for_every_call(folder):
    rows = rows_of(folder)
    for what, field in (("latency", "latency_ns"), ("free-latency", "free_latency_ns")):
        svg = ask(folder, "heatmap", "slow.mtape", "--what", what, "--reflat", "1ms")
        counts = [int(count) for count in re.findall(r'data-count="(\d+)"', svg)]
        assert sum(counts) == sum(row[field] is not None for row in rows)
        assert "1 ms" in svg
        slow = ask(folder, "heatmap", "slow.mtape", "--what", what, "--scale", "linear", "--minlat", "2ms")
        counts = [int(count) for count in re.findall(r'data-count="(\d+)"', slow)]
        assert sum(counts) == sum((row[field] or 0) >= SLOW_NS for row in rows)
    ask(folder, "plot", "slow.mtape", "--kind", "heatmap", "--what", "latency", "-o", "calls.svg")
    assert "calls</text>" in (folder / "calls.svg").read_text()


def test_a_flame_graph_is_as_wide_as_the_time(folder):
    answer = json.loads(ask(folder, "report", "slow.mtape", "latency", "--json"))
    svg = ask(folder, "flamegraph", "slow.mtape", "--metric", "latency")
    assert "Time in the allocator: " in svg
    data = json.loads(html.unescape(re.search(r'id="data">(.*?)</script>', svg, re.S).group(1)))
    assert data["is_time"]
    times, calls = collections.Counter(), collections.Counter()
    for _, name, _, count, _, alone, *_ in data["frames"]:
        times[data["names"][name][0]] += alone
        calls[data["names"][name][0]] += count
    for site in answer["sites"][:3]:
        assert (times[site["function"]], calls[site["function"]]) == (site["total_ns"], site["calls"])
    assert data["frames"][0][2:4] == [sum(site["total_ns"] for site in answer["sites"]), answer["calls"]]
    part = ask(folder, "flamegraph", "slow.mtape", "--metric", "latency", "--filter", "size = 5000")
    assert "frees" in part and "asks" not in part
    assert "--at" in ask(folder, "flamegraph", "slow.mtape", "--metric", "latency", "--at", "50%", code=2)
    assert NO_LATENCIES in ask(folder, "flamegraph", "without.mtape", "--metric", "latency", code=1)


def test_repacking_and_exporting_keep_them(folder):
    ask(folder, "repack", "slow.mtape", "-o", "again.mtape", "--force")
    ask(folder, "verify", "again.mtape")
    assert "sound" in ask(folder, "verify", "slow.mtape")
    once, again = (ask(folder, "export", tape, "--to", "json") for tape in ("slow.mtape", "again.mtape"))
    assert json.loads(once)["allocations"] == json.loads(again)["allocations"]
    export = json.loads(once)
    assert export["columns"][-2:] == ["latency_ns", "free_latency_ns"]
    assert [row[-2:] for row in export["allocations"]] == [
        [row["latency_ns"], row["free_latency_ns"]] for row in rows_of(folder)]
    without = json.loads(ask(folder, "export", "without.mtape", "--to", "json"))
    assert "latency_ns" not in without["columns"]


def test_an_index_keeps_them(folder):
    before = ask(folder, "report", "slow.mtape", "latency", "--json")
    ask(folder, "index", "slow.mtape", "--force")
    try:
        assert ask(folder, "report", "slow.mtape", "latency", "--json") == before
    finally:
        (folder / "slow.mtape.index").unlink()


# --- on the tape --------------------------------------------------------------------------------


def test_the_library_alone_measures_too(folder, tape):
    recording.run_bare([folder / "program"], tape, preload_after=[folder / "allocator.so"],
                       env={"MEMTAPE_OPTIONS": "latency=1"})
    read = Tape(tape)
    assert not read.damage and read.flags & FLAG_LATENCY
    slow = collections.Counter(
        FUNCTIONS[event.fn][0] for event in read.events
        if event.latency is not None and event.latency > SLOW_NS and event.size in (0, 3000, 7000))
    assert slow["malloc"] >= 10 and slow["free"] >= 7 and slow["realloc"] >= 3
    assert not any(event.latency is None for event in read.events if FUNCTIONS[event.fn][1] != OUT)


def test_unless_asked_for_there_is_nothing(folder, tape):
    recording.run_bare([folder / "program"], tape)
    read = Tape(tape)
    assert not read.flags & FLAG_LATENCY
    assert all(event.latency is None for event in read.events)


# Threads, handlers inside the recorder, forks, failing and throwing operators, an own allocator: the hooks'
# other face has to stand all of it.
CASES = [case for case in targets.all_cases()
         if case.name in ("hooks", "operators", "threads", "signals", "newhandler", "conformance", "conformance_cxx",
                          "jumps", "early", "thread_ends", "own_new", "afterfork", "coroutines")
         or case.id in ("exceptions deep", "processes fork", "processes vfork", "endings kill")]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_measured_programs_are_recorded_as_others(case, tape):
    program = recording.target(case.name)
    plain = recording.run_plain([program, *case.args])
    recorded = recording.run_bare([program, *case.args], tape, env={"MEMTAPE_OPTIONS": "latency=1"})
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout), recorded.stderr
    read = Tape(tape)
    assert not read.damage
    lost = read.lost_events() > case.losses_at_most or read.fault
    assert case.loss_allowed or not lost, (read.lost, read.fault, read.fault_errno)
    wrong = []
    for expected in case.expected:
        wrong += targets.check_expected(expected, read.allocations(), case.loss_allowed and lost)
    assert not wrong, "\n".join(wrong)
    assert not read.overlaps, [hex(event.address) for event in read.overlaps[:5]]
    # an operator that throws has no end
    calls = [event for event in read.events if FUNCTIONS[event.fn][1] in (ALLOC, FREE, IN) and event.address]
    measured = sum(event.latency is not None for event in calls)
    assert calls and measured >= len(calls) - len(read.parent)  # at the end each stream may be in one
