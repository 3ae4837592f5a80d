"""Profiles of Valgrind's DHAT, and execution trees in callgrind's form: real ones, and what the tools say of them."""

import json
import re

import pytest

import recording
from exporting import export
from test_convert_sums import (ALL_BYTES, ALL_COUNT, CHAINS, LIVE_BYTES, LIVE_COUNT, PEAK_BYTES, convert, folded,
                               missing, needs, of_program, sums)


def valgrind(*arguments, program=None):
    done = recording.run(["valgrind", *arguments, program or recording.target("sites")])
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stderr.decode(errors="replace")


def numbers(said, pattern):
    return [int(number.replace(",", "")) for number in re.search(pattern, said).groups()]


# --- DHAT ----------------------------------------------------------------------------------------


@needs("valgrind")
def test_dhat_has_the_numbers_that_dhat_prints(tape, tmp_path):
    path = tmp_path / "dhat.out"
    said = valgrind("--tool=dhat", f"--dhat-out-file={path}")
    convert(path, tape)
    shown = sums(tape)
    for key, words in (("allocated", "Total"), ("peak", "At t-gmax"), ("leaked", "At t-end")):
        told = numbers(said, words + r": +([\d,]+) bytes in ([\d,]+) blocks")
        assert [shown[f"{key}_bytes"], shown[f"{key}_count"]] == told, key
    assert (shown["allocated_bytes"], shown["peak_bytes"], shown["leaked_bytes"]) == (
        ALL_BYTES, PEAK_BYTES, LIVE_BYTES)


@needs("valgrind")
def test_dhat_has_every_stack_without_valgrinds_own_malloc(tape, tmp_path):
    path = tmp_path / "dhat.out"
    valgrind("--tool=dhat", f"--dhat-out-file={path}")
    said = convert(path, tape)
    assert of_program(folded(tape, tmp_path, "--metric", "leaked")) == CHAINS
    assert of_program(folded(tape, tmp_path, "--metric", "peak")) == {
        "main;hold;take": 30 * 3001, "main;burst;take": 4 * 70003}
    assert of_program(folded(tape, tmp_path, "--metric", "allocated")) == {
        **CHAINS, "main;pass;take": 200 * 3002, "main;burst;take": 4 * 70003}
    assert "malloc" not in "".join(folded(tape, tmp_path, "--frames=all", "--metric", "allocated"))
    assert "times are instructions" in said
    gone, text = missing(tape)
    assert {"times", "threads", "addresses", "sizes", "lifetimes"} <= gone and "dhat" in text


def test_dhat_as_memtape_exports_it_has_the_same_totals(tape, tmp_path):
    recording.run_bare([recording.target("sites")], tape)
    convert(export(tape, "dhat", tmp_path / "x.dhat"), tmp_path / "y.mtape")
    before, after = sums(tape), sums(tmp_path / "y.mtape")
    assert {key: before[key] for key in before if "temporary" not in key} \
        == {key: after[key] for key in after if "temporary" not in key}


def point(total, peak, end, stack=(1,)):
    return {"tb": total[1], "tbk": total[0], "gb": peak[1], "gbk": peak[0], "eb": end[1], "ebk": end[0],
            "fs": list(stack)}


def dhat(points, **more):
    return json.dumps({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False,
                       "tu": "µs", "Mtu": "s", "tuth": 10, "cmd": "./x", "pid": 7, "tg": 50, "te": 900,
                       "pps": points, "ftbl": ["[root]", "0x10: f\u00e9 (a b.rs:12:7)", "0x20: ??? (in /usr/lib/x (1).so)",
                                               "0x30: operator() (int) (t.cpp:9)"], **more})


