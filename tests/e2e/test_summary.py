"""The summary that is made while a program is recorded is the one that its tape gives."""

import re
import resource
import signal
import subprocess

import pytest

import recording
import targets

pytestmark = pytest.mark.skipif(not recording.have_reader() or not recording.have_library(),
                                reason="built without memtape or its recorder")

HOW = re.compile(r"^memtape: the summary (was made while recording|is made from the tape: (.*))", re.M)
SMALL = 20_000  # bytes: played at the end, and never too late
DEEP = {"abyss"}  # few events, and many chunks of stacks, which pack well
# What a busy machine does, or a program with much memory or many threads.
REASONS = {"it could not keep up", "no processor was idle", "an event came late", "it needs much memory",
           "too many threads"}
# Of a tape that could not be finished as it was begun.
FULL = {"a chunk is not complete", "chunks of a stream are missing", "the tape is not what was played"}


def record(args, tape, *options, **more):
    """How the summary was made (None: while recording), and its text."""
    done = recording.run_recorded(args, tape, options=["-v", "-f", *options], **more)
    text = done.stderr.decode(errors="replace")
    how = HOW.search(text)
    assert how, text
    return how[2], text[how.end():].split("\n\n", 1)[1], done


def report(tape):
    done = recording.run([recording.memtape(), "report", tape, "summary", "--top", "3"])
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="replace")


def check_same(args, tape, *options, **more):
    why_not, summary, done = record(args, tape, *options, **more)
    expected = report(tape)
    assert summary.startswith(expected), why_not
    is_small = tape.stat().st_size < SMALL and args[0].name not in DEEP
    assert why_not is None or (not is_small and why_not in REASONS), why_not
    return why_not, summary, done


def program(name):
    path = recording.target(name)
    if not path.exists():
        pytest.skip(f"{name} was not built")
    return path


@pytest.mark.parametrize("case", targets.all_cases(), ids=lambda case: case.id)
def test_of_every_target(case, tape):
    check_same([program(case.name), *case.args], tape)


@pytest.mark.parametrize("options", [["--no-stacks"], ["--no-free-stacks"], ["--latency"], ["--no-compress"],
                                     ["--buffer", "256k"], ["--level", "9"]], ids=" ".join)
def test_with_options(options, tape):
    check_same([program("threads"), "eight"], tape, *options)
    check_same([program("sites")], tape, *options)


SCANNED = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile held[1000];
__attribute__((noinline)) static void lose(size_t bytes) { char *volatile block = malloc(bytes); block = NULL; }
__attribute__((noinline)) static void clear(void) { volatile char room[8192]; memset((void *)room, 0, sizeof(room)); }
static void *work(void *unused)
{
	char *volatile own[100] = { 0 };
	for (int i = 0; i < 200000; i++) {
		free(own[i % 100]);
		own[i % 100] = malloc(16 + i % 50);
	}
	for (int i = 0; i < 100; i++)
		free(own[i]);
	return unused;
}
int main(int argc, char **argv)
{
	int threads = atoi(argv[1]);
	pthread_t thread[8];
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 300000; i++) {
		free(held[i % 1000]);
		held[i % 1000] = malloc(16 + i % 50);
		if (i % 10000 == 0)
			lose(77);
	}
	clear();
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (argc > 2)
		kill(getpid(), atoi(argv[2]));
	return 7;
}
"""


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("summary")
    (folder / "scanned.c").write_text(SCANNED)
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "-o", folder / "scanned", folder / "scanned.c"], check=True)
    return folder / "scanned"


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("when", ["exit", "every:20ms"])
def test_with_leak_scans(when, threads, scanned, tape):
    _, summary, done = check_same([scanned, str(threads)], tape, f"--leak-scan={when}")
    assert done.returncode == 7
    assert re.search(r"^Leak scan   exit, after .*\n   definitely lost: 2,310 bytes in 30 blocks$", summary, re.M)


@pytest.mark.parametrize("options", [[], ["--leak-scan"]], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM], ids=lambda number: number.name)
def test_of_a_program_that_is_killed(number, options, scanned, tape):
    _, _, done = check_same([scanned, "2", str(int(number))], tape, *options)
    assert done.returncode == -number


@pytest.mark.parametrize("kib", [1 << 10, 1 << 11])
def test_of_a_tape_that_the_disk_has_no_room_for(kib, scanned, tape):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    why_not, summary, done = record([scanned, "2"], tape, "--no-compress", preexec_fn=limit)
    assert summary.startswith(report(tape))
    assert why_not is None or why_not in REASONS | FULL, why_not
    assert done.returncode == 7
    assert tape.stat().st_size <= kib << 10 and b"File too large" in done.stderr
