"""`memtape report TAPE residency`: what of the requested memory is resident."""
import errno
import os
import struct
import subprocess

import pytest

import recording
import seccomp
from tape_writer import TapeWriter

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define FRAME __attribute__((noinline))
enum { MIB = 1 << 20, PAGE = 4096 };
static char *volatile kept[8];
FRAME void half(void) { kept[0] = malloc(8 * MIB); memset(kept[0], 1, 4 * MIB); }
FRAME void never(void) { kept[1] = calloc(16, MIB); }
FRAME void whole(void) { kept[2] = malloc(4 * MIB); memset(kept[2], 1, 4 * MIB); }
FRAME void holes(void) { kept[3] = calloc(4, MIB); for (int i = 0; i < 4 * MIB; i += 2 * PAGE) kept[3][i] = 1; }
FRAME void small(void) { for (int i = 0; i < 3000; i++) memset(kept[4] = malloc(300), 1, 300); }
FRAME void freed(void) { char *p = malloc(6 * MIB); memset(p, 1, 6 * MIB); free(p); }
FRAME void given_back(void)
{
	kept[5] = malloc(2 * MIB);
	memset(kept[5], 1, 2 * MIB);
	madvise((void *)(((size_t)kept[5] + PAGE) & -PAGE), MIB, MADV_DONTNEED);
}
int main(void)
{
	unsigned char pages[4 * MIB / PAGE + 1];
	size_t resident = 0;
	half(); never(); whole(); holes(); small(); given_back(); freed();
	mincore((void *)((size_t)kept[3] & -PAGE), 4 * MIB, pages);
	for (size_t i = 0; i < 4 * MIB / PAGE; i++)
		resident += pages[i] & 1;
	printf("%zu\n", resident * PAGE);
	fflush(stdout);
	sleep(2);
	return 0;
}
"""
MIB, PAGE = 1 << 20, 4096


@pytest.fixture(scope="module", name="told")
def fixture_told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resident")
    (folder / "resident.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "resident", folder / "resident.c"], check=True)
    done = recording.run_recorded([folder / "resident"], folder / "the.mtape", ["-q"],
                                  env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"})
    assert done.returncode == 0, done.stderr
    return done.tape, int(done.stdout), recording.report(done.tape, "residency")


def about(value, wanted):
    """Within the pages at both ends of a block, its header, and a huge page's worth that the kernel may add."""
    return abs(value - wanted) <= 2 * PAGE


def test_what_was_touched_is_resident(told):
    _, holes, answer = told
    sites = {site["function"]: site for site in answer["sites"]}
    for name, resident, untouched, tail in (("half", 4 * MIB, 4 * MIB, 4 * MIB), ("never", 0, 16 * MIB, 16 * MIB),
                                            ("whole", 4 * MIB, 0, 0), ("small", 900_000, 0, 0), ("given_back", MIB, MIB, 0)):
        site = sites[name]
        assert about(site["resident_bytes"], resident) and about(site["untouched_bytes"], untouched), (name, site)
        assert about(site["tail_bytes"], tail) and site["unknown_bytes"] == 0, (name, site)
    assert about(sites["holes"]["resident_bytes"], holes)  # by the kernel's mincore(2)
    assert "freed" not in sites
    order = [site["untouched_bytes"] for site in answer["sites"]]
    assert order == sorted(order, reverse=True) and order[0] == sites["never"]["untouched_bytes"]


def test_sums_are_those_of_the_sites(told):
    _, _, answer = told
    for key in ("blocks", "bytes", "resident_bytes", "swapped_bytes", "untouched_bytes", "tail_bytes", "zero_bytes",
                "unknown_bytes"):
        assert answer[key] == sum(site[key] for site in answer["sites"])
    for site in answer["sites"]:
        assert site["bytes"] == sum(site[key] for key in ("resident_bytes", "swapped_bytes", "untouched_bytes",
                                                          "unknown_bytes"))
        assert site["tail_bytes"] <= site["untouched_bytes"] and site["zero_bytes"] <= site["untouched_bytes"]


