"""Capture files of memray: its own (samples/README.md), and what memray says of them."""

from pathlib import Path

import pytest

import recording
from test_convert_sums import convert, folded, missing, sums

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("name", ["memray.bin", "memray.native.bin"])
def test_a_capture_has_the_numbers_that_memray_has(name, tape):
    said = convert(SAMPLES / name, tape)
    shown = sums(tape)
    assert (shown["allocated_count"], shown["allocated_bytes"]) == (372, 11_467_153)
    assert (shown["peak_count"], shown["peak_bytes"]) == (91, 1_258_630)
    assert (shown["leaked_count"], shown["leaked_bytes"]) == (84, 1_241_230)
    assert ("--native" in said) == ("native" in name)
    assert {"usable_sizes", "free_stacks"} <= missing(tape)[0]


def test_stacks_are_those_of_python_with_their_lines(tape, tmp_path):
    convert(SAMPLES / "memray.bin", tape)
    places = {}
    for row in recording.report(tape, "allocations"):
        if row["stack"]:
            frame = row["stack"][0]
            key = frame["function"], Path(frame["file"] or "").name, frame["line"]
            places[key] = places.get(key, 0) + row["size"]
    assert places["hold", "app.py", 5] // 1000 == 40 * 30
    assert places["passing", "app.py", 8] // 1000 == 200 * 50
    stacks = folded(tape, tmp_path, "--metric", "allocated")
    assert any(stack.endswith("<module>;main;passing") for stack in stacks)
    assert any(stack.endswith("_bootstrap;_bootstrap_inner;run;hold") for stack in stacks)


def test_threads_have_their_part_and_samples_their_time(tape):
    convert(SAMPLES / "memray.bin", tape)
    threads = recording.report(tape, "threads")["threads"]
    assert sorted(row["leaked_bytes"] // 1000 for row in threads) == [600, 640]
    summary = recording.report(tape, "summary")
    assert summary["rss_max_bytes"] > 20 << 20 and summary["duration_ns"] > 1_000_000


def test_an_aggregated_file_has_the_peak_and_the_end(tape, tmp_path):
    said = convert(SAMPLES / "memray.aggregate.bin", tape)
    shown = sums(tape)
    assert (shown["peak_count"], shown["peak_bytes"]) == (91, 1_258_630)
    assert (shown["leaked_count"], shown["leaked_bytes"]) == (85, 1_241_590)
    assert any(stack.endswith("<module>;main;hold") for stack in folded(tape, tmp_path, "--metric", "peak"))
    assert "--aggregate" in said and {"times", "freed", "sizes"} <= missing(tape)[0]


def test_a_capture_that_is_cut_off_is_read_as_far_as_it_goes(tape, tmp_path):
    path = tmp_path / "x.bin"
    whole = (SAMPLES.parents[1] / "fuzz/corpus/convert_memray/whole").read_bytes()  # not compressed
    path.write_bytes(whole[:len(whole) * 3 // 4])
    said = convert(path, tape, code=(1,))
    assert "ends" in said and "byte " in said
    assert 10 < sums(tape)["allocated_count"] < 372
    tape.unlink()
    path.write_bytes(whole[:800])
    assert "no allocations could be read" in convert(path, tape, code=(1,)) and not tape.exists()
    path.write_bytes((SAMPLES / "memray.bin").read_bytes()[:4000])
    convert(path, tape, "--from", "memray", code=(1,))
    assert not tape.exists()


@pytest.mark.parametrize("data, words", [
    (b"memray\0\x07\0\0\0" + bytes(100), "version 7"),
    (b"memray\0\x0c\0\0\0" + bytes(10), "the middle of a record"),
    (b"memory\0" + bytes(100), "a header of memray was expected"),
])
def test_what_is_no_capture_is_refused(data, words, tape, tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    assert words in convert(path, tape, "--from", "memray", code=(1,)) and not tape.exists()
