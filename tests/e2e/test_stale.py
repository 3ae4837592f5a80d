"""`memtape record --staleness` and `memtape report TAPE stale`: live memory that nobody uses, or writes to."""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest

import recording
from test_serve_data import serve

MIB, PAGE = 1 << 20, 4096
LOOKS = "--staleness=300ms"
ENV = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}
WRITES, USES = "writes", "reads_and_writes"
# What runs memtape so that it sees these; as an ordinary user it sees writes in any case.
IS_ROOT = os.geteuid() == 0
BY = {WRITES: ["setpriv", "--bounding-set=-bpf,-sys_admin"] if IS_ROOT else [], USES: []}
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define FRAME __attribute__((noinline))
enum { MIB = 1 << 20, PAGE = 4096 };
static char *volatile kept[8];
static volatile long sum;
FRAME void hot(void) { kept[0] = malloc(4 * MIB); memset(kept[0], 1, 4 * MIB); }
FRAME void cold(void) { kept[1] = malloc(6 * MIB); memset(kept[1], 1, 6 * MIB); }
FRAME void half(void) { kept[2] = malloc(8 * MIB); memset(kept[2], 1, 8 * MIB); }
FRAME void never(void) { kept[3] = calloc(16, MIB); }
FRAME void only_read(void) { kept[4] = malloc(2 * MIB); memset(kept[4], 1, 2 * MIB); }
FRAME void freed(void) { kept[5] = malloc(5 * MIB); memset(kept[5], 1, 5 * MIB); }
FRAME void given_back(void) { kept[6] = malloc(3 * MIB); memset(kept[6], 1, 3 * MIB); }
FRAME void small(void) { for (int i = 0; i < 4000; i++) memset(kept[7] = malloc(300), 1, 300); }
int main(int argc, char **argv)
{
	struct timespec start, now;
	int early = 1;
	hot(); cold(); half(); never(); only_read(); freed(); given_back(); small();
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		struct timespec pause = { 0, 20000000 };
		memset(kept[0], 2, 4 * MIB);
		memset(kept[2], 3, 4 * MIB);
		for (int i = 0; i < 2 * MIB; i += PAGE)
			sum += kept[4][i];
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (early && now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 > 1.2) {
			free(kept[5]);
			madvise((void *)(((size_t)kept[6] + PAGE) & -PAGE), 2 * MIB, MADV_DONTNEED);
			early = 0;
		}
	} while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 < 3);
	printf("%d %d %ld\n", kept[0][5], kept[1][5], sum);
	return 0;
}
"""


def build(folder, source, name="program", *flags):
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / name, folder / f"{name}.c", *flags],
                   check=True)
    return folder / name


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("stale"), SOURCE)


@pytest.fixture(scope="module", name="seen", params=[WRITES, pytest.param(USES, marks=pytest.mark.skipif(
    not IS_ROOT, reason="only root sees what is read"))])
def fixture_seen(request):
    return request.param


@pytest.fixture(scope="module", name="tape")
def fixture_tape(program, seen):
    done = recording.run_recorded([program], program.with_suffix(f".{seen}.mtape"), ["-q", LOOKS],
                                  env=ENV, by=BY[seen])
    plain = recording.run_plain([program], env=ENV)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == plain.stdout.split()[:2]
    told = recording.report(done.tape, "stale")
    if "trouble" in told:
        pytest.fail(told["trouble"])
    return done.tape


def site(told, name):
    return next(s for s in told["sites"] if s["function"] == name)


def about(value, wanted):
    """Within the pages at both ends of a block, which its neighbours share, and the few of which the kernel says
    nothing while it has them in a list of a processor's."""
    return abs(value - wanted) <= 32 * PAGE


