"""memtape attach --hook=inline: the first instructions of the allocator's functions are changed, and put back."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary
from test_attach import KINDS, WAITS, attach, detach, is_attached, mappings, on, programs, start  # noqa: F401 (fixtures)

POINTERS = WAITS + r"""
static void *(*volatile m)(size_t), *(*volatile c)(size_t, size_t), *(*volatile r)(void *, size_t), *(*volatile a)(size_t, size_t);
static int (*volatile p)(void **, size_t, size_t);
static void (*volatile f)(void *);
static void *volatile leaked;

/* What each is recorded as, once each. */
NOINLINE static void by_pointer(void)
{
	void *block, *aligned;
	leaked = m(601);
	block = c(3, 201);	/* calloc, 603 */
	block = r(block, 604);	/* realloc */
	f(block);
	f(r(NULL, 605));	/* realloc, which calls malloc inside */
	f(a(64, 606));
	f(p(&aligned, 64, 607) == 0 ? aligned : NULL);
	f(NULL);
}

NOINLINE static void by_libc(void)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *file = fopen("/proc/self/comm", "r");
	free(strdup("a copy that libc makes, 33 bytes"));
	free(getline(&line, &bytes, file) > 0 ? line : NULL);
	fclose(file);
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_signal);
	*(void **)&m = dlsym(RTLD_DEFAULT, "malloc"), *(void **)&c = dlsym(RTLD_DEFAULT, "calloc"), *(void **)&r = dlsym(RTLD_DEFAULT, "realloc");
	*(void **)&a = dlsym(RTLD_DEFAULT, "aligned_alloc"), *(void **)&p = dlsym(RTLD_DEFAULT, "posix_memalign"), *(void **)&f = dlsym(RTLD_DEFAULT, "free");
	wait_for_test("before");
	by_pointer(), by_libc();
	if (argc > 1) {
		pid_t child = fork();
		if (child == 0) {
			wait_for_test("child");
			by_pointer(), by_libc();
			wait_for_test("child is done");
			_exit(7);
		}
		int status;
		waitpid(child, &status, 0);
		printf("%d\n", WEXITSTATUS(status)), fflush(stdout);
	}
	wait_for_test("during");
	by_pointer();
	wait_for_test("after");
	return 0;
}
"""


@pytest.fixture(scope="module")
def pointers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pointers")
    (folder / "p.c").write_text(POINTERS)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-Wno-unused-result", "-o", folder / "usual", folder / "p.c", "-ldl"], check=True)
    if shutil.which("musl-gcc"):
        subprocess.run(["musl-gcc", "-g", "-O1", "-fno-builtin", "-o", folder / "musl", folder / "p.c"], check=True)
    return folder


def code(pid):
    """The instructions of the program and its libraries, but for memtape's own: (path, begin) -> bytes."""
    out = {}
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for begin, end, kind, path in mappings(pid):
            if kind == "r-xp" and path.startswith("/") and "memtape-attach" not in path:
                memory.seek(begin)
                out[path, begin] = memory.read(end - begin)
    return out


def changed(before, after):
    """How many runs of bytes differ."""
    count, last = 0, None
    for key, old in before.items():
        for at in [i for i, (x, y) in enumerate(zip(old, after[key])) if x != y] if old != after[key] else []:
            if last is None or last[0] != key or at - last[1] > 5:
                count, last = count + 1, (key, at)
    return count


def events(tape):
    """Of what the program did, by its sizes: (call, size, was freed), sorted."""
    rows = [row for row in recording.rows(tape) if row["stack"]]
    return sorted((row["function"], int(row["size"]), row["free_ns"] is not None) for row in rows if 600 < int(row["size"]) < 610 or int(row["size"]) == 33)


ONCE = [("aligned_alloc", 606, True), ("calloc", 603, True), ("malloc", 33, True), ("malloc", 601, False), ("posix_memalign", 607, True),
        ("realloc", 604, True), ("realloc", 605, True)]
