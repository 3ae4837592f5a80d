"""memusage and memusagestat in the place of glibc's: byte for byte where those are right."""

import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys

import pytest

import recording

GLIBC = {name: shutil.which(name) for name in ("memusage", "memusagestat")}
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")
PROGRAMS = {
    "hello": """
        int main(void) {
            void *blocks[10];
            for (int i = 0; i < 10; i++) blocks[i] = malloc(i == 0 ? 19 : 3 + i * 2);
            puts("hello");
            for (int i = 0; i < 9; i++) free(blocks[i]);
        }""",
    "reallocs": """
        int main(void) {
            char *p = realloc(NULL, 100);
            p = realloc(p, 200); p = realloc(p, 50); p = realloc(p, 100000); p = realloc(p, 0);
            void *c = calloc(10, 70000); c = realloc(c, 0);
            free(NULL); free(NULL); free(malloc(65535)); free(malloc(65536)); malloc(3);
            free(strdup("five")); setvbuf(stdout, NULL, _IONBF, 0); puts("x");
            return 3;
        }""",
    "nothing": "int main(void) { return 0; }",
    "failing": """
        int main(void) {
            void *p = malloc(100);
            volatile size_t half = (size_t)1 << 63, most = (size_t)1 << 62;
            if (malloc(most) || malloc(SIZE_MAX) || malloc(SIZE_MAX - 7) || realloc(p, most) || calloc(half, 2))
                return 1;
            if (calloc((size_t)4294967297, (size_t)4294967296)) return 2;
            if (malloc_usable_size(p) < 100 || malloc_usable_size(p) > 200) return 3;
            p = realloc(p, 150); free(p);
        }""",
    "aligned": """
        int main(void) {
            void *p;
            for (int i = 0; i < 3; i++) {
                if (posix_memalign(&p, 64, 1000)) return 1;
                free(p); free(aligned_alloc(64, 2048)); free(memalign(32, 70)); free(valloc(10));
            }
            p = realloc(memalign(64, 40), 60); free(p);
        }""",
    "deep": """
        void *run(void *levels) {
            volatile char room[1000]; memset((void *)room, 1, sizeof room);
            free(malloc(10));
            if (levels) run((char *)levels - 1);
            return (void *)(size_t)room[0];
        }
        static ucontext_t from, to;
        static void routine(void) { run((void *)5); }
        int main(int argc, char **argv) {
            pthread_t thread;
            run((void *)9);
            if (argc > 1 && argv[1][0] == 't') { pthread_create(&thread, NULL, run, (void *)60); pthread_join(thread, NULL); }
            if (argc > 1 && argv[1][0] == 'c') {
                getcontext(&to); to.uc_stack.ss_sp = malloc(65536); to.uc_stack.ss_size = 65536; to.uc_link = &from;
                makecontext(&to, routine, 0); swapcontext(&from, &to);
            }
        }""",
    "pingpong": """
        /* Coroutines in turns, each at the lower end of much that can be read; then a deep recursion. */
        enum { ROUNDS = 20000, ROOM = 256 << 20, STACK = 64 << 10, GUARD = 4096 };
        static ucontext_t back, contexts[64];
        static void routine(void) {
            for (;;) { free(malloc(10)); swapcontext(&contexts[*(volatile int *)&contexts[63].uc_flags], &back); }
        }
        static void run(int levels) {
            volatile char room[1000]; memset((void *)room, 1, sizeof room);
            free(malloc(20));
            if (levels) run(levels - 1);
        }
        int main(int argc, char **argv) {
            int count = atoi(argv[1]);
            run(9);
            for (int i = 0; i < count; i++) {
                char *room = mmap(NULL, GUARD + ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
                if (room == MAP_FAILED || mprotect(room, ROOM, PROT_READ | PROT_WRITE)) return 1;
                getcontext(&contexts[i]);
                contexts[i].uc_stack.ss_sp = room; contexts[i].uc_stack.ss_size = STACK;
                makecontext(&contexts[i], routine, 0);
            }
            for (int round = 0; round < ROUNDS; round++)
                for (int i = 0; i < count; i++) { contexts[63].uc_flags = i; swapcontext(&back, &contexts[i]); }
            run(99);
            return 0;
        }""",
    "threads": """
        static void *work(void *rounds) {
            for (size_t i = 0; i < (size_t)rounds; i++) free(malloc(i % 100));
            return NULL;
        }
        int main(int argc, char **argv) {
            pthread_t threads[8]; int count = atoi(argv[1]);
            for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void *)(size_t)atoi(argv[2]));
            for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
        }""",
    "late": """
        static volatile int begun;
        static void *work(void *unused) { for (;;) { free(malloc(100)); begun = 1; } return unused; }
        int main(void) {
            pthread_t thread;
            for (int i = 0; i < 4; i++) pthread_create(&thread, NULL, work, NULL);
            while (!begun) usleep(100);
            usleep(2000); return 0;
        }""",
    "maps": """
        int main(void) {
            int fd = memfd_create("f", 0); if (ftruncate(fd, 65536)) return 1;
            char *w = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            char *r = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
            char *a = mmap(NULL, 20480, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, 999, 0) != MAP_FAILED) return 2;
            if (mremap(w, 8192, (size_t)1 << 60, 0) != MAP_FAILED) return 3;
            munmap(a, 4096); munmap(a + 8192, 4096);      /* a hole in the middle */
            w = mremap(w, 8192, 16384, MREMAP_MAYMOVE); w = mremap(w, 16384, 4096, 0);
            munmap(r, 4096); munmap(w, 4096); munmap(a + 1, 4096); munmap(a, 20480); munmap(a, 20480);
        }""",
    "closes": "int main(void) { malloc(77); fclose(stderr); close(2); return 4; }",
    "ends": """
        int main(int argc, char **argv) {
            malloc(4321);
            switch (argv[1][0]) {
            case 'k': raise(SIGKILL);
            case 's': *(volatile int *)0 = 1;
            case 'a': abort();
            case 't': raise(SIGTERM);
            case 'e': _exit(9);
            case 'q': quick_exit(8);
            case 'x': execl("/bin/true", "true", NULL);
            }
        }""",
    "forks": """
        int main(void) {
            malloc(1000);
            if (fork() == 0) { free(malloc(2000)); exit(0); }
            wait(NULL); malloc(3000); return 0;
        }""",
    "descriptors": """
        int main(void) {
            struct itimerval timer; void (*old)(int) = signal(SIGPROF, SIG_DFL);
            malloc(5);
            if (old != SIG_DFL || getitimer(ITIMER_PROF, &timer) || timer.it_interval.tv_usec) return 1;
            for (int fd = 3; fd < 200; fd++) close(fd);
            int fd = open("victim", O_RDWR | O_CREAT | O_TRUNC, 0600);
            if (fd != 3 || write(fd, "mine", 4) != 4) return 2;
            malloc(6); return 0;
        }""",
}

