"""What memtape diff says about two tapes of which everything is known, and about real programs."""

import csv
import io
import json
import os
import pathlib

import pytest

import recording
from test_findings import Program
from tape_writer import FUNCTION_BYTES, PID, TapeWriter

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
MALLOC, FREE, NEW = 0, 1, 19
KIB = 1024


def moved(tape, function):
    """A second place for a function: what another build or another load address makes."""
    tape.functions.append(function)
    return len(tape.functions) * FUNCTION_BYTES + 0x21


def write_pair(folder):
    """Two days of a shop. On the second the stock is larger, there are no baskets but gifts, and
    all of the code lies elsewhere."""
    first, second = TapeWriter(), TapeWriter()
    second.functions = first.functions
    for tape, name in ((first, "monday"), (second, "tuesday")):
        main = tape.stream(100, "shop")
        tape.process(main, "/usr/bin/shop", "shop", name)
        tape.clock(main)
        if tape is first:
            load = main.stack(("main", 0x40), ("stock_load",), ("stock_grow", 0x30))
            other = main.stack(("main", 0x40), ("basket.constprop.0",))
            close = main.stack(("main", 0x50), ("stock_close",))
        else:
            at = moved(tape, "main")
            load = main.stack(at, moved(tape, "stock_load"), moved(tape, "stock_grow"))
            other = main.stack(at + 8, moved(tape, "gift_wrap"))
            basket = main.stack(at + 16, moved(tape, "basket.part.3"))
            close = main.stack(at, moved(tape, "stock_close"))
        blocks, size = (8, 8 * KIB) if tape is first else (10, 9 * KIB)
        for i in range(blocks):
            tape.at(1 + i)
            main.event(MALLOC, 0x10000 + i * 0x4000, size, node=load)
        tape.at(20)
        main.event(NEW, 0x90000, 3000, node=other)
        if tape is second:
            main.event(NEW, 0x98000, 3000, node=basket)
        tape.at(30)
        for i in range(blocks - (tape is second)):  # the second day leaks a block
            main.event(FREE, 0x10000 + i * 0x4000, node=close)
        main.event(FREE, 0x90000, node=close)
        if tape is second:
            main.event(FREE, 0x98000, node=close)
        tape.at(40)
        tape.clock(main)
        main.extended(23, b"\1\0\0\0\0\0\0\0")
        tape.write(folder / f"{name}.mtape")
    return second


@pytest.fixture
def shop(tmp_path):
    names = write_pair(tmp_path).names()
    yield tmp_path
    names.unlink()


def run(folder, *words, code=0):
    done = recording.run([recording.memtape(), "diff", *words], cwd=folder,
                         env=recording.clean_env(TZ="UTC"))
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return done.stdout.decode()


