"""On Linux 3.10, as far as a filter of system calls is one (old_linux.py): memtape records, attaches, reads
and serves, and says what it cannot do there."""

import os
import platform
import shlex
import subprocess
import sys

import pytest

import gathering
import old_linux
import recording
import serving
from gathering import gather, until
from tape_reader import Tape

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")

PYTHON = recording.which("python3")

# Threads, a child by fork, and what that becomes by exec; each has blocks that nobody else has.
FAMILY = """
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static void keep(size_t bytes) { void *volatile block = malloc(bytes); (void)block; }

int main(int argc, char **argv)
{
	if (argc > 1)
		return keep(3003), 0;
	std::vector<std::thread> threads;
	for (int i = 0; i < 8; i++)
		threads.emplace_back([] { for (int k = 0; k < 100; k++) keep(1001); });
	for (std::thread &thread : threads)
		thread.join();
	const pid_t child = fork();
	int status = -1;
	if (child == 0) {
		keep(2002);
		execl(argv[0], argv[0], "again", nullptr);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
"""

WAITS = """
import sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept += [bytearray(7007) for i in range(100)]
    print("done", flush=True)
"""

PROBE = """
import ctypes, errno, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: os.memfd_create("a"), lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR), lambda: os.pidfd_open(os.getpid()),
             lambda: os.getrandom(1), lambda: mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise(18)):
    try:
        call()
        print(0)
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


@pytest.fixture
def old(tmp_path, monkeypatch):
    """memtape is run as on the old kernel, by all that tests have for it."""
    wrapper = tmp_path / "memtape"
    words = [sys.executable, old_linux.__file__, recording.memtape()]
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(recording, "memtape", lambda: wrapper)


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    (folder / "family.cpp").write_text(FAMILY)
    subprocess.run(["c++", "-O1", "-g", "-pthread", "-o", folder / "family", folder / "family.cpp"], check=True)
    return folder / "family"


def memtape(*args, code=0):
    done = recording.run([recording.memtape(), *args])
    assert done.returncode == code, done.stderr.decode()
    return done


def sizes(tape):
    return [row["size"] for row in recording.rows(tape)]


def test_the_old_kernel_lacks_what_came_later():
    done = recording.run([sys.executable, old_linux.__file__, PYTHON, "-c", PROBE])
    assert done.stdout.split() == [b"ENOSYS", b"EISDIR", b"ENOSYS", b"ENOSYS", b"EINVAL"], done.stderr


def test_a_program_with_threads_and_children_is_recorded(old, family, tmp_path):
    folder = tmp_path / "session"
    done = recording.run_recorded([family], folder, ["--no-summary", "--follow"])
    assert done.returncode == 0, done.stderr
    tapes = sorted(folder.glob("*.mtape"))
    found = {name: [sizes(tape).count(name) for tape in tapes] for name in (1001, 2002, 3003)}
    assert len(tapes) == 3 and {name: sum(counts) for name, counts in found.items()} == {1001: 800, 2002: 1, 3003: 1}, found
    for tape in tapes:
        assert b"sound" in memtape("verify", tape).stdout
        assert recording.report(tape, "summary")["lost_events"] == 0
    memtape("report", folder)


def test_what_python_did_is_reported_served_and_packed_again(old, tape):
    done = recording.run_recorded([PYTHON, "-c", "kept = [bytearray(5005) for i in range(500)]"], tape, ["-q", "--leak-scan=exit"])
    assert done.returncode == 0, done.stderr
    before = recording.report(tape, "summary")
    assert before["lost_events"] == 0 and before["allocations"]["count"] > 1000
    for report in ("leaks", "findings", "recording", "allocations"):
        recording.report(tape, report)
    memtape("repack", tape)
    memtape("anonymise", tape, "-o", tape.with_name("other.mtape"))
    memtape("sql", tape, "SELECT count(*) FROM allocations")
    assert recording.report(tape, "summary") == before
    with serving.serve(tape) as server:
        server.wait_read()
        assert server.json("summary")["allocations"]["count"] == before["allocations"]["count"]
        assert server.ask("/api/v1/export?to=folded").status == 200


def test_the_starter_for_devices_starts(tape):
    starter = recording.library().parent / "memtape-record"
    if not starter.exists():
        pytest.skip("it lies beside an installed library")
    done = recording.run([starter, "-o", tape, recording.target("service"), "1000"], preexec_fn=old_linux.install())
    assert done.returncode == 0 and done.stderr == b""
    read = Tape(tape)
    assert not read.damage and not read.fault and read.lost_events() == 0
    assert any(read.uuid)


def test_a_process_is_attached_to_and_let_go(old, tape):
    """It itself has no filter, which attaching refuses; what it is made to do is asked for as on the old kernel."""
    with subprocess.Popen([PYTHON, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        attached = subprocess.Popen([recording.memtape(), "attach", str(process.pid), "--no-summary", "-o", tape],
                                    stderr=subprocess.PIPE, env=recording.clean_env())
        assert b"recording" in attached.stderr.readline()
        process.stdin.write("work\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        memtape("detach", process.pid)
        error = attached.communicate(timeout=60)[1]
        assert attached.returncode == 0, error
        process.stdin.close()
        assert process.wait(60) == 0
    assert sizes(tape).count(7007 + 1) + sizes(tape).count(7007) >= 100


@pytest.mark.parametrize("words", ("", ",none"), ids=("tape", "none"))
def test_the_recorder_alone_sends_its_tape(words, tmp_path):
    """It knows its end by a lease where no file in memory can be sealed."""
    token = gathering.token_file(tmp_path / "token")
    with gather(tmp_path / "tapes", token) as gatherer:
        env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=f"tcp://{gatherer.where}{words}", MEMTAPE_TOKEN_FILE=token)
        done = recording.run([recording.target("service"), "5000"], env=env, cwd=tmp_path, preexec_fn=old_linux.install())
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: gatherer.has_said("complete at"))
        sent, = gatherer.tapes()
    assert recording.report(sent, "summary")["lost_events"] == 0
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(".memtape-")]


def test_a_recording_is_sent_as_it_grows(old, tmp_path, tape):
    with gather(tmp_path / "tapes") as gatherer:
        done = recording.run_recorded([recording.target("service"), "5000"], tape, ["--no-summary", "--to", gatherer.where])
        assert done.returncode == 0, done.stderr
        until(lambda: gatherer.has_said("complete at"))
        sent, = gatherer.tapes()
    assert recording.report(sent, "summary") == recording.report(tape, "summary")


def test_what_cannot_be_done_there_is_said(old, tape):
    done = recording.run_recorded([recording.target("service"), "10"], tape, ["--no-summary", "--trace=faults"])
    assert done.returncode == 0 and b"takes Linux 4.1" in done.stderr, done.stderr
