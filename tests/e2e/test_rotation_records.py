"""record --max-size --rotate: what is recorded besides allocations - tags, pauses, marks, pools, threads - says the
same of what is left as it does on the whole tape."""

import pytest

import recording
from test_rotation import OPTIONS, ROTATED, sql

ROUNDS = 2000000


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    """The whole one, and the rotated one."""
    folder = tmp_path_factory.mktemp("turnover")
    for name, options in (("whole", OPTIONS), ("rotated", ROTATED)):
        done = recording.run_recorded([recording.target("turnover"), str(ROUNDS)], folder / name, options)
        assert done.answer() == (0, b"", b"")
    assert recording.report(folder / "rotated", "summary")["rotated"]["rotations"] >= 1
    return folder / "whole", folder / "rotated"


def test_what_lives_has_its_tag_and_its_thread(tapes):
    live = ("select a.size, a.tag, t.name, count(*) as n from allocations a join threads t on t.id = a.thread "
            "where a.free_ns is null group by 1, 2, 3 order by 1, 2, 3")
    whole, rotated = (sql(tape, live) for tape in tapes)
    assert rotated == whole
    assert {(row["size"], row["tag"]) for row in whole} >= {(48, "kept"), (40, None), (200, None)}


def test_who_created_the_threads_of_what_lives(tapes):
    for tape in tapes:
        briefly = [row for row in recording.report(tape, "threads")["threads"] if row["name"] == "briefly"]
        assert len(briefly) == ROUNDS // 5000
        assert all("others_do" in str(row["create_stack"]) for row in briefly)


def test_pauses_are_known_and_hide_the_same(tapes):
    whole, rotated = (recording.report(tape, "summary") for tape in tapes)
    out = rotated["rotated"]
    for member in ("allocations", "frees"):
        for unit in ("count", "bytes"):
            assert rotated[member][unit] + out[member][unit] == whole[member][unit]
    assert rotated["unknown_frees"] + out["unknown_frees"] == whole["unknown_frees"] > 0
    assert rotated["reallocs"] + out["reallocs"] == whole["reallocs"]
    assert rotated["leaked"] == whole["leaked"]
    assert max(rotated["peak"]["bytes"], out["peak"]["bytes"]) == whole["peak"]["bytes"]
    words = f"recording was paused {ROUNDS // 5000} times".encode()
    for tape in tapes:
        assert words in recording.run([recording.memtape(), "report", tape]).stdout


def test_the_latest_marks_stay(tapes):
    whole, rotated = ([mark["name"] for mark in recording.report(tape, "marks")["marks"]] for tape in tapes)
    assert 0 < len(rotated) < len(whole) == ROUNDS // 5000
    assert rotated == whole[-len(rotated):]


def test_pools_are_whole(tapes):
    whole, rotated = (recording.report(tape, "pools")["pools"] for tape in tapes)
    for pools in (whole, rotated):
        assert pools[0].pop("peak_ns") > 0
    assert rotated == whole and whole[0]["allocated_count"] == ROUNDS // 5000


def test_the_system_is_known_of_all_of_the_time(tapes):
    whole, rotated = (recording.report(tape, "usage") for tape in tapes)
    assert rotated["cgroup"] == whole["cgroup"] and rotated["level"] == whole["level"]
    for answer in (whole, rotated):
        begin = next(row["ns"] for row in answer["usage"] if row["available"])
        assert begin < answer["usage"][-1]["ns"] / 4