def test_what_is_not_used_is_stale(tape, seen):
    told = recording.report(tape, "stale")
    assert told["idle_ns"] == told["period_ns"] == 300 * 10**6
    assert told["noticed"] == seen and ("blind" in told) == (seen == WRITES)
    for name, stale, recent, untouched in [
            ("hot", 0, 4, 0), ("cold", 6, 0, 0), ("half", 4, 4, 0), ("never", 0, 0, 16),
            ("only_read", 2 * (seen == WRITES), 2 * (seen == USES), 0), ("given_back", 1, 0, 2)]:
        found = site(told, name)
        assert about(found["stale_bytes"], stale * MIB), (name, found)
        assert about(found["recent_bytes"], recent * MIB), (name, found)
        assert about(found["untouched_bytes"], untouched * MIB), (name, found)
        assert found["unknown_bytes"] == 0, (name, found)
    assert site(told, "half")["stale_blocks"] == 0
    assert site(told, "cold")["stale_blocks"] == 1 or (seen == USES and site(told, "cold")["stale_bytes"] < 6 * MIB)
    assert all(s["function"] != "freed" for s in told["sites"])
    few = (32 if seen == USES else 3) * PAGE // 300  # as in about(); their pages are full
    assert site(told, "small")["stale_blocks"] >= 4000 - few
    for key in ("stale_bytes", "recent_bytes", "untouched_bytes", "unknown_bytes", "bytes",
                "blocks", "stale_blocks"):
        assert told[key] == sum(s[key] for s in told["sites"]), key
    for found in [told, *told["sites"]]:
        assert found["bytes"] == sum(found[f"{key}_bytes"]
                                     for key in ("stale", "recent", "untouched", "unknown"))
    assert sum(age["bytes"] for age in told["ages"]) == \
        told["bytes"] - told["untouched_bytes"] - told["unknown_bytes"]
    assert told["time_ns"] >= site(told, "cold")["oldest_ns"] >= 2 * 10**9


def test_another_moment_and_another_time(tape):
    early = recording.report(tape, "stale", "--at", "1.15s")
    assert early["time_ns"] <= 1150 * 10**6
    assert about(site(early, "freed")["stale_bytes"], 5 * MIB)
    assert about(site(early, "given_back")["stale_bytes"], 3 * MIB)
    long = recording.report(tape, "stale", "--idle", "1h")
    assert long["stale_bytes"] == 0 and long["idle_ns"] == 3600 * 10**9
    assert about(site(long, "cold")["unknown_bytes"] + site(long, "cold")["recent_bytes"], 6 * MIB)
    part = recording.report(tape, "stale", "--filter", "size > 5M", "--top", "1")
    assert [s["function"] for s in part["sites"]] == ["cold"]
    assert part["blocks"] == 3


def test_anonymised_and_stripped_tapes_say_the_same(tape, tmp_path):
    for words in (["anonymise"], ["strip", "--min-lifetime", "1us"]):
        other = tmp_path / f"{words[0]}.mtape"
        done = recording.run([recording.memtape(), words[0], tape, *words[1:], "-o", other])
        assert done.returncode == 0, done.stderr
        mine, theirs = (recording.report(t, "stale") for t in (tape, other))
        for key in ("stale_bytes", "recent_bytes", "untouched_bytes", "bytes", "ages", "time_ns"):
            assert mine[key] == theirs[key], (words, key)


def test_info_says_what_was_seen(tape, seen):
    done = recording.run([recording.memtape(), "info", tape, "--json"])
    assert done.returncode == 0, done.stderr
    told, looks = recording.report(tape, "stale"), json.loads(done.stdout)["looks"]
    assert len(looks) == 1 and looks[0]["noticed"] == seen and looks[0]["period_ns"] == 300 * 10**6
    assert looks[0]["looks"] == len(recording.report(tape, "idle")["looks"])
    assert looks[0]["precision"] == told["precision"] and looks[0]["blind"] == told.get("blind")
    assert told["precision"] in recording.run([recording.memtape(), "info", tape]).stdout.decode()


def test_a_tape_without_looks(tmp_path):
    done = recording.run_recorded(["true"], tmp_path / "the.mtape", ["-q"])
    assert "looks" not in json.loads(recording.run([recording.memtape(), "info", done.tape, "--json"]).stdout)
    told = recording.run([recording.memtape(), "report", done.tape, "stale"])
    assert told.returncode == 1 and b"record --staleness" in told.stderr


@pytest.mark.parametrize("words, about_what", [
    (["--staleness=1"], None), (["--staleness=99ms"], b"100ms"), (["--staleness=x"], b"100ms")])
def test_times_are_checked(words, about_what, tmp_path):
    done = recording.run_recorded(["true"], tmp_path / "the.mtape", ["-q", *words])
    assert (done.returncode == 0) == (about_what is None)
    assert (about_what or b"") in done.stderr


