"""/api/v1/heap: cells add up to what the reports say of the same moment, however they are coloured."""

import pytest

import recording
from serving import serve


@pytest.fixture(scope="module", params=["fragments", "threads"])
def server(request, tmp_path_factory):
    tape = tmp_path_factory.mktemp("space") / "program.mtape"
    recording.run_recorded([recording.target(request.param)], tape)
    with serve(tape) as running:
        yield running


def space(server, **params):
    return server.json("heap", **params)


def whole(answer, column):
    return sum(sum(region[column]) for region in answer["regions"])


def test_cells_add_up_to_their_regions_and_to_the_report(server):
    for at in ("peak", "50%", "end"):
        answer = space(server, at=at)
        if not answer["regions"]:
            continue  # a short program can end before its mappings were looked at
        report = recording.report(server.tapes[0], "fragmentation", "--at", at)
        assert answer["at_ns"] == report["at_ns"]
        assert answer["region_count"] == len(answer["regions"])
        assert whole(answer, "pinned") == report["pinned_pages"]
        assert whole(answer, "resident") == report["resident_bytes"]
        for region in answer["regions"]:
            size = int(region["end"], 16) - int(region["begin"], 16)
            assert sum(region["live"]) == region["live_bytes"]
            assert sum(region["resident"]) == region["resident_bytes"]
            assert len(region["live"]) == -(-size // region["cell_bytes"])
            assert all(live <= region["cell_bytes"] for live in region["live"])


@pytest.mark.parametrize("by", ["age", "size", "thread", "site"])
def test_every_live_block_has_a_class_and_every_live_cell_has_one(server, by):
    answer = space(server, by=by)
    report = recording.report(server.tapes[0], "fragmentation", "--at", "peak")
    assert sum(one["bytes"] for one in answer["classes"]) == report["live_bytes"]
    assert answer["classes"][0].keys() >= {"thread": {"tid", "name"}, "site": {"function", "hash"}}.get(by, {"from"})
    for region in answer["regions"]:
        for live, found in zip(region["live"], region["class"]):
            assert (found < len(answer["classes"])) == (live > 0)
            assert live == 0 or answer["classes"][found]["count"] > 0
    assert "class" not in (space(server)["regions"] or [{}])[0]


def test_the_answer_is_bounded_by_cells(server):
    few, many = space(server, cells=64), space(server, cells=65536)
    assert sum(len(region["live"]) for region in few["regions"]) <= 64 * (1 + len(few["regions"]))
    assert whole(few, "live") == whole(many, "live")
    assert whole(few, "pinned") == whole(many, "pinned")


def test_wrong_questions_name_their_parameter(server):
    for query in ("by=colour", "cells=3", "at=noon"):
        name, value = query.split("=")
        assert server.get("heap", 400, **{name: value}).error()["parameter"] == name