HEAD = "\n".join(f"#include <{name}.h>" for name in (
    "errno", "fcntl", "malloc", "pthread", "signal", "stdint", "stdio", "stdlib", "string", "sys/mman", "sys/time",
    "sys/wait", "ucontext", "unistd"))


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    for name, text in PROGRAMS.items():
        source = folder / f"{name}.c"
        source.write_text(f"#define _GNU_SOURCE\n{HEAD}\n{text}\n")
        subprocess.run(["cc", "-O0", "-fno-builtin", "-w", "-pthread", "-o", folder / name, source], check=True)
    for name in GLIBC:
        (folder / f"our-{name}").mkdir()
        (folder / f"our-{name}" / name).symlink_to(recording.memtape())
    return folder


class Run:
    """One run of a memusage, ours unless told."""

    def __init__(self, programs, folder, *args, tool=None, env=None):
        tool = tool or programs / "our-memusage" / "memusage"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMUSAGE_")}
        environment.update({"MEMTAPE_LIBRARY": str(recording.library()), **(env or {})})
        done = subprocess.run([tool, *map(str, args)], cwd=folder, env=environment, capture_output=True, timeout=60)
        self.code, self.stdout, self.raw = done.returncode, done.stdout, done.stderr
        self.text = ESCAPE.sub(b"", done.stderr).decode(errors="replace")

    def peaks(self):
        found = re.findall(r"heap total: (\d+), heap peak: (\d+), stack peak: (\d+)", self.text)
        assert len(found) == 1, self.text
        return tuple(map(int, found[0]))

    def row(self, label):
        found = re.findall(rf"^ *{re.escape(label)}\| +(\d+) +(\d+)(?: +(\d+))?(?:  \((.*)\))?$", self.text, re.M)
        assert len(found) == 1, self.text
        return tuple(int(number) for number in found[0][:3] if number) + tuple(found[0][3:] if found[0][3] else ())

    def masked(self):
        return re.sub(rb"stack peak: \d+", b"stack peak: *", self.raw)