def test_looks_all_along(tape):
    told = recording.report(tape, "idle")
    bounds = told["bounds_ns"]
    assert bounds[0] == 0 and bounds[1] == 10**8 and bounds == sorted(set(bounds))
    assert 6 <= len(told["looks"]) <= 20  # every 300 ms of three seconds
    for look in told["looks"]:
        at = recording.report(tape, "stale", "--at", f"{look['time_ns']}ns", "--idle", "1ns")
        assert at["time_ns"] == look["time_ns"]
        assert at["untouched_bytes"] == look["untouched"]
        assert at["stale_bytes"] + at["recent_bytes"] + at["unknown_bytes"] == \
            sum(look["bytes"]) + look["unknown"]
        for lower, least in zip(bounds[1:], range(1, len(bounds))):
            idle = recording.report(tape, "stale", "--at", f"{look['time_ns']}ns", "--idle",
                                    f"{lower}ns") if least % 5 == 0 else None
            assert idle is None or idle["stale_bytes"] == sum(look["bytes"][least:])
    few = recording.report(tape, "idle", "--points", "3")
    assert len(few["looks"]) == 3 and few["looks"][-1] == told["looks"][-1]
    part = recording.report(tape, "idle", "--filter", "size > 5M and size < 7M")  # cold
    last = part["looks"][-2]
    assert about(sum(last["bytes"]), 6 * MIB) and last["untouched"] == 0
    assert about(sum(size for bound, size in zip(bounds, last["bytes"]) if bound > 10**9), 6 * MIB)


def test_the_look_is_not_of_the_end(tape):
    # Programs free what they have when they exit.
    told = recording.report(tape, "stale")
    ended_ns = recording.report(tape, "summary")["duration_ns"]
    assert told["time_ns"] + 3 * 10**8 <= ended_ns
    later = [look for look in recording.report(tape, "idle")["looks"]
             if told["time_ns"] < look["time_ns"] <= ended_ns - 3 * 10**8]
    assert not later


def test_the_finding(tmp_path):
    # A finding is about the later half of the time: the program runs three times as long as it
    # took to begin, however slow the machine is.
    source = ("import os, sys, time\n"
              "def cold(): return [bytearray(1 << 20) for i in range(12)]\n"
              "def hot(): return [bytearray(1 << 20) for i in range(9)]\n"
              "kept, used = cold(), hot()\n"
              "now = time.monotonic()\n"
              "end = now + max(2, 2 * (now - float(sys.argv[1])))\n"
              "while time.monotonic() < end:\n"
              "    for b in kept + used: b[0]\n"
              "    for b in used: b[:] = bytes(1 << 20)\n"
              "    time.sleep(0.02)\n"
              "os._exit(0)\n")
    done = recording.run_recorded(["/usr/bin/python3", "-c", source, str(time.monotonic())],
                                  tmp_path / "the.mtape", ["-q", "--staleness=200ms"], env=ENV)
    assert done.returncode == 0, done.stderr
    found = [f for f in recording.report(done.tape, "findings")["findings"] if f["type"] == "stale"]
    assert len(found) == 1 and found[0]["bytes"] >= 11 * MIB, found
    told = json.loads(recording.run([recording.memtape(), "report", done.tape,
                                     *shlex.split(found[0]["command"]), "--json"]).stdout)
    assert told["stale_bytes"] == found[0]["bytes"]
    assert told["stale_blocks"] == found[0]["count"]


def test_the_server_says_the_same(tape):
    with serve(tape) as server:
        for name in ("stale", "idle"):
            for asked in ({}, {"q": "size > 1000"}):
                answer = server.json(f"/api/v1/{name}", **asked)
                words = ["--filter", asked["q"]] if asked else []
                assert {**recording.report(tape, name, *words), "gen": 0, "ms": 0} == \
                    {**answer, "gen": 0, "ms": 0}
        assert server.json("/api/v1/stale", idle="1h")["stale_bytes"] == 0


