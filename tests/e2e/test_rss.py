"""RSS, the address space and the heap's pages: on a tape on which everything is known, and recorded.

Texts are compared with tests/golden/; MEMTAPE_BLESS=1 writes them anew. Look at the difference.
"""

import csv
import io
import json
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import time

import pytest

import recording
from tape_writer import PID, TapeWriter

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
MALLOC, FREE = 0, 1
MMAP, MUNMAP, MREMAP, MPROTECT, BRK, MALLOPT, TRIM, MARK, SPACE = 8, 9, 10, 11, 13, 14, 15, 24, 26
WHOLE, LAST = 1, 2
PAGE, KIB = 4096, 1024
ANONYMOUS, PRIVATE, FIXED = 0x20, 2, 0x10
BASE, MOVED, HEAP = 0x7F0000000000, 0x7F0000200000, 0x100000
BANDS = ["live", "slack", "untouched", "free", "program", "unseen", "file", "shared", "module",
         "stack", "memtape", "kernel", "remainder"]
REPORTS = ["rss", "fragmentation", "space", "mappings", "mallopts", "marks"]

IMAGE = f"""100000 110000 rw-p - 32 32 0 6,2,2 [heap]
400000 402000 r-xp - 8 0 0 - /usr/bin/heap
{BASE:x} {BASE + 2 * PAGE:x} r--p - 8 8 0 -
{BASE + 2 * PAGE:x} {BASE + 4 * PAGE:x} rw-p - 0 0 0 -
{BASE + 8 * PAGE:x} {BASE + 12 * PAGE:x} rw-p - 16 16 0 -
{BASE + 12 * PAGE:x} {BASE + 14 * PAGE:x} r--p - 4 0 0 - /usr/share/data file
{BASE + 14 * PAGE:x} {BASE + 16 * PAGE:x} rw-p - 0 0 0 -
{MOVED:x} {MOVED + 8 * PAGE:x} rw-p - 12 12 0 -
7f1000000000 7f1000002000 rw-p - 4 4 0 -
7f1000100000 7f1000900000 rw-p n 8 8 0 0,7fe,2
7f1000a00000 7f1000b00000 rw-s - 8 0 0 - /memfd:memtape-spool (deleted)
7ffd00000000 7ffd00021000 rw-p g 16 16 0 - [stack]
7ffd00100000 7ffd00102000 r-xp - 4 0 0 - [vdso]
""".replace("2\n", "2 \n").replace("-\n", "- \n")


def space(stream, flags, text, part=0):
    stream.extended(SPACE, struct.pack("<QII", stream.tape.ticks, part, flags) + text.encode())


def mapping(stream, kind, address, size=0, old=0, old_size=0, offset=0, prot=3, flags=0, fd=-1,
            node=0):
    stream.extended(kind, struct.pack("<QQQQQiiiI", address, size, old, old_size, offset, prot,
                                      flags, fd, node))


def write_calls(tape, main, stacks):
    """What the program did to its address space itself."""
    tape.at(1)
    main.extended(MALLOPT, struct.pack("<qqqII", -3, 65536, 1, stacks["tune"], 0))
    mapping(main, BRK, HEAP + 16 * PAGE, old=HEAP, node=stacks["tune"])
    tape.at(2)
    mapping(main, MMAP, BASE, 16 * PAGE, flags=PRIVATE | ANONYMOUS, node=stacks["cache"])
    mapping(main, MMAP, (1 << 64) - 1, 1 << 60, flags=PRIVATE | ANONYMOUS, node=stacks["cache"])
    tape.at(3)
    mapping(main, MPROTECT, BASE, 2 * PAGE, prot=1, node=stacks["cache"])
    mapping(main, MUNMAP, 1, PAGE, node=stacks["cache"])  # refused: no page begins there
    tape.at(4)
    mapping(main, MUNMAP, BASE + 4 * PAGE, 4 * PAGE - 1, node=stacks["cache"])
    tape.at(5)
    mapping(main, MMAP, BASE + 12 * PAGE, 2 * PAGE, offset=0x2000, prot=1, flags=PRIVATE | FIXED,
            fd=3, node=stacks["load"])
    mapping(main, MMAP, MOVED - 0x100000, 4 * PAGE, flags=PRIVATE | ANONYMOUS, node=stacks["load"])
    tape.at(6)
    mapping(main, MREMAP, MOVED, 8 * PAGE, old=MOVED - 0x100000, old_size=4 * PAGE, flags=1,
            node=stacks["load"])