BOTH = ["monday.mtape", "tuesday.mtape"]
COMMANDS = {
    "diff.txt": BOTH,
    "diff.json": [*BOTH, "--json"],
    "diff.csv": [*BOTH, "--csv"],
    "diff-stack.txt": [*BOTH, "--by", "stack", "--metric", "leaked"],
    "diff-module.txt": [*BOTH, "--by", "module", "--metric", "count"],
    "diff-per.txt": [*BOTH, "--per", "8:20", "--metric", "count"],
    "diff-at.txt": ["monday.mtape", "--at", "3500us,peak"],
    "diff-between.json": ["tuesday.mtape", "--between", "..15ms,15ms..", "--json"],
    "diff-back.txt": [*reversed(BOTH), "--top", "2"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_answer_is_as_it_was(shop, name):
    text = run(shop, *COMMANDS[name]).replace(str(PID), "5000000")
    golden = GOLDEN / name
    if os.environ.get("MEMTAPE_BLESS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_what_is_many_times_as_much_is_told_so(tmp_path):
    for name, size in (("one", 1000), ("ten", 10000), ("many", 29000)):
        (tmp_path / f"{name}.folded").write_text(f"main;take {size}\n")
        done = recording.run([recording.memtape(), "convert", "-q", f"{name}.folded", "-o", f"{name}.mtape"], cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    assert "+900.0 %" in run(tmp_path, "one.mtape", "ten.mtape")
    assert " 29×" in run(tmp_path, "one.mtape", "many.mtape")
    assert "-96.6 %" in run(tmp_path, "many.mtape", "one.mtape")


def test_functions_are_matched_wherever_they_lie(shop):
    found = json.loads(run(shop, *BOTH, "--json"))
    rows = {row["function"]: row for row in found["rows"]}
    assert set(rows) == {"stock_grow", "gift_wrap", "basket.part.3"}
    assert rows["gift_wrap"]["status"] == "new"
    assert rows["basket.part.3"]["status"] == "same"  # was basket.constprop.0
    assert rows["stock_grow"]["difference"] == (90 - 64) * KIB
    assert found["totals"]["peak"] == {"a": 64 * KIB + 3000, "b": 90 * KIB + 6000,
                                       "difference": 26 * KIB + 3000}
    assert found["verdict"].startswith("B's peak is 28.9 KiB (43.2 %) higher; 89.9 % of it from "
                                       "stock_grow")
    for side, ending in (("a", "_a"), ("b", "_b")):
        for key in ("peak_bytes", "leaked_count", "allocated_bytes", "temporary_count"):
            assert found[side][key] == sum(row[key + ending] for row in found["rows"]), key


@pytest.mark.parametrize("how", [["--by", by, "--metric", metric]
                                 for by in ("function", "stack", "module")
                                 for metric in ("peak", "leaked", "allocated", "count",
                                                "temporary")])
def test_rows_add_up_to_the_totals_both_ways(shop, how):
    there = json.loads(run(shop, *BOTH, *how, "--json"))
    back = json.loads(run(shop, *reversed(BOTH), *how, "--json"))
    metric = how[-1]
    for found, sign in ((there, 1), (back, -1)):
        total = found["totals"][metric]
        assert total["difference"] == sign * there["totals"][metric]["difference"]
        assert total["difference"] == total["b"] - total["a"]
        for key in ("a", "b", "difference"):
            assert sum(row[key] for row in found["rows"]) == total[key]
    rows = list(csv.DictReader(io.StringIO(run(shop, *BOTH, *how, "--csv"))))
    assert [int(row["difference"]) for row in rows] == [row["difference"] for row in there["rows"]]


def test_a_tape_does_not_differ_from_itself(shop):
    found = json.loads(run(shop, "monday.mtape", "monday.mtape", "--json"))
    assert {row["status"] for row in found["rows"]} == {"same"}
    assert found["verdict"] == "B's peak is that of A"


@pytest.mark.parametrize("condition, code", [
    ("peak>43%", 1), ("peak>44%", 0), ("peak>28KiB", 1), ("peak>29KiB", 0),
    ("leaked>0", 1), ("leaked>1000000%", 1), ("count>3", 0), ("count>2", 1),
    ("peak>99%,count>2", 1), ("temporary>0", 0),
])
def test_the_gate_is_for_scripts(shop, condition, code):
    text = run(shop, *BOTH, "--fail-if", condition, code=code)
    assert ("failed" in text) == bool(code)
    found = json.loads(run(shop, *BOTH, "--fail-if", condition, "--json", code=code))
    assert any(c["failed"] for c in found["conditions"]) == bool(code)
    run(shop, *reversed(BOTH), "--fail-if", condition)  # less is never too much


def test_the_gate_counts_units_exactly(shop):
    # 9 calls for 9 units, 12 calls for 12: not one more
    assert json.loads(run(shop, *BOTH, "--per", "9:12", "--metric", "count", "--json",
                          "--fail-if", "count>0"))["totals"]["count"]["difference"] == 0
    run(shop, *BOTH, "--per", "9:11", "--fail-if", "count>0", code=1)


def folded(text):
    lines = [line.rsplit(" ", 2) for line in text.splitlines()]
    return {stack: (float(a), float(b)) for stack, a, b in lines}


@pytest.mark.parametrize("metric", ["peak", "leaked", "allocated", "count", "temporary"])
def test_stacks_have_two_numbers_that_add_up(shop, metric):
    totals = json.loads(run(shop, *BOTH, "--metric", metric, "--json"))["totals"][metric]
    stacks = folded(run(shop, *BOTH, "--metric", metric, "--to", "folded"))
    assert sum(a for a, _ in stacks.values()) == totals["a"]
    assert sum(b for _, b in stacks.values()) == totals["b"]
    if metric == "peak":
        assert stacks == {"main;stock_load;stock_grow": (64 * KIB, 90 * KIB),
                          "main;gift_wrap": (0, 3000), "main;basket.part.3": (3000, 3000)}
    back = folded(run(shop, *reversed(BOTH), "--metric", metric, "--to", "folded"))
    assert sorted((b, a) for a, b in back.values()) == sorted(stacks.values())
    per = folded(run(shop, *BOTH, "--metric", metric, "--per", "2:4", "--to", "folded"))
    assert sorted(per.values()) == sorted((a / 2, b / 4) for a, b in stacks.values())


def test_the_tree_adds_up_on_both_sides(shop):
    nodes = json.loads(run(shop, *BOTH, "--to", "json"))["nodes"]
    totals = json.loads(run(shop, *BOTH, "--json"))["totals"]["peak"]
    assert {key: nodes[0][key] for key in ("a", "b", "difference")} == totals
    for i, node in enumerate(nodes):
        children = [other for other in nodes if other["parent"] == i]
        for side in ("a", "b"):
            assert node[side] == node[f"self_{side}"] + sum(child[side] for child in children)
        assert all(child["depth"] == node["depth"] + 1 for child in children)
    assert {node["function"]: node["status"] for node in nodes} == {
        None: "grown", "main": "grown", "stock_load": "grown", "stock_grow": "grown",
        "gift_wrap": "new", "basket.part.3": "same"}


def picture(text):
    import xml.etree.ElementTree as xml

    root = xml.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    data = json.loads(next(s.text for s in root.iter(space + "script") if s.get("id") == "data"))
    group = next(g for g in root.iter(space + "g") if g.get("id") == "frames")
    return data, list(group)


@pytest.mark.parametrize("how", [[], ["--metric", "count", "--per", "7:9"], ["--filter", "size < 4k"],
                                 ["--at", "3ms,25ms"]])
def test_the_picture_has_both_sides(shop, how):
    text = run(shop, *BOTH, *how, "--to", "flamegraph")
    assert text == run(shop, *BOTH, *how, "--to", "flamegraph")  # byte by byte
    data, rects = picture(text)
    nodes = json.loads(run(shop, *BOTH, *how, "--to", "json"))["nodes"]
    assert len(rects) == len(data["frames"]) == len(nodes)
    assert data["is_diff"] and data["scale"] == (1000 if "--per" in how else 1)
    by_name = {node["function"] or "all": node for node in nodes}
    for frame, rect in zip(data["frames"], rects):
        node = by_name.pop(data["names"][frame[1]][0])
        for value, side in zip(frame[8:], ("a", "b")):
            assert abs(value / data["scale"] - node[side]) <= .001
        step = int(rect.get("class")[1:])
        assert (step > 5) == (frame[9] > frame[8] * 1.01) or step == 5
        if node["status"] in ("new", "gone"):
            assert step == {"new": 10, "gone": 0}[node["status"]]
        assert float(rect.get("width")) > 0  # what vanished, too


def test_hostile_names_are_escaped_wherever_they_are_written(shop):
    evil = ["<script>;alert(1)</script>", "a\"b&c]]>", "tab\tnew;line"]
    for tape, name in zip(BOTH, ("x", "y")):
        writer = TapeWriter()
        writer.functions = evil
        stream = writer.stream(100, name)
        writer.process(stream, "/usr/bin/shop", "shop")
        writer.clock(stream)
        stack = stream.stack((evil[0],), (evil[1],), (evil[2],))
        writer.at(1)
        stream.event(MALLOC, 0x1000, 64, node=stack)
        writer.clock(stream)
        writer.write(shop / tape)
    writer.names()
    data, _ = picture(run(shop, *BOTH, "--to", "flamegraph"))
    found = [name for name, _ in data["names"]]
    assert evil[0] in found and evil[1] in found
    stacks = folded(run(shop, *BOTH, "--to", "folded"))
    assert list(stacks.values()) == [(64, 64)] and len(next(iter(stacks)).split(";")) == 3


def test_the_gate_decides_whatever_is_written(shop):
    run(shop, *BOTH, "--to", "folded", "--fail-if", "peak>43%", code=1)
    run(shop, *BOTH, "--to", "folded", "--fail-if", "peak>44%")


@pytest.mark.parametrize("words, hint", [
    ([*BOTH, "--to", "folded", "--json"], "--to"),
    ([*BOTH, "--to", "json", "--by", "stack"], "--to"),
    ([*BOTH, "--to", "pdf"], "flamegraph"),
    (["monday.mtape", "--metric", "leaked", "--between", "..1ms"], "two times"),
    (["monday.mtape", "--at", "1ms"], "two times"),
    ([], "two tapes"),
    ([*BOTH, "monday.mtape"], "two tapes"),
    ([*BOTH, "--at", "noon"], "not a time"),
    ([*BOTH, "--at", "1ms", "--between", "..1ms"], "exclude"),
    ([*BOTH, "--between", "1ms"], "not a time range"),
    ([*BOTH, "--per", "0"], "--per"),
    ([*BOTH, "--per", "1:x"], "--per"),
    ([*BOTH, "--fail-if", "peak"], "not a condition"),
    ([*BOTH, "--fail-if", "peak>5%,"], "not a condition"),
    ([*BOTH, "--fail-if", "speed>5"], "not a condition"),
    ([*BOTH, "--by", "line"], "function"),
])
def test_nonsense_is_refused_before_anything_is_read(shop, words, hint):
    done = recording.run([recording.memtape(), "diff", *words], cwd=shop)
    assert done.returncode == 2 and hint in done.stderr.decode()
    assert done.stdout == b""


def write_libraries(folder):
    """The same library, another version in another folder at another address; nothing names it."""
    for name, path, at, size in (("old", "/opt/a/libgone.so.1.2", 0x7F0000000000, 100),
                                 ("new", "/usr/b/libgone.so.2", 0x7E0000000000, 300)):
        tape = TapeWriter()
        main = tape.stream(100, "shop")
        tape.process(main, "/usr/bin/shop", "shop")
        tape.clock(main)
        tape.module(main, 1, path, at, at + 0x100000, bytes(20))
        tape.at(1)
        main.event(MALLOC, 0x10000, size, node=main.stack(at + size * 16))
        tape.at(2)
        tape.clock(main)
        tape.write(folder / f"{name}.mtape")


def test_a_library_is_the_same_in_another_version_and_folder(tmp_path):
    write_libraries(tmp_path)
    found = json.loads(run(tmp_path, "old.mtape", "new.mtape", "--by", "module", "--json"))
    assert [(row["module"], row["status"], row["difference"]) for row in found["rows"]] == [
        ("libgone.so.2", "grown", 200)]
    text = run(tmp_path, "old.mtape", "new.mtape")
    assert "100.0 % of what differs is in functions without names" in text
    assert "without names, which" not in run(tmp_path, "old.mtape", "new.mtape", "--by", "module")


SOURCE = """
#include <stdlib.h>
#include <string.h>
{comment}
static void *volatile kept[400];
static __attribute__((noinline)) void *parse_chunk(int i) {{ return kept[i] = malloc({chunk}); }}
static __attribute__((noinline)) void *other_chunk(int i) {{ return kept[200 + i] = malloc(50); }}
{padding}
int main(void)
{{
	for (int i = 0; i < 200; i++) {{
		other_chunk(i);
		parse_chunk(i);
	}}
	return 0;
}}
"""


def test_another_build_differs_in_what_was_changed_alone(tmp_path):
    padding = "int before(int x) { return x * 3; }\n__attribute__((used)) " \
              "static int more(int x) { return before(x) + 1; }\n"
    for name, words in (("one", {"comment": "", "chunk": 100, "padding": ""}),
                        ("two", {"comment": "/*\n * five\n * lines\n */\n" + padding,
                                 "chunk": 130, "padding": "\n\n"})):
        (tmp_path / f"{name}.c").write_text(SOURCE.format(**words))
        for command in (["gcc", "-g", "-O1", "-o", name, f"{name}.c"],
                        [recording.memtape(), "record", "-q", "-o", f"{name}.mtape", f"./{name}"]):
            done = recording.run(command, cwd=tmp_path)
            assert done.returncode == 0, done.stderr.decode()
    found = json.loads(run(tmp_path, "one.mtape", "two.mtape", "--json", "--metric", "leaked"))
    changed = {row["function"]: row["difference"] for row in found["rows"]
               if row["status"] != "same"}
    assert changed == {"parse_chunk": 200 * 30}
    assert "100.0 % of it from parse_chunk" in found["verdict"]
    stacks = json.loads(run(tmp_path, "one.mtape", "two.mtape", "--json", "--by", "stack",
                            "--metric", "leaked"))
    assert [row["function"] for row in stacks["rows"] if row["status"] != "same"] == ["parse_chunk"]


@pytest.fixture
def sides_of(tmp_path):
    """Makes two tapes whose blocks are {functions below main: bytes}, and compares them."""
    names = []

    def made(a, b):
        programs = [Program(), Program()]
        programs[1].tape.functions = programs[0].tape.functions
        for program, blocks in zip(programs, (a, b)):
            for ms, (functions, size) in enumerate(blocks.items()):
                program.alloc(ms, size, program.stack(*functions.split()))
        for program, name in zip(programs, "ab"):
            names.append(program.write(tmp_path / f"{name}.mtape", 1000))
        return json.loads(run(tmp_path, "a.mtape", "b.mtape", "--json"))
    yield made
    for path in names:
        path.unlink(missing_ok=True)


def test_the_verdict_descends_to_whom_the_change_is_below(sides_of, tmp_path):
    found = sides_of({"serve parse names": 10 * KIB, "serve parse values": 10 * KIB, "log": KIB},
                     {"serve parse names": 50 * KIB, "serve parse values": 70 * KIB, "log": 5 * KIB})
    assert (found["below"]["function"], found["below"]["difference"]) == ("parse", 100 * KIB)
    assert "KiB (495.2 %) higher, 96.2 % of it below parse; 57.7 % of it from values" in found["verdict"]
    text = run(tmp_path, "a.mtape", "b.mtape")
    assert found["verdict"] in text


def test_it_descends_where_memory_became_less(sides_of):
    found = sides_of({"serve parse names": 50 * KIB, "serve parse values": 70 * KIB}, {"serve parse names": KIB})
    assert (found["below"]["function"], found["below"]["difference"]) == ("parse", -119 * KIB)
    assert "lower, all of it below parse; 58.8 % of it from values" in found["verdict"]


def test_a_change_all_over_main_is_below_nothing(sides_of):
    found = sides_of({"load": KIB}, {"load": 50 * KIB, "store": 50 * KIB})
    assert found["below"] is None
    assert "below" not in found["verdict"]


def test_who_allocates_is_named_once(sides_of):
    found = sides_of({"load": KIB}, {"load": 50 * KIB})
    assert found["below"]["function"] == "load"
    assert found["verdict"].endswith("higher; 100.0 % of it from load")


def test_a_condition_says_what_was_measured_and_what_is_allowed(sides_of, tmp_path):
    sides_of({"load": 10 * KIB}, {"load": 25 * KIB})
    limits = "peak>5%,leaked>1KiB,count>0,temporary>1.5%"
    measured = ["peak grew by 15.0 KiB (150.0 %), from 10.0 KiB to 25.0 KiB; allowed is 5 %",
                "leaked grew by 15.0 KiB (150.0 %), from 10.0 KiB to 25.0 KiB; allowed is 1.0 KiB",
                "count did not change: 1", "temporary did not change: 0"]
    text = run(tmp_path, "a.mtape", "b.mtape", "--fail-if", limits, code=1)
    found = json.loads(run(tmp_path, "a.mtape", "b.mtape", "--fail-if", limits, "--json", code=1))
    assert [condition["measured"] for condition in found["conditions"]] == measured
    for condition, words in zip(limits.split(","), measured):
        assert f"{condition}: {words}\n" in text
