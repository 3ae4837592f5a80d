"""A program that becomes another one by exec: the tape is of the last of them."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

import recording
from test_kill import check, calls_in_report, child_of, kill_all, notes_of, wait_for_end
from test_live import Shown

BECOMES = recording.target("becomes")
BEFORE = re.compile(rb"before it: (.*)\n")
ITEM = re.compile(r"(\S+) \(([\d,]+) allocations?, peak ([^,)]+)")


def record(args, tape, *options, **more):
    return recording.run_recorded(args, tape, ["--no-summary", *options], **more)


def before(done):
    """Names of the programs before, as told after the recording."""
    found = BEFORE.search(done.stderr)
    return [item[0] for item in ITEM.findall(found[1].decode())] if found else []


def info(tape):
    done = recording.run([recording.memtape(), "info", tape, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def program_of(tape):
    return pathlib.Path(info(tape)["process"]["argv"][0]).name


def counted(tape, bytes_):
    return sum(row["size"] == bytes_ for row in recording.report(tape, "allocations"))


def is_last_image(done, tape):
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert program_of(tape) == "becomes"
    assert counted(tape, 2213) == 10
    assert recording.report(tape, "summary")["lost_events"] == 0
    assert list(tape.parent.glob(tape.name + "*")) == [tape]  # nothing of the former is left


@pytest.mark.parametrize("wrapper, names", [
    (["/bin/sh", "-c", "exec {}"], ["sh"]),
    (["/bin/bash", "-c", "{}"], ["bash"]),
    (["env"], ["env"]),
    (["env", "-i"], ["env"]),
    (["nice", "-n", "1"], ["nice"]),
    (["/usr/bin/perl", "-e", "exec @ARGV"], ["perl"]),
    (["/usr/bin/python3", "-S", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"],
     ["python3"]),
    (["env", "nice", "/bin/sh", "-c", "exec {}"], ["env", "nice", "sh"]),
    ([BECOMES, "thread"], ["becomes"]),
    ([BECOMES, "fails"], ["becomes"]),
    ([BECOMES, "thread", BECOMES, "fails"], ["becomes", "becomes"]),
])
def test_the_tape_is_of_the_last_program(wrapper, names, tape):
    command = f"{BECOMES} end"
    if any("{}" in str(word) for word in wrapper):
        args = [str(word).replace("{}", command) for word in wrapper]
    else:
        args = [*wrapper, BECOMES, "end"]
    done = record(args, tape)
    is_last_image(done, tape)
    assert before(done) == names
    assert [row["program"] for row in info(tape)["before"]] == names


def test_what_was_before_is_told_with_its_figures(tape):
    done = record([BECOMES, "fails", BECOMES, "end"], tape)
    (row,) = info(tape)["before"]
    assert row["allocations"] >= 80 and 2211 <= row["peak_bytes"] < 1 << 20
    head = recording.run([recording.memtape(), "report", tape, "summary"]).stdout
    told = BEFORE.search(done.stderr)[1]
    assert b"before it: " + told + b"\n" in head
    assert ITEM.findall(told.decode())[0][1] == f"{row['allocations']:,}"


def test_a_program_that_is_no_wrapper_has_nothing_before_it(tape):
    done = record([BECOMES, "end"], tape)
    assert done.returncode == 0 and before(done) == []
    assert "before" not in info(tape)


def test_a_wrapper_script_is_recorded_as_what_it_runs(tmp_path, tape):
    script = tmp_path / "wrapper"
    script.write_text(f"#!/bin/sh\nWORD=1 exec {BECOMES} \"$@\"\n")
    script.chmod(0o755)
    done = record([script, "end"], tape)
    assert done.stdout == b"WORD=1\n"
    assert program_of(tape) == "becomes" and before(done) == ["sh"]


def test_the_next_program_sees_the_environment_it_was_given(tape):
    done = record([BECOMES, "clean", BECOMES, "end"], tape)
    assert (done.returncode, done.stdout) == (0, b"WORD=given\n")
    assert counted(tape, 2213) == 10 and before(done) == ["becomes"]


def test_its_own_preloads_stay(tape):
    other = recording.build_dir() / "tests/targets/count_interposer.so"
    done = record(["env", f"LD_PRELOAD={other}", BECOMES, "end"], tape)
    assert (done.returncode, done.stdout) == (0, f"LD_PRELOAD={other}\n".encode())
    assert counted(tape, 2213) == 10


def test_failed_calls_leave_the_recording_as_it_was(tape):
    done = record([BECOMES, "fails", "/nonexistent"], tape)
    assert done.returncode == 98
    assert counted(tape, 2211) == 80
    assert before(done) == [] and b"replaced itself" not in done.stderr


@pytest.mark.parametrize("how", ("recorded", "bare"))
def test_a_child_of_vfork_is_not_recorded(how, tape):
    run = record if how == "recorded" else recording.run_bare
    done = run([BECOMES, "child", BECOMES, "end"], tape)
    assert (done.returncode, done.stdout) == (0, b"")
    assert counted(tape, 2212) == 10 and counted(tape, 2213) == 0
    assert list(tape.parent.glob("*.mtape")) == [tape]


def test_without_following_the_tape_is_of_the_first_program(tape):
    done = record([BECOMES, "fails", BECOMES, "end"], tape, "--no-follow-exec")
    assert (done.returncode, done.stdout) == (0, b"")
    assert counted(tape, 2211) == 80 and counted(tape, 2213) == 0
    assert before(done) == []


def test_with_follow_the_tapes_before_are_kept(tape):
    done = record([BECOMES, "fails", BECOMES, "thread", BECOMES, "end"], tape, "--follow")
    assert done.returncode == 0
    assert counted(tape, 2213) == 10 and counted(tape, 2211) == 0
    kept = sorted(tape.parent.glob("*.before-*.mtape"))
    assert [path.name for path in kept] == ["the.before-1.mtape", "the.before-2.mtape"]
    assert counted(kept[0], 2211) == 80 and info(kept[0])["process"]["end"] == "exec"
    assert all(path.name.encode() in done.stderr for path in kept)
    uuids = [info(path)["tape"]["uuid"] for path in (*kept, tape)]
    assert len(set(uuids)) == 3


def test_what_cannot_be_recorded_ends_the_tape_of_the_one_before(tmp_path, tape):
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 3; }\n")
    program = tmp_path / "static"
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    done = record([BECOMES, "fails", program], tape)
    assert done.returncode == 3
    assert counted(tape, 2211) == 80 and before(done) == []
    assert b"replaced itself by another (exec), which is not recorded: it is statically linked" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is setuid of somebody else to root")
def test_a_setuid_program_gets_nothing_of_ours(tape):
    su = shutil.which("su")
    done = record([BECOMES, "thread", su, "--version"], tape)
    assert done.returncode == 0 and before(done) == []
    assert b"it is setuid" in done.stderr


def test_a_dead_collector_does_not_hold_the_next_program_up(tmp_path):
    """It kills memtape, becomes another program, and that records by itself."""
    script = f"kill -9 $PPID; sleep 0.3; exec {BECOMES} end"
    process = subprocess.Popen([recording.memtape(), "record", "-o", tmp_path / "a.mtape",
                                "/bin/sh", "-c", script], env=recording.clean_env(),
                               stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=60)  # until the program has ended, too: the pipe is its
    assert process.returncode == -9 and out == b""
    own = [path for path in tmp_path.glob("a.mtape.*") if path.name[8:].isdigit()]
    assert len(own) == 1 and counted(own[0], 2213) == 10


def test_a_stopped_recording_does_not_begin_again_in_the_next_program(tmp_path):
    with Shown(["/bin/sh", "-c", f"read word; exec {BECOMES} end"], tmp_path / "the.mtape", "-q",
               "--serve-until-exit") as shown:
        shown.until("live")
        assert shown.post("stop", {})[0] == 200
        shown.process.stdin.write(b"go\n")
        shown.process.stdin.close()
        assert shown.process.wait(30) == 0
    assert os.listdir(tmp_path) == ["the.mtape"]
    assert program_of(tmp_path / "the.mtape") == "sh"


@pytest.mark.parametrize("options", [[], ["--live"]], ids=["usual", "live"])
def test_killed_in_the_next_program_nothing_of_it_is_lost(options, tmp_path):
    """memtape first, then the program: what was not collected is in the spool that both programs had."""
    tape, notes = tmp_path / "the.mtape", tmp_path / "notes"
    process = subprocess.Popen([recording.memtape(), "record", "-q", *options, "-o", tape, "env", "nice",
                                recording.target("counted"), notes, "3"], env=recording.clean_env())
    while not (child := child_of(process.pid)) or not any(done for _, done in notes_of(notes)):
        time.sleep(0.01)
    time.sleep(0.2)
    kill_all(process.pid)
    time.sleep(0.1)
    kill_all(child)
    process.wait(60)
    wait_for_end(child)
    check(notes_of(notes), calls_in_report(tape))
    assert program_of(tape) == "counted"
    quality = recording.report(tape, "summary")["quality"]
    assert "memtape was killed" in quality["fault"] and not quality["lost_events"]
    assert not quality["missing_chunks"] and not quality["damaged_places"]


def has_begun(tape):
    try:
        return tape.stat().st_size > 0
    except FileNotFoundError:  # or another program's is about to take its name
        return False


@pytest.mark.parametrize("options", [[], ["--follow"]], ids=["usual", "follow"])
def test_whenever_all_are_killed_there_is_a_tape_that_can_be_read(options, tmp_path):
    chance = random.Random(str(options))
    for i in range(recording.times(full=100, standard=8)):
        folder = tmp_path / str(i)
        folder.mkdir()
        tape = folder / "the.mtape"
        process = subprocess.Popen([str(word) for word in (
            recording.memtape(), "record", "-q", *options, "-o", tape, *[BECOMES, "thread"] * 30, BECOMES, "end")],
            env=recording.clean_env(), start_new_session=True)
        while not has_begun(tape):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        tapes = [path for path in folder.glob("*.mtape") if path.stat().st_size > 0]
        verified = [recording.run([recording.memtape(), "verify", path]) for path in tapes]
        assert tapes and all(done.returncode == 0 for done in verified), [done.stdout for done in verified]


def comm_of_child(pid):
    done = subprocess.run(["pgrep", "-P", str(pid), "-l"], capture_output=True)
    return done.stdout


def test_what_was_appended_for_one_program_is_not_on_the_next_ones_tape(tmp_path):
    """Of a collector that was stopped so long that the program went on without it."""
    tape = tmp_path / "the.mtape"
    script = ("import os, sys\n"
              "[bytearray(777) for i in range(400000)]\n"
              "open(sys.argv[1], 'w').close()\n"
              "os.read(0, 1)\n"
              "os.execv(sys.argv[2], sys.argv[2:])\n")
    begun, ready = tmp_path / "begun", tmp_path / "ready"
    process = subprocess.Popen([recording.memtape(), "record", "-q", "-b", "256k", "-o", tape, "--", "/bin/sh", "-c",
                                f"touch {begun}; read word; exec \"$@\"", "sh", recording.which("python3"), "-S", "-c", script,
                                ready, BECOMES, "end"], env=recording.clean_env(PYTHONMALLOC="malloc"), stdin=subprocess.PIPE)
    spool = tape.with_name("the.mtape.spool")
    process.stdin.write(b"\n")
    process.stdin.flush()
    deadline = time.time() + 60
    while b"python3" not in comm_of_child(process.pid):
        assert time.time() < deadline
        time.sleep(0.005)
    while not spool.exists() or tape.stat().st_size < 16 << 10:
        time.sleep(0.002)
    process.send_signal(signal.SIGSTOP)
    size = spool.stat().st_size
    while not ready.exists() and time.time() < deadline:
        time.sleep(0.05)
    assert spool.stat().st_size > size  # else it was stopped too late
    process.send_signal(signal.SIGCONT)
    process.stdin.write(b"x")
    process.stdin.close()
    assert process.wait(60) == 0
    assert counted(tape, 2213) == 10 and counted(tape, 778) == 0
    assert recording.report(tape, "summary")["lost_events"] == 0
    assert not recording.report(tape, "summary")["quality"]["damaged_places"]


def name_of(tape):
    """(uuid, whether it is complete) of what has the name; None: nothing yet."""
    try:
        with open(tape, "rb") as file:
            head = file.read(104)
    except FileNotFoundError:
        return None
    return (head[72:88], not head[24] & 128) if len(head) == 104 else None


def test_killed_while_the_next_program_begins_nothing_of_it_is_lost(tmp_path):
    """memtape dies when the name is still the tape's before, or has just become the next one's."""
    by_itself = 0
    for i in range(recording.times(full=60, standard=8)):
        folder = tmp_path / str(i)
        folder.mkdir()
        tape, notes = folder / "the.mtape", folder / "notes"
        process = subprocess.Popen([recording.memtape(), "record", "-q", "-o", tape, "/bin/sh", "-c",
                                    f"read word; exec {recording.target('counted')} {notes} 3"],
                                   env=recording.clean_env(), stdin=subprocess.PIPE)
        while (first := name_of(tape)) is None:
            time.sleep(0.01)
        process.stdin.write(b"\n")
        process.stdin.close()
        deadline = time.monotonic() + 30
        while name_of(tape) == first and time.monotonic() < deadline:
            pass  # it is complete soon, and then replaced
        time.sleep(i % 4 / 2000)
        (child,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        process.wait(60)
        while not any(done > 50 for _, done in notes_of(notes)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kill_all(int(child))
        wait_for_end(int(child))
        own = tape.with_name(f"the.mtape.{child}")
        by_itself += own.exists()
        check(notes_of(notes), calls_in_report(own if own.exists() else tape))
        assert program_of(own if own.exists() else tape) == "counted"
        if own.exists():
            assert program_of(tape) == "sh" and info(tape)["process"]["end"] == "exec"


def test_the_server_goes_on_to_the_next_program(tmp_path):
    script = f"read word; {BECOMES} end; exec {recording.target('counted')} {tmp_path}/notes 3"
    with Shown(["/bin/sh", "-c", script], tmp_path / "the.mtape", "-q", "--serve-until-exit") as shown:
        first = shown.until("live")
        assert first["name"] == "sh"
        shown.process.stdin.write(b"go\n")
        shown.process.stdin.close()
        deadline = time.monotonic() + 30
        while (one := shown.tape())["name"] != "counted" or one["allocation_count"] < 10:
            assert time.monotonic() < deadline, one
            time.sleep(0.1)
        assert (one["id"], one["state"]) == (first["id"], "live")
        status, made = shown.post("snapshot", {})
        assert status == 200 and program_of(made["path"]) == "counted"
        kill_all(child_of(shown.process.pid))
        shown.process.wait(30)


@pytest.mark.parametrize("how", ("recorded", "bare"))
def test_a_child_that_became_another_program_says_so(how, tmp_path):
    """And does not say that it leaked, or that a forked one had nothing."""
    script = f"({BECOMES} fails {BECOMES} end); true"
    if how == "recorded":
        done = record(["/bin/sh", "-c", script], tmp_path / "%e.%p.mtape", "--follow")
    else:
        done = recording.run_bare(["/bin/sh", "-c", script], tmp_path / "%e.%p.mtape", env={"MEMTAPE_OPTIONS": "follow=1"})
    assert done.returncode == 0, done.stderr
    ends = {}
    for tape in tmp_path.glob("*.mtape"):
        text = recording.run([recording.memtape(), "report", tape, "summary"]).stdout.decode()
        process, kind = info(tape)["process"], info(tape)["tape"]
        key = (pathlib.Path(process["argv"][0]).name, process["argv"][1], kind["forked"])
        ends[key] = process["end"]
        assert ("became another program" in text) == (process["end"] == "exec")
        assert ("ever freed" in text) == (process["end"] != "exec")
        assert ("besides what it had from its parent" in text) == kind["forked"]
    assert ends[("becomes", "fails", False)] == "exec" and ends[("becomes", "end", False)] == "exit"
    assert ends[("sh", "-c", False)] == "exit"


def test_a_program_whose_exec_has_failed_has_become_no_other(tape):
    done = recording.run_bare([BECOMES, "fails", "/nonexistent"], tape)
    assert done.returncode == 98 and info(tape)["process"]["end"] == "exit"


def in_namespace(*args):
    """The command with process numbers of its own, of which the first is 1."""
    for options in (["-pf"], ["-Urpf"]):
        if shutil.which("unshare") and recording.run(["unshare", *options, "true"]).returncode == 0:
            return ["unshare", *options, *args]
    pytest.skip("no PID namespaces here")


def test_the_same_number_in_another_namespace_is_another_process(tmp_path):
    """memtape is 2, below the first process, and the shell 3; in a namespace of the shell's child `ls` is 3, too."""
    tape = tmp_path / "the.mtape"
    inner = " ".join(in_namespace()) + " sh -c '/bin/true; /bin/ls >&2; :'; /bin/ls; echo $$"
    done = recording.run(in_namespace(recording.memtape(), "record", "--no-summary", "--follow", "-o", tape, "--", "sh", "-c",
                                      f"{inner}; :"), cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.split()[-1] == b"3"
    assert program_of(tape) == "sh" and not before(done)
    assert sorted(program_of(path) for path in tmp_path.glob("the.mtape.*")).count("ls") == 2
    assert not list(tmp_path.glob("the.before*"))


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root becomes another user")
def test_another_user_who_may_not_open_the_spool_runs_unrecorded(tmp_path):
    tape = tmp_path / "the.mtape"
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "env; id -u"]
    done = record(other, tape)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == b"65534"
    assert b"MEMTAPE" not in done.stdout and b"cannot create" not in done.stderr
    why = (b"it runs as another user" if recording.anybody_may_enter(recording.library())
           else b"libmemtape.so cannot be reached from where it runs")
    assert b"is not recorded: " + why in done.stderr
    assert program_of(tape) == "setpriv"
