"""Leak scans where somebody else has the program: a debugger, a tracer, SIGSTOP, a seccomp filter, another user."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import recording
import seccomp
from recording import memtape as binary
from test_leak_scan import classes, pid_of, program, start, stop  # noqa: F401

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")
needs_gdb = pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")

LOST = {"bytes": 77, "blocks": 1}
NOBODY = 65534


def status(pid, name, tid=None):
    text = pathlib.Path(f"/proc/{pid}/task/{tid or pid}/status").read_text()
    return re.search(rf"^{name}:\s*(\S+)", text, re.MULTILINE).group(1)


def wait_until(what, limit_s=30):
    limit = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.01)


def threads_of(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


class Tracer:
    """Attached to a process from begin to end."""

    def __init__(self, args, traced, tid=None):
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_until(lambda: status(traced, "TracerPid", tid) == str(self.process.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.communicate(b"detach\nquit\n", timeout=30)
        finally:
            self.process.kill()
            self.process.wait()


def gdb(pid):
    return Tracer(["gdb", "-q", "-nx", "-p", str(pid)], pid)


def strace(pid, tid=None):
    tracer = Tracer(["strace", "-qq", "-o", "/dev/null", "-p", str(tid or pid)], pid, tid)
    tracer.process.stdin.close()
    tracer.process.communicate = lambda *_, **__: tracer.process.terminate()
    return tracer


def leaks(pid, **popen):
    return recording.run([binary(), "leaks", "-q", "--json", pid], timeout=60, **popen)


# --- tracers ----------------------------------------------------------------------------------------


@needs_gdb
@pytest.mark.parametrize("options", [(), ("--leak-scan=exit",)])
def test_a_program_in_a_debugger_is_refused_and_goes_on(program, tmp_path, options):
    """With a scan at its end the recorder traces it, so that it is the debugger who is refused."""
    process = start(program, tmp_path / "tape", *options)
    pid = pid_of(process)
    if options:
        done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(pid)], capture_output=True, text=True,
                              timeout=60, check=False)
        assert f"process {pid} is already traced by process {process.pid}" in done.stderr
        assert status(pid, "State") == "S"
    else:
        with gdb(pid) as debugger:
            done = leaks(pid)
            assert done.returncode == 1 and done.stdout == b""
            assert f"is traced by process {debugger.process.pid}".encode() in done.stderr
            assert status(pid, "TracerPid") == str(debugger.process.pid) and status(pid, "State") == "t"
        assert leaks(pid).returncode == 0
    os.kill(pid, signal.SIGTERM)
    assert process.stdout.read() == "" and process.wait(30) == -signal.SIGTERM
    if options:
        assert classes(tmp_path / "tape")["definitely_lost"] == LOST


@needs_strace
def test_a_thread_that_somebody_traces_is_not_overlooked(program, tmp_path):
    process = start(program, tmp_path / "tape", words=("run", "1"))
    pid = pid_of(process)
    first, *others = threads_of(pid)
    assert first == pid and len(others) == 2
    with strace(pid, others[0]) as tracer:
        done = leaks(pid)
        assert done.returncode == 1, done
        assert f"thread {others[0]} of process {pid} is traced by process {tracer.process.pid}".encode() in done.stderr
        assert {status(pid, "TracerPid", tid) for tid in (first, others[1])} == {"0"}
    done = leaks(pid)
    assert done.returncode == 0, done.stderr
    stop(process)  # it may say that epoll_wait() was interrupted, by strace


WAITING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static char *volatile held;
int main(void)
{
	struct timespec rest = { 0, 600000000 };
	held = malloc(1000);
	if (nanosleep(&rest, NULL))
		puts("nanosleep was interrupted");
	puts("done");
	return 7;
}
"""