def test_a_filter_and_a_moment_choose(told):
    tape, _, answer = told
    only = recording.report(tape, "residency", "--filter", "size = 8388608")
    assert [site["function"] for site in only["sites"]] == ["half"]
    late = recording.report(tape, "residency", "--at", "end")
    assert late["time_ns"] >= answer["time_ns"] and late["wanted_ns"] >= late["time_ns"]
    peak_ns = recording.report(tape, "summary")["peak"]["time_ns"]
    assert answer["wanted_ns"] == peak_ns and answer["time_ns"] >= peak_ns + 250_000_000


def test_without_a_snapshot_all_is_unknown(tmp_path):
    (tmp_path / "sums.folded").write_text("main;take 1000\nmain;load 4096\n")
    recording.run([recording.memtape(), "convert", "-q", tmp_path / "sums.folded", "-o", tmp_path / "made.mtape"])
    answer = recording.report(tmp_path / "made.mtape", "residency")
    assert answer["time_ns"] is None and answer["bytes"] == answer["unknown_bytes"] == 5096
    assert answer["resident_bytes"] == answer["untouched_bytes"] == 0


# --- against the kernel's own words ------------------------------------------------------------------

PAGES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define FRAME __attribute__((noinline))
enum { MIB = 1 << 20, PAGE = 4096 };
static volatile unsigned sum;
static void tell(const char *name, char *block, size_t bytes) { printf("%s %zx %zx\n", name, (size_t)block, bytes); }
FRAME void only_read(void)
{
	char *block = calloc(1, 3 * MIB + 5000);
	for (int i = 0; i < 3 * MIB; i += PAGE / 2)
		sum += block[i];
	tell("only_read", block, 3 * MIB + 5000);
}
FRAME void mixed(void)
{
	char *block = calloc(1, 4 * MIB);
	for (int i = 0; i < 4 * MIB; i += PAGE)
		if (i / PAGE % 7 < 2)
			block[i] = 1;
		else if (i / PAGE % 7 < 5)
			sum += block[i];
	tell("mixed", block, 4 * MIB);
}
FRAME void written(void) { char *block = calloc(1, 2 * MIB); memset(block, 1, 2 * MIB); tell("written", block, 2 * MIB); }
FRAME void never(void) { tell("never", calloc(1, 2 * MIB), 2 * MIB); }
int main(void)
{
	char byte;
	only_read(); mixed(); written(); never();
	fflush(stdout);
	return (int)read(0, &byte, 1);
}
"""


def kernels_sums(pid, begin, size):
    """Of a block: by eight bytes a page of /proc/PID/pagemap. Present, but neither of a file nor of this process alone,
    is the zero page: nothing here is shared with a child."""
    sums = dict.fromkeys(("resident", "swapped", "zero", "absent"), 0)
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        for page in range(begin // PAGE, (begin + size - 1) // PAGE + 1):
            pagemap.seek(page * 8)
            (entry,) = struct.unpack("<Q", pagemap.read(8))
            kind = ("resident" if entry >> 56 & 1 or entry >> 61 & 1 else "zero") if entry >> 63 else \
                "swapped" if entry >> 62 & 1 else "absent"
            sums[kind] += min(begin + size, (page + 1) * PAGE) - max(begin, page * PAGE)
    return sums


def old_kernel():
    """It knows no PAGEMAP_SCAN."""
    command = [(seccomp.LOAD, 0, 0, seccomp.NUMBER), (seccomp.EQUAL, 0, 3, 16), (seccomp.LOAD, 0, 0, 24),
               (seccomp.EQUAL, 0, 1, 0xC0606610), (seccomp.RETURN, 0, 0, seccomp.ERRNO | errno.ENOTTY)]
    return seccomp.install(command)


@pytest.mark.parametrize("kernel", ["this", "an older"])
def test_pages_are_what_the_kernel_says(tmp_path, tape, kernel):
    if kernel != "this" and os.uname().machine != "x86_64":
        pytest.skip("the filter has numbers of x86-64")
    (tmp_path / "pages.c").write_text(PAGES)
    subprocess.run(["gcc", "-g", "-O1", "-o", tmp_path / "pages", tmp_path / "pages.c"], check=True)
    process = subprocess.Popen([recording.memtape(), "record", "-q", "-o", tape, tmp_path / "pages"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=recording.clean_env(GLIBC_TUNABLES="glibc.malloc.hugetlb=0"),
                               preexec_fn=None if kernel == "this" else old_kernel())
    with process:
        blocks = [process.stdout.readline().split() for _ in range(4)]
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            (pid,) = file.read().split()
        try:
            process.wait(3)  # time for snapshots
        except subprocess.TimeoutExpired:
            pass
        wanted = {name: kernels_sums(pid, int(begin, 16), int(size, 16)) for name, begin, size in blocks}
        process.stdin.close()
        assert process.wait(30) == 0
    sites = {site["function"]: site for site in recording.report(tape, "residency")["sites"] if site["function"] in wanted}
    assert wanted["only_read"]["zero"] >= 3 * MIB - PAGE and wanted["mixed"]["resident"] > MIB  # or it says little
    assert sites.keys() == wanted.keys()
    for name, sums in wanted.items():
        site = sites[name]
        found = {"resident": site["resident_bytes"], "swapped": site["swapped_bytes"], "zero": site["zero_bytes"],
                 "absent": site["untouched_bytes"] - site["zero_bytes"]}
        assert found == sums and site["unknown_bytes"] == 0, name


# --- pages that are swapped out: by hand, for few machines that run tests have swap --------------------

BEGIN = 0x10000000


def made(path, line):
    """A tape with a block of 14 pages, from the middle of the first of 16, and one snapshot of them."""
    tape = TapeWriter()
    stream, collector = tape.stream(100, "swapping"), tape.collector()
    tape.process(stream, "/opt/swapping", "swapping")
    tape.clock(stream)
    tape.at(1)
    stream.event(0, BEGIN + PAGE // 2, 14 * PAGE, node=stream.stack(("main", 16), ("take", 48)))
    tape.at(400)
    text = f"{BEGIN:x} {BEGIN + 16 * PAGE:x} rw-p - {line} \n"
    collector.extended(26, struct.pack("<QII", tape.ticks, 0, 3) + text.encode() + b"\0")
    tape.at(500)
    tape.clock(stream)
    tape.write(path)
    return path


@pytest.mark.parametrize("line, resident, swapped, untouched, unknown, tail, zero", [
    ("24 24 12 4,3s,0,2,1,2z", 5.5, 3, 5.5, 0, 5.5, 2),
    ("0 0 64 10s", 0, 14, 0, 0, 0, 0),
    ("0 0 0 2z,0,3,5z", 0, 0, 14, 0, 14, 6.5),
    ("16 16 16 0,2,4,2,4s", 4, 4, 6, 0, 2.5, 0),
    ("16 16 0 4", 3.5, 0, 10.5, 0, 10.5, 0),
    ("64 64 0 -", 14, 0, 0, 0, 0, 0),
    ("16 16 12 4", 0, 0, 0, 14, 0, 0),  # of older tapes: so much was swapped out, but not which pages
    ("0 0 12 -", 0, 0, 0, 14, 0, 0),
    ("24 24 0 zs,,4sz,fffffffffffffffffz", 0, 0, 14, 0, 14, 14),  # broken ones are something, within the mapping
])
def test_runs_of_a_snapshot(tmp_path, line, resident, swapped, untouched, unknown, tail, zero):
    answer = recording.report(made(tmp_path / "made.mtape", line), "residency")
    (site,) = answer["sites"]
    keys = ("resident_bytes", "swapped_bytes", "untouched_bytes", "unknown_bytes", "tail_bytes", "zero_bytes")
    assert [site[key] / PAGE for key in keys] == [resident, swapped, untouched, unknown, tail, zero]
