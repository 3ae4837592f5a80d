"""Processes that are stopped (SIGSTOP): nothing can be done in them, so that is said, and they can be let go later."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

# Allocates all the time, in two threads; at the end it says how often a block was not as it had left it.
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static int bad;
static void on_signal(int number) { (void)number; is_over = 1; }

static void *work(void *seed)
{
	unsigned *held[64] = { 0 };
	for (unsigned s = (unsigned)(size_t)seed; !is_over; s = s * 1103515245 + 12345) {
		unsigned at = s >> 20 & 63;
		if (held[at] && *held[at] != at)
			__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
		free(held[at]);
		held[at] = malloc(16 + (s >> 16) % 4000);
		*held[at] = at;
		if (at == 0)
			usleep(100);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
	signal(SIGTERM, on_signal);
	puts("ready"), fflush(stdout);
	pthread_create(&other, NULL, work, (void *)7);
	work((void *)8);
	pthread_join(other, NULL);
	printf("%d bad\n", bad);
	return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", folder / "program", folder / "p.c", "-pthread"], check=True)
    return folder / "program"


@pytest.fixture
def program(built):
    process = subprocess.Popen([built], stdout=subprocess.PIPE, text=True, env=recording.clean_env())
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait(timeout=30)
    process.stdout.close()


def states(pid):
    return {path.read_text().split("State:\t")[1][0] for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status")}


def stop(process):
    process.send_signal(signal.SIGSTOP)
    until = time.monotonic() + 20
    while states(process.pid) != {"T"} and time.monotonic() < until:
        time.sleep(0.01)
    assert states(process.pid) == {"T"}


def attach(process, tape, *options):
    attaching = subprocess.Popen([binary(), "attach", "-f", "-o", tape, *options, str(process.pid)], stderr=subprocess.PIPE, text=True,
                                 env=recording.clean_env())
    assert "recording" in attaching.stderr.readline()
    return attaching


def run(word, *more):
    return recording.run([binary(), word, *more])


def mappings(pid, word):
    return [line for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if word in line]


def is_hooked(pid):
    """Whether a word of what its program and libraries have beside their code leads into memtape's library."""
    ranges = [[int(part, 16) for part in line.split()[0].split("-")] for line in mappings(pid, "memtape-attach") if " r-xp " in line]
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in mappings(pid, "/"):
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if line.split()[1] not in ("rw-p", "r--p") or "memtape" in line or ".so.cache" in line:
                continue
            memory.seek(begin)
            if any(first <= word < last for word in memoryview(memory.read(end - begin)).cast("Q") for first, last in ranges):
                return True
    return False


def can_be_let_go(process, tape):
    """That was left as it was: it goes on, is let go, and can be attached to and let go again."""
    assert states(process.pid) == {"T"} and is_hooked(process.pid)
    done = run("detach", str(process.pid))
    assert done.returncode == 1 and f"`memtape detach {process.pid}`".encode() in done.stderr, done.stderr
    process.send_signal(signal.SIGCONT)
    time.sleep(0.3)  # so long that the recorder notices that nobody collects any more
    assert is_hooked(process.pid)
    done = run("attach", "-d", "10ms", "-fo", tape, str(process.pid))
    assert done.returncode == 1 and b"attached to already; see `memtape detach`" in done.stderr, done.stderr
    done = run("detach", str(process.pid))
    assert done.returncode == 0 and b"recorded no more" in done.stderr, done.stderr
    assert not is_hooked(process.pid) and not mappings(process.pid, ".spool")
    goes_on(process, tape)


def goes_on(process, tape):
    done = run("detach", str(process.pid))
    assert done.returncode == 1 and b"is not attached to" in done.stderr, done.stderr
    done = run("attach", "-d", "100ms", "-fo", tape, str(process.pid))
    assert done.returncode == 0, done.stderr
    assert json.loads(run("info", tape, "--json").stdout)["tape"]["events"] > 0
    assert not is_hooked(process.pid)
    process.terminate()
    assert process.communicate(timeout=30)[0] == "0 bad\n" and process.returncode == 0


def test_a_stopped_process_is_recorded_until_it_can_be_let_go(program, tmp_path):
    attaching = attach(program, tmp_path / "tape")
    time.sleep(0.2)
    stop(program)
    done = run("detach", str(program.pid))
    said = f"memtape: process {program.pid} is stopped (SIGSTOP, Ctrl-Z), so it cannot be let go now: " \
           f"`kill -CONT {program.pid}`, then `memtape detach {program.pid}`\n"
    assert (done.returncode, done.stderr.decode()) == (1, said)
    assert attaching.poll() is None and states(program.pid) == {"T"}
    program.send_signal(signal.SIGCONT)
    done = run("detach", str(program.pid))
    assert done.returncode == 0 and b"ended its tape" in done.stderr, done.stderr
    assert attaching.wait(timeout=30) == 0
    assert "recording was stopped then, as asked; the program went on" in attaching.stderr.read()
    assert not is_hooked(program.pid)
    goes_on(program, tmp_path / "again")


@pytest.mark.parametrize("how", ["ctrl-c", "duration", "inline"])
def test_memtape_ends_while_the_process_is_stopped(how, program, tmp_path):
    attaching = attach(program, tmp_path / "tape", *{"duration": ["-d", "1s"], "inline": ["--hook=inline"]}.get(how, []))
    time.sleep(0.2)
    stop(program)
    if how != "duration":
        attaching.send_signal(signal.SIGINT)
    assert attaching.wait(timeout=30) == 1
    told = attaching.stderr.read()
    assert f"process {program.pid} is stopped" in told and f"then `memtape detach {program.pid}`" in told, told
    assert "the program went on" not in told and "none of the locks" not in told
    assert run("verify", tmp_path / "tape").returncode == 0
    can_be_let_go(program, tmp_path / "again")


def test_a_stopped_process_whose_collector_was_killed(program, tmp_path):
    attaching = attach(program, tmp_path / "tape")
    stop(program)
    attaching.kill(), attaching.wait()
    done = run("detach", str(program.pid))
    assert done.returncode == 1 and b"kill -CONT" in done.stderr, done.stderr
    program.send_signal(signal.SIGCONT)
    assert run("detach", str(program.pid)).returncode == 0
    assert not is_hooked(program.pid)
    goes_on(program, tmp_path / "again")


def test_a_stopped_process_is_not_attached_to(program, tmp_path):
    stop(program)
    begin = time.monotonic()
    done = run("attach", "-o", tmp_path / "tape", str(program.pid))
    assert done.returncode == 1 and not os.path.exists(tmp_path / "tape")
    assert done.stderr.decode() == f"memtape: process {program.pid} is stopped (SIGSTOP, Ctrl-Z), so it cannot be attached to now: " \
                                   f"`kill -CONT {program.pid}`, then try again\n"
    assert time.monotonic() - begin < 5 and states(program.pid) == {"T"} and not mappings(program.pid, "memtape-attach")
    [row] = [row for row in json.loads(run("attach", "--list", "--json").stdout)["processes"] if row["pid"] == program.pid]
    assert (row["obstacle"], "memtape: " + row["refusal"] + "\n") == ("stopped", done.stderr.decode())
    program.send_signal(signal.SIGCONT)
    goes_on(program, tmp_path / "tape")
