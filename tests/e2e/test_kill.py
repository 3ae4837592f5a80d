"""SIGKILL at random moments: what the program had done by its own count is on the tape, but for at
most the one call in progress per thread."""

import contextlib
import os
import random
import signal
import struct
import subprocess
import time

import pytest

import recording
from tape_reader import ALLOC, FUNCTIONS, Tape

THREADS = 3
ROUNDS = recording.times(full=200, standard=12)


def notes_of(path):
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [struct.unpack_from("<QQ", data, i) for i in range(0, len(data) - 63, 64)]


def calls_on_tape(tape):
    """Per thread of the target: its allocations, then its frees; told apart by their size."""
    read = Tape(tape)
    assert not read.damage
    assert not read.lost_events()
    calls = [0] * THREADS
    owner = {}
    for event in read.events:
        if FUNCTIONS[event.fn][1] == ALLOC and 3400 <= event.size < 3400 + THREADS:
            owner[event.address] = event.size - 3400
            calls[event.size - 3400] += 1
        elif FUNCTIONS[event.fn][0] == "free" and event.address in owner:
            calls[owner.pop(event.address)] += 1
    return calls


def calls_in_report(tape):
    calls = [0] * THREADS
    for row in recording.rows(tape):
        if 3400 <= row["size"] < 3400 + THREADS:
            calls[row["size"] - 3400] += 1 + (row["free_ns"] is not None)
    return calls


def check(notes, calls):
    for i, (begun, done) in enumerate(notes):
        assert done <= begun <= done + 1
        assert done <= calls[i] <= begun, (i, begun, done, calls)


def killed_after(args, env, seconds, pid_of=None):
    process = subprocess.Popen([str(a) for a in args], env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(seconds)
    victim = pid_of(process.pid) if pid_of else process.pid
    subprocess.run(["kill", "-KILL", str(victim or process.pid)], stderr=subprocess.DEVNULL)
    process.wait(60)
    if not victim:  # it may just have been starting the program, which would run for ever
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode if victim else None


def child_of(pid):
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    pids = [int(p) for p in done.stdout.split()]
    for child in pids:
        with open(f"/proc/{child}/comm") as file:
            if file.read().strip() == "counted":
                return child
    return None


def test_bare_library(tmp_path):
    chance = random.Random(20)
    events = 0
    for i in range(ROUNDS):
        tape, notes = tmp_path / f"{i}.mtape", tmp_path / f"{i}.notes"
        env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape)
        args = [recording.target("counted"), notes, THREADS]
        assert killed_after(args, env, chance.uniform(0, 0.12)) == -signal.SIGKILL
        if notes_of(notes):
            calls = calls_on_tape(tape)
            check(notes_of(notes), calls)
            events += sum(calls)
        tape.unlink(missing_ok=True)
    assert events > ROUNDS * 20


def test_record_command(tmp_path):
    if not recording.have_reader():
        pytest.skip("built without the command")
    chance = random.Random(21)
    events = 0
    for i in range(ROUNDS):
        tape, notes = tmp_path / f"{i}.mtape", tmp_path / f"{i}.notes"
        args = [recording.memtape(), "record", "--quiet", "-o", tape, "--",
                recording.target("counted"), notes, THREADS]
        code = killed_after(args, recording.clean_env(), chance.uniform(0.03, 0.2), child_of)
        if not notes_of(notes) or code is None:
            continue  # killed before the program was there
        assert code in (137, -signal.SIGKILL)
        calls = calls_in_report(tape)
        check(notes_of(notes), calls)
        events += sum(calls)
        tape.unlink()
    assert events > ROUNDS * 20


def test_killed_recorder_leaves_the_program_alone(tmp_path):
    """SIGKILL for `memtape record` itself: the program runs on and ends as it would have."""
    if not recording.have_reader():
        pytest.skip("built without the command")
    for i in range(recording.times(full=50, standard=3)):
        done = tmp_path / f"done{i}"
        script = f'{recording.target("world")} plain; sleep 0.3; {recording.target("hooks")}; echo $? > {done}'
        process = subprocess.Popen([recording.memtape(), "record", "--quiet", "-o", tmp_path / f"{i}.mtape",
                                    "--", "/bin/sh", "-c", script], env=recording.clean_env(),
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.15)
        process.kill()
        process.wait()
        deadline = time.time() + 20
        while time.time() < deadline and not (done.exists() and done.read_text()):
            time.sleep(0.05)
        assert done.read_text() == "0\n"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGSEGV", "SIGABRT", "SIGXCPU"])
def test_other_deadly_signals(name, tmp_path):
    tape, notes = tmp_path / "the.mtape", tmp_path / "notes"
    env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape)
    process = subprocess.Popen([str(recording.target("counted")), str(notes), str(THREADS)], env=env)
    time.sleep(0.1)
    process.send_signal(getattr(signal, name))
    assert process.wait(30) == -getattr(signal, name)
    check(notes_of(notes), calls_on_tape(tape))
