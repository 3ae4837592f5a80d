"""The summary's numbers against a brute-force replay of the exported allocations."""

import pytest

import recording
from tape_reader import Tape
from test_counts import real_programs

TARGETS = [("hooks",), ("operators",), ("frames",), ("jumps",), ("early",),
           ("exceptions", "deep"), ("threads", "thousand"), ("threads", "eight"), ("crowd",),
           ("endings", "exit"), ("mappings",), ("coroutines",), ("conformance",)]


def peak_of(rows, frees_first):
    """(bytes, count at that moment); events of one instant in the order asked for."""
    changes = []
    for row in rows:
        changes.append((row["alloc_ns"], frees_first, row["size"], 1))
        if row["free_ns"] is not None:
            changes.append((row["free_ns"], not frees_first, -row["size"], -1))
    live = peak = 0
    for _, _, size, _ in sorted(changes, key=lambda change: change[:2]):
        live += size
        peak = max(peak, live)
    return peak


def allocations(tape):
    """The rows without their stacks, which are most of them and not looked at here."""
    return [{name: value for name, value in row.items() if "stack" not in name}
            for row in recording.rows(tape)]


def check(args, tape):
    recording.run_bare(args, tape, env={"PYTHONMALLOC": "malloc"})
    if not recording.have_reader():
        pytest.skip("built without the command")
    summary = recording.report(tape, "summary", "--no-suppressions")
    rows = allocations(tape)
    assert peak_of(rows, True) <= summary["peak"]["bytes"] <= peak_of(rows, False)
    leaked = [row for row in rows if row["free_ns"] is None]
    assert summary["allocations"] == {"count": len(rows), "bytes": sum(r["size"] for r in rows)}
    assert summary["frees"]["count"] == len(rows) - len(leaked)
    assert summary["leaked"] == {"count": len(leaked), "bytes": sum(r["size"] for r in leaked)}
    assert summary["lost_events"] == 0
    return rows


def check_two_readers(rows, tape):
    """The command's blocks are those of the tests' own reader, in number, size and fate."""
    own = Tape(tape).allocations()
    assert len(own) == len(rows)

    def key(row):
        return (row["address"] if isinstance(row["address"], int) else int(row["address"], 0),
                row["size"], row["usable_size"], row["function"], row["free_ns"] is None,
                row["thread"], row["free_thread"])
    assert sorted(map(str, map(key, own))) == sorted(map(str, map(key, rows)))


@pytest.mark.parametrize("args", TARGETS, ids=" ".join)
def test_targets(args, tape):
    rows = check([recording.target(args[0]), *args[1:]], tape)
    check_two_readers(rows, tape)


@pytest.mark.parametrize("name", ["python3", "git", "perl", "sqlite3"])
def test_real_programs(name, tape, tmp_path):
    args = real_programs(tmp_path)[name]
    if not args[0]:
        pytest.skip(f"{name} is not installed")
    check(args, tape)