GDB = ["gdb", "-q", "-nx", "-batch", "-ex", "set follow-fork-mode child"]
UNDER = {
    "strace": pytest.param(["strace", "-f", "-qq", "-o", "/dev/null"], False, marks=needs_strace),
    "gdb": pytest.param([*GDB, "-ex", "run", "--args"], True, marks=needs_gdb),
    "gdb of both": pytest.param([*GDB, "-ex", "set detach-on-fork off", "-ex", "set schedule-multiple on",
                                 "-ex", "run", "--args"], True, marks=needs_gdb),
}


@pytest.mark.parametrize("when", ["exit", "signal", "every:50ms"])
@pytest.mark.parametrize("tracer, is_gdb", UNDER.values(), ids=UNDER)
def test_what_is_recorded_in_a_debugger_has_a_reason_instead_of_a_result(tmp_path, tape, tracer, is_gdb, when):
    (tmp_path / "waiting.c").write_text(WAITING)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "waiting", tmp_path / "waiting.c"], check=True)
    done = recording.run([*tracer, binary(), "record", f"--leak-scan={when}", "-o", tape, tmp_path / "waiting"], timeout=100)
    assert b"done\n" in done.stdout and b"interrupted" not in done.stdout, done
    assert b"exited with code 07" in done.stdout if is_gdb else done.returncode == 7
    answer = recording.run([binary(), "report", tape, "leak-classes"])
    assert answer.returncode == 1 and b"is traced by process" in answer.stderr
    assert recording.report(tape, "summary")["leaked"]["bytes"] >= 1000
    summary = recording.run([binary(), "report", tape]).stdout
    assert b"no result: process" in summary and b"is traced by process" in summary


# --- a program that is stopped ----------------------------------------------------------------------


def is_stopped(pid):
    """A thread that is traced says so by a small letter."""
    return {status(pid, "State", tid) for tid in threads_of(pid)} <= {"T", "t"}


def user_ticks(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_a_stopped_program_is_scanned_and_stays_stopped(program, tmp_path):
    environment = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tmp_path / "own.mtape")
    process = subprocess.Popen([program, "run", "3"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(process.pid))
        for _ in range(3):
            done = recording.run([binary(), "leaks", "--json", process.pid], timeout=60)
            assert done.returncode == 0, done.stderr
            assert b"stood still for" in done.stderr and b", or is stopped, or" in done.stderr
            wait_until(lambda: is_stopped(process.pid), 5)
            time.sleep(0.1)
            assert is_stopped(process.pid)
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_stopped(process.pid))
        process.terminate()
        said = process.stdout.read()
        assert process.wait(30) == -signal.SIGTERM and "nanosleep" not in said, said
    finally:
        process.kill()
        process.wait()


def test_a_recorded_program_that_is_stopped_for_a_while_is_scanned_before_and_after(program, tmp_path):
    tape = tmp_path / "tape"
    process = start(program, tape, "--leak-scan=every:20ms", words=("run", "2"))
    pid = pid_of(process)
    time.sleep(0.3)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid))
    before = user_ticks(pid)
    time.sleep(0.7)
    assert user_ticks(pid) - before < 5  # of the 70 that its threads would use, if scans woke them
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not is_stopped(pid))
    time.sleep(0.3)
    os.kill(pid, signal.SIGTERM)
    said = process.stdout.read()
    assert process.wait(30) == -signal.SIGTERM and "nanosleep" not in said, said
    last = classes(tape)
    assert last["definitely_lost"]["bytes"] >= 77
    scans = [recording.run([binary(), "report", tape, "leak-classes", "--scan", number])
             for number in range(1, last["scan"]["id"] + 1)]
    stopped = [b", or is stopped, or" in scan.stderr for scan in scans]
    assert any(stopped) and not stopped[0] and not stopped[-1]
    assert all(scan.returncode == 0 for scan, is_in_it in zip(scans, stopped) if not is_in_it)
    assert recording.run([binary(), "verify", tape]).returncode == 0


# --- filters of system calls ------------------------------------------------------------------------

