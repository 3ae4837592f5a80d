"""memtape top follows a tape as it grows: whenever the program rests, its figures are those of `memtape report` of a copy of the
tape. With threads, of a tape that is rotated, and of one whose collector was killed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import recording

PATIENCE_S = 60

# Works as often as it is told to, and waits.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, BLOCKS = 400 };
static void *blocks[THREADS][BLOCKS];
static unsigned long rounds;

#define FRAME __attribute__((noinline, noclone))

FRAME static void *grow(size_t bytes) { void *block = malloc(bytes); __asm__ volatile("" : : "r"(block) : "memory"); return block; }
FRAME static void *take(size_t bytes) { void *block = malloc(bytes); __asm__ volatile("" : : "r"(block) : "memory"); return block; }
FRAME static void brief(size_t bytes) { void *block = malloc(bytes); __asm__ volatile("" : : "r"(block) : "memory"); free(block); }

static void *work(void *argument)
{
	const long thread = (long)argument;
	unsigned random = (unsigned)thread + 1;

	for (unsigned long i = 0; i < rounds; i++) {
		void **block = &blocks[thread][(random = random * 1103515245 + 12345) >> 8 & 255];

		if (i % 64 == 0)
			blocks[(thread + 1) % THREADS][256 + thread] = grow(i % 1000);
		if (!*block)
			*block = take(random % 3000);
		else if (random % 5 == 0)
			*block = realloc(*block, 1 + random % 5000);
		else
			free(*block), *block = NULL;
		brief(10);
	}
	return NULL;
}

int main(void)
{
	char line[100];

	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		pthread_t threads[THREADS];

		rounds = strtoul(line, NULL, 10);
		for (long i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, (void *)i);
		for (long i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		puts("done");
	}
	return 3;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("worker") / "worker"
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-x", "c", "-o", path, "-"], input=PROGRAM.encode(), check=True)
    return path


class Recorded:
    """A recording of the program, which rests."""

    def __init__(self, program, tape, options):
        self.tape = tape
        self.process = subprocess.Popen([recording.memtape(), "record", "-q", *options, "-o", tape, "--", program],
                                        env=recording.clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hears(b"ready\n")
        until = time.monotonic() + PATIENCE_S
        while recording.run([recording.memtape(), "info", tape]).returncode != 0:  # the tape appears a moment later
            assert time.monotonic() < until
            time.sleep(0.05)

    def hears(self, what):
        assert self.process.stdout.readline() == what

    def work(self, rounds):
        self.process.stdin.write(b"%d\n" % rounds)
        self.process.stdin.flush()
        self.hears(b"done\n")

    def report(self, folder, suffixes=("",)):
        """Of a copy of the tape; None: it cannot be read, for it changed meanwhile. Its spool is not read while it is recorded."""
        copy = folder / "copy.mtape"
        for suffix in suffixes:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{copy}{suffix}")
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{self.tape}{suffix}", f"{copy}{suffix}")
        done = recording.run([recording.memtape(), "report", copy, "now", "--last", "all", "--top", "200", "--json"])
        return figures(json.loads(done.stdout)) if done.returncode == 0 else None


def figures(now):
    """All that does not depend on when it was looked at."""
    total = ("live_bytes", "live_count", "allocated_bytes", "allocated_count", "freed_count", "temporary_count", "growth_bytes")
    sites = sorted((site["function"] or "", site["stacks"], [site[key] for key in total]) for site in now["sites"])
    return {**{key: now["total"][key] for key in total}, "peak_bytes": now["peak_bytes"], "peak_ns": now["peak_ns"], "sites": sites,
            "end": now["end"]}


@contextlib.contextmanager
def recorded(program, tape, options=()):
    shown = Recorded(program, tape, options)
    try:
        yield shown
    finally:
        shown.process.stdin.close()
        shown.process.kill()
        shown.process.wait()


class Followed:
    """memtape top, which prints a look ten times a second."""

    def __init__(self, tape, folder):
        self.folder, self.path = folder, folder / "looks"
        with open(self.path, "wb") as out, open(folder / "stderr", "wb") as err:
            self.process = subprocess.Popen([recording.memtape(), "top", tape, "-n", "1000000", "-i", "0.1", "--last", "all", "--cost", "30",
                                             "--json"],
                                            env=recording.clean_env(), stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def look(self):
        """The last one that is there as a whole; None: there is none yet."""
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return json.loads(lines[-1]) if lines else None

    def shows(self, expected):
        """Waits until its figures are those expected() finds."""
        until = time.monotonic() + PATIENCE_S
        while True:
            look, wanted = self.look(), expected()
            if look and wanted and figures(look["now"]) == wanted:
                return look
            assert time.monotonic() < until and self.process.poll() is None, \
                (look and figures(look["now"]), wanted, (self.folder / "stderr").read_bytes())
            time.sleep(0.2)


@contextlib.contextmanager
def followed(tape, folder):
    shown = Followed(tape, folder)
    try:
        yield shown
    finally:
        shown.process.kill()
        shown.process.wait()


@pytest.mark.parametrize("options", [[], ["--latency"], ["--no-compress"]])
def test_every_rest_is_that_of_the_tape(program, tmp_path, options):
    with recorded(program, tmp_path / "tape.mtape", options) as shown, followed(shown.tape, tmp_path) as top:
        for rounds in (100, 20000, 1, 3000):
            shown.work(rounds)
            look = top.shows(lambda: shown.report(tmp_path))
            assert look["state"] == "recording" and look["now"]["total"]["live_count"] > 0
        shown.process.stdin.close()
        look = top.shows(lambda: shown.report(tmp_path) if shown.process.poll() is not None else None)
        assert look["state"].startswith("ended: exited 3")


def test_a_tape_that_is_rotated_is_followed_anew(program, tmp_path):
    options = ["--no-compress", "--max-size", "16m", "--rotate"]
    with recorded(program, tmp_path / "tape.mtape", options) as shown, followed(shown.tape, tmp_path) as top:
        files = set()
        while len(files) < 3:
            shown.work(80000)  # not so much at once that there is no time to rotate
            top.shows(lambda: shown.report(tmp_path))
            files.add(os.stat(shown.tape).st_ino)


def test_a_collector_that_is_killed_is_no_end(program, tmp_path):
    with recorded(program, tmp_path / "tape.mtape") as shown, followed(shown.tape, tmp_path) as top:
        shown.work(5000)
        top.shows(lambda: shown.report(tmp_path))
        shown.process.send_signal(signal.SIGKILL)
        shown.process.wait()
        shown.work(5000)  # the program goes on, and writes to the spool
        top.shows(lambda: shown.report(tmp_path, ["", ".spool"]))


def test_quitting_does_not_wait_for_the_tape_to_be_read(program, tmp_path):
    with recorded(program, tmp_path / "tape.mtape") as shown:
        shown.work(100000)
        for number in (signal.SIGTERM, signal.SIGINT):
            with followed(shown.tape, tmp_path) as top:
                top.process.send_signal(number)
                assert top.process.wait(PATIENCE_S) == -number