def records(path):
    data = pathlib.Path(path).read_bytes()
    assert len(data) % 24 == 0 and len(data) >= 48
    found = []
    for heap, stack, low, high in struct.iter_unpack("<QQII", data):
        found.append((heap, stack, high << 32 | low))
    return found


need_original = pytest.mark.skipif(not all(GLIBC.values()), reason="libc-devtools is not installed")


# --- where the original is right -----------------------------------------------------------------

@need_original
@pytest.mark.parametrize("name,args", [("hello", []), ("reallocs", []), ("nothing", []), ("threads", ["1", "500"])])
def test_same_bytes_as_the_original(programs, tmp_path, name, args):
    theirs = Run(programs, tmp_path, programs / name, *args, tool=GLIBC["memusage"])
    ours = Run(programs, tmp_path, "--color", "always", programs / name, *args)
    assert ours.masked() == theirs.masked()
    assert (ours.code, ours.stdout) == (theirs.code, theirs.stdout)
    plain = Run(programs, tmp_path, programs / name, *args)
    assert plain.masked() == ESCAPE.sub(b"", theirs.masked())


@need_original
@pytest.mark.parametrize("name", ["hello", "reallocs"])
def test_same_heap_in_the_data(programs, tmp_path, name):
    Run(programs, tmp_path, "--no-timer", "-d", "theirs", programs / name, tool=GLIBC["memusage"])
    Run(programs, tmp_path, "-d", "ours", programs / name)
    theirs, ours = records(tmp_path / "theirs"), records(tmp_path / "ours")
    assert [r[0] for r in ours] == [r[0] for r in theirs]
    times = [r[2] for r in ours[2:]]
    assert times == sorted(times) and ours[0][2] <= times[0] and times[-1] <= ours[1][2]
    assert ours[0][1] == max(heap + stack for heap, stack, _ in ours[2:])


@need_original
@pytest.mark.parametrize("args", [[], ["-t"], ["-T"], ["-tT", "-x", "1000", "-y", "300"]])
def test_the_original_draws_our_data(programs, tmp_path, args):
    Run(programs, tmp_path, "-d", "data", programs / "hello")
    before = (tmp_path / "data").read_bytes()
    subprocess.run([GLIBC["memusagestat"], *args, "data", "out.png"], cwd=tmp_path, check=True)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "data").read_bytes() == before


