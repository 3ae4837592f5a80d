"""`memtape report TAPE savings`: the peak without each group, against a replay without its blocks."""
import collections
import json
import random

import pytest

import recording
from serving import serve
from test_counts import real_programs
from test_findings import Program, made  # pylint: disable=unused-import

KIB = 1024


def blocks_of(tape):
    """(site, size, alloc_ns, free_ns, number) of every allocation."""
    answer = recording.run([recording.memtape(), "sql", "--json", tape,
                            "SELECT site, size, alloc_ns, free_ns FROM allocations ORDER BY id"])
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    return [(*row.values(), number) for number, row in enumerate(rows)]


def peak_of(blocks):
    """(bytes, first moment). Of equal times frees come first, but never before their own allocation."""
    frees = collections.deque(sorted((b[3], b[4], b[1]) for b in blocks if b[3] is not None))
    live = most = 0
    when = None
    for _, size, ns, _, number in blocks:
        while frees and (frees[0][0] < ns or (frees[0][0] == ns and frees[0][1] < number)):
            live -= frees.popleft()[2]
        live += size
        if when is None or live > most:
            most, when = live, ns
    return most, when


def check(tape, *options, key, by, matches=lambda block: True):
    """Every row against a replay of all blocks but the matching ones of its group."""
    answer = recording.report(tape, "savings", "--by", by, "--top", "1000000", *options)
    blocks = blocks_of(tape)
    peak, when = peak_of(blocks)
    assert (answer["peak_bytes"], answer["peak_ns"]) == (peak, when)
    groups = {key(block) for block in blocks if matches(block)}
    expected = {}
    for group in groups:
        rest, at = peak_of([b for b in blocks if not (matches(b) and key(b) == group)])
        if rest < peak:
            expected[group] = {"saves_bytes": peak - rest, "peak_without_bytes": rest, "peak_without_ns": at}
    found = {row["title"]: {name: row[name] for name in ("saves_bytes", "peak_without_bytes", "peak_without_ns")}
             for row in answer["savings"]}
    assert answer["total_count"] == len(expected)
    saved = [row["saves_bytes"] for row in answer["savings"]]
    assert saved == sorted(saved, reverse=True)
    return answer, expected, found


