"""Attaching to processes that run already: what is recorded, and that they do not notice."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

import recording
from recording import memtape as binary

# What programs of these tests begin with.
WAITS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))

static volatile sig_atomic_t go;
static void on_signal(int number) { go = number; }

/* Waits for SIGUSR1 and says so. */
static void wait_for_test(const char *word)
{
	sigset_t usr1, before;
	sigemptyset(&usr1), sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &before);
	puts(word), fflush(stdout);
	while (!go)
		sigsuspend(&before);
	go = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
}
"""

PROGRAM = WAITS + r"""
NOINLINE static void *keep(size_t bytes) { void *volatile block = malloc(bytes); return block; }
NOINLINE static void *zeros(size_t bytes) { void *volatile block = calloc(5, bytes / 5); return block; }
NOINLINE static void lose(size_t bytes) { void *volatile block = malloc(bytes); block = NULL; }

/* Before, during and after; what is freed in each. */
static int phases(void)
{
	void *early = keep(1000), *late;
	wait_for_test("before");
	late = keep(2000);
	for (int i = 0; i < 10; i++)
		lose(30), free(keep(40)), free(zeros(50)), late = realloc(late, 2000 + i);
	free(early);
	char *copy = strdup("a copy made by libc itself");
	wait_for_test("during");
	free(copy);
	lose(77);
	wait_for_test("after");
	free(late);
	return 0;
}

static int rests; /* between blocks */

static void *storm(void *seed)
{
	void *held[64] = { 0 };
	unsigned long sum = 0;
	for (unsigned s = (unsigned)(size_t)seed, i = 0; !go; s = s * 1103515245 + 12345, i++) {
		unsigned at = s >> 20 & 63;
		if (held[at]) {
			sum += *(unsigned *)held[at] != at; /* somebody else's */
			free(held[at]);
		}
		held[at] = malloc(16 + (s >> 16) % 400);
		*(unsigned *)held[at] = at;
		if (rests)
			usleep(2000);
	}
	return (void *)sum;
}

static int storms(int count, int is_main_idle)
{
	pthread_t threads[256];
	unsigned long bad = 0;
	void *result;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, storm, (void *)(size_t)(i + 1));
	puts("ready"), fflush(stdout);
	while (is_main_idle && !go)
		pause();
	if (!is_main_idle)
		bad += (unsigned long)storm((void *)99);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], &result), bad += (unsigned long)result;
	printf("%lu bad\n", bad);
	return bad != 0;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Calls that take a while, and floating-point registers: the same as if nobody had come. */
static int calls(void)
{
	struct timespec half = { 0, 500000000 }, rest;
	struct epoll_event event;
	int fd = epoll_create1(0);
	double sum = 1;
	puts("ready"), fflush(stdout);
	while (!go) {
		double begin = now();
		int slept = nanosleep(&half, &rest), error = errno;
		if (!go && (slept != 0 || now() - begin < 0.499))
			printf("nanosleep: %d, errno %d after %f\n", slept, error, now() - begin);
		begin = now();
		int count = epoll_wait(fd, &event, 1, 200);
		error = errno;
		if (!go && (count != 0 || now() - begin < 0.199))
			printf("epoll_wait: %d, errno %d after %f\n", count, error, now() - begin);
		for (int i = 0; i < 1000000; i++)
			sum = sum * 1.0000001 + 1e-9;
		free(malloc(100));
	}
	printf("%d\n", sum > 1);
	return 0;
}

/*
 * By pointers that were looked up before, and by ones that are looked up meanwhile. Code that is not
 * position-independent and takes a function's address makes that the program's own way to it.
 */
static int lookups(void)
{
	void *(*volatile look)(void *, const char *) = dlsym;
	void *(*volatile direct)(size_t) = malloc;
	void *(*early)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc"), *(*late)(size_t);
	wait_for_test("before");
	free(early(501));
	free(direct(504));
	free(look(RTLD_DEFAULT, "abort") == NULL ? NULL : direct(505));
	late = (void *(*)(size_t))dlsym(dlopen("libc.so.6", RTLD_NOW), "malloc");
	free(late(502));
	wait_for_test("during");
	free(late(503));
	puts(early && late ? "same" : "none");
	return 0;
}

/* Blocks of before: some are freed before, some meanwhile, and the rest stays. */
static int befores(int count)
{
	void **blocks = malloc(count * sizeof(*blocks));
	for (int i = 0; i < count; i++)
		blocks[i] = i % 7 == 3 ? aligned_alloc(32 << i % 8, 1 + i * 37 % 5000)
				       : malloc(i % 50 == 0 ? 200000 + i : 1 + i * 37 % 5000);
	for (int i = 0; i < count; i += 11)
		blocks[i] = realloc(blocks[i], 1 + i * 41 % 7000);
	for (int i = 0; i < count; i += 3)
		free(blocks[i]), blocks[i] = NULL;
	for (int i = 0; i < count; i++)
		if (blocks[i])
			printf("%p %zu %d\n", blocks[i], malloc_usable_size(blocks[i]), i % 3 == 1);
	wait_for_test("before");
	for (int i = 1; i < count; i += 3)
		free(blocks[i]), blocks[i] = NULL;
	wait_for_test("during");
	return 0;
}

/* The loader fills the place of dlsym() only when it is called, and that is here. */
static int first(void)
{
	void *(*volatile look)(void *, const char *) = dlsym;
	wait_for_test("before");
	void *(*late)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	void *(*later)(size_t) = (void *(*)(size_t))look(RTLD_DEFAULT, "malloc");
	free(late(506)), free(later(507));
	wait_for_test("during");
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_signal);
	if (strcmp(argv[1], "first") == 0)
		return first();
	if (strcmp(argv[1], "befores") == 0)
		return befores(atoi(argv[2]));
	if (strcmp(argv[1], "phases") == 0)
		return phases();
	rests = strcmp(argv[1], "breeze") == 0;
	if (strcmp(argv[1], "storm") == 0 || rests)
		return storms(atoi(argv[2]), argc > 3);
	if (strcmp(argv[1], "calls") == 0)
		return calls();
	if (strcmp(argv[1], "lookups") == 0)
		return lookups();
	return 2;
}
"""