@pytest.mark.parametrize("total, peak, end", [
    ((10, 1000), (4, 400), (4, 400)),  # the same blocks
    ((10, 1000), (4, 400), (2, 150)),
    ((10, 1000), (2, 150), (4, 400)),
    ((10, 1000), (4, 400), (4, 300)),  # as many, of other sizes
    ((10, 1000), (3, 100), (2, 400)),
    ((10, 1000), (1, 500), (1, 400)),
    ((10, 1000), (5, 600), (0, 0)),
    ((10, 0), (5, 0), (2, 0)),  # nothing but blocks of no bytes
])
def test_all_three_sums_of_a_place_are_kept(total, peak, end, tape, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(dhat([point(total, peak, end), point((1, 5000), (1, 5000), (0, 0), (2, 3))]))
    convert(path, tape)
    shown = sums(tape)
    assert (shown["allocated_count"], shown["allocated_bytes"]) == (total[0] + 1, total[1] + 5000)
    assert shown["peak_bytes"] == peak[1] + 5000
    assert peak[1] == 0 or shown["peak_count"] == peak[0] + 1
    assert (shown["leaked_count"], shown["leaked_bytes"]) == end


def test_names_of_dhat_are_read_as_they_are_written(tape, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(dhat([point((1, 8), (1, 8), (1, 8), (1, 2, 3))]))
    convert(path, tape)
    stack = recording.report(tape, "allocations")[0]["stack"]
    assert [(frame["function"], frame["file"], frame["line"]) for frame in stack] == [
        ("fé", "a b.rs", 12), ("0x20", None, None), ("operator() (int)", "t.cpp", 9)]
    assert stack[1]["module"] == "/usr/lib/x (1).so"


@pytest.mark.parametrize("text, words", [
    (dhat([], mode="ad-hoc"), 'mode is "ad-hoc"'),
    (dhat([], mode="copy"), 'mode is "copy"'),
    (dhat([], dhatFileVersion=3), "version 3"),
    (dhat([]), "no allocation"),
    (dhat([point((1, 8), (1, 8), (1, 8))])[:-30], "byte "),
    (dhat([point((1, 8), (1, 8), (1, 8))]).replace('"tb": 8', '"tb": -8'), "expected an integer"),
    ('{"dhatFileVersion":2,"pps":[]}', "is missing"),
    ('{"dhatFileVersion":2,"pps":{}}', "expected an array"),
])
def test_what_is_no_profile_of_dhat_is_refused(text, words, tape, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert words in convert(path, tape, code=(1,)) and not tape.exists()


# --- execution trees -----------------------------------------------------------------------------


@needs("valgrind")
@pytest.mark.parametrize("how", ["full", "allocs"])
def test_an_execution_tree_has_every_stack(how, tape, tmp_path):
    path = tmp_path / "x.kcg"
    said = valgrind(f"--xtree-memory={how}", f"--xtree-memory-file={path}")
    note = convert(path, tape)
    shown = sums(tape)
    assert (shown["leaked_bytes"], shown["leaked_count"]) == (LIVE_BYTES, LIVE_COUNT)
    assert [shown["leaked_bytes"], shown["leaked_count"]] == numbers(
        said, r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks")
    assert of_program(folded(tape, tmp_path, "--metric", "leaked")) == CHAINS
    if how == "full":
        assert (shown["allocated_bytes"], shown["allocated_count"]) == (ALL_BYTES, ALL_COUNT)
        assert numbers(said, r"([\d,]+) allocs, .* ([\d,]+) bytes allocated") == [ALL_COUNT, ALL_BYTES]
        assert of_program(folded(tape, tmp_path, "--metric", "allocated"))["main;pass;take"] == 200 * 3002
    assert ("--xtree-memory=full" in note) == (how == "allocs")


@needs("valgrind")
def test_both_forms_of_an_execution_tree_say_the_same(tape, tmp_path):
    found = []
    for end in ("ms", "kcg"):
        valgrind("--xtree-memory=full", f"--xtree-memory-file={tmp_path}/x.{end}")
        convert(tmp_path / f"x.{end}", tape)
        found.append((sums(tape), of_program(folded(tape, tmp_path, "--metric", "allocated"))))
    assert found[0] == found[1]


@needs("valgrind")
def test_a_tree_of_leaks_has_what_memcheck_reports(tape, tmp_path):
    path = tmp_path / "x.kcg"
    said = valgrind("--xtree-leak=yes", f"--xtree-leak-file={path}", program=recording.target("lost"))
    told = {name: (bytes_, blocks) for name in ("definitely", "indirectly", "possibly", "still")
            for bytes_, blocks in [numbers(said, name + r" (?:lost|reachable): ([\d,]+) bytes in ([\d,]+) blocks")]}
    note = convert(path, tape)
    shown = sums(tape)
    assert shown["leaked_count"] == sum(blocks for _, blocks in told.values()) == 5 + 3 + 2
    assert shown["leaked_bytes"] == sum(bytes_ for bytes_, _ in told.values()) == 5 * 112 + 3 * 777 + 2 * 900
    assert all(told[name][1] for name in ("definitely", "indirectly", "still"))
    assert of_program(folded(tape, tmp_path, "--metric", "leaked")) == {
        "main;chain;link_new": 5 * 112, "main;forget": 3 * 777, "main;hold": 2 * 900}
    assert "a report of leaks" in note


KCG = """# callgrind format
version: 1
creator: xtree-1
pid: 7
cmd: ./x

positions: line
event: curB : currently allocated Bytes
events: curB  curBk  totB  totBk
fl=(1) a.c
fn=(1) main
3
cfi=(2) b c.c
cfn=(2) take
calls=0 9
3 100 2 300
fl=(2)
fn=(2)
9 100 2 300

totals: 100 2 300 0
"""


@pytest.mark.parametrize("text, words, live", [
    (KCG, " events", 100),
    (KCG[:KCG.index("totals")], "ends before its totals", 100),
    (KCG.replace("totals: 100", "totals: 900"), "do not add up", 100),
    (KCG.replace("\nfl=(2)\n", "\nhello\nfl=(2)\n"), "the first is line 17", 100),
])
def test_what_is_wrong_in_an_execution_tree_is_told(text, words, live, tape, tmp_path):
    path = tmp_path / "x"
    path.write_text(text)
    assert words in convert(path, tape, code=(0, 1))
    assert sums(tape)["leaked_bytes"] == live
    assert of_program(folded(tape, tmp_path, "--metric", "leaked")) == {"main;take": 100}


@pytest.mark.parametrize("text, words", [
    (KCG.replace("xtree-1", "callgrind-3.19.0"), 'by "callgrind-3.19.0"'),
    (KCG.replace("curB ", "Ir "), "counts no memory"),
    (KCG[:KCG.index("fl=")], "no allocations could be read"),
])
def test_other_files_of_callgrinds_form_are_refused(text, words, tape, tmp_path):
    path = tmp_path / "x"
    path.write_text(text)
    assert words in convert(path, tape, "--from", "xtree", code=(1,)) and not tape.exists()