def test_a_metric(tape, tmp_path):
    told = recording.report(tape, "stale")
    tree = recording.report(tape, "tree", "--sort", "stale")
    assert tree["bytes"] == told["stale_bytes"] and tree["count"] == told["stale_blocks"]
    out = tmp_path / "folded"
    recording.run([recording.memtape(), "export", tape, "--to", "folded", "--metric", "stale", "-o",
                   out])
    folded = out.read_text()
    sizes = {}
    for line in folded.splitlines():
        stack, size = line.rsplit(" ", 1)
        sizes[stack.split(";")[-1]] = sizes.get(stack.split(";")[-1], 0) + int(size)
    assert sum(sizes.values()) == told["stale_bytes"]
    assert sizes["cold"] == site(told, "cold")["stale_bytes"]
    svg = tmp_path / "stale.svg"
    done = recording.run([recording.memtape(), "flamegraph", tape, "--metric", "stale", "-o", svg])
    assert done.returncode == 0 and "cold" in svg.read_text(), done.stderr
    with serve(tape) as server:
        assert server.json("/api/v1/flame", m="stale")["total"] == told["stale_bytes"]
        assert server.json("/api/v1/tree", sort="stale")["bytes"] == told["stale_bytes"]
    for words in (["flamegraph", "--metric", "stale", "--at", "1s"],
                  ["export", "--to", "folded", "--metric", "stale", "--at", "1s"],
                  ["export", "--to", "heaptrack", "--metric", "stale"]):
        done = recording.run([recording.memtape(), words[0], tape, *words[1:], "-o",
                              tmp_path / "none"])
        assert done.returncode == 2 and b"stale" in done.stderr, words


def test_a_heat_map(tape, seen, tmp_path):
    out = tmp_path / "idle.svg"
    done = recording.run([recording.memtape(), "heatmap", tape, "--what", "idle", "-o", out])
    assert done.returncode == 0, done.stderr
    assert ("not written to" if seen == WRITES else "not used for") in out.read_text()
    assert out.read_text().count("KiB") > 20
    for words in (["--scale", "linear"], ["--minlat", "1s"]):
        done = recording.run([recording.memtape(), "heatmap", tape, "--what", "idle", *words, "-o",
                              out, "-f"])
        assert done.returncode == 2 and b"rows of its own" in done.stderr


# --- the program does not notice -------------------------------------------------------------------

NOTICES = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { BYTES = 3 << 20, ROUNDS = 120 };
static unsigned hash(const unsigned char *p) { unsigned h = 0; for (int i = 0; i < BYTES; i++) h = h * 31 + p[i]; return h; }
static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;
	for (struct dirent *e; (e = readdir(dir)); count++)
		;
	closedir(dir);
	return count;
}
static void *work(void *seed)
{
	unsigned s = (unsigned)(size_t)seed;
	unsigned long sum = 0;
	for (int i = 0; i < 20000; i++) {
		size_t size = 1 + rand_r(&s) % 9000;
		unsigned char *p = malloc(size);
		memset(p, i, size);
		p = realloc(p, 2 * size);
		sum += p[size / 2] + size;
		free(p);
		if (i % 200 == 0) usleep(1000);
	}
	return (void *)sum;
}
int main(void)
{
	unsigned char *big = malloc(BYTES);
	int zeros = open("/dev/zero", O_RDONLY), pipes[2], most = 0;
	pthread_t threads[4];
	unsigned all = 0;
	for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec pause = { 0, 10000000 };
		int status, now = descriptors();
		pid_t child;
		memset(big, i, BYTES);
		if (read(zeros, big + 4096, 8192) != 8192) return 3;	/* the kernel writes */
		most = now > most ? now : most;
		child = fork();
		if (child == 0) { big[7] ^= 255; _exit(hash(big) % 200); }
		waitpid(child, &status, 0);
		all = all * 7 + WEXITSTATUS(status);
		if (i % 10 == 9) big = realloc(big, BYTES + (i << 12));	/* mremap */
		if (i % 16 == 5) { mprotect((void *)((size_t)big & -4096L), 4096, PROT_READ); mprotect((void *)((size_t)big & -4096L), 4096, PROT_READ | PROT_WRITE); }
		nanosleep(&pause, NULL);
		if (pipe(pipes)) return 4;
		if (write(pipes[1], big, 4096) != 4096 || read(pipes[0], big + 999999, 4096) != 4096) return 5;
		close(pipes[0]); close(pipes[1]);
	}
	for (size_t i = 0; i < 4; i++) { void *sum; pthread_join(threads[i], &sum); all += (unsigned)(size_t)sum; }
	printf("%u %u %d\n", all, hash(big), most);
	return 0;
}
"""


@pytest.fixture(scope="module", name="noticing")
def fixture_noticing(tmp_path_factory):
    return build(tmp_path_factory.mktemp("noticing"), NOTICES, "noticing", "-pthread")


@pytest.mark.parametrize("options", [[], ["--leak-scan=every:200ms"]], ids=["alone", "with_scans"])
def test_nothing_changes(noticing, options, seen, tmp_path):
    if options and seen == WRITES and not recording.FULL and IS_ROOT:
        pytest.skip("each alone, and both with the other way to see")
    plain = recording.run_plain([noticing])
    done = recording.run_recorded([noticing], tmp_path / "the.mtape",
                                  ["-q", "--staleness=100ms", *options], by=BY[seen])
    assert done.returncode == plain.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    assert recording.report(done.tape, "stale")["bytes"] > 3 * MIB


def test_a_program_goes_on_when_the_collector_is_killed(noticing, seen, tmp_path):
    plain = recording.run_plain([noticing])
    with subprocess.Popen([*BY[seen], recording.memtape(), "record", "-q", "--staleness=100ms", "-o",
                           tmp_path / "the.mtape", "--", noticing], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as collector:
        time.sleep(0.7)
        collector.send_signal(signal.SIGKILL)
        assert collector.stdout.read() == plain.stdout  # until the program closes it


def test_a_program_becomes_another_one(program, tmp_path):
    done = recording.run_recorded(["sh", "-c", f"sleep 0.3; exec {program}"],
                                  tmp_path / "the.mtape", ["-q", LOOKS], env=ENV)
    assert done.returncode == 0, done.stderr
    assert about(site(recording.report(done.tape, "stale"), "cold")["stale_bytes"], 6 * MIB)


def test_a_program_that_becomes_one_that_is_not_followed(tmp_path):
    """Of what it became nothing is watched, and the last look is from before."""
    source = ("import os, time\n"
              "kept = [bytearray(1000) for i in range(4000)]\n"
              "time.sleep(0.9)\n"
              "os.execv('/bin/sleep', ['sleep', '0.8'])\n")
    done = recording.run_recorded(["/usr/bin/python3", "-c", source], tmp_path / "the.mtape",
                                  ["-q", "--no-follow-exec", "--staleness=200ms"])
    assert done.returncode == 0, done.stderr
    told = recording.report(done.tape, "stale", "--filter", "size >= 1000 and size <= 1100")
    assert told["stale_bytes"] > 4000 * 1000 - 32 * PAGE and told["unknown_bytes"] == 0


UNWATCHED = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog filter = { 1, &allow };
	if (argc > 1) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
		execv(argv[1], argv + 1);
	}
	memset(malloc(1 << 20), 1, 1 << 20);
	usleep(500000);
	puts("done");
	return 0;
}
"""