FLAGS = {"usual": [], "not position-independent": ["-fno-pie", "-no-pie"], "lazy": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
         "read-only places": ["-Wl,-z,now", "-Wl,-z,relro"], "musl": ["-Wl,--eh-frame-hdr"]}
KINDS = [kind if kind != "musl" else pytest.param(kind, marks=pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc"))
         for kind in FLAGS]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attach")
    (folder / "p.c").write_text(PROGRAM)
    for name, flags in FLAGS.items():
        if name == "musl" and not shutil.which("musl-gcc"):
            continue
        subprocess.run(["musl-gcc" if name == "musl" else "gcc", "-g", "-O1", *flags, "-o", folder / name.replace(" ", "-"), folder / "p.c", "-pthread", "-ldl"], check=True)
    return {name: folder / name.replace(" ", "-") for name in FLAGS}


@pytest.fixture
def start():
    started, guards = [], []

    def begin(args, word=None, **more):
        process = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, text=True, env=recording.clean_env(), **more)
        started.append(process)
        guard = threading.Timer(120, process.kill)  # who waits for its word does not wait for ever
        guard.daemon = True
        guard.start()
        guards.append(guard)
        if word:
            assert process.stdout.readline().strip() == word
        return process
    yield begin
    for guard in guards:
        guard.cancel()
    for process in started:
        process.kill()
        process.wait(timeout=30)
        process.stdout.close()


def attach(pid, tape, *options):
    """Begins, and waits until it records."""
    process = subprocess.Popen([binary(), "attach", str(pid), "--no-summary", "-f", "-o", tape, *options], stderr=subprocess.PIPE,
                               env=recording.clean_env())
    line = process.stderr.readline()
    assert b"memtape: recording" in line, line
    return process


def spools(pid):
    return [line for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if "rw-s" in line and ".spool" in line]


def is_attached(pid):
    return bool(spools(pid))


def detach(pid, process):
    done = recording.run([binary(), "detach", str(pid), "-q"])
    assert done.returncode == 0, done.stderr
    assert process.wait(timeout=30) == 0, process.stderr.read()


def on(process, word=None):
    os.kill(process.pid, signal.SIGUSR1)
    if word:
        assert process.stdout.readline().strip() == word


def mappings(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in words[0].split("-"))
        yield begin, end, words[1], words[5] if len(words) > 5 else ""


