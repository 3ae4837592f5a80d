"""Controlling a recording that is under way: memtape ctl."""
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import recording
from test_pauses import child_of, pauses

TARGET = recording.target("pauses")


class Recorded:
    """A program under `memtape record`, and what is said to its recording."""

    def __init__(self, args, tape, *options, **popen):
        self.tape = tape
        self.memtape = subprocess.Popen(
            [recording.memtape(), "record", "-q", *options, "-o", tape, "--", *args],
            env=recording.clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1, **popen)
        self.pid = child_of(self.memtape.pid)

    def ctl(self, *words, code=0):
        done = recording.run([recording.memtape(), "ctl", str(self.pid), *words])
        assert done.returncode == code, done.stderr
        return done

    def status(self, *words):
        return json.loads(self.ctl(*words, "--json").stdout)

    def say(self):
        self.memtape.stdin.write("go\n")
        return self.memtape.stdout.readline()

    def say_end(self):
        self.memtape.stdin.write("end\n")
        return self.end()

    def end(self):
        out, err = self.memtape.communicate(timeout=60)
        return self.memtape.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.memtape.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.memtape.communicate()


@pytest.fixture
def waiting(tape):
    with Recorded([TARGET, "wait"], tape) as it:
        assert it.memtape.stdout.readline() == "ready\n"
        yield it


def sizes(tape):
    return [row["size"] for row in recording.report(tape, "allocations", "--filter",
                                                    'site = "before"')]


def test_start_and_stop(waiting):
    assert waiting.say() == "done\n"
    assert waiting.status("stop")["state"] == "paused"
    assert b"paused already" in waiting.ctl("stop").stderr
    assert waiting.say() == "done\n"
    waiting.ctl("mark", "between the two")
    assert waiting.status("start")["state"] == "recording"
    assert b"already" in waiting.ctl("start").stderr
    assert waiting.say() == "done\n"
    assert waiting.end() == (0, "", "")
    assert sizes(waiting.tape) == [1000, 3000]
    [pause] = pauses(waiting.tape)
    assert pause["by"] == "control"
    [mark] = recording.report(waiting.tape, "marks")["marks"]
    assert mark["name"] == "between the two" and \
        pause["begin_ns"] < mark["ns"] < pause["end_ns"]


def test_status(waiting):
    status = waiting.status()
    assert status["pid"] == waiting.pid and status["name"] == "pauses"
    assert status["memtape_pid"] == waiting.memtape.pid
    assert status["state"] == "recording" and not status["attached"]
    assert os.path.samefile(os.path.dirname(status["tape"]), waiting.tape.parent)
    assert waiting.status()["duration_ns"] > status["duration_ns"]
    assert b"recording" in waiting.ctl().stdout
    listed = recording.run([recording.memtape(), "ctl"]).stdout.splitlines()
    assert f"{waiting.pid} pauses".encode() in listed
    assert waiting.ctl("-q", "stop").answer() == (0, b"", b"")
    by_name = recording.run([recording.memtape(), "ctl", "pauses"])
    assert by_name.returncode == 0 or b"several processes called pauses" in by_name.stderr


def test_a_snapshot(waiting):
    assert waiting.say() == "done\n"
    waiting.ctl("snapshot")
    waiting.ctl("snapshot", "second")
    assert waiting.end()[0] == 0
    marks = recording.report(waiting.tape, "marks")["marks"]
    assert [mark["name"] for mark in marks] == ["snapshot", "second"]
    looks = [at["ns"] for at in recording.report(waiting.tape, "rss")["samples"] if at["measured"]]
    for mark in marks:
        assert any(0 <= at - mark["ns"] < 5e8 for at in looks)


@pytest.mark.parametrize("options", [[], ["--live"], ["--leak-scan=signal"]])
def test_a_snapshot_is_a_tape_of_what_is_recorded_so_far(options, tape):
    saved = tape.parent / "saved.mtape"
    with Recorded([TARGET, "wait"], tape, *options) as it:
        assert it.memtape.stdout.readline() == "ready\n"
        for number in range(3):
            assert it.say() == "done\n"
            it.ctl("snapshot", f"number {number}", "-o", saved, "-f")
            assert sizes(saved) == [1000 * (i + 1) for i in range(number + 1)]
            marks = recording.report(saved, "marks")["marks"]
            assert [mark["name"] for mark in marks] == [f"number {i}" for i in range(number + 1)]
        assert b"--force" in it.ctl("snapshot", "-o", saved, code=2).stderr
        assert b"--output is for snapshot" in it.ctl("stop", "-o", saved, code=2).stderr
        assert it.say() == "done\n"
        assert it.end()[0] == 0
    told = json.loads(recording.run([recording.memtape(), "info", saved, "--json"]).stdout)
    assert told["process"]["end"] == "running" and told["losses"]["lost_events"] == 0
    assert recording.run([recording.memtape(), "verify", saved]).returncode == 0
    assert sizes(tape) == [1000, 2000, 3000, 4000]


