"""A second reader of raw tapes, written from the format's description alone.

It exists to disagree with the first: it shares no code with memtape and does everything the slow
and obvious way; only which functions there are it reads where memtape's are listed
(src/both/tape/functions.def, which lint holds against the description). Its blocks have the shape of `memtape report TAPE allocations --json`, with times
in clock ticks; functions are named by the symbol tables (nm), so there are no inlined frames.
"""

import bisect
import mmap
import os
import pathlib
import re
import struct
import subprocess
from collections import defaultdict

HEADER = struct.Struct("<8sIIIIIHHIIIIQQQ16s16s152x")
LIVE = "IIIIIIIIIIiI8QQQQ"
FLAG_LIVE_BIG = 1 << 8  # its words are in the recorder's order
CHUNK = struct.Struct("<IHBBIIIIIIQQQII")
NODE = struct.Struct("<III")
CHUNK_MAGIC = 0x4B4E4843
ROOT, TRUNCATED, NONE, FIRST = 0, 1, 2, 3
EXACT = 1 << 63
CLOCKS_APART = 1 << 14  # ticks; some microseconds

TIME_BYTES = (1, 2, 4, 8)
ADDRESS_BYTES = (0, 2, 3, 8)
SIZE_BYTES = (0, 1, 2, 8)
NODE_BYTES = (0, 2, 3, 4)

ALLOC, FREE, OUT, IN, FAIL = "alloc", "free", "out", "in", "fail"

CLASSES = {"ALLOC": ALLOC, "FREE": FREE, "REALLOC_OUT": OUT, "REALLOC_IN": IN, "REALLOC_FAIL": FAIL}
ROW = re.compile(r'^TAPE_FUNCTION\(\w+, (\d+), "([^"]+)", (\w+), \w+\)', re.MULTILINE)


def functions(text):
    """{number: (what the program calls it, kind)}"""
    found = {int(number): (word, CLASSES[kind]) for number, word, kind in ROW.findall(text)}
    assert len(found) == text.count("\nTAPE_FUNCTION("), "functions.def has lines that are not understood here"
    return found


FUNCTIONS = functions((pathlib.Path(__file__).resolve().parents[2] / "src/both/tape/functions.def").read_text())
SIZELESS = {number for number, (_, kind) in FUNCTIONS.items() if kind in (FREE, OUT)}
EXTENDED = 63
LATENCY = 62  # no function: how long the event before it took
MASK = (1 << 64) - 1

EXT_PROCESS, EXT_THREAD, EXT_THREAD_NAME, EXT_MODULE, EXT_MODULE_END = 1, 2, 3, 6, 7
EXT_EXEC, EXT_LOST, EXT_FAULT, EXT_END = 18, 20, 21, 23


class BadTape(Exception):
    pass


class Event:
    __slots__ = ("ticks", "stream", "thread", "fn", "address", "size", "usable", "node", "latency")

    def __init__(self, ticks, stream, thread, fn, address, size, usable, node):
        self.ticks, self.stream, self.thread, self.fn = ticks, stream, thread, fn
        self.address, self.size, self.usable, self.node = address, size, usable, node
        self.latency = None  # ticks of the clock, not shifted


def usable_guess(size):
    return max(24, (((size + 23) & MASK) & ~15) - 8)


def unfold(origin, folded):
    sign, length = folded & 1, folded >> 1
    length = ((length & ((1 << 55) - 1)) << 4) | (length >> 55)
    return (origin + (-length if sign else length)) & MASK


class Frames:
    def __init__(self, tape, event):
        self.tape, self.event = tape, event

    def __iter__(self):
        tape, event, node = self.tape, self.event, self.event.node
        table = tape.parent[event.stream]
        while node >= FIRST:
            if node not in table:
                raise BadTape(f"stream {event.stream} has no node {node}")
            node, pc = table[node]
            yield tape.frame(pc, event.ticks)