seccomp.SYS.update(clone=56, fork=57, vfork=58, clone3=435)
NO_COPIES = [seccomp.kill(name) for name in ("clone", "fork", "vfork", "clone3")]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter has numbers of x86-64")
@pytest.mark.parametrize("filters", [NO_COPIES, []], ids=["that kill for a copy", "that let all pass"])
def test_a_program_with_a_filter_is_never_made_to_call(program, tmp_path, filters):
    """It stands still while its own memory is looked at."""
    process = subprocess.Popen([program, "run"], preexec_fn=seccomp.install(*filters), stdout=subprocess.PIPE, text=True,
                               env=recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tmp_path / "own.mtape"))
    try:
        assert process.stdout.readline() == "ready\n"
        for _ in range(3):
            done = recording.run([binary(), "leaks", "--json", "-f", "-o", tmp_path / "now", process.pid], timeout=60)
            assert done.returncode == 0, done.stderr
            assert b"until the scan was done" in done.stderr and b"has a seccomp filter" in done.stderr
            assert classes(tmp_path / "now")["definitely_lost"] == LOST
        process.terminate()
        assert process.stdout.read() == "" and process.wait(30) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()


FILTERED = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
static char *volatile held;
int main(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	struct timespec rest = { 0, 500000000 };
	held = malloc(1000);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	if (nanosleep(&rest, NULL))
		puts("nanosleep was interrupted");
	puts("done");
	return 7;
}
"""


@pytest.mark.parametrize("when", ["exit", "every:50ms"])
def test_a_recorded_program_that_filters_its_calls_ends_as_without_scans(tmp_path, tape, when):
    (tmp_path / "filtered.c").write_text(FILTERED)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "filtered", tmp_path / "filtered.c"], check=True)
    done = recording.run_recorded([tmp_path / "filtered"], tape, ["-q", f"--leak-scan={when}"], timeout=60)
    assert done.answer() == (7, b"done\n", b"")
    if when != "exit":
        early = recording.run([binary(), "report", tape, "leak-classes", "--scan", "1"])
        assert early.returncode == 1 and b"has a seccomp filter" in early.stderr
    last = recording.run([binary(), "report", tape, "leak-classes"])
    assert b"1,000 bytes in 1 block" in last.stdout or b"seccomp" in last.stderr, last


# --- other users' programs --------------------------------------------------------------------------


def run_as(user, args, **popen):
    return subprocess.Popen([str(arg) for arg in args], user=user, group=user, extra_groups=[], stdout=subprocess.PIPE,
                            text=True, env=recording.clean_env(), **popen)


def leaks_as_nobody(pid, folder):
    os.chmod(folder, 0o777)
    return recording.run([binary(), "leaks", "-q", "--json", pid], timeout=60, user=NOBODY, group=NOBODY, extra_groups=[],
                         env=recording.clean_env(TMPDIR=folder, XDG_CACHE_HOME=folder))


@needs_root
@pytest.mark.parametrize("kind", ["another user's", "setuid", "one's own"])
def test_a_program_that_one_may_not_stop_is_refused_and_goes_on(program, tmp_path_factory, kind):
    folder = tmp_path_factory.getbasetemp() / f"shared-{kind.replace(' ', '-')}"
    folder.mkdir()
    open_up = [parent for parent in folder.parents if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/")]
    modes = {path: path.stat().st_mode for path in open_up}
    if not recording.anybody_may_enter(pathlib.Path(binary())):
        pytest.skip("a build that only root may look at")
    try:
        for path in open_up:
            path.chmod(0o755)
        copy = folder / "program"
        shutil.copy(program, copy)
        copy.chmod(0o4755 if kind == "setuid" else 0o755)
        process = run_as(0 if kind == "another user's" else NOBODY, [copy, "run"])
        assert process.stdout.readline() == "ready\n"
        done = leaks_as_nobody(process.pid, folder)
        if kind == "one's own":
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 1 and b"may not be stopped: it runs as another user" in done.stderr, done
            assert leaks(process.pid).returncode == 0  # root may
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "" and process.wait(30) == -signal.SIGTERM
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
