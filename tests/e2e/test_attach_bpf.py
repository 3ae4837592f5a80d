"""Watching a process from the kernel: what is live with its stacks, and that the process does not notice."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import recording
import seccomp
from recording import memtape as binary

PROGRAM = r"""
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))

static void *kept[4096];
static int kept_count;
NOINLINE static void keep(void *block) { kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED)] = block; }

NOINLINE static void family(void)
{
	void *block = NULL;
	for (int i = 0; i < 100; i++)
		keep(malloc(100 + i));
	for (int i = 0; i < 50; i++)
		free(kept[--kept_count]);
	keep(calloc(7, 11));
	if (!posix_memalign(&block, 256, 333))
		keep(block);
	keep(memalign(64, 444)), keep(aligned_alloc(128, 512)), keep(valloc(77)), keep(pvalloc(99));
	keep(reallocarray(NULL, 5, 11));
	keep(strdup("a copy made by libc itself"));
}

/* Chains, and what fails or frees. */
NOINLINE static void reallocs(void)
{
	char *block = NULL;
	for (int i = 1; i < 200; i++)
		block = realloc(block, i * 97 % 3000 + 1);
	keep(block);
	block = malloc(601);
	if (!realloc(block, (size_t)-1 / 4))
		keep(block);
	keep(reallocarray(malloc(602), 3, 201));
	free(realloc(malloc(605), 0));
	if (calloc((size_t)-1 / 2, 4) || reallocarray(NULL, (size_t)-1 / 2, 4))
		abort();
}

NOINLINE static int deep(int depth, volatile char *above)
{
	volatile char room[64 + depth % 7 * 16];
	room[0] = above ? above[0] : 1;
	if (depth == 0)
		keep(malloc(701));
	else
		deep(depth - 1, room);
	return room[0];
}

/* Realigned: the frame address is in memory. */
NOINLINE static void realigned(int n)
{
	volatile char room[64] __attribute__((aligned(64)));
	char *volatile more = __builtin_alloca(n);
	more[0] = room[0] = 1;
	keep(malloc(702));
}

/* Code without unwind tables, but with a frame pointer. */
__asm__(".text\n.type bare, @function\nbare:\n\tpush %rbp\n\tmov %rsp, %rbp\n\tcall *%rdi\n\tpop %rbp\n\tret\n.size bare, . - bare\n");
void bare(void (*function)(void));
NOINLINE static void called_by_bare(void) { keep(malloc(703)); }

static void on_signal(int number) { keep(malloc(700 + number)); }

NOINLINE static void signalled(void)
{
	signal(SIGUSR2, on_signal);
	raise(SIGUSR2);
}

static void *worker(void *seed)
{
	unsigned state = (unsigned)(size_t)seed;
	void *mine[64] = { 0 };
	for (int i = 0; i < 20000; i++) {
		state = state * 1103515245 + 12345;
		unsigned at = state >> 20 & 63;
		free(mine[at]);
		mine[at] = malloc(state >> 10 & 1023);
	}
	for (int i = 0; i < 64; i++)
		free(mine[i]);
	for (int i = 0; i < 100; i++)
		keep(malloc(801));
	return NULL;
}

/* One frees what another has allocated. */
NOINLINE static void threads(void)
{
	pthread_t thread[4];
	for (size_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i + 1));
	for (size_t i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 150; i++)
		free(kept[--kept_count]);
}

NOINLINE static void many(int count)
{
	for (int i = 0; i < count; i++)
		if (!malloc(1000))
			abort();
}

NOINLINE static void work(const char *what)
{
	if (strcmp(what, "family") == 0) family();
	if (strcmp(what, "reallocs") == 0) reallocs();
	if (strcmp(what, "deep") == 0) deep(90, NULL);
	if (strcmp(what, "abyss") == 0) deep(400, NULL);
	if (strcmp(what, "realigned") == 0) realigned(strlen(what) * 3);
	if (strcmp(what, "bare") == 0) bare(called_by_bare);
	if (strcmp(what, "signalled") == 0) signalled();
	if (strcmp(what, "threads") == 0) threads();
	if (strcmp(what, "many") == 0) many(20000);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGINT, SIG_IGN);
	free(malloc(1)); /* by which who watches all learns of this process */
	if (argc > 2)
		puts("ready"), getchar();
	work(argv[1]);
	if (argc > 2)
		puts("done"), getchar();
	return 7;
}
"""

CXX = r"""
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

