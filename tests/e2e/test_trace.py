"""`memtape trace`: what the kernel does for a program, with its stacks; and that the program does not notice."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import recording
import test_pauses
from recording import memtape as binary

PROGRAM = r"""
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
enum { PAGE = 4096 };

NOINLINE static void touch(volatile char *memory, int pages)
{
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

NOINLINE static char *map(int pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("" ::: "memory");
	return memory;
}

NOINLINE static void unmap(char *memory, int pages)
{
	munmap(memory, pages * PAGE);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void fill_in_kernel(char *memory, int pages)
{
	int zero = open("/dev/zero", O_RDONLY);
	if (read(zero, memory, pages * PAGE) != pages * PAGE)
		abort();
	close(zero);
}

NOINLINE static void work(int pages)
{
	for (int i = 0; i < 5; i++) {
		char *memory = map(pages);
		touch(memory, pages);
		unmap(memory, pages);
	}
}

NOINLINE static void grow(int count)
{
	for (int i = 0; i < count; i++)
		sbrk(16 * PAGE);
	sbrk(-8 * PAGE);
	__asm__ volatile("" ::: "memory");
}

static void *in_thread(void *pages)
{
	work((int)(long)pages);
	return NULL;
}

static void *after_the_first(void *unused)
{
	usleep(300000);
	work(100);
	exit(3);
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "work"))
		work(100);
	else if (!strcmp(what, "grow"))
		grow(30);
	else if (!strcmp(what, "kernel"))
		fill_in_kernel(map(64), 64);
	else if (!strcmp(what, "thread")) {
		pthread_t thread;
		pthread_create(&thread, NULL, in_thread, (void *)50L);
		pthread_join(thread, NULL);
	} else if (!strcmp(what, "fork")) {
		if (fork() == 0) {
			work(20);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "exec")) {
		execl("/proc/self/exe", argv[0], "work", NULL);
	} else if (!strcmp(what, "fails")) {
		mmap(NULL, (size_t)1 << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else if (!strcmp(what, "killed")) {
		raise(SIGKILL);
	} else if (!strcmp(what, "first")) {
		pthread_t thread;
		puts("ready");
		fflush(stdout);
		getchar();
		pthread_create(&thread, NULL, after_the_first, NULL);
		pthread_exit(NULL);
	} else if (!strcmp(what, "wait")) {
		const int self = open("/proc/self/exe", O_RDONLY);
		puts("ready");
		fflush(stdout);
		for (int c; (c = getchar()) != EOF;)
			if (c == 'f' && fork() == 0) {
				work(20);
				_exit(0);
			} else if (c == 'm') {
				mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
				work(10);
			} else if (c == 'x') {
				work(100);
			}
	}
	return 3;
}
"""
CXX = r"""
#include <string.h>
__attribute__((noipa)) static char *process_chunk(unsigned long n) { char *p = new char[n]; memset(p, 1, n); return p; }
int main() { char *last = 0; for (int i = 0; i < 300; i++) last = process_chunk(20000); return last == 0; }
"""
ROOT = os.geteuid() == 0


def may(kinds):
    return subprocess.run([binary(), "trace", kinds, "-q", "-o", "/dev/shm/memtape-may.mtape", "-f", "true"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


NEEDS_FAULTS = pytest.mark.skipif(not may("faults"), reason="perf_event_open(2) may not be used here")
NEEDS_CALLS = pytest.mark.skipif(not may("brk"), reason="tracepoints may not be used here")
pytestmark = NEEDS_FAULTS


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    folder.chmod(0o755)
    (folder / "p.c").write_text(PROGRAM)
    (folder / "p.cpp").write_text(CXX)
    for name, more in (("traced", []), ("static", ["-static"])):
        subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-pthread", *more, "-o", folder / name, folder / "p.c"], check=True)
    subprocess.run(["g++", "-O2", "-g", "-fomit-frame-pointer", "-o", folder / "cxx", folder / "p.cpp"], check=True)
    return folder


def trace(kinds, tape, *words, **more):
    return recording.run([binary(), "trace", kinds, "--no-summary", "-f", "-o", tape, *words], **more)


def answer(tape, *options):
    return recording.report(tape, "trace", *options)


def of(found, kind, function):
    """Events and bytes of stacks with this function."""
    stacks = [stack for stack in found["stacks"]
              if stack["kind"] == kind and any(frame["function"] == function for frame in stack["stack"])]
    return sum(stack["count"] for stack in stacks), sum(stack["bytes"] for stack in stacks)


def whole(found):
    """What is recorded is what was counted, without what was lost."""
    for kind in ("brk", "mmap", "munmap", "faults", "major_faults", "oom", "thp_splits"):
        if found[kind]:
            assert found[kind]["recorded"] + found[kind]["lost"] == found[kind]["count"], kind
            assert found[kind]["recorded"] == sum(stack["count"] for stack in found["stacks"] if stack["kind"] == kind)
    return found


@pytest.mark.parametrize("name", ["traced", "static"])
def test_page_faults(program, tmp_path, name):
    """Every page that is touched first, by whom."""
    done = trace("faults", tmp_path / "t", "--", program / name, "work")
    assert (done.returncode, done.stdout) == (3, b""), done.stderr
    found = whole(answer(tmp_path / "t"))
    assert found["faults"]["lost"] == 0
    assert of(found, "faults", "touch") == (500, 500 * 4096)
    assert of(found, "faults", "main") >= (500, 500 * 4096)
    assert found["brk"] is found["mmap"] is found["oom"] is None
    stack = next(stack for stack in found["stacks"] if stack["function"] == "touch")
    assert [frame["function"] for frame in stack["stack"]][:3] == ["touch", "work", "main"]
    assert stack["line"] == PROGRAM[:PROGRAM.index("memory[i * PAGE]")].count("\n") + 1


@NEEDS_CALLS
def test_system_calls(program, tmp_path):
    done = trace("brk,mmap,munmap", tmp_path / "t", "--", program / "traced", "work")
    assert done.returncode == 3, done.stderr
    found = whole(answer(tmp_path / "t"))
    assert of(found, "mmap", "map") == (5, 500 * 4096)
    assert of(found, "munmap", "unmap") == (5, 500 * 4096)
    trace("brk", tmp_path / "g", "--", program / "traced", "grow")
    found = whole(answer(tmp_path / "g"))
    assert of(found, "brk", "grow") == (32, 30 * 16 * 4096)  # what was moved down adds nothing, nor a question
    trace("mmap", tmp_path / "f", "--", program / "traced", "fails")
    found = answer(tmp_path / "f")
    assert of(found, "mmap", "main") == (1, 0)


@NEEDS_CALLS
def test_as_strace_counts(program, tmp_path):
    """The kernel's number of calls is strace's."""
    calls = tmp_path / "calls"
    subprocess.run(["strace", "-f", "-o", calls, "-e", "trace=brk,mmap,munmap", program / "traced", "work"], check=False)
    trace("brk,mmap,munmap", tmp_path / "t", "--", program / "traced", "work")
    found = whole(answer(tmp_path / "t"))
    for kind in ("brk", "mmap", "munmap"):
        assert found[kind]["count"] == len(re.findall(rf"\b{kind}\(", calls.read_text())), kind


def gdb_names(folder, condition):
    """Functions at the first brk() below process_chunk, the innermost first."""
    script = ["set pagination off", "set breakpoint pending on", "break process_chunk", "run", f"ignore 1 {condition}", "catch syscall brk",
              "continue", "bt"]
    done = subprocess.run(["gdb", "-q", "-batch", "-nx", *(word for line in script for word in ("-ex", line)), folder / "cxx"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return re.findall(r"^#\d+ +(?:0x\w+ in )?([\w:~]+(?: new)?)", done.stdout, re.M)


@NEEDS_CALLS
def test_the_allocators_frames(program, tmp_path):
    """What asks for more heap is below operator new and malloc, in libraries without frame pointers; as gdb has it."""
    trace("brk", tmp_path / "t", "--", program / "cxx")
    found = whole(answer(tmp_path / "t"))
    names = max((stack for stack in found["stacks"]), key=lambda stack: stack["bytes"])["stack"]
    names = [re.sub(r"(\(|@).*", "", frame["function"]) for frame in names]
    at = [names.index(name) for name in ("process_chunk", "operator new", "malloc")]
    assert at == sorted(at, reverse=True) and names[at[0] + 1] == "main"
    with_gdb = gdb_names(program, 20)
    assert "process_chunk" in with_gdb
    common = [name for name in with_gdb if name in names]
    assert "operator new" in common and [name for name in names if name in common] == common


@pytest.mark.parametrize("how, pages", [("thread", 250), ("fork", 100), ("exec", 500)])
def test_what_begins_meanwhile(program, tmp_path, how, pages):
    trace("faults", tmp_path / "t", "--", program / "traced", how)
    assert of(whole(answer(tmp_path / "t")), "faults", "touch")[0] == pages


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_faults_in_the_kernel(program, tmp_path):
    """Of root those within system calls are seen, with the call's stack; of others not, which is said."""
    trace("faults", tmp_path / "t", "--", program / "traced", "kernel")
    found = whole(answer(tmp_path / "t"))
    assert of(found, "faults", "fill_in_kernel")[0] >= 64 and not found["faults"]["user_only"]
    if not recording.anybody_may_enter(binary()) or not recording.anybody_may_enter(program / "traced"):
        pytest.skip("nobody may not enter the folder of the build")
    folder = tmp_path / "nobody"
    folder.mkdir()
    for part in (folder, *list(folder.parents)[:2]):
        part.chmod(0o777)
    done = trace("faults", folder / "t", "--", program / "traced", "kernel", user=65534, group=65534, extra_groups=[])
    if done.returncode != 3:
        assert b"perf_event_paranoid" in done.stderr
        return
    os.chown(folder / "t", 0, 0)
    found = whole(answer(folder / "t"))
    if b"within system calls" in done.stderr:
        assert found["faults"]["user_only"] and of(found, "faults", "fill_in_kernel")[0] < 64
    done = trace("brk", folder / "u", "--", program / "traced", "work", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1 and b"by root only" in done.stderr and not (folder / "u").exists()
    assert trace("all", folder / "a", "--", program / "traced", "work", user=65534, group=65534, extra_groups=[]).returncode == 3


def test_a_process_that_runs(program, tmp_path):
    """From now on, until it is enough; and the process goes on as if nothing had been."""
    process = subprocess.Popen([program / "traced", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    tracer = subprocess.Popen([binary(), "trace", "faults", "--no-summary", "-p", str(process.pid), "-o", tmp_path / "t"],
                              stderr=subprocess.PIPE)
    assert b"Ctrl-C" in tracer.stderr.readline()
    for _ in range(3):
        process.stdin.write(b"x")
        process.stdin.flush()
    process.stdin.close()
    assert process.wait(60) == 3
    assert tracer.wait(60) == 0
    assert of(whole(answer(tmp_path / "t")), "faults", "touch")[0] == 1500


def test_a_process_whose_first_thread_ends(program, tmp_path):
    """It has not ended before its last one has."""
    with subprocess.Popen([program / "traced", "first"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        tracer = subprocess.Popen([binary(), "trace", "faults", "--no-summary", "-p", str(process.pid), "-o", tmp_path / "t"],
                                  stderr=subprocess.PIPE)
        assert b"Ctrl-C" in tracer.stderr.readline()
        process.stdin.close()
        assert process.wait(60) == 3
    assert tracer.wait(60) == 0
    assert of(whole(answer(tmp_path / "t")), "faults", "touch")[0] == 500


def test_output_that_cannot_be_written(program, tmp_path):
    """At once, and not when the process ends."""
    with subprocess.Popen([program / "traced", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        for options in ([], ["--json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([binary(), "trace", "faults", "-q", "-f", "-o", tmp_path / "t", "-i", "10ms", *options, "-p",
                                       str(process.pid)], stdout=full, stderr=subprocess.PIPE, check=False, timeout=30)
            assert done.returncode == 1 and b"No space left" in done.stderr, done
        process.kill()


def test_options_behind_the_program_are_its_own(tmp_path):
    for between in ([], ["--"]):
        done = recording.run([binary(), "trace", "faults", "-q", "-f", "-o", tmp_path / "t", *between, "sh", "-c", "exit 5"])
        assert done.returncode == 5 and done.stderr == b"", done


def test_the_program_gets_signals_of_memtape(tmp_path):
    script = "trap 'exit 4' TERM; echo ready; sleep 5 & wait $!"
    with subprocess.Popen([binary(), "trace", "faults", "-q", "-o", tmp_path / "t", "sh", "-c", script], stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout.readline() == b"ready\n"
        tracer.terminate()
        assert tracer.wait(60) == 4


def test_ctrl_c_and_duration(program, tmp_path):
    process = subprocess.Popen([program / "traced", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    tracer = subprocess.Popen([binary(), "trace", "faults", "-p", str(process.pid), "-o", tmp_path / "t"], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL)
    tracer.stderr.readline()
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(60) == 0
    assert answer(tmp_path / "t")["faults"]["count"] == 0
    assert trace("faults", tmp_path / "d", "-p", str(process.pid), "-d", "100ms").returncode == 0
    assert process.poll() is None
    process.kill()
    process.wait()


def test_exit_codes(program, tmp_path):
    assert trace("faults", tmp_path / "t", "--", program / "traced", "killed").returncode == -signal.SIGKILL
    for words, code, text in [
            (["/not/there"], 127, b"/not/there"), (["/etc/passwd"], 126, b"Permission denied"),
            (["-p", "999999999"], 1, b"no process"), (["-p", "1", "-a"], 2, b"one of"), ([], 2, b"one of"),
            (["--period", "0", "true"], 2, b"--period"), (["--stack-size", "1m", "true"], 2, b"63k")]:
        done = trace("faults", tmp_path / "none", *words)
        assert done.returncode == code and text in done.stderr, (words, done)
        assert not (tmp_path / "none").exists()
    done = recording.run([binary(), "trace", "walls", "true"])
    assert done.returncode == 2 and b"walls" in done.stderr and b"major-faults" in done.stderr
    done = recording.run([binary(), "trace", "faults", "-o", tmp_path / "t", "true"])
    assert done.returncode == 2 and b"--force" in done.stderr


def test_period_and_no_stacks(program, tmp_path):
    trace("faults", tmp_path / "t", "--period", "10", "--", program / "traced", "work")
    found = answer(tmp_path / "t")["faults"]
    assert found["period"] == 10 and found["count"] > 500 and abs(found["recorded"] * 10 + found["lost"] - found["count"]) <= 20
    trace("faults", tmp_path / "n", "--stack-size", "0", "--", program / "traced", "work")
    found = whole(answer(tmp_path / "n"))
    assert [stack["stack"][0]["function"] for stack in found["stacks"]] == ["(no stack taken)"] and found["faults"]["recorded"] > 500


def test_pictures_and_files(program, tmp_path):
    """The metric of a kind is what the report says, in a flame graph, a folded file, the tree, and over REST."""
    tape = tmp_path / "t"
    trace("faults", tape, "--", program / "traced", "work")
    count = answer(tape)["faults"]["recorded"]
    done = recording.run([binary(), "export", tape, "--to", "folded", "--metric", "faults"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == count
    assert "main;work;touch 500" in lines
    for metric in ([], ["--metric", "faults"]):
        done = recording.run([binary(), "flamegraph", tape, *metric])
        assert done.returncode == 0 and b"page faults" in done.stdout and b"touch" in done.stdout and b" 0 allocations" not in done.stdout
    done = recording.run([binary(), "flamegraph", tape, "--metric", "brk"])
    assert done.returncode == 1 and b"memtape trace" in done.stderr
    done = recording.run([binary(), "flamegraph", tape, "--filter", "size > 1"])
    assert done.returncode == 2 and b"--from" in done.stderr
    tree = recording.report(tape, "tree", "--sort", "faults")
    assert tree["count"] == count and tree["metric"] == "faults"
    trace("faults", tmp_path / "u", "--", program / "traced", "exec")
    done = recording.run([binary(), "diff", tmp_path / "u", tape, "--metric", "faults", "--json"])
    rows = {row["function"]: row for row in json.loads(done.stdout)["rows"]}
    assert done.returncode == 0 and rows["touch"]["a"] == rows["touch"]["b"] == 500, rows
    text = recording.run([binary(), "report", tape, "trace"]).stdout.decode()
    assert f"{count:,}" in text and "touch" in text
    assert answer(tape, "--until", "0ns")["faults"]["recorded"] <= 1


def test_another_tape(tmp_path):
    """One of allocations has none of it, and says where they come from."""
    recording.run_recorded([recording.which("true")], tmp_path / "t")
    found = answer(tmp_path / "t")
    assert found["faults"] is found["brk"] is None and found["stacks"] == []
    assert b"memtape trace" in recording.run([binary(), "report", tmp_path / "t", "trace"]).stdout


def test_anonymised(program, tmp_path):
    trace("faults", tmp_path / "t", "--", program / "traced", "work")
    done = recording.run([binary(), "anonymise", tmp_path / "t", "-o", tmp_path / "a"])
    assert done.returncode == 0, done.stderr
    before, after = answer(tmp_path / "t"), answer(tmp_path / "a")
    assert after["faults"] == before["faults"]
    assert [stack["count"] for stack in after["stacks"]] == [stack["count"] for stack in before["stacks"]]


@pytest.fixture
def waiting(program):
    """A program that works when it is told to."""
    process = subprocess.Popen([program / "traced", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def tell(process, what):
    process.stdin.write(what)
    process.stdin.flush()


def test_what_is_lost_is_counted(waiting, tmp_path):
    """While memtape stands still there is room for some of them."""
    tracer = subprocess.Popen([binary(), "trace", "faults", "--no-summary", "--stack-size", "60k", "-p", str(waiting.pid), "-o", tmp_path / "t"],
                              stderr=subprocess.PIPE)
    tracer.stderr.readline()
    tracer.send_signal(signal.SIGSTOP)
    tell(waiting, b"x" * 12)
    time.sleep(1.5)
    tracer.send_signal(signal.SIGCONT)
    waiting.stdin.close()
    assert waiting.wait(60) == 3 and tracer.wait(60) == 0
    found = whole(answer(tmp_path / "t"))["faults"]
    assert found["count"] >= 6000 and 0 < found["lost"] < found["count"]
    assert "lost, for want of room" in recording.run([binary(), "report", tmp_path / "t", "trace"]).stdout.decode()


@pytest.mark.skipif(not ROOT, reason="needs root")
@pytest.mark.parametrize("what, pages, who", [(b"f", 100, "child"), (b"m", 50, "itself")])
def test_processes_that_ran_before(program, waiting, tmp_path, what, pages, who):
    """Among all: the first that is seen of one is that it forks, or that it maps code."""
    tell(waiting, b"xmf")  # what it needs has been touched
    time.sleep(0.3)
    tracer = subprocess.Popen([binary(), "trace", "faults", "-a", "--no-summary", "-o", tmp_path / "t"], stderr=subprocess.PIPE)
    tracer.stderr.readline()
    tell(waiting, what)
    time.sleep(0.5)
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(60) == 0
    found = answer(tmp_path / "t")
    stacks = [stack for stack in found["stacks"] if [f["function"] for f in stack["stack"]][:3] == ["touch", "work", "main"]
              and stack["module"] == str(program / "traced")]  # other tests may run, too
    own = [stack for stack in stacks if stack["stack"][-1]["function"] == f"traced ({waiting.pid})"]
    assert sum(stack["count"] for stack in (own if who == "itself" else [s for s in stacks if s not in own])) == pages


@pytest.mark.skipif(not ROOT, reason="needs root")
def trace_replaced(program, tmp_path):
    """Two programs of one name, one after the other, while all processes are traced; (answer, pid of the second)."""
    path = tmp_path / "p"
    tracer = subprocess.Popen([binary(), "trace", "faults", "-a", "-f", "--no-summary", "-o", tmp_path / "t"], stderr=subprocess.PIPE)
    tracer.stderr.readline()
    for name, words in (("traced", ["work"]), ("cxx", [])):
        shutil.copy(program / name, tmp_path / "new")
        os.rename(tmp_path / "new", path)
        process = subprocess.Popen([path, *words])
        process.wait()
        time.sleep(0.2)
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(60) == 0
    return answer(tmp_path / "t"), process.pid


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_a_file_that_is_replaced(program, tmp_path):
    """Each is unwound by its own tables."""
    for _ in range(5):
        found, pid = trace_replaced(program, tmp_path)
        mine = [stack for stack in found["stacks"] if stack["stack"] and stack["stack"][-1]["function"] == f"p ({pid})"]
        named = [stack for stack in mine if any("process_chunk" in frame["function"] for frame in stack["stack"])]
        assert all(any(f["function"] == "main" for f in stack["stack"]) for stack in named)
        if sum(stack["count"] for stack in named) > 1000:
            return
        assert found["faults"]["lost"] > 0  # other processes fault faster than can be read: once more
    pytest.fail("this machine never lets a trace of it be whole")


@NEEDS_CALLS
def test_a_victim_is_one(waiting, program, tmp_path):
    """The whole machine's events are counted once, however many threads a process has."""
    threads = subprocess.Popen(["/usr/bin/python3", "-c", "import threading, time\n"
                                "for i in range(4): threading.Thread(target=time.sleep, args=(8,), daemon=True).start()\n"
                                "print(flush=True); time.sleep(8)"], stdout=subprocess.PIPE)
    threads.stdout.readline()
    with test_pauses.small_cgroup("v1" if test_pauses.pathlib.Path(*test_pauses.MEMORY["v1"][:2]).exists() else "v2", "30m") as group:
        tracer = subprocess.Popen([binary(), "trace", "oom", "--no-summary", "-p", str(threads.pid), "-o", tmp_path / "t"], stderr=subprocess.PIPE)
        tracer.stderr.readline()
        eater = subprocess.Popen(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec /usr/bin/python3 -c 'b = bytearray(100 << 20)'"])
        assert eater.wait(60) == -signal.SIGKILL
        tracer.send_signal(signal.SIGINT)
        assert tracer.wait(60) == 0
    threads.kill()
    threads.wait()
    found = answer(tmp_path / "t")["oom"]
    assert (found["count"], found["recorded"], found["lost"], found["period"]) == (1, 1, 0, 1)


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_all_processes(program, tmp_path):
    """Each stack begins with its process."""
    tracer = subprocess.Popen([binary(), "trace", "faults,oom", "-a", "--no-summary", "-o", tmp_path / "t"], stderr=subprocess.PIPE)
    assert b"Ctrl-C" in tracer.stderr.readline()
    process = subprocess.Popen([program / "traced", "work"])
    process.wait()
    tracer.send_signal(signal.SIGTERM)
    assert tracer.wait(60) == 0
    found = answer(tmp_path / "t")
    mine = [stack for stack in found["stacks"] if stack["stack"] and stack["stack"][-1]["function"] == f"traced ({process.pid})"]
    pages = sum(stack["count"] for stack in mine if stack["function"] == "touch")
    assert pages == 500 or (found["faults"]["lost"] > 0 and pages <= 500)


@pytest.mark.parametrize("all_of_them", [False, pytest.param(True, marks=pytest.mark.skipif(not ROOT, reason="needs root"))])
def test_counts_each_so_often(program, tmp_path, all_of_them):
    """The lines add up to what was there, and name who it was."""
    process = subprocess.Popen([program / "traced", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    whom = ["-a", "-n", "1000"] if all_of_them else ["-p", str(process.pid)]
    tracer = subprocess.Popen([binary(), "trace", "faults", *whom, "--no-summary", "--json", "-i", "200ms", "-o", tmp_path / "t"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tracer.stderr.readline()
    process.stdin.write(b"xx")
    process.stdin.flush()
    time.sleep(1)
    tracer.send_signal(signal.SIGINT)
    text, found = tracer.communicate()[0].decode(), []
    process.kill()
    process.wait()
    while text.strip():
        one, end = json.JSONDecoder().raw_decode(text.lstrip())
        found.append(one)
        text = text.lstrip()[end:]
    assert len(found) >= 3 and [one["ns"] for one in found] == sorted(one["ns"] for one in found)
    assert sum(one["faults"] for one in found) <= answer(tmp_path / "t")["faults"]["count"]
    if not all_of_them:
        assert sum(one["faults"] for one in found) >= 1000
        return
    mine = [one for each in found for one in each["processes"] if one["pid"] == process.pid]
    assert 0 < sum(one["faults"] for one in mine) <= 1100 and mine[0]["name"] == "traced"
    text = recording.run([binary(), "trace", "faults,oom", "-a", "-q", "-i", "100ms", "-d", "250ms", "-f", "-o", tmp_path / "t"]).stdout.decode()
    assert text.splitlines()[0].split() == ["time", "faults", "oom", "process"] and " all\n" in text


@pytest.mark.parametrize("argv", [
    ["python3", "-c", "import json, threading; print(len(json.dumps(list(range(50000)))))"],
    ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c limit 50000) select sum(x) from c;"],
    ["git", "-C", str(recording.ROOT), "log", "--oneline", "-20"]], ids=lambda argv: argv[0])
def test_real_programs(argv, tmp_path):
    """Output is as without, and hardly a stack is cut."""
    argv = [recording.which(argv[0]), *argv[1:]]
    plain = recording.run_plain(argv)
    done = trace("faults", tmp_path / "t", "--", *argv)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    found = whole(answer(tmp_path / "t"))
    good = sum(stack["count"] for stack in found["stacks"]
               if "not known" not in stack["stack"][-1]["function"])
    assert good >= 0.9 * found["faults"]["recorded"]
