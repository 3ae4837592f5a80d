"""Huge pages that are split: as the kernel's events say it, and as estimated from looks at the mappings."""
import pathlib
import re
import struct
import subprocess

import pytest

import recording
from recording import memtape as binary
from tape_writer import TapeWriter
from test_trace import answer, may

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

HUGE, MIB = 2 << 20, 1 << 20
BLOCK, MAPPING = 0x7F00_0000_0000, 0x7F10_0000_0000
SPACE, MMAP, KERNEL, KERNEL_COUNT, HUGE_LOST = 26, 8, 48, 49, 59
HUGE_SPLIT = 6
PAGES = 40

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
enum { HUGE_BYTES = 2 << 20, PAGES = 40 };

NOINLINE static char *make(void)
{
	char *memory = aligned_alloc(HUGE_BYTES, PAGES * (size_t)HUGE_BYTES);
	madvise(memory, PAGES * (size_t)HUGE_BYTES, MADV_HUGEPAGE);
	memset(memory, 1, PAGES * (size_t)HUGE_BYTES);
	return memory;
}

static void say(const char *word)
{
	printf("%s %d\n", word, getpid());
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	char *memory = make();
	say("made");
	for (size_t i = 0; i < PAGES; i++) {
		char *page = memory + i * HUGE_BYTES;
		if (!strcmp(argv[1], "protect"))
			mprotect(page + 4096, 4096, PROT_READ);
		else if (!strcmp(argv[1], "part"))
			madvise(page, HUGE_BYTES / 2, MADV_DONTNEED);
		else if (!strcmp(argv[1], "whole"))
			madvise(page, HUGE_BYTES, MADV_DONTNEED);
	}
	say("done");
	return memory[PAGES * (size_t)HUGE_BYTES - 1] & 2;
}
"""


def splits(tape):
    return [finding for finding in recording.report(tape, "findings")["findings"] if finding["type"] == "huge_splits"]


# --- tapes on which each figure is known ------------------------------------------------------------------


def made(path, write):
    tape = TapeWriter()
    collector, main = tape.collector(), tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    main.event(0, BLOCK, PAGES * HUGE, node=main.stack(("main", 16), ("owner", 16)))
    tape.at(1000)
    write(tape, collector, main)
    tape.at(2000)
    main.event(1, BLOCK)
    tape.clock(main)
    tape.write(path)
    tape.names()
    return path


def event(main, address, *functions):
    main.extended(KERNEL, struct.pack("<IIQQII", HUGE_SPLIT, main.stack(*functions), address, HUGE, 0, 1))


def count(main, number, lost=0):
    main.extended(KERNEL_COUNT, struct.pack("<IIQQII", HUGE_SPLIT, 1, number, lost, 0, 0))


def lost(collector, address, pages, of):
    collector.extended(HUGE_LOST, struct.pack("<6Q", address, address + of * HUGE, of * HUGE, (of - pages) * HUGE, pages * HUGE, HUGE))


def test_events_are_of_the_blocks_that_were_split(tmp_path):
    def write(_, collector, main):
        for i in range(PAGES):
            event(main, BLOCK + i * HUGE + 8192, ("main", 32), ("splitter", 16))
        for i in range(33):
            event(main, MAPPING + i * HUGE, ("main", 48), ("other", 16))
        count(main, PAGES + 33 + 2, lost=2)
        lost(collector, BLOCK, 7, PAGES)  # told apart
    tape = made(tmp_path / "t", write)
    found = answer(tape)
    told = found["thp_splits"]
    assert (told["count"], told["recorded"], told["lost"], told["bytes"]) == (75, 73, 2, 73 * HUGE)
    owners = found["split_owners"]
    assert (owners["count"], owners["in_blocks"], owners["elsewhere"]) == (73, PAGES, 33)
    assert [(site["function"], site["count"], site["bytes"], site["blocks"]) for site in owners["sites"]] == [("owner", PAGES, PAGES * HUGE, 1)]
    assert found["owners"] is None
    assert [row["count"] for row in found["split_estimates"]] == [7]
    assert [(finding["function"], finding["count"], finding["bytes"]) for finding in splits(tape)] == [
        ("owner", PAGES, PAGES * HUGE), ("other", 33, 33 * HUGE)]
    assert "by the kernel's count" in splits(tape)[0]["evidence"] and "MADV_NOHUGEPAGE" in splits(tape)[0]["advice"]
    text = recording.run([binary(), "report", tape, "trace"]).stdout.decode()
    assert "Huge pages split" in text and "75 pages, 146.0 MiB; 2 lost" in text
    assert "Splits of huge pages by allocation" in text and "an estimate" in text


def test_an_estimate_is_one(tmp_path):
    def write(tape, collector, main):
        lost(collector, BLOCK, 20, PAGES)
        tape.at(1500)
        lost(collector, BLOCK, 15, PAGES - 20)
        lost(collector, MAPPING, 3, 50)
    tape = made(tmp_path / "t", write)
    found = answer(tape)
    assert found["thp_splits"] is found["split_owners"] is None
    rows = [(row["function"], row["count"], row["bytes"], row["huge_bytes"], row["blocks"]) for row in found["split_estimates"]]
    assert rows == [("owner", 35, 35 * HUGE, PAGES * HUGE, 1), ("(no stack taken)", 3, 3 * HUGE, 50 * HUGE, 0)]
    finding, = splits(tape)
    assert (finding["function"], finding["count"]) == ("owner", 35) and "an estimate" in finding["evidence"]
    later = answer(tape, "--from", "1400ms")["split_estimates"]
    assert [row["count"] for row in later] == [15, 3]


FEW = {
    "few": lambda _, collector, main: lost(collector, BLOCK, 31, PAGES),
    "little of many": lambda _, collector, main: lost(collector, BLOCK, 40, 200),
    "few events": lambda _, collector, main: [event(main, BLOCK + i * HUGE, ("main", 32)) for i in range(31)],
    "traced, and none": lambda _, collector, main: (count(main, 0), lost(collector, BLOCK, 40, PAGES)),
    "rubbish": lambda _, collector, main: [collector.extended(HUGE_LOST, struct.pack("<6Q", *row)) for row in (
        (9, 9, 1, 1, 1 << 40, HUGE), (BLOCK, BLOCK - 1, 1, 1, 1 << 40, HUGE), (BLOCK, BLOCK + HUGE, 1, 1, 1 << 40, 0), (1, 2, 3, 4, 0, 6))],
}


@pytest.mark.parametrize("name", FEW)
def test_no_finding(tmp_path, name):
    assert splits(made(tmp_path / "t", FEW[name])) == []


def test_anonymised(tmp_path):
    tape = made(tmp_path / "t", lambda _, collector, main: lost(collector, BLOCK, 35, PAGES))
    done = recording.run([binary(), "anonymise", tape, "-o", tmp_path / "again"])
    assert done.returncode == 0, done.stderr
    before, after = (answer(path)["split_estimates"][0] for path in (tape, tmp_path / "again"))
    assert before["address"] != after["address"] and (before["count"], before["blocks"]) == (after["count"], after["blocks"])


# --- this machine -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("huge")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "-fno-builtin-malloc", "-o", folder / "p", folder / "p.c"], check=True)
    return folder / "p"


def huge_pages_of(pid):
    found = re.search(r"AnonHugePages: *(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text())
    return int(found[1]) * 1024 // HUGE


def run_looked_at(program, tape, how):
    """With a look at the mappings before and after; the huge pages it had."""
    recorder = subprocess.Popen([binary(), "record", "-q", "-o", tape, "--", program, how], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env=recording.clean_env())
    with recorder:
        word, pid = recorder.stdout.readline().split()
        pid = int(pid)
        had = [huge_pages_of(pid)]
        assert word == b"made"
        for word in (b"done %d\n" % pid, b""):
            done = recording.run([binary(), "ctl", str(pid), "snapshot"])
            assert done.returncode == 0, done.stderr
            recorder.stdin.write(b"\n")
            recorder.stdin.flush()
            assert recorder.stdout.readline() == word
            if word:
                had.append(huge_pages_of(pid))
    assert recorder.returncode == 0
    return had


THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(not THP.exists() or "[never]" in THP.read_text(), reason="there are no huge pages here")
@pytest.mark.parametrize("how", ["protect", "part", "whole", "leave"])
def test_a_real_program(program, tmp_path, how):
    before, after = run_looked_at(program, tmp_path / "t", how)
    if before < PAGES:
        pytest.skip(f"the kernel had {before} of {PAGES} huge pages")
    rows = answer(tmp_path / "t")["split_estimates"]
    rows = [row for row in rows if row["function"] == "make"]  # others may have some, too, where all programs get huge pages
    total = sum(row["count"] for row in rows)
    if how == "protect":
        assert after <= before - PAGES and total == PAGES
        assert rows[0]["huge_bytes"] >= PAGES * HUGE
        assert splits(tmp_path / "t")[0]["function"] == "make"
    elif how == "part":  # half of each is gone: so many small pages are left as half of the huge ones had
        assert after <= before - PAGES and total == PAGES // 2
    else:
        assert total == 0 and splits(tmp_path / "t") == []


@pytest.mark.skipif(may("thp-splits"), reason="kprobes may be used here")
def test_where_there_are_no_probes(program, tmp_path):
    done = recording.run([binary(), "trace", "thp-splits", "-o", tmp_path / "none", "--", "true"])
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and not (tmp_path / "none").exists()
    done = recording.run([binary(), "record", "--trace=thp-splits", "--no-summary", "-o", tmp_path / "t", "--", "true"])
    lines = [line for line in done.stderr.decode().splitlines() if "thp-splits" in line]
    assert done.returncode == 0 and len(lines) == 1 and lines[0].startswith("memtape: not traced: thp-splits: "), done.stderr
    assert answer(tmp_path / "t")["thp_splits"] is None
