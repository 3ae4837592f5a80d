"""The result of a leak scan as bytes, from docs/tape-format.md, and its records on a tape."""

import struct

EXT_SCAN_BEGIN, EXT_SCAN = 38, 39
UNKNOWN, REACHABLE, POSSIBLE, INDIRECT, DEFINITE = range(5)
GLOBAL, STACK, TLS, REGISTERS, MAPPING = range(1, 6)
EXIT, KILLED, REQUEST, PERIOD = range(1, 5)
FACTS = ("pause_ns", "scan_ns", "root_bytes", "block_bytes", "unread_bytes", "thread_count", "missed_threads",
         "heuristics", "trouble")
PART_BYTES = 4000


def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def node(to, own):
    if to is None:
        return number(0)
    distance = to - own
    return number(1 + (distance << 1 if distance >= 0 else (-distance << 1) - 1))


class Image:
    """Blocks are (address, size, class, parent, dominator, retained, ...), by address; parents and dominators are
    indices of blocks, holders given as ~index, or None."""

    def __init__(self, blocks, holders, trouble="", version=3, **facts):
        self.blocks, self.holders, self.facts, self.trouble, self.version = blocks, holders, facts, trouble, version

    def frames(self):
        """Of holders: (begin, end, pc, depth), by address; without a depth it is not known."""
        out, last = b"", 0
        count = sum(len(holder.get("frames", ())) for holder in self.holders)
        for own, holder in enumerate(self.holders):
            end = holder.get("begin", 0)
            for begin, after, pc, *depth in holder.get("frames", ()):
                out += number(own - last) + number(begin - end) + number(after - begin) + number(pc)
                out += number((depth or [2**32 - 1])[0]) if self.version > 2 else b""
                last, end = own, after
        return number(count) + out

    def bytes(self):
        texts, places = bytearray(b"\0"), []
        for text in [*(holder.get("name", "") for holder in self.holders), self.trouble]:
            places.append(len(texts) if text else 0)
            texts += text.encode() + b"\0" if text else b""
        facts = dict(self.facts, trouble=places.pop())
        out = number(self.version) + b"".join(number(facts.get(fact, 0)) for fact in FACTS)
        out += number(len(texts)) + texts + number(len(self.holders))
        for holder, place in zip(self.holders, places):
            begin, end = holder.get("begin", 0), holder.get("end", 0)
            out += b"".join(map(number, (holder["kind"], holder.get("tid", 0), begin, end - begin,
                                         holder.get("retained", 0), place)))
        out += self.frames() if self.version > 1 else b""
        out += number(len(self.blocks))
        end = 0
        for own, block in enumerate(self.blocks):
            parent, dominator = (len(self.blocks) + ~to if to is not None and to < 0 else to
                                 for to in (block.get("parent"), block.get("dominator")))
            heuristic = block.get("heuristic", 0)
            out += bytes([block["class"] | (heuristic.bit_length() << 3) | block.get("interior", False) << 6 |
                          (parent == dominator) << 7])
            out += number(block["address"] - end) + number(block["size"])
            out += number((block.get("retained", block["size"]) - block["size"]) % (1 << 64))
            out += number(block.get("offset", 0)) + node(parent, own)
            out += b"" if parent == dominator else node(dominator, own)
            end = block["address"] + max(block["size"], 1)
        return out


def begin(stream, number=1, reason=EXIT):
    stream.extended(EXT_SCAN_BEGIN, struct.pack("<II", number, reason))


def result(stream, image, number=1):
    data = image.bytes()
    for at in range(0, len(data), PART_BYTES):
        stream.extended(EXT_SCAN, struct.pack("<IIQQ", number, 0, len(data), at) + data[at:at + PART_BYTES])
