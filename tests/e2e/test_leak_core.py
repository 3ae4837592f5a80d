"""Leak scans of core dumps, and of programs that nobody recorded."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

# Leaks, threads with arenas of their own, a stack that libc keeps, mapped chunks.
LOSER = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
static char *volatile held, *volatile inner;
__attribute__((noinline)) static void lose(size_t bytes) { char *volatile block = malloc(bytes); block = NULL; }
__attribute__((noinline)) static void clear(void) { volatile char room[8192]; memset((void *)room, 0, sizeof(room)); }
static void *stay(void *unused)
{
	void *volatile own = malloc(333);
	lose(55), clear();
	for (;;)
		pause();
	return own ? unused : NULL;
}
static void *end(void *unused) { void *volatile own = malloc(4444); return own ? unused : NULL; } /* it stays there */
static volatile sig_atomic_t goes_on;
static void on_signal(int number) { goes_on = number; }
int main(int argc, char **argv)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, stay, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, end, NULL), pthread_join(thread, NULL);
	held = malloc(1000);
	*(char **)held = malloc(300000);
	inner = (char *)malloc(50) + 10;
	lose(77), lose(1000000), clear();
	usleep(200000);
	signal(SIGUSR1, on_signal);
	puts("ready"), fflush(stdout);
	if (argc > 1)
		abort();
	while (!goes_on)
		pause();
	free(*(char **)held);
	lose(99), clear();
	puts("more"), fflush(stdout);
	for (;;)
		pause();
}
"""

CONTAINERS = r"""
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <unistd.h>
struct Node { std::shared_ptr<Node> next; };
static std::map<int, std::string> *lost_map;
std::vector<std::string> held;
std::list<int> numbers(40, 7);
struct First { virtual ~First() {} long a; };
struct Second { virtual ~Second() {} long b; };
struct Both : First, Second { std::string text = std::string(100, 'x'); };
Second *second = new Both;
__attribute__((noinline)) void lose()
{
	lost_map = new std::map<int, std::string>;
	for (int i = 0; i < 30; i++)
		(*lost_map)[i] = std::string(50, 'y');
	lost_map = nullptr;
	auto one = std::make_shared<Node>(), two = std::make_shared<Node>();
	one->next = two, two->next = one;
}
// What constructors left on the stack and in vector registers would hold blocks, too.
__attribute__((noinline)) void clear()
{
	volatile char room[16384];
	for (auto &byte : room) byte = 0;
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall");
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile("vpxorq %zmm16, %zmm16, %zmm16; vpxorq %zmm17, %zmm17, %zmm17; vpxorq %zmm18, %zmm18, %zmm18; vpxorq %zmm19, %zmm19, %zmm19; vpxorq %zmm20, %zmm20, %zmm20; vpxorq %zmm21, %zmm21, %zmm21; vpxorq %zmm22, %zmm22, %zmm22; vpxorq %zmm23, %zmm23, %zmm23; vpxorq %zmm24, %zmm24, %zmm24; vpxorq %zmm25, %zmm25, %zmm25; vpxorq %zmm26, %zmm26, %zmm26; vpxorq %zmm27, %zmm27, %zmm27; vpxorq %zmm28, %zmm28, %zmm28; vpxorq %zmm29, %zmm29, %zmm29; vpxorq %zmm30, %zmm30, %zmm30; vpxorq %zmm31, %zmm31, %zmm31");
}
int main()
{
	for (int i = 0; i < 20; i++)
		held.push_back(std::string(200, 'z'));
	lose(), clear();
	usleep(300000); // until there is a tape
	puts("ready"), fflush(stdout);
	for (;;)
		pause();
}
"""

