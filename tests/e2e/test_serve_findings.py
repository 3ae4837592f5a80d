"""/api/v1/findings says what `memtape report findings` says."""

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
    assert answer["gen"] == 0 and answer["ms"] >= 0
    assert answer["missing"] == report["missing"]
    assert len(answer["findings"]) == len(report["findings"])
    for finding, reported in zip(answer["findings"], report["findings"]):
        for member in ("type", "title", "bytes", "count", "evidence", "advice", "function", "file", "line"):
            assert finding[member] == reported[member]
        assert reported["module"].endswith(f"/{finding['module']}")
        assert len(finding["hash"]) == 16 and int(finding["hash"], 16)
        link = {"page": "page", "q": "filter", "m": "metric", "at": "at", "from": "from",
                "until": "until", "sort": "sort"}
        assert finding["link"] == {ours: reported[theirs] for ours, theirs in link.items()}


def test_the_link_selects_what_was_found(served):
    server, _ = served
    for finding in server.json("/api/v1/findings")["findings"]:
        answer = server.json("/api/v1/filter", q=finding["link"]["q"])
        assert answer["count"] == finding["count"]


def test_it_takes_no_filter(served):
    server, _ = served
    server.get("/api/v1/findings", code=400, q="leaked")