BLOG = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static const int sizes[10] = { 8, 10, 12, 14, 15, 7, 16, 18, 19, 26 };
    void *blocks[10];
    for (int i = 0; i < 10; i++) blocks[i] = malloc(sizes[i]);
    puts("Hello World");
    for (int i = 0; i < 9; i++) free(blocks[i == 8 ? 9 : i]);
    return 0;
}
"""


def test_the_example_of_the_blog_on_a_terminal(programs, tmp_path):
    """Ten mallocs of 145 bytes, nine frees of 126, and the 1024 bytes of a terminal's buffer."""
    (tmp_path / "blog.c").write_text(BLOG)
    subprocess.run(["cc", "-O0", "-fno-builtin", "-o", "blog", "blog.c"], cwd=tmp_path, check=True)
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "MEMTAPE_LIBRARY": str(recording.library())}
    environment.pop("NO_COLOR", None)
    done = subprocess.run([programs / "our-memusage" / "memusage", "./blog"], cwd=tmp_path, stdout=terminal,
                          stderr=terminal, env=environment, timeout=60)
    os.close(terminal)
    text = b""
    while chunk := read_some(controller):
        text += chunk
    os.close(controller)
    assert done.returncode == 0
    assert b"\x1b[01;32mMemory usage summary:\x1b[0;0m heap total: 1169, heap peak: 1169" in text
    plain = ESCAPE.sub(b"", text).decode().replace("\r\n", "\n")
    assert re.search(r"^ malloc\|         11           1169              0$", plain, re.M)
    assert re.search(r"^   free\|          9            126$", plain, re.M)
    assert f"    0-15              6  54% {'=' * 50}\n   16-31              4  36% {'=' * 33}\n" in plain
    assert f" 1024-1039            1   9% {'=' * 8}\n" in plain


def read_some(fd):
    try:
        return os.read(fd, 65536)
    except OSError:  # the other side is closed
        return b""


# --- where it is wrong ---------------------------------------------------------------------------

def test_failed_calls_are_in_no_sum(programs, tmp_path):
    run = Run(programs, tmp_path, programs / "failing")
    assert run.code == 0
    assert run.row("malloc") == (4, 100, 3)
    assert run.row("realloc")[:3] == (2, 50, 1)
    assert run.row("calloc") == (2, 0, 2)
    assert run.peaks()[:2] == (150, 150)
    assert re.findall(r"^ +(\d+)-\d+ +(\d+)", run.text, re.M) == [("96", "1"), ("144", "1")]


def test_aligned_allocations_count(programs, tmp_path):
    run = Run(programs, tmp_path, programs / "aligned")
    total = 3 * (1000 + 2048 + 70 + 10) + 40
    assert run.row("aligned") == (13, total, 0) and run.row("malloc") == (0, 0, 0)
    assert run.row("realloc")[:2] == (1, 20)
    assert run.row("free") == (13, total + 20)


@pytest.mark.parametrize("arg,least,most", [("-", 10000, 14000), ("t", 61000, 70000), ("c", 10000, 14000)])
def test_the_stack_grows_with_recursion(programs, tmp_path, arg, least, most):
    run = Run(programs, tmp_path, "-d", "data", programs / "deep", arg)
    assert least < run.peaks()[2] < most
    stacks = [stack for _, stack, _ in records(tmp_path / "data")[2:]]
    assert stacks[:20:2] == sorted(stacks[:20:2]) and stacks[18] - stacks[0] > 9 * 1000
    assert max(stacks) == run.peaks()[2]


@pytest.mark.parametrize("count,least,most", [(2, 100000, 120000), (20, 10000, 14000)])
def test_coroutines_in_turns_are_told_apart_in_bounded_time(programs, tmp_path, count, least, most):
    """
    Few are remembered; where they are too many, nobody looks any more: what was known stays true, and how deep the
    stack went after that is found at the end, from its pages.
    """
    run = Run(programs, tmp_path, "-d", "data", programs / "pingpong", count)
    assert run.code == 0
    calls = count * 20000 + 10 + 100
    assert run.row("malloc") == (calls, count * 20000 * 10 + 110 * 20, 0)
    assert run.row("free") == (calls, count * 20000 * 10 + 110 * 20)
    assert 100000 < run.peaks()[2] < 120000
    stacks = [stack for _, stack, _ in records(tmp_path / "data")[2:]]
    assert stacks[:20:2] == sorted(stacks[:20:2]) and least < max(stacks) < most


