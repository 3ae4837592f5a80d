"""How the processes of a session end: the kernel is asked, also of those that are not memtape's children."""
import json
import platform
import signal
import subprocess

import pytest

import recording
import sessions
from recording import memtape

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")
# What a process ended with can be asked for after it was waited for.
RELEASE = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
REMEMBERS = RELEASE >= (6, 15)

SOURCE = r"""#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int recorder;
/*
 * Until the recorder holds this process, and goes on holding it: as the program that it was before exec it was held, too.
 * From then on the recorder cannot miss its end.
 */
static void wait_until_held(void)
{
	struct timespec little = { .tv_nsec = 2000000 };
	char path[300], line[200];
	for (int i = 0, held = 0; i < 30000; i++, nanosleep(&little, NULL)) {
		DIR *files;
		int is_held = 0;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo", recorder);
		if (!(files = opendir(path)))
			return;
		for (struct dirent *file; (file = readdir(files));) {
			FILE *about;
			int pid = 0;
			snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", recorder, file->d_name);
			if (!(about = fopen(path, "r")))
				continue;
			while (fgets(line, sizeof(line), about))
				sscanf(line, "Pid: %d", &pid);
			fclose(about);
			is_held |= pid == getpid();
		}
		closedir(files);
		held = is_held ? held + 1 : 0;
		if (held == 25)
			return;
	}
	abort();
}
static void end(const char *how)
{
	struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_CORE, &none);
	if (*how == '-') {
		signal(atoi(how + 1), SIG_DFL);
		raise(atoi(how + 1));
	}
	exit(atoi(how));
}
static int child(char **argv, int is_again, const char *how)
{
	pid_t pid = fork();
	char recorder_text[20];
	if (pid == 0) {
		free(malloc(31));
		snprintf(recorder_text, sizeof(recorder_text), "%d", recorder);
		if (is_again)
			execl(argv[0], argv[0], "again", recorder_text, how, NULL);
		wait_until_held();
		end(how);
	}
	return pid;
}
int main(int argc, char **argv)
{
	char byte;
	recorder = getppid();
	if (!strcmp(argv[1], "again")) {
		recorder = atoi(argv[2]);
		free(malloc(32));
		wait_until_held();
		end(argv[3]);
	}
	for (int i = 2; i < argc; i++) {
		pid_t pid = child(argv, !strcmp(argv[1], "exec"), argv[i]);
		if (strcmp(argv[1], "zombie"))
			waitpid(pid, NULL, 0);
	}
	if (!strcmp(argv[1], "zombie") && read(0, &byte, 1) < 0)
		return 9;
	while (wait(NULL) > 0)
		;
	return 0;
}
"""
HOW = ["0", "3", f"-{signal.SIGKILL}", f"-{signal.SIGSEGV}", f"-{signal.SIGTERM}", f"-{signal.SIGRTMIN + 2}"]
ENDS = [(0, None, "exit"), (3, None, "exit"), (None, "SIGKILL", "signal"), (None, "SIGSEGV", "signal"),
        (None, "SIGTERM", "signal"), (None, "SIGRTMIN+2", "signal")]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    (folder / "ends.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / "ends", folder / "ends.c"], check=True)
    return folder / "ends"


def command(folder, *args):
    return [memtape(), "record", "-q", "--follow", "-o", folder, "--", *args]


def ends(folder):
    rows = recording.report(folder, "processes")
    return [(row["exit"], row["signal"], row["ended"]) for row in rows]


@pytest.mark.parametrize("how", ["fork", "exec"])
def test_how_a_grandchild_ended_is_known_or_said_to_be_unknown(how, program, tmp_path):
    folder = tmp_path / "s"
    done = recording.run(command(folder, program, how, *HOW), env=recording.clean_env(), timeout=300)
    assert done.returncode == 0, done.stderr
    first, *rest = ends(folder)
    assert first == (0, None, "exit")
    if how == "exec":
        assert rest[::2] == [(None, None, "exec")] * len(ENDS)
        rest = rest[1::2]
    for got, wanted in zip(rest, ENDS, strict=True):
        assert got == wanted or (not REMEMBERS and wanted[1] and got == (None, None, "unknown"))
    rows = recording.report(folder, "processes")
    assert all(row["begin_ns"] <= row["end_ns"] for row in rows)
    text = recording.run([memtape(), "report", folder, "processes"]).stdout.decode()
    if REMEMBERS:
        assert "  SIGKILL" in text and "  SIGSEGV" in text and "  exit 3" in text


def test_how_a_process_ended_that_nobody_waits_for_is_read_while_it_is_a_zombie(program, tmp_path):
    folder = tmp_path / "s"
    recorder = subprocess.Popen(command(folder, program, "zombie", *HOW), stdin=subprocess.PIPE, env=recording.clean_env())
    try:
        sessions.wait_until(lambda: sum("ended" in line for line in sessions.lines(folder)) == len(ENDS))
    finally:
        recorder.stdin.close()
    assert recorder.wait(timeout=60) == 0
    assert sorted(ends(folder), key=repr) == sorted([(0, None, "exit"), *ENDS], key=repr)  # they began together


def test_what_the_manifest_does_not_say_of_a_killed_process_is_not_guessed(program, tmp_path):
    folder = tmp_path / "s"
    done = recording.run(command(folder, program, "fork", f"-{signal.SIGKILL}"), env=recording.clean_env(), timeout=300)
    assert done.returncode == 0, done.stderr
    kept = [line for line in sessions.lines(folder) if "ended" not in line]
    (folder / "session.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    assert ends(folder) == [(0, None, "exit"), (None, None, "unknown")]


SHORT = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 60; i++) {
		if (fork() == 0) {
			free(malloc(30));
			if (i % 4 == 3)
				_exit(i);
			raise(i % 4 == 0 ? SIGKILL : i % 4 == 1 ? SIGSEGV : SIGABRT);
		}
		wait(NULL);
	}
	return 0;
}
"""


@pytest.mark.skipif(RELEASE < (6, 16), reason="the kernel forgets those that were waited for")
def test_how_a_process_ended_is_known_however_soon_it_is_gone(tmp_path):
    (tmp_path / "short.c").write_text(SHORT)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-w", "-o", tmp_path / "short", tmp_path / "short.c"], check=True)
    done = recording.run(command(tmp_path / "s", tmp_path / "short"), env=recording.clean_env(), timeout=300)
    assert done.returncode == 0, done.stderr
    wanted = [[(None, "SIGKILL", "signal"), (None, "SIGSEGV", "signal"), (None, "SIGABRT", "signal"), (i, None, "exit")][i % 4]
              for i in range(60)]
    assert sorted(ends(tmp_path / "s"), key=repr) == sorted([(0, None, "exit"), *wanted], key=repr)