class Tape:
    """Everything on a raw tape: header, live, events (by time), extended, threads, modules."""

    def __init__(self, path):
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < 4096:
                raise BadTape("no header page")
            self.bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._read_header()
        self.events = []
        self.extended = []  # (ticks, stream, type, payload)
        self.parent = defaultdict(dict)  # stream -> node -> (parent, pc)
        self.damage = []
        self.threads = {}  # stream -> the thread it served last
        self._read_chunks()
        self.events.sort(key=lambda event: event.ticks)  # stable: a stream keeps its order
        self.extended.sort(key=lambda row: row[0])
        self._read_extended()
        self._symbols = {}
        self._frames = {}
        self._changes = sorted({row["until"] for row in self.modules})  # in between, an address has one meaning

    def _read_header(self):
        fields = HEADER.unpack_from(self.bytes, 0)
        (self.magic, self.version, self.header_bytes, self.kind, self.chunk_bytes, self.flags,
         self.elf_machine, self.pointer_bytes, self.clock, self.tick_shift, self.pid,
         self.parent_pid, self.start_ticks, self.start_monotonic_ns, self.start_realtime_ns,
         self.uuid, self.parent_uuid) = fields
        if self.magic != b"MEMTAPE\n" or self.version != 1 or self.kind != 1:
            raise BadTape(f"not a raw tape of version 1: {fields[:4]}")
        live = struct.unpack_from((">" if self.flags & FLAG_LIVE_BIG else "<") + LIVE, self.bytes, 256)
        self.recorder_state, self.fault_errno, self.fault = live[1], live[10], live[11]
        self.lost = live[12:20]
        self.recorder_bytes = live[20]

    def _read_chunks(self):
        chunks = []
        for offset in range(self.header_bytes, len(self.bytes) - 63, self.chunk_bytes):
            head = CHUNK.unpack_from(self.bytes, offset)
            if head[0] == CHUNK_MAGIC and head[4] != 0:
                chunks.append((head[5], head[6], offset, head))
        for stream, _, offset, head in sorted(chunks):
            self._read_nodes(stream, offset, head)
            self._read_records(stream, offset, head)

    def _read_nodes(self, stream, offset, head):
        count, first = head[8], head[9]
        end = offset + self.chunk_bytes
        table = self.parent[stream]
        for i in range(count):
            parent, low, high = NODE.unpack_from(self.bytes, end - (i + 1) * 12)
            table[first + i] = (parent, (high & 0xFFFF) << 32 | low | (high >> 31) << 63)

    def _read_records(self, stream, offset, head):
        data = self.bytes
        at = offset + head[1]
        end = at + head[7]
        ticks, address, size, nodes = head[10], 0, 0, [0, 0]
        thread = self.threads.get(stream)
        last = next((event for event in reversed(self.events) if event.stream == stream), None)
        if end > offset + self.chunk_bytes:
            self.damage.append(f"chunk at {offset} says {head[7]} bytes")
            return
        while at + 2 <= end:
            control = data[at] | data[at + 1] << 8
            fn = control & 63
            if fn == EXTENDED:
                length, when = struct.unpack_from("<IQ", data, at + 4)
                self.extended.append((when, stream, control >> 6, data[at + 16:at + 16 + length]))
                if control >> 6 == EXT_THREAD:  # a stream serves one thread after another
                    thread, = struct.unpack_from("<I", data, at + 16)
                    self.threads[stream] = thread
                at += 16 + length
                continue
            if fn == LATENCY:
                n = {1: 2, 3: 8}.get(control >> 6)
                if n is None or last is None:
                    self.damage.append(f"latency {control:#x} at {at}")
                    return
                last.latency = int.from_bytes(data[at + 2:at + 2 + n], "little")
                at += 2 + n
                last = None
                continue
            if fn not in FUNCTIONS:
                self.damage.append(f"function {fn} at {at}")
                return
            at += 2
            sizeless = fn in SIZELESS
            n = TIME_BYTES[control >> 6 & 3]
            ticks = (ticks + int.from_bytes(data[at:at + n], "little")) & MASK
            at += n
            code = control >> 8 & 3
            n = ADDRESS_BYTES[code]
            value = int.from_bytes(data[at:at + n], "little")
            at += n
            address = value if code == 3 else unfold(address, value)
            this_size = usable = 0
            if not sizeless:
                n = SIZE_BYTES[control >> 10 & 3]
                if n:
                    size = int.from_bytes(data[at:at + n], "little")
                    at += n
                this_size = size
                n = SIZE_BYTES[control >> 12 & 3]
                usable = usable_guess(size)
                if n:
                    usable = (size + int.from_bytes(data[at:at + n], "little")) & MASK
                    at += n
            n = NODE_BYTES[control >> 14]
            if n:
                nodes[sizeless] = int.from_bytes(data[at:at + n], "little")
                at += n
            last = Event(ticks, stream, thread, fn, address, this_size, usable, nodes[sizeless])
            self.events.append(last)
        if at != end:
            self.damage.append(f"record over the end at {at}")

    def _read_extended(self):
        self.names = {}  # tid -> name
        self.modules = []  # {id, bias, begin, end, path, from, until}
        self.end = None
        self.fault_text = ""
        self.process = None
        for ticks, stream, kind, payload in self.extended:
            if kind in (EXT_THREAD, EXT_THREAD_NAME):
                tid, _ = struct.unpack_from("<II", payload)
                name = payload[8:].split(b"\0")[0].decode(errors="replace")
                if name:
                    self.names[tid] = name
            elif kind == EXT_MODULE:
                number, build, bias, begin, end = struct.unpack_from("<IIQQQ", payload)
                path = payload[32 + build:].split(b"\0")[0].decode(errors="replace")
                self.modules.append({"id": number, "bias": bias, "begin": begin, "end": end,
                                     "path": path, "from": ticks, "until": MASK})
            elif kind == EXT_MODULE_END:
                number, = struct.unpack_from("<I", payload)
                for module in self.modules:
                    if module["id"] == number and module["until"] == MASK:
                        module["until"] = ticks
            elif kind == EXT_FAULT:
                self.fault_text = payload[8:].split(b"\0")[0].decode(errors="replace")
            elif kind == EXT_END:
                self.end = struct.unpack_from("<Ii", payload)
            elif kind == EXT_PROCESS:
                self.process = payload

    def lost_events(self):
        """Events that are missing; what is said by lost[4] (cut stacks) and later is no loss."""
        return sum(self.lost[:4]) + self.lost[5]

    def selfcheck(self):
        """(stacks checked, disagreements) of a run with MEMTAPE_SELFCHECK=1."""
        return self.lost[6], self.lost[7]

    def stack(self, stream, node):
        """(pcs innermost first, complete). A pc with EXACT set is no return address."""
        table = self.parent[stream]
        pcs = []
        while node >= FIRST:
            if node not in table:
                raise BadTape(f"stream {stream} has no node {node}")
            parent, pc = table[node]
            pcs.append(pc)
            node = parent
        return pcs, node == ROOT

    # -- names -------------------------------------------------------------------------------

    def module_of(self, pc, ticks):
        """Who ends first after that time: the beginning may be noticed, and told, after use."""
        best = None
        for module in self.modules:
            if module["begin"] <= pc < module["end"] and ticks < module["until"]:
                if best is None or module["until"] < best["until"]:
                    best = module
        return best

    def _table(self, path):
        if path not in self._symbols:
            rows = []
            for dynamic in ([], ["-D"]):
                done = subprocess.run(["nm", *dynamic, "-C", "--defined-only", "-n", path],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for line in done.stdout.splitlines():
                    parts = line.split(" ", 2)
                    if len(parts) == 3 and parts[1] in "tTwWiuV":
                        rows.append((int(parts[0], 16), parts[2]))
            rows.sort()
            self._symbols[path] = ([row[0] for row in rows], [row[1] for row in rows])
        return self._symbols[path]

    def frame(self, pc, ticks):
        """{function, module, pc}; the address means what it meant at that time."""
        key = pc, bisect.bisect_right(self._changes, ticks)
        if key not in self._frames:
            self._frames[key] = self._name(pc, ticks)
        return self._frames[key]

    def _name(self, pc, ticks):
        exact, pc = pc & EXACT, pc & ~EXACT
        place = pc if exact else pc - 1
        module = self.module_of(place, ticks)
        if not module:
            return {"function": None, "module": None, "pc": pc}
        addresses, names = self._table(module["path"])
        i = bisect.bisect_right(addresses, place - module["bias"]) - 1
        return {"function": names[i] if i >= 0 else None, "module": module["path"], "pc": pc}

    def frames(self, event):
        """Iterable, innermost first. Frames are named when they are asked for: the stacks of a
        recursion ten thousand deep are too long to be all written out."""
        return Frames(self, event)

    # -- what happened -----------------------------------------------------------------------

    def replay(self):
        """Blocks in order of allocation, and what was odd: frees of blocks that were not live.

        Two processors' clocks may tell of a free before the allocation that it followed."""
        live, blocks, pending = {}, [], {}
        self.unknown_frees, self.overlaps = [], []
        for event in self.events:
            name, kind = FUNCTIONS[event.fn]
            if event.address == 0:
                if kind == FAIL:
                    self._undo(pending, live, event)
                continue
            if kind == FREE and name == "realloc" and event.stream in pending:
                pending.pop(event.stream)  # realloc(p, 0): its OUT has been the free
            elif kind in (FREE, OUT):
                block = live.pop(event.address, None)
                if block is None:
                    self.unknown_frees.append(event)
                    continue
                block["freed"] = event
                if kind == OUT:
                    pending[event.stream] = block
            elif kind == FAIL:
                self._undo(pending, live, event)
            else:
                old = pending.pop(event.stream, None) if kind == IN else None
                block = {"event": event, "freed": None, "function": name, "size": event.size,
                         "address": event.address, "usable_size": event.usable,
                         "realloc_of": old["address"] if old else None}
                early = self._early_free(event)
                if event.address in live:
                    self.overlaps.append(event)
                if early:
                    block["freed"] = early
                else:
                    live[event.address] = block
                blocks.append(block)
        for block in pending.values():  # the call never came back
            block["freed"] = None
        return blocks

    def _early_free(self, event):
        """The free of no block, a moment before, that is this allocation's; no more one of none."""
        for unknown in reversed(self.unknown_frees[-16:]):
            if unknown.address == event.address and event.ticks - unknown.ticks <= CLOCKS_APART:
                self.unknown_frees.remove(unknown)
                return unknown
        return None

    @staticmethod
    def _undo(pending, live, event):
        block = pending.pop(event.stream, None)
        if block:
            block["freed"] = None
            live[block["address"]] = block

    def allocations(self):
        """As `memtape report TAPE allocations --json`; times in ticks."""
        rows = []
        for block in self.replay():
            event, freed = block["event"], block["freed"]
            rows.append({
                "address": block["address"], "size": block["size"],
                "usable_size": block["usable_size"], "function": block["function"],
                "alloc_ns": event.ticks, "free_ns": freed.ticks if freed else None,
                "thread": event.thread, "free_thread": freed.thread if freed else None,
                "stack": self.frames(event), "free_stack": self.frames(freed) if freed else [],
                "realloc_of": block["realloc_of"],
            })
        return rows
