"""Leak scans say on whose stack a pointer is: the function whose call has it there, or in a register that others saved."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))

static int ends_by_abort;
static volatile int zero;

/* What earlier calls left on the stack. */
NOINLINE static void clear(void)
{
	volatile char room[65536];
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

NOINLINE static void stop(void)
{
	clear();
	if (ends_by_abort)
		abort();
	if (!zero) /* so that it may return: who calls it saves registers */
		exit(0);
}

/* The pointer is hidden from everybody but the caller: the block is made here, the word returned inverted. */
NOINLINE static uintptr_t make(size_t bytes)
{
	void *block = malloc(bytes);
	uintptr_t hidden = ~(uintptr_t)block;
	memset(block, 0, bytes);
	clear();
	return hidden;
}

NOINLINE static void in_local(void)
{
	void *volatile kept = (void *)~make(1001);
	clear();
	stop();
	kept = kept;
}

/* Frames between it and the end. */
NOINLINE static int deep(int depth)
{
	volatile char room[100];
	room[depth % 100] = (char)depth;
	if (depth == 0)
		stop();
	return deep(depth - 1) + room[depth % 100];
}

NOINLINE static int far_out(void)
{
	void *volatile kept = (void *)~make(1002);
	clear();
	return deep(300) + (kept != NULL);
}

/* Uses every register that it has to save, so its callers' are in its frame. */
NOINLINE static long uses_registers(long a)
{
	__asm__ volatile("xor %%ebx, %%ebx; xor %%r12, %%r12; xor %%r13, %%r13; xor %%r14, %%r14; xor %%r15, %%r15"
			 : : : "rbx", "r12", "r13", "r14", "r15", "cc");
	stop();
	return a;
}

/* Between them: it keeps nothing in registers over its call. */
NOINLINE static long passes_on(void)
{
	return uses_registers(zero) + 1;
}

NOINLINE static long in_register(void)
{
	register char *kept __asm__("rbx") = (char *)~make(1003);
	long sum;
	__asm__ volatile("" : "+r"(kept));
	sum = passes_on();
	__asm__ volatile("" : "+r"(kept));
	return sum + kept[0];
}

NOINLINE static void in_realigned(void)
{
	struct { void *volatile kept; char rest[120]; } __attribute__((aligned(64))) room;
	room.kept = (void *)~make(1004);
	stop();
	room.kept = room.kept;
}

NOINLINE static void in_alloca(int bytes)
{
	void *volatile *kept = __builtin_alloca(bytes);
	memset((void *)kept, 0, bytes);
	kept[bytes / 16] = (void *)~make(1005);
	stop();
}

NOINLINE static void on_signal(int number)
{
	void *volatile kept = (void *)~make(1006 + number - number);
	stop();
	kept = kept;
}

NOINLINE static void interrupted(void)
{
	void *volatile kept = (void *)~make(1007);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	kept = kept;
}

static volatile int is_there;
NOINLINE static void *worker(void *unused)
{
	void *volatile kept = (void *)~make(1008);
	clear();
	is_there = 1;
	for (;;)
		pause();
	return kept ? unused : NULL;
}

NOINLINE static void in_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, worker, NULL);
	pthread_setname_np(thread, "keeper");
	while (!is_there)
		usleep(1000);
	usleep(20000);
	stop();
}

int main(int argc, char **argv)
{
	ends_by_abort = argc > 2;
	switch (atoi(argv[1])) {
	case 1: in_local(); break;
	case 2: return far_out();
	case 3: return (int)in_register();
	case 4: in_realigned(); break;
	case 5: in_alloca(400 + argc); break;
	case 6: interrupted(); break;
	case 7: in_thread(); break;
	}
	return 1;
}
"""

# By case: the sizes of blocks and the functions that have the pointers to them.
CASES = {
    "a local variable": (1, {1001: "in_local"}),
    "300 frames further out": (2, {1002: "far_out"}),
    "a register that a function further in saved": (3, {1003: "in_register"}),
    "a frame that is aligned anew": (4, {1004: "in_realigned"}),
    "alloca": (5, {1005: "in_alloca"}),
    "a signal handler and what it interrupted": (6, {1006: "on_signal", 1007: "interrupted"}),
    "a thread": (7, {1008: "worker"}),
}
FLAGS = [["-O0"], ["-O1"], ["-O2", "-fomit-frame-pointer"], ["-O2", "-fno-omit-frame-pointer", "-no-pie"]]