def write_heap(path, with_snapshots=True, text=IMAGE):
    """A heap of sixteen pages of which eight are resident; see the test of the numbers."""
    tape = TapeWriter()
    main, worker = tape.stream(100, "heap"), tape.stream(101, "worker")
    tape.process(main, "/usr/bin/heap", "heap")
    tape.clock(main)
    worker.extended(2, struct.pack("<IIQ", 101, 0, 0x7F10008FF6C0) + b"worker\0")
    tape.module(main, 1, "/usr/bin/heap", 0x400000, 0x402000, bytes(20))
    begin = ("_start",), ("main",)
    stacks = {name: main.stack(*begin, (name,)) for name in ("tune", "cache", "load", "blocks",
                                                           "rest")}
    write_calls(tape, main, stacks)
    tape.at(10)
    for address, size, usable, site in [
            (HEAP + 0x10, 1000, 1000, "blocks"), (HEAP + 0x1000, 4096, 4096, "blocks"),
            (HEAP + 0x2800, 2000, 2048, "blocks"), (HEAP + 0x3000, 3000, 3000, "rest"),
            (HEAP + 0x4000, 0x4000, 0x4000, "rest"), (HEAP + 0x8000, 500, 504, "rest")]:
        main.event(MALLOC, address, size, usable, stacks[site])
    tape.at(40)
    main.extended(MARK, struct.pack("<II", 0, stacks["load"]) + b"all is there\0")
    tape.at(50)
    if with_snapshots:
        cut = text.index("\n", len(text) // 2) + 1
        space(main, WHOLE, text[:cut])
        space(main, WHOLE | LAST, text[cut:], part=1)
    tape.usage(main, 116 * KIB)
    tape.at(60)
    main.event(FREE, HEAP + 0x8000, node=stacks["rest"])
    tape.at(80)  # between two pictures: four pages more
    tape.usage(main, 132 * KIB)
    tape.at(90)
    mapping(main, MUNMAP, MOVED, 8 * PAGE, node=stacks["load"])
    tape.at(95)
    main.extended(TRIM, struct.pack("<qqqII", 0, 0, 1, stacks["tune"], 0))
    if with_snapshots:
        space(main, LAST, f"{MOVED:x} {MOVED + 8 * PAGE:x} -\n"
                          "100000 110000 rw-p - 24 24 0 6,a [heap]\n")
    tape.usage(main, 92 * KIB)
    tape.at(100)
    tape.clock(main)
    main.extended(23, b"\1\0\0\0\0\0\0\0")
    tape.write(path)
    return tape


@pytest.fixture
def heap(tmp_path):
    names = write_heap(tmp_path / "heap.mtape").names()
    write_heap(tmp_path / "old.mtape", with_snapshots=False)
    yield tmp_path
    names.unlink()


def run(folder, *words, code=0):
    done = recording.run([recording.memtape(), *words], cwd=folder,
                         env=recording.clean_env(TZ="UTC"))
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return done.stdout.decode()


def report(folder, *words, tape="heap.mtape"):
    return json.loads(run(folder, "report", tape, *words, "--json"))


def bands(sample):
    assert sum(sample[band] for band in BANDS) == sample["rss_bytes"]
    return {band: sample[band] for band in BANDS if sample[band]}


@pytest.mark.parametrize("face", ["txt", "json", "csv"])
@pytest.mark.parametrize("name", REPORTS)
def test_every_answer_is_as_it_was(heap, name, face):
    how = [] if face == "txt" else [f"--{face}"]
    text = run(heap, "report", "heap.mtape", name, *how).replace(str(PID), "5000000")
    golden = GOLDEN / f"{name}.{face}"
    if os.environ.get("MEMTAPE_BLESS"):
        golden.write_text(text)
    assert text == golden.read_text()
    if face == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) > 1 and {len(row) for row in rows} == {len(rows[0])}