def test_a_leak_scan(waiting):
    for _ in range(3):
        assert waiting.say() == "done\n"
    assert b"stood still for" in waiting.ctl("leak-scan").stderr
    assert waiting.status("leak-scan")["leak_scans"] == 2
    assert waiting.end()[0] == 0
    classes = recording.report(waiting.tape, "leak-classes")
    assert sum(classes[name]["blocks"] for name in
               ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")) >= 3
    assert classes["definitely_lost"]["bytes"] >= 1000 + 2000


def test_the_next_program_is_paused_too(tape):
    shell = f"read line; exec {TARGET} wait"
    with Recorded(["/bin/sh", "-c", shell], tape) as it:
        time.sleep(0.2)
        it.ctl("stop")
        assert it.say() == "ready\n" and it.say() == "done\n"
        assert it.status("start")["state"] == "recording"
        assert it.say() == "done\n" and it.end()[0] == 0
    assert sizes(tape) == [2000] and [pause["by"] for pause in pauses(tape)] == ["start"]


def test_an_attached_process_is_controlled(tape):
    with subprocess.Popen([TARGET, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, bufsize=1) as program:
        assert program.stdout.readline() == "ready\n"
        attached = subprocess.Popen([recording.memtape(), "attach", str(program.pid), "-o", tape],
                                    stderr=subprocess.PIPE, env=recording.clean_env())
        assert b"memtape: recording" in attached.stderr.readline()

        def ctl(*words):
            return recording.run([recording.memtape(), "ctl", str(program.pid), *words])

        def say():
            program.stdin.write("go\n")
            return program.stdout.readline()

        assert json.loads(ctl("--json").stdout)["attached"]
        assert say() == "done\n" and ctl("stop").returncode == 0
        assert say() == "done\n" and ctl("start").returncode == 0
        assert say() == "done\n"
        assert recording.run([recording.memtape(), "detach", str(program.pid)]).returncode == 0
        attached.communicate(timeout=30)
        assert ctl().returncode == 1
        program.stdin.close()
        assert program.wait() == 0
    assert sizes(tape) == [1000, 3000]


@pytest.mark.parametrize("words,code,about", [
    (["nonsense"], 2, b"none of status, start"), (["mark"], 2, b"needs a text"),
    (["start", "now"], 2, b"takes no text"), (["mark", "a", "b"], 2, b"quote it"),
    (["mark", "x" * 256], 2, b"more than 255")])
def test_words_are_checked(waiting, words, code, about):
    assert about in waiting.ctl(*words, code=code).stderr


def test_who_is_not_recorded(tape):
    for operand, about in (("1", b"not being recorded"), ("nobody-is-called-so", b"no process"),
                           ("999999999", b"not being recorded")):
        done = recording.run([recording.memtape(), "ctl", operand])
        assert done.returncode == 1 and about in done.stderr
    with Recorded([TARGET, "wait"], tape) as it:
        it.memtape.kill()
        it.memtape.wait()
        assert b"not being recorded" in it.ctl(code=1).stderr


def test_what_is_not_said_by_us_is_not_believed(waiting):
    """Neither by who connects with something else, nor by who has taken the name."""
    name = f"\0memtape/{waiting.pid}"
    request = struct.pack("<IIIII", 0x4c54434d, 1, 2, 0, 0) + bytes(256)
    for message in (b"x", request[:-1], request + b"x", b"\1" + request[1:],
                    request[:8] + b"\x09" + request[9:], request[:-256] + b"y" * 256):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.connect(name)
            other.send(message)
            other.settimeout(20)
            assert other.recv(10) == b""
    idle = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(7)]
    for other in idle:
        other.connect(name)
    assert waiting.status()["state"] == "recording"
    for other in idle:
        other.close()
    if os.geteuid() != 0 or not recording.anybody_may_enter(recording.memtape()):
        return

    def as_nobody():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    done = subprocess.run([recording.memtape(), "ctl", str(waiting.pid), "stop"],
                          preexec_fn=as_nobody, capture_output=True)
    assert done.returncode == 1 and b"another user" in done.stderr
    assert waiting.status()["state"] == "recording"


def test_under_load(tape):
    """Threads allocate as fast as they can; nothing that was freed is taken to be live."""
    rounds = recording.times(1000, 20)
    with Recorded([TARGET, "storm", "600", "2"], tape, "--no-free-stacks") as it:
        assert it.memtape.stdout.readline() == "begun\n"
        for i in range(rounds):
            it.ctl("-q", "stop")
            if i % 10 == 0:
                it.ctl("-q", "mark", f"mark {i}")
            if i % 20 == 0:
                it.ctl("-q", "snapshot")
            it.ctl("-q", "start")
        it.ctl("-q", "leak-scan")
        os.kill(it.pid, signal.SIGTERM)
        it.end()
    assert len(pauses(tape)) == rounds
    quality = recording.report(tape, "summary")["quality"]
    assert quality["lost_events"] == 0 and quality["damaged_places"] == 0


def test_all_is_freed_in_the_end(tape):
    with Recorded([TARGET, "storm", "0.5", "2"], tape, "--no-free-stacks") as it:
        assert it.memtape.stdout.readline() == "begun\n"
        stop = threading.Event()

        def toggle():
            while not stop.is_set() and it.memtape.poll() is None:
                for word in ("stop", "start"):
                    recording.run([recording.memtape(), "ctl", str(it.pid), word])

        toggler = threading.Thread(target=toggle)
        toggler.start()
        code, out, err = it.end()
        stop.set()
        toggler.join()
    assert (code, out, err) == (0, "over\n", "")
    assert pauses(tape)
    assert sizes_left(tape) == []


def sizes_left(tape):
    return [row["size"] for row in recording.report(
        tape, "allocations", "--filter",
        '(site = "before" or site = "grown" or site = "storm_thread") and not freed')]


FAMILY = """
import os, subprocess, sys, time
child = "import time\\nkept = []\\nfor i in range(1000): kept.append(bytearray(40001)), time.sleep(0.01)"
forked = os.fork()
if forked:
    executed = subprocess.Popen([sys.executable, "-c", child])
    print(forked, executed.pid, flush=True)
    sys.stdin.readline()
    executed.kill(), executed.wait(), os.kill(forked, 9), os.wait()
else:
    exec(child)
"""


def test_followed_children_are_controlled_one_by_one(tape):
    def ctl(pid, *words, code=0):
        done = recording.run([recording.memtape(), "ctl", str(pid), *words])
        assert done.returncode == code, done.stderr
        return done

    def state(pid):
        return json.loads(ctl(pid, "--json").stdout)["state"]

    with Recorded(["/usr/bin/python3", "-c", FAMILY], tape, "--follow", "--toggle", "USR2") as it:
        pids = [int(pid) for pid in it.memtape.stdout.readline().split()]
        tapes = {pid: tape.parent / f"{tape.name}.{pid}" for pid in pids}
        wait_until(lambda: all(path.exists() for path in tapes.values()))
        time.sleep(0.5)  # their programs have begun
        listed = recording.run([recording.memtape(), "ctl"]).stdout.split()
        assert all(str(pid).encode() in listed for pid in [it.pid, *pids])
        for pid in pids:
            status = json.loads(ctl(pid, "status", "--json").stdout)
            assert status["tape"] == str(tapes[pid]) and status["state"] == "recording"
            assert status["memtape_pid"] == 0 and status["events"] is None
            ctl(pid, "stop")
            assert b"already" in ctl(pid, "stop").stderr
            assert state(pid) == "paused" and state(it.pid) == "recording"
            ctl(pid, "mark", f"of {pid}")
            time.sleep(0.3)
            ctl(pid, "start")
            assert b"no memtape runs beside it" in ctl(pid, "leak-scan", code=1).stderr
        time.sleep(0.2)
        os.kill(pids[0], signal.SIGUSR2)
        wait_until(lambda: state(pids[0]) == "paused")
        assert state(pids[1]) == "recording"
        os.kill(pids[0], signal.SIGUSR2)
        wait_until(lambda: state(pids[0]) == "recording")
        time.sleep(0.2)
        it.say_end()
    for pid, path in tapes.items():
        assert b"sound" in recording.run([recording.memtape(), "verify", path]).stdout
        assert [mark["name"] for mark in recording.report(path, "marks")["marks"]] == [f"of {pid}"]
        paused = pauses(path)
        assert [pause["by"] for pause in paused] == ["control"] + ["signal"] * (pid == pids[0])
        begin, end = paused[0]["begin_ns"], paused[0]["end_ns"]
        times = [row["alloc_ns"] for row in recording.rows(path) if row["size"] == 40002]
        assert any(at < begin for at in times) and any(at > end for at in times)
        assert not any(begin < at < end for at in times)
        assert recording.report(path, "summary")["quality"]["missing_chunks"] == 0
    assert pauses(tape) == []


def wait_until(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it has not happened in 10 s")
