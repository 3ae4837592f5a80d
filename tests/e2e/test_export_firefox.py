"""The Firefox Profiler export, held to what the format's tables have to be (its own reader comes by
npm and needs a newer Node.js than the tests have)."""

import json

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines")
TABLES = {
    "stackTable": {"frame", "prefix"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column"},
    "funcTable": {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                  "columnNumber"},
    "resourceTable": {"lib", "name", "host", "type"},
    "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "sources": {"uuid", "filename"},
}


def check_table(table, columns):
    assert set(table) == columns | {"length"}
    assert all(len(table[column]) == table["length"] for column in columns), {
        column: len(table[column]) for column in columns}


def check_numbers(values, count, null=False):
    assert all((null and value is None) or 0 <= value < count for value in values)


def read(path):
    """The profile, whose tables and numbers are right, its thread and [names of a stack]."""
    profile = json.loads(path.read_text())
    shared, meta = profile["shared"], profile["meta"]
    assert set(shared) == TABLES.keys() | {"stringArray"}
    for name, columns in TABLES.items():
        check_table(shared[name], columns)
    assert meta["preprocessedProfileVersion"] == 60 and meta["processType"] == 0
    assert meta["categories"][0]["name"] == "Other" and meta["markerSchema"] == []
    stacks, frames, funcs = (shared[name] for name in ("stackTable", "frameTable", "funcTable"))
    strings = shared["stringArray"]
    check_numbers(stacks["frame"], frames["length"])
    assert all(prefix is None or 0 <= prefix < i for i, prefix in enumerate(stacks["prefix"]))
    check_numbers(frames["func"], funcs["length"])
    check_numbers(funcs["name"], len(strings))
    check_numbers(funcs["source"], shared["sources"]["length"], null=True)
    check_numbers(shared["sources"]["filename"], len(strings))
    thread, = profile["threads"]
    assert isinstance(thread["pid"], str) and thread["isMainThread"]
    check_table({key: value for key, value in thread["nativeAllocations"].items()
                 if key != "weightType"}, {"time", "weight", "stack", "memoryAddress", "threadId"})
    check_table(thread["markers"], {"data", "name", "startTime", "endTime", "phase", "category"})
    check_numbers(thread["nativeAllocations"]["stack"], stacks["length"])
    check_numbers(thread["markers"]["name"], len(strings))
    names = [strings[funcs["name"][frames["func"][frame]]] for frame in stacks["frame"]]
    return profile, thread, names


@pytest.mark.parametrize("name", TARGETS)
def test_totals_are_those_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    of = totals(tape)
    profile, thread, names = read(export(tape, "firefox", tmp_path / "x.json"))
    events = thread["nativeAllocations"]
    assert events["weightType"] == "bytes" and events["time"] == sorted(events["time"])
    live, peak, alive = 0, 0, {}
    for weight, address in zip(events["weight"], events["memoryAddress"]):
        live += weight
        peak = max(peak, live)
        if weight > 0:
            alive[address] = weight
        elif weight < 0:  # as the profiler finds what is retained
            assert alive.pop(address) == -weight
    assert (peak, live) == (of["peak_bytes"], of["alive_bytes"])
    assert sum(alive.values()) == live
    assert sum(w for w in events["weight"] if w > 0) == of["allocated_bytes"]
    assert {int(thread) for thread in events["threadId"]} <= {
        row["tid"] for row in recording.report(tape, "threads")["threads"]} | {0}
    counter, = profile["counters"]
    curve, level = [], 0
    for change in counter["samples"]["count"]:
        level += change
        curve.append(level)
    assert max(curve) == of["peak_bytes"] and curve[-1] == of["alive_bytes"]
    for site in recording.report(tape, "top", "--frames=exact", "--sort", "allocated", "--top", "5")["sites"]:
        assert site["function"] in names


def test_frees_have_the_stacks_of_those_who_freed(tmp_path):
    tape = tmp_path / "shop.mtape"
    names_file = write_shop(tape).names()
    _, thread, names = read(export(tape, "firefox", tmp_path / "x.json"))
    names_file.unlink()
    events = thread["nativeAllocations"]
    by = {(names[stack], weight) for stack, weight in zip(events["stack"], events["weight"])}
    assert ("stock_grow", 8192) in by and ("stock_close", -8192) in by
    assert ("receipt_print", -3000) in by and ("stock_close", -6000) in by


def test_marks_are_markers(tape, tmp_path):
    assert recording.run_bare([recording.target("marks")], tape).returncode == 0
    profile, thread, _ = read(export(tape, "firefox", tmp_path / "x.json"))
    marks = recording.report(tape, "marks")["marks"]
    strings = profile["shared"]["stringArray"]
    assert [strings[i] for i in thread["markers"]["name"]] == [mark["name"] for mark in marks] != []


def test_hostile_names(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names_file = write_hostile(tape).names()
    profile, _, names = read(export(tape, "firefox", tmp_path / "x.json"))
    names_file.unlink()
    assert set(names) >= {name.decode() for name in HOSTILE if b"\xff" not in name}
    assert 'hos"tile' in profile["meta"]["product"]
