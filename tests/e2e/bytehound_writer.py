"""Writes files as bytehound does, from the description of its format alone: no part of it is shared
with the reader. Chunks of stored or LZ4 bytes hold a stream of events."""

import struct

BEGIN_US = 5_000_000
WALL_S = 1_700_000_000


def varint(value):
    for more in range(8):
        if value < 1 << (7 * more + 7):
            head = (0xFF << (8 - more)) & 0xFF
            return bytes([head | value >> (8 * more)]) + (value & (1 << 8 * more) - 1).to_bytes(more, "little")
    return b"\xff" + struct.pack("<Q", value)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(data)) + data


def lz4(data):
    """A block: runs of one byte become copies, all else is written out."""
    def length(value):
        if value < 15:
            return value, b""
        value -= 15
        return 15, b"\xff" * (value // 255) + bytes([value % 255])

    out, literals, at = b"", b"", 0
    while at < len(data):
        run = 1
        while at + run < len(data) and data[at + run] == data[at]:
            run += 1
        literals += data[at:at + 1]
        at += 1
        if run < 20 or len(data) - at - (run - 1) < 16:
            continue
        head, head_more = length(len(literals))
        tail, tail_more = length(run - 1 - 4)
        out += bytes([head << 4 | tail]) + head_more + literals + struct.pack("<H", 1) + tail_more
        literals, at = b"", at + run - 1
    head, head_more = length(len(literals))
    return out + bytes([head << 4]) + head_more + literals


class Writer:
    def __init__(self, argv=("shop", "--open"), exe="/opt/shop", pid=4321):
        self.data = struct.pack("<IQQQQQQI", 0, 1, 2, BEGIN_US, BEGIN_US, WALL_S, 0, pid)
        self.data += text(b"".join(word.encode() + b"\0" for word in argv)) + text(exe) + text("x86_64")
        self.data += struct.pack("<QB", 1, 8)

    def event(self, number, layout, *values):
        self.data += struct.pack("<I" + layout, number, *values)

    def file(self, path, contents):
        self.data += struct.pack("<IQ", 23, BEGIN_US) + text(path) + struct.pack("<Q", len(contents)) + contents

    def backtrace(self, number, *addresses):
        self.event(5, f"QI{len(addresses)}Q", number, len(addresses), *addresses)

    def alloc(self, us, address, size, backtrace, tid, flags=0, extra=0):
        self.event(20, "QQQQQQIIIQ", 0, 0, BEGIN_US + us, address, size, backtrace, tid, flags, extra, 0)

    def realloc(self, us, old, address, size, backtrace, tid):
        self.event(21, "QQQQQQQIIIQ", 0, 0, BEGIN_US + us, old, address, size, backtrace, tid, 0, 0, 0)

    def free(self, us, address, backtrace, tid):
        self.event(22, "QQQQQI", 0, 0, BEGIN_US + us, address, backtrace, tid)

    def rest(self):
        """One of each event that a tape has no use for."""
        self.event(6, "QQ3s", 0x1000, 3, b"abc")
        self.event(8, "QQQQQIIIIQ", BEGIN_US, 0x1000, 4096, 0, 0, 3, 34, 0, 1, 0)
        self.event(9, "QQQQI", BEGIN_US, 0x1000, 4096, 0, 1)
        self.event(10, "QQIiii", BEGIN_US, 0, 1, -3, 4096, 1)
        self.data += struct.pack("<I", 11) + text("SECRET=1")
        self.event(12, "QQQ", BEGIN_US, WALL_S, 0)
        self.data += struct.pack("<IQ", 24, BEGIN_US) + varint(7) + struct.pack("<Q", 0x1000) + varint(4096)
        self.data += varint(0) + varint(300_000) + struct.pack("<III", 8, 1, 3) + varint(4) + b"heap"
        self.data += struct.pack("<IQ", 25, BEGIN_US) + varint(7) + struct.pack("<Q", 0x1000) + varint(4096)
        self.data += varint(1) + struct.pack("<Q", 0x1000) + varint(4096) + struct.pack("<Q", BEGIN_US)
        self.data += varint(1) + struct.pack("<I", 5)
        self.data += struct.pack("<IQ", 26, BEGIN_US) + varint(7) + struct.pack("<Q", 0x1000)
        self.data += b"".join(varint(value) for value in (4096, 4, 0, 0, 0, 1 << 40, 0))
        self.data += struct.pack("<I", 27) + varint(1 << 60) + struct.pack("<Q", 0x1000) + varint(0) + varint(9)
        self.data += struct.pack("<III", 3, 34, 0) + varint(8192) + struct.pack("<Q", BEGIN_US)
        self.data += varint(1) + struct.pack("<I", 5)

    def write(self, path, pack=True, chunk=700):
        parts = [self.data[at:at + chunk] for at in range(0, len(self.data), chunk)]
        packed = [(1, lz4(part)) if pack else (2, part) for part in parts]
        path.write_bytes(b"".join(struct.pack("<BI", kind, len(part)) + part for kind, part in packed))
        return path