@pytest.fixture(scope="module", params=FLAGS, ids=" ".join)
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    (folder / "frames.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", *request.param, "-Wno-infinite-recursion", "-o", folder / "frames", folder / "frames.c", "-pthread"],
                   check=True)
    return folder / "frames"


def held(tape, *options):
    """By size of the block: the first step of the chain to it."""
    return {site["bytes"]: site["chain"][0] for site in recording.report(tape, "holders", *options)["sites"] if site["chain"]}


@pytest.mark.parametrize("case", CASES)
def test_the_function_whose_call_has_the_pointer(case, program, tmp_path):
    number, expected = CASES[case]
    done = recording.run_recorded([program, str(number)], tmp_path / "tape", ["-q", "--leak-scan"])
    assert done.returncode == 0, done.stderr
    found = held(tmp_path / "tape")
    for size, function in expected.items():
        step = found[size]
        assert (step["kind"], step["function"]) == ("stack", function)
        assert step["module"] == str(program) and step["file"].endswith("frames.c") and step["line"] > 0
        assert step["thread"] == ("keeper" if number == 7 else "frames")


def test_text_and_csv_name_the_function(program, tmp_path):
    recording.run_recorded([program, "1"], tmp_path / "tape", ["-q", "--leak-scan"])
    text = recording.run([binary(), "report", tmp_path / "tape", "holders"]).stdout.decode()
    assert "stack of frames (" in text and "), in in_local  frames.c:" in text
    table = recording.run([binary(), "report", tmp_path / "tape", "holders", "--csv"]).stdout.decode()
    assert " in in_local+0x" in table


def test_the_index_has_them_too(program, tmp_path):
    recording.run_recorded([program, "6"], tmp_path / "tape", ["-q", "--leak-scan"])
    before = held(tmp_path / "tape")
    assert recording.run([binary(), "index", tmp_path / "tape"]).returncode == 0
    assert held(tmp_path / "tape", "--filter", "size>0") == before


def test_names_that_a_tape_carries(program, tmp_path):
    """On a machine without the program."""
    copy = tmp_path / "gone"
    shutil.copy(program, copy)
    recording.run_recorded([copy, "2"], tmp_path / "tape", ["-q", "--leak-scan"])
    before = held(tmp_path / "tape")[1002]
    assert recording.run([binary(), "symbols", "embed", tmp_path / "tape"]).returncode == 0
    copy.unlink()
    after = held(tmp_path / "tape")[1002]
    assert (after["function"], after["line"]) == (before["function"], before["line"]) == ("far_out", before["line"])


def test_anonymised_tapes_keep_frames_without_names(program, tmp_path):
    recording.run_recorded([program, "2"], tmp_path / "tape", ["-q", "--leak-scan"])
    done = recording.run([binary(), "anonymise", tmp_path / "tape", "-o", tmp_path / "anonymous"])
    assert done.returncode == 0, done.stderr
    before, after = held(tmp_path / "tape")[1002], held(tmp_path / "anonymous")[1002]
    assert after["kind"] == "stack" and after["offset"] == before["offset"] and after["function"]
    assert after["function"] != "far_out" and after["module"] != before["module"]
    assert b"far_out" not in (tmp_path / "anonymous").read_bytes()


def test_a_core_dump_has_frames(program, tmp_path):
    core = tmp_path / "core"
    if not shutil.which("gdb"):
        pytest.skip("no gdb, which writes the core dump")
    done = subprocess.run(["gdb", "-batch", "-ex", "set confirm off", "-ex", "run", "-ex", f"gcore {core}", "-ex", "kill",
                           "--args", program, "2", "abort"], capture_output=True, text=True, timeout=120, check=False)
    if not core.exists():
        pytest.skip(f"gdb could not write a core dump: {done.stdout[-500:]}")
    done = recording.run([binary(), "leaks", "--core", core, program, "-o", tmp_path / "tape"])
    assert done.returncode in (0, 1), done.stderr
    step = next(s["chain"][0] for s in recording.report(tmp_path / "tape", "holders")["sites"]
                if s["chain"] and s["chain"][0]["function"] == "far_out")
    assert step["kind"] == "stack"


def test_a_real_program(tmp_path):
    """Killed within kill(): its arguments are held by the function behind it. Nearly all else is held by variables."""
    done = recording.run_recorded([recording.which("perl"), "-e", 'my @x = map { "a" x $_ } 1..100; kill 15, $$; sleep 1'],
                                  tmp_path / "tape", ["-q", "--leak-scan"])
    assert done.returncode != 0
    steps = [site["chain"][0] for site in recording.report(tmp_path / "tape", "holders", "--top", "100000")["sites"] if site["chain"]]
    assert "Perl_apply" in {step["function"] for step in steps if step["kind"] == "stack"}, steps