def test_bands_of_a_measured_sample_are_those_of_the_tape(heap):
    samples = report(heap, "rss")["samples"]
    assert [sample["measured"] for sample in samples] == [True, False, True]
    # pages 0 to 5, 8 and 9 are resident; blocks lie in 0, 1, 2, 3, 4 to 7 and 8
    assert bands(samples[0]) == {
        "live": 26980, "slack": 52, "untouched": -2 * PAGE,
        "free": 8 * PAGE - (1000 + 4096 + 2048 + 3000 + 2 * PAGE + 504),
        "program": 36 * KIB, "unseen": 4 * KIB, "file": 4 * KIB, "module": 8 * KIB,
        "stack": (16 + 8) * KIB, "memtape": 8 * KIB, "kernel": 4 * KIB, "remainder": -4 * KIB}
    assert bands(samples[2])["program"] == 24 * KIB
    assert bands(samples[2])["free"] == 6 * PAGE - (1000 + 4096 + 2048 + 3000 + 2 * PAGE)


def test_between_two_pictures_the_heap_is_what_grew(heap):
    between = report(heap, "rss")["samples"][1]
    assert between["live"] == 26480 and between["remainder"] == 0
    assert 24 * KIB < between["program"] < 36 * KIB
    bands(between)


def test_without_a_picture_the_rest_is_remainder(heap):
    for sample in report(heap, "rss", tape="old.mtape")["samples"]:
        assert set(bands(sample)) == {"live", "slack", "remainder"}


def test_pages_and_who_keeps_them(heap):
    answer = report(heap, "fragmentation", "--at", "50ms")
    assert answer["resident_bytes"] == 8 * PAGE and answer["live_bytes"] == 26980
    assert answer["full_pages"] == 3 and answer["free_pages"] == 1 == answer["tail_pages"]
    assert answer["partial_pages"] == 4 == answer["pinned_pages"] == answer["partial_blocks"]
    assert answer["unused_bytes"] == 3096 + 2048 + 1096 + 3592 == answer["pinned_bytes"]
    sites = {site["function"]: site for site in answer["sites"]}
    assert sites["blocks"]["unused_bytes"] == 3096 + 2048
    assert sites["rest"]["unused_bytes"] == 1096 + 3592
    assert sites["blocks"]["slack_bytes"] == 48 and sites["rest"]["slack_bytes"] == 4
    assert sum(size["slack_bytes"] for size in answer["sizes"]) == answer["slack_bytes"] == 52
    assert sum(size["live_count"] for size in answer["sizes"]) == 6
    most = {sort: report(heap, "fragmentation", "--at", "50ms", "--sort", sort)["sites"][0]
            for sort in ("unused", "slack", "live")}
    assert most["unused"]["function"] == "blocks" == most["slack"]["function"]
    assert most["live"]["function"] == "rest"
    later = report(heap, "fragmentation", "--at", "end")
    assert later["live_count"] == 5 and later["resident_bytes"] == 6 * PAGE
    assert report(heap, "fragmentation", tape="old.mtape")["partial_pages"] == 3


