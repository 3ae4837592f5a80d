"""What can be done with a recording from outside while it goes on: record --serve and /api/v1/snapshot."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import urllib.error

import pytest

import recording
from serving import serve
from test_live import Shown, many, sql, watched  # noqa: F401 (fixtures)


def files_in(folder):
    """But for the spool, which goes away with the recording."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".spool")


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
            assert re.search(r"End status +-\n", said) and json.loads(recording.run([recording.memtape(), "info", "--json", path]).stdout)["process"]["end_status"] is None
            report = recording.run([recording.memtape(), "report", path]).stdout.decode()
            assert "was killed" not in report
            assert "still running" in report and "blocks not freed yet" in report and "Not freed yet" in report and "ever freed" not in report, report
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
            assert files_in(disk) == ["the.mtape"]
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
        assert files_in(folder) == ["the.mtape"]
        resource.prlimit(server, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        (folder / "the.mtape").rename(tmp_path / "moved.mtape")
        (folder / "the.mtape.spool").unlink()
        folder.rmdir()
        status, error = shown.post("snapshot", {})
        assert status == 500 and "No such file" in error["message"], error
        shown.process.stdin.close()
        shown.process.stdout.read()
    assert is_sound(tmp_path / "moved.mtape")


def refuses_others(shown, what):
    assert shown.post(what, {}, token=False)[0] == 401
    assert shown.post(what, {}, Origin="http://evil.example")[0] == 403
    assert shown.post(what, {}, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert shown.post(what, {}, **{"Content-Type": "text/plain"})[0] == 415


def test_a_snapshot_is_made_for_those_alone_who_may(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown.until("live")
        refuses_others(shown, "snapshot")
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


# --- hold ------------------------------------------------------------------------------------


def test_a_moment_that_is_held_is_answered_for_while_the_tape_grows(watched, tmp_path):  # noqa: F811
    def count(gen=None):
        answer = shown.ask("summary" + (f"?gen={gen}" if gen else ""))
        return answer["gen"], answer["allocations"]["count"]

    def grown(than):
        until = time.monotonic() + 30
        while (now := count())[1] <= than:
            assert time.monotonic() < until, now
            time.sleep(0.1)
        return now

    with Shown(watched, tmp_path / "the.mtape", "-q") as shown:
        shown_to_work(shown)
        status, answer = shown.post("hold", {})
        gen, held = answer["gen"], answer["tape"]["allocation_count"]
        assert status == 200 and gen > 0 and answer["tape"]["gen"] == gen and answer["tape"]["state"] == "live"
        for _ in range(3):
            newer, more = grown(held)
            assert newer > gen and count(gen) == (gen, held)
        assert shown.ask(f"tape?gen={gen}")["tape"]["allocation_count"] == held
        assert sum(row["only_matched"]["allocated_count"] for row in shown.ask(f"sites?gen={gen}&by=thread&n=200")["rows"]) == held
        assert count(gen - 1)[0] >= newer  # nobody holds that: it is now
        status, answer = shown.post("hold", {})
        second, later = answer["gen"], answer["tape"]["allocation_count"]
        assert second > gen and later > held
        grown(later)
        assert count(second) == (second, later) and count(gen)[0] > second  # one at a time
        shown.process.stdin.close()
        last = shown.until("complete")
        assert count(second) == (second, later) and count() == (0, last["allocation_count"])
        assert shown.post("hold", {"on": False})[0] == 200
        assert count(second) == (0, last["allocation_count"])
        assert shown.post("hold", {"c": "0" * 32})[0] == 404 and shown.post("hold", {}, token=False)[0] == 401
        assert shown.post("hold", {})[1]["gen"] == 0  # which needs none


# --- pause -----------------------------------------------------------------------------------


def test_a_recording_is_paused_and_resumed(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"

    def until(what):
        end = time.monotonic() + 30
        while not what(one := shown.tape()):
            assert time.monotonic() < end, one
            time.sleep(0.05)
        return one

    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        before = shown_to_work(shown)
        assert shown.ask("info")["can_pause"] is True
        assert (before["paused"], before["paused_ns"], before["pause_count"], before["pauses"]) == (False, 0, 0, [])
        refuses_others(shown, "pause")
        assert shown.post("pause", {"on": "maybe"})[0] == 400 and shown.tape()["paused"] is False
        made = [shown.post("pause", body)[1] for body in ({}, {"on": True})]
        assert [(one["paused"], one["changed"]) for one in made] == [(True, True), (True, False)]
        first = until(lambda one: one["paused"])
        [pause] = first["pauses"]
        assert pause["end_ns"] is None and pause["by"] == "control" and before["duration_ns"] < pause["begin_ns"] <= first["duration_ns"]
        later = until(lambda one: one["duration_ns"] > pause["begin_ns"] + 10**9)
        assert later["allocation_count"] - first["allocation_count"] <= 5  # of moments before it
        assert later["paused_ns"] == later["duration_ns"] - pause["begin_ns"]
        assert [(one["paused"], one["changed"]) for one in (shown.post("pause", {"on": False})[1] for _ in range(2))] == [(False, True), (False, False)]
        last = until(lambda one: one["allocation_count"] > later["allocation_count"] + 20)
        [pause] = last["pauses"]
        assert not last["paused"] and last["paused_ns"] == pause["end_ns"] - pause["begin_ns"] > 10**9
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    with serve(tape) as server:
        server.json("summary")  # when it has been read
        info = server.json("info")
        assert info["can_pause"] is False and info["tapes"][0]["pauses"] == last["pauses"]
        assert "record --serve" in server.post("pause", {}, status=501)["error"]["message"]


# --- leak scan -------------------------------------------------------------------------------


def test_leaks_are_looked_for_on_request(watched, tmp_path):  # noqa: F811
    def lost(after):
        end = time.monotonic() + 30
        while not shown.tape()["has"]["leak_scan"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        while (report := shown.ask("leak-classes"))["scan"]["id"] <= after:
            assert time.monotonic() < end, report
            time.sleep(0.05)
        scan = report["scan"]
        assert scan["reason"] == "request"
        return scan, report["definitely_lost"]

    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown_to_work(shown)
        assert shown.ask("info")["can_leak_scan"] is True
        refuses_others(shown, "leak-scan")
        assert shown.post("leak-scan", {"now": 1})[0] == 400 and shown.tape()["has"]["leak_scan"] is False
        found = []
        for number in (1, 2):
            time.sleep(0.3)  # since the tape was brought up to date
            status, made = shown.post("leak-scan", {})
            assert status == 200 and made["scan"] == number and 0 < made["pause_ns"] < 10**9, made
            shutil.copy(tape, tmp_path / f"{number}.mtape")  # as it is then
            found.append(lost(number - 1))
            gen = shown.ask("summary")["gen"]
            while shown.ask("summary")["gen"] == gen:
                time.sleep(0.05)
            at_once = recording.report(tmp_path / f"{number}.mtape", "leak-classes")["definitely_lost"]
            assert 0 <= lost(number - 1)[1]["blocks"] - at_once["blocks"] <= 8  # all but the last few
            assert found[-1][0]["id"] == number and found[-1][0]["pause_ns"] == made["pause_ns"]
        first, second = (one for _, one in found)
        assert 0 < first["blocks"] < second["blocks"] and second["bytes"] >= 4321 * second["blocks"] * 0.9
        answers = []
        asking = threading.Thread(target=lambda: answers.append(shown.post("leak-scan", {})[0]))
        asking.start()
        assert shown.post("mark", {"text": "meanwhile"})[0] == 200  # nobody waits for a scan
        asking.join()
        assert answers == [200]
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert is_sound(tape)


def test_why_a_leak_scan_has_no_result_is_told(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown_to_work(shown)
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(shown.tape()["pid"])], stderr=subprocess.PIPE)
        try:
            end = time.monotonic() + 30
            while f"TracerPid:\t{tracer.pid}\n" not in pathlib.Path(f"/proc/{shown.tape()['pid']}/status").read_text():
                assert time.monotonic() < end and tracer.poll() is None
                time.sleep(0.05)
            status, error = shown.post("leak-scan", {})
            assert status == 503 and "no leak scan: " in error["message"] and "traced" in error["message"], error
        finally:
            tracer.terminate()
            tracer.communicate()
        assert shown.post("leak-scan", {})[0] == 200
    with_none = tmp_path / "finished.mtape"
    recording.run_recorded(["/bin/true"], with_none)
    with serve(with_none) as server:
        assert server.json("info")["can_leak_scan"] is False
        assert "record --serve" in server.post("leak-scan", {}, status=501)["error"]["message"]


# --- stop ------------------------------------------------------------------------------------


GOES_ON = recording.target("goes_on")


def said(shown, what, times=1):
    """Reads the program's output until it has said so."""
    seen = []
    while seen.count(what) < times:
        line = shown.process.stdout.readline().decode()
        assert line, seen[-3:]
        seen.append(line.strip())
    return seen


def tell(shown, word):
    shown.process.stdin.write(word)
    shown.process.stdin.flush()


def are_in_order(tape, least=4):
    """Of each thread the tape has all blocks from the first to the last of them, whose sizes tell: none is missing, none doubled."""
    workers = sql(tape, "SELECT count(*) AS n, sum(leaked) AS leaked, max(n * (1 - leaked)) AS last_freed, sum(size != n % 997 + 1) AS wrong FROM"
                        " (SELECT thread, size, leaked, row_number() OVER (PARTITION BY thread ORDER BY id) - 1 AS n FROM allocations"
                        "  WHERE size <= 997 AND call = 'malloc') GROUP BY thread HAVING count(*) > 100")
    assert least <= len(workers) <= 4, workers
    for one in workers:
        assert one["wrong"] == 0 and one["leaked"] in (63, 64) and one["last_freed"] == one["n"] - one["leaked"] - 1, one
    return sum(one["n"] for one in workers)


def test_what_is_said_after_a_silence_is_of_now(tmp_path):
    """Nobody asked for a while; the first answer is not what there was then, nor is the one after a stop."""
    tape = tmp_path / "the.mtape"
    with Shown([GOES_ON], tape) as shown:
        shown.until("live")
        for _ in range(3):
            time.sleep(1.2)
            there = tape.stat().st_size
            answer = shown.ask("info")["tapes"][0]
            assert answer["state"] == "live" and answer["tape_bytes"] >= there
        assert shown.post("stop", {})[0] == 200
        answer = shown.ask("info")["tapes"][0]
        assert (answer["state"], answer["end"], answer["gen"]) == ("complete", "still running", 0)
        shown.process.stdin.close()
        shown.process.stdout.read()


@pytest.mark.parametrize("options", [[], ["--latency"], ["--no-compress", "--no-stacks"], ["--buffer", "256k"]])
@pytest.mark.parametrize("pace", [[], ["slow"]], ids=["fast", "slow"])
def test_a_recording_that_is_stopped_leaves_the_program_alone(tmp_path, options, pace):
    tape = tmp_path / "the.mtape"
    with Shown([GOES_ON, *pace], tape, *options) as shown:
        shown.until("live")
        said(shown, "tick", 5)
        assert shown.ask("info")["can_stop"] is True
        status, stopped = shown.post("stop", {})
        assert status == 200 and stopped["tape_bytes"] == tape.stat().st_size, stopped
        whole = tape.read_bytes()
        assert is_sound(tape) and re.search(r"End +running\n", recording.run([recording.memtape(), "info", tape]).stdout.decode())
        if not pace:
            said(shown, "tick", 20)  # long enough for each thread to fill what it writes to
        for word, answer in ((b"fork\n", "child 5"), (b"thread\n", "thread"), (b"fork\n", "child 5")):
            tell(shown, word)
            said(shown, answer)
        said(shown, "tick", 5)
        assert shown.until("complete")["end"] == "still running"
        assert not any(shown.ask("info")[can] for can in ("can_leak_scan", "can_mark", "can_pause", "can_snapshot", "can_stop"))
        assert [shown.post(what, body)[0] for what, body in (("stop", {}), ("snapshot", {}), ("mark", {"text": "x"}), ("pause", {}), ("leak-scan", {}))] == [503] * 5
        assert shown.process.poll() is None
        shown.process.stdin.close()
        done = int(shown.process.stdout.read().split()[-1])
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(60) == 7  # its own
        errors = shown.process.stderr.read().decode()
    assert "recording was stopped then, as asked" in errors and "missing" not in errors and "stopped early" not in errors, errors
    assert tape.read_bytes() == whole and os.listdir(tmp_path) == ["the.mtape"]
    recorded = are_in_order(tape)
    assert 0 < recorded < done
    assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size IN (4000, 5000)") == [{"n": 0}]


def test_a_program_that_ends_while_it_is_stopped_has_a_whole_tape(tmp_path):
    for attempt in range(6):
        tape = tmp_path / f"{attempt}.mtape"
        with Shown([GOES_ON, "slow"], tape, "--serve-until-exit", "-q") as shown:
            shown.until("live")
            said(shown, "tick", 5)
            closing = threading.Timer(0.01 * attempt, shown.process.stdin.close)
            closing.start()
            try:
                status = shown.post("stop", {})[0]
            except OSError:  # the server ends with the program
                status = 503
            closing.join()
            assert status in (200, 503) and shown.process.wait(30) == 7
            assert shown.process.stderr.read() == b""
        end = re.search(r"End +(\w+)\n", recording.run([recording.memtape(), "info", tape]).stdout.decode())[1]
        assert is_sound(tape) and end == ("running" if status == 200 else end) and end in ("running", "exit")
        assert are_in_order(tape, 1) > 0  # a thread may just have begun


def test_signals_and_job_control_reach_a_program_that_is_not_recorded_any_more(tmp_path):
    with Shown([GOES_ON], tmp_path / "the.mtape", "-q", "--serve-until-exit") as shown:
        shown.until("live")
        assert shown.post("stop", {})[0] == 200
        said(shown, "tick", 3)
        shown.process.send_signal(signal.SIGTERM)
        assert shown.process.wait(30) == -signal.SIGTERM or shown.process.returncode == 128 + signal.SIGTERM
    assert is_sound(tmp_path / "the.mtape")


def test_children_that_are_followed_have_their_own_tapes_after_a_stop(tmp_path):
    with Shown([GOES_ON, "slow"], tmp_path / "the.mtape", "-q", "--follow", "--serve-until-exit") as shown:
        shown.until("live")
        assert shown.post("stop", {})[0] == 200
        tell(shown, b"fork\n")
        said(shown, "child 5")
        shown.process.stdin.close()
        assert shown.process.wait(30) == 7
    assert all(is_sound(tmp_path / name) for name in os.listdir(tmp_path))


def test_a_recording_that_was_killed_after_a_stop_leaves_its_tape(tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown([GOES_ON], tape, "-q") as shown:
        shown.until("live")
        assert shown.post("stop", {})[0] == 200
        shown.process.kill()
        said(shown, "tick", 20)  # the program goes on even so
        shown.process.stdin.close()
        assert re.search(rb"done: \d+\n", shown.process.stdout.read())
    assert is_sound(tape) and are_in_order(tape) > 0


def test_a_disk_that_is_full_when_it_is_stopped_is_said(tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown([GOES_ON], tape) as shown:
        shown_to_work(shown)
        said(shown, "tick", 30)  # some chunks, for the last one may give way to the last words
        resource.prlimit(shown.process.pid, resource.RLIMIT_FSIZE, (tape.stat().st_size, resource.RLIM_INFINITY))
        status, error = shown.post("stop", {})
        assert status == 503 and error["message"] == "nothing is being recorded", error
        said(shown, "tick", 20)
        shown.process.stdin.close()
        assert re.search(rb"done: \d+\n", shown.process.stdout.read())
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(60) == 7
        assert b"recording stopped early" in shown.process.stderr.read()
    assert sql(tape, "SELECT count(*) AS n FROM allocations")[0]["n"] > 0


def test_a_recording_is_stopped_by_those_alone_who_may(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown.until("live")
        refuses_others(shown, "stop")
        assert shown.post("stop", {"now": 1})[0] == 400
        with pytest.raises(urllib.error.HTTPError, match="405"):
            shown.ask("stop")
        assert shown.ask("info")["can_stop"] is True
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert counts(tape)["n"] > 0 and re.search(r"End +exit\n", recording.run([recording.memtape(), "info", tape]).stdout.decode())
