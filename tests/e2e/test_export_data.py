"""Exports for other programs' own questions: a database, the sequence of calls, trace events."""

import json
import sqlite3
import subprocess
import sys

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines")


def ask(path, statement):
    done = subprocess.run(["sqlite3", "-batch", path, statement], capture_output=True, timeout=60,
                          check=True)
    return done.stdout.decode("utf-8", "replace").strip()


@pytest.mark.parametrize("name", TARGETS)
def test_a_database_has_the_totals_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    of = totals(tape)
    path = export(tape, "sqlite", tmp_path / "x.sqlite")
    assert ask(path, "PRAGMA integrity_check") == "ok"
    assert ask(path, "SELECT count(*), sum(size) FROM allocations") == \
        f"{of['allocated_count']}|{of['allocated_bytes']}"
    assert ask(path, "SELECT sum(peak_count), sum(peak_bytes), sum(leaked_bytes) FROM groups") == \
        f"{of['peak_count']}|{of['peak_bytes']}|{of['leaked_bytes']}"
    assert ask(path, "SELECT sum(size) FROM allocations WHERE leaked") in (
        str(of["leaked_bytes"]), "")
    for site in recording.report(tape, "top", "--sort", "allocated", "--top", "10")["sites"]:
        name_of = site["function"].replace("'", "''")
        assert int(ask(path, "SELECT sum(self_allocated_bytes) FROM functions "
                             f"WHERE function = '{name_of}'")) >= site["allocated_bytes"]