def data(pid):
    """What the program and its libraries have beside their code, but for memtape's own library: (path, begin) -> words."""
    out = {}
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for begin, end, kind, path in mappings(pid):
            if path.startswith("/") and ".so.cache" not in path and "memtape-attach" not in path and ".spool" not in path \
                    and kind in ("rw-p", "r--p"):
                memory.seek(begin)
                out[path, begin, kind] = memoryview(memory.read(end - begin)).cast("Q")
    return out


def led(pid):
    """How many words of that data lead into memtape's library."""
    ranges = [(begin, end) for begin, end, kind, path in mappings(pid) if "memtape-attach" in path and "x" in kind]
    return sum(any(begin <= word < end for begin, end in ranges) for words in data(pid).values() for word in words)


@pytest.mark.parametrize("kind", KINDS)
def test_what_happens_meanwhile_is_recorded_and_nothing_else(kind, programs, start, tmp_path):
    program = start([programs[kind], "phases"], "before")
    untouched = data(program.pid)
    attached = attach(program.pid, tmp_path / "tape")
    assert led(program.pid) > 5
    on(program, "during")
    detach(program.pid, attached)
    assert not is_attached(program.pid)
    on(program, "after")
    after, still_led = data(program.pid), led(program.pid)
    on(program)
    assert program.wait(timeout=20) == 0
    # The program's variables change, and lazy places are filled when they are first called.
    assert still_led == 0
    for key, words in untouched.items():
        assert key[2] == "rw-p" or words == after[key], key
    rows = [row for row in recording.rows(tmp_path / "tape") if row["stack"]]
    sizes = sorted(int(row["size"]) for row in rows)
    assert sizes.count(30) == 10 and sizes.count(40) == 10 and sizes.count(50) == 10 and sizes.count(2000) == 2
    assert 77 not in sizes and 1000 not in sizes
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["tape"]["attached"] and info["process"]["end"] == "running" and info["losses"]["lost_events"] == 0
    assert info["process"]["exe"] == str(programs[kind]) and info["process"]["pid"] == program.pid
    assert recording.run([binary(), "verify", tmp_path / "tape"]).returncode == 0
    kept = {site["function"] for site in recording.report(tmp_path / "tape", "leaks")["sites"]}
    assert {"lose"} <= kept, kept
    assert not [f for f in recording.report(tmp_path / "tape", "findings")["findings"] if "free" in f["type"] and f["type"] != "never_freed"]


@pytest.mark.parametrize("count, kind", [(10, "usual"), (3000, "usual"), (100000, "usual"),
                                         pytest.param(recording.times(100000, 5000), "musl", marks=KINDS[-1].marks)])
def test_blocks_of_before(count, kind, programs, start, tmp_path):
    program = start([programs[kind], "befores", str(count)])
    expected = {}
    while (line := program.stdout.readline().strip()) != "before":
        address, usable, is_freed = line.split()
        expected[int(address, 16)] = (int(usable), is_freed == "1")
    attached = attach(program.pid, tmp_path / "tape")
    on(program, "during")
    detach(program.pid, attached)
    rows = {int(row["address"], 16): row for row in recording.rows(tmp_path / "tape") if not row["stack"]}
    for address, (usable, is_freed) in expected.items():
        assert int(rows[address]["size"]) == usable and (rows[address]["free_ns"] is not None) == is_freed
    before = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)["attached"]["before"]
    assert before["is_complete"] and before["trouble"] is None and before["count"] == len(rows)
    # The array, what stdio has, and what the loader has for our library.
    assert 0 <= before["count"] - len(expected) <= 20
    assert not [f for f in recording.report(tmp_path / "tape", "findings")["findings"] if "free" in f["type"] and f["type"] != "never_freed"]
    threads = {t["name"]: t for t in recording.report(tmp_path / "tape", "threads")["threads"]}
    assert threads["before attach"]["allocated_count"] >= len(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_storms_survive_many_times(kind, programs, start, tmp_path):
    program = start([programs[kind], "storm", "3", "idle"], "ready")
    for _ in range(recording.times(100, 12)):
        done = recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "20ms", "-o", tmp_path / "tape"])
        assert done.returncode == 0, done.stderr
        assert program.poll() is None
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert len(info["modules"]) >= 2 and info["tape"]["events"] > 100
    on(program)
    assert program.communicate(timeout=30)[0] == "0 bad\n"
    assert program.returncode == 0


