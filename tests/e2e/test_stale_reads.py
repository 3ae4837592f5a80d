"""`memtape record --staleness` as root: what is read counts as used, by accessed bits of page tables."""
import os
import pathlib
import subprocess

import pytest

import recording
from test_stale import BY, ENV, MIB, USES, WRITES, about, build, site

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what is read")

SPINNING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define FRAME __attribute__((noinline))
enum { PAGES = 60, PAGE = 4096 };
static char *volatile kept[2];
FRAME void spun(void) { kept[0] = aligned_alloc(PAGE, PAGES * PAGE); memset(kept[0], 1, PAGES * PAGE); }
FRAME void left(void) { kept[1] = aligned_alloc(PAGE, 8 << 20); memset(kept[1], 1, 8 << 20); }
/* All that it touches stays in the processor's memory of pages, and it makes no system call. */
int main(void)
{
	const clock_t begin = clock();
	volatile long sum = 0;
	spun();
	left();
	while (clock() - begin < 3 * CLOCKS_PER_SEC)
		for (long round = 0; round < 2000000; round++)
			sum += kept[0][round % PAGES * PAGE];
	printf("%ld\n", sum > 0);
	return 0;
}
"""


def test_what_the_processor_keeps_in_mind_counts_as_used(tmp_path):
    program = build(tmp_path, SPINNING)
    done = recording.run_recorded([program], tmp_path / "the.mtape", ["-q", "--staleness=100ms"], env=ENV)
    assert done.returncode == 0 and done.stdout == b"1\n", done.stderr
    told = recording.report(done.tape, "idle", "--filter", "size == 245760")
    assert told["noticed"] == USES and len(told["looks"]) > 10
    # all: it did not run meanwhile; some: it was interrupted there, and ran no more
    some = [look for look in told["looks"] if sum(look["bytes"][1:]) not in (0, sum(look["bytes"]))]
    assert len(some) <= len(told["looks"]) / 10, some
    assert sum(sum(look["bytes"][1:]) == 0 for look in told["looks"]) > len(told["looks"]) / 2
    left = site(recording.report(done.tape, "stale"), "left")
    assert left["bytes"] == 8 * MIB and about(left["stale_bytes"], 8 * MIB)


HUGE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define FRAME __attribute__((noinline))
enum { HUGE = 2 << 20 };
static char *volatile kept[3];
#define TAKE(i) (kept[i] = aligned_alloc(HUGE, 3 * HUGE), madvise(kept[i], 3 * HUGE, MADV_HUGEPAGE))
FRAME void part(void) { TAKE(0); memset(kept[0], 1, 3 * HUGE); }
FRAME void none(void) { TAKE(1); memset(kept[1], 1, 3 * HUGE); }
FRAME void zeros(void) { TAKE(2); }
static int huge_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	int kib = 0;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "AnonHugePages: %d kB", &kib);
	fclose(file);
	return kib;
}
int main(void)
{
	struct timespec pause = { 0, 10000000 };
	volatile int sum = 0;
	part(), none(), zeros();
	for (int i = 0; i < 120; i++, nanosleep(&pause, NULL)) {
		sum += kept[0][HUGE + 4096];	/* of the second of its huge pages */
		for (int j = 0; j < 3; j++)
			sum += kept[2][j * HUGE + 8192];
	}
	printf("%d\n", huge_kib());
	return 0;
}
"""


def of_huge_pages(path, program):
    """(what the program printed, {function: MiB that are stale, recent, untouched})."""
    done = recording.run_recorded([program], path, ["-q", "--staleness=200ms", "-f"], env=ENV)
    assert done.returncode == 0, done.stderr
    told = recording.report(done.tape, "stale")
    return done.stdout, {name: [site(told, name)[f"{key}_bytes"] / MIB for key in ("stale", "recent", "untouched")]
                         for name in ("part", "none", "zeros")}


def test_a_huge_page_is_used_as_a_whole_and_stays_one(tmp_path):
    program = build(tmp_path, HUGE)
    plain = recording.run_plain([program], env=recording.clean_env(**ENV))
    if int(plain.stdout) < 6 * 2048:
        pytest.skip("this kernel has no huge pages to give")
    wanted = {"part": [4, 2, 0], "none": [6, 0, 0], "zeros": [0, 0, 6]}
    for _ in range(4):  # a look in the middle of memset() sees the rest of the huge page untouched
        printed, found = of_huge_pages(tmp_path / "the.mtape", program)
        if printed == plain.stdout and found == wanted:
            break
    assert printed == plain.stdout
    assert found == wanted


def test_without_the_privilege_writes_are_seen_and_why(tmp_path):
    done = recording.run_recorded(["sleep", "0.5"], tmp_path / "the.mtape", ["-q", "--staleness=100ms"], by=BY[WRITES])
    told = recording.report(done.tape, "stale")
    assert told["noticed"] == WRITES and "root" in told["blind"]
    assert "only read" in told["precision"]


@pytest.mark.skipif(not recording.anybody_may_enter(pathlib.Path(recording.memtape())),
                    reason="others cannot run what is built here")
def test_of_an_ordinary_user_writes_are_seen(tmp_path):
    tmp_path.chmod(0o777)
    done = recording.run([recording.memtape(), "record", "-q", "--staleness=100ms", "-o", "/tmp/none-of-nobody.stale.mtape",
                          "-f", "--", "sleep", "0.5"], user=65534)
    assert done.returncode == 0, done.stderr
    tape = pathlib.Path("/tmp/none-of-nobody.stale.mtape")
    told = recording.report(tape, "stale")
    tape.unlink()
    assert told["noticed"] == WRITES and "root" in told["blind"]


WAITING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char *block = malloc(64 << 20), byte;
	memset(block, 1, 64 << 20);
	puts("ready");
	fflush(stdout);
	return read(0, &byte, 1) == 1 ? block[7] - 1 : 2;
}
"""


def test_a_program_that_is_recorded_no_more_goes_on(tmp_path):
    """What was mapped in it for memtape is of no use to it, and no harm."""
    program = build(tmp_path, WAITING)
    with subprocess.Popen([recording.memtape(), "record", "-q", "--staleness=100ms", "-o", tmp_path / "the.mtape", "--",
                           program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=recording.clean_env()) as collector:
        assert collector.stdout.readline() == b"ready\n"
        child = pathlib.Path(f"/proc/{collector.pid}/task/{collector.pid}/children").read_text().split()[0]
        for _ in range(100):
            if "/dev/zero" in pathlib.Path(f"/proc/{child}/maps").read_text():
                break
            subprocess.run(["sleep", "0.05"])
        else:
            pytest.fail("nothing was mapped")
        collector.kill()
        collector.stdin.write(b"x")
        collector.stdin.flush()
        assert collector.stdout.read() == b""  # until it ends
    assert recording.report(tmp_path / "the.mtape", "summary")["peak"]["bytes"] >= 64 * MIB