NAMES = [name if name != "musl" else pytest.param(name, marks=pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc"))
         for name in ("usual", "musl")]


@pytest.mark.parametrize("name", NAMES)
def test_calls_by_pointers_of_before_are_recorded_once(name, pointers, start, tmp_path):  # noqa: F811
    program = start([pointers / name], "before")
    untouched = code(program.pid)
    attached = attach(program.pid, tmp_path / "tape", "--hook=inline")
    assert changed(untouched, code(program.pid)) >= 6
    on(program, "during")
    detach(program.pid, attached)
    assert code(program.pid) == untouched
    on(program, "after")
    on(program)
    assert program.wait(timeout=20) == 0
    same = {("aligned_alloc", 606, True): ("memalign", 606, True)} if name == "usual" else {}  # one function of two names
    assert events(tmp_path / "tape") == sorted(same.get(one, one) for one in ONCE)
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["attached"]["functions"] >= 6 and info["losses"]["lost_events"] == 0
    stacks = [row["stack"] for row in recording.rows(tmp_path / "tape") if int(row["size"]) == 601]
    assert len(stacks) == 1 and "by_pointer" in str(stacks[0])


def test_without_it_they_are_not(pointers, start, tmp_path):  # noqa: F811
    program = start([pointers / "usual"], "before")
    untouched = code(program.pid)
    attached = attach(program.pid, tmp_path / "tape")
    assert code(program.pid) == untouched
    on(program, "during")
    detach(program.pid, attached)
    assert events(tmp_path / "tape") == [("malloc", 33, True)]
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["attached"]["functions"] == 0


def test_again_and_in_turns(pointers, start, tmp_path):  # noqa: F811
    program = start([pointers / "usual"], "before")
    untouched = code(program.pid)
    pages = []
    for hook in ("inline", "calls", "inline", "inline"):
        attached = attach(program.pid, tmp_path / "tape", f"--hook={hook}")
        assert (code(program.pid) != untouched) == (hook == "inline")
        detach(program.pid, attached)
        assert code(program.pid) == untouched
        pages.append(sum(kind == "r-xp" and path == "" for _, _, kind, path in mappings(program.pid)))
    assert pages == [1, 1, 1, 1]  # of moved instructions: used again
    attached = attach(program.pid, tmp_path / "tape", "--hook=inline")
    on(program, "during")
    detach(program.pid, attached)
    assert len(events(tmp_path / "tape")) == len(ONCE)


@pytest.mark.parametrize("hook", ["inline", "calls"])
def test_a_forked_child_can_be_attached_to(hook, pointers, start, tmp_path):  # noqa: F811
    program = start([pointers / "usual", "forks"], "before")
    untouched = code(program.pid)
    attached = attach(program.pid, tmp_path / "tape", "--hook=inline")
    on(program, "child")
    child = int(pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text())
    assert code(child) != untouched
    second = attach(child, tmp_path / "child.mtape", f"--hook={hook}")
    os.kill(child, signal.SIGUSR1)
    assert program.stdout.readline() == "child is done\n"
    detach(child, second)
    assert code(child) == untouched and code(program.pid) != untouched
    os.kill(child, signal.SIGUSR1)
    assert program.stdout.readline() == "7\n" and program.stdout.readline() == "during\n"
    detach(program.pid, attached)
    assert code(program.pid) == untouched
    # What leads to the recorder from its beginning does so with either.
    assert len(events(tmp_path / "child.mtape")) == len(events(tmp_path / "tape")) == len(ONCE)


def test_a_killed_memtape_leaves_it_working_until_it_is_let_go(pointers, start, tmp_path):  # noqa: F811
    program = start([pointers / "usual"], "before")
    untouched = code(program.pid)
    attached = attach(program.pid, tmp_path / "tape", "--hook=inline")
    attached.kill(), attached.wait()
    assert code(program.pid) != untouched
    on(program, "during")
    assert recording.run([binary(), "detach", str(program.pid)]).returncode == 0
    assert code(program.pid) == untouched and not is_attached(program.pid)
    assert len(events(tmp_path / "tape")) == len(ONCE)
    on(program, "after")
    on(program)
    assert program.wait(timeout=20) == 0


@pytest.mark.parametrize("kind", ["usual", KINDS[-1]])
def test_storms_survive(kind, programs, start, tmp_path):  # noqa: F811
    program = start([programs[kind], "storm", "16", "idle"], "ready")
    untouched = code(program.pid)
    for _ in range(recording.times(60, 2)):
        done = recording.run([binary(), "attach", str(program.pid), "-q", "-f", "-d", "20ms", "-o", tmp_path / "tape", "--hook=inline"])
        assert done.returncode == 0, done.stderr
        assert program.poll() is None
    assert code(program.pid) == untouched
    info = json.loads(recording.run([binary(), "info", tmp_path / "tape", "--json"]).stdout)
    assert info["tape"]["events"] > 100 and info["attached"]["functions"] >= 6
    on(program)
    assert program.communicate(timeout=30)[0] == "0 bad\n"


SPINNING = "import time\nprint('ready', flush=True)\nwhile True:\n    x = [{'a': i} for i in range(2000)]\n    time.sleep(0.001)"


def lives_with(process, tape, functions_min):
    untouched = code(process.pid)
    for _ in range(2):
        done = recording.run([binary(), "attach", str(process.pid), "-q", "-f", "-d", "150ms", "-o", tape, "--hook=inline"])
        assert done.returncode == 0, done.stderr
    assert code(process.pid) == untouched and process.poll() is None
    info = json.loads(recording.run([binary(), "info", tape, "--json"]).stdout)
    assert info["attached"]["functions"] >= functions_min and info["tape"]["events"] > 0 and info["losses"]["lost_events"] == 0
    assert recording.run([binary(), "verify", tape]).returncode == 0


def test_python(start, tmp_path):  # noqa: F811
    lives_with(start(["/usr/bin/python3", "-c", SPINNING], "ready"), tmp_path / "tape", 6)


@pytest.mark.parametrize("allocator, functions", [("libjemalloc.so.2", 6), ("libtcmalloc.so.4", 15), ("libmimalloc.so.2", 6)])
def test_other_allocators(allocator, functions, programs, start, tmp_path):  # noqa: F811
    found = next(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(f"{allocator}*"), None)
    if not found:
        pytest.skip(f"{allocator} is not installed")
    process = subprocess.Popen([programs["usual"], "storm", "3", "idle"], stdout=subprocess.PIPE, text=True,
                               env=recording.clean_env(LD_PRELOAD=found))
    try:
        assert process.stdout.readline() == "ready\n"
        lives_with(process, tmp_path / "tape", functions)
        os.kill(process.pid, signal.SIGUSR1)
        assert process.communicate(timeout=30)[0] == "0 bad\n"
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis is not installed")
def test_redis(start, tmp_path):  # noqa: F811
    sock = tmp_path / "redis.sock"
    redis = start(["redis-server", "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no"])
    end = time.monotonic() + 20
    while not sock.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    load = start(["redis-benchmark", "-s", sock, "-t", "set,get,lpush", "-n", "20000", "-q", "-l"])
    lives_with(redis, tmp_path / "tape", 6)
    assert load.poll() is None  # it goes on until it is ended
    assert recording.run(["redis-cli", "-s", str(sock), "ping"]).stdout == b"PONG\n"


ODD = r"""
#include <stddef.h>
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void counted(void) {}
__asm__(".globl malloc\n.type malloc, @function\nmalloc:\n\tcall counted\n\tjmp __libc_malloc\n.size malloc, .-malloc\n");
"""


def test_what_cannot_be_moved_is_refused(pointers, tmp_path):
    (tmp_path / "odd.c").write_text(ODD)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", tmp_path / "odd.so", tmp_path / "odd.c"], check=True)
    process = subprocess.Popen([pointers / "usual"], stdout=subprocess.PIPE, text=True, env=recording.clean_env(LD_PRELOAD=tmp_path / "odd.so"))
    try:
        assert process.stdout.readline() == "before\n"
        untouched = code(process.pid)
        done = recording.run([binary(), "attach", str(process.pid), "-q", "-d", "10ms", "-o", tmp_path / "tape", "--hook=inline"])
        assert done.returncode == 1
        assert f"--hook=inline: malloc of process {process.pid} begins with a call" in done.stderr.decode()
        assert code(process.pid) == untouched and not is_attached(process.pid)
        assert recording.run([binary(), "attach", str(process.pid), "-q", "-d", "10ms", "-o", tmp_path / "tape"]).returncode == 0
        for word in ("during\n", "after\n"):
            os.kill(process.pid, signal.SIGUSR1)
            assert process.stdout.readline() == word
    finally:
        process.kill()
        process.communicate()


MARKED = r"""
#include <stddef.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
"""
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def test_a_mark_for_indirect_calls_stays(pointers, start, tmp_path):  # noqa: F811
    (tmp_path / "m.c").write_text(MARKED)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-fcf-protection=branch", "-o", tmp_path / "marked.so", tmp_path / "m.c"], check=True)
    program = start(["/usr/bin/env", f"LD_PRELOAD={tmp_path / 'marked.so'}", pointers / "usual"], "before")
    untouched = code(program.pid)
    [ours] = [key for key in untouched if "marked.so" in key[0]]
    attached = attach(program.pid, tmp_path / "tape", "--hook=inline")
    now = code(program.pid)
    assert now[ours] != untouched[ours] and now[ours].count(ENDBR64) == untouched[ours].count(ENDBR64) > 0
    on(program, "during")
    detach(program.pid, attached)
    assert code(program.pid) == untouched
    on(program, "after")
    on(program)
    assert program.wait(timeout=20) == 0
    assert len(events(tmp_path / "tape")) == len(ONCE)


@pytest.mark.parametrize("args, words", [(["--hook=none", "1"], "calls"), (["--hook=inline", "--bpf", "1"], "--bpf takes no --hook")])
def test_wrong_words(args, words):
    done = recording.run([binary(), "attach", *args])
    assert done.returncode == 2 and words in done.stderr.decode()