static std::vector<std::string> *names;
struct alignas(64) wide { char bytes[192]; };
static void *volatile kept[16];

__attribute__((noipa)) static void work()
{
	names = new std::vector<std::string>;
	for (int i = 0; i < 20; i++)
		names->push_back(std::string(40 + i, 'x'));
	kept[0] = new int[111];
	kept[1] = new (std::nothrow) char[222];
	kept[2] = new wide;
	kept[3] = malloc(333);
	for (int i = 0; i < 1000; i++)
		delete std::make_unique<std::string>(100 + i, 'y').release();
	try {
		kept[4] = new char[(size_t)1 << 62];
	} catch (const std::bad_alloc &) {
		kept[5] = new char[444]; /* the way out of operator new is not ours */
	}
}

int main(int argc, char **)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	if (argc > 1)
		puts("ready"), getchar();
	work();
	if (argc > 1)
		puts("done"), getchar();
	return 7;
}
"""


def why_not():
    done = recording.run([binary(), "attach", "--bpf", "--no-summary", "-q", "-d", "1ms", "-o", "/dev/null/tape", str(os.getpid())])
    return None if b"/dev/null/tape" in done.stderr else done.stderr.decode(errors="replace").strip()


REFUSED = why_not()
needs_bpf = pytest.mark.skipif(REFUSED is not None, reason=f"no BPF here: {REFUSED}")

C_FLAGS = {"dynamic": ["-O2", "-fomit-frame-pointer"], "static": ["-O2", "-fomit-frame-pointer", "-static"],
           "static-pie": ["-O1", "-fomit-frame-pointer", "-static-pie"], "fp": ["-O0", "-fno-omit-frame-pointer"]}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bpf")
    (folder / "p.c").write_text(PROGRAM)
    (folder / "p.cpp").write_text(CXX)
    for name, flags in C_FLAGS.items():
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-w", "-g", "-fno-builtin", *flags, "-o", folder / name, folder / "p.c", "-pthread"], check=True)
    for name, flags in {"cxx": [], "cxx-static": ["-static"]}.items():
        subprocess.run(["g++", "-std=c++17", "-g", "-O1", "-fomit-frame-pointer", *flags, "-o", folder / name, folder / "p.cpp"], check=True)
    return folder


class Watched:
    """A program that says ready, works, says done; watched while it works."""

    def __init__(self, args, tape, *options, pid=True, execs=None, env=None, preexec_fn=None):
        self.tape = tape
        words = [str(arg) for arg in args] + ["wait"]
        if execs:  # another program that becomes this one when it is watched
            words = [sys.executable, "-c", "print('ready', flush=True); input(); " + execs, *words]
        self.program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=recording.clean_env(**(env or {})), preexec_fn=preexec_fn)
        self.guard = threading.Timer(100, self.program.kill)
        self.guard.daemon = True
        self.guard.start()
        self.expect("ready")
        self.watcher = subprocess.Popen([binary(), "attach", "--bpf", "-f", "-o", str(tape), *options, *([str(self.program.pid)] if pid else [])],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recording.clean_env())
        self.begun = self.watcher.stderr.readline()
        assert "memtape: watching" in self.begun, self.begun + self.watcher.stderr.read()
        if execs:
            self.go("ready")
            threading.Event().wait(0.7)  # until its libraries are known

    def expect(self, word):
        assert self.program.stdout.readline().strip() == word

    def go(self, word):
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        if word:
            self.expect(word)

    def end_watch(self):
        self.watcher.send_signal(signal.SIGINT)
        self.out, self.err = self.watcher.communicate(timeout=60)
        assert self.watcher.returncode == 0, self.err

    def end(self):
        self.program.stdin.close()
        assert self.program.wait(timeout=30) == 7
        self.program.stdout.close()
        self.guard.cancel()


def watch(args, tape, *options, **more):
    watched = Watched(args, tape, *options, **more)
    watched.go("done")
    watched.end_watch()
    watched.end()
    return watched


def in_work(tape):
    """What work() has left: {(function, size, stack): blocks}; not what a thread or an exception itself needs, which differs."""
    found = collections.Counter()
    for row in recording.rows(tape):
        stack = tuple((frame["function"].split("(")[0], frame["line"]) for frame in row["stack"])
        functions = {function for function, _ in stack}
        foreign = any(name == "_dl_allocate_tls" or name.startswith("_Unwind") for name in functions)
        if functions & {"work", "worker"} and not foreign and row["free_ns"] is None:
            # aligned_alloc is another name of memalign in glibc, and operator new[] jumps to operator new
            function = {"aligned_alloc": "memalign", "operator new[]": "operator new"}.get(row["function"], row["function"])
            found[function, row["size"], stack] += 1
    return found


def notes(tape):
    return recording.report(tape, "leaks")["quality"]["import"]["notes"]


@needs_bpf
@pytest.mark.parametrize("kind, what", [
    ("dynamic", "family"), ("dynamic", "reallocs"), ("dynamic", "deep"), ("dynamic", "realigned"), ("dynamic", "signalled"), ("dynamic", "bare"),
    ("dynamic", "threads"), ("fp", "family"), ("fp", "realigned"), ("cxx", None)])
def test_the_blocks_and_stacks_are_those_that_the_recorder_has(kind, what, programs, tmp_path):
    words = [what] if what else []
    watch([programs / kind, *words], tmp_path / "tape", "--no-summary")
    recorded = recording.run_recorded([programs / kind, *words], tmp_path / "recorded")
    assert recorded.returncode == 7
    watched, expected = in_work(tmp_path / "tape"), in_work(tmp_path / "recorded")
    assert watched == expected
    assert sum(expected.values()) == {"family": 58, "reallocs": 3, "threads": 250, None: 27}.get(what, 1)
    assert not [note for note in notes(tmp_path / "tape") if "stack" in note or "lost" in note]
    assert recording.run([binary(), "verify", tmp_path / "tape"]).returncode == 0


@needs_bpf
@pytest.mark.parametrize("kind, like, what", [("static", "dynamic", "family"), ("static", "dynamic", "threads"), ("static-pie", "fp", "reallocs"),
                                              ("cxx-static", "cxx", None)])
def test_a_program_that_is_linked_statically_is_watched_too(kind, like, what, programs, tmp_path):
    words = [what] if what else []
    watch([programs / kind, *words], tmp_path / "tape", "--no-summary")
    recorded = recording.run_recorded([programs / like, *words], tmp_path / "recorded")
    assert recorded.returncode == 7

    def own(found):  # libc's own frames differ: there is no version in names, and no PLT
        return collections.Counter({(function, size, tuple(name for name, line in stack if line is not None and name in
                                                           ("family", "reallocs", "work", "worker", "main"))): count
                                    for (function, size, stack), count in found.items()})
    found = own(in_work(tmp_path / "tape"))
    assert found == own(in_work(tmp_path / "recorded")) and found


@needs_bpf
def test_a_stack_that_is_too_deep_is_cut_and_counted(programs, tmp_path):
    watched = watch([programs / "dynamic", "abyss"], tmp_path / "tape")
    rows = [row for row in recording.rows(tmp_path / "tape") if row["size"] == 701]
    assert len(rows) == 1 and [frame["function"] for frame in rows[0]["stack"]] == ["deep"] * 127
    assert "1 stacks were too deep: their outer frames are left out" in notes(tmp_path / "tape")
    assert "too deep" in watched.out and "outer frames not known" in watched.out


@needs_bpf
def test_only_blocks_of_some_age_are_shown_and_all_are_on_the_tape(programs, tmp_path):
    watched = Watched([programs / "dynamic", "family"], tmp_path / "tape", "--older", "1h", "--interval", "150ms", "--json")
    watched.go("done")
    threading.Event().wait(0.5)
    watched.end_watch()
    watched.end()
    decoder, text, answers = json.JSONDecoder(), watched.out.strip(), []
    while text:
        answer, at = decoder.raw_decode(text)
        answers.append(answer)
        text = text[at:].strip()
    assert len(answers) >= 3 and not any(answer["sites"] for answer in answers)
    assert sum(in_work(tmp_path / "tape").values()) == 58


@needs_bpf
def test_a_sample_estimates_all(programs, tmp_path):
    watched = watch([programs / "dynamic", "many"], tmp_path / "tape", "--sample", "16K")
    site, = [site for site in recording.report(tmp_path / "tape", "leaks")["sites"] if site["function"] == "many"]
    # 20 MB in about 1184 samples: five times their standard deviation
    assert abs(site["leaked_bytes"] - 20e6) < 5 * 20e6 / 1184 ** 0.5
    assert abs(site["leaked_count"] - 20e3) < 5 * 20e3 / 1184 ** 0.5
    quality = recording.report(tmp_path / "tape", "leaks")["quality"]["import"]
    assert "all_but_a_sample" in quality["missing"] and "numbers are estimates" in watched.out
    assert 1000 < int(quality["notes"][0].split()[0].replace(",", "")) < 1400 and "in the sample" in quality["notes"][0]


@needs_bpf
def test_what_there_is_no_room_for_is_counted(programs, tmp_path):
    watched = watch([programs / "dynamic", "many"], tmp_path / "tape", "--blocks", "1000")
    kept = sum(in_work(tmp_path / "tape").values())
    lost, = [note for note in notes(tmp_path / "tape") if "blocks were lost" in note]
    assert 0 < kept <= 1000 and kept + int(lost.split()[0].replace(",", "")) >= 20000
    assert "--blocks" in watched.out


def code(pid):
    """All code of the process."""
    out = {}
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            words = line.split(maxsplit=5)
            if "x" in words[1] and words[-1].startswith("/"):
                begin, end = (int(part, 16) for part in words[0].split("-"))
                memory.seek(begin)
                out[words[5]] = memory.read(end - begin)
    return out


@needs_bpf
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_process_is_as_before_however_memtape_ends(number, programs, tmp_path):
    watched = Watched([programs / "dynamic", "threads"], tmp_path / "tape", "--no-summary")
    probed = code(watched.program.pid)
    watched.go(None)
    threading.Event().wait(0.02)  # somewhere among 80,000 calls
    watched.watcher.send_signal(number)
    watched.watcher.communicate(timeout=60)
    assert watched.watcher.returncode == (0 if number == signal.SIGINT else -number)
    watched.expect("done")
    after = code(watched.program.pid)
    changed = [path for path in after if after[path] != probed[path]]
    assert [pathlib.Path(path).name for path in changed] == ["libc.so.6"] and not [path for path in after if "memtape" in path]
    with open(changed[0], "rb") as file:
        assert after[changed[0]] in file.read()
    watched.end()


def refused(*args, **more):
    done = recording.run([binary(), "attach", "--bpf", "-o", "/dev/null/tape", *args], **more)
    lines = done.stderr.decode().splitlines()
    assert len(lines) == done.returncode and not done.stdout, (done.returncode, lines)  # 2: and how to get help
    return lines[0]


@needs_bpf
def test_what_cannot_be_watched_is_refused_in_one_line(programs, tmp_path):
    assert "no process 999999" in refused("999999", "-o", tmp_path / "tape")
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, programs / "static"], check=True)
    with subprocess.Popen([stripped, "family", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        line = refused(str(process.pid), "-o", tmp_path / "tape")
        assert "no function called malloc" in line and "stripped" in line
        process.communicate(b"\n\n")
        assert process.returncode == 7
    with subprocess.Popen([binary(), "record", "-q", "-o", tmp_path / "recorded", "--", programs / "dynamic", "family", "wait"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        child, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert "recorded by memtape already" in refused(child, "-o", tmp_path / "tape")
        process.communicate(b"\n\n")
    assert not list(tmp_path.glob("tape*"))


def test_options_that_do_not_go_together_are_refused():
    assert "--bpf takes no --latency" in refused("--latency", "1")
    assert "--bpf takes no --serve" in refused("--serve", "1")
    done = recording.run([binary(), "attach", "--older", "1s", "1"])
    assert done.returncode == 2 and b"--older needs --bpf" in done.stderr
    assert "--older: soon is not a time" in refused("--older", "soon", str(os.getpid()))


@needs_bpf
@pytest.mark.skipif(not recording.anybody_may_enter(pathlib.Path(binary())), reason="others cannot run what is built here")
def test_an_ordinary_user_is_told_in_one_line(tmp_path):
    tmp_path.chmod(0o777)
    with subprocess.Popen(["sleep", "60"], user=65534) as process:
        line = refused(str(process.pid), "-o", "/tmp/none-of-nobody.mtape", user=65534)
        process.kill()
    assert "--bpf needs root" in line


@needs_bpf
def test_all_processes_with_the_library_are_watched(programs, tmp_path):
    first = Watched([programs / "dynamic", "family"], tmp_path / "%p.tape", "--all", "--top", "1000", "--json", pid=None)
    second = subprocess.Popen([programs / "dynamic", "reallocs", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ended = subprocess.run([programs / "dynamic", "family"])
    assert ended.returncode == 7 and second.stdout.readline() == b"ready\n"
    threading.Event().wait(0.7)  # until its libraries are known
    first.go("done")
    second.stdin.write(b"\n")
    second.stdin.flush()
    assert second.stdout.readline() == b"done\n"
    first.end_watch()
    first.end()
    second.communicate()
    assert second.returncode == 7
    for pid, what in [(first.program.pid, "family"), (second.pid, "reallocs")]:
        recorded = recording.run_recorded([programs / "dynamic", what], tmp_path / what)
        assert recorded.returncode == 7
        assert in_work(tmp_path / f"{pid}.tape") == in_work(tmp_path / what)
    answers = {answer["quality"]["import"]["file"]: answer for answer in json.loads(first.out)}
    assert {f"process {first.program.pid}", f"process {second.pid}"} <= answers.keys()
    assert f"process {first.watcher.pid}" not in answers
    exes = [json.loads(recording.run([binary(), "info", path, "--json"]).stdout)["process"]["exe"] for path in tmp_path.glob("*.tape")]
    assert exes.count(str(programs / "dynamic")) == 2  # not the one that has ended


@needs_bpf
def test_a_program_that_becomes_another_begins_anew(programs, tmp_path):
    script = 'import os, sys; kept = [bytearray(70000) for _ in range(50)]; os.execv(sys.argv[1], sys.argv[1:])'
    watched = Watched([programs / "dynamic", "family"], tmp_path / "tape", "--no-summary", execs=script)
    watched.go("done")
    watched.end_watch()
    watched.end()
    assert sum(in_work(tmp_path / "tape").values()) == 58
    assert not [row for row in recording.rows(tmp_path / "tape") if row["size"] >= 70000]


@needs_bpf
def test_the_tape_has_what_was_freed_if_that_is_asked_for(programs, tmp_path):
    watch([programs / "dynamic", "threads"], tmp_path / "tape", "--no-summary", "--totals")
    sites = recording.report(tmp_path / "tape", "top", "--sort", "allocated")["sites"]
    worker, = [site for site in sites if site["function"] == "worker" and site["allocated_count"] > 1000]
    assert worker["allocated_count"] == 4 * (20000 + 100) and worker["leaked_count"] == 250
    recorded = recording.run_recorded([programs / "dynamic", "threads"], tmp_path / "recorded")
    assert recorded.returncode == 7
    expected, = [site for site in recording.report(tmp_path / "recorded", "top", "--sort", "allocated")["sites"] if site["function"] == "worker"]
    assert expected["allocated_bytes"] == worker["allocated_bytes"]
    assert sum(in_work(tmp_path / "tape").values()) == 250


@needs_bpf
def test_a_filter_of_system_calls_does_not_see_the_probes(programs, tmp_path, monkeypatch):
    monkeypatch.setitem(seccomp.SYS, "uretprobe", 335)
    monkeypatch.setitem(seccomp.SYS, "uprobe", 336)
    try:
        watch([programs / "dynamic", "family"], tmp_path / "tape", "--no-summary",
              preexec_fn=seccomp.install(seccomp.kill("uretprobe"), seccomp.kill("uprobe")))
    except AssertionError as error:
        assert "return probes of this kernel could kill it" in str(error)
        pytest.skip("this kernel's return probes make system calls")
    assert sum(in_work(tmp_path / "tape").values()) == 58


@needs_bpf
@pytest.mark.skipif(not pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2").exists(), reason="no jemalloc")
def test_another_allocator_is_watched_and_what_of_it_is_not(programs, tmp_path):
    watch([programs / "dynamic", "family"], tmp_path / "tape", "--no-summary", env={"LD_PRELOAD": "libjemalloc.so.2"})
    assert sum(in_work(tmp_path / "tape").values()) == 58
    assert [note for note in notes(tmp_path / "tape") if "libjemalloc.so.2 has an operator new of its own" in note]
