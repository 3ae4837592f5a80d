"""The Perfetto export, read by protoc with the fields that Perfetto documents: nothing else is in the file, every
number is defined before it is used, and the heaps have what the tape has."""

import collections
import re
import shutil
import subprocess

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_export_pprof import message, numbers, one
from test_export_sites import summed, top
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads")

# What of Perfetto's schema is written; names and numbers are its own.
SCHEMA = """
syntax = "proto2";
message InternedString { optional uint64 iid = 1; optional bytes str = 2; }
message Mapping { optional uint64 iid = 1; repeated uint64 path_string_ids = 7; }
message Frame { optional uint64 iid = 1; optional uint64 function_name_id = 2; optional uint64 mapping_id = 3;
  optional uint64 rel_pc = 4; optional uint64 source_path_iid = 5; optional uint32 line_number = 6; }
message Callstack { optional uint64 iid = 1; repeated uint64 frame_ids = 2; }
message InternedData { repeated InternedString function_names = 5; repeated Frame frames = 6;
  repeated Callstack callstacks = 7; repeated InternedString mapping_paths = 17;
  repeated InternedString source_paths = 18; repeated Mapping mappings = 19; }
message HeapSample { optional uint64 callstack_id = 1; optional uint64 self_allocated = 2;
  optional uint64 self_freed = 3; optional uint64 alloc_count = 5; optional uint64 free_count = 6;
  optional uint64 self_max = 8; optional uint64 self_max_count = 9; }
message ProcessHeapSamples { optional uint64 pid = 1; repeated HeapSample samples = 2; optional bool from_startup = 3;
  optional uint64 timestamp = 9; optional string heap_name = 11; optional uint64 sampling_interval_bytes = 12; }
message ProfilePacket { repeated ProcessHeapSamples process_dumps = 5; optional bool continued = 6;
  optional uint64 index = 7; }
message Clock { optional uint32 clock_id = 1; optional uint64 timestamp = 2; }
message ClockSnapshot { repeated Clock clocks = 1; }
message Process { optional int32 pid = 1; optional int32 ppid = 2; repeated string cmdline = 3; }
message ProcessTree { repeated Process processes = 1; }
message TracePacket { optional ProcessTree process_tree = 2; optional ClockSnapshot clock_snapshot = 6;
  optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
  optional InternedData interned_data = 12; optional uint32 sequence_flags = 13;
  optional ProfilePacket profile_packet = 37; }
message Trace { repeated TracePacket packet = 1; }
"""


def read(path):
    """({heap: [(functions, innermost first, values)]}, every text); holds the packets to what readers ask for."""
    packets = [message(packet) for packet in message(path.read_bytes())[1]]
    known = {field: {} for field in (5, 6, 7, 17, 18, 19)}
    heaps, index = collections.defaultdict(list), 0
    assert [one(packet, 13) for packet in packets] == [1] + [2] * (len(packets) - 1)
    assert {one(packet, 10) for packet in packets} == {1}
    for packet in packets:
        for data in packet[12]:
            data = message(data)
            for field in sorted(known, key=lambda field: field in (6, 7, 19)):  # texts, then what has them
                for item in map(message, data[field]):
                    iid = one(item, 1)
                    assert iid > 0 and iid not in known[field]
                    known[field][iid] = item
            for frame in map(message, data[6]):
                assert one(frame, 2) in known[5] and one(frame, 3) in known[19]
                assert not frame[5] or one(frame, 5) in known[18]
            for mapping in map(message, data[19]):
                assert all(number in known[17] for number in numbers(mapping, 7))
            for stack in map(message, data[7]):
                assert numbers(stack, 2) and all(frame in known[6] for frame in numbers(stack, 2))
        for profile in map(message, packet[37]):
            assert one(profile, 7) == index
            index += 1
            for dump in map(message, profile[5]):
                for sample in map(message, dump[2]):
                    frames = [known[6][frame] for frame in numbers(known[7][one(sample, 1)], 2)]
                    names = [one(known[5][one(frame, 2)], 2).decode() for frame in reversed(frames)]
                    heaps[one(dump, 11).decode()].append((names, {field: one(sample, field) for field in sample}))
    last = message(packets[-1][37][0])
    assert one(last, 6) == 0  # and all before go on
    assert all(one(message(packet[37][0]), 6) for packet in packets[:-1] if packet[37])
    return heaps


def values(heaps):
    """(function, {what: value}) of both heaps."""
    for names, sample in heaps["malloc"]:
        yield names[0], {"allocated_bytes": sample[2], "allocated_count": sample[5],
                         "leaked_bytes": sample[2] - sample[3], "leaked_count": sample[5] - sample[6]}
    for names, sample in heaps["alive at the peak"]:
        yield names[0], {"peak_bytes": sample[8], "peak_count": sample[9]}


@pytest.mark.parametrize("name", TARGETS)
def test_heaps_have_what_the_tape_has(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    found = summed(values(read(export(tape, "perfetto", tmp_path / "x.perfetto-trace"))))
    of = totals(tape, "--no-suppressions")  # what is alive at the end, known or not
    for what in ("allocated_bytes", "allocated_count", "leaked_bytes", "leaked_count", "peak_bytes", "peak_count"):
        assert sum(site[what] for site in found.values()) == of[what]
        for function, value in top(tape, what, "--no-suppressions", "--frames=exact").items():
            assert found[function][what] == value, (what, function)


def decoder():
    return next((tool for tool in ("protoc", "protoc-c") if shutil.which(tool)), None)


@pytest.mark.skipif(not decoder(), reason="protoc is not installed")
def test_protoc_knows_every_field(tape, tmp_path):
    assert recording.run_bare([recording.target("hooks")], tape).returncode == 0
    path = export(tape, "perfetto", tmp_path / "x.perfetto-trace")
    (tmp_path / "trace.proto").write_text(SCHEMA)
    done = subprocess.run([decoder(), f"--proto_path={tmp_path}", "--decode=Trace", tmp_path / "trace.proto"],
                          input=path.read_bytes(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert not re.search(r"^\s*\d+[: ]", text, re.M)  # a field that has no name
    assert sum(map(int, re.findall(r"^\s+self_allocated: (\d+)$", text, re.M))) == totals(tape)["allocated_bytes"]
    assert 'heap_name: "alive at the peak"' in text and "clock_snapshot {" in text
    broken = path.read_bytes()[:-3]
    assert subprocess.run([decoder(), f"--proto_path={tmp_path}", "--decode=Trace", tmp_path / "trace.proto"],
                          input=broken, capture_output=True, timeout=60, check=False).returncode != 0


def test_hostile_names(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    found = summed(values(read(export(tape, "perfetto", tmp_path / "x"))))
    names.unlink()
    for i, name in enumerate(HOSTILE):
        spelled = next(f for f in found if f.endswith("not utf-8")) if b"\xff" in name else name.decode()
        assert found[spelled]["allocated_bytes"] == 1000 + i


def test_moments_parts_and_the_same_file_again(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    first = export(tape, "perfetto", tmp_path / "a").read_bytes()
    assert first == export(tape, "perfetto", tmp_path / "b").read_bytes()
    at = summed(values(read(export(tape, "perfetto", tmp_path / "c", "--at", "30.7ms"))))
    part = summed(values(read(export(tape, "perfetto", tmp_path / "d", "--filter", "size < 1KiB"))))
    names.unlink()
    assert sum(site["leaked_bytes"] for site in at.values()) == 8 * 8192
    assert sum(site["allocated_bytes"] for site in part.values()) == 4560
