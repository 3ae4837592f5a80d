"""Exports in formats of Valgrind's tools, read by Valgrind's own programs: ms_print, dh_view."""

import json
import re
import shutil
import subprocess

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines")
DH_VIEW = "/usr/libexec/valgrind/dh_view.js"

# dh_view.js builds its tree without a page; what it would say there is printed.
LOAD_DHAT = """
const fs = require("fs"), vm = require("vm");
const context = vm.createContext({ document: {}, console, text: fs.readFileSync(process.argv[2], "utf8") });
vm.runInContext(fs.readFileSync(process.argv[1], "utf8") + `;
gData = JSON.parse(text);
gSelect = { childNodes: gSelectData.map(() => ({})), selectedIndex: 0 };
buildTree();
console.log(JSON.stringify({
    allocated_bytes: gRoot._totalBytes, allocated_count: gRoot._totalBlocks,
    lifetimes: gRoot._totalLifetimes, peak_bytes: gRoot._atTGmaxBytes,
    peak_count: gRoot._atTGmaxBlocks, leaked_bytes: gRoot._atTEndBytes,
    leaked_count: gRoot._atTEndBlocks }));`, context);
"""


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


def dh_view(path):
    done = subprocess.run(["node", "-e", LOAD_DHAT, DH_VIEW, path], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs("node")
@needs("valgrind")
@pytest.mark.parametrize("name", TARGETS)
def test_dhat_shows_the_totals_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    expected = totals(tape)
    path = export(tape, "dhat", tmp_path / "x.dhat.json")
    shown = dh_view(path)
    lifetimes = shown.pop("lifetimes")
    shown = {key.replace("leaked", "alive"): value for key, value in shown.items()}
    assert shown == {key: expected[key] for key in expected if key.split("_")[0] in ("allocated", "peak", "alive")}
    rows = json.loads(export(tape, "json", tmp_path / "x.json").read_text())
    at = rows["columns"].index
    end = rows["process"]["duration_ns"]
    real = sum((end if row[at("free_ns")] is None else row[at("free_ns")]) - row[at("alloc_ns")]
               for row in rows["allocations"]) / 1000
    data = json.loads(path.read_text())
    assert real - len(data["pps"]) <= lifetimes <= real  # each is rounded down
    for point in data["pps"]:
        assert point["mb"] >= max(point["gb"], point["eb"]) and point["mb"] <= point["tb"]
        assert point["fs"] and all(0 < frame < len(data["ftbl"]) for frame in point["fs"])
    shape = re.compile(r"0x[0-9a-f]+: .+ (\(.+:\d+\)|\(in .+\))$", re.DOTALL)
    assert data["ftbl"][0] == "[root]" and all(shape.match(text) for text in data["ftbl"][1:])


def test_dhat_knows_when_a_site_had_most(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    data = json.loads(export(tape, "dhat", tmp_path / "x").read_text())
    names.unlink()
    points = {data["ftbl"][point["fs"][0]].split(": ")[1].split(" (in")[0]: point
              for point in data["pps"]}
    receipt = points["receipt_print"]  # 3,000 bytes that became 6,000
    assert [receipt[key] for key in ("tb", "tbk", "mb", "mbk", "eb")] == [9000, 2, 6000, 1, 0]
    stock = points["stock_grow"]
    assert [stock[key] for key in ("mb", "mbk", "eb", "ebk")] == [65536, 8, 8192, 1]
    baskets = next(point for name, point in points.items() if "vector" in name or "basket" in name)
    assert [baskets[key] for key in ("tbk", "mb", "tl")] == [40, 100, 40 * 500]


def snapshots(path):
    """[(ms, bytes, kind, tree lines)]; checks that a tree adds up."""
    found = []
    for part in path.read_text().split("#-----------\nsnapshot=")[1:]:
        fields = dict(re.findall(r"^(\w+)=(\w+)$", part, re.MULTILINE))
        lines = re.findall(r"^ *n\d+: \d+ .*$", part, re.MULTILINE)
        assert bool(lines) == (fields["heap_tree"] != "empty")
        check_tree(lines)
        found.append((int(fields["time"]), int(fields["mem_heap_B"]), fields["heap_tree"], lines))
    return found


def check_tree(lines):
    nodes = [(len(line) - len(line.lstrip()), *map(int, re.match(r" *n(\d+): (\d+)", line).groups()))
             for line in lines]
    for i, (depth, children, size) in enumerate(nodes):
        below = []
        for other in nodes[i + 1:]:
            if other[0] <= depth:
                break
            if other[0] == depth + 1:
                below.append(other[2])
        assert len(below) == children
        assert sum(below) <= size


@needs("ms_print")
@pytest.mark.parametrize("name", TARGETS)
def test_massif_shows_the_totals_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    expected = totals(tape)
    path = export(tape, "massif", tmp_path / "x.massif")
    found = snapshots(path)
    assert max(size for _, size, _, _ in found) == expected["peak_bytes"]
    assert [size for _, size, kind, _ in found if kind == "peak"] == [expected["peak_bytes"]]
    assert found[-1][1] == expected["alive_bytes"]
    assert [ms for ms, *_ in found] == sorted(ms for ms, *_ in found)
    peak = next(lines for _, _, kind, lines in found if kind == "peak")
    assert sum(int(line.split(":")[1].split()[0]) for line in peak
               if line.startswith(" n")) == expected["peak_bytes"]
    printed = subprocess.run(["ms_print", "--threshold=0", path], capture_output=True, text=True,
                             check=True).stdout
    assert "(peak)" in printed and f"{expected['peak_bytes']:,}" in printed
    top = recording.report(tape, "top", "--frames=exact", "--sort", "peak", "--top", "3")["sites"]
    for site in top:
        if site["peak_bytes"] * 50 > expected["peak_bytes"]:
            assert site["function"].replace("#", ".") in printed


@needs("ms_print")
def test_massif_of_a_part(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    path = export(tape, "massif", tmp_path / "x", "--filter", "size < 4KiB")
    names.unlink()
    found = snapshots(path)
    assert max(size for _, size, _, _ in found) == 3000 + 500 + 60
    assert found[-1][1] == 500 + 60


@needs("ms_print")
def test_hostile_names(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    massif = export(tape, "massif", tmp_path / "x.massif")
    dhat = export(tape, "dhat", tmp_path / "x.dhat")
    expected = totals(tape)
    names.unlink()
    found = snapshots(massif)
    assert max(size for _, size, _, _ in found) == expected["peak_bytes"]
    printed = subprocess.run(["ms_print", massif], capture_output=True, check=True).stdout
    for name in (name.replace(b"#", b".").replace(b"\x1b", b"?") for name in HOSTILE):
        if b"\xff" not in name:
            assert name in printed
    texts = json.loads(dhat.read_text())["ftbl"]
    for name in HOSTILE:
        if b"\xff" not in name:
            assert any(name.decode() in text for text in texts)
    if shutil.which("node"):
        assert dh_view(dhat)["peak_bytes"] == expected["peak_bytes"]