def test_a_storm_without_an_idle_thread(programs, start, tmp_path):
    program = start([programs["usual"], "storm", "3"], "ready")
    for _ in range(recording.times(100, 10)):
        done = recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "20ms", "-o", tmp_path / "tape"])
        assert done.returncode == 0, done.stderr
    on(program)
    assert program.communicate(timeout=30)[0] == "0 bad\n"


def test_two_hundred_threads(programs, start, tmp_path):
    program = start([programs["usual"], "breeze", "200", "idle"], "ready")
    for _ in range(3):
        done = recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "100ms", "-o", tmp_path / "tape"])
        assert done.returncode == 0, done.stderr
    on(program)
    assert program.communicate(timeout=60)[0] == "0 bad\n"


@pytest.mark.parametrize("kind", ["usual", KINDS[-1]])
def test_calls_that_wait_do_not_notice(kind, programs, start, tmp_path):
    program = start([programs[kind], "calls"], "ready")
    for _ in range(8):
        assert recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "60ms", "-o", tmp_path / "tape"]).returncode == 0
        time.sleep(0.11)
    on(program)
    assert program.communicate(timeout=30)[0] == "1\n"


@pytest.mark.parametrize("kind", KINDS)
def test_pointers_that_are_looked_up(kind, programs, start, tmp_path):
    program = start([programs[kind], "lookups"], "before")
    attached = attach(program.pid, tmp_path / "tape")
    on(program, "during")
    detach(program.pid, attached)
    on(program, "same")
    assert program.wait(timeout=20) == 0
    sizes = {int(row["size"]) for row in recording.rows(tmp_path / "tape")}
    assert 502 in sizes and 503 not in sizes
    # There the address of a function is the program's own way to it, which is led as all others.
    assert (501 in sizes) == (kind == "not position-independent")


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_lookup(kind, programs, start, tmp_path):
    program = start([programs[kind], "first"], "before")
    attached = attach(program.pid, tmp_path / "tape")
    on(program, "during")
    detach(program.pid, attached)
    on(program)
    assert program.wait(timeout=20) == 0


SPINNING = "import time\nwhile True:\n    x = [{'a': i} for i in range(2000)]\n    time.sleep(0.001)"
THREADS = ("import threading, time\ndef work():\n    while True:\n        x = [str(i) * 50 for i in range(500)]\n"
           "for i in range(3):\n    threading.Thread(target=work, daemon=True).start()\nwhile True:\n    time.sleep(0.01)")


@pytest.mark.parametrize("words", [["/usr/bin/python3", "-c", SPINNING], ["/usr/bin/python3", "-c", THREADS],
                                   ["perl", "-e", 'while (1) { my @x = map { "a" x 50 } 1..100; select(undef, undef, undef, 0.001); }'],
                                   ["node", "-e", "setInterval(() => { globalThis.x = Buffer.alloc(20000); }, 1)"]],
                         ids=["python3", "python3 with threads", "perl", "node"])
def test_programs_that_nobody_here_wrote(words, start, tmp_path):
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]}")
    program = start(words)
    time.sleep(0.5)
    for _ in range(recording.times(100, 6)):
        done = recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "50ms", "-o", tmp_path / "tape"])
        assert done.returncode == 0, done.stderr
        assert program.poll() is None
    time.sleep(0.3)
    assert program.poll() is None
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["tape"]["events"] > 0 and info["losses"]["lost_events"] == 0


def test_redis_answers_as_before(start, tmp_path):
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        pytest.skip("no redis")
    path = tmp_path / "socket"
    server = start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", tmp_path])
    until = time.monotonic() + 20
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)

    def ask(*words):
        return subprocess.run(["redis-cli", "-s", path, *words], capture_output=True, text=True, check=True).stdout.strip()
    for i in range(recording.times(100, 5)):
        attached = attach(server.pid, tmp_path / "tape")
        assert ask("set", f"key{i}", "v" * 5000) == "OK"
        detach(server.pid, attached)
        assert ask("get", f"key{i}") == "v" * 5000
    assert server.poll() is None


