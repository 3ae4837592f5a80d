"""Heap profiles of pprof: Go's own and gperftools' (samples/README.md), and what `go tool pprof` says of them."""

import gzip
import struct
from pathlib import Path

import pytest

import recording
from exporting import export
from test_convert_sums import ALL_BYTES, ALL_COUNT, CHAINS, LIVE_BYTES, LIVE_COUNT, convert, folded, missing, of_program, sums

SAMPLES = Path(__file__).parent / "samples"


def test_go_has_the_numbers_that_pprof_has(tape, tmp_path):
    convert(SAMPLES / "pprof.go.pb.gz", tape)
    shown = sums(tape)
    assert (shown["allocated_count"], shown["allocated_bytes"]) == (616, 3_006_904)
    assert (shown["leaked_count"], shown["leaked_bytes"]) == (106, 315_328)
    live = folded(tape, tmp_path, "--metric", "leaked")
    assert live["runtime.main;main.main;main.hold"] == 311_296
    assert folded(tape, tmp_path, "--metric", "allocated")["runtime.main;main.main;main.pass"] == 2_688_000
    frame = next(row for row in recording.report(tape, "allocations") if row["size"] == 3072)["stack"][0]
    assert (frame["function"], Path(frame["file"]).name, frame["line"]) == ("main.hold", "main.go", 12)
    gone, text = missing(tape)
    assert {"times", "addresses", "sizes"} <= gone and "all_but_a_sample" not in gone and "pprof" in text


def test_a_sample_is_not_scaled_again(tape, tmp_path):
    said = convert(SAMPLES / "pprof.go-sampled.pb.gz", tape)
    shown = sums(tape)
    assert (shown["allocated_count"], shown["leaked_bytes"]) == (20_407, 20_355_612)
    assert folded(tape, tmp_path, "--metric", "leaked") == {"runtime.main;main.main;main.hold": 20_355_612}
    assert "all_but_a_sample" in missing(tape)[0] and "65536" in said


def test_gperftools_by_pprof_has_the_numbers_of_the_profile(tape):
    convert(SAMPLES / "pprof.gperftools.pb.gz", tape)
    shown = sums(tape)
    assert (shown["allocated_count"], shown["allocated_bytes"]) == (ALL_COUNT, ALL_BYTES)
    assert (shown["leaked_count"], shown["leaked_bytes"]) == (LIVE_COUNT, LIVE_BYTES)


def test_pprof_as_memtape_exports_it_has_the_same_totals_and_the_peak(tape, tmp_path):
    recording.run_bare([recording.target("sites")], tape)
    convert(export(tape, "pprof", tmp_path / "x.pb.gz"), tmp_path / "y.mtape")
    before, after = sums(tape), sums(tmp_path / "y.mtape")
    assert {key: before[key] for key in before if "temporary" not in key} \
        == {key: after[key] for key in after if "temporary" not in key}
    assert of_program(folded(tmp_path / "y.mtape", tmp_path, "--metric", "leaked")) == CHAINS
    for metric in ("peak", "leaked", "allocated"):
        assert of_program(folded(tape, tmp_path, "--metric", metric)) \
            == of_program(folded(tmp_path / "y.mtape", tmp_path, "--metric", metric))


def test_it_need_not_be_compressed(tape, tmp_path):
    path = tmp_path / "no-name"
    path.write_bytes(gzip.decompress((SAMPLES / "pprof.go.pb.gz").read_bytes()))
    convert(path, tape)
    assert sums(tape)["allocated_count"] == 616


# --- written here: what real writers do not write together ---------------------------------------


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value & (1 << 64) - 1)


def profile(types, samples, locations=b"", packed=True):
    names = [b""] + sorted({name for pair in types for name in pair}) + [b"inner", b"outer", b"a.c", b"/opt/x"]
    data = b"".join(field(1, field(1, names.index(name)) + field(2, names.index(unit))) for name, unit in types)
    for stack, values in samples:
        data += field(2, field(1, b"".join(varint(number) for number in stack))
                      + (field(2, b"".join(varint(v & (1 << 64) - 1) for v in values)) if packed
                         else b"".join(field(2, v) for v in values)))
    data += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, names.index(b"/opt/x")))
    data += field(4, field(1, 1) + field(2, 1) + field(3, 0x1234)
                  + field(4, field(1, 1) + field(2, 7)) + field(4, field(1, 2) + field(2, 9)))
    data += field(4, field(1, 2) + field(2, 1) + field(3, 0x2000)) + locations
    for number, name in ((1, b"inner"), (2, b"outer")):
        data += field(5, field(1, number) + field(2, names.index(name)) + field(4, names.index(b"a.c")))
    return data + b"".join(field(6, name) for name in names) + field(15, 0) + varint(9 << 3 | 1) + struct.pack("<Q", 5)


SPACE = [(b"objects", b"count"), (b"space", b"bytes")]


@pytest.mark.parametrize("packed", [True, False])
def test_inlined_calls_are_frames_and_places_without_names_are_addresses(packed, tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(profile(SPACE, [((1, 2), (3, 300))], packed=packed))
    said = convert(path, tape)
    assert (sums(tape)["leaked_count"], sums(tape)["leaked_bytes"]) == (3, 300)
    stack = recording.report(tape, "allocations")[0]["stack"]
    assert [(frame["function"], frame["line"]) for frame in stack[:2]] == [("inner", 7), ("outer", 9)]
    assert "x+0x2000" in stack[2]["function"] or "0x1000" in stack[2]["function"]
    assert "what is alive only" in said and "freed" in missing(tape)[0]


@pytest.mark.parametrize("data, words", [
    (profile([(b"cpu", b"nanoseconds"), (b"samples", b"count")], [((1,), (3, 300))]), "the profile has cpu, samples"),
    (profile(SPACE, [((1,), (3, 300))])[:-20], "the middle of a field"),
    (profile(SPACE, [((1,), (3, 300))]) + b"\x22\x04\x08\xff\xff\xff", "not as pprof writes it"),
    (profile(SPACE, [((1,), (3, 300))]) + b"\x07", "not a field of a profile"),
    (profile(SPACE, [((1,), (-3, -300))]), "no allocation"),
])
def test_what_is_no_heap_profile_is_refused(data, words, tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(data)
    assert words in convert(path, tape, "--from", "pprof", code=(1,)) and not tape.exists()


def test_a_profile_of_something_else_is_refused(tape):
    said = convert(SAMPLES / "pprof.goroutine.pb.gz", tape, code=(1,))
    assert "the profile has goroutine" in said and not tape.exists()


def test_a_difference_is_told_to_be_one(tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(profile(SPACE, [((1,), (3, 300)), ((2,), (-1, -100))]))
    assert "memtape diff" in convert(path, tape)
    assert sums(tape)["leaked_bytes"] == 300


def test_a_place_that_is_missing_costs_its_stack_only(tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(profile(SPACE, [((1,), (3, 300)), ((77,), (1, 100))]))
    assert "not in the file" in convert(path, tape)
    assert sums(tape)["leaked_bytes"] == 400
