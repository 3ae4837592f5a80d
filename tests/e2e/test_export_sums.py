"""Exports that are sums: speedscope's file, CSV, moments of them, and files that are compressed."""

import csv
import gzip
import json
import shutil
import subprocess

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines")
SPEEDSCOPE = ["peak_bytes", "leaked_bytes", "allocated_bytes", "allocated_count", "temporary_count"]
UNITS = {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}


def speedscope(path):
    """Names of frames and the profiles; holds the file to speedscope's schema."""
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as text:
        file = json.load(text)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(file) == {"$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"}
    frames = file["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str)
        assert set(frame) <= {"name", "file", "line"}
        assert isinstance(frame.get("line", 1), int) and isinstance(frame.get("file", ""), str)
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] in UNITS
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)
        assert profile["endValue"] == sum(profile["weights"]) and 0 not in profile["weights"]
        assert len({tuple(sample) for sample in profile["samples"]}) == len(profile["samples"])
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    return frames, file["profiles"], file["activeProfileIndex"]


def sites(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize("name", TARGETS)
def test_totals_are_those_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    expected = totals(tape)
    _, profiles, _ = speedscope(export(tape, "speedscope", tmp_path / "x.speedscope.json"))
    assert [profile["endValue"] for profile in profiles] == [expected[key] for key in SPEEDSCOPE]
    rows = sites(export(tape, "csv", tmp_path / "x.csv", "--metric", "allocated"))
    of_csv = {key: expected[key] for key in expected if "alive" not in key}
    assert {key: sum(int(row[key]) for row in rows) for key in of_csv} == of_csv
    by_bytes = [int(row["allocated_bytes"]) for row in rows]
    assert by_bytes == sorted(by_bytes, reverse=True)
    top = recording.report(tape, "top", "--frames=exact", "--sort", "allocated", "--top", "10")["sites"]
    for site in top:  # which are of a function; rows are of its lines
        assert site["allocated_bytes"] == sum(int(row["allocated_bytes"]) for row in rows
                                              if row["function"] == site["function"])


def test_lines_and_the_metric_are_where_readers_look(tape, tmp_path):
    assert recording.run_bare([recording.target("frames")], tape).returncode == 0
    frames, _, active = speedscope(
        export(tape, "speedscope", tmp_path / "x.json", "--metric", "allocated"))
    assert active == 2
    assert any(f.get("file", "").endswith("frames.c") and f.get("line", 0) > 0 for f in frames)
    rows = sites(export(tape, "csv", tmp_path / "x.csv"))
    assert any(row["file"].endswith("frames.c") and int(row["line"]) > 0 for row in rows)


def test_hostile_names(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    frames, profiles, _ = speedscope(export(tape, "speedscope", tmp_path / "x.json"))
    rows = sites(export(tape, "csv", tmp_path / "x.csv"))
    expected = totals(tape)
    names.unlink()
    shown = {frame["name"] for frame in frames}
    assert shown >= {name.decode() for name in HOSTILE if b"\xff" not in name}
    assert any(name.endswith("not utf-8") for name in shown)
    assert profiles[0]["endValue"] == expected["peak_bytes"]
    functions = {row["function"] for row in rows}
    assert functions >= {name.decode() for name in HOSTILE if b"\xff" not in name}
    assert sum(int(row["peak_bytes"]) for row in rows) == expected["peak_bytes"]


def test_a_moment_and_a_part(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    now = recording.report(tape, "at", "75ms", "--top", "0")
    rows = sites(export(tape, "csv", tmp_path / "x.csv", "--at", "75ms"))
    part = sites(export(tape, "csv", tmp_path / "y.csv", "--filter", "size < 1KiB"))
    wanted = recording.report(tape, "groups", "--by", "function", "--filter", "size < 1KiB",
                              "--top", "0")
    names.unlink()
    assert sum(int(row["leaked_bytes"]) for row in rows) == sum(
        site["live_bytes"] for site in now["sites"]) == 8 * 8192 + 3000 + 500 + 60
    assert sum(int(row["allocated_count"]) for row in part) == sum(
        group["only_matched"]["allocated_count"] for group in wanted["groups"])


def test_moments_are_refused_where_a_file_has_none(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    for kind, why in (("heaptrack", "single allocations and frees"), ("memusage", "over time")):
        told = export(tape, kind, tmp_path / "x", "--at", "peak", code=2)
        assert "--at" in told and kind in told and why in told
    assert "--at" in export(tape, "csv", tmp_path / "x", "--at", "yesterday", code=2)
    assert "no such mark" in export(tape, "csv", tmp_path / "x", "--at", "mark(no such mark)", code=1)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ("speedscope", "csv", "folded", "json", "heaptrack", "memusage"))
def test_a_name_with_gz_is_compressed(kind, tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    plain = export(tape, kind, tmp_path / "plain").read_bytes()
    packed = export(tape, kind, tmp_path / "packed.gz")
    assert subprocess.run(["gzip", "-t", packed], check=False).returncode == 0
    assert gzip.decompress(packed.read_bytes()) == plain != b""
    assert packed.read_bytes() == export(tape, kind, tmp_path / "again.gz").read_bytes()


def test_html_is_the_page_of_report(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    page = export(tape, "html", tmp_path / "a.html").read_bytes()
    done = recording.run([recording.memtape(), "report", tape, "--html", "-o", tmp_path / "b.html"])
    assert done.returncode == 0, done.stderr
    assert page == (tmp_path / "b.html").read_bytes() and page.startswith(b"<!doctype html>")
    assert page == export(tape, "html", tmp_path / "a.html").read_bytes()
    for words in (("--metric", "leaked"), ("--at", "peak"), ("--filter", "leaked"), ("--from", "1s"), ("--frames=all",)):
        assert "whole tape" in export(tape, "html", tmp_path / "c.html", *words, code=2)
    assert "compressed" in export(tape, "html", tmp_path / "c.html.gz", code=2)
    assert not (tmp_path / "c.html").exists() and not (tmp_path / "c.html.gz").exists()


def test_what_is_compressed_is_not_compressed_again(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    assert (export(tape, "pprof", tmp_path / "x.pb.gz").read_bytes()
            == export(tape, "pprof", tmp_path / "x").read_bytes())


@pytest.mark.parametrize("kind", ("speedscope", "csv", "folded", "sqlite", "heaptrack", "memusage"))
def test_a_name_with_zst_is_compressed(kind, tmp_path):
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    plain = export(tape, kind, tmp_path / "plain").read_bytes()
    packed = export(tape, kind, tmp_path / "packed.zst")
    done = subprocess.run(["zstd", "-dc", packed], check=True, capture_output=True)
    assert done.stdout == plain != b""
    assert packed.read_bytes() == export(tape, kind, tmp_path / "again.zst").read_bytes()
    broken = bytearray(packed.read_bytes())
    broken[-1] ^= 1  # of the checksum
    assert subprocess.run(["zstd", "-dc"], input=broken, capture_output=True, check=False).returncode


def test_a_suffix_that_would_mislead_is_refused(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    told = export(tape, "pprof", tmp_path / "x.zst", code=2)
    assert "zstd" in told and ".pb.gz" in told
    assert not (tmp_path / "x.zst").exists()


def test_a_full_disk_is_told(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    for kind in ("speedscope", "csv"):
        assert "No space left" in export(tape, kind, "/dev/full", code=1)
    for suffix in (".gz", ".zst"):
        full = tmp_path / f"full{suffix}"
        full.symlink_to("/dev/full")
        assert "No space left" in export(tape, "csv", full, code=1)