def random_program(seed, sites=9, steps=3000):
    chance = random.Random(seed)
    program = Program()
    stacks = [program.stack("work", f"site_{i}") for i in range(sites)]
    live, ms = [], 0
    for step in range(steps):
        ms += chance.choice((0, 0, 0.001, 1))
        level = chance.random() + (0.2 if step // 400 % 2 else -0.2)
        if live and level < 0.5:
            program.free(ms, live.pop(chance.randrange(len(live))))
        else:
            # sites take turns at the peak
            site = chance.randrange(sites) if chance.random() < 0.5 else step // 400 % sites
            live.append(program.alloc(ms, chance.choice((1, 100, 3000, 70_000)), stacks[site]))
    return program, ms + 1


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(made, seed):
    program, end_ms = random_program(seed)
    tape = made(program, end_ms)
    _, expected, found = check(tape, key=lambda block: block[0], by="function")
    assert len(found) > 1
    assert found == expected


def test_with_a_filter_only_its_blocks_are_left_out(made):
    program, end_ms = random_program(7)
    tape = made(program, end_ms)
    def matches(block):
        return block[1] > 100
    answer, expected, found = check(tape, "--filter", "size > 100", key=lambda block: block[0], by="function",
                                    matches=matches)
    assert found == expected
    blocks = blocks_of(tape)
    rest, at = peak_of([block for block in blocks if not matches(block)])
    assert answer["selected"] == {"saves_bytes": answer["peak_bytes"] - rest, "peak_without_bytes": rest,
                                  "peak_without_ns": at}
    for row in answer["savings"]:  # its own filter says the same
        whole = recording.report(tape, "savings", "--filter", row["filter"])
        rest, at = peak_of([block for block in blocks if block[0] != row["title"]])
        assert whole["selected"]["peak_without_bytes"] == rest


def test_a_long_descent(made):
    """Each allocation's level is lower than the one before: none of them may be forgotten too early."""
    program = Program()
    stacks = [program.stack("work", f"site_{i}") for i in range(4)]
    program.alloc(0, KIB, program.stack("work", "early"))
    large = [program.alloc(0, 10 * KIB, stacks[0]) for _ in range(6000)]
    for i in range(5900):
        program.free(i + 1, large.pop())
        program.alloc(i + 1.5, 10 * KIB - 1 - i % 3, stacks[1 + (i * 7) % 3])
    tape = made(program, 10_000)
    _, expected, found = check(tape, key=lambda block: block[0], by="function")
    assert found == expected
    assert found["site_0"]["peak_without_ns"] > 5_000_000_000
    assert found["early"]["saves_bytes"] == KIB


def test_of_equal_peaks_it_is_the_first(made):
    program = Program()
    first, second, stays = (program.stack(name) for name in ("first", "second", "stays"))
    program.alloc(1, KIB, stays)
    for ms, stack in ((2, first), (4, second)):
        program.free(ms + 1, program.alloc(ms, 500 * KIB, stack))
    row, = recording.report(made(program, 10), "savings")["savings"]
    assert (row["title"], row["saves_bytes"], row["peak_without_ns"]) == ("stays", KIB, 2_000_000)


def test_what_saves_nothing_is_not_listed(made):
    """Two equal peaks, of two sites: neither alone makes the peak lower."""
    program = Program()
    first, second = program.stack("first"), program.stack("second")
    program.free(2, program.alloc(1, 500 * KIB, first))
    program.free(4, program.alloc(3, 500 * KIB, second))
    tape = made(program, 5)
    assert recording.report(tape, "savings")["savings"] == []
    shown = recording.run([recording.memtape(), "report", tape, "savings"]).stdout.decode()
    assert "Without any one of them the peak would be the same" in shown


def test_groups_can_be_sorted_by_it(made):
    program, end_ms = random_program(8)
    tape = made(program, end_ms)
    rows = recording.report(tape, "groups", "--sort", "saves")["groups"]
    _, expected, _ = check(tape, key=lambda block: block[0], by="function")
    assert {row["title"]: row["saves_bytes"] for row in rows if row["saves_bytes"]} == \
        {site: saving["saves_bytes"] for site, saving in expected.items()}
    assert [row["saves_bytes"] for row in rows] == sorted((row["saves_bytes"] for row in rows), reverse=True)
    assert all(row["saves_bytes"] is None for row in recording.report(tape, "groups")["groups"])


def test_call_sites_of_the_server_have_it_and_are_sorted_by_it(made):
    program, end_ms = random_program(9)
    tape = made(program, end_ms)
    _, expected, _ = check(tape, key=lambda block: block[0], by="function")
    nothing = {"saves_bytes": 0}
    with serve(tape) as server:
        for more in ({"saves": 1}, {"sort": "saves"}, {"sort": "saves", "order": "asc", "n": 3}, {"sort": "leaked_size", "saves": 1}):
            rows = server.json("sites", by="function", **{"n": 200, **more})["rows"]
            for row in rows:
                wanted = expected.get(row["title"], nothing)
                assert {name: row[name] for name in wanted} == wanted
            if more.get("sort") == "saves":
                sign = -1 if "order" in more else 1
                saved = [sign * row["saves_bytes"] for row in rows]
                assert saved == sorted(saved, reverse=True)
        assert all(row["saves_bytes"] is None for row in server.json("sites", by="function", n=200)["rows"])


@pytest.mark.parametrize("name", ["python3", "git", "sqlite3"])
def test_real_programs(name, tape, tmp_path):
    args = real_programs(tmp_path)[name]
    if not args[0]:
        pytest.skip(f"{name} is not installed")
    recording.run_recorded(args, tape)
    blocks = blocks_of(tape)
    answer = recording.report(tape, "savings", "--by", "size", "--no-suppressions")
    peak, _ = peak_of(blocks)
    assert answer["peak_bytes"] == peak
    for row in answer["savings"][:5]:
        sizes = [block[1] for block in blocks if bucket(block[1]) == bucket_of(row["title"])]
        rest, at = peak_of([block for block in blocks if bucket(block[1]) != bucket_of(row["title"])])
        assert sizes
        assert (row["peak_without_bytes"], row["peak_without_ns"]) == (rest, at), row["title"]


def bucket(size):
    return size.bit_length()


def bucket_of(title):
    number, unit = title.split()[:2]
    return bucket(int(float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]))
