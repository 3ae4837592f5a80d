"""Memory on NUMA nodes: tapes on which each figure is known, and this machine, whatever it has."""
import json
import os
import pathlib
import struct

import pytest

import recording
from tape_writer import TapeWriter

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

MIB, KIB = 1 << 20, 1 << 10
HEAP, FAR = 0x5500_0000_0000, 0x7F00_0000_0000
NODE_USE, SPACE, LAST, WHOLE = 58, 26, 1, 1


def part(tape, collector, number, flags, text):
    collector.extended(NODE_USE, struct.pack("<QII", tape.ticks, number, flags) + text.encode())


def made(path, *looks, mapping=256, seconds=1):
    """looks: ({node: (MiB, ms)}, [(begin, end, {node: MiB})]), one a second; a block of `far` fills the mapping at FAR."""
    tape = TapeWriter()
    collector, main = tape.collector(), tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    main.event(0, HEAP + 64, 1000, node=main.stack(("main", 16), ("near", 16)))
    main.event(0, FAR + 16, mapping * MIB - 4096, node=main.stack(("main", 32), ("far", 16)))
    for number, (sums, ranges) in enumerate(looks):
        tape.at((number + 1) * seconds * 1000)
        space = (f"{HEAP:x} {HEAP + MIB:x} rw-p - 1024 1024 0 - [heap]\n"
                 f"{FAR:x} {FAR + mapping * MIB:x} rw-p - {mapping * KIB} {mapping * KIB} 0 - \n")
        collector.extended(SPACE, struct.pack("<QII", tape.ticks, 0, WHOLE | 2) + space.encode())
        line = "0 0 " + ",".join(f"{node}:{mib * KIB}:{ms}" for node, (mib, ms) in sums.items()) + "\n"
        part(tape, collector, 0, 0 if ranges else LAST, line)
        lines = "".join(f"{begin:x} {end:x} " + ",".join(f"{node}:{mib * KIB}" for node, mib in nodes.items()) + "\n"
                        for begin, end, nodes in ranges)
        if ranges:
            part(tape, collector, 1, LAST, lines)
    tape.at((len(looks) + 1) * seconds * 1000)
    main.event(1, HEAP + 64)
    tape.clock(main)
    tape.write(path)
    tape.names()
    return path


def misplaced(tape):
    return [finding for finding in recording.report(tape, "findings")["findings"] if finding["type"] == "misplaced"]


def far(*nodes):
    return [(FAR, FAR + 256 * MIB, dict(enumerate(nodes)))]


MISPLACED = ({0: (60, 5000), 1: (200, 100)}, far(56, 200))


def test_memory_on_another_node(tmp_path):
    tape = made(tmp_path / "t", ({0: (10, 1000), 1: (0, 0)}, []), MISPLACED)
    finding, = misplaced(tape)
    assert (finding["function"], finding["bytes"]) == ("far", 200 * MIB)
    for words in ("200.0 MiB of the 256.0 MiB", "on node 1", "98 %", "node 0", "76.9 %"):
        assert words in finding["evidence"], finding["evidence"]
    assert "numactl" in finding["advice"] and finding["command"].endswith("usage")


