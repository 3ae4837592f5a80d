"""What can be done with a recording from outside while it goes on: record --serve and /api/v1/snapshot."""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import time
import urllib.error

import pytest

import recording
from serving import serve
from test_live import Shown, many, sql, watched  # noqa: F401 (fixtures)


def counts(tape):
    [row] = sql(tape, "SELECT count(*) AS n, sum(size = 4321) AS grown, sum(size = 64) AS churned, sum(leaked) AS leaked FROM allocations")
    return row


def is_sound(tape):
    return recording.run([recording.memtape(), "verify", "-q", tape]).returncode == 0


def rounds_of(shown):
    return int(shown.process.stdout.read().split()[-1])


def shown_to_work(shown):
    """The tape as it is told once the program does what it does."""
    until = time.monotonic() + 30
    while (tape := shown.until("live"))["allocation_count"] < 100:
        assert time.monotonic() < until, tape
        time.sleep(0.1)
    return tape


# --- snapshot --------------------------------------------------------------------------------


def test_a_snapshot_is_a_tape_of_its_own_and_the_recording_goes_on(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "-q") as shown:
        shown_to_work(shown)
        assert shown.ask("info")["can_snapshot"] is True
        before = shown.tape()
        made = [shown.post("snapshot", {}) for _ in range(2)]
        assert [status for status, _ in made] == [200, 200]
        first, second = (one for _, one in made)
        assert [one["path"] for one in (first, second)] == [str(tmp_path / f"the-{n}.mtape") for n in (1, 2)]
        assert [one["file"] for one in (first, second)] == ["the-1.mtape", "the-2.mtape"]
        at_first = counts(first["path"])
        for one in (first, second):
            path = pathlib.Path(one["path"])
            assert path.stat().st_size == one["tape_bytes"] and path.stat().st_mode & 0o777 == 0o600
            assert is_sound(path)
            said = recording.run([recording.memtape(), "info", path]).stdout.decode()
            assert re.search(r"End +running\n", said) and re.search(r"Lost events +0\n", said), said
            assert "still running" in recording.run([recording.memtape(), "report", path]).stdout.decode()
        assert first["event_count"] <= second["event_count"]
        assert at_first["n"] >= before["allocation_count"]  # all that was shown before is there
        until = time.monotonic() + 30
        while shown.tape()["allocation_count"] <= at_first["n"]:  # it goes on
            assert time.monotonic() < until
            time.sleep(0.1)
        shown.process.stdin.close()
        shown.until("complete")
        rounds = rounds_of(shown)
    last = counts(tape)
    assert last["grown"] == rounds and is_sound(tape)
    second = counts(second["path"])
    for name in ("n", "grown", "churned"):
        assert 0 < at_first[name] <= second[name] <= last[name], name


def test_a_snapshot_is_shown_beside_the_tape(watched, tmp_path):  # noqa: F811
    with Shown(watched, tmp_path / "the.mtape", "-q") as shown:
        live = shown_to_work(shown)
        _, made = shown.post("snapshot", {})
        until = time.monotonic() + 30
        while True:
            tapes = shown.ask("info")["tapes"]
            assert [one["file"] for one in tapes] == ["the-1.mtape", "the.mtape"] and tapes[0]["id"] == made["id"] != live["id"]
            if tapes[0]["state"] == "complete":
                break
            assert time.monotonic() < until, tapes[0]
            time.sleep(0.1)
        assert tapes[0]["end"] == "still running" and tapes[0]["event_count"] == made["event_count"]
        while shown.ask("summary")["gen"] == 0:  # what is asked of no tape is asked of the live one
            assert time.monotonic() < until
            time.sleep(0.1)
        rows = shown.ask(f"sites?c={made['id']}&by=function")["rows"]
        assert "grow" in [row["title"] for row in rows]


