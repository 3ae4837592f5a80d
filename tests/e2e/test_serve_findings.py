"""/api/v1/findings answers what `memtape report findings` does."""

import pytest

import recording
from test_serve_data import serve


@pytest.fixture(scope="module", params=["huge", "tiny", "clean"])
def served(request, tmp_path_factory):
    tape = tmp_path_factory.mktemp("findings") / "the.mtape"
    done = recording.run_recorded([recording.target("problems"), request.param], tape)
    assert done.returncode == 0, done.stderr.decode()
    with serve(tape) as server:
        yield server, recording.report(tape, "findings")


def test_both_say_the_same(served):
    server, report = served
    answer = server.json("/api/v1/findings", c="last")
    assert answer.pop("gen") == 0 and answer.pop("ms") >= 0
    assert answer == report


def test_the_link_selects_what_was_found(served):
    server, _ = served
    for finding in server.json("/api/v1/findings")["findings"]:
        answer = server.json("/api/v1/filter", q=finding["filter"])
        assert answer["count"] == finding["count"]


def test_it_takes_no_filter(served):
    server, _ = served
    server.get("/api/v1/findings", code=400, q="leaked")
