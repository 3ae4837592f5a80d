"""Programs that bring what the recorder stands on - allocators, clocks, threads' jobs - run as they do without it."""

import collections
import platform
import shutil

import pytest

import recording
from tape_reader import Tape

pytestmark = pytest.mark.skipif(not recording.have_library(), reason="built without the recorder")

COUNTER, KERNELS_CLOCK = 1, 2  # of a tape
TIMEOUT = 60  # what hangs did so for ever


def target(name):
    path = recording.target(name)
    if not path.exists():
        pytest.skip(f"{name} was not built")
    return path


def check_same(args, tape, preload=(), env=None, **options):
    preloads = {"LD_PRELOAD": ":".join(map(str, preload))} if preload else {}
    plain = recording.run_plain(args, timeout=TIMEOUT, env=recording.clean_env(**preloads), **options)
    recorded = recording.run_bare(args, tape, preload_after=preload, timeout=TIMEOUT, env=env, **options)
    assert plain.returncode == 0, plain.stderr
    assert recorded.answer() == plain.answer()
    return recorded


def test_a_malloc_that_maps_memory_with_its_lock_held_is_never_called_from_there(tape):
    check_same([target("locking")], tape)
    assert not Tape(tape).fault


@pytest.mark.parametrize("place", ["before", "behind"])
def test_such_a_malloc_in_a_preloaded_library(place, tape):
    library = target("locking_library.so")
    preloads = [library, recording.library()] if place == "before" else [recording.library(), library]
    args = [target("threads"), "eight"]
    plain = recording.run(args, env=recording.clean_env(LD_PRELOAD=library), timeout=TIMEOUT)
    recorded = recording.run(args, timeout=TIMEOUT, env=recording.clean_env(
        LD_PRELOAD=":".join(map(str, preloads)), MEMTAPE_OUTPUT=tape))
    assert plain.returncode == 0, plain.stderr
    assert recorded.answer() == plain.answer()
    assert not Tape(tape).fault


@pytest.mark.parametrize("args", [("threads-jemalloc_inside", "eight"), ("detached-jemalloc_inside",)], ids=" ".join)
def test_jemalloc_inside_the_program(args, tape):
    check_same([target(args[0]), *args[1:]], tape)


def test_usable_sizes_are_what_the_program_would_see(tape):
    """A preloaded allocator without malloc_usable_size: glibc's is called, and says something."""
    answer = check_same([target("usable")], tape, preload=[target("locking_library.so")])
    assert int(answer.stdout.split()[0]) >= 1000


def test_a_detached_thread_may_free_the_job_that_held_its_name(tape):
    check_same([target("detached")], tape)
    if not recording.have_reader():
        return
    threads = recording.report(tape, "threads")
    threads = threads.get("threads", threads) if isinstance(threads, dict) else threads
    created = collections.Counter(row.get("creator") is not None for row in threads)
    assert created[False] == 1 and created[True] >= 4, threads


@pytest.mark.parametrize("more", [{}, {"MEMTAPE_OPTIONS": "stacks=1"},
                                  {"MEMTAPE_OPTIONS": "stacks=1", "MEMTAPE_NOTHING": "1"}], ids=len)
def test_the_vector_behind_the_environment_is_found_by_walking(more, tape):
    """However many variables were the recorder's."""
    answer = check_same([target("vectors")], tape, env=more)
    assert b"page 4096 4096" in answer.stdout


