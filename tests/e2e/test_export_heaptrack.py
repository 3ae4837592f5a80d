"""The heaptrack export, read by heaptrack itself and by a reader written from its format alone."""

import collections
import shutil
import subprocess

import pytest

import recording
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines", "unload")


def read(path):
    """(name of the innermost function, bytes, calls, leaked bytes) and totals of an export."""
    strings, addresses, nodes, kinds = [""], [()], [(0, 0)], []
    sites = collections.defaultdict(lambda: [0, 0, 0])
    live = peak = last_ms = 0
    data = path.read_bytes()
    while data:
        kind = data[:1]
        if kind == b"s":  # may hold line feeds
            length, data = data[2:].split(b" ", 1)
            length = int(length, 16)
            strings.append(data[:length].decode("utf-8", "surrogateescape"))
            assert data[length:length + 1] == b"\n"
            data = data[length + 1:]
            continue
        line, data = data.split(b"\n", 1)
        words = line.split(b" ")[1:]
        numbers = [int(word, 16) for word in words] if kind in b"itacR+-" else []
        if kind == b"i":
            assert len(numbers) % 3 == 2 and all(
                n < len(strings) for n in numbers[1:2] + numbers[2::3] + numbers[3::3])
            addresses.append(numbers)
        elif kind == b"t":
            assert 0 < numbers[0] < len(addresses) and numbers[1] < len(nodes)
            nodes.append(numbers)
        elif kind == b"a":
            assert 0 < numbers[1] < len(nodes)
            kinds.append(numbers)
        elif kind == b"c":
            assert numbers[0] >= last_ms
            last_ms = numbers[0]
        elif kind in (b"+", b"-"):
            size, node = kinds[numbers[0]]
            frames = addresses[nodes[node][0]]
            site = sites[strings[frames[2]] if len(frames) > 2 else ""]
            sign = 1 if kind == b"+" else -1
            live += sign * size
            peak = max(peak, live)
            site[2] += sign * size
            if sign > 0:
                site[0] += size
                site[1] += 1
    assert len(kinds[0]) == 2 and kinds[0][0] == 0  # the dummy, which nothing uses
    return sites, live, peak, last_ms


def export(tape, path, *options):
    done = recording.run_plain([recording.memtape(), "export", tape, "--to", "heaptrack", "-o", path,
                                *options])
    assert done.returncode == 0, done.stderr
    return path


def folded_total(path, cost, tmp_path):
    out = tmp_path / f"{cost}.folded"
    subprocess.run(["heaptrack_print", "-f", path, "-p", "0", "-a", "0", "-T", "0", "-l", "0",
                    "--disable-builtin-suppressions",
                    "-F", out, "--flamegraph-cost-type", cost],
                   check=True, capture_output=True, timeout=60)
    return sum(int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines())


@pytest.mark.parametrize("name", TARGETS)
def test_totals_are_those_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    totals = recording.report(tape, "summary", "--no-suppressions")
    path = export(tape, tmp_path / "export")
    sites, live, peak, _ = read(path)
    assert sum(site[0] for site in sites.values()) == totals["allocations"]["bytes"]
    assert sum(site[1] for site in sites.values()) == totals["allocations"]["count"]
    assert live == totals["leaked"]["bytes"]
    assert peak == totals["peak"]["bytes"]
    if not shutil.which("heaptrack_print"):
        pytest.skip("heaptrack is not installed")
    assert folded_total(path, "allocations", tmp_path) == totals["allocations"]["count"]
    assert folded_total(path, "leaked", tmp_path) == totals["leaked"]["bytes"]
    assert folded_total(path, "peak", tmp_path) == totals["peak"]["bytes"]


def test_heaptrack_reads_what_is_compressed(tmp_path):
    if not shutil.which("heaptrack_print"):
        pytest.skip("heaptrack is not installed")
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    totals = recording.report(tape, "summary")
    for suffix in ("", ".gz", ".zst"):
        path = export(tape, tmp_path / f"shop.heaptrack{suffix}")
        assert folded_total(path, "allocations", tmp_path) == totals["allocations"]["count"]
        assert folded_total(path, "leaked", tmp_path) == totals["leaked"]["bytes"]


def test_a_part_of_a_tape_and_hostile_names(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    sites, *_ = read(export(tape, tmp_path / "export", "--filter", "size < 1KiB"))
    rows = recording.report(tape, "groups", "--by", "function", "--filter", "size < 1KiB",
                            "--top", "0")
    assert sum(site[1] for site in sites.values()) == sum(
        group["only_matched"]["allocated_count"] for group in rows["groups"])
    names.unlink()
    assert any("<b>" in site and "\x1b" in site for site in sites)
    assert "(no stack was taken)" not in sites
