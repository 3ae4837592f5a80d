"""`memtape record --trace`: what the kernel does for a program, on the tape of its allocations."""
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import pytest

import recording
import tape_reader
from recording import memtape as binary
from test_trace import NEEDS_CALLS, NEEDS_FAULTS, ROOT, answer, of

PROGRAM = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
enum { PAGE = 4096, MIB = 1 << 20 };

NOINLINE static void touch(volatile char *memory, int pages)
{
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

/* Above the threshold: mmap and munmap inside of malloc and free. */
NOINLINE static void mapped(int times)
{
	for (int i = 0; i < times; i++) {
		char *block = malloc(MIB);
		touch(block + PAGE - 16, 40); /* the first byte of a page */
		free(block);
	}
	__asm__ volatile("" ::: "memory");
}

/* Below it: brk inside of malloc. */
NOINLINE static char *grown(size_t size)
{
	char *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}

static void *in_thread(void *unused)
{
	mapped(15);
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	if (!strcmp(what, "work")) {
		mapped(20);
		for (int i = 0; i < 300; i++)
			grown(20000);
	} else if (!strcmp(what, "thread")) {
		pthread_t thread;
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(what, "fork")) {
		mapped(3);
		if (fork() == 0) {
			mapped(10);
			_exit(0);
		}
		wait(NULL);
		mapped(3);
	} else if (!strcmp(what, "exec")) {
		mapped(7);
		execl("/proc/self/exe", argv[0], "work", NULL);
	} else if (!strcmp(what, "long")) {
		mapped(atoi(argv[2]));
	} else if (!strcmp(what, "wait")) {
		puts("ready");
		fflush(stdout);
		for (int c; (c = getchar()) != EOF;)
			if (c == 'x') {
				mapped(12);
				puts("done");
				fflush(stdout);
			}
	}
	return 3;
}
"""
OWNERS = r"""
#include <alloca.h>
#include <fcntl.h>
#include <malloc.h>
#include <memtape.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
enum { PAGE = 4096, MIB = 1 << 20 };

NOINLINE static void touch(volatile char *memory, int pages)
{
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

/* Blocks of pages of their own, of which the first one has malloc's header. */
NOINLINE static char *first(int pages) { char *block = malloc(MIB); touch(block + PAGE, pages); return block; }
NOINLINE static char *again(int pages) { char *block = malloc(MIB); touch(block + PAGE, pages); return block; }
NOINLINE static char *larger(char *block, int pages) { block = realloc(block, 4 * MIB); touch(block + 2 * MIB, pages); return block; }

/* Blocks of the heap. */
NOINLINE static char *small(size_t size) { char *block = malloc(size); __asm__ volatile("" ::: "memory"); return block; }
NOINLINE static char *zeroed(size_t size) { char *block = calloc(1, size); __asm__ volatile("" ::: "memory"); return block; }
NOINLINE static char *moved(char *block, size_t size) { block = realloc(block, size); __asm__ volatile("" ::: "memory"); return block; }

NOINLINE static void on_the_stack(void) { touch(alloca(100 * PAGE), 100); }

NOINLINE static void in_a_file(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);
	if (ftruncate(file, 50 * PAGE) < 0)
		abort();
	touch(mmap(NULL, 50 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), 50);
}

static void *in_thread(void *unused)
{
	for (int i = 0; i < 10; i++)
		free(again(15));
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	char *block, *before, *kept;

	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	for (int i = 0; i < 20; i++) {
		free(first(40)); /* where the next one is, too */
		free(again(30));
	}
	larger(first(10), 25);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, in_thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	before = small(400000);
	kept = small(100);
	memset(before, 1, 400000);
	free(before);
	malloc_trim(0); /* no pages behind it any more */
	block = zeroed(390000);
	kept[0] = block[5];
	before = small(100000);
	memset(before, 1, 100000);
	small(100);
	block = moved(before, 200000);
	for (int i = 0; i < 500; i++)
		memset(small(1000 + i % 7 * 500), 1, 900);
	on_the_stack();
	in_a_file(argv[1]);
	(void)argc;
	memtape_snapshot("end");
	return 3;
}
"""
CALLS = "brk,mmap,munmap,faults"
pytestmark = [NEEDS_FAULTS, NEEDS_CALLS]
MAPPED = (1 << 20) + 4096


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record-trace")
    folder.chmod(0o755)
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o", folder / "p", folder / "p.c"], check=True)
    return folder / "p"


def record(tape, *words, kinds=CALLS, options=(), **more):
    return recording.run([binary(), "record", "--no-summary", "--trace", kinds, "-f", "-o", tape, *options, *words], **more)


def whole(found):
    """What was counted is on the tape, or was of the recorder itself."""
    for kind in ("brk", "mmap", "munmap", "faults"):
        if found[kind]:
            assert found[kind]["lost"] == 0, kind
            assert found[kind]["recorded"] + found[kind]["own"] == found[kind]["count"], kind
            assert found[kind]["recorded"] == sum(stack["count"] for stack in found["stacks"] if stack["kind"] == kind)
    return found


def names(stack):
    return [re.sub(r"(\(|@).*", "", frame["function"]) for frame in stack["stack"]]


def test_what_malloc_asks_the_kernel_for(program, tmp_path):
    """brk and mmap inside of malloc, with the stack of who allocates, beside the allocations themselves."""
    done = record(tmp_path / "t", program, "work")
    assert done.returncode == 3, done.stderr
    found = whole(answer(tmp_path / "t"))
    assert of(found, "mmap", "mapped") == (20, 20 * MAPPED)
    assert of(found, "munmap", "mapped") == (20, 20 * MAPPED)
    assert of(found, "faults", "touch") == (20 * 40, 20 * 40 * 4096)
    count, grown = of(found, "brk", "grown")
    assert count > 30 and 300 * 20000 <= grown + (132 << 10) and grown < 300 * 20016 + (264 << 10)
    for stack in found["stacks"]:
        assert not any("libmemtape" in (frame["module"] or "") for frame in stack["stack"]), stack
    stack = names(max((stack for stack in found["stacks"] if stack["kind"] == "brk"), key=lambda stack: stack["bytes"]))
    at = [stack.index(name) for name in ("sysmalloc", "malloc", "grown", "main")]
    assert at == sorted(at) and at[2] == at[1] + 1
    summary = recording.report(tmp_path / "t", "summary")
    assert summary["allocations"]["count"] == 320


def test_as_strace_counts(program, tmp_path):
    """The calls of the program, in the same run; those of the loader are before the recording."""
    recording.run(["strace", "-ff", "-o", tmp_path / "calls", "-e", "trace=brk,mmap,munmap", binary(), "record", "--no-summary", "--trace",
                   CALLS, "-o", tmp_path / "t", program, "work"])
    found = whole(answer(tmp_path / "t"))
    text, = [text for text in (path.read_text() for path in tmp_path.glob("calls.*")) if f"mmap(NULL, {MAPPED}," in text]
    for kind, pattern in (("mmap", rf"mmap\(NULL, {MAPPED},"), ("munmap", rf"munmap\(0x\w+, {MAPPED}\)")):
        assert of(found, kind, "mapped")[0] == len(re.findall(pattern, text)) == 20, kind
    ends = [int(end, 16) for end in re.findall(r"brk\(.*= (0x\w+)", text)]
    assert found["brk"]["bytes"] == ends[-1] - ends[0] == sum(max(b - a, 0) for a, b in zip(ends, ends[1:]))
    within = re.findall(r"brk\(.*= (0x\w+)", text[text.rindex(f", {MAPPED})"):])
    assert of(found, "brk", "grown")[0] == len(within) > 30


@pytest.mark.parametrize("how, times", [("thread", 15), ("fork", 6), ("exec", 20)])
def test_what_begins_meanwhile(program, tmp_path, how, times):
    """Threads are traced, processes that are forked are not; what exec makes of it has a tape of its own."""
    assert record(tmp_path / "t", program, how).returncode == 3
    found = whole(answer(tmp_path / "t"))
    assert of(found, "faults", "touch")[0] == times * 40
    assert how == "thread" or of(found, "munmap", "mapped")[0] == times  # an arena of a thread is mapped, too


def test_the_program_before_an_exec(program, tmp_path):
    """Each tape has its own events, and counts."""
    assert record(tmp_path / "t.mtape", program, "exec", options=["--follow"]).returncode == 3
    for tape, times in (("t.before-1.mtape", 7), ("t.mtape", 20)):
        found = whole(answer(tmp_path / tape))
        assert of(found, "munmap", "mapped")[0] == times, tape
        assert found["mmap"]["recorded"] == times, tape  # and nothing of the loader of the next one


@pytest.mark.parametrize("options", [[], ["--hook=inline"]])
def test_a_process_that_runs(program, tmp_path, options):
    """While it is attached to, and no longer; a trace beside it has the same."""
    with subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def work():
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.readline() == b"done\n"

        assert process.stdout.readline() == b"ready\n"
        work()
        attached = subprocess.Popen([binary(), "attach", "--no-summary", "--trace", CALLS, *options, "-o", tmp_path / "t", str(process.pid)],
                                    stderr=subprocess.PIPE)
        assert b"Ctrl-C" in attached.stderr.readline()
        tracer = subprocess.Popen([binary(), "trace", CALLS, "--no-summary", "-p", str(process.pid), "-o", tmp_path / "b"],
                                  stderr=subprocess.PIPE)
        assert b"Ctrl-C" in tracer.stderr.readline()
        assert recording.run([binary(), "ctl", str(process.pid), "status"]).returncode == 0  # what answers also traces
        work()
        assert recording.run([binary(), "detach", str(process.pid)]).returncode == 0
        assert attached.wait(60) == 0
        work()
        process.stdin.close()
        assert process.wait(60) == 3
        assert tracer.wait(60) == 0
        attached.stderr.close()
    found = whole(answer(tmp_path / "t"))
    assert of(found, "mmap", "mapped") == (12, 12 * MAPPED) and of(found, "faults", "touch")[0] == 12 * 40
    assert of(answer(tmp_path / "b"), "faults", "touch")[0] == 24 * 40


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_who_may_not(program):
    """One line says why, and the recording goes on without."""
    if not recording.anybody_may_enter(binary()):
        pytest.skip("nobody may not enter the folder of the build")
    who = {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="memtape-nobody-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        shutil.copy(program, folder / "p")
        done = record(folder / "t", folder / "p", "work", kinds="brk,mmap", **who)
        assert done.returncode == 3 and b"not traced: brk, mmap: system calls are seen by root only" in done.stderr, done.stderr
        done = record(folder / "a", folder / "p", "work", kinds="all", **who)
        assert done.returncode == 3 and b"not traced: brk, mmap, munmap" in done.stderr, done.stderr
        quiet = record(folder / "q", folder / "p", "work", kinds="brk", options=["--quiet"], **who)
        assert quiet.returncode == 3 and quiet.stderr == b""
        for tape in "taq":
            os.chown(folder / tape, 0, 0)
            assert recording.report(folder / tape, "summary")["allocations"]["count"] == 320
            assert answer(folder / tape)["brk"] is None
        found = answer(folder / "a")["faults"]
        if found is not None:
            assert found["user_only"] == (b"within system calls are not seen" in done.stderr)


def test_bad_words(program, tmp_path):
    done = record(tmp_path / "t", program, kinds="brk,walls")
    assert done.returncode == 2 and b"walls" in done.stderr and not (tmp_path / "t").exists()
    done = recording.run([binary(), "attach", "--bpf", "--trace", "brk", "1"])
    assert done.returncode == 2 and b"--trace" in done.stderr


def test_everything_else_reads_it(program, tmp_path):
    """Pictures, files, comparisons, and tapes made of it: they have both, allocations and what the kernel did."""
    tape = tmp_path / "t.mtape"
    record(tape, program, "work")
    done = recording.run([binary(), "export", tape, "--to", "folded", "--metric", "faults"])
    assert "main;mapped;touch 800" in done.stdout.decode().splitlines()
    done = recording.run([binary(), "flamegraph", tape, "--metric", "brk"])
    assert b"growth of the heap" in done.stdout and b"grown" in done.stdout
    assert b"alive at the peak" in recording.run([binary(), "flamegraph", tape]).stdout
    record(tmp_path / "u.mtape", program, "fork")
    done = recording.run([binary(), "diff", tmp_path / "u.mtape", tape, "--metric", "faults", "--json"])
    rows = {row["function"]: row for row in json.loads(done.stdout)["rows"]}
    assert (rows["touch"]["a"], rows["touch"]["b"]) == (6 * 40, 20 * 40)
    first = answer(tape)
    for command in (["repack"], ["strip", "--min-lifetime", "1ns"]):
        done = recording.run([binary(), *command, tape, "-o", tmp_path / "made.mtape", "-f"])
        assert done.returncode == 0, done.stderr
        assert answer(tmp_path / "made.mtape")["stacks"] == first["stacks"], command
    done = recording.run([binary(), "anonymise", tape, "-o", tmp_path / "a.mtape"])
    assert done.returncode == 0, done.stderr
    hidden = answer(tmp_path / "a.mtape")
    assert [(stack["kind"], stack["count"], stack["bytes"]) for stack in hidden["stacks"]] == \
        [(stack["kind"], stack["count"], stack["bytes"]) for stack in first["stacks"]]
    assert "touch" not in json.dumps(hidden)
    verified = recording.run([binary(), "verify", tape])
    assert verified.returncode == 0 and b"sound" in verified.stdout, verified


def test_a_tape_of_bounded_size(program, tmp_path):
    """Old events are left out; the latest are there, in blocks that are."""
    rounds = recording.times(full=30000, standard=8000)
    tape = tmp_path / "t"
    done = record(tape, program, "long", str(rounds), kinds="faults", options=["--no-compress", "--rotate", "--max-size", "16m"])
    assert done.returncode == 3, done.stderr
    found = answer(tape)["faults"]
    assert tape.stat().st_size <= 16 << 20 and recording.report(tape, "summary")["rotated"]["rotations"] > 0
    assert found["count"] >= rounds * 40 and 0 < found["recorded"] < found["count"] - found["lost"] - found["own"]
    owners = answer(tape)["owners"]
    assert owners["in_blocks"] + owners["in_heap"] >= owners["count"] * 9 // 10
    text = recording.run([binary(), "report", tape, "trace"]).stdout.decode()
    assert f"{found['recorded']:,} of them shown" in text


def test_a_collector_that_is_killed(program, tmp_path):
    """What it has written is there, and the program goes on."""
    with subprocess.Popen([binary(), "record", "-q", "--live", "--trace", CALLS, "-o", tmp_path / "t", program, "wait"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as collector:
        assert collector.stdout.readline() == b"ready\n"
        collector.stdin.write(b"x")
        collector.stdin.flush()
        assert collector.stdout.readline() == b"done\n"
        while not (tmp_path / "t").exists() or (tmp_path / "t").stat().st_size <= 4096 or of(answer(tmp_path / "t"), "faults", "touch")[0] < 12 * 40:
            assert collector.poll() is None
        collector.kill()
        collector.stdin.write(b"x")
        collector.stdin.flush()
        assert collector.stdout.readline() == b"done\n"
    assert of(answer(tmp_path / "t"), "munmap", "mapped") == (12, 12 * MAPPED)
    assert answer(tmp_path / "t")["owners"]["in_blocks"] >= 12 * 40


# --- whose blocks page faults are in ------------------------------------------------------------------

def unpacked(tape, to):
    """A tape that was recorded with --no-compress, with its chunks where the recorder has them: for tape_reader."""
    data = tape.read_bytes()
    head = bytearray(data[:4096])
    struct.pack_into("<I", head, 16, 1)
    slot_bytes, = struct.unpack_from("<I", data, 20)
    slots, at = [bytes(head)], 4096
    while at + 64 <= len(data):
        chunk = tape_reader.CHUNK.unpack_from(data, at)
        if chunk[0] != tape_reader.CHUNK_MAGIC:
            break
        used, nodes = chunk[7], chunk[8] * 12
        records = data[at:at + 64 + used]
        slots.append(records + bytes(slot_bytes - 64 - used - nodes) + data[at + 64 + used:at + 64 + used + nodes])
        at += 64 + used + nodes
    to.write_bytes(b"".join(slots))
    return tape_reader.Tape(to)


def slowly(tape):
    """(allocating function, whether it was being allocated) of every page fault, or None: by looking at all blocks."""
    blocks = tape.replay()
    found = []
    for ticks, stream, kind, payload in tape.extended:
        if kind != 48:
            continue
        number, node, address, _, _, _ = struct.unpack_from("<IIQQII", payload)
        if number != 3:
            continue
        there = [block for block in blocks if block["address"] <= address < block["address"] + block["usable_size"]]
        owner = [(block, False) for block in there
                 if block["event"].ticks <= ticks and (block["freed"] is None or ticks < block["freed"].ticks)]
        later = [block for block in there if block["event"].ticks > ticks]
        if not owner and later:
            block = min(later, key=lambda block: block["event"].ticks)
            stack = tape.stack(stream, node)[0]
            own = tape.stack(block["event"].stream, block["event"].node)[0]
            if stack[-len(own):] == own:
                owner = [(block, True)]
        assert len(owner) <= 1
        found.append((next(iter(tape.frames(owner[0][0]["event"])))["function"], owner[0][1]) if owner else None)
    return found


def test_whose_blocks_page_faults_are_in(tmp_path):
    """The allocation that owns the address, at the time; as a replay of all events has it, one fault after the other."""
    (tmp_path / "p.c").write_text(OWNERS)
    include = next(path.parent for path in recording.ROOT.rglob("memtape.h") if "build" not in path.parts)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-I", include, "-o", tmp_path / "p", tmp_path / "p.c"],
                   check=True)
    done = record(tmp_path / "t", tmp_path / "p", tmp_path / "file", kinds="faults", options=["--no-compress"])
    assert done.returncode == 3, done.stderr
    found = whole(answer(tmp_path / "t"))
    owners = found["owners"]
    sites = {site["function"]: site for site in owners["sites"]}
    assert {name: sum(site["count"] for site in owners["sites"] if site["function"] == name) for name in ("first", "again", "larger")} == \
        {"first": 20 * 40 + 10, "again": 20 * 30 + 30 * 15, "larger": 25}
    assert sum(site["blocks"] for site in owners["sites"] if site["function"] == "first") == 21
    assert sites["larger"]["bytes"] == 25 * 4096
    assert owners["allocating"] >= 390000 // 4096 - 2
    assert owners["in_stacks"] >= 100 and owners["in_files"] >= 50 and owners["in_heap"] >= 20 * 2
    parts = ("in_blocks", "in_heap", "in_stacks", "in_files", "elsewhere")
    assert sum(owners[part] for part in parts) == owners["count"] == found["faults"]["recorded"]

    expected = slowly(unpacked(tmp_path / "t", tmp_path / "raw"))
    assert len(expected) == owners["count"]
    assert sum(one is not None for one in expected) == owners["in_blocks"]
    assert sum(one is not None and one[1] for one in expected) == owners["allocating"]
    counts = collections.Counter(one[0] for one in expected if one)
    reported = collections.Counter()
    for site in owners["sites"]:
        reported[site["function"]] += site["count"]
    assert reported == counts

    lines = recording.run([binary(), "export", tmp_path / "t", "--to", "folded", "--metric", "owned_faults"]).stdout.decode().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == owners["in_blocks"]
    lines = recording.run([binary(), "export", tmp_path / "t", "--to", "folded", "--metric", "owned_faults", "--filter",
                           "function = larger"]).stdout.decode().splitlines()
    assert lines == ["main;larger 25"]
    text = recording.run([binary(), "report", tmp_path / "t", "trace"]).stdout.decode()
    assert "Page faults by allocation" in text and f"{owners['in_blocks']:,} in blocks" in text


def test_no_owners_without_allocations(tmp_path):
    """A tape of `memtape trace` has page faults, and no blocks."""
    recording.run([binary(), "trace", "faults", "-q", "-o", tmp_path / "t", "true"])
    assert answer(tmp_path / "t")["owners"] is None
    done = recording.run([binary(), "flamegraph", tmp_path / "t", "--metric", "owned_faults"])
    assert done.returncode == 1 and b"--trace=faults" in done.stderr


# --- findings -----------------------------------------------------------------------------------------

LOOP = r"""
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noipa))

