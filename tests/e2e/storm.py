"""A program whose threads allocate as fast as they can, and leak scans in the midst of that."""

import json
import pathlib
import signal
import subprocess
import time

import recording

SOURCE = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, KEPT = 64, BURST_NS = 30000000 };

static atomic_bool is_over;
static atomic_ulong until_ns, wrong_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER;
static void *volatile lost;

__attribute__((noinline)) static void lose(void)
{
	lost = malloc(77);
	lost = NULL;
}

static unsigned long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ul + now.tv_nsec;
}

static void wait_for_burst(void)
{
	pthread_mutex_lock(&mutex);
	while (now_ns() >= until_ns && !is_over)
		pthread_cond_wait(&begin, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void tell(int is_end)
{
	pthread_mutex_lock(&mutex);
	until_ns = now_ns() + BURST_NS;
	is_over = is_end;
	pthread_cond_broadcast(&begin);
	pthread_mutex_unlock(&mutex);
}

static void check(const unsigned char *block, size_t bytes, unsigned char mark)
{
	for (size_t i = 0; block && i < bytes; i++)
		if (block[i] != mark)
			atomic_fetch_add(&wrong_count, 1);
}

static void *storm(void *seed)
{
	unsigned char *kept[KEPT] = { 0 };
	size_t bytes[KEPT] = { 0 };
	unsigned state = (unsigned)(size_t)seed;

	for (unsigned i = 0; !is_over; i++) {
		unsigned at;

		if (i % 64 == 0)
			wait_for_burst();
		state = state * 1103515245 + 12345;
		at = state >> 16 & (KEPT - 1);
		check(kept[at], bytes[at], (unsigned char)(at ^ (size_t)seed));
		free(kept[at]);
		bytes[at] = 1 + (state >> 20) % 300;
		kept[at] = malloc(bytes[at]);
		memset(kept[at], (int)(at ^ (size_t)seed), bytes[at]);
	}
	for (int i = 0; i < KEPT; i++) {
		check(kept[i], bytes[i], (unsigned char)(i ^ (size_t)seed));
		free(kept[i]);
	}
	return NULL;
}

/* Each byte that it gets is a burst. */
int main(void)
{
	pthread_t threads[THREADS];
	char byte;

	lose();
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, storm, (void *)(i + 1)))
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		tell(0);
	tell(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu bytes were wrong\n", (unsigned long)wrong_count);
	return 7;
}
"""

ALL = 16 + 1  # threads
LOST_BYTES = 77


def build(folder, *compiler):
    (folder / "storm.c").write_text(SOURCE)
    subprocess.run([*compiler, "-g", "-O2", "-pthread", "-o", folder / "storm", folder / "storm.c"], check=True)
    return folder / "storm"


class Storm:
    """The program, while it runs: by itself, or as a child of `memtape record`."""

    def __init__(self, args, **env):
        self.process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=recording.clean_env(**env))
        assert self.process.stdout.readline() == b"ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def is_copied(self):
        """Whether the copy that a scan is made of is there, which is the recorder's child, too."""
        pids = []
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                pids += (task / "children").read_text().split()
            except FileNotFoundError:  # a thread that has ended
                pass
        return len(pids) > 1

    def burst(self):
        self.process.stdin.write(b"!")
        self.process.stdin.flush()

    def ends_unharmed(self):
        out, err = self.process.communicate(timeout=60)
        assert (self.process.returncode, out, err) == (7, b"0 bytes were wrong\n", b"")


def scan_from_outside(storm, count, lost_bytes=LOST_BYTES, is_recorded=True):
    """By `memtape leaks PID`, each in the midst of a burst."""
    for i in range(count):
        storm.burst()
        time.sleep(0.001 * (i % 10))
        done = recording.run([recording.memtape(), "leaks", "-q", "--json", storm.process.pid], timeout=60)
        assert done.returncode == 0, done.stderr
        is_of_all(json.loads(done.stdout), lost_bytes, is_recorded)


def wait(until, limit_s):
    limit = time.monotonic() + limit_s
    while not until() and time.monotonic() < limit:
        time.sleep(0.001)
    return until()


def scan_by_signal(storm, count):
    """Of the program that `memtape record` has started. What it gets while it scans is no wish for another scan."""
    seen = 0
    limit = time.monotonic() + 60 + 5 * count
    while seen < count:
        storm.burst()
        time.sleep(0.001 * (seen % 10))
        storm.process.send_signal(signal.SIGUSR1)
        seen += wait(storm.is_copied, 0.5)
        assert wait(lambda: not storm.is_copied(), 60), "the scan does not end"
        assert time.monotonic() < limit, f"{seen} scans only"


def scans_while_running(tape):
    """How many there were, some twenty of which are looked at; the last one of all is that of the end."""
    count = recording.report(tape, "leak-classes")["scan"]["id"] - 1
    for number in range(1, count + 1, 1 + count // 20):
        is_of_all(recording.report(tape, "leak-classes", "--scan", number))
    return count


def is_of_all(answer, lost_bytes=LOST_BYTES, is_recorded=True):
    """Whoever stood still between a malloc() and its record has a block that was not scanned."""
    scan = answer["scan"]
    assert "trouble" not in scan, scan
    assert (scan["threads"], scan["missed_threads"]) == (ALL, 0), scan
    assert answer["not_scanned"]["blocks"] < ALL and answer["possibly_lost"]["blocks"] in (0, ALL - 1), answer
    if is_recorded:
        assert answer["definitely_lost"] == {"bytes": lost_bytes, "blocks": 1}, answer
    else:  # a thread in malloc() may have no more than the address of the chunk
        assert answer["definitely_lost"]["bytes"] >= lost_bytes and answer["definitely_lost"]["blocks"] <= ALL, answer
