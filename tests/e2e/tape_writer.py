"""Writes small raw tapes by hand, from the format's description: every number is known.

Code lies outside of all modules and gets its names from /tmp/perf-PID.map, as that of JIT compilers
does, so that reports look the same on every machine.
"""

import os
import pathlib
import struct

from tape_reader import CHUNK, CHUNK_MAGIC, FIRST, HEADER, NODE, ROOT, SIZELESS, TRUNCATED

HEADER_BYTES, CHUNK_BYTES = 4096, 1 << 16
PID = 5_000_000 + os.getpid() % 4_000_000  # no kernel gives such numbers; tests run side by side
START_NS = 1_700_000_000 * 10**9
ALLOC_STACKS, FREE_STACKS = 2, 1
MONOTONIC, RAW, SEALED = 2, 1, 2
FUNCTION_BYTES = 0x1000


class Stream:
    def __init__(self, tape, number, tid, name):
        self.tape, self.number = tape, number
        self.records, self.nodes, self.events = bytearray(), [], 0
        self.ticks = self.begin = tape.start
        if number > 0:  # not the collector's
            self.extended(2, struct.pack("<IIQ", tid, 0, 0) + name.encode() + b"\0")

    def extended(self, kind, payload):
        self.records += struct.pack("<HHIQ", 63 | kind << 6, 0, len(payload), self.tape.ticks)
        self.records += payload

    def stack(self, *functions, parent=ROOT):
        """The node of "called from functions", the outermost first; (name, offset) or pc."""
        for function in functions:
            pc = function if isinstance(function, int) else self.tape.pc(*function)
            node = (parent, pc & 0xFFFFFFFF, pc >> 32)
            if node not in self.nodes:
                self.nodes.append(node)
            parent = FIRST + self.nodes.index(node)
        return parent

    def event(self, fn, address, size=0, usable=None, node=ROOT):
        """At the tape's time; all fields at full length."""
        usable = size if usable is None else usable
        sizeless = fn in SIZELESS
        control = fn | 3 << 6 | 3 << 8 | 3 << 14 | (0 if sizeless else 3 << 10 | 3 << 12)
        self.records += struct.pack("<HQQ", control, self.tape.ticks - self.ticks, address)
        if not sizeless:
            self.records += struct.pack("<QQ", size, (usable - size) & (1 << 64) - 1)
        self.records += struct.pack("<I", node)
        self.ticks = self.tape.ticks
        self.events += 1

    def chunk(self):
        head = CHUNK.pack(CHUNK_MAGIC, CHUNK.size, 0, 0, SEALED, self.number, 0, len(self.records),
                          len(self.nodes), FIRST, self.begin, self.events, 0, 0, 0)
        nodes = b"".join(NODE.pack(*node) for node in reversed(self.nodes))
        gap = CHUNK_BYTES - len(head) - len(self.records) - len(nodes)
        assert gap >= 0
        return head + bytes(self.records) + bytes(gap) + nodes


SYSTEM = ("memory", "available", "swap", "swap_free", "swapped_in", "swapped_out", "major_faults", "oom_kills", "some_avg10",
          "full_avg10", "some_us", "full_us", "cgroup", "cgroup_inactive", "cgroup_limit", "cgroup_high", "cgroup_limit_hits",
          "cgroup_high_hits", "cgroup_ooms", "cgroup_oom_kills", "cgroup_some_avg10", "cgroup_full_avg10", "cgroup_some_us",
          "cgroup_full_us")


class TapeWriter:
    def __init__(self):
        self.start = self.ticks = 10**9
        self.streams, self.functions = [], []

    def at(self, milliseconds):
        self.ticks = self.start + int(milliseconds * 10**6)

    def pc(self, function, offset=0x10):
        """A return address in the function."""
        if function not in self.functions:
            self.functions.append(function)
        return (self.functions.index(function) + 1) * FUNCTION_BYTES + offset + 1

    def stream(self, tid, name):
        self.streams.append(Stream(self, 1 + sum(stream.number > 0 for stream in self.streams), tid, name))
        return self.streams[-1]

    def collector(self):
        self.streams.append(Stream(self, 0, 0, ""))
        return self.streams[-1]

    def process(self, stream, exe, *argv):
        texts = b"".join(text.encode() + b"\0" for text in (exe, "/home/user", *argv))
        stream.extended(1, struct.pack("<IIII", PID, 1, len(argv), 4096) + texts)

    def clock(self, stream):
        elapsed = self.ticks - self.start
        stream.extended(5, struct.pack("<QQQ", self.ticks, self.ticks, START_NS + elapsed))

    def module(self, stream, number, path, begin, end, build_id):
        stream.extended(6, struct.pack("<IIQQQ", number, len(build_id), begin, begin, end) +
                        build_id + path.encode() + b"\0")

    def usage(self, stream, rss, cgroup_limit=(1 << 64) - 1):
        unknown = (1 << 64) - 1
        stream.extended(16, struct.pack("<9Q", rss, *[unknown] * 5, cgroup_limit, *[unknown] * 2))

    def system(self, stream, **values):
        """A sample of the system: what is not named is not known."""
        assert set(values) <= set(SYSTEM)
        stream.extended(53, struct.pack("<24Q", *[values.get(name, (1 << 64) - 1) for name in SYSTEM]))

    def cgroup(self, stream, name, version=2):
        stream.extended(54, struct.pack("<II", version, 0) + name.encode() + b"\0")

    def write(self, path):
        head = HEADER.pack(b"MEMTAPE\n", 1, HEADER_BYTES, RAW, CHUNK_BYTES,
                           ALLOC_STACKS | FREE_STACKS, 62, 8, MONOTONIC, 0, PID, 1, self.start,
                           self.start, START_NS, bytes(range(16)), bytes(16))
        data = head.ljust(HEADER_BYTES, b"\0") + b"".join(s.chunk() for s in self.streams)
        pathlib.Path(path).write_bytes(data)

    def names(self):
        """The map of JIT code; the caller removes it."""
        path = pathlib.Path(f"/tmp/perf-{PID}.map")
        lines = [f"{(i + 1) * FUNCTION_BYTES:x} {FUNCTION_BYTES:x} {name}\n"
                 for i, name in enumerate(self.functions)]
        path.write_text("".join(lines), errors="surrogateescape")
        os.utime(path)
        return path


__all__ = ["PID", "TRUNCATED", "TapeWriter"]