def test_a_program_of_go_and_c(tmp_path, tape):
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go or not recording.FULL:
        pytest.skip("needs Go, and a minute")
    (tmp_path / "p.go").write_text('package main\nimport "C"\nimport ("fmt"; "os")\n'
                                   'func main() { fmt.Println(os.Getpagesize(), os.Environ()) }\n')
    env = recording.clean_env(HOME=tmp_path, GOFLAGS="-mod=mod", CGO_ENABLED=1)
    done = recording.run([go, "build", "-o", tmp_path / "p", tmp_path / "p.go"], env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for more in ({}, {"MEMTAPE_OPTIONS": "stacks=1"}):
        tape.unlink(missing_ok=True)
        check_same([tmp_path / "p"], tape, env=more)


def test_pointers_that_the_kernel_refuses_are_not_looked_at(tape):
    answer = check_same([target("bad_pointers")], tape)
    assert answer.stdout.count(b"EFAULT") >= 8


@pytest.mark.parametrize("how", ["prctl", "syscall", "early"])
def test_the_cycle_counter_may_be_forbidden(how, tape):
    """The tape's clock goes on by the kernel's."""
    check_same([target("no_tsc"), how], tape)
    read = Tape(tape)
    assert not read.fault and not read.lost_events()
    assert read.clock == (KERNELS_CLOCK if how == "early" else COUNTER)
    assert sum(row["size"] == 3602 for row in read.allocations()) == 100000


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("qemu-x86_64"), reason="an emulator is the processor")
def test_where_the_counter_has_no_steady_rate_the_kernels_clock_is_taken(tape):
    env = {"LD_PRELOAD": recording.library(), "MEMTAPE_OUTPUT": tape, "MEMTAPE_SELFCHECK": 1}
    settings = [word for key, value in env.items() for word in ("-E", f"{key}={value}")]
    done = recording.run(["qemu-x86_64", "-cpu", "qemu64", *settings, target("frames")])
    assert (done.returncode, done.stderr) == (0, b"")
    read = Tape(tape)
    assert read.clock == KERNELS_CLOCK and not read.fault and not read.lost_events()
    assert read.selfcheck()[0] > 1000 and read.selfcheck()[1] == 0
    assert 0 < recording.report(tape, "recording")["process"]["duration_ns"] < 150e9
    if recording.have_reader():
        summary = recording.report(tape, "summary")
        assert 0 < summary["duration_ns"] < TIMEOUT * 1e9, summary


SMALL = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { free(malloc(7)); puts(\"done\"); }\n"


def compiled(folder, compiler, *flags):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (folder / "small.c").write_text(SMALL)
    done = recording.run([compiler, folder / "small.c", "-o", folder / "small", *flags])
    if done.returncode:
        pytest.skip(done.stderr.decode(errors="replace")[-200:])
    return folder / "small"


@pytest.mark.parametrize("compiler, flag, name", [
    ("gcc", "address", "AddressSanitizer"), ("gcc", "thread", "ThreadSanitizer"), ("gcc", "leak", "LeakSanitizer"),
    ("clang-14", "address", "AddressSanitizer"), ("clang-14", "memory", "MemorySanitizer")])
def test_sanitized_programs_are_refused_and_unharmed(compiler, flag, name, tape, tmp_path):
    program = compiled(tmp_path, compiler, f"-fsanitize={flag}")
    options = {"ASAN_OPTIONS": "verify_asan_link_order=0"}
    bare = recording.run_bare([program], tape, env=options)
    assert (bare.returncode, bare.stdout) == (0, b"done\n"), bare.stderr
    if recording.have_reader():
        refused = recording.run_recorded([program], tmp_path / "other.mtape")
        assert refused.returncode == 125 and refused.stdout == b""
        assert name.encode() in refused.stderr and b"without -fsanitize" in refused.stderr


def test_an_allocator_inside_the_program_is_named(tmp_path):
    if not recording.have_reader():
        pytest.skip("built without the command")
    recorded = recording.run_recorded([target("detached-jemalloc_inside")], tmp_path / "the.mtape")
    assert recorded.returncode == 0
    assert b"has jemalloc inside" in recorded.stderr and b"LD_PRELOAD" in recorded.stderr
    recorded = recording.run_recorded([target("own_malloc")], tmp_path / "own.mtape")
    assert b"has a malloc of its own inside" in recorded.stderr
    recorded = recording.run_recorded([target("conformance")], tmp_path / "plain.mtape")
    assert b" inside, which" not in recorded.stderr