def test_mappings_are_cut_covered_moved_and_protected(heap):
    rows = {row["address"]: row for row in report(heap, "mappings")["mappings"]}
    cache = rows[hex(BASE)]
    assert cache["bytes"] == 16 * PAGE and cache["mapped_bytes"] == 10 * PAGE
    assert (cache["cuts"], cache["protects"], cache["moves"]) == (2, 1, 0)
    assert cache["stack"] == ["cache", "main"] and cache["kind"] == "program"
    assert cache["from_ns"] == 2 * 10**6 and cache["to_ns"] is None
    assert cache["resident_bytes_max"] == 24 * KIB
    assert cache["usage"] == [{"ns": 50 * 10**6, "mapped_bytes": 10 * PAGE,
                               "resident_bytes": 24 * KIB}]
    covering = rows[hex(BASE + 12 * PAGE)]
    assert covering["name"] == "/usr/share/data file" and covering["kind"] == "file"
    assert covering["offset"] == 0x2000 and covering["fd"] == 3
    moved = rows[hex(MOVED - 0x100000)]
    assert moved["moves"] == 1 and moved["mapped_bytes_max"] == 8 * PAGE
    assert moved["to_ns"] == 90 * 10**6 and moved["mapped_bytes"] == 0
    assert [(use["ns"] // 10**6, use["mapped_bytes"], use["resident_bytes"])
            for use in moved["usage"]] == [(50, 8 * PAGE, 12 * KIB), (95, 0, 0)]
    assert rows[hex(HEAP)]["kind"] == "heap" and rows[hex(HEAP)]["mapped_bytes"] == 16 * PAGE
    kinds = {row["kind"] for row in rows.values()}
    assert kinds == {"heap", "program", "file", "module", "unseen", "stack", "memtape", "kernel"}
    assert sum(row["seen"] for row in rows.values()) == 6
    assert hex(MOVED - 0x100000) not in {
        row["address"] for row in report(heap, "mappings", "--at", "95ms")["mappings"]}


def test_settings_and_marks(heap):
    settings = report(heap, "mallopts")["mallopts"]
    assert [(row["function"], row["parameter"], row["value"], row["result"]) for row in settings] \
        == [("mallopt", "M_MMAP_THRESHOLD", 65536, 1), ("malloc_trim", "pad", 0, 1)]
    (mark,) = report(heap, "marks")["marks"]
    assert mark["name"] == "all is there" and mark["live_bytes"] == 26980


def by_times(heap, name, *words):
    answer = report(heap, name, *words)
    return answer[name], answer["quality"]


@pytest.mark.parametrize("name", ["mallopts", "marks", "mappings"])
def test_times_choose_rows_that_have_them(heap, name):
    every, quality = by_times(heap, name)
    assert every and "from" not in quality
    first, last = ("ns", "ns") if name != "mappings" else ("from_ns", "to_ns")
    ends = {row[key] for row in every for key in (first, last) if row[key] is not None}
    for begin in sorted({end + more for end in ends for more in (-1, 0, 1) if end + more >= 0}):
        gone = begin if name == "mappings" else begin - 1  # what ends at a moment has ended then
        later = [row for row in every if row[last] is None or row[last] > gone]
        assert by_times(heap, name, "--from", f"{begin}ns")[0] == later
        until = [row for row in every if row[first] <= begin]
        found, quality = by_times(heap, name, "--until", f"{begin}ns")
        assert found == until
        assert (quality["from"], quality["until"]) == (None, f"{begin}ns")
        assert by_times(heap, name, "--from", f"{begin}ns", "--until", f"{begin}ns")[0] == [
            row for row in later if row in until]
    run(heap, "report", "heap.mtape", name, "--from", "75%", "--until", "25%", code=2)
    assert "part of the tape, from 99ms until end" in run(
        heap, "report", "heap.mtape", name, "--from", "99ms")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("option", [["--filter", "size > 1"], ["--from", "1ms"], ["--until", "1ms"]])
def test_what_a_report_cannot_choose_is_refused_with_what_to_do_instead(heap, name, option):
    has_times = name in ("mappings", "mallopts", "marks") and option[0] != "--filter"
    done = recording.run([recording.memtape(), "report", heap / "heap.mtape", name, *option])
    assert done.returncode == (0 if has_times else 2)
    assert has_times or f"has no {option[0]}; --".encode() in done.stderr


def test_the_map_adds_up(heap):
    answer = report(heap, "space", "--at", "50ms")
    (region,) = answer["regions"]
    assert region["cell_bytes"] == PAGE and len(region["live"]) == 16
    assert region["live"][:10] == [1000, 4096, 2048, 3000, 4096, 4096, 4096, 4096, 504, 0]
    assert region["resident"][:10] == [PAGE] * 6 + [0, 0] + [PAGE] * 2
    assert sum(part["resident_bytes"] for part in answer["extents"]) == 120 * KIB


@pytest.mark.parametrize("seed", range(8))
def test_damaged_pictures_are_survived(tmp_path, seed):
    chance = random.Random(seed)
    for _ in range(12):
        text = list(IMAGE)
        for _ in range(chance.randrange(1, 60)):
            text[chance.randrange(len(text))] = chance.choice("0123456789abcdef -\n,rwxp/[")
        write_heap(tmp_path / "heap.mtape", text="".join(text))
        for name in ("rss", "fragmentation", "space", "mappings"):
            answer = report(tmp_path, name)
            for sample in answer.get("samples", []):
                bands(sample)


class Nonsense:
    """Calls, blocks and pictures that no program and no kernel makes."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.tape = TapeWriter()
        self.main = self.tape.stream(100, "x")
        self.tape.process(self.main, "/x", "x")
        self.tape.clock(self.main)
        self.node = self.main.stack(("main",), ("f",))
        self.live = []

    def address(self):
        pick = self.chance
        return pick.choice([BASE + pick.randrange(64) * PAGE, HEAP + pick.randrange(32) * PAGE,
                            pick.randrange(1 << 35) * PAGE, pick.getrandbits(64),
                            (1 << 64) - PAGE, 0, 1])

    def size(self):
        pick = self.chance
        return pick.choice([pick.randrange(1, 20) * PAGE, pick.randrange(1, 1 << 20), 1 << 40,
                            1 << 46, (1 << 64) - 1, 0, pick.getrandbits(63)])

    def line(self):
        pick = self.chance
        begin, end = self.address(), self.address()
        if pick.random() < 0.5:
            begin = BASE + pick.randrange(64) * PAGE
            end = begin + pick.randrange(1, 9) * PAGE
        perms, marks = pick.choice(["rw-p", "---p", "r--s"]), pick.choice(["-", "nd", "g"])
        runs = pick.choice(["-", "1,1", "0,2", "ffffffffffffffff,1"])
        return (f"{begin:x} {end:x} {perms} {marks} 4 4 0 {runs} "
                f"{pick.choice(['', '[heap]', '/a', '[stack]'])}\n")

    def step(self):
        pick, main = self.chance, self.main
        kind = pick.randrange(9)
        if kind < 5:
            mapping(main, [MMAP, MUNMAP, MREMAP, MPROTECT, BRK][kind], self.address(), self.size(),
                    old=self.address(), old_size=self.size(), prot=pick.randrange(8),
                    flags=pick.choice([0x22, 0x32, 1, 2, 4, 0x21]), fd=pick.choice([-1, 3]),
                    node=self.node)
        elif kind < 7:
            self.live.append((self.address() + pick.randrange(PAGE)) % (1 << 64))
            size = pick.choice([self.size() % (1 << 63), pick.randrange(1, 9000)])
            main.event(MALLOC, self.live[-1], size, size + pick.randrange(64), self.node)
        elif kind == 7 and self.live:
            main.event(FREE, self.live.pop(pick.randrange(len(self.live))), node=self.node)
        else:
            space(main, pick.choice([0, 1, 2, 3, 3]),
                  "".join(self.line() for _ in range(pick.randrange(12))),
                  part=pick.choice([0, 0, 0, 1]))
            self.tape.usage(main, pick.randrange(1 << 30))

    def write(self, path):
        for i in range(120):
            self.tape.at(i / 2 + 1)
            self.step()
        self.tape.at(100)
        self.tape.clock(self.main)
        self.tape.write(path)


@pytest.mark.parametrize("seed", range(recording.times(100, 12)))
def test_nonsense_adds_up_too(tmp_path, seed):
    Nonsense(seed).write(tmp_path / "heap.mtape")
    for words in (["rss"], ["fragmentation"], ["fragmentation", "--at", "30ms"], ["space"],
                  ["mappings"], ["mappings", "--at", "50ms"], ["marks"]):
        for sample in report(tmp_path, *words).get("samples", []):
            bands(sample)


@pytest.mark.parametrize("name", ["fragmentation", "space", "mappings"])
def test_a_moment_that_is_none_is_refused(heap, name):
    run(heap, "report", "heap.mtape", name, "--at", "noon", code=2)


# --- recorded ---------------------------------------------------------------------------------


def check_recorded(tape):
    answer = recording.report(tape, "rss")
    measured = [sample for sample in answer["samples"] if sample["measured"]]
    assert answer["snapshots"] > 0 and measured
    for sample in answer["samples"]:
        bands(sample)
    for sample in measured:
        assert sample["free"] >= 0 and sample["untouched"] <= 0
    # what moved while it was counted; a program that ends just then moves a lot
    remainders = sorted(abs(sample["remainder"]) for sample in measured)
    assert remainders[len(remainders) // 2] <= max(measured[-1]["rss_bytes"] // 10, 1 << 20)
    return answer


def test_a_heap_that_cannot_be_given_back(tape):
    done = recording.run_recorded([recording.target("fragments")], tape)
    assert done.returncode == 0
    check_recorded(tape)
    answer = recording.report(tape, "fragmentation")
    fill = next(site for site in answer["sites"] if site["function"] == "fill")
    assert fill["live_count"] == 1024 and fill["live_bytes"] == 1024 * 1000
    # one block in 64 * 1008 bytes: of every sixteen one begins in one page and ends in the next,
    # four times over; the rest of some 16,128 pages is free
    assert 1024 <= fill["pinned_pages"] <= 1400
    assert 14700 <= answer["free_pages"] <= 15200
    assert answer["live_count"] < 1100 and answer["pages_known"]
    words = recording.report(tape, "rss")["explanation"]
    assert "free memory and overhead inside the heap" in words


def test_pages_that_were_given_back_are_not_resident(tape):
    assert recording.run_recorded([recording.target("fragments"), "trim"], tape).returncode == 0
    check_recorded(tape)
    answer = recording.report(tape, "fragmentation", "--at", "end")
    assert answer["pages_known"] and answer["free_pages"] < 20
    assert 1024 <= answer["pinned_pages"] <= 1400
    assert 1024 * 4096 <= answer["resident_bytes"] <= 1500 * 4096
    (trim,) = recording.report(tape, "mallopts")["mallopts"]
    assert (trim["function"], trim["result"]) == ("malloc_trim", 1)
    before = recording.report(tape, "fragmentation")
    assert before["at_ns"] < trim["ns"] and before["free_pages"] > 14700


def test_python_maps_its_arenas_itself(tape):
    script = "x = [str(i) * 10 for i in range(300000)]; import time; time.sleep(0.3)"
    assert recording.run_recorded([recording.which("python3"), "-c", script], tape).returncode == 0
    answer = check_recorded(tape)
    peak = answer["samples"][answer["peak_sample"]]
    assert peak["program"] > 20 << 20
    largest = max(recording.report(tape, "mappings")["mappings"],
                  key=lambda row: row["resident_bytes_max"])
    assert largest["resident_bytes_max"] > 1 << 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="no redis")
def test_redis(tape, tmp_path):
    port = str(free_port())
    args = [recording.memtape(), "record", "-o", tape, "--", recording.which("redis-server"),
            "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", tmp_path]
    server = subprocess.Popen([str(arg) for arg in args], env=recording.clean_env(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        subprocess.run(["redis-benchmark", "-p", port, "-n", "20000", "-d", "500", "-r", "20000",
                        "-q", "-t", "set,lpush,del"], check=True, capture_output=True, timeout=120)
        time.sleep(0.3)
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
        server.wait(60)
    finally:
        server.kill()
        server.wait()
    check_recorded(tape)


def test_thread_stacks_are_told_from_other_memory(tape):
    script = ("import threading, time\n"
              "def work():\n"
              "    blocks = [bytes(1000) for _ in range(2000)]\n"
              "    time.sleep(0.5)\n"
              "for _ in range(3): threading.Thread(target=work).start()")
    args = [recording.which("python3"), "-c", script]
    assert recording.run_recorded(args, tape, env={"PYTHONMALLOC": "malloc"}).returncode == 0
    kinds = [row["kind"] for row in recording.report(tape, "mappings")["mappings"]]
    assert kinds.count("stack") >= 4 and kinds.count("blocks") >= 3
    check_recorded(tape)