NOINLINE static void step(size_t size)
{
	char *block = malloc(size);
	for (size_t i = 4096; i < size; i += 65536 / 2)
		((volatile char *)block)[i] = 1;
	free(block);
}

/* trim: freed memory goes back to the kernel at once; map: blocks are mapped; keep: neither; grow: nothing is freed. */
int main(int argc, char **argv)
{
	const int is_trim = !strcmp(argv[1], "trim"), is_map = !strcmp(argv[1], "map");
	mallopt(M_TRIM_THRESHOLD, is_trim ? 64 << 10 : 256 << 20);
	mallopt(M_MMAP_THRESHOLD, is_map ? 64 << 10 : 32 << 20);
	for (int i = 0; i < 3000; i++)
		if (strcmp(argv[1], "grow"))
			step(320 << 10);
		else
			*(char *volatile *)malloc(140000) = NULL;
	return argc < 2;
}
"""
TRACED = ("heap_moves", "mapped_blocks", "refaults", "huge_splits", "misplaced")


def findings(tape):
    return {finding["type"]: finding for finding in recording.report(tape, "findings")["findings"] if finding["type"] in TRACED}


def test_findings_of_memory_that_comes_and_goes(tmp_path):
    """What trimming and mapping cost, with the function that allocates; and nothing of it once the memory is kept."""
    (tmp_path / "p.c").write_text(LOOP)
    subprocess.run(["gcc", "-O2", "-g", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    found = {}
    for how in ("trim", "map", "keep", "grow"):
        for i in range(5):  # where nothing is lost, if this machine is idle enough for that
            tape = tmp_path / f"{how}{i}"
            assert record(tape, tmp_path / "p", how).returncode == 0
            if all(answer(tape)[kind]["lost"] == 0 for kind in ("brk", "mmap", "faults")):
                break
        os.rename(tape, tmp_path / how)
        found[how] = findings(tmp_path / how)
    assert set(found["trim"]) == {"heap_moves", "refaults"}, found["trim"]
    assert set(found["map"]) == {"mapped_blocks", "refaults"}, found["map"]
    assert found["keep"] == found["grow"] == {}
    assert answer(tmp_path / "grow")["brk"]["recorded"] >= 1500
    for how in ("trim", "map"):
        counts = answer(tmp_path / how)
        for kind, finding in found[how].items():
            assert finding["function"] == "step" and finding["command"].endswith("trace"), finding
            # What is trimmed leaves the end of the heap, with four of the ten pages.
            most = {"heap_moves": 3000, "mapped_blocks": 3000, "refaults": 18000 if how == "trim" else 30000}[kind]
            lost = counts[{"heap_moves": "brk", "mapped_blocks": "mmap", "refaults": "faults"}[kind]]["lost"]
            assert most * 99 // 100 - 20 - lost <= finding["count"] <= most + 1, (kind, finding, lost)
            assert f"{finding['count']:,}" in finding["evidence"]
    assert "M_TRIM_THRESHOLD" in found["trim"]["heap_moves"]["advice"]
    assert found["map"]["mapped_blocks"]["bytes"] == found["map"]["mapped_blocks"]["count"] * ((320 << 10) + 4096)


SOBER = {
    "python3": ["/usr/bin/python3", "-c", "import json; json.dumps([str(i) for i in range(100000)])"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c limit 100000) "
                "insert into t select x, hex(x) from c; create index i on t(b); select count(*) from t"],
    "git": ["git", "-C", str(recording.ROOT), "log", "--stat", "-n", "50", "--no-pager"],
    "cc1": ["cc1", "-quiet", "-O2", "-o", "/dev/null", "p.c"],
}


@pytest.mark.parametrize("name", SOBER)
def test_no_findings_where_nothing_is_wrong(tmp_path, name):
    words = list(SOBER[name])
    if name == "cc1":
        (tmp_path / "p.c").write_text("".join(f"int f{i}(int a) {{ return a * {i} + a / 3; }}\n" for i in range(recording.times(full=2000, standard=100))))
        words = [subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip(),
                 "-quiet", "-O2", "-o", "/dev/null", str(tmp_path / "p.c")]
    elif not shutil.which(words[0]):
        pytest.skip(f"no {name} here")
    record(tmp_path / "t", *words)
    assert answer(tmp_path / "t")["faults"]["recorded"] > 0
    assert findings(tmp_path / "t") == {}