# Holds blocks of all kinds, of which it prints number and usable bytes. With 0 it does the same
# without blocks: what is there then is libc's.
HOLDER = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { SLOTS = 3000, THREADS = 4 };
static void *slots[THREADS + 1][SLOTS];
static pthread_barrier_t barrier;
static int blocks;
static void *allocate(unsigned kind, size_t bytes)
{
	void *block = NULL;
	switch (kind % 8) {
	case 0: return calloc(1, bytes);
	case 1: posix_memalign(&block, 64, bytes); return block;
	case 2: posix_memalign(&block, 4096, bytes); return block;
	case 3: return realloc(malloc(bytes / 2), bytes);
	default: return malloc(bytes);
	}
}
static void churn(void **own, unsigned seed)
{
	for (int i = 0; i < blocks * 20; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned at = (seed >> 8) % SLOTS, kind = seed >> 20;
		size_t bytes = kind % 97 == 0 ? 140000 + kind * 100 : kind % 13 == 0 ? 2000 + kind : 1 + kind % 200;
		free(own[at]);
		own[at] = kind % 3 == 0 ? NULL : allocate(kind, bytes);
	}
}
static void *run(void *own)
{
	churn(own, (unsigned)((void **)own - slots[0]));
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	size_t count = 0, bytes = 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	blocks = argc > 1 ? atoi(argv[1]) : SLOTS;
	if (argc > 2 && strcmp(argv[2], "sbrk") == 0) /* memory that malloc did not ask for */
		free(malloc(10)), sbrk(5000);
	if (argc > 2 && strcmp(argv[2], "wall") == 0) /* behind which the break cannot grow */
		free(malloc(10)), mmap((char *)sbrk(0) + 16384, 4096, PROT_NONE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, run, slots[i]);
	churn(slots[THREADS], 99);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < (THREADS + 1) * SLOTS; i++)
		if (slots[0][i])
			count++, bytes += malloc_usable_size(slots[0][i]);
	printf("ready %zu %zu\n", count, bytes);
	if (argc > 2 && strcmp(argv[2], "abort") == 0)
		abort();
	for (;;)
		pause();
}
"""

CLASSES = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable", "suppressed", "not_scanned")

needs_gcore = pytest.mark.skipif(not shutil.which("gcore"), reason="gdb is not installed")


def compiled(folder, name, source, *options):
    compiler, suffix = ("g++", ".cpp") if "#include <list>" in source else ("gcc", ".c")
    path = folder / (name + suffix)
    path.write_text(source)
    subprocess.run([compiler, "-g", "-O0", "-pthread", "-o", folder / name, path, *options], check=True)
    return folder / name


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    return {name: compiled(folder, name, source)
            for name, source in (("loser", LOSER), ("containers", CONTAINERS), ("holder", HOLDER))}


class Running:
    """A program that has said that it is ready; recorded, if there is a tape."""

    def __init__(self, *args, tape=None, env=None):
        record = [binary(), "record", "-q", "-o", tape] if tape else []
        self.process = subprocess.Popen([str(arg) for arg in [*record, *args]], stdout=subprocess.PIPE, text=True,
                                        env=env)
        self.line = self.process.stdout.readline().split()
        assert self.line[0] == "ready"
        self.pid = self.process.pid
        if tape:
            with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
                self.pid = int(file.read().split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.process.stdout.read()
        self.process.wait(60)

    def core(self, folder):
        subprocess.run(["gcore", "-o", folder / "core", str(self.pid)], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return folder / f"core.{self.pid}"


def leaks(*words, code=0):
    done = recording.run([binary(), "leaks", "--json", *words], timeout=60)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr.decode()


def sums(found):
    return {name: (found[name]["bytes"], found[name]["blocks"]) for name in CLASSES}


def records(found):
    return sorted((record["class"], record["bytes"], record["blocks"], record["indirect_bytes"],
                   str(record["stack"])) for record in found["records"])


def total(found):
    return (sum(found[name]["blocks"] for name in CLASSES), sum(found[name]["bytes"] for name in CLASSES))


# --- recorded programs -------------------------------------------------------------------------------


@needs_gcore
@pytest.mark.parametrize("name", ["loser", "containers"])
def test_a_core_of_a_recorded_program_has_what_the_program_has(programs, tmp_path, name):
    with Running(programs[name], tape=tmp_path / "tape") as running:
        core = running.core(tmp_path)
        alive = leaks(running.pid)
        of_running = leaks("--core", core)
    afterwards = leaks("--core", core, programs[name])
    assert alive["definitely_lost"]["blocks"] > 0 and alive["scan"]["reason"] == "request"
    for found in (of_running, afterwards):
        assert sums(found) == sums(alive)
        assert records(found) == records(alive)
        assert found["scan"]["reason"] == "core" and found["scan"]["unread_bytes"] == 0
        assert found["scan"]["threads"] == alive["scan"]["threads"]
        assert abs(found["scan"]["root_bytes"] - alive["scan"]["root_bytes"]) < 1 << 20, "no stack of an ended thread"


@needs_gcore
def test_what_happened_after_a_core_was_written_does_not_count(programs, tmp_path):
    with Running(programs["loser"], tape=tmp_path / "tape") as running:
        core = running.core(tmp_path)
        before = leaks(running.pid)
        os.kill(running.pid, signal.SIGUSR1)
        assert running.process.stdout.readline() == "more\n"
        after = leaks(running.pid)
    assert after["definitely_lost"]["bytes"] == before["definitely_lost"]["bytes"] + 99
    assert sums(leaks("--core", core)) == sums(before)


@needs_gcore
def test_a_core_of_a_program_that_writes_its_own_tape_is_read(programs, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(recording.library()), "MEMTAPE_OUTPUT": str(tmp_path / "own")}
    with Running(programs["loser"], env=environment) as running:
        core = running.core(tmp_path)
        before = leaks(running.pid)
        os.kill(running.pid, signal.SIGUSR1)
        assert running.process.stdout.readline() == "more\n"
        assert sums(leaks("--core", core)) == sums(before)
    assert sums(leaks("--core", core)) == sums(before)


def kernel_core(args, folder):
    """The core that the kernel writes of a program that aborts, and what that prints."""
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if not re.fullmatch(r"[\w.]+", pattern) or resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("the kernel writes no core here")
    folder.mkdir()
    done = subprocess.run(args, cwd=folder, timeout=60, stdout=subprocess.PIPE, text=True, preexec_fn=lambda:
                          resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    return next(folder.glob(pattern + "*")), done.stdout


def test_a_core_of_the_kernel_has_what_the_scan_at_the_end_has(programs, tmp_path):
    core, _ = kernel_core([binary(), "record", "-q", "--leak-scan", "-o", tmp_path / "tape", programs["loser"], "abort"],
                          tmp_path / "cwd")
    done = recording.run([binary(), "report", tmp_path / "tape", "leak-classes", "--json"])
    at_end = json.loads(done.stdout)
    found = leaks("--core", core, programs["loser"], "-o", tmp_path / "kept")
    assert at_end["scan"]["reason"] == "killed" and found["scan"]["reason"] == "core"
    assert found["scan"]["id"] == at_end["scan"]["id"] + 1
    assert sums(found) == sums(at_end) and records(found) == records(at_end)
    assert recording.run([binary(), "verify", tmp_path / "kept"]).returncode == 0
    text = recording.run([binary(), "leaks", "--core", core]).stdout.decode()
    assert "(core), with 4 threads\n" in text


@needs_gcore
def test_a_tape_that_was_moved_has_to_be_named(programs, tmp_path):
    tape, moved = tmp_path / "tape", tmp_path / "moved"
    with Running(programs["containers"], tape=tape) as running:
        core = running.core(tmp_path)
    tape.rename(moved)
    text = leaks("--core", core, code=1)
    assert "is not where it was" in text and "--tape" in text
    assert leaks("--core", core, "--tape", moved)["definitely_lost"]["blocks"] > 0
    with Running(programs["containers"], tape=tape):
        pass
    text = leaks("--core", core, "--tape", tape, code=1)
    assert "is the tape of process" in text
    os.utime(core, (1e9, 1e9))
    text = leaks("--core", core, "--tape", moved, code=1)
    assert "before its program's tape was begun" in text


# --- files that are no cores, or not the right ones --------------------------------------------------


@needs_gcore
def test_a_core_of_another_program_is_refused(programs, tmp_path):
    with Running(programs["containers"]) as running:
        core = running.core(tmp_path)
    text = leaks("--core", core, programs["loser"], code=1)
    assert "is not of" in text and str(programs["containers"]) in text


def test_what_is_no_core_is_refused(programs, tmp_path):
    (tmp_path / "text").write_text("no core\n")
    (tmp_path / "empty").write_text("")
    assert "not a core dump" in leaks("--core", tmp_path / "text", code=1)
    assert "not a core dump" in leaks("--core", tmp_path / "empty", code=1)
    assert "not a core dump but a program" in leaks("--core", programs["loser"], code=1)
    (tmp_path / "zst").write_bytes(b"\x28\xb5\x2f\xfd and more")
    assert "compressed" in leaks("--core", tmp_path / "zst", code=1)
    assert "not a file" in leaks("--core", tmp_path, code=1)
    assert "No such file" in leaks("--core", tmp_path / "none", code=1)


@needs_gcore
def test_truncated_and_foreign_cores_are_refused(programs, tmp_path):
    with Running(programs["holder"], "100") as running:
        whole = running.core(tmp_path).read_bytes()
    part = tmp_path / "part"
    for size in (63, 64, 100, 1000, 5000, 20000, len(whole) // 2, len(whole) * 9 // 10):
        part.write_bytes(whole[:size])
        text = leaks("--core", part, code=1)
        assert "truncated" in text or "not a core dump" in text, (size, text)
    part.write_bytes(whole[:18] + b"\xb7\0" + whole[20:])
    assert "another processor" in leaks("--core", part, code=1)


def test_options_that_do_not_go_together_are_refused(tmp_path):
    assert "--tape" in leaks("--tape", tmp_path, "1", code=2)
    assert "one process" in leaks(code=2)
    assert "one executable" in leaks("--core", tmp_path, "a", "b", code=2)


# --- programs that nobody recorded -------------------------------------------------------------------


@needs_gcore
@pytest.mark.parametrize("words", [("3000",), ("200",), ("3000", "sbrk")])
@pytest.mark.parametrize("static", [False, True])
def test_the_heap_has_exactly_the_blocks_that_the_program_holds(programs, tmp_path, static, words):
    program = compiled(tmp_path, "static", HOLDER, "-static") if static else programs["holder"]
    with Running(program, "0", *words[1:]) as running:
        libcs = total(leaks(running.pid))
    with Running(program, *words) as running:
        core = running.core(tmp_path)
        found = leaks(running.pid)
        of_core = leaks("--core", core, program)
        count, size = (int(word) for word in running.line[1:])
    assert total(found) == (libcs[0] + count, libcs[1] + size)
    assert found["quality"]["import"]["notes"] == []
    assert "requested_sizes" in found["quality"]["import"]["missing"]
    assert sums(of_core) == sums(found)
    assert found["definitely_lost"]["blocks"] <= 10, "the program holds all of them"


def test_a_heap_that_had_to_leave_the_break_says_what_is_missing(programs):
    with Running(programs["holder"], "3000", "wall") as running:
        found = leaks(running.pid)
    held = int(running.line[1])
    notes = found["quality"]["import"]["notes"]
    assert held / 2 < total(found)[0]
    assert total(found)[0] >= held or any("of the heap are not understood" in note for note in notes)


def test_a_core_of_the_kernel_has_exactly_the_blocks_that_the_program_held(programs, tmp_path):
    empty, _ = kernel_core([programs["holder"], "0", "abort"], tmp_path / "empty")
    core, line = kernel_core([programs["holder"], "3000", "abort"], tmp_path / "full")
    libcs, found = total(leaks("--core", empty)), leaks("--core", core)
    assert total(found) == tuple(own + int(word) for own, word in zip(libcs, line.split()[1:]))
    assert found["quality"]["import"]["notes"] == []


@needs_gcore
def test_a_file_that_has_changed_is_named_and_not_read(programs, tmp_path):
    program = tmp_path / "program"
    shutil.copy(programs["holder"], program)
    with Running(program, "100") as running:
        core = running.core(tmp_path)
    program.unlink()
    shutil.copy(programs["loser"], program)
    done = recording.run([binary(), "leaks", "--core", core])
    assert done.returncode == 0 and f"{program} is not what the program had mapped" in done.stderr.decode()


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl is not installed")
def test_a_program_with_another_libc_is_refused(tmp_path):
    (tmp_path / "musl.c").write_text(r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) { void *volatile block = malloc(10); puts("ready"), fflush(stdout), pause(); return !block; }""")
    subprocess.run(["musl-gcc", "-o", tmp_path / "musl", tmp_path / "musl.c"], check=True)
    with Running(tmp_path / "musl") as running:
        text = leaks(running.pid, code=1)
    assert "its heap cannot be read" in text and "memtape record" in text


