"""Leak scans of followed processes: each at its end, on its own tape; and which are not scanned, with the reason."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")

SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char **head; /* of the parent, and alone holds what the child has put into it */
static char *volatile held;
__attribute__((noinline)) static void lose(size_t bytes) { char *volatile block = malloc(bytes); block = NULL; }
__attribute__((noinline)) static void clear(void) { volatile char room[8192]; memset((void *)room, 0, sizeof(room)); }
static void work(int bytes)
{
	*head = malloc(500);
	held = malloc(1000);
	lose(bytes);
	clear();
}
static void child(char **argv, int number)
{
	const char *how = argv[1];
	char bytes[16];
	if (!strcmp(how, "exec")) {
		snprintf(bytes, sizeof(bytes), "%d", number);
		execl(argv[0], argv[0], bytes, NULL);
	}
	work(number);
	if (!strcmp(how, "wait"))
		puts("ready"), fflush(stdout), pause();
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "later"))
		sleep(1);
	if (!strcmp(how, "_exit"))
		_exit(0);
	exit(0);
}
int main(int argc, char **argv)
{
	const int count = argc > 2 ? atoi(argv[2]) : 0;
	head = malloc(sizeof(*head));
	for (int i = 1; i <= count; i++)
		if (fork() == 0)
			child(argv, i);
	work(count ? 7777 : atoi(argv[1]));
	if (argc > 1 && !strcmp(argv[1], "later"))
		_exit(0);
	while (count && wait(NULL) > 0)
		;
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("follow")
    (folder / "forks.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "forks", folder / "forks.c"], check=True)
    return folder / "forks"


def record(program, folder, *words, **popen):
    return recording.run([binary(), "record", "-q", "--follow", "--leak-scan", "-o", folder / "t.%p.mtape", program,
                          *words], timeout=100, **popen)


def answers(folder):
    """By tape: the classes, or why there are none."""
    for tape in sorted(folder.glob("t.*.mtape")):
        done = recording.run([binary(), "report", tape, "leak-classes", "--json"])
        yield tape, json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


def check(found, lost, inherited):
    assert found["definitely_lost"] == {"bytes": lost, "blocks": 1}
    assert found["indirectly_lost"]["blocks"] == found["possibly_lost"]["blocks"] == found["not_scanned"]["blocks"] == 0
    assert {500, 1000} <= {record["bytes"] for record in found["records"] if record["class"] == "still_reachable"}
    assert found["still_reachable"]["bytes"] >= 1500
    assert (found["scan"]["off_tape_blocks"] > 0) == inherited


@pytest.mark.parametrize("how", ["exit", "_exit", "exec"])
def test_each_followed_process_is_scanned_at_its_end(program, tmp_path, how):
    """A block that only a block of the parent holds is not lost."""
    assert record(program, tmp_path, how, 3).returncode == 0
    found = [answer for _, answer in answers(tmp_path) if isinstance(answer, dict)]
    assert sorted(answer["definitely_lost"]["bytes"] for answer in found) == [1, 2, 3, 7777]
    for answer in found:
        check(answer, answer["definitely_lost"]["bytes"], inherited=how != "exec" and answer["definitely_lost"]["bytes"] != 7777)
        assert answer["scan"]["reason"] == "exit" and answer["scan"]["id"] == 1
    for tape, _ in answers(tmp_path):
        assert recording.run([binary(), "verify", tape]).returncode == 0


def test_programs_that_close_their_descriptors_at_the_end_are_scanned(tmp_path):
    """coreutils close standard output. Behind the locale's files the first process's page is mapped before their tape."""
    done = record("bash", tmp_path, "-c", "seq 3; seq 4; true", env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and done.stdout == b"1\n2\n3\n1\n2\n3\n4\n"
    assert sum(isinstance(answer, dict) for _, answer in answers(tmp_path)) == 3


def test_many_that_end_at_once_are_all_scanned(program, tmp_path):
    count = recording.times(60, 20)
    assert record(program, tmp_path, "exit", count).returncode == 0
    lost = sorted(answer["definitely_lost"]["bytes"] for _, answer in answers(tmp_path))
    assert lost == [*range(1, count + 1), 7777]


def test_who_outlives_the_first_process_says_that_nobody_was_there(program, tmp_path):
    done = record(program, tmp_path, "later", 1)
    assert done.returncode == 0
    limit = time.monotonic() + 30
    while sum("nobody was there to make it" in answer for _, answer in answers(tmp_path)) < 1:
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert sum("definitely_lost" in answer for _, answer in answers(tmp_path)) == 1


def test_who_is_killed_has_a_report_that_says_why(program, tmp_path):
    assert record(program, tmp_path, "kill", 1).returncode == 0
    texts = [answer for _, answer in answers(tmp_path) if isinstance(answer, str)]
    assert len(texts) == 1 and "if they end by themselves and not by a signal" in texts[0]


def test_a_followed_process_that_runs_is_scanned_from_outside(program, tmp_path):
    process = subprocess.Popen([binary(), "record", "-q", "--follow", "-o", tmp_path / "t.%p.mtape", program, "wait", "1"],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    first = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    child = int(pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()[0])
    done = recording.run([binary(), "leaks", "--json", str(child)], timeout=60)
    os.kill(child, signal.SIGKILL)
    process.wait(60)
    check(json.loads(done.stdout), 1, inherited=True)


JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


@pytest.mark.skipif(not JEMALLOC.exists(), reason="libjemalloc2 is not installed")
def test_what_a_child_has_of_its_parent_in_another_malloc_is_said_to_be_unknown(program, tmp_path):
    done = record(program, tmp_path, "exit", 1, env={**os.environ, "LD_PRELOAD": str(JEMALLOC)})
    assert done.returncode == 0
    texts = [answer for _, answer in answers(tmp_path) if isinstance(answer, str)]
    assert len(texts) == 1 and "its malloc is not glibc's" in texts[0]
