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
        begun = tmp_path / f"begun{i}"
        script = f': > {begun}; {recording.target("world")} plain; sleep 0.3; {recording.target("hooks")}; echo $? > {done}'
        process = subprocess.Popen([recording.memtape(), "record", "--quiet", "-o", tmp_path / f"{i}.mtape",
                                    "--", "/bin/sh", "-c", script], env=recording.clean_env(),
                                   stdout=subprocess.DEVNULL)
        deadline = time.time() + 60
        while time.time() < deadline and not begun.exists():
            time.sleep(0.01)
        time.sleep(0.1)
        process.kill()
        process.wait()
        while time.time() < deadline and not (done.exists() and done.read_text()):
            time.sleep(0.05)
        assert done.read_text() == "0\n"


def kill_all(*pids):
    for pid in pids:
        subprocess.run(["kill", "-KILL", str(pid)], stderr=subprocess.DEVNULL)


def wait_for_end(pid):
    deadline = time.time() + 20
    while os.path.exists(f"/proc/{pid}") and time.time() < deadline:
        time.sleep(0.01)


def killed(args, chance, who):
    """Runs it and kills at a random moment. Returns whether the program had begun."""
    process = subprocess.Popen([str(a) for a in args], env=recording.clean_env(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(chance.uniform(0.03, 0.2))
    child = child_of(process.pid)
    if child is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        return False
    if who == "the group":
        os.killpg(process.pid, signal.SIGKILL)
    elif who == "the program, then memtape":
        kill_all(child, process.pid)
    elif who == "memtape, then the program":
        kill_all(process.pid, child)
    else:
        kill_all(process.pid)
        time.sleep(chance.uniform(0, 0.3))
        kill_all(child)
    process.wait(60)
    wait_for_end(child)
    return True


EVERYBODY = ["the group", "the program, then memtape", "memtape, then the program", "memtape long before the program"]


@pytest.mark.parametrize("options", [[], ["--live"], ["--no-compress", "--buffer", "256k"], ["--latency"]],
                         ids=lambda options: options[0] if options else "usual")
@pytest.mark.parametrize("who", EVERYBODY)
def test_whoever_is_killed_nothing_is_lost(who, options, tmp_path):
    chance = random.Random(who + str(options))
    events = 0
    rounds = recording.times(full=50, standard=3)
    for i in range(rounds):
        tape, notes = tmp_path / f"{i}.mtape", tmp_path / f"{i}.notes"
        args = [recording.memtape(), "record", "--quiet", *options, "-o", tape, "--",
                recording.target("counted"), notes, THREADS]
        if not killed(args, chance, who) or not notes_of(notes):
            continue  # killed before the program was there
        calls = calls_in_report(tape)
        quality = recording.report(tape, "summary")["quality"]
        if who != "the program, then memtape" or quality["fault"]:  # else memtape had come to its end
            assert "memtape was killed" in quality["fault"] and not quality["lost_events"]
            assert not quality["missing_chunks"] and not quality["damaged_places"]
            verified = recording.run([recording.memtape(), "verify", tape])
            assert verified.returncode == 0 and b"memtape was killed" in verified.stdout
        check(notes_of(notes), calls)
        events += sum(calls)
    assert events > rounds * 20


def killed_recording(folder, chance, who, bytes_at_least=0):
    tape, notes = folder / "the.mtape", folder / "notes"
    args = [recording.memtape(), "record", "-q", "--live", "-o", tape, "--", recording.target("counted"), notes, THREADS]
    while not killed(args, chance, who) or not notes_of(notes) or tape.stat().st_size < bytes_at_least:
        for path in folder.iterdir():
            path.unlink()
    return tape, notes


def test_a_killed_recording_becomes_one_file(tmp_path):
    chance = random.Random(3)
    tape, notes = killed_recording(tmp_path, chance, "the group")
    before = calls_in_report(tape)
    check(notes_of(notes), before)
    refused = recording.run([recording.memtape(), "symbols", "embed", "-o", tmp_path / "named", tape])
    assert refused.returncode != 0 and b"run `memtape repack` first" in refused.stderr
    assert recording.run([recording.memtape(), "repack", tape]).returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes", "the.mtape"]
    assert calls_in_report(tape) == before
    assert "memtape was killed" in recording.report(tape, "summary")["quality"]["fault"]
    assert recording.run([recording.memtape(), "index", tape]).returncode == 0


def test_no_names_are_added_while_all_is_in_the_spool(tmp_path):
    """memtape killed before its first write: the tape's file is empty. It is stopped as soon as the program is there."""
    tape, notes = tmp_path / "the.mtape", tmp_path / "notes"
    args = [recording.memtape(), "record", "-q", "-o", tape, "--", recording.target("counted"), notes, THREADS]
    process = subprocess.Popen([str(a) for a in args], env=recording.clean_env(), start_new_session=True)
    while not (child := child_of(process.pid)):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGSTOP)
    while not notes.exists() or not notes_of(notes):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    wait_for_end(child)
    tape.write_bytes(b"")
    refused = recording.run([recording.memtape(), "symbols", "embed", "-o", tmp_path / "named", tape])
    assert refused.returncode != 0 and f"{tape} is".encode() in refused.stderr
    assert b"run `memtape repack` first" in refused.stderr


def test_a_torn_write_at_the_end_is_no_damage(tmp_path):
    """memtape killed inside a write: the spool has that chunk, what there is of it counts for nothing."""
    chance = random.Random(5)
    tape, notes = killed_recording(tmp_path, chance, "the group", bytes_at_least=8192)
    before = calls_in_report(tape)
    check(notes_of(notes), before)
    whole = tape.read_bytes()
    for torn in (3, 40, 100):  # inside the magic number, inside the header, inside what follows it
        tape.write_bytes(whole + whole[4096:4096 + torn])
        quality = recording.report(tape, "summary")["quality"]
        assert not quality["damaged_places"] and "memtape was killed" in quality["fault"]
        assert calls_in_report(tape) == before
    tape.write_bytes(whole + whole[4096:4096 + 40] + bytes(3 << 20))  # more than one write has
    assert recording.report(tape, "summary")["quality"]["damaged_places"]


def test_a_tape_without_its_spool_says_so(tmp_path):
    chance = random.Random(4)
    tape, notes = killed_recording(tmp_path, chance, "memtape long before the program", bytes_at_least=1)
    tape.with_name("the.mtape.spool").unlink()
    assert ".spool at its end is missing" in recording.report(tape, "summary")["quality"]["fault"]


def test_the_program_goes_on_alone_and_ends(tmp_path):
    """More than the spool has room for, recorded without a collector: all of it is there."""
    tape, done = tmp_path / "the.mtape", tmp_path / "done"
    script = ("import sys, time\n"
              "for i in range(400):\n"
              "    [bytearray(777) for j in range(1000)]\n"
              "    time.sleep(0.002)\n"
              "open(sys.argv[1], 'w').write('done')\n")
    process = subprocess.Popen([recording.memtape(), "record", "-q", "-b", "256k", "-o", tape, "--", recording.which("python3"),
                                "-c", script, done], env=recording.clean_env(PYTHONMALLOC="malloc"))
    time.sleep(0.5)
    process.kill()
    process.wait(60)
    assert not done.exists()
    growing = recording.run([recording.memtape(), "verify", tape])
    assert b"still runs" in growing.stdout
    refused = recording.run([recording.memtape(), "repack", tape])
    assert refused.returncode != 0 and b"still being written" in refused.stderr
    deadline = time.time() + 60
    while not done.exists() and time.time() < deadline:
        time.sleep(0.05)
    while b"went on to its end" not in recording.run([recording.memtape(), "verify", tape]).stdout:
        assert time.time() < deadline
        time.sleep(0.05)
    quality = recording.report(tape, "summary")["quality"]
    assert quality["lost_events"] == 0 and quality["missing_chunks"] == 0
    counted = sum(row["size"] == 778 for row in recording.rows(tape))
    assert counted == 400 * 1000


def test_a_collector_that_hangs_loses_nothing(tmp_path):
    """Stopped for longer than the recorder waits: what is appended meanwhile comes onto the tape."""
    tape, notes = tmp_path / "the.mtape", tmp_path / "notes"
    process = subprocess.Popen([recording.memtape(), "record", "-q", "-b", "256k", "-o", tape, "--",
                                recording.target("counted"), notes, str(THREADS)], env=recording.clean_env())
    while not (child := child_of(process.pid)) or not any(done for _, done in notes_of(notes)):
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    spool = tape.with_name("the.mtape.spool")
    size, deadline = spool.stat().st_size, time.time() + 40
    while spool.stat().st_size < size + 3 * (128 << 10) and time.time() < deadline:
        time.sleep(0.05)
    assert spool.stat().st_size > size
    process.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    kill_all(child)
    process.wait(60)
    assert not spool.exists()
    check(notes_of(notes), calls_in_report(tape))
    assert not recording.report(tape, "summary")["quality"]["fault"]


def test_nothing_is_left_beside_a_tape(tmp_path):
    for options in ([], ["-f"], ["--live"]):
        done = recording.run_recorded(["/bin/true"], tmp_path / "the.mtape", ["-q", "-f", *options])
        assert done.returncode == 0
        assert [p.name for p in tmp_path.iterdir()] == ["the.mtape"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGSEGV", "SIGABRT", "SIGXCPU"])
def test_other_deadly_signals(name, tmp_path):
    tape, notes = tmp_path / "the.mtape", tmp_path / "notes"
    env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape)
    process = subprocess.Popen([str(recording.target("counted")), str(notes), str(THREADS)], env=env)
    time.sleep(0.1)
    process.send_signal(getattr(signal, name))
    assert process.wait(30) == -getattr(signal, name)
    check(notes_of(notes), calls_on_tape(tape))
