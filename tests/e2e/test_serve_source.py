"""Source files over HTTP: by id alone, with the numbers of `memtape report annotate`."""

import recording
from test_serve_data import serve


def test_files_and_lines_are_those_of_annotate(tape):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    with serve(tape) as server:
        files = server.json("/api/v1/files", m="allocated")
        own = next(row for row in files["rows"] if row["file"].endswith("/frames.c"))
        source = server.json("/api/v1/source", file=own["id"], m="allocated")
    totals = [row["total"] for row in files["rows"]]
    assert totals == sorted(totals, reverse=True)
    assert all(row["self"] <= row["total"] <= files["total"] for row in files["rows"])
    assert source["file"] == own["file"] and source["missing"] is None
    with open(own["file"], encoding="utf-8") as file:
        assert source["text"] == file.read().splitlines()[:2000]
    expected = recording.report(tape, "annotate", own["file"])
    lines = {row["line"]: row for row in expected["lines"]}
    assert {row["line"] for row in source["lines"]} == set(lines)
    for row in source["lines"]:
        assert row["total"] == lines[row["line"]]["allocated_bytes"]
        assert row["allocations"] == lines[row["line"]]["allocated_count"]


def test_a_file_is_asked_for_by_its_id_alone(tape):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    with serve(tape) as server:
        for wrong in ("/etc/passwd", "..", "zz", ""):
            server.get("/api/v1/source", code=400, file=wrong)
        server.get("/api/v1/source", code=404, file="0123456789abcdef")
        server.get("/api/v1/source", code=400)