def test_a_snapshot_of_busy_threads_is_plausible(many, tmp_path):  # noqa: F811
    tape = tmp_path / "many.mtape"
    with Shown(many, tape, "-q") as shown:
        made = []
        shown.until("live")
        while (answer := shown.post("snapshot", {}))[0] == 200:
            made.append(answer[1])
            time.sleep(0.3)
        assert answer[0] == 503 and len(made) >= 2, answer
        shown.until("complete")
    total = sql(tape, "SELECT count(*) AS n FROM allocations")[0]["n"]
    events = [one["event_count"] for one in made]
    assert events == sorted(events) and events[0] < events[-1]
    for one in made:
        assert is_sound(one["path"])
        found = sql(one["path"], "SELECT count(*) AS n FROM allocations")[0]["n"]
        assert 0 < found <= total and one["event_count"] >= found
    assert is_sound(tape) and total > 400000


def test_a_snapshot_that_cannot_be_written_changes_nothing(watched, tmp_path):  # noqa: F811
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no permission to mount")
    try:
        tape = disk / "the.mtape"
        with Shown(watched, tape, "-q") as shown:
            shown.until("live")
            status, error = shown.post("snapshot", {})
            assert status == 503 and "are free" in error["message"] and "the recording goes on" in error["message"], error
            assert [path.name for path in disk.iterdir()] == ["the.mtape"]
            before = shown.tape()["allocation_count"]
            until = time.monotonic() + 30
            while shown.tape()["allocation_count"] <= before:
                assert time.monotonic() < until
                time.sleep(0.1)
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            for path in disk.iterdir():  # names that are taken stay what they are
                shutil.copy(path, disk / "the-1.mtape")
            taken = (disk / "the-1.mtape").read_bytes()
            status, made = shown.post("snapshot", {})
            assert (status, made["file"]) == (200, "the-2.mtape") and (disk / "the-1.mtape").read_bytes() == taken
            shown.process.stdin.close()
            shown.until("complete")
            rounds = rounds_of(shown)
        assert counts(tape)["grown"] == rounds and is_sound(tape)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_folder_that_is_gone_or_a_limit_is_said(watched, tmp_path):  # noqa: F811
    folder = tmp_path / "folder"
    folder.mkdir()
    with Shown(watched, folder / "the.mtape", "-q") as shown:
        shown.until("live")
        server = shown.server_pid()
        size = (folder / "the.mtape").stat().st_size
        resource.prlimit(server, resource.RLIMIT_FSIZE, (size // 2, resource.RLIM_INFINITY))
        status, error = shown.post("snapshot", {})
        assert status == 500 and "File too large" in error["message"], error
        assert [path.name for path in folder.iterdir()] == ["the.mtape"]
        resource.prlimit(server, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        (folder / "the.mtape").rename(tmp_path / "moved.mtape")
        folder.rmdir()
        status, error = shown.post("snapshot", {})
        assert status == 500 and "No such file" in error["message"], error
        shown.process.stdin.close()
        shown.process.stdout.read()
    assert is_sound(tmp_path / "moved.mtape")


def test_a_snapshot_is_made_for_those_alone_who_may(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown.until("live")
        assert shown.post("snapshot", {}, token=False)[0] == 401
        assert shown.post("snapshot", {}, Origin="http://evil.example")[0] == 403
        assert shown.post("snapshot", {}, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
        assert shown.post("snapshot", {}, **{"Content-Type": "text/plain"})[0] == 415
        assert shown.post("snapshot", {"path": "/etc/x"})[0] == 400
        with pytest.raises(urllib.error.HTTPError, match="405"):
            shown.ask("snapshot")
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert sorted(os.listdir(tmp_path)) == ["the.mtape"]


def test_a_server_of_a_finished_tape_makes_no_snapshots(tmp_path):
    tape = tmp_path / "the.mtape"
    recording.run_recorded(["/bin/true"], tape)
    with serve(tape) as server:
        assert server.json("info")["can_snapshot"] is False
        assert "record --serve" in server.post("snapshot", {}, status=501)["error"]["message"]
    assert not (tmp_path / "the-1.mtape").exists()
