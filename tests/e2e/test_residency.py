"""`memtape report TAPE residency`: what of the requested memory is resident."""
import subprocess

import pytest

import recording

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
    for key in ("blocks", "bytes", "resident_bytes", "untouched_bytes", "tail_bytes", "unknown_bytes"):
        assert answer[key] == sum(site[key] for site in answer["sites"])
    for site in answer["sites"]:
        assert site["bytes"] == site["resident_bytes"] + site["untouched_bytes"] + site["unknown_bytes"]
        assert site["tail_bytes"] <= site["untouched_bytes"]


def test_a_filter_and_a_moment_choose(told):
    tape, _, answer = told
    only = recording.report(tape, "residency", "--filter", "size = 8388608")
    assert [site["function"] for site in only["sites"]] == ["half"]
    late = recording.report(tape, "residency", "--at", "end")
    assert late["time_ns"] >= answer["time_ns"]


def test_without_a_snapshot_all_is_unknown(tmp_path):
    (tmp_path / "sums.folded").write_text("main;take 1000\nmain;load 4096\n")
    recording.run([recording.memtape(), "convert", "-q", tmp_path / "sums.folded", "-o", tmp_path / "made.mtape"])
    answer = recording.report(tmp_path / "made.mtape", "residency")
    assert answer["time_ns"] is None and answer["bytes"] == answer["unknown_bytes"] == 5096
    assert answer["resident_bytes"] == answer["untouched_bytes"] == 0