def test_it_ends_with_the_process(programs, start, tmp_path):
    program = start([programs["usual"], "phases"], "before")
    attached = attach(program.pid, tmp_path / "tape")
    on(program, "during"), on(program, "after"), on(program)
    assert program.wait(timeout=20) == 0
    assert attached.wait(timeout=20) == 0
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert (info["process"]["end"], info["process"]["end_status"]) == ("exit", None)  # it is not our child


def test_a_process_that_is_killed(programs, start, tmp_path):
    program = start([programs["usual"], "storm", "2", "idle"], "ready")
    attached = attach(program.pid, tmp_path / "tape")
    program.kill(), program.wait()
    assert attached.wait(timeout=20) == 0
    assert recording.run([binary(), "verify", tmp_path / "tape"]).returncode == 0
    assert json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)["process"]["end"] == "unknown"


def test_ctrl_c_lets_go(programs, start, tmp_path):
    program = start([programs["usual"], "phases"], "before")
    attached = attach(program.pid, tmp_path / "tape")
    attached.send_signal(signal.SIGINT)
    assert attached.wait(timeout=20) == 0
    on(program, "during")
    assert not [row for row in recording.rows(tmp_path / "tape") if int(row["size"]) == 30]


def test_a_collector_that_was_killed(programs, start, tmp_path):
    """Its process goes on, is let go by detach, and can be attached to again."""
    program = start([programs["usual"], "storm", "2", "idle"], "ready")
    attached = attach(program.pid, tmp_path / "tape")
    attached.kill(), attached.wait()
    time.sleep(0.5)
    assert program.poll() is None
    done = recording.run([binary(), "detach", str(program.pid)])
    assert done.returncode == 0 and b"recorded no more" in done.stderr, done.stderr
    done = recording.run([binary(), "attach", str(program.pid), "-q", "-d", "50ms", "-o", tmp_path / "again"])
    assert done.returncode == 0, done.stderr
    on(program)
    assert program.communicate(timeout=30)[0] == "0 bad\n"


@pytest.mark.parametrize("options", [["--live"], ["--no-compress"], ["--no-stacks"], ["--latency"], ["--serve-until-exit"]], ids=" ".join)
def test_options_of_record(options, programs, start, tmp_path):
    program = start([programs["usual"], "storm", "2", "idle"], "ready")
    done = recording.run([binary(), "attach", str(program.pid), "-d", "700ms", "-o", tmp_path / "tape", *options])
    assert done.returncode == 0, done.stderr
    assert (b"http://127.0.0.1" in done.stderr) == (options == ["--serve-until-exit"])
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["process"]["end"] == "running" and info["losses"]["lost_events"] == 0 and info["tape"]["events"] > 1000
    assert info["tape"]["alloc_stacks"] == (options != ["--no-stacks"])
    on(program)
    assert program.communicate(timeout=30)[0] == "0 bad\n"


def test_stacks_are_those_of_a_plain_walk(programs, start, tmp_path):
    program = start([programs["usual"], "storm", "2", "idle"], "ready")
    done = recording.run([binary(), "attach", str(program.pid), "-q", "-d", "300ms", "-o", tmp_path / "tape"], env={"MEMTAPE_SELFCHECK": "1"})
    assert done.returncode == 0, done.stderr
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["recorder"]["selfchecks"] > 1000 and info["recorder"]["selfcheck_differences"] == 0
    assert {site["function"] for site in recording.report(tmp_path / "tape", "leaks")["sites"]} == {"storm", "(no stack taken)"}


def test_leaks_of_a_process_that_is_attached_to(programs, start, tmp_path):
    program = start([programs["usual"], "phases"], "before")
    attached = attach(program.pid, tmp_path / "tape")
    on(program, "during")
    found = json.loads(recording.run([binary(), "leaks", str(program.pid), "--json"]).stdout)
    assert found["definitely_lost"]["blocks"] >= 9, found["definitely_lost"]
    detach(program.pid, attached)


def test_children_go_on_unrecorded(start, tmp_path):
    program = start(["/usr/bin/python3", "-c", "import os, sys, time\nprint('ready', flush=True)\n"
                     "for i in range(20):\n    if os.fork() == 0:\n        x = [str(j) for j in range(1000)]; os._exit(7)\n"
                     "    assert os.waitstatus_to_exitcode(os.wait()[1]) == 7\n    time.sleep(0.02)\n"
                     "print(os.popen('echo child').read().strip())\n"], "ready")
    attached = attach(program.pid, tmp_path / "tape")
    assert program.communicate(timeout=30)[0] == "child\n" and program.returncode == 0
    assert attached.wait(timeout=20) == 0