HEALTHY = {
    "all of it is where the program runs": ({0: (256, 5000), 1: (0, 0)}, far(256)),
    "little of it is elsewhere": ({0: (240, 5000), 1: (16, 0)}, far(240, 16)),
    "a program that is small": ({0: (1, 5000), 1: (7, 0)}, far(0, 7)),
    "threads on both nodes": ({0: (60, 5000), 1: (200, 1000)}, far(56, 200)),
    "a program that hardly ran": ({0: (60, 90), 1: (200, 0)}, far(56, 200)),
    "it runs on the other node": ({0: (6, 10), 1: (250, 5000)}, far(6, 250)),
    "only small mappings": ({0: (60, 5000), 1: (200, 100)}, []),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_misplaced(tmp_path, name):
    assert misplaced(made(tmp_path / "t", HEALTHY[name])) == []


def test_the_worst_look_counts(tmp_path):
    """It was moved, or freed, later: what it was at its worst is shown."""
    tape = made(tmp_path / "t", MISPLACED, ({0: (250, 9000), 1: (6, 100)}, far(250, 6)))
    assert misplaced(tape)[0]["bytes"] == 200 * MIB


def test_reports_and_tables(tmp_path):
    tape = made(tmp_path / "t", ({0: (10, 1000), 1: (300, 50)}, []), MISPLACED)
    assert recording.report(tape, "usage")["nodes"] == [
        {"node": 0, "bytes": 60 * MIB, "bytes_max": 60 * MIB, "cpu_ns": 5_000_000_000},
        {"node": 1, "bytes": 200 * MIB, "bytes_max": 300 * MIB, "cpu_ns": 100_000_000}]
    later = recording.report(tape, "usage", "--from", "1500ms")["nodes"]
    assert [(node["bytes_max"], node["cpu_ns"]) for node in later] == [(60 * MIB, 4_000_000_000), (200 * MIB, 50_000_000)]
    text = recording.run([recording.memtape(), "report", tape, "usage"]).stdout.decode()
    assert "NUMA nodes" in text and "200.0 MiB, at most 300.0 MiB; 100 ms of processor time" in text
    mappings = {row["address"]: row["nodes"] for row in recording.report(tape, "mappings")["mappings"]}
    assert mappings[f"0x{FAR:x}"] == [{"node": 0, "bytes": 56 * MIB}, {"node": 1, "bytes": 200 * MIB}]
    assert mappings[f"0x{HEAP:x}"] == []
    done = recording.run([recording.memtape(), "sql", tape, "SELECT ns, node, bytes, cpu_ns FROM nodes WHERE node = 1", "--json"])
    rows = json.loads(done.stdout)
    assert [tuple(row.values()) for row in rows] == [(10**9, 1, 300 * MIB, 50_000_000), (2 * 10**9, 1, 200 * MIB, 100_000_000)]


def test_parts_of_a_mapping_are_added_up(tmp_path):
    half = FAR + 128 * MIB
    ranges = [(HEAP, HEAP + MIB, {1: 1}), (FAR, half, {0: 28, 1: 100}), (half, FAR + 256 * MIB, {1: 100})]
    mappings = recording.report(made(tmp_path / "t", (MISPLACED[0], ranges)), "mappings")["mappings"]
    assert {row["address"]: [(node["node"], node["bytes"]) for node in row["nodes"]] for row in mappings} == {
        f"0x{HEAP:x}": [(1, MIB)], f"0x{FAR:x}": [(0, 28 * MIB), (1, 200 * MIB)]}


RUBBISH = {
    "no look is whole": [(0, 0, "0 0 0:1024:10,1:99999:0\n")],
    "a part is missing": [(0, 0, "0 0 0:1024:10,1:99999:0\n"), (2, LAST, "")],
    "not from the beginning": [(1, LAST, "0 0 0:1024:10,1:99999:0\n")],
    "no sums": [(0, LAST, "x\n")],
    "cut": [(0, LAST, "0 0 0:1024:10,1:\n")],
}


@pytest.mark.parametrize("name", RUBBISH)
def test_what_is_damaged_says_nothing(tmp_path, name):
    tape = TapeWriter()
    collector, main = tape.collector(), tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    tape.at(1000)
    for number, flags, text in RUBBISH[name]:
        part(tape, collector, number, flags, text)
    tape.at(2000)
    main.event(0, HEAP, 100)
    tape.write(tmp_path / "t")
    assert recording.report(tmp_path / "t", "usage")["nodes"] == []
    assert misplaced(tmp_path / "t") == []


def test_lines_of_rubbish_are_left_out(tmp_path):
    ranges = far(56, 200) + [(FAR + 256 * MIB, FAR, {1: 50}), (0, 0, {1: 50})]
    tape = made(tmp_path / "t", (MISPLACED[0], ranges))
    assert [finding["bytes"] for finding in misplaced(tape)] == [200 * MIB]


@pytest.mark.parametrize("words", [["anonymise"], ["strip", "--min-lifetime", "1ns"], ["repack"]], ids=lambda words: words[0])
def test_rewritten_tapes_keep_it(tmp_path, words):
    tape = made(tmp_path / "t", MISPLACED)
    done = recording.run([recording.memtape(), words[0], tape, "-o", tmp_path / "again", *words[1:]])
    assert done.returncode == 0, done.stderr
    assert recording.report(tmp_path / "again", "usage")["nodes"] == recording.report(tape, "usage")["nodes"]
    assert [finding["bytes"] for finding in misplaced(tmp_path / "again")] == [200 * MIB]


def test_this_machine(tmp_path):
    """With one node nothing is looked at; with several the memory is on them."""
    online = pathlib.Path("/sys/devices/system/node/online")
    program = "x = bytearray(64 << 20); sum(range(1000000)); input()"
    done = recording.run_recorded(["/usr/bin/python3", "-c", program], tmp_path / "t", stdin=b"\n")
    assert done.returncode == 0, done.stderr
    nodes = recording.report(tmp_path / "t", "usage")["nodes"]
    if not online.exists() or set(online.read_text()) <= set("0123456789\n"):
        assert nodes == []
    else:
        assert {node["node"] for node in nodes} <= set(range(os.cpu_count() * 64))