def test_a_program_with_a_filter_is_not_watched_and_that_is_said(tmp_path):
    program = build(tmp_path, UNWATCHED)
    tape = tmp_path / "the.mtape"
    done = recording.run([program, recording.memtape(), "record", "-q", LOOKS, "-o", tape, "--",
                          program])
    assert done.returncode == 0 and done.stdout == b"done\n", done.stderr
    told = recording.run([recording.memtape(), "report", tape, "stale"])
    assert told.returncode == 1
    assert b"could not be watched" in told.stderr and b"seccomp" in told.stderr


OWN = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { BYTES = 64 << 12 };
static int fd;
static void *serve(void *unused)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct uffd_msg message;
	memset(page, 7, sizeof(page));
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = { message.arg.pagefault.address & -4096UL, (size_t)page, 4096, 0, 0 };
		ioctl(fd, UFFDIO_COPY, &copy);
	}
	return unused;
}
int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *lazy = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	long sum = 0;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);
	range.range.start = (size_t)lazy;
	range.range.len = BYTES;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return 2;
	pthread_create(&thread, NULL, serve, NULL);
	char *volatile kept = malloc(1 << 20);
	memset(kept, 1, 1 << 20);
	for (int i = 0; i < BYTES; i += 4096, usleep(10000))
		sum += lazy[i];
	printf("%ld\n", sum);
	return 0;
}
"""


def test_a_program_that_watches_its_own_memory(tmp_path):
    program = build(tmp_path, OWN, "own", "-pthread")
    plain = recording.run_plain([program])
    if plain.returncode == 2:
        pytest.skip("this kernel lets nobody have a userfaultfd")
    done = recording.run_recorded([program], tmp_path / "the.mtape", ["-q", "--staleness=100ms"],
                                  by=BY[WRITES])
    assert done.returncode == 0 and done.stdout == plain.stdout == b"448\n"
    assert recording.report(done.tape, "stale")["bytes"] > MIB


def test_huge_pages(program, tmp_path):
    done = recording.run_recorded([program], tmp_path / "the.mtape", ["-q", LOOKS], by=BY[WRITES],
                                  env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    assert done.returncode == 0, done.stderr
    told = recording.report(done.tape, "stale")
    huge = 2 * MIB
    assert abs(site(told, "cold")["stale_bytes"] - 6 * MIB) <= 2 * huge
    assert site(told, "hot")["stale_bytes"] == 0


def test_python(tmp_path):
    source = ("import time\n"
              "cold = [bytearray(1000) for i in range(5000)]\n"
              "hot = [bytearray(1000) for i in range(5000)]\n"
              "end = time.monotonic() + 2\n"
              "while time.monotonic() < end:\n"
              "    for b in hot: b[0] ^= 1; b[999] ^= 1\n"
              "    time.sleep(0.02)\n"
              "print(sum(map(len, cold + hot)))\n")
    done = recording.run_recorded(["/usr/bin/python3", "-c", source], tmp_path / "the.mtape",
                                  ["-q", LOOKS])
    assert done.returncode == 0 and done.stdout == b"10000000\n", done.stderr
    told = recording.report(done.tape, "stale", "--filter", "size >= 1000 and size <= 1100")
    assert 9000 <= told["blocks"]
    assert 0.40 <= told["stale_bytes"] / told["bytes"] <= 0.55


def test_no_block_is_stale_for_longer_than_it_lives(seen, tmp_path):
    source = ("import time\n"
              "kept = []\n"
              "for i in range(120):\n"
              "    kept += [bytearray(600 + i) for j in range(200)]\n"
              "    kept = [b for n, b in enumerate(kept) if (n * 7 + i) % 11]\n"
              "    time.sleep(0.015)\n"
              "print(len(kept))\n")
    done = recording.run_recorded(["/usr/bin/python3", "-c", source], tmp_path / "the.mtape",
                                  ["-q", "--staleness=100ms"], by=BY[seen])
    assert done.returncode == 0, done.stderr
    looks = recording.report(done.tape, "idle")["looks"]
    assert len(looks) > 12
    seen = 0
    for born in range(3, len(looks) - 2, 3):
        for look in looks[born + 1::4]:
            words = ["--from", f"{looks[born]['time_ns']}ns", "--at", f"{look['time_ns']}ns",
                     "--filter", "size < 2000"]
            told = recording.report(done.tape, "stale", *words, "--idle",
                                    f"{look['time_ns'] - looks[born]['time_ns'] + 1}ns")
            assert told["stale_blocks"] == 0, (born, told["time_ns"])
            seen += told["blocks"]
    assert seen > 2000


HEADERLESS = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { BLOCKS = 600, BYTES = 8192 };
static void *volatile kept[BLOCKS];
__attribute__((noinline)) static void take(void) { for (int i = 0; i < BLOCKS; i++) kept[i] = malloc(BYTES); }
int main(void)
{
	take();
	for (int i = 0; i < BLOCKS; i++) memset(kept[i], 1, BYTES);
	for (int i = 0; i < BLOCKS; i++) free(kept[i]);
	usleep(1000000);
	take();	/* the same memory, and jemalloc does not touch what it hands out */
	usleep(450000);
	return 0;
}
"""


