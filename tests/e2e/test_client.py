"""What a program says to its recorder."""

import json

import pytest

import recording

TEXTS = ["loaded", "served \"all\"\n", ""]


def test_nothing_without_a_recorder():
    assert recording.run_plain([recording.target("marks")]).returncode == 0


@pytest.mark.parametrize("variant", ["", "-O0", "-fp", "-clang"])
def test_marks(tape, variant):
    target = recording.target("marks" + variant)
    if not target.exists():
        pytest.skip("not built")
    assert recording.run_recorded([target], tape).returncode == 0
    marks = recording.report(tape, "marks")["marks"]
    assert [mark["name"] for mark in marks] == TEXTS
    assert marks[0]["ns"] <= marks[1]["ns"] <= marks[2]["ns"]
    assert "load" in json.dumps(marks[0]["stack"])
    assert recording.report(tape, "at", "mark(loaded)")["live_bytes"] >= 3 * 4201
    rows = recording.report(tape, "allocations", "--filter", 'mark = loaded and size = 4202')
    assert len(rows) == 4
    assert not recording.report(tape, "allocations", "--filter", 'mark = loaded and size = 4201')
