"""Filters, groups, sorts, windows and diffs of random tapes, compared with an evaluator that is slow and
obvious (oracle.py). Thousands of them with MEMTAPE_TEST_FULL=1."""

import json
import random
from collections import defaultdict

import pytest

import oracle
import recording

SEEDS = [1, 2, 3]


@pytest.fixture(scope="module", params=SEEDS)
def exported(request, tmp_path_factory):
    """(path of the tape, the tape as the oracle sees it)"""
    folder = tmp_path_factory.mktemp(f"oracle{request.param}")
    tape, out = folder / "the.mtape", folder / "the.json"
    steps, threads = random.Random(request.param).choice([(120, 1), (150, 3), (60, 5)])
    done = recording.run_recorded([recording.target("wander-O0"), request.param, steps, threads], tape,
                                  ["--no-summary"])
    assert done.returncode == 0, done.stderr
    done = recording.run([recording.memtape(), "export", tape, "--to", "json", "-o", out])
    assert done.returncode == 0, done.stderr
    return tape, oracle.Exported(out), request.param


def identity(row):
    return int(row["address"], 16) if isinstance(row["address"], str) else row["address"], \
        row["alloc_ns"], row["size"]


def ask(tape, what, *options):
    done = recording.run([recording.memtape(), "report", tape, *what.split(), "--json",
                          "--no-suppressions", *options])  # no names are known here, so no rules
    assert done.returncode == 0, (options, done.stderr.decode())
    return json.loads(done.stdout)


def generator(exported, salt):
    _, tape, seed = exported
    return oracle.Generator(random.Random(seed * 1000 + salt), tape)


def test_filters(exported):
    path, tape, _ = exported
    drawn = generator(exported, 1)
    for _ in range(recording.times(full=1000, standard=60)):
        text, test = drawn.filter()
        expected = [identity(row) for row in tape.rows if test(row)]
        found = [identity(row) for row in ask(path, "allocations", "--filter", text)]
        assert found == expected, text


def expect(exported, text, test):
    path, tape, _ = exported
    found = [identity(row) for row in ask(path, "allocations", "--filter", text)]
    assert found == [identity(row) for row in tape.rows if test(row)], text


def test_what_ends_at_a_moment_has_ended_then(exported):
    """At the very times of frees, and just before: what is random meets them too rarely."""
    _, tape, seed = exported
    freed = [row for row in tape.rows if row["freed"]]
    for row in random.Random(seed).sample(freed, 4):
        for at in (row["free_time"] - 1, row["free_time"]):
            def alive(other, when=at):
                return other["time"] <= when and (other["leaked"] or other["free_time"] > when)
            expect(exported, f"alive_at {at}ns", alive)
            expect(exported, f"alive_between {row['time']}ns..{at}ns",
                   lambda other, begin=row["time"]: alive(other) and other["time"] <= begin)


@pytest.mark.parametrize("field", ["size", "time", "free_time", "lifetime", "address"])
def test_the_ends_of_a_column_are_in_it(exported, field):
    """Where what is known of many rows at once decides."""
    _, tape, _ = exported
    values = [row[field] for row in tape.rows if row[field] is not None]
    for edge in (min(values), max(values)):
        unit = "ns" if field in ("time", "free_time", "lifetime") else ""
        for word, test in oracle.ORDER.items():
            expect(exported, f"{field} {word} {edge}{unit}",
                   lambda row, test=test: row[field] is not None and test(row[field], edge))
        expect(exported, f"not {field} = {edge}{unit}", lambda row: row[field] != edge)


def test_ranges(exported):
    """--from and --until, and what is said relative to them."""
    path, tape, _ = exported
    drawn = generator(exported, 2)
    for _ in range(recording.times(full=200, standard=15)):
        (low_text, low), (high_text, high) = drawn.moment(), drawn.moment()
        if low > high:
            low_text, low, high_text, high = high_text, high, low_text, low
        word = drawn.random.choice(["all", "kept_in_range", "freed_in_range"])
        expected = []
        for row in tape.rows:
            freed_in = row["freed"] and low <= row["free_time"] <= high
            kept = row["leaked"] or row["free_time"] > high
            passes = {"all": True, "kept_in_range": kept, "freed_in_range": freed_in}[word]
            if low <= row["time"] <= high and passes:
                expected.append(identity(row))
        found = [identity(row) for row in ask(path, "allocations", "--filter", word, "--from", low_text,
                                              "--until", high_text)]
        assert found == expected, (word, low_text, high_text)