@pytest.mark.parametrize("count", [1, 8])
def test_threads_lose_nothing(programs, tmp_path, count):
    rounds = 20000
    run = Run(programs, tmp_path, "-d", "data", programs / "threads", count, rounds)
    per_thread = rounds // 100 * sum(range(100))
    assert run.row("malloc") == (count * rounds, count * per_thread, 0)
    frees, freed = run.row("free")  # and what libc made for the threads, by calloc, and NULL
    assert count * rounds <= frees < count * (rounds + 20)
    assert count * per_thread <= freed <= count * per_thread + run.row("calloc")[1]
    found = records(tmp_path / "data")[2:]
    assert len(found) >= 2 * count * rounds
    assert all(a[2] <= b[2] for a, b in zip(found, found[1:]))
    assert max(heap for heap, _, _ in found) < 1 << 20


def test_main_may_end_before_its_threads(programs, tmp_path):
    for _ in range(recording.times(60, 8)):
        run = Run(programs, tmp_path, "-d", "data", programs / "late")
        assert run.code == 0 and run.row("malloc")[0] > 0


def test_mappings(programs, tmp_path):
    run = Run(programs, tmp_path, "-m", "-d", "data", programs / "maps")
    assert run.code == 0
    assert run.row("mmap(r)") == (2, 4096, 1)
    assert run.row("mmap(w)") == (1, 8192, 0)
    assert run.row("mmap(a)") == (1, 20480, 0)
    assert run.row("mremap") == (3, 8192, 1, "nomove: %d, dec:1" % run_nomove(run))
    assert run.row("munmap") == (7, 4096 * 4 + 2 * 20480, 1)
    assert run.peaks()[:2] == (8192 + 4096 + 20480 + 8192, 8192 + 4096 + 20480)
    assert [heap for heap, _, _ in records(tmp_path / "data")[2:]] == [
        8192, 12288, 32768, 28672, 24576, 32768, 20480, 16384, 12288, 0, 0]
    assert "mmap" not in Run(programs, tmp_path, programs / "maps").text


def run_nomove(run):
    """Whether the mapping that grew could stay; the one that shrank did."""
    found = int(re.search(r"nomove: (\d+)", run.text).group(1))
    assert found in (1, 2)
    return found


def test_a_program_that_closes_stderr(programs, tmp_path):
    run = Run(programs, tmp_path, programs / "closes")
    assert run.code == 4 and run.row("malloc") == (1, 77, 0)


@pytest.mark.parametrize("how,code", [("k", 137), ("s", 139), ("a", 134), ("t", 143), ("e", 9), ("q", 8)])
def test_a_summary_however_it_ends(programs, tmp_path, how, code):
    run = Run(programs, tmp_path, "-d", "data", programs / "ends", how)
    assert run.code == code
    assert run.row("malloc") == (1, 4321, 0)
    assert [heap for heap, _, _ in records(tmp_path / "data")] == [0, 4321, 4321]


def test_exec_has_a_summary_and_data_of_its_own(programs, tmp_path):
    run = Run(programs, tmp_path, "-d", "data", programs / "ends", "x")
    assert run.code == 0
    assert re.findall(r"^memusage: (\w+) \(\d+\)$", run.text, re.M) == ["ends", "true"]
    assert records(tmp_path / "data")[1][0] == 4321
    assert len(list(tmp_path.glob("data.*"))) == 1


def test_forked_children(programs, tmp_path):
    run = Run(programs, tmp_path, "-d", "data", programs / "forks")
    assert re.findall(r"^ malloc\| +(\d+) +(\d+)", run.text, re.M) == [("2", "4000"), ("1", "2000")]
    child, = tmp_path.glob("data.*")
    assert [heap for heap, _, _ in records(tmp_path / "data")[2:]] == [1000, 4000]
    assert [heap for heap, _, _ in records(child)[2:]] == [2000, 0]