def test_every_table_of_memtape_sql_is_in_the_database(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    with sqlite3.connect(export(tape, "sqlite", tmp_path / "x.sqlite")) as database:
        tables = {row[0] for row in database.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")} - {"places", "stack_places"}
        listed = recording.run([recording.memtape(), "sql", "--schema", tape]).stdout.decode()
        ours = {line.split(":")[0] for line in listed.splitlines()
                if ":" in line and not line.startswith((" ", "functions:\n"))}
        assert tables == {name for name in ours if name.isidentifier()} - {"live_at"}
        for table in tables:
            done = recording.run([recording.memtape(), "sql", "--json", tape,
                                  f'SELECT * FROM "{table}"'])
            assert done.returncode == 0
            rows = [tuple(row.values()) for row in json.loads(done.stdout)]
            assert sorted(map(repr, database.execute(f'SELECT * FROM "{table}"'))) == \
                sorted(map(repr, rows)), table
    names.unlink()


def test_a_database_has_each_place_in_the_code_once(tape, tmp_path):
    """Its names are long, and most stacks have most of them."""
    assert recording.run_bare([sys.executable, "-c", "import json"], tape).returncode == 0
    path = export(tape, "sqlite", tmp_path / "x.sqlite")
    with sqlite3.connect(path) as database, sqlite3.connect(tmp_path / "plain.sqlite") as plain:
        rows = list(database.execute("SELECT * FROM frames"))
        plain.execute("CREATE TABLE frames(stack, position, function, file, line, module, inlined, role, address)")
        plain.executemany("INSERT INTO frames VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        plain.commit()
        places = database.execute("SELECT count(*) FROM places").fetchone()[0]
        assert places == len({row[2:] for row in rows}) < len(rows) / 5
    assert path.stat().st_size < (tmp_path / "plain.sqlite").stat().st_size


def test_hostile_names_in_a_database(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    with sqlite3.connect(export(tape, "sqlite", tmp_path / "x.sqlite")) as database:
        database.text_factory = bytes
        functions = {row[0] for row in database.execute("SELECT function FROM functions")}
    names.unlink()
    assert functions >= {name for name in HOSTILE if b"\xff" not in name}


def test_a_part_of_a_tape_is_no_database(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    assert "whole tape" in export(tape, "sqlite", tmp_path / "x", "--filter", "size > 1", code=2)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("part", [(), ("--filter", "size >= 100"), ("--from", "30%", "--until", "80%"),
                                  ("--filter", "size > 1EiB")], ids=("all", "filter", "range", "none"))
def test_json_has_what_is_selected(part, tape, tmp_path):
    assert recording.run_bare([recording.target("hooks")], tape).returncode == 0
    whole = json.loads(export(tape, "json", tmp_path / "whole").read_text())
    found = json.loads(export(tape, "json", tmp_path / "part", *part).read_text())
    at = whole["columns"].index
    rows, old = found["allocations"], at("realloc_of")
    assert len(rows) == recording.report(tape, "summary", *part)["allocations"]["count"]
    numbers = {tuple(row[:old]): i for i, row in enumerate(whole["allocations"])}
    places = {numbers[tuple(row[:old])]: i for i, row in enumerate(rows)}
    assert len(places) == len(rows)
    for number, place in places.items():
        assert rows[place][old] == places.get(whole["allocations"][number][old])
    assert part or any(row[old] is not None for row in rows)
    assert {**whole, "allocations": rows} == found


def test_nothing_is_left_where_the_database_was_made(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    folder = tmp_path / "it's here"
    folder.mkdir()
    done = recording.run([recording.memtape(), "export", tape, "--to", "sqlite"],
                         env=recording.clean_env(TMPDIR=folder))
    assert done.returncode == 0 and done.stdout.startswith(b"SQLite format 3\0")
    assert not list(folder.iterdir())
    done = recording.run([recording.memtape(), "export", tape, "--to", "sqlite"],
                         env=recording.clean_env(TMPDIR=tmp_path / "missing"))
    assert done.returncode == 1 and b"missing" in done.stderr and not done.stdout


def replay(path):
    """What docs/replay-format.md says a reader does: (totals, lines by kind)."""
    lines = path.read_text().splitlines()
    assert lines[0] == "memtape-replay 1"
    sizes, kinds, last = {}, {"a": 0, "r": 0, "f": 0}, 0
    got = {"allocated_bytes": 0, "allocated_count": 0, "peak_bytes": 0, "alive_bytes": 0}
    live = 0
    for line in lines[1:]:
        kind, ns, thread, block, rest = line.split(" ", 4)
        assert int(ns) >= last and (thread == "-" or int(thread) >= 0)
        last, kinds[kind] = int(ns), kinds[kind] + 1
        if kind == "f":
            live -= sizes.pop(int(block))
            continue
        size, rest = rest.split(" ", 1)
        if kind == "r":
            old, rest = rest.split(" ", 1)
            live -= sizes.pop(int(old))
        assert rest and int(block) not in sizes
        sizes[int(block)] = int(size)
        live += int(size)
        got["allocated_bytes"] += int(size)
        got["allocated_count"] += 1
        got["peak_bytes"] = max(got["peak_bytes"], live)
    got["alive_bytes"] = live
    return got, kinds


@pytest.mark.parametrize("name", TARGETS)
def test_who_replays_the_calls_gets_the_totals(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    of = totals(tape)
    got, kinds = replay(export(tape, "replay", tmp_path / "x"))
    assert got == {key: of[key] for key in got}
    assert kinds["a"] + kinds["r"] == of["allocated_count"]


def test_a_realloc_is_one_line_if_both_of_its_blocks_are_written(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    _, kinds = replay(export(tape, "replay", tmp_path / "x"))
    assert kinds == {"a": 52, "r": 1, "f": 48}
    got, kinds = replay(export(tape, "replay", tmp_path / "y", "--filter", "size = 3000"))
    assert kinds == {"a": 1, "r": 0, "f": 1} and got["alive_bytes"] == 0
    got, kinds = replay(export(tape, "replay", tmp_path / "z", "--filter", "size = 6000"))
    assert kinds == {"a": 1, "r": 0, "f": 1} and got["allocated_bytes"] == 6000


def events(path):
    """By kind; holds every event to what Chrome's format asks for."""
    trace = json.loads(path.read_text())
    found = {}
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["ts"], (int, float)) and isinstance(event["name"], str)
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
        else:
            assert event["ph"] in "Mi"
        found.setdefault((event["ph"], event["name"]), []).append(event)
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_trace_events_go_through_the_peak_to_what_is_alive(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    of = totals(tape)
    found = events(export(tape, "trace-event", tmp_path / "x.json"))
    heap = [event["args"]["bytes"] for event in found["C", "live heap"]]
    blocks = [event["args"]["count"] for event in found["C", "live blocks"]]
    assert max(heap) == of["peak_bytes"] and heap[-1] == of["alive_bytes"]
    assert blocks[-1] == of["alive_count"] and of["peak_count"] in blocks
    times = [event["ts"] for event in found["C", "live heap"]]
    assert times == sorted(times) and len(times) < 2100
    assert found["M", "process_name"][0]["args"]["name"] == name


def test_trace_events_have_marks_and_resident_memory(tape, tmp_path):
    assert recording.run_bare([recording.target("marks")], tape).returncode == 0
    found = events(export(tape, "trace-event", tmp_path / "x.json"))
    marks = recording.report(tape, "marks")["marks"]
    assert marks and all(("i", mark["name"]) in found for mark in marks)
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    found = events(export(tape, "trace-event", tmp_path / "y.json"))
    assert [event["args"]["bytes"] for event in found["C", "resident memory"]] == [3 << 20, 5 << 20]
    part = events(export(tape, "trace-event", tmp_path / "z.json", "--filter", "size < 4KiB"))
    assert max(event["args"]["bytes"] for event in part["C", "live heap"]) == 3560
