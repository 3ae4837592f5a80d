"""A folder of tapes: `memtape list`, and the list of `memtape serve FOLDER`."""

import csv
import io
import json
import os
import shutil
import subprocess
import time

import pytest

import recording
import shapes
from gathering import until
from serving import serve

DAY = 24 * 3600
UUID_AT = 72  # in the header


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tape of true, one of cat, and a session of both."""
    folder = tmp_path_factory.mktemp("made")
    true, cat, sh = map(recording.which, ("true", "cat", "sh"))
    recording.run([recording.memtape(), "record", "-q", "-o", folder / "true.mtape", "--", true])
    recording.run([recording.memtape(), "record", "-q", "-o", folder / "cat.mtape", "--", cat, os.devnull])
    recording.run([recording.memtape(), "record", "-q", "--follow", "-o", folder / "session", "--", sh, "-c",
                   f"{true}; {cat} {os.devnull}; exit 0"])
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """From the oldest to the newest: session, cat, true; and what is no tape."""
    path = tmp_path / "tapes"
    shutil.copytree(made, path)
    for days, name in enumerate(("true.mtape", "cat.mtape", "session"), 1):
        for file in (path / name).iterdir() if name == "session" else [path / name]:
            os.utime(file, (time.time() - days * DAY,) * 2)
    (path / "notes.mtape").write_text("not a tape")
    (path / "sub").mkdir()
    shutil.copy(path / "cat.mtape", path / "sub")
    return path


def listed(folder, *args, code=0):
    done = subprocess.run([recording.memtape(), "list", folder, "--json", *args], capture_output=True, text=True, check=False,
                          env=recording.clean_env(), timeout=60)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def files(answer):
    return [row["file"] for row in answer["tapes"]]


def row_of(answer, file):
    return next(row for row in answer["tapes"] if row["file"] == file)


def test_what_is_known_without_reading_tapes(folder):
    answer = listed(folder)
    assert files(answer) == ["true.mtape", "cat.mtape", "session"] and answer["count"] == answer["match_count"] == 3
    cat = row_of(answer, "cat.mtape")
    assert cat["program"] == "cat" and cat["command"].endswith(f"cat {os.devnull}") and cat["kind"] == "tape"
    assert DAY < cat["age_ns"] / 1e9 - DAY < DAY + 600 and not cat["live"]
    assert cat["peak_bytes"] is cat["duration_ns"] is cat["end"] is None and cat["curve"] == []
    info = json.loads(recording.run([recording.memtape(), "info", folder / "cat.mtape", "--json"]).stdout)
    assert cat["pid"] == info["process"]["pid"] if "process" in info else cat["pid"] > 0
    session = row_of(answer, "session")
    assert session["kind"] == "session" and session["program"] == "sh" and session["tape_count"] >= 2
    assert session["size_bytes"] == sum(min(p.stat().st_size, p.stat().st_blocks * 512) for p in (folder / "session").iterdir())
    assert answer["size_bytes"] == sum(row["size_bytes"] for row in answer["tapes"])


def test_what_takes_reading_them(folder):
    answer = listed(folder, "--read")
    for name in ("true.mtape", "cat.mtape"):
        row = row_of(answer, name)
        totals = json.loads(recording.run([recording.memtape(), "info", folder / "true.mtape", folder / name, "--json"]).stdout)
        of = next(t for t in totals["tapes"] if t["tape"] == str(folder / name))
        assert (row["peak_bytes"], row["live_bytes"], row["duration_ns"]) == (of["peak_bytes"], of["live_bytes"], of["duration_ns"])
        assert row["end"] == "exited 0" and max(row["curve"]) == row["peak_bytes"] and len(row["curve"]) == 64
    assert row_of(answer, "session")["peak_bytes"] is None


def test_the_release_is_the_programs_build_id(folder):
    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    notes = subprocess.run(["readelf", "-n", recording.which("cat")], capture_output=True, text=True, check=False).stdout
    if "Build ID" not in notes:
        pytest.skip("no build-id")
    assert row_of(listed(folder), "cat.mtape")["release"] == notes.split("Build ID: ")[1].split()[0]


@pytest.mark.parametrize("args, wanted", [
    (["--find", "CAT null"], ["cat.mtape", "session"]),
    (["--program", "cat"], ["cat.mtape"]),
    (["--newer", "36h"], ["true.mtape"]),
    (["--older", "1d"], ["true.mtape", "cat.mtape", "session"]),
    (["--older", "36h", "--newer", "60h"], ["cat.mtape"]),
    (["--sort", "program"], ["cat.mtape", "session", "true.mtape"]),
    (["--sort", "program", "--reverse"], ["true.mtape", "session", "cat.mtape"]),
    (["--sort", "begin", "--reverse"], ["true.mtape", "cat.mtape", "session"]),
    (["--live"], []),
    (["--top", "1"], ["true.mtape"]),
])
def test_which_and_in_which_order(folder, args, wanted):
    assert files(listed(folder, *args)) == wanted


def test_the_largest_and_those_that_took_most_come_first(folder):
    for key in ("size", "peak", "duration", "live"):
        rows = [row for row in listed(folder, "--sort", key, "--read")["tapes"] if row["kind"] == "tape"]
        values = [row[{"size": "size_bytes", "peak": "peak_bytes", "duration": "duration_ns", "live": "live_bytes"}[key]] for row in rows]
        assert values == sorted(values, reverse=True) and len(values) == 2
    least = min(row["size_bytes"] for row in listed(folder)["tapes"])
    assert len(listed(folder, "--larger", str(least + 1))["tapes"]) == 2


def test_words_and_tables(folder):
    text = subprocess.run([recording.memtape(), "list", folder, "-n", "2"], capture_output=True, text=True, check=True,
                          env=recording.clean_env()).stdout
    assert "cat.mtape" in text and "3 tapes" in text and "the first 2 are shown" in text
    table = subprocess.run([recording.memtape(), "list", folder, "--csv"], capture_output=True, text=True, check=True,
                           env=recording.clean_env()).stdout
    assert [row["file"] for row in csv.DictReader(io.StringIO(table))] == files(listed(folder))


def test_a_bare_m_is_no_age(folder):
    assert "--newer 5m: expected an age like 90min" in listed(folder, "--newer", "5m", code=2)


def test_a_tape_that_cannot_be_read_is_listed_with_the_reason(folder):
    page = bytearray((folder / "cat.mtape").read_bytes())
    page[8] = 99  # its version
    (folder / "later.mtape").write_bytes(page)
    (folder / "cut.mtape").write_bytes(page[:100])
    answer = listed(folder)
    assert row_of(answer, "later.mtape")["kind"] == row_of(answer, "cut.mtape")["kind"] == "unreadable"
    assert "another version" in row_of(answer, "later.mtape")["trouble"] and "cut off" in row_of(answer, "cut.mtape")["trouble"]
    with serve(folder) as server:  # and is no reason not to serve the others
        row = row_of(server.json("tapes"), "cut.mtape")
        server.post("open", {"path": row["path"], "id": row["id"]}, 404)


def test_the_host_is_that_of_the_gatherers_name(folder):
    row = row_of(listed(folder), "cat.mtape")
    shutil.copy(folder / "cat.mtape", folder / f"web.example-1.cat.{row['pid']}.20260101-120000.2.mtape")
    shutil.copy(folder / "cat.mtape", folder / f"web.dog.{row['pid']}.20260101-120000.mtape")
    assert files(listed(folder, "--host", "web.example-1")) == [f"web.example-1.cat.{row['pid']}.20260101-120000.2.mtape"]
    assert row_of(listed(folder), f"web.dog.{row['pid']}.20260101-120000.mtape")["host"] is None


def test_links_are_marked_and_not_counted(folder):
    (folder / "link.mtape").symlink_to("cat.mtape")
    answer = listed(folder)
    assert row_of(answer, "link.mtape")["link"] and answer["count"] == 3 and len(answer["tapes"]) == 4


# --- the server ----------------------------------------------------------------------------------

def known(server, **params):
    """The list when all of it has been read."""
    until(lambda: server.json("tapes", **params)["unread"] == 0)
    return server.json("tapes", **params)


def test_the_server_says_what_the_command_says(folder):
    with serve(folder) as server:
        assert server.json("info")["can_list"]
        answer = known(server)
        printed = listed(folder, "--read")
        assert not shapes.faults(shapes.schema_of("/api/v1/tapes")[1], printed, "tapes")
        for row, other in zip(answer["tapes"], printed["tapes"], strict=True):
            assert {**row, "age_ns": 0} == {**other, "age_ns": 0}
        assert files(known(server, sort="program", reverse=1, limit=2)) == ["true.mtape", "session"]
        assert files(known(server, program="cat")) == files(known(server, id=row_of(answer, "cat.mtape")["id"])) == ["cat.mtape"]
        assert "5m: expected an age" in server.json("tapes", 400, newer="5m")["error"]["message"]


def test_without_a_folder_there_is_no_list(folder):
    with serve(folder / "cat.mtape") as server:
        assert not server.json("info")["can_list"]
        assert "no folder is served" in server.json("tapes", 501)["error"]["message"]
        assert server.post("open", {"path": "x", "id": "y"}, 501)


def test_a_tape_of_the_list_is_opened_once_and_a_session_as_a_whole(folder, made):
    with serve(folder) as server:
        shutil.copy(made / "true.mtape", folder / "new.mtape")
        until(lambda: "new.mtape" in files(server.json("tapes")))
        answer = server.json("tapes")
        before = len(server.json("info")["tapes"])
        ids = []
        for name in ("new.mtape", "session", "new.mtape", "session", "cat.mtape"):
            row = row_of(answer, name)
            ids.append(server.post("open", {"path": row["path"], "id": row["id"]})["id"])
        assert ids[:2] == ids[2:4] and len(set(ids)) == 3
        assert len(server.json("info")["tapes"]) == before + 2  # cat was open
        until(lambda: server.ask(f"/api/v1/processes?c={ids[1]}").status == 200)
        assert {p["name"] for p in server.json("processes", c=ids[1])["processes"]} >= {"sh", "cat"}


def test_a_file_that_was_replaced_is_not_opened_as_the_old_one(folder, made):
    with serve(folder) as server:
        row = row_of(server.json("tapes"), "cat.mtape")
        other = bytearray((made / "true.mtape").read_bytes())
        other[UUID_AT:UUID_AT + 16] = os.urandom(16)
        (folder / "next").write_bytes(other)
        (folder / "next").rename(folder / "cat.mtape")
        assert "was replaced" in server.post("open", {"path": row["path"], "id": row["id"]}, 404)["error"]["message"]
        new = row_of(server.json("tapes"), "cat.mtape")
        opened = server.post("open", {"path": new["path"], "id": new["id"]})["id"]
        assert opened != row["id"]
        until(lambda: server.ask(f"/api/v1/tape?c={opened}").status == 200)
        assert server.json("tape", c=opened)["tape"]["name"] == "true"


@pytest.mark.parametrize("path", ["/etc/passwd", "../made/cat.mtape", "sub/cat.mtape"])
def test_nothing_is_opened_that_is_not_in_the_list(folder, path):
    with serve(folder) as server:
        row = row_of(server.json("tapes"), "cat.mtape")
        assert "not in the folder" in server.post("open", {"path": path, "id": row["id"]}, 404)["error"]["message"]


def test_sessions_that_are_not_merged_have_ids_of_their_own(folder):
    shutil.copytree(folder / "session", folder / "session2")
    rows = [row for row in listed(folder)["tapes"] if row["kind"] == "session"]
    assert len(rows) == 2 and rows[0]["id"] != rows[1]["id"]


def test_a_gist_that_failed_is_tried_again_when_the_file_has_changed(folder):
    whole = (folder / "cat.mtape").read_bytes()
    with serve(folder / "sub", folder) as server:
        path = folder / "sub" / "cat.mtape"
        assert known(server)["tapes"][0]["trouble"] is None
        path.write_bytes(whole[:9])
        until(lambda: known(server)["tapes"][0]["kind"] == "unreadable")
        path.write_bytes(whole)
        until(lambda: known(server)["tapes"][0]["peak_bytes"] is not None)


def test_a_tape_that_grows_is_marked_and_its_gist_follows(folder):
    cat = [recording.memtape(), "record", "-q", "--live", "-o", folder / "live.mtape", "--", recording.which("cat")]
    with serve(folder) as server, subprocess.Popen(list(map(str, cat)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   env=recording.clean_env()) as process:
        process.stdin.write(b"x\n")
        process.stdin.flush()
        process.stdout.readline()
        assert files(server.json("tapes", live=1)) == ["live.mtape"]
        until(lambda: server.json("tapes", live=1)["tapes"][0]["peak_bytes"])
        assert files(listed(folder, "--live")) == ["live.mtape"]
        process.stdin.close()
        assert process.wait(60) == 0
        until(lambda: row_of(server.json("tapes"), "live.mtape")["end"] == "exited 0")
        assert not row_of(server.json("tapes"), "live.mtape")["live"]


def test_of_a_large_folder_only_some_are_open_and_all_are_listed(folder):
    body = bytearray((folder / "true.mtape").read_bytes())
    for i in range(120):
        body[UUID_AT:UUID_AT + 16] = i.to_bytes(16, "big")
        (folder / f"many{i}.mtape").write_bytes(body)
    with serve(folder) as server:
        assert len(server.json("info")["tapes"]) == 10
        answer = server.json("tapes", limit=500)
        assert len(answer["tapes"]) == answer["count"] == 123
        row = row_of(answer, "cat.mtape")
        server.post("open", {"path": row["path"], "id": row["id"]})
        assert len(server.json("info")["tapes"]) == 11