def test_children_of_a_shell_do_not_clobber_each_other(programs, tmp_path):
    script = f"{programs}/hello; {programs}/reallocs; exit 5"
    run = Run(programs, tmp_path, "-n", "hello", "-d", "a", "sh", "-c", script)
    assert run.code == 5 and run.text.count("Memory usage summary") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]
    every = Run(programs, tmp_path, "-d", "b", "sh", "-c", script)
    assert re.findall(r"^memusage: (\w+) \(\d+\)$", every.text, re.M) == ["sh", "hello", "reallocs"]
    assert len(list(tmp_path.glob("b*"))) == 3
    none = Run(programs, tmp_path, "-n", "ell", programs / "hello")
    assert none.code == 0 and none.text == "memusage: no process was called ell\n"


def test_nothing_of_the_program_is_touched(programs, tmp_path):
    run = Run(programs, tmp_path, "-d", "data", programs / "descriptors")
    assert run.code == 0
    assert (tmp_path / "victim").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["a b.dat", "x$(touch INJ)", "x;touch INJ;", "a=b=c.dat", "a%pb.dat"])
def test_names_are_names(programs, tmp_path, name):
    run = Run(programs, tmp_path, f"--data={name}", programs / "hello")
    assert run.code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_what_cannot_be_recorded_runs(programs, tmp_path):
    (tmp_path / "s.c").write_text("int main(void) { return 6; }")
    if subprocess.run(["cc", "-static", "-o", "s", "s.c"], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no static libc")
    run = Run(programs, tmp_path, "./s")
    assert run.code == 6 and run.text.startswith("memusage: nothing was recorded: ./s is statically linked")


def test_its_folder_is_gone(programs, tmp_path):
    (tmp_path / "t").mkdir()
    for args in (["-d", "x"], ["-d", "k.mtape"], ["-p", "p"], []):
        assert Run(programs, tmp_path, *args, programs / "hello", env={"TMPDIR": str(tmp_path / "t")}).code == 0
    assert not list((tmp_path / "t").iterdir())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k.mtape", "p.png", "t", "x"]


def test_what_cannot_be_written_is_told_and_changes_nothing(programs, tmp_path):
    for name in ("/dev/full", "nosuch/x"):
        run = Run(programs, tmp_path, "-d", name, programs / "reallocs")
        assert run.code == 3 and f"{name}: No " in run.text and run.row("calloc")[0] == 1
    run = Run(programs, tmp_path, "-p", "nosuch/x", programs / "reallocs")
    assert run.code == 3 and "nosuch/x.png: No such file or directory" in run.text


def test_a_signal_goes_to_the_program(programs, tmp_path):
    """And leaves nothing behind."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "MEMTAPE_LIBRARY": str(recording.library())}
    script = "import signal, sys; print('up', flush=True); signal.pause()"
    running = subprocess.Popen([programs / "our-memusage" / "memusage", sys.executable, "-c", script], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout.readline() == b"up\n"
    running.terminate()
    _, text = running.communicate(timeout=60)
    assert running.returncode == 143 and b"Memory usage summary: heap total: " in text
    assert not list(tmp_path.iterdir())


# --- the command line ----------------------------------------------------------------------------

TRY = "Try `memusage --help' or `memusage --usage' for more information.\n"


@pytest.mark.parametrize("args", [
    [], ["--bogus"], ["--bogus=1", "true"], ["--p", "x"], ["--t", "x"], ["--ti", "x"], ["--u"], ["-d"], ["--data"],
    ["-n"], ["--x-s"], ["--data=x"], ["--mmap=3", "true"], ["--"],
])
def test_messages_of_the_original(programs, tmp_path, args):
    run = Run(programs, tmp_path, *args)
    assert run.code == 1 and run.text.endswith(TRY) and not run.stdout
    if GLIBC["memusage"]:
        assert run.raw == Run(programs, tmp_path, *args, tool=GLIBC["memusage"]).raw


def test_an_ambiguous_option_is_told_by_its_name(programs, tmp_path):
    assert Run(programs, tmp_path, "--t=3", "true").text == "memusage: option `--t' is ambiguous\n" + TRY


@pytest.mark.parametrize("prefix", ["--pr", "--pn", "--d", "--un", "--b", "--n", "--m", "--tim", "--to", "--tit",
                                    "--x", "--y"])
def test_prefixes(programs, tmp_path, prefix):
    takes = prefix in ("--pr", "--pn", "--d", "--b", "--tit", "--x", "--y")
    value = "nothing" if prefix == "--pr" else "77"
    for args in ([[prefix, value], [f"{prefix}={value}"]] if takes else [[prefix]]):
        run = Run(programs, tmp_path, *args, programs / "reallocs")
        assert run.code == 3, run.text


@pytest.mark.parametrize("word", ["--help", "--h", "-?", "--usage", "--us", "--version", "--v", "-V"])
def test_information(programs, tmp_path, word):
    run = Run(programs, tmp_path, "-m", word, "true")
    assert run.code == 0 and run.stdout and not run.raw


@pytest.mark.parametrize("word", ["-dFILE", "-tT", "-h", "-q", "nosuch"])
def test_what_is_no_option_is_the_program(programs, tmp_path, word):
    assert Run(programs, tmp_path, word).code == 127


def test_not_executable(programs, tmp_path):
    (tmp_path / "plain").write_text("x")
    assert Run(programs, tmp_path, "./plain").code == 126


def test_the_environment(programs, tmp_path):
    run = Run(programs, tmp_path, programs / "maps",
              env={"MEMUSAGE_OUTPUT": "data", "MEMUSAGE_TRACE_MMAP": "", "MEMUSAGE_PROG_NAME": "maps"})
    assert run.row("munmap")[0] == 7 and (tmp_path / "data").exists()
    other = Run(programs, tmp_path, programs / "hello", env={"MEMUSAGE_PROG_NAME": "maps"})
    assert "no process was called maps" in other.text


def test_the_tape_is_kept_with_stacks(programs, tmp_path):
    Run(programs, tmp_path, "--stacks", "-d", "k.mtape", programs / "deep", "-")
    rows = recording.report(tmp_path / "k.mtape", "allocations")
    assert len(rows) == 10 and all(any("run" in str(f) for f in row["stack"]) for row in rows)


@need_original
@pytest.mark.parametrize("name", ["hello", "reallocs"])
def test_the_table_of_a_tape(programs, tmp_path, tape, name):
    """The program's name is on the original's side only: the numbers are the same, but for frees of NULL."""
    theirs = Run(programs, tmp_path, programs / name, tool=GLIBC["memusage"])
    assert recording.run_recorded([programs / name], tape).returncode == theirs.code
    done = subprocess.run([recording.memtape(), "memusage", "--color", "always", "-d", "data", "-p", "picture", tape],
                          cwd=tmp_path, capture_output=True, check=True)
    nulls = re.compile(rb"(   free\|\x1b\[0m) +\d+")
    mask = [nulls.sub(rb"\1 *", re.sub(rb"stack peak: \d+", b"stack peak: *", text)) for text in (done.stdout, theirs.raw)]
    assert mask[0] == mask[1]
    assert b"has no stack depths" in done.stderr
    assert records(tmp_path / "data")[1][0] == theirs.peaks()[1]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_of_a_tape_of_another_tool_says_what_is_missing(tmp_path):
    (tmp_path / "stacks.folded").write_text("main;work 300\nmain;rest 45\n")
    subprocess.run([recording.memtape(), "convert", "stacks.folded", "-o", "x.mtape"], cwd=tmp_path, check=True,
                   capture_output=True)
    done = subprocess.run([recording.memtape(), "memusage", "x.mtape"], cwd=tmp_path, capture_output=True, check=True)
    assert b"heap total: 345, heap peak: 345" in done.stdout
    assert b"made of another tool's file and does not know: times" in done.stderr


def test_any_tape_becomes_data(programs, tmp_path, tape):
    assert recording.run_recorded([programs / "hello"], tape).returncode == 0
    subprocess.run([recording.memtape(), "export", tape, "--to", "memusage", "-o", "x"], cwd=tmp_path, check=True)
    Run(programs, tmp_path, "-d", "y", programs / "hello")
    assert [r[0] for r in records(tmp_path / "x")] == [r[0] for r in records(tmp_path / "y")]
    part = subprocess.run([recording.memtape(), "export", tape, "--to", "memusage", "--until", "50%"],
                          capture_output=True)
    assert part.returncode == 2 and b"whole tape" in part.stderr


# --- memusagestat --------------------------------------------------------------------------------

def stat(programs, folder, *args):
    return subprocess.run([programs / "our-memusagestat" / "memusagestat", *map(str, args)], cwd=folder,
                          capture_output=True, timeout=60)


def png_size(path):
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_pictures(programs, tmp_path):
    Run(programs, tmp_path, "-d", "w.dat", programs / "hello")
    for args, name, size in [
        (["w.dat"], "w.dat.png", (800, 600)),
        (["w.dat", "o"], "o", (800, 600)),
        (["-o", "not", "w.dat", "second"], "second", (800, 600)),
        (["-tT", "-x700", "--y-si=400", "--string", "two words", "w.dat", "-o", "p.png"], "p.png", (700, 400)),
        (["-x", "0", "-y", "abc", "w.dat", "q.png"], "q.png", (800, 600)),
        (["-x", "7", "-y", "9", "w.dat", "s.png"], "s.png", (100, 80)),  # the original's smallest
    ]:
        done = stat(programs, tmp_path, *args)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert png_size(tmp_path / name) == size
    assert not (tmp_path / "not").exists()
    assert stat(programs, tmp_path, "-s", "a <title>", "w.dat", "x.svg").returncode == 0
    assert "a &lt;title&gt;" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("data,code", [
    (b"", 1), (bytes(47), 1), (bytes(48), 0), (bytes(24 * 5), 0), (bytes(24 * 5 + 7), 0), (bytes(range(256)) * 3, 1),
    (struct.pack("<8Q", 0, 5, 9, 7, 3, 9, 2**64 - 1, 2**64 - 1) + bytes(24), 0),
    (struct.pack("<6Q", 0, 2**64 - 1, 9, 2**64 - 1, 2**64 - 1, 2**64 - 1) + b"\xff" * 48, 0),
])
def test_any_bytes_give_a_picture_or_an_error(programs, tmp_path, data, code):
    (tmp_path / "f").write_bytes(data)
    os.chmod(tmp_path / "f", 0o444)
    for args in ([], ["-t"], ["-T"]):
        done = stat(programs, tmp_path, *args, "f")
        assert done.returncode == code, done.stderr
        assert done.stderr.startswith(b"memusagestat: ") == (code == 1)
    assert (tmp_path / "f").read_bytes() == data


@pytest.mark.parametrize("args,code", [
    ([], 1), (["a", "b", "c"], 1), (["--bogus"], 64), (["-x"], 64), (["nosuch"], 1), (["-x", "-5", "d"], 1),
    (["-x", "100000", "-y", "100000", "d"], 1), (["d", "nosuch/p.png"], 1), (["."], 1), (["d", "d"], 1),
])
def test_bad_command_lines(programs, tmp_path, args, code):
    (tmp_path / "d").write_bytes(bytes(72))
    done = stat(programs, tmp_path, *args)
    assert done.returncode == code
    assert done.stdout or done.stderr
    if args == ["nosuch"]:
        assert done.stderr == b"memusagestat: cannot open input file: No such file or directory\n"
    assert (tmp_path / "d").read_bytes() == bytes(72)
