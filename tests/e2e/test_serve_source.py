"""Source files over HTTP: by id alone, with the numbers of `memtape report annotate`."""

import subprocess

import pytest

import recording
from test_serve_data import serve


def test_files_and_lines_are_those_of_annotate(tape):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    with serve(tape) as server:
        files = server.json("/api/v1/files", sort="allocated")
        own = next(row for row in files["files"] if row["file"].endswith("/frames.c"))
        source = server.json("/api/v1/source", file=own["id"], m="allocated")
    totals = [row["total"] for row in files["files"]]
    assert totals == sorted(totals, reverse=True)
    assert all(row["self"] <= row["total"] <= files["total"] for row in files["files"])
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


@pytest.mark.parametrize("format_", ["json", "csv", "text"])
def test_annotate_is_that_of_the_command(tape, format_):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    with serve(tape) as server:
        own = next(row for row in server.json("/api/v1/files")["files"] if row["file"].endswith("/frames.c"))
        for args, params in (([], {}), (["--whole-file", "--columns", "totB,frees"], {"whole-file": 1, "columns": "totB,frees"}),
                             (["--filter", "size > 50"], {"q": "size > 50"})):
            done = recording.run([recording.memtape(), "report", tape, "annotate", own["file"], *args,
                                  *([] if format_ == "text" else [f"--{format_}"])])
            assert done.returncode == 0, done.stderr
            assert server.get("/api/v1/report", name="annotate", operand=own["id"], format=format_, **params)[1] == done.stdout
        wrong = server.json("/api/v1/report", code=400, name="annotate", operand=own["id"], columns="nix")
        assert "nix" in wrong["error"]["message"]


SECRETIVE = """
#include <stdlib.h>
#line 1 "%s"
void *volatile kept;
int main(void) { kept = malloc(1234); return 0; }
"""


def test_a_file_that_is_no_source_is_not_read_whatever_the_tape_says(tape, tmp_path):
    secret = tmp_path / "key.pem"
    secret.write_text("first secret\nsecond secret\n")
    (tmp_path / "link.c").symlink_to(secret)
    for named in (secret, tmp_path / "link.c", "/proc/self/environ", "/etc/passwd"):
        (tmp_path / "program.c").write_text(SECRETIVE % named)
        subprocess.run(["gcc", "-g", "-O0", "-o", "program", "program.c"], cwd=tmp_path, check=True)
        assert recording.run_bare([tmp_path / "program"], tape).returncode == 0
        with serve(tape) as server:
            own = next(row for row in server.json("/api/v1/files")["files"] if row["file"] == str(named))
            text = server.get("/api/v1/report", name="annotate", operand=own["id"], format="text", **{"whole-file": 1})[1]
            assert b"secret" not in text.replace(str(tmp_path).encode(), b"") and b"root:" not in text
            assert b"source is not there" in text and b"main" in text
            found = server.json("/api/v1/report", name="annotate", operand=own["id"])
            assert found["source"] is None and all(line["text"] is None for line in found["lines"])
        tape.unlink()


def test_sources_are_shown_from_their_roots_alone(tape, tmp_path):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    for root, is_shown in ((tmp_path, False), (f"{tmp_path}:/", True)):
        with serve(tape, "--source-root", str(root)) as server:
            own = next(row for row in server.json("/api/v1/files")["files"] if row["file"].endswith("/frames.c"))
            source = server.json("/api/v1/source", file=own["id"])
            text = server.get("/api/v1/report", name="annotate", operand=own["id"], format="text")[1]
        assert bool(source["text"]) == is_shown and source["lines"]
        assert (b"source is not there" in text) != is_shown
        assert source["missing"] is None if is_shown else "--source-root" in source["missing"]
    for wrong in ("", str(tmp_path / "nowhere"), str(tape)):
        done = recording.run([recording.memtape(), "serve", tape, "--source-root", wrong])
        assert done.returncode == 2 and b"--source-root" in done.stderr


INLINED = """
#include <stdlib.h>
void *volatile kept;
static inline __attribute__((always_inline)) void grab(size_t size) { kept = malloc(size); }
static inline __attribute__((always_inline)) void outer(size_t size) { grab(size); }
__attribute__((noinline)) void user(void) { outer(4321); kept = NULL; }
int main(void) { user(); kept = malloc(77); return 0; }
"""


def test_a_line_says_what_it_was_inlined_into(tape, tmp_path):
    (tmp_path / "inlined.c").write_text(INLINED)
    subprocess.run(["gcc", "-g", "-O2", "-o", "inlined", "inlined.c"], cwd=tmp_path, check=True)
    assert recording.run_bare([tmp_path / "inlined"], tape).returncode == 0
    with serve(tape) as server:
        own = next(row for row in server.json("/api/v1/files")["files"] if row["file"].endswith("/inlined.c"))
        lines = {row["line"]: row for row in server.json("/api/v1/source", file=own["id"], m="allocated")["lines"]}
        through = server.json("/api/v1/summary", q=f'location = "{own["file"]}:5"')
    assert lines[4]["inlined_into"] == ["outer", "user"] and lines[5]["inlined_into"] == ["user"]
    assert lines[6]["inlined_into"] == [] and lines[7]["inlined_into"] == []
    assert lines[5]["total"] == through["allocations"]["bytes"] == 4321

