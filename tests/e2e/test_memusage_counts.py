"""Calls that are counted in the target, without a record each: the sums are those of the records, whoever the
allocator is, however many threads there are and however the program ends."""

import os
import pathlib
import re
import subprocess

import pytest

import recording
from test_memusage import Run, programs  # noqa: F401  (programs is a fixture)

ALLOCATORS = {name: pathlib.Path("/usr/lib/x86_64-linux-gnu") / file for name, file in {
    "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}.items()}

SIZES = """
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3000 };
static void *blocks[COUNT];
/* Small ones that share 16 bytes, those with slack, those the kernel maps. */
static const size_t sizes[] = { 0, 1, 7, 8, 9, 15, 16, 17, 24, 100, 250, 1000, 4097, 61438, 61439, 65535, 65536, 1 << 20 };

static size_t size_of(int i) { return sizes[i % (sizeof sizes / sizeof *sizes)]; }

static void each_size(void)
{
    for (int i = 0; i < COUNT; i++) blocks[i] = malloc(size_of(i));
    for (int i = 0; i < COUNT; i += 2) free(blocks[i]);
    for (int i = 0; i < COUNT; i += 2) blocks[i] = calloc(1, size_of(i + 1));
    for (int i = 0; i < COUNT; i++) blocks[i] = realloc(blocks[i], size_of(i + 2) + 1);
    for (int i = COUNT; i-- > 0;) free(blocks[i]);
}

static void aligned(void)
{
    void *ptr;
    for (size_t align = 8; align <= 1 << 16; align *= 2) {
        if (posix_memalign(&ptr, align, align * 3 + 1)) exit(1);
        free(ptr);
        free(aligned_alloc(align, align * 2));
        free(memalign(align, 5));
        ptr = realloc(memalign(align, 40), 90000);
        free(ptr);
    }
}

/* Whoever runs, all threads together never have more than what they have at the barriers. */
enum { THREADS = 6, ROUNDS = 40, EACH = 400 };
static pthread_barrier_t barrier;
static void *shelf[THREADS][EACH];

static void *worker(void *argument)
{
    const size_t self = (size_t)argument;
    unsigned seed = self + 1;
    for (int round = 0; round < ROUNDS; round++) {
        void **mine = shelf[(self + round) % THREADS]; /* blocks of another thread are freed here */
        for (int i = 0; i < EACH; i++) { free(mine[i]); mine[i] = NULL; }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < EACH; i++) {
            mine[i] = malloc(100 + round);
            if (rand_r(&seed) % 3 == 0) { free(mine[i]); mine[i] = malloc(100 + round); }
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&ids[i], NULL, worker, (void *)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
}

static volatile int in_handler;
static void handler(int number) { (void)number; in_handler++; free(malloc(33)); }

static void signals(void)
{
    pid_t child;
    handler(0); free(malloc(64)); /* a malloc that is interrupted may only hand out what it keeps */
    signal(SIGUSR1, handler);
    child = fork();
    if (child == 0) { for (;;) { kill(getppid(), SIGUSR1); usleep(50); } }
    for (int i = 0; i < 300000 || in_handler < 100; i++) free(malloc(64));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    signal(SIGUSR1, SIG_IGN);
    fprintf(stdout, "%d\\n", in_handler);
}

static void failing_exec(void)
{
    if (fork() == 0) {
        execl("/nonexistent", "nonexistent", NULL);
        free(malloc(1234));
        exit(0);
    }
    wait(NULL);
}

int main(int argc, char **argv)
{
    switch (argc > 1 ? argv[1][0] : 0) {
    case 's': each_size(); break;
    case 'a': aligned(); break;
    case 't': threads(); break;
    case 'h': signals(); break;
    case 'x': failing_exec(); break;
    case 'k': each_size(); raise(SIGKILL);
    }
    fflush(stdout);
    _exit(0);
}
"""

CXX = """
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>
struct alignas(128) Wide { char room[300]; };
int main() {
    for (int i = 0; i < 100; i++) {
        delete new int; delete[] new char[1000]; delete new Wide; ::operator delete(::operator new(77, std::nothrow));
    }
    try { (void)new char[(size_t)1 << 60]; return 1; } catch (const std::bad_alloc &) { }
    std::_Exit(0);
}
"""


@pytest.fixture(scope="session")
def sizes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "sizes.c").write_text(SIZES)
    (folder / "cxx.cc").write_text(CXX)
    subprocess.run(["cc", "-O0", "-fno-builtin", "-w", "-pthread", "-o", folder / "sizes", folder / "sizes.c"], check=True)
    subprocess.run(["c++", "-std=c++17", "-O0", "-w", "-o", folder / "cxx", folder / "cxx.cc"], check=True)
    return folder


def allocator(name):
    if name == "glibc":
        return {}
    if not ALLOCATORS[name].exists():
        pytest.skip(f"{name} is not installed")
    return {"LD_PRELOAD": str(ALLOCATORS[name])}


@pytest.mark.parametrize("name,args", [
    ("hello", []), ("reallocs", []), ("nothing", []), ("failing", []), ("aligned", []), ("deep", ["-"]), ("deep", ["t"]),
    ("deep", ["c"]), ("forks", []), ("closes", []), ("ends", ["k"]), ("ends", ["x"]), ("ends", ["e"]),
])
def test_counts_are_the_sums_of_the_records(programs, tmp_path, name, args):  # noqa: F811
    counted = Run(programs, tmp_path, programs / name, *args)
    recorded = Run(programs, tmp_path, "-d", "data.mtape", programs / name, *args)
    without_pids = [re.sub(r" \(\d+\)", "", run.text) for run in (counted, recorded)]
    assert counted.code == recorded.code
    assert without_pids[0] == without_pids[1]
    assert "Memory usage summary" in counted.text


@pytest.mark.parametrize("name", ["glibc", *ALLOCATORS])
@pytest.mark.parametrize("what", ["s", "a"])
def test_every_size_of_every_allocator(programs, sizes, tmp_path, name, what):  # noqa: F811
    """What was allocated is what was freed, to the byte, and what the records say."""
    env = allocator(name)
    counted = Run(programs, tmp_path, sizes / "sizes", what, env=env)
    recorded = Run(programs, tmp_path, "-d", "data.mtape", sizes / "sizes", what, env=env)
    assert counted.code == 0
    assert mask_stack(counted.text) == mask_stack(recorded.text)
    grown = sum(counted.row(label)[1] for label in ("malloc", "realloc", "calloc"))
    grown += counted.row("aligned")[1] if what == "a" else 0
    kept = 0 if name == "glibc" else grown - counted.row("free")[1]
    assert counted.row("free")[1] >= counted.row("malloc")[1] or kept < 100000


def mask_stack(text):
    return re.sub(r"stack peak: \d+", "stack peak: *", text)


def test_the_peak_of_threads_is_exact(programs, sizes, tmp_path):  # noqa: F811
    nothing = Run(programs, tmp_path, sizes / "sizes")
    base = nothing.peaks()[1]
    for _ in range(recording.times(20, 5)):
        run = Run(programs, tmp_path, sizes / "sizes", "t")
        made = run.row("calloc")[1] - nothing.row("calloc")[1]  # what libc keeps for the threads
        assert run.peaks()[1] - base in (6 * 400 * 139, 6 * 400 * 139 + made)
        assert 0 <= run.row("free")[1] - (run.row("malloc")[1] - 6 * 400 * 139) <= made


def test_handlers_are_counted(programs, sizes, tmp_path):  # noqa: F811
    run = Run(programs, tmp_path, "-n", "sizes", sizes / "sizes", "h")
    handled = int(run.stdout.split()[0])
    blocks = dict((int(low), int(count)) for low, count in re.findall(r"^ *(\d+)-\d+ +(\d+)", run.text, re.M))
    assert handled >= 100 and 0 < blocks[32] <= handled  # but for those that interrupt the allocator itself
    assert blocks[64] >= 300000
    made, freed = (re.search(rf"^ *{row}\| +(\d+) +(\d+)", run.text, re.M).groups() for row in ("malloc", "free"))
    assert (int(made[0]) - int(freed[0]), int(made[1]) - int(freed[1])) == (1, 4096)  # the buffer of stdout


def test_nothing_is_lost_by_a_kill(programs, sizes, tmp_path):  # noqa: F811
    killed = Run(programs, tmp_path, sizes / "sizes", "k")
    ended = Run(programs, tmp_path, sizes / "sizes", "s")
    assert killed.code == 137
    assert killed.text == ended.text


def test_a_child_whose_exec_fails_is_a_process(programs, sizes, tmp_path):  # noqa: F811
    run = Run(programs, tmp_path, sizes / "sizes", "x")
    assert run.text.count("Memory usage summary") == 2
    assert re.findall(r"^ malloc\| +(\d+) +(\d+)", run.text, re.M)[1] == ("1", "1234")


def test_operators_of_cxx(programs, sizes, tmp_path):  # noqa: F811
    counted = Run(programs, tmp_path, sizes / "cxx")
    recorded = Run(programs, tmp_path, "-d", "data.mtape", sizes / "cxx")
    assert counted.code == 0 and counted.text == recorded.text
    blocks = dict((int(low), int(count)) for low, count in re.findall(r"^ *(\d+)-\d+ +(\d+)", counted.text, re.M))
    assert blocks[0] == 100 and blocks[992] == 100 and blocks[384] == 100
    assert counted.row("malloc")[2] == 1


def test_a_little_address_space_is_enough(programs, tmp_path):  # noqa: F811
    """Where the table does not fit calls are recorded as ever; the program gets what it asks for."""
    for kib in (60000, 100000, 400000):
        run = Run(programs, tmp_path, "sh", "-c", f"ulimit -v {kib}; exec {programs / 'reallocs'}")
        assert run.code == 3, run.text
        assert re.findall(r"^ malloc\| +(\d+)", run.text, re.M)[-1] == "4"


# --- the stack between calls -----------------------------------------------------------------------

BETWEEN = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int grow(int n) { volatile char room[1000]; memset((void *)room, n, sizeof room); return n ? grow(n - 1) + room[n] : 0; }
static void *work(void *levels) { free(malloc(10)); grow((int)(long)levels); free(malloc(10)); return NULL; }
static void thread(long levels) { pthread_t t; pthread_create(&t, NULL, work, (void *)levels); pthread_join(t, NULL); }
int main(int argc, char **argv) {
    switch (argv[1][0]) {
    case 'm': work((void *)500L); break;
    case 'e': work((void *)500L); _exit(0);
    case 't': thread(500); break;
    case 'r': thread(500); thread(3); break; /* the second on the stack of the first */
    case 's': thread(3); break;
    }
    return 0;
}
"""


@pytest.mark.parametrize("data", [[], ["-d", "data"]])
@pytest.mark.parametrize("what,least,most", [("m", 500, 540), ("e", 500, 540), ("t", 500, 540), ("r", 500, 540),
                                             ("s", 0, 8), ("n", 0, 8)])
def test_a_stack_that_is_deep_between_calls(programs, tmp_path, data, what, least, most):  # noqa: F811
    (tmp_path / "between.c").write_text(BETWEEN)
    subprocess.run(["cc", "-O0", "-fno-builtin", "-w", "-pthread", "-o", "between", "between.c"], cwd=tmp_path, check=True)
    assert least * 1000 <= Run(programs, tmp_path, *data, "./between", what).peaks()[2] <= most * 1000


# --- where nothing can be recorded ------------------------------------------------------------------

@pytest.mark.parametrize("limit", [0, 1, 100])
def test_a_limit_to_the_size_of_files(programs, tmp_path, limit):  # noqa: F811
    script = f"ulimit -f {limit}; exec {programs / 'our-memusage' / 'memusage'} {programs / 'reallocs'}"
    done = subprocess.run(["bash", "-c", script], env={**os.environ, "MEMTAPE_LIBRARY": str(recording.library())},
                          capture_output=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 3
    assert done.stdout == b"x\n"
    assert done.stderr.startswith(b"memusage: nothing is recorded: ")


def test_no_place_for_the_tape(programs, tmp_path):  # noqa: F811
    run = Run(programs, tmp_path, programs / "ends", "t", env={"TMPDIR": "/nonexistent"})
    assert run.code == -15
    assert run.text == "memusage: nothing is recorded: make a folder in /nonexistent: No such file or directory\n"


def test_every_process_has_its_picture(programs, tmp_path):  # noqa: F811
    run = Run(programs, tmp_path, "-p", "p", "-d", "d", programs / "forks")
    assert run.code == 0
    pictures, data = sorted(tmp_path.glob("p*")), sorted(tmp_path.glob("d*"))
    pids = re.findall(r"^memusage: forks \((\d+)\)$", run.text, re.M)
    assert {p.name for p in pictures} == {"p.png", f"p.{pids[1]}.png"}
    assert {p.name for p in data} == {"d", f"d.{pids[1]}"}
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)


def test_the_stack_of_a_tape(programs, tmp_path):  # noqa: F811
    Run(programs, tmp_path, "-d", "k.mtape", programs / "deep", "-")
    for args in (["--stack", "different-scales"], ["--stack", "same-scale", "--x", "number"], ["-T"]):
        done = subprocess.run([recording.memtape(), "plot", "k.mtape", *args, "-f", "-o", "k.svg"], cwd=tmp_path,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        assert "stack" in (tmp_path / "k.svg").read_text()
    refused = subprocess.run([recording.memtape(), "plot", "k.mtape", "-T", "--by", "function", "-o", "n.svg"],
                             cwd=tmp_path, capture_output=True)
    assert refused.returncode == 2 and b"without --by" in refused.stderr and not (tmp_path / "n.svg").exists()
    assert recording.run_recorded([programs / "hello"], tmp_path / "r.mtape").returncode == 0
    refused = subprocess.run([recording.memtape(), "plot", "r.mtape", "-T", "-o", "n.svg"], cwd=tmp_path,
                             capture_output=True)
    assert refused.returncode == 2 and b"has no stack depths" in refused.stderr


# --- programs of another kind, and other allocators: where the original crashed or was silent --------

def test_a_32_bit_program_runs_and_is_told(programs, tmp_path):  # noqa: F811
    """An ELF file for another class: no 32-bit libc is needed to see that it is one."""
    (tmp_path / "w.c").write_text("int main(void) { return 0; }")
    built = subprocess.run(["cc", "-m32", "-nostdlib", "-Wl,-e,main", "-o", "w", "w.c"], cwd=tmp_path,
                           capture_output=True)
    if built.returncode:
        header = bytearray(pathlib.Path("/bin/true").read_bytes()[:64])
        header[4] = 1  # ELFCLASS32
        (tmp_path / "w").write_bytes(header)
        os.chmod(tmp_path / "w", 0o755)
    run = Run(programs, tmp_path, "./w")
    assert ("32-bit program" if built.returncode == 0 else "another architecture") in run.text
    assert run.code == 126 or built.returncode == 0


def test_more_than_32_bits_of_bytes(programs, tmp_path):  # noqa: F811
    """Counters of a 32-bit build of the original wrapped at 4 GiB."""
    (tmp_path / "big.c").write_text("""
        #include <stdlib.h>
        int main(void) { for (int i = 0; i < 5; i++) { volatile char *p = malloc((size_t)1 << 30); if (!p) return 1; free((void *)p); } }""")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-o", "big", "big.c"], cwd=tmp_path, check=True)
    run = Run(programs, tmp_path, "./big")
    assert run.code == 0 and run.row("malloc") == (5, 5 << 30, 0) and run.peaks()[:2] == (5 << 30, 1 << 30)


@pytest.mark.parametrize("name", list(ALLOCATORS))
@pytest.mark.parametrize("data", [[], ["-d", "data"]])
def test_a_page_aligned_block_of_another_allocator(programs, tmp_path, name, data):  # noqa: F811
    """The original looked before the block, where with jemalloc nothing is mapped."""
    (tmp_path / "page.c").write_text("""
        #include <stdlib.h>
        int main(void) {
            void *p;
            for (int i = 0; i < 200; i++) { if (posix_memalign(&p, 4096, 4096 * (1 + i % 7))) return 1; free(p); }
        }""")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-o", "page", "page.c"], cwd=tmp_path, check=True)
    run = Run(programs, tmp_path, *data, "./page", env=allocator(name))
    assert run.code == 0
    assert run.row("aligned")[0] >= 200 and run.row("free")[0] >= 200
    assert run.row("aligned")[1] >= 4096 * sum(1 + i % 7 for i in range(200))


def test_an_own_malloc_in_the_executable_is_seen(programs, tmp_path):  # noqa: F811
    """Its calls bind to itself, past every preloaded library: then we must say so, not show zeros as if they were true."""
    (tmp_path / "own.c").write_text("""
        #include <stddef.h>
        static char room[1 << 20]; static size_t used;
        void *malloc(size_t n) { void *p = room + used; used += n + 15 & ~15ul; return p; }
        void free(void *p) { } void *calloc(size_t a, size_t b) { return malloc(a * b); }
        void *realloc(void *p, size_t n) { return malloc(n); }
        int main(void) { for (int i = 0; i < 50; i++) free(malloc(100)); return 0; }""")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-w", "-rdynamic", "-o", "own", "own.c"], cwd=tmp_path, check=True)
    run = Run(programs, tmp_path, "./own")
    assert run.code == 0
    assert run.text.endswith("memusage: own has its own malloc, whose calls are not seen\n")
    assert "own malloc" not in Run(programs, tmp_path, programs / "hello").text


# --- the rest of what was wrong ----------------------------------------------------------------------

def test_main_may_end_while_threads_count(programs, tmp_path):  # noqa: F811
    for _ in range(recording.times(60, 8)):
        run = Run(programs, tmp_path, programs / "late")
        assert run.code == 0 and run.row("malloc")[0] > 0
        assert 0 <= run.row("malloc")[0] - run.row("free")[0] < 20


@pytest.mark.parametrize("option", [["-u"], ["-b", "1"], ["--no-timer"]])
def test_buffers_do_not_matter(programs, tmp_path, option):  # noqa: F811
    """With -u and many threads the original aborted the program."""
    run = Run(programs, tmp_path, *option, "-d", "data", programs / "threads", 8, 3000)
    assert run.code == 0 and run.row("malloc")[0] == 8 * 3000


def test_programs_that_are_builtins_of_shells(programs, tmp_path):  # noqa: F811
    for words, code, text in ((["true"], 0, b""), (["false"], 1, b""), (["echo", "a  b", "$HOME"], 0, b"a  b $HOME\n")):
        run = Run(programs, tmp_path, *words)
        assert (run.code, run.stdout) == (code, text) and run.text.count("Memory usage summary") == 1
    assert Run(programs, tmp_path, "exit", "9").code == 127


def test_a_large_calloc_stays_untouched(programs, tmp_path):  # noqa: F811
    (tmp_path / "c.c").write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/resource.h>
        int main(void) {
            struct rusage usage; void *p = calloc(1, 512 << 20);
            getrusage(RUSAGE_SELF, &usage); printf("%ld", usage.ru_maxrss); return !p;
        }""")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-o", "c", "c.c"], cwd=tmp_path, check=True)
    for data in ([], ["-d", "data"]):
        run = Run(programs, tmp_path, *data, "./c")
        assert run.code == 0 and run.row("calloc") == (1, 512 << 20, 0)
        assert int(run.stdout) < 100 << 10  # KiB; our own library is in it


def test_summaries_of_many_at_once_stay_whole(programs, tmp_path):  # noqa: F811
    script = " & ".join([f"{programs / 'our-memusage' / 'memusage'} {programs / 'hello'}"] * 8) + "; wait"
    done = subprocess.run(["sh", "-c", script], env={**os.environ, "MEMTAPE_LIBRARY": str(recording.library())},
                          capture_output=True, cwd=tmp_path, timeout=60)
    one = Run(programs, tmp_path, programs / "hello")
    masked = re.sub(rb"stack peak: \d+", b"stack peak: *", done.stderr)
    assert masked == one.masked() * 8
