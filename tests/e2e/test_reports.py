"""Reports agree with each other and with an obvious evaluation of the list of all allocations.

Tapes of real programs are recorded once; everything is recomputed here from `report allocations`.
"""

import collections
import csv
import io
import json
import random
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

import recording
from tape_writer import TapeWriter

SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { JOBS = 300 };
static char *jobs[JOBS];
static __attribute__((noinline)) char *job_make(int i)
{
	char *job = malloc(100 + i);		/* line 8 */
	memset(job, i, 100);
	return job;
}
static __attribute__((noinline)) void *walk(int depth)
{
	if (depth == 0)
		return malloc(77);		/* line 15 */
	void *below = walk(depth - 1);		/* line 16 */
	void *volatile here = malloc(11);		/* line 17 */
	free(here);
	return below;
}
static void *worker(void *arg)
{
	for (int i = 0; i < JOBS; i++)
		free(jobs[i]);			/* line 24 */
	return arg;
}
int main(void)
{
	pthread_t thread;
	char *grown = NULL;

	for (int i = 0; i < JOBS; i++)
		jobs[i] = job_make(i);		/* line 33 */
	pthread_create(&thread, NULL, worker, NULL);
	pthread_join(thread, NULL);
	for (int i = 1; i <= 40; i++) {
		grown = realloc(grown, i * 5000);	/* line 37 */
		char *between = malloc(20000);		/* so that it moves */
		between[0] = 1;
	}
	free(grown);
	grown = NULL;
	for (int i = 1; i <= 12; i++) {
		grown = realloc(grown, i * i * 1000);	/* by ever larger steps */
		char *between = malloc(20000);
		between[0] = 1;
	}
	free(grown);
	free(walk(5));				/* line 42 */
	return 0;
}
"""
STRINGS = r"""
#include <string>
#include <vector>
static __attribute__((noinline)) std::string grow(int count)
{
	std::string text;
	while (text.size() < (size_t)count * 100)
		text.append(100, 'x');		// in a function of the library
	return text;
}
int main()
{
	std::vector<std::string> texts;
	for (int i = 0; i < 50; i++)
		texts.push_back(grow(i));
	return texts.size() != 50;
}
"""
PROGRAMS = {
    "jobs": ["./jobs"],
    "strings": ["./strings"],
    "python": ["/usr/bin/python3", "-c", "import json, threading\n"
               "def f(n):\n  return [json.loads(json.dumps({'a': list(range(9)), 'b': str(i)}))"
               " for i in range(n)]\n"
               "t = threading.Thread(target=f, args=(300,)); t.start(); x = f(500); t.join()\n"],
    "sqlite": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union "
               "all select x + 1 from c where x < 2000) insert into t select x, hex(randomblob(20))"
               " from c; create index i on t(b); select count(*) from t where b like 'A%';"],
    "git": ["git", "--version"],
}
NEVER = float("inf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("reports")
    (where / "jobs.c").write_text(SOURCE)
    done = recording.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", "jobs", "jobs.c",
                          "-pthread"], cwd=where)
    assert done.returncode == 0, done.stderr.decode()
    (where / "strings.cpp").write_text(STRINGS)
    done = recording.run(["g++", "-g", "-O1", "-o", "strings", "strings.cpp"], cwd=where)
    assert done.returncode == 0, done.stderr.decode()
    return where


class Tape:
    def __init__(self, folder, name):
        self.folder, self.name = folder, f"{name}.mtape"
        done = recording.run([recording.memtape(), "record", "-q", "-o", self.name,
                              *PROGRAMS[name]], cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        self.blocks = self.report("allocations")
        known = {(b["alloc_ns"], b["address"]) for b in self.report("allocations", "--filter", "suppressed")}
        for block in self.blocks:
            if block["free_ns"] is None:
                block["free_ns"] = NEVER
            block["leaked"] = block["free_ns"] == NEVER and (block["alloc_ns"], block["address"]) not in known
        self.summary = self.report("summary")

    def text(self, *words, code=0):
        done = recording.run([recording.memtape(), "report", self.name, *words], cwd=self.folder)
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def report(self, *words):
        return json.loads(self.text(*words, "--json"))


TAPES = {}


@pytest.fixture(params=PROGRAMS)
def tape(request, folder):
    program = PROGRAMS[request.param][0]
    if not (shutil.which(program) or (folder / program).exists()):
        pytest.skip(f"needs {PROGRAMS[request.param][0]}")
    if request.param not in TAPES:
        TAPES[request.param] = Tape(folder, request.param)
    return TAPES[request.param]


@pytest.fixture
def jobs(folder):
    if "jobs" not in TAPES:
        TAPES["jobs"] = Tape(folder, "jobs")
    return TAPES["jobs"]


def total(blocks):
    blocks = list(blocks)
    return len(blocks), sum(b["size"] for b in blocks)


def ends_of(tape, count):
    """Times at which blocks were allocated and freed: what is on which side shows there."""
    chance = random.Random(11)
    freed = [b["free_ns"] for b in tape.blocks if b["free_ns"] != NEVER]
    return [chance.choice(tape.blocks)["alloc_ns"] for _ in range(count)] + (
        [chance.choice(freed) for _ in range(count)] if freed else [])


ALL = [[], ["--filter", "size >= 0"]]  # sums that are there, and those that are made of rows


def column(rows, *keys):
    return tuple(sum(row[key] for row in rows) for key in keys)


def test_all_sums_are_the_summary(tape):
    summary = tape.summary
    allocated = (summary["allocations"]["count"], summary["allocations"]["bytes"])
    peak = (summary["peak"]["count"], summary["peak"]["bytes"])
    leaked = (summary["leaked"]["count"], summary["leaked"]["bytes"])
    temporary = summary["temporary"]["count"]
    assert allocated == total(tape.blocks)
    assert peak == total(b for b in tape.blocks if b["at_peak"])
    assert leaked == total(b for b in tape.blocks if b["leaked"])
    assert temporary == sum(b["temporary"] for b in tape.blocks)
    for rows in (tape.report("top", "--sort", "count")["sites"], tape.report("modules")["modules"],
                 tape.report("threads")["threads"], tape.report("sizes")["sizes"]):
        assert column(rows, "allocated_count", "allocated_bytes") == allocated
        assert column(rows, "peak_count", "peak_bytes") == peak
        assert column(rows, "leaked_count", "leaked_bytes") == leaked
        assert column(rows, "temporary_count") == (temporary,)
    for direction in ([], ["--bottom-up"]):
        for metric, want in (("peak", peak), ("leaked", leaked), ("allocated", allocated)):
            tree = tape.report("tree", "--sort", metric, *direction)
            assert (tree["count"], tree["bytes"]) == want
    timeline = tape.report("timeline")["timeline"]
    assert column(timeline, "allocated_count", "allocated_bytes") == allocated
    assert (timeline[-1]["live_count_end"], timeline[-1]["live_bytes_end"]) == total(
        b for b in tape.blocks if b["free_ns"] == NEVER)
    assert max(span["live_bytes_max"] for span in timeline) == peak[1]
    assert column(tape.report("threads")["handovers"], "count", "bytes") == allocated


GROUPS = ["stack", "function", "source", "module", "thread", "size", "call", "process"]


def test_groups_are_the_summary_and_the_other_reports(tape):
    summary = tape.summary
    found = {by: tape.report("groups", "--by", by, "--top", "1000000")["groups"] for by in GROUPS}
    for by, groups in found.items():
        sums = [group["only_matched"] for group in groups]
        assert column(sums, "allocated_count", "size") == (
            summary["allocations"]["count"], summary["allocations"]["bytes"]), by
        assert column(sums, "peak_count", "peak_size") == (
            summary["peak"]["count"], summary["peak"]["bytes"]), by
        assert column(sums, "leaked_count", "leaked_size") == (
            summary["leaked"]["count"], summary["leaked"]["bytes"]), by
        assert column(sums, "temporary_count") == (summary["temporary"]["count"],), by
    modules = {m["module"]: m["allocated_bytes"] for m in tape.report("modules")["modules"]
               if m["allocated_count"]}
    assert modules == {g["module"]: g["only_matched"]["size"] for g in found["module"]}
    sites = collections.Counter()
    for site in tape.report("top", "--sort", "count")["sites"]:
        sites[site["function"], site["module"]] += site["allocated_bytes"]
    grouped = collections.Counter()
    for group in found["function"]:
        grouped[group["function"], group["module"]] += group["only_matched"]["size"]
    assert sites == grouped


@pytest.mark.parametrize("how", ALL)
def test_the_timeline_is_the_integral_at_every_point(tape, how):
    duration = tape.summary["duration_ns"]
    windows = [(0, duration, 50), (duration // 3, duration // 2, 7), (5, 6, 3)]
    windows += [(at - 1, at, 2) for at in ends_of(tape, 3) if 1 <= at <= duration]
    for begin, end, points in windows:
        rows = tape.report("timeline", "--from", f"{begin}ns", "--until", f"{end}ns",
                           "--points", str(points), *how)["timeline"]
        ends = [row["begin_ns"] for row in rows[1:]] + [end + 1]
        assert rows[0]["begin_ns"] == begin and len(rows) == min(points, end + 1 - begin)
        for row, stop in zip(rows, ends):
            live = total(b for b in tape.blocks if b["alloc_ns"] < stop <= b["free_ns"])
            assert (row["live_count_end"], row["live_bytes_end"]) == live
            fresh = total(b for b in tape.blocks if row["begin_ns"] <= b["alloc_ns"] < stop)
            assert (row["allocated_count"], row["allocated_bytes"]) == fresh


@pytest.mark.parametrize("how", ALL)
def test_moments_and_spans_are_what_they_say(tape, how):
    chance = random.Random(7)
    duration = tape.summary["duration_ns"]
    times = [0, duration, tape.summary["peak"]["time_ns"], chance.choice(tape.blocks)["alloc_ns"],
             *(chance.randrange(duration) for _ in range(4)), *ends_of(tape, 2)]
    for at in times:
        found = tape.report("at", f"{at}ns", *how)
        live = total(b for b in tape.blocks if b["alloc_ns"] <= at < b["free_ns"])
        assert (found["live_count"], found["live_bytes"]) == live
        assert column(found["sites"], "live_count", "live_bytes") == live
    assert tape.report("at", "peak")["live_bytes"] == tape.summary["peak"]["bytes"]
    for begin, end in [*zip(times, times[3:]), *((at, at) for at in ends_of(tape, 2))]:
        begin, end = sorted((begin, end))
        found = tape.report("between", f"{begin}ns", f"{end}ns", *how)
        fresh = [b for b in tape.blocks if begin <= b["alloc_ns"] <= end]
        want = {
            "allocated": total(fresh),
            "survived": total(b for b in fresh if b["free_ns"] > end),
            "temporary": total(b for b in fresh if b["temporary"]),
            "freed": total(b for b in tape.blocks if begin <= b["free_ns"] <= end),
            "live_before": total(b for b in tape.blocks if b["alloc_ns"] < begin <= b["free_ns"]),
            "live_after": total(b for b in tape.blocks if b["alloc_ns"] <= end < b["free_ns"]),
        }
        for key, value in want.items():
            assert (found["total"][f"{key}_count"], found["total"][f"{key}_bytes"]) == value, key
            assert column(found["sites"], f"{key}_count", f"{key}_bytes") == value, key
        net = want["live_after"][1] - want["live_before"][1]
        assert found["total"]["net_bytes"] == net
        assert sum(site["net_bytes"] for site in found["sites"]) == net


def test_lifetimes_are_those_of_the_blocks(tape):
    found = tape.report("lifetimes", "--sites", "--top", "1000")
    lived = sorted(b["free_ns"] - b["alloc_ns"] for b in tape.blocks if b["free_ns"] != NEVER)
    assert found["freed_unseen_count"] == 0
    assert (found["freed_count"], found["freed_bytes"]) == total(
        b for b in tape.blocks if b["free_ns"] != NEVER)
    for bucket in found["lifetimes"]:
        end = NEVER if bucket["max_ns"] is None else bucket["max_ns"]
        assert (bucket["count"], bucket["bytes"]) == total(
            b for b in tape.blocks
            if b["free_ns"] != NEVER and bucket["min_ns"] <= b["free_ns"] - b["alloc_ns"] <= end)
    for key, part in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990), ("p999_ns", 999)):
        exact = lived[max(0, -(-len(lived) * part // 1000) - 1)]
        assert exact <= found[key] <= exact * 33 / 32
    assert found["max_ns"] == lived[-1]
    assert column(found["sites"], "freed_count", "never_freed_count") == (
        found["freed_count"], found["never_freed_count"])


def test_no_lifetime_is_told_where_nothing_was_freed(tape):
    text = tape.text("lifetimes", "--filter", "leaked")
    assert "No block was freed" in text and "never freed" in text
    assert "27h" not in text and "and more" not in text and "under " not in text


def test_chains_are_followed_from_the_first_block_to_the_last(tape):
    blocks = tape.blocks
    follows = {b["realloc_of"]: i for i, b in enumerate(blocks) if b["realloc_of"] is not None}
    found = tape.report("reallocs", "--top", "10000")
    assert found["reallocs"] == len(follows)
    starts = [i for i in follows if blocks[i]["realloc_of"] is None]
    assert found["blocks"] == len(starts) == len(found["chains"])
    copied = 0
    for chain in found["chains"]:
        rows = [chain["first_allocation"]]
        while rows[-1] in follows:
            rows.append(follows[rows[-1]])
        pairs = [(blocks[a], blocks[b]) for a, b in zip(rows, rows[1:])]
        moved = [(a, b) for a, b in pairs if a["address"] != b["address"]]
        assert rows[-1] == chain["last_allocation"]
        assert chain["reallocs"] == len(rows) - 1
        assert chain["grown"] == sum(b["size"] > a["size"] for a, b in pairs)
        assert chain["moved"] == len(moved)
        assert chain["copied_bytes"] == sum(min(a["size"], b["size"]) for a, b in moved)
        assert (chain["first_bytes"], chain["final_bytes"], chain["max_bytes"]) == (
            blocks[rows[0]]["size"], blocks[rows[-1]]["size"],
            max(blocks[i]["size"] for i in rows))
        steps = [b["size"] - a["size"] for a, b in pairs if b["size"] > a["size"]]
        is_constant = len(steps) >= 8 and max(steps) - min(steps) <= min(steps) // 4
        assert chain["increment_bytes"] == (min(steps) if is_constant else None)
        copied += chain["copied_bytes"]
    assert copied == found["copied_bytes"] == column(found["sites"], "copied_bytes")[0]
    order = [c["copied_bytes"] for c in found["chains"]]
    assert order == sorted(order, reverse=True)
    top = tape.report("reallocs", "--top", "3", "--sort", "size")["chains"]
    assert [c["final_bytes"] for c in top] == sorted(
        (c["final_bytes"] for c in found["chains"]), reverse=True)[:3]


def test_handovers_are_pairs_of_threads(tape):
    found = {(h["allocated_by"], h["freed_by"]): (h["count"], h["bytes"])
             for h in tape.report("threads")["handovers"]}
    want = collections.defaultdict(list)
    for block in tape.blocks:
        want[block["thread"], block["free_thread"]].append(block)
    assert found == {pair: total(blocks) for pair, blocks in want.items()}


def test_a_thread_says_where_it_was_created(jobs):
    main, worker = jobs.report("threads")["threads"]
    assert worker["creator"] == main["tid"] and main["creator"] is None
    assert worker["create_stack"][0]["function"] == "main"
    text = jobs.text("threads")
    assert f"jobs ({worker['tid']}) by jobs ({main['tid']}) in main  jobs.c:" in text


def test_modules_are_those_of_the_sites(tape):
    modules = {m["module"]: m for m in tape.report("modules")["modules"]}
    by_site = collections.Counter()
    for site in tape.report("top", "--sort", "count", "--frames=exact")["sites"]:
        by_site[site["module"]] += site["allocated_bytes"]
    for path, allocated in by_site.items():
        assert modules[path]["allocated_bytes"] == allocated
        assert modules[path]["symbols"] not in (None, "unread")
    assert sum(m["allocated_bytes"] for m in modules.values()) == sum(by_site.values())
    assert all(m["build_id"] and m["what"] == "object" for m in modules.values()
               if m["module"] and m["module"].startswith("/"))


def test_both_sides_of_a_function_have_all_of_it(tape):
    site = tape.report("top", "--sort", "allocated")["sites"][0]
    name = site["function"]
    found = tape.report("tree", "--function", name, "--sort", "allocated")
    inside = [b for b in tape.blocks if any(f["function"] == name for f in b["stack"])]
    assert (found["count"], found["bytes"]) == total(inside)
    for side in ("callers", "callees"):
        roots = [node for node in found[side] if node["parent"] is None]
        assert {node["function"] for node in roots} == {name}
        assert sum(node["bytes"] for node in roots) == found["bytes"]
    assert "no function" in tape.text("tree", "--function", "such_is_not_there", code=1)


def test_branches_are_as_small_as_is_asked_for(tape):
    trees = [tape.report("tree", "--sort", "count", "--one-in", str(one_in)) for one_in in (4, 1000, 10**9)]
    assert 0 < len(trees[0]["nodes"]) <= len(trees[1]["nodes"]) <= len(trees[2]["nodes"])
    assert len(trees[0]["nodes"]) < len(trees[2]["nodes"]) and trees[0]["pruned"] > trees[2]["pruned"] == 0
    assert all((node["count"] + 1) * one_in > tree["count"] for tree, one_in in zip(trees, (4, 1000)) for node in tree["nodes"])
    assert len({tree["count"] for tree in trees}) == 1
    assert trees[1]["nodes"] == tape.report("tree", "--sort", "count")["nodes"]


FILTERS = ["size >= 1KiB", "leaked", "not leaked and size < 100", "lifetime > 100us",
           "function ~ \"a\""]


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_filter_applies_to_every_report(tape, filter_):
    """Sums of all reports are those of the allocations that the filter lets through."""
    kept = tape.report("allocations", "--filter", filter_)
    blocks = {(b["alloc_ns"], b["address"]) for b in kept}
    kept = [b for b in tape.blocks if (b["alloc_ns"], b["address"]) in blocks]
    allocated = total(kept)
    leaked = total(b for b in kept if b["leaked"])

    def ask(*words):
        return tape.report(*words, "--filter", filter_)

    for rows in (ask("top", "--sort", "count")["sites"], ask("modules")["modules"], ask("threads")["threads"]):
        assert column(rows, "allocated_count", "allocated_bytes") == allocated
        assert column(rows, "leaked_count", "leaked_bytes") == leaked
    tree = ask("tree", "--sort", "allocated")
    assert (tree["count"], tree["bytes"]) == allocated
    summary = ask("summary")
    assert (summary["allocations"]["count"], summary["allocations"]["bytes"]) == allocated
    assert (summary["leaked"]["count"], summary["leaked"]["bytes"]) == leaked
    assert summary["quality"]["filter"] == filter_
    assert column(ask("sizes")["sizes"], "allocated_count", "allocated_bytes") == allocated
    assert column(ask("sizes")["sizes"], "leaked_count", "leaked_bytes") == leaked
    end = tape.summary["duration_ns"]
    for begin, points in ((0, 40), (end // 3, 3)):
        rows = ask("timeline", "--from", f"{begin}ns", "--points", str(points))["timeline"]
        for row, stop in zip(rows, [row["begin_ns"] for row in rows[1:]] + [end + 1]):
            assert (row["live_count_end"], row["live_bytes_end"]) == total(
                b for b in kept if b["alloc_ns"] < stop <= b["free_ns"])
            assert row["live_bytes_max"] >= row["live_bytes_end"]
    if kept:
        folded = recording.run([recording.memtape(), "export", tape.name, "--to", "folded",
                                "--metric", "allocated", "--filter", filter_], cwd=tape.folder)
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.stdout.decode(
            errors="replace").splitlines()) == allocated[1]
    lifetimes = ask("lifetimes")
    never = total(b for b in kept if b["free_ns"] == NEVER)
    assert (lifetimes["never_freed_count"], lifetimes["never_freed_bytes"]) == never
    assert lifetimes["freed_count"] == allocated[0] - never[0]
    assert column(ask("threads")["handovers"], "count", "bytes") == allocated
    middle = tape.summary["duration_ns"] // 2
    at = ask("at", f"{middle}ns")
    assert (at["live_count"], at["live_bytes"]) == total(
        b for b in kept if b["alloc_ns"] <= middle < b["free_ns"])
    between = ask("between", f"{middle}ns", "end")["total"]
    assert (between["survived_count"], between["survived_bytes"]) == total(
        b for b in kept if b["alloc_ns"] >= middle and b["free_ns"] == NEVER)
    assert (between["freed_count"], between["freed_bytes"]) == total(
        b for b in kept if middle <= b["free_ns"] < NEVER)


def most_alive(blocks):
    """Those that are alive when most of them are: after all that happened at a moment, the first such."""
    change = collections.Counter()
    for block in blocks:
        change[block["alloc_ns"]] += block["size"]
        change[block["free_ns"]] -= block["size"]
    live, most, then = 0, 0, 0
    for ns in sorted(change):
        live += change[ns]
        if live > most:
            most, then = live, ns
    return [b for b in blocks if b["alloc_ns"] <= then < b["free_ns"]]


@pytest.mark.parametrize("metric", ["peak", "allocated"])
def test_a_picture_of_a_part_or_a_moment(tape, metric):
    def title(*words):
        done = recording.run([recording.memtape(), "flamegraph", tape.name, "-f", "-o", "part.svg",
                              "--metric", metric, *words], cwd=tape.folder)
        assert done.returncode == 0, done.stderr.decode()
        root = ElementTree.parse(tape.folder / "part.svg").getroot()
        data = root.find(".//{http://www.w3.org/2000/svg}script[@id='data']").text
        return json.loads(data)["frames"][0][2]

    middle = tape.summary["duration_ns"] // 2
    then = tape.report("at", f"{middle}ns")
    live = [b for b in tape.blocks if b["alloc_ns"] <= middle]
    want = then["live_bytes"] if metric == "peak" else total(live)[1]
    assert title("--at", f"{middle}ns") == want
    window = [b for b in live if b["alloc_ns"] >= middle // 3]
    window = window if metric == "allocated" else most_alive(window)
    if window:
        assert title("--from", f"{middle // 3}ns", "--until", f"{middle}ns") == total(window)[1]
    kept = [b for b in (live if metric == "allocated" else most_alive(live)) if b["size"] >= 64]
    if kept:
        assert title("--until", f"{middle}ns", "--filter", "size >= 64") == total(kept)[1]


# --- annotate -------------------------------------------------------------------------------


def line_number(mark):
    """Of the line with the comment that says its name."""
    return next(i for i, text in enumerate(SOURCE.splitlines(), 1) if f"/* line {mark} */" in text)


def lines_of(found):
    """By the marks in the source, where there are any."""
    marks = {line_number(m): int(m) for m in re.findall(r"line (\d+) ", SOURCE)}
    return {marks.get(line["line"], -line["line"]): line for line in found["lines"]}


def test_lines_have_what_was_allocated_while_they_were_on_the_stack(jobs):
    found = jobs.report("annotate", "jobs.c")
    lines = lines_of(found)
    assert found["source"].endswith("jobs.c") and not found["source_is_newer"]
    assert "malloc(100 + i)" in lines[8]["text"]
    made = 300 * 100 + sum(range(300))
    for number in (8, 33):  # where it is, and where it was called from
        assert (lines[number]["allocated_bytes"], lines[number]["allocated_count"]) == (made, 300)
        assert lines[number]["leaked_bytes"] == 0
    assert (lines[8]["self_bytes"], lines[33]["self_bytes"]) == (made, 0)
    assert lines[24]["freed_count"] == 300 and lines[24]["allocated_count"] == 0
    # recursion: each line counts once for a stack however often it is on it
    assert lines[15]["allocated_bytes"] == 77
    assert lines[16]["allocated_bytes"] == 77 + 4 * 11
    assert lines[17]["allocated_bytes"] == 5 * 11
    assert lines[42]["allocated_bytes"] == 77 + 5 * 11
    assert lines[37]["allocated_count"] == 40 and lines[37]["leaked_count"] == 0


@pytest.mark.parametrize("file", ["jobs.c", "./jobs.c"])
def test_every_line_agrees_with_the_stacks(jobs, file):
    for line in jobs.report("annotate", file)["lines"]:
        number = line["line"]

        def has(stack):
            return any(f["file"] and f["file"].endswith("jobs.c") and f["line"] == number
                       for f in stack or [])
        inside = [b for b in jobs.blocks if has(b["stack"])]
        assert (line["allocated_count"], line["allocated_bytes"]) == total(inside)
        assert (line["leaked_count"], line["leaked_bytes"]) == total(b for b in inside if b["leaked"])
        assert (line["freed_count"], line["freed_bytes"]) == total(
            b for b in jobs.blocks if has(b["free_stack"]))


def test_the_margin_is_beside_the_source(jobs):
    text = jobs.text("annotate", "jobs.c")
    row = next(line for line in text.splitlines() if "malloc(100 + i)" in line)
    assert row.split()[:4] == ["73.1", "KiB", "300", "."] and f" {line_number(8)}  " in row
    assert "enum { JOBS" not in text  # far from any number
    assert "enum { JOBS" in jobs.text("annotate", "jobs.c", "--whole-file")
    chosen = jobs.text("annotate", "jobs.c", "--columns", "totB,totBk,curB,curBk,totFdB,totFdBk")
    row = next(line for line in chosen.splitlines() if "free(job" in line)
    assert row.split()[:8] == [*"....", "73.1", "KiB", "300", str(line_number(24))]
    top = jobs.text("annotate", "jobs.c", "--top", "1", "--sort", "count")
    assert "malloc(100 + i)" in top or "job_make(i)" in top
    rows = list(csv.DictReader(io.StringIO(jobs.text("annotate", "jobs.c", "--csv"))))
    assert {int(row["line"]) for row in rows} >= {
        line_number(mark) for mark in (8, 15, 16, 17, 24, 33, 37, 42)}


def test_a_source_that_is_not_there_is_told(jobs, tmp_path):
    away = tmp_path / "sources"
    away.mkdir()
    shutil.move(jobs.folder / "jobs.c", away / "jobs.c")
    shutil.copy(jobs.folder / "jobs", away)
    try:
        text = jobs.text("annotate", "jobs.c")
        assert "source is not there" in text and "--path-map" in text
        assert "job_make" in text and "300" in text  # the numbers are
        mapped = jobs.text("annotate", "jobs.c", "--path-map", f"{jobs.folder}={away}")
        assert "malloc(100 + i)" in mapped
    finally:
        shutil.move(away / "jobs.c", jobs.folder / "jobs.c")
    assert "debug information" in jobs.text("annotate", "else.c", code=1)
    assert "totFdBk" in jobs.text("annotate", "jobs.c", "--columns", "size", code=2)


def test_a_source_is_found_from_where_the_compiler_ran(folder):
    build, elsewhere = folder / "build", folder / "elsewhere"
    for where in (build, elsewhere):
        where.mkdir()
    for command, where in (
            (["gcc", "-g", "-O1", "-o", "jobs", "../jobs.c", "-pthread"], build),
            ([recording.memtape(), "record", "-q", "-o", "t.mtape", "../build/jobs"], elsewhere)):
        done = recording.run(command, cwd=where)
        assert done.returncode == 0, done.stderr.decode()
    done = recording.run([recording.memtape(), "report", "t.mtape", "annotate", "jobs.c", "--json"],
                         cwd=elsewhere)
    found = json.loads(done.stdout)
    assert found["file"] == found["source"] == str(folder / "jobs.c")


def test_growth_by_constant_steps_is_pointed_out(jobs):
    text = jobs.text("reallocs")
    assert "+4.9 KiB" in text and "grow by a factor" in text
    chain = jobs.report("reallocs")["chains"][0]
    assert chain["increment_bytes"] == 5000 and chain["final_bytes"] == 200000


def test_a_block_that_lived_for_no_time_was_alive_once(tmp_path):
    """In the order of rows, where the clock cannot tell: never less than nothing."""
    tape = TapeWriter()
    main = tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    tape.at(10)
    main.event(0, 0x1000, 100)  # malloc
    tape.at(20)
    main.event(0, 0x3000, 7)
    main.event(0, 0x2000, 30)
    main.event(1, 0x2000)  # free
    main.event(1, 0x1000)
    tape.at(30)
    main.event(1, 0x3000)
    tape.at(40)
    tape.clock(main)
    tape.write(tmp_path / "x.mtape")
    for how in ALL:
        rows = recording.report(tmp_path / "x.mtape", "timeline", "--from", "15ms", "--until", "25ms",
                                "--points", "1", *how)["timeline"]
        (row,) = rows
        assert (row["live_bytes_end"], row["live_count_end"]) == (7, 1)
        assert (row["allocated_count"], row["allocated_bytes"]) == (2, 37)
        assert 100 <= row["live_bytes_max"] <= 137


def test_a_moment_after_the_end_is_an_error_that_names_the_end(tmp_path):
    """Of a window the end may be later: it is until the end then."""
    tape = tmp_path / "app.mtape"
    recording.run_recorded(["/bin/true"], tape)
    for words in (["report", tape, "at", "99h"], ["report", tape, "between", "0s", "99h"],
                  ["diff", tape, tape, "--at", "0s,99h"], ["flamegraph", tape, "--at", "99h", "-o", "x.svg"],
                  ["export", tape, "--to", "folded", "--at", "99h"], ["strip", tape, "--from", "99h", "-o", "x.mtape"],
                  ["sql", tape, "SELECT count(*) FROM live_at('99h')"]):
        done = recording.run([recording.memtape(), *words], cwd=tmp_path)
        assert done.returncode == 2 and b"99h 00m is after the end: the tape is from 0 to " in done.stderr, (words, done.stderr)
    end = recording.report(tape, "summary")["duration_ns"]
    assert recording.report(tape, "at", f"{end + 1000}ns")["at_ns"] == end  # what is shown is rounded
    everything = recording.report(tape, "top")
    assert recording.report(tape, "top", "--until", "99h")["sites"] == everything["sites"]


def test_one_is_singular(tmp_path):
    (tmp_path / "one.c").write_text("""#include <stdlib.h>