def refusal(pid, *options):
    done = recording.run([binary(), "attach", str(pid), "-o", "/nowhere/tape" if not options else options[0]])
    assert done.returncode == 1, done.stderr
    return done.stderr.decode()


def test_what_cannot_be_attached_to(programs, start, tmp_path):
    tape = str(tmp_path / "tape")
    (tmp_path / "s.c").write_text('#include <unistd.h>\nint main(void) { write(1, "ready\\n", 6); for (;;) pause(); }')
    subprocess.run(["gcc", "-static", "-o", tmp_path / "static", tmp_path / "s.c"], check=True)
    assert "statically linked" in refusal(start([tmp_path / "static"], "ready").pid, tape)
    assert "no process" in refusal(4194303, tape)
    sandboxed = start(["/usr/bin/python3", "-c", "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.prctl(38, 1, 0, 0, 0)\n"
                       "class F(ctypes.Structure):\n    _fields_ = [('c', ctypes.c_ushort), ('t', ctypes.c_ubyte), ('f', ctypes.c_ubyte), ('k', ctypes.c_uint)]\n"
                       "class P(ctypes.Structure):\n    _fields_ = [('n', ctypes.c_ushort), ('f', ctypes.POINTER(F))]\n"
                       "f = (F * 1)(F(6, 0, 0, 0x7fff0000)); p = P(1, f)\nassert libc.prctl(22, 2, ctypes.byref(p), 0, 0) == 0\n"
                       "print('ready', flush=True)\ntime.sleep(1000)"], "ready")
    assert "seccomp" in refusal(sandboxed.pid, tape)
    recorded = start([binary(), "record", "-q", "-o", tmp_path / "recorded", programs["usual"], "phases"], "before")
    child = int(pathlib.Path(f"/proc/{recorded.pid}/task/{recorded.pid}/children").read_text().split()[0])
    assert "since its start" in refusal(child, tape)
    os.kill(child, signal.SIGKILL)
    program = start([programs["usual"], "phases"], "before")
    attached = attach(program.pid, tmp_path / "first")
    assert "already" in refusal(program.pid, tape)
    detach(program.pid, attached)
    assert b"not attached to" in recording.run([binary(), "detach", str(program.pid)]).stderr
    assert not os.path.exists(tape)
    for word in ("x", "-1", "0"):
        assert recording.run([binary(), "attach", "--", word]).returncode == 2
    assert recording.run([binary(), "attach", "-q"]).returncode == 2
    assert recording.run([binary(), "attach", "1", "--duration", "soon"]).returncode == 2


@pytest.mark.parametrize("mode, count", [(["phases"], 1), (["storm", "2", "idle"], None)], ids=["one", "some"])
def test_who_had_blocks_before_is_no_thread(mode, count, programs, start, tmp_path):
    """It has a row, but it is not counted."""
    program = start([programs["usual"], *mode], "before" if count else "ready")
    attached = attach(program.pid, tmp_path / "tape")
    if count:
        on(program, "during")
    else:
        time.sleep(0.5)
    detach(program.pid, attached)
    rows = recording.report(tmp_path / "tape", "threads")["threads"]
    assert [row["name"] for row in rows if row["tid"] == 0] == ["before attach"]
    real = len(rows) - 1
    assert real == count or real > 1
    assert recording.report(tmp_path / "tape", "summary")["threads"] == real
    text = recording.run([binary(), "report", tmp_path / "tape", "summary"]).stdout.decode()
    assert "pid " in text and (f" · {real} threads · " in text if real > 1 else " threads" not in text.split("\n\n")[0]), text
    for top in range(1, len(rows)):
        text = recording.run([binary(), "report", tmp_path / "tape", "threads", "--top", str(top)]).stdout.decode()
        hidden = sum(row["tid"] != 0 for row in rows[top:])
        assert (f"… and {hidden} more thread" in text) == (hidden > 0) and (hidden > 0 or "more thread" not in text), text
