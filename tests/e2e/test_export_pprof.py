"""The pprof export, read by go's pprof where it is, and by a reader of protobuf of a few lines."""

import collections
import gzip
import re
import shutil

import pytest

import recording
from exporting import totals
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "unload")
TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects",
         "peak_space", "temp_objects", "temp_space"]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data):
    """{field number: [values]}; a value is a number or bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        fields[key >> 3].append(value)
    return fields


def numbers(fields, number):
    """A repeated number, packed or not."""
    found = []
    for value in fields[number]:
        at = 0
        if isinstance(value, int):
            found.append(value)
            continue
        while at < len(value):
            one, at = varint(value, at)
            found.append(one)
    return found


def one(fields, number):
    return fields[number][0] if fields[number] else 0


def read(path):
    """Names of the values, their sums, and [(functions, innermost first), values] of each sample."""
    profile = message(gzip.decompress(path.read_bytes()))
    strings = [text.decode() for text in profile[6]]
    assert strings[0] == ""
    types = [strings[one(message(entry), 1)] for entry in profile[1]]
    mappings = {one(message(entry), 1) for entry in profile[3]}
    functions = {one(message(entry), 1): strings[one(message(entry), 2)] for entry in profile[5]}
    locations = {}
    for entry in map(message, profile[4]):
        assert one(entry, 2) == 0 or one(entry, 2) in mappings
        locations[one(entry, 1)] = [functions[one(message(line), 1)] for line in entry[4]]
    assert 0 not in mappings | functions.keys() | locations.keys()
    samples = []
    for entry in map(message, profile[2]):
        values = numbers(entry, 2)
        assert len(values) == len(types)
        stack = [name for location in numbers(entry, 1) for name in locations[location]]
        assert stack
        samples.append((stack, values))
    return types, [sum(column) for column in zip(*(values for _, values in samples))], samples


def export(tape, path, *options):
    done = recording.run_plain([recording.memtape(), "export", tape, "--to", "pprof", "-o", path,
                                *options])
    assert done.returncode == 0, done.stderr
    return path


def go_total(path, kind):
    done = recording.run_plain(["go", "tool", "pprof", "-top", "-unit=B", "-nodefraction=0",
                                f"-sample_index={kind}", path])
    assert done.returncode == 0, done.stderr
    return int(re.search(rb"of (\d+)B? total", done.stdout).group(1))


@pytest.mark.parametrize("name", TARGETS)
def test_totals_are_those_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    summary = recording.report(tape, "summary")
    path = export(tape, tmp_path / "the.pb.gz")
    types, sums, samples = read(path)
    assert types == TYPES
    of = totals(tape)
    assert sums == [of[f"{key}_{unit}"] for key in ("allocated", "alive", "peak", "temporary")
                    for unit in ("count", "bytes")]
    top = recording.report(tape, "top", "--frames=exact", "--sort", "allocated", "--top", "3")
    by_function = collections.Counter()
    for stack, values in samples:
        by_function[stack[0]] += values[1]
    for row in top["sites"]:
        assert by_function[row["function"]] >= row["allocated_bytes"]
    if not recording.FULL or not shutil.which("go"):
        return  # go compiles its pprof first, which may take minutes
    assert go_total(path, "alloc_space") == summary["allocations"]["bytes"]
    assert go_total(path, "peak_space") == summary["peak"]["bytes"]


def test_hostile_names_cut_stacks_and_parts(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    _, sums, samples = read(export(tape, tmp_path / "all.pb.gz", "--metric", "leaked"))
    _, part, _ = read(export(tape, tmp_path / "part.pb.gz", "--filter", "size < 1KiB"))
    names.unlink()
    assert any("<b>" in name and "\x1b" not in name for stack, _ in samples for name in stack)
    assert any(stack[-1] == "(outer frames not known)" for stack, _ in samples)
    assert 0 < part[0] < sums[0]


def test_the_same_tape_gives_the_same_file(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    first = export(tape, tmp_path / "a.pb.gz").read_bytes()
    assert first == export(tape, tmp_path / "b.pb.gz").read_bytes()
