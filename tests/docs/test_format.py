"""docs/tape-format.md is enough to read a packed tape: this reader was written from it alone, and
reads there which functions have no size.

A raw tape is packed by `memtape repack` and unpacked here; chunk by chunk the bytes must be those of
the raw tape.
"""
import os
import pathlib
import re
import struct
import subprocess

import pytest

MASK = (1 << 64) - 1
P1, P2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
LENGTHS = [(1, 2, 4, 8), (0, 2, 3, 8), (0, 1, 2, 8), (0, 1, 2, 8), (0, 2, 3, 4)]
DOCUMENT = (pathlib.Path(__file__).resolve().parents[2] / "docs/tape-format.md").read_text()
FUNCTIONS = re.findall(r"^\| (\d+) \| .+ \| (S?) ?\|$", DOCUMENT.split("### 5.2 Functions")[1].split("\n### ")[0], re.M)
WITHOUT_SIZE = {int(number) for number, sign in FUNCTIONS if sign}
CHUNK = struct.Struct("<IHBBIIIIIIQQQII")
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def add(lane, word):
    lane = (lane + word * P2) & MASK
    lane = (lane << 31 | lane >> 33) & MASK
    return lane * P1 & MASK


def mix(x):
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & MASK
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def hash_bytes(data, seed=0):
    lanes = [(seed + P1) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
    words = struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])
    whole = len(words) // 4 * 4
    for i in range(whole):
        lanes[i % 4] = add(lanes[i % 4], words[i])
    for word in words[whole:]:
        lanes[0] = add(lanes[0], word)
    for byte in data[len(words) * 8:]:
        lanes[1] = add(lanes[1], byte + 1)
    total = len(data)
    for lane in lanes:
        total = mix(total ^ lane)
    return total


class Chunk:
    def __init__(self, data, at):
        (self.magic, self.header_bytes, self.codec, _, self.state, self.stream, self.seq, self.used,
         self.node_count, self.first_node, self.begin_ticks, self.event_count, self.checksum,
         self.stored_bytes, _) = CHUNK.unpack_from(data, at)
        self.header = data[at:at + 64]
        assert self.magic == 0x4B4E4843 and self.header_bytes == 64


def raw_chunks(data):
    """{(stream, seq): (records, nodes)} of a raw tape; nodes in the order of definition."""
    size = struct.unpack_from("<I", data, 20)[0]
    found = {}
    for at in range(4096, len(data) - 63, size):
        if data[at:at + 4] != b"CHNK":
            continue
        chunk = Chunk(data, at)
        if chunk.state != 0:
            nodes = [data[at + size - 12 * (i + 1):at + size - 12 * i] for i in range(chunk.node_count)]
            found[chunk.stream, chunk.seq] = (data[at + 64:at + 64 + chunk.used], nodes)
    return found


def decompress(stored):
    return subprocess.run(["zstd", "-d", "-q", "-c"], input=ZSTD_MAGIC + stored, check=True,
                          capture_output=True).stdout


PLANES = {20: 2, 21: 3, 25: 4}  # columns stored plane by plane: bytes of a value


def values_of(planes, width):
    count = len(planes) // width
    return b"".join(planes[i::count] for i in range(count)) if count else b""


def unmirrored(data, width, top):
    values = []
    for at in range(0, len(data), width):
        value = int.from_bytes(data[at:at + width], "little")
        if value > top:
            value = top = (1 << 8 * width) - 1 + top + 1 - value
        values.append(value.to_bytes(width, "little"))
    return b"".join(values)


def columns_of(payload, first_node):
    mask = struct.unpack_from("<I", payload)[0]
    present = [i for i in range(29) if mask >> i & 1]
    assert mask >> 29 & 3 == 0
    at = 4 + 8 * len(present)
    columns = {}
    for n, i in enumerate(present):
        size, stored = struct.unpack_from("<II", payload, 4 + 8 * n)
        data = payload[at:at + stored]
        columns[i] = data if stored == size else decompress(data)
        assert len(columns[i]) == size
        if i in PLANES:
            columns[i] = values_of(columns[i], PLANES[i])
        if i in (20, 21) and mask >> 31:
            columns[i] = unmirrored(columns[i], PLANES[i], first_node - 1)
        at += stored
    assert at == len(payload)
    return columns