KEYS = {"stack": lambda row: row["stack"], "thread": lambda row: row["thread"],
        "call": lambda row: row["call"], "size": lambda row: row["size"].bit_length(),
        "process": lambda row: 0}


def sums(rows):
    if not rows:
        return {"size": 0, "allocated_count": 0, "leaked_size": 0, "leaked_count": 0}
    times = [row["time"] for row in rows]
    return {
        "size": sum(r["size"] for r in rows), "allocated_count": len(rows),
        "leaked_size": sum(r["size"] for r in rows if r["leaked"]),
        "leaked_count": sum(r["leaked"] for r in rows),
        "temporary_size": sum(r["size"] for r in rows if r["temporary"]),
        "temporary_count": sum(r["temporary"] for r in rows),
        "peak_size": sum(r["size"] for r in rows if r["at_peak"]),
        "peak_count": sum(r["at_peak"] for r in rows),
        "usable_size": sum(r["usable"] for r in rows),
        "min_size": min(r["size"] for r in rows), "max_size": max(r["size"] for r in rows),
        "min_timestamp": min(times), "max_timestamp": max(times), "interval": max(times) - min(times)}


def grouped(tape, test, by):
    matched, every = defaultdict(list), defaultdict(list)
    for row in tape.rows:
        every[KEYS[by](row)].append(row)
        if test(row):
            matched[KEYS[by](row)].append(row)
    return [(sums(rows), sums(every[key])) for key, rows in matched.items()]


def flat(pair):
    """Only what identifies a group beyond doubt enough to compare lists in any order."""
    return json.dumps(pair, sort_keys=True)


def test_groups(exported):
    path, tape, _ = exported
    drawn = generator(exported, 3)
    for _ in range(recording.times(full=300, standard=30)):
        text, test = drawn.filter()
        by = drawn.random.choice(list(KEYS))
        key = drawn.random.choice(["size", "allocated_count", "leaked_count", "min_timestamp",
                                   "interval", "max_size", "temporary_count", "peak_size"])
        side = drawn.random.choice(["only_matched", "all"])
        order = drawn.random.choice(["asc", "desc"])
        answer = ask(path, "groups", "--by", by, "--filter", text, "--top", "0",
                     "--sort", f"{side}.{key}:{order}")
        expected = grouped(tape, test, by)
        found = [tuple({k: group[part][k] for k in want} for part, want in
                       zip(("only_matched", "all"), expected[0])) for group in answer["groups"]] \
            if expected else answer["groups"]
        assert sorted(map(flat, found)) == sorted(map(flat, expected)), (text, by)
        values = [group[side][key] for group in answer["groups"]]
        assert values == sorted(values, reverse=order == "desc"), (text, by, side, key, order)
        if len(values) > 3:
            page = ask(path, "groups", "--by", by, "--filter", text, "--skip", "1", "--top", "2",
                       "--sort", f"{side}.{key}:{order}")
            assert page["groups"] == answer["groups"][1:3]


def test_summary_of_a_filter_is_the_sum_of_its_rows(exported):
    path, tape, _ = exported
    drawn = generator(exported, 4)
    for _ in range(recording.times(full=200, standard=15)):
        text, test = drawn.filter()
        rows = [row for row in tape.rows if test(row)]
        answer = ask(path, "groups", "--by", "process", "--filter", text)["groups"]
        assert sum(group["only_matched"]["size"] for group in answer) == sum(r["size"] for r in rows), text


def totals(name, rows):
    return {f"{name}_count": len(rows), f"{name}_bytes": sum(row["size"] for row in rows)}