#include <stdint.h>
static void *volatile kept;
int main(void)
{
	kept = malloc(40);
	free(kept);
	kept = malloc(PTRDIFF_MAX);
}
""")
    done = recording.run(["gcc", "-g", "-O1", "-w", "one.c", "-o", "one"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert recording.run_recorded([tmp_path / "one"], tmp_path / "t.mtape").returncode == 0
    text = recording.run([recording.memtape(), "report", tmp_path / "t.mtape"]).stdout.decode()
    assert re.search(r"temporary +1 +allocation, 100\.0 % of all, was freed before its thread allocated again\n", text), text
    assert re.search(r"failed +1 +allocation returned NULL\n", text), text


def test_of_a_part_rates_and_residency_are_of_its_time(tmp_path):
    path, tape = tmp_path / "part.mtape", TapeWriter()
    main = tape.stream(1, "main")
    collector = tape.collector()
    tape.clock(main)
    for second, rss_mib in enumerate((5, 9, 30, 7, 6)):
        tape.at(second * 1000)
        tape.usage(collector, rss_mib << 20)
        for i in range(100 if second == 1 else 10):
            main.event(0, (second + 1) << 20 | i << 8, 16)
    tape.clock(main)
    tape.write(path)
    whole = recording.report(path, "summary")
    assert whole["rss_max_bytes"] == 30 << 20 and whole["rate_mean"] == pytest.approx(140 / 4)
    part = ["--from", "0.5s", "--until", "1.5s"]
    summary = recording.report(path, "summary", *part)
    assert summary["rss_max_bytes"] == 9 << 20 and summary["rate_mean"] == pytest.approx(100)
    text = recording.run([recording.memtape(), "report", path, *part]).stdout.decode()
    assert "100 a second" in text and "resident at most 9.0 MiB" in text
    nowhere = recording.report(path, "summary", "--from", "0.2s", "--until", "0.3s")
    assert nowhere["rss_max_bytes"] == 0 and nowhere["rate_mean"] == 0


def test_a_function_is_shown_where_it_allocates_most(tmp_path):
    source, tape = tmp_path / "two.c", tmp_path / "two.mtape"
    source.write_text("#include <stdlib.h>\nvoid *volatile kept;\nint main(void)\n{\n\tkept = malloc(10);\n"
                      "\tkept = malloc(100000);\n\tkept = malloc(20);\n\treturn 0;\n}\n")
    assert recording.run(["cc", "-g", "-O0", "-o", tmp_path / "two", source]).returncode == 0
    assert recording.run_bare([tmp_path / "two"], tape).returncode == 0
    for report, rows in (("growth", "sites"), ("top", "sites")):
        row, = (row for row in recording.report(tape, report)[rows] if row["function"] == "main")
        assert (row["line"], row["stack"][0]["line"] if "stack" in row else 6) == (6, 6), report