def test_memory_that_nobody_touches_is_not_older_than_its_block(tmp_path):
    if not list(pathlib.Path("/usr/lib").glob("*/libjemalloc.so")):
        pytest.skip("jemalloc is not installed")
    program = build(tmp_path, HEADERLESS, "headerless", "-ljemalloc")
    done = recording.run_recorded([program], tmp_path / "the.mtape", ["-q", "--staleness=100ms"])
    assert done.returncode == 0, done.stderr
    long, brief = (site(recording.report(done.tape, "stale", "--idle", idle), "take") for idle in ("900ms", "100ms"))
    assert long["blocks"] == 600 and long["stale_bytes"] == 0
    assert brief["stale_bytes"] > 3 * MIB


def test_text_and_csv(tape):
    text = recording.run([recording.memtape(), "report", tape, "stale"]).stdout.decode()
    assert "Live memory after" in text and "cold" in text and "never touched" in text
    told = recording.report(tape, "stale")
    assert told["precision"] in text and f"not {told['done']} for" in text
    assert told.get("blind", "") in text
    rows = recording.run([recording.memtape(), "report", tape, "stale", "--csv"]).stdout.decode()
    assert rows.splitlines()[0].startswith("stale_bytes,") and len(rows.splitlines()) > 5
    told = json.loads(recording.run([recording.memtape(), "report", tape, "stale",
                                     "--json"]).stdout)
    assert told["sites"][0]["function"] == "cold"