def between(rows, low, high):
    made = [row for row in rows if low <= row["time"] <= high]
    after = oracle.live_at(rows, high)
    return {
        **totals("allocated", made),
        **totals("survived", [row for row in after if row["time"] >= low]),
        **totals("temporary", [row for row in made if row["temporary"]]),
        **totals("freed", [row for row in rows if row["freed"] and low <= row["free_time"] <= high]),
        **totals("live_before", oracle.live_at(rows, low - 1)), **totals("live_after", after)}


def test_moments(exported):
    """What was live at a moment, and what happened between two, in all."""
    path, tape, _ = exported
    drawn = generator(exported, 5)
    for _ in range(recording.times(full=200, standard=15)):
        (text, at), (text2, at2) = drawn.moment(), drawn.moment()
        answer = ask(path, f"at {text}", "--top", "0")
        expected = totals("live", oracle.live_at(tape.rows, at))
        assert {key: answer[key] for key in expected} == expected, text
        for key, value in expected.items():
            assert sum(site[key] for site in answer["sites"]) == value, (text, key)
        if at > at2:
            text, at, text2, at2 = text2, at2, text, at
        answer = ask(path, f"between {text} {text2}")["total"]
        expected = between(tape.rows, at, at2)
        assert {key: answer[key] for key in expected} == expected, (text, text2)


def test_timeline(exported):
    """Live bytes at the end of every span, for spans that divide the whole run or a window."""
    path, tape, _ = exported
    for options in (["--points", "9"], ["--points", "37"],
                    ["--from", "20%", "--until", "60%", "--points", "50"]):
        spans = ask(path, "timeline", *options)["timeline"]
        for i, span in enumerate(spans[:-1]):
            live = oracle.live_at(tape.rows, spans[i + 1]["begin_ns"] - 1)
            assert span["live_bytes_end"] == sum(row["size"] for row in live), (options, i)


METRICS = {
    "peak": lambda row: row["size"] if row["at_peak"] else 0,
    "leaked": lambda row: row["size"] if row["leaked"] else 0,
    "allocated": lambda row: row["size"], "count": lambda row: 1,
    "temporary": lambda row: int(row["temporary"])}


def by_function(tape, test, value):
    found = defaultdict(int)
    for row in tape.rows:
        if test(row):
            frames = tape.frames(row["stack"])
            found[frames[0]["function"] if frames else None] += value(row)
    return found


def filter_of_both(drawn):
    """One that does not depend on how long a tape is, or on numbers that only one tape has."""
    while True:
        text, test = drawn.filter(2)
        if "%" not in text and "stack" not in text and "backtrace" not in text:
            return text, test


def test_diffs(exported, tmp_path):
    """What two tapes differ in, by function, of those allocations that a filter lets through."""
    path, a, seed = exported
    other, out = tmp_path / "other.mtape", tmp_path / "other.json"
    recording.run_recorded([recording.target("wander-O0"), seed + 100, 90, 2], other, ["--no-summary"])
    assert recording.run([recording.memtape(), "export", other, "--to", "json", "-o", out]).returncode == 0
    b = oracle.Exported(out)
    drawn = generator(exported, 6)
    for _ in range(recording.times(full=100, standard=8)):
        text, test = filter_of_both(drawn)
        metric = drawn.random.choice(list(METRICS))
        done = recording.run([recording.memtape(), "diff", path, other, "--json", "--frames=all", "--top",
                              "0", "--metric", metric, "--no-suppressions", "--filter", text])
        assert done.returncode == 0, (text, done.stderr)
        answer = json.loads(done.stdout)
        left, right = (by_function(tape, test, METRICS[metric]) for tape in (a, b))
        expected = {key: (left[key], right[key]) for key in {*left, *right}
                    if left[key] != right[key]}
        found = defaultdict(lambda: (0, 0))
        for row in answer["rows"]:  # a function of that name may be in several modules
            was = found[row["function"]]
            found[row["function"]] = was[0] + row["a"], was[1] + row["b"]
        assert {key: pair for key, pair in found.items() if pair[0] != pair[1]} == expected, text
        assert answer["totals"][metric]["a"] == sum(left.values()), text
        assert answer["totals"][metric]["b"] == sum(right.values()), text