# --- who called it, against gdb --------------------------------------------------------------------

NESTED = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
NOINLINE static int wait_for_ever(void) { puts("ready"); fflush(stdout); for (;;) pause(); return 1; }
/* Keeps its argument in a register that wait_for_ever() and those that it calls may save. */
NOINLINE static int fourth(int depth) { volatile char room[200]; room[0] = (char)depth; return wait_for_ever() + room[0]; }
NOINLINE static int third(int depth)
{
	char *volatile kept = strdup("held by a local of a function three calls deep in a thread");
	return fourth(depth + 1) + kept[0];
}
NOINLINE static int second(int depth) { volatile char room[300]; room[9] = 1; return third(depth + 1) + room[9]; }
NOINLINE static int first(int depth) { return second(depth + 1) + 1; }
static void *worker(void *unused) { return (void *)(long)first(unused ? 1 : 0); }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, worker, NULL);
	pthread_join(thread, NULL);
	return 0;
}
"""

WALK = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, number = gdb.newest_frame(), 0
    while frame:
        frame.select()
        text = gdb.execute("info frame", to_string=True)
        print("FRAME", thread.ptid[1], number, text.split("frame at ")[1].split(":")[0], frame.name())
        frame, number = frame.older(), number + 1
"""


def frames_of_gdb(pid, tid, folder):
    """Of a thread, from the innermost outwards: (end of the frame, function)."""
    (folder / "walk.py").write_text(WALK)
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(pid), "-ex", f"source {folder / 'walk.py'}"],
                          capture_output=True, text=True, timeout=120, check=False)
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("FRAME ")]
    if not found:
        pytest.skip(f"gdb cannot say: {done.stdout[-300:]}{done.stderr[-300:]}")
    return [(int(end, 16), name) for _, thread, number, end, name in found if int(thread) == tid]


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.parametrize("flags", [FLAGS[0], FLAGS[2]], ids=" ".join)
def test_the_call_and_its_callers_are_those_of_gdb(flags, tmp_path):
    (tmp_path / "nested.c").write_text(NESTED)
    program = tmp_path / "nested"
    subprocess.run(["gcc", "-g", *flags, "-o", program, tmp_path / "nested.c", "-pthread"], check=True)
    with subprocess.Popen([binary(), "record", "-q", "-o", tmp_path / "own", "--", program], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as process:
        assert process.stdout.readline() == b"ready\n"
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        pid = int(children[0])
        try:
            for _ in range(100):  # until its tape has been begun
                done = recording.run([binary(), "leaks", str(pid), "-o", tmp_path / "tape"], timeout=60)
                if done.returncode == 0 or b"not a tape" not in done.stderr:
                    break
                time.sleep(0.05)
            assert done.returncode == 0, done.stderr
            steps = [step for site in recording.report(tmp_path / "tape", "holders")["sites"] for step in site["chain"][:1]]
            step = next(step for step in steps if step["kind"] == "stack" and step["function"] == "third")
            theirs = frames_of_gdb(pid, step["tid"], tmp_path)
        finally:
            os.kill(pid, signal.SIGKILL)
    slot = step["address"] + step["offset"] if isinstance(step["address"], int) else int(step["address"], 16) + step["offset"]
    depth = next(i for i, (end, _) in enumerate(theirs) if slot < end)
    assert (depth, "third") == (step["depth"], theirs[depth][1])
    names = [name for _, name in theirs[depth + 1:]]
    assert names[:3] == ["second", "first", "worker"]
    assert [frame["function"] for frame in step["callers"]][:len(names)] == names[:len(step["callers"])]
    assert step["callers"][0]["line"] and step["callers"][0]["file"].endswith("nested.c")
    text = recording.run([binary(), "report", tmp_path / "tape", "holders"]).stdout.decode()
    assert re.search(r"in third  nested\.c:\d+.*\n +← second ← first ← worker", text), text


def test_other_holders_have_no_callers(program, tmp_path):
    recording.run_recorded([program, "1"], tmp_path / "tape", ["-q", "--leak-scan"])
    for site in recording.report(tmp_path / "tape", "holders", "--top", "1000")["sites"]:
        for step in site["chain"]:
            assert step["kind"] == "stack" or (step["depth"], step["callers"]) == (None, [])
    assert [frame["function"] for frame in held(tmp_path / "tape")[1001]["callers"]][0] == "main"