class Cursor:
    def __init__(self, columns):
        self.columns, self.at = columns, dict.fromkeys(range(29), 0)

    def take(self, column, length):
        at = self.at[column]
        self.at[column] += length
        return self.columns.get(column, b"")[at:at + length]

    def number(self, column, length):
        return int.from_bytes(self.take(column, length), "little")

    def is_used_up(self):
        return all(self.at[i] == len(data) for i, data in self.columns.items())


def records_of(cursor):
    words = cursor.take(0, len(cursor.columns.get(0, b"")))
    records = []
    for code in cursor.take(1, len(cursor.columns.get(1, b""))):
        ctrl = cursor.number(2, 2) if code == 255 else struct.unpack_from("<H", words, 2 * code)[0]
        records.append(struct.pack("<H", ctrl))
        if ctrl & 63 == 63:
            head = cursor.take(23, 14)
            records += [head, cursor.take(23, struct.unpack_from("<I", head, 2)[0])]
            continue
        for field in range(5):
            code = ctrl >> (6 + 2 * field) & 3
            if field in (2, 3) and ctrl & 63 in WITHOUT_SIZE:
                code = 0
            records.append(cursor.take(3 + 4 * field + code, LENGTHS[field][code]))
    return b"".join(records)


def distances_of(cursor, count):
    distances = []
    while len(distances) < count:
        run = cursor.number(24, 1)
        distances += [1] * run
        if run < 255 and len(distances) < count:
            distances.append(cursor.number(25, 4))
    return distances


def nodes_of(cursor, chunk):
    ranks = cursor.take(26, (chunk.node_count + 3) // 4)
    recent = [[0, 0, 0] for _ in range(1024)]
    pcs, nodes = [], []
    for i, distance in enumerate(distances_of(cursor, chunk.node_count)):
        caller = pcs[i - distance] if 0 < distance <= i else 0
        pcs_below = recent[(caller * 0x9E3779B97F4A7C15 & MASK) >> 54]
        rank = ranks[i // 4] >> i % 4 * 2 & 3
        pc = pcs_below.pop(rank) if rank < 3 else cursor.number(27, 4) | cursor.number(28, 4) << 32
        pcs_below.insert(0, pc)
        del pcs_below[3:]
        pcs.append(pc)
        nodes.append(struct.pack("<IQ", (chunk.first_node + i - distance) & 0xFFFFFFFF, pc))
    return nodes


def joined(columns, chunk):
    cursor = Cursor(columns)
    found = records_of(cursor), nodes_of(cursor, chunk)
    assert cursor.is_used_up()
    return found


def packed_chunks(data):
    at, found = 4096, {}
    while at < len(data):
        chunk = Chunk(data, at)
        payload = data[at + 64:at + 64 + chunk.stored_bytes]
        zeroed = chunk.header[:48] + bytes(8) + chunk.header[56:]
        assert chunk.codec == 2 and chunk.state == 2
        assert hash_bytes(payload, hash_bytes(zeroed)) == chunk.checksum
        found[chunk.stream, chunk.seq] = joined(columns_of(payload, chunk.first_node), chunk)
        assert len(found[chunk.stream, chunk.seq][0]) == chunk.used
        at += 64 + chunk.stored_bytes
    return found


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tapes")
    library = next(pathlib.Path(os.environ["MEMTAPE_PREFIX"]).rglob("libmemtape.so"))
    raw, packed = folder / "raw.mtape", folder / "packed.mtape"
    subprocess.run(["sort", "/etc/passwd"], check=True, capture_output=True,
                   env={"LD_PRELOAD": str(library), "MEMTAPE_OUTPUT": str(raw), "PATH": os.environ["PATH"]})
    subprocess.run(["memtape", "repack", raw, "-o", packed], check=True, capture_output=True)
    return raw.read_bytes(), packed.read_bytes()


def test_headers_are_as_described(tapes):
    for data, kind in zip(tapes, (1, 2)):
        magic, version, header_bytes, found_kind = struct.unpack_from("<8sIII", data)
        assert (magic, version, header_bytes, found_kind) == (b"MEMTAPE\n", 1, 4096, kind)


def test_a_packed_chunk_unpacks_to_the_bytes_it_was_made_from(tapes):
    raw, packed = raw_chunks(tapes[0]), packed_chunks(tapes[1])
    assert len(raw) > 0
    for key, (records, nodes) in raw.items():
        assert packed[key] == (records, nodes), key
    # What repack adds is the collector's stream: what the recorder had left in the header page.
    assert all(stream == 0 for stream, _ in packed.keys() - raw.keys())