@pytest.mark.parametrize("options", [(), ("-static",)])
def test_thread_local_variables_hold_blocks(tmp_path, options):
    program = compiled(tmp_path, "local", r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static __thread char *mine;
        __attribute__((noinline)) static void make(void) { mine = malloc(123); }
        __attribute__((noinline)) static void clear(void) { volatile char room[8192]; memset((void *)room, 0, 8192); }
        int main(void) { make(), clear(), puts("ready"), fflush(stdout), pause(); return mine != NULL; }""", *options)
    with Running(program) as running:
        found = leaks(running.pid)
    assert found["definitely_lost"]["bytes"] < 123 and found["possibly_lost"]["blocks"] <= 1, "those are libc's"


def test_another_allocator_beside_glibcs_is_named(tmp_path):
    (tmp_path / "other.c").write_text("void *je_malloc(unsigned long bytes) { return (void *)bytes; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "libother.so", tmp_path / "other.c"], check=True)
    program = compiled(tmp_path, "holder", HOLDER, tmp_path / "libother.so", "-Wl,--no-as-needed",
                       tmp_path / "libother.so", f"-Wl,-rpath,{tmp_path}")
    with Running(program, "10") as running:
        notes = leaks(running.pid)["quality"]["import"]["notes"]
    assert len(notes) == 1 and "libother.so has an allocator beside glibc's" in notes[0]


def test_an_unrecorded_program_has_the_same_lost_blocks_as_a_recorded_one(programs, tmp_path):
    with Running(programs["containers"], tape=tmp_path / "tape") as running:
        recorded = leaks(running.pid)
    with Running(programs["containers"]) as running:
        found = leaks(running.pid, "-o", tmp_path / "kept")
    for name in ("definitely_lost", "indirectly_lost", "possibly_lost"):
        assert found[name]["blocks"] == recorded[name]["blocks"]
    assert total(found)[0] == total(recorded)[0], "nothing is suppressed without call stacks"
    holders = recording.run([binary(), "report", tmp_path / "kept", "retained"]).stdout.decode()
    assert "numbers" in holders and "held" in holders, "variables by their names"
    text = recording.run([binary(), "report", tmp_path / "kept", "leak-classes"]).stdout.decode()
    assert "usable sizes; no call stacks" in text and "was not recorded" in text
    assert recording.run([binary(), "verify", tmp_path / "kept"]).returncode == 0


def test_an_unrecorded_program_notices_nothing(tmp_path):
    source = (r'#include <stdio.h>' '\n' r'#include <stdlib.h>' '\n' r'#include <time.h>' '\n'
              r'int main(void) { struct timespec rest = { 0, 200000000 }; puts("ready"), fflush(stdout);'
              r' for (int i = 0; i < 15; i++) { free(malloc(i * 10000)); if (nanosleep(&rest, NULL)) return 1; }'
              r' return 7; }' '\n')
    program = compiled(tmp_path, "sleeper", source)
    with Running(program) as running:
        for _ in range(5):
            leaks(running.pid)
            time.sleep(0.1)
        assert running.process.wait(60) == 7


@needs_gcore
@pytest.mark.parametrize("words", [("/usr/bin/python3", "-c", "import json, sys; x = [bytes(100000)] * 3; "
                                    "print('ready', flush=True); sys.stdin.read()"),
                                   ("sqlite3", "-batch", "-interactive", ":memory:")])
def test_large_programs_are_read(tmp_path, words):
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        time.sleep(1)
        found = leaks(process.pid)
        subprocess.run(["gcore", "-o", tmp_path / "core", str(process.pid)], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        of_core = leaks("--core", tmp_path / f"core.{process.pid}")
    finally:
        process.kill()
        process.communicate()
    assert found["still_reachable"]["blocks"] > 10 and found["quality"]["import"]["notes"] == []
    assert sums(of_core) == sums(found)


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis is not installed")
def test_a_program_with_another_malloc_is_refused(tmp_path):
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        time.sleep(0.5)
        done = recording.run([binary(), "leaks", str(process.pid)])
    finally:
        process.kill()
        process.communicate()
    if b"jemalloc" not in done.stderr and done.returncode == 0:
        pytest.skip("redis uses libc's malloc here")
    assert done.returncode == 1 and b"memtape record" in done.stderr
