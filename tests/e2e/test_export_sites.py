"""What each consumer reads back of the ten sites with most is what memtape says of them, in every
format that has sites; and hostile names in those that have no test of it elsewhere.

Not here: replay, memusage and trace-event have no sites, html is report --html, dot draws what is large
(test_export_graph.py), massif leaves out what is small (test_export_valgrind.py).
"""

import collections
import csv
import json
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as xml

import pytest

import recording
import test_export_firefox
import test_export_graph
import test_export_heaptrack
import test_export_pprof
import test_export_sums
from exporting import HOSTILE, export, totals, write_hostile
from test_flamegraph import data
from test_reading import write_shop

ALL = ("allocated_bytes", "allocated_count", "peak_bytes", "peak_count", "leaked_bytes", "leaked_count",
       "temporary_bytes", "temporary_count")


def summed(pairs):
    """{function: {what: sum}} of (function, {what: value})."""
    found = collections.defaultdict(collections.Counter)
    for function, values in pairs:
        found[function].update(values)
    return found


def read_csv(tape, path):
    with open(export(tape, "csv", path), newline="", encoding="utf-8") as text:
        return [(row["function"], {what: int(row[what]) for what in ALL}) for row in csv.DictReader(text)]


def read_speedscope(tape, path):
    frames, profiles, _ = test_export_sums.speedscope(export(tape, "speedscope", path.with_suffix(".json")))
    return [(frames[sample[-1]]["name"], {what: weight})
            for what, profile in zip(test_export_sums.SPEEDSCOPE, profiles)
            for sample, weight in zip(profile["samples"], profile["weights"])]


def read_folded(tape, path):
    found = []
    for metric, what in (("peak", "peak_bytes"), ("leaked", "leaked_bytes"), ("allocated", "allocated_bytes"),
                         ("count", "allocated_count"), ("temporary", "temporary_count")):
        for line in export(tape, "folded", path, "--metric", metric).read_text().splitlines():
            stack, value = line.rsplit(" ", 1)
            found.append((stack.rsplit(";", 1)[-1], {what: int(value)}))
    return found


def read_pprof(tape, path):
    types, _, samples = test_export_pprof.read(export(tape, "pprof", path))
    assert types == test_export_pprof.TYPES
    whats = ("allocated_count", "allocated_bytes", "leaked_count", "leaked_bytes", "peak_count", "peak_bytes",
             "temporary_count", "temporary_bytes")
    return [(stack[0], dict(zip(whats, values))) for stack, values in samples]


def read_callgrind(tape, path):
    if not shutil.which("callgrind_annotate"):
        pytest.skip("callgrind_annotate is not installed")
    text = test_export_graph.annotate(export(tape, "callgrind", path), inclusive=False)
    whats = ("leaked_bytes", "leaked_count", "allocated_bytes", "allocated_count")
    return [(name.removesuffix(" [[jit]]").removesuffix("'2"), dict(zip(whats, costs)))
            for name, costs in test_export_graph.functions(text).items()]


def read_dhat(tape, path):
    file = json.loads(export(tape, "dhat", path).read_text())
    keys = {"tb": "allocated_bytes", "tbk": "allocated_count", "gb": "peak_bytes", "gbk": "peak_count",
            "eb": "leaked_bytes", "ebk": "leaked_count"}
    return [(file["ftbl"][point["fs"][0]].split(": ", 1)[1].rsplit(" (", 1)[0],
             {what: point[key] for key, what in keys.items()}) for point in file["pps"]]


def read_firefox(tape, path):
    _, thread, names = test_export_firefox.read(export(tape, "firefox", path))
    events = thread["nativeAllocations"]
    return [(names[stack], {"allocated_bytes": weight})  # malloc(0) has no weight
            for stack, weight in zip(events["stack"], events["weight"]) if weight > 0]


def read_heaptrack(tape, path):
    sites, *_ = test_export_heaptrack.read(export(tape, "heaptrack", path))
    return [(name, {"allocated_bytes": site[0], "allocated_count": site[1], "leaked_bytes": site[2]})
            for name, site in sites.items()]


def read_heaptrack_print(tape, path):
    """heaptrack's own reader, whose folded stacks end in what allocated."""
    if not shutil.which("heaptrack_print"):
        pytest.skip("heaptrack is not installed")
    found = []
    file = export(tape, "heaptrack", path.with_suffix(".zst"))
    for cost, what in (("allocations", "allocated_count"), ("leaked", "leaked_bytes"), ("peak", "peak_bytes")):
        out = path.with_suffix(".folded")
        subprocess.run(["heaptrack_print", "-f", file, "-p", "0", "-a", "0", "-T", "0", "-l", "0",
                        "--disable-builtin-suppressions", "-F", out, "--flamegraph-cost-type", cost],
                       check=True, capture_output=True, timeout=60)
        for line in out.read_text().splitlines():
            stack, value = line.rsplit(" ", 1)
            leaf = stack.rstrip(";").rsplit(";", 1)[-1]  # "function (file)"
            found.append((re.sub(r" \([\w.+-]+\)$", "", leaf), {what: int(value)}))
    return found


def read_json(tape, path):
    file = json.loads(export(tape, "json", path).read_text())
    at = file["columns"].index
    found = []
    for row in file["allocations"]:
        frame = file["stacks"][row[at("stack")]]["frames"][0]
        found.append((frame["function"], {"allocated_bytes": row[at("size")], "allocated_count": 1,
                                          "leaked_bytes": row[at("size")] * (row[at("free_ns")] is None)}))
    return found


def read_sqlite(tape, path):
    with sqlite3.connect(export(tape, "sqlite", path)) as database:
        return [(row[0], {"allocated_bytes": row[1], "allocated_count": row[2]}) for row in database.execute(
            "SELECT function, self_allocated_bytes, self_allocated_count FROM functions")]


def read_flamegraph(tape, path):
    found = []
    for metric, what in (("peak", "peak_bytes"), ("leaked", "leaked_bytes"), ("allocated", "allocated_bytes")):
        picture = data(xml.parse(export(tape, "flamegraph", path, "--metric", metric)).getroot())
        found += [(picture["names"][frame[1]][0], {what: frame[5]}) for frame in picture["frames"][1:]]
    return found


READERS = {name.removeprefix("read_"): reader for name, reader in sorted(globals().items())
           if name.startswith("read_")}


# What a format does to characters that would break its readers; all others are as they are.
CONTROL = {0x1b: "?"}
SPELLED = {"folded": {ord(";"): ":"} | CONTROL, "callgrind": CONTROL, "pprof": CONTROL}
FRAMES = {"heaptrack": "all", "json": "all", "sqlite": "my"}  # others have what libraries allocate


def top(tape, what, *options):
    """{function: value} of the ten functions with most of it."""
    sort = {"allocated_count": "count", "temporary_count": "temporary"}.get(what, what.split("_", maxsplit=1)[0])
    values = collections.Counter()
    for site in recording.report(tape, "top", "--sort", sort, "--top", "0", *options)["sites"]:
        values[site["function"]] += site[what]
    return {function: value for function, value in values.most_common(10) if value}


def same(tape, found, reader=None):
    """How many values were the same, of all metrics that the format has."""
    count = 0
    for what in {what for values in found.values() for what in values}:
        for function, value in top(tape, what, f"--frames={FRAMES.get(reader, 'exact')}").items():
            assert found[function.translate(SPELLED.get(reader, {}))][what] == value, (what, function)
            count += 1
    return count


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ("frames", "hooks"))
def test_the_ten_sites_with_most(name, reader, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    assert same(tape, summed(READERS[reader](tape, tmp_path / "export")), reader) >= 3


@pytest.mark.parametrize("reader", sorted(READERS.keys() - {"heaptrack_print"}))  # which cuts templates
def test_the_sites_of_a_tape_of_which_all_is_known(reader, tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    try:
        assert same(tape, summed(READERS[reader](tape, tmp_path / "export")), reader) >= 3
    finally:
        names.unlink()


@pytest.mark.parametrize("reader", ("csv", "folded", "heaptrack", "json", "pprof", "flamegraph", "sqlite"))
def test_hostile_names_are_read_back_with_their_bytes(reader, tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    try:
        found = summed(READERS[reader](tape, tmp_path / "export"))
        of = totals(tape)
    finally:
        names.unlink()
    for i, name in enumerate(HOSTILE):
        if b"\xff" in name:
            spelled = next(function for function in found if function.endswith("not utf-8"))
        else:
            spelled = name.decode().translate(SPELLED.get(reader, {}))
        assert found[spelled]["allocated_bytes"] == 1000 + i, name
    assert sum(site["allocated_bytes"] for site in found.values()) == of["allocated_bytes"]


READ_PPROF = """
const { Profile } = require("pprof-format");
const profile = Profile.decode(require("zlib").gunzipSync(require("fs").readFileSync(process.argv[1])));
const text = (i) => profile.stringTable.strings[Number(i)];
const functions = new Map(profile.function.map((f) => [String(f.id), text(f.name)]));
const locations = new Map(profile.location.map((l) => [String(l.id), l.line.map((line) => functions.get(String(line.functionId)))]));
console.log(JSON.stringify({ types: profile.sampleType.map((t) => text(t.type)), samples: profile.sample.map((s) =>
	[locations.get(String(s.locationId[0]))[0], s.value.map(Number)]) }));
"""


def npm_fetch(folder, *packages):
    """Readers by others, fetched if they can be."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("no npm here")
    fetched = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0",
                              "--fetch-timeout=20000", *packages], cwd=folder, capture_output=True, timeout=120, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"npm cannot fetch {packages[0]}")


def test_pprof_is_what_npm_reads(tape, tmp_path):
    """pprof-format, by which tools of Node.js read such files."""
    npm_fetch(tmp_path, "pprof-format@2.1.0")
    assert recording.run_bare([recording.target("hooks")], tape).returncode == 0
    path = export(tape, "pprof", tmp_path / "x.pb.gz")
    done = subprocess.run(["node", "-e", READ_PPROF, path], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    of = totals(tape)
    whats = ("allocated_count", "allocated_bytes", "leaked_count", "leaked_bytes", "peak_count", "peak_bytes",
             "temporary_count", "temporary_bytes")
    assert seen["types"] == test_export_pprof.TYPES
    assert [sum(column) for column in zip(*(values for _, values in seen["samples"]))] == [of[what] for what in whats]
    assert same(tape, summed((function, dict(zip(whats, values))) for function, values in seen["samples"])) > 10


HOLD_TO_SCHEMA = """
const schema = require("speedscope/dist/release/file-format-schema.json");
const holds = new (require("ajv"))({ schemaId: "auto" }).compile(schema);
const file = JSON.parse(require("fs").readFileSync(process.argv[1]));
console.log(JSON.stringify({ right: holds(file), errors: holds.errors, wrong: holds({ ...file, profiles: [{ type: "sampled" }] }) }));
"""


def test_speedscope_is_what_its_schema_says(tape, tmp_path):
    """The schema that speedscope ships, held by ajv."""
    npm_fetch(tmp_path, "speedscope@1.25.0", "ajv@6.15.0")
    assert recording.run_bare([recording.target("hooks")], tape).returncode == 0
    path = export(tape, "speedscope", tmp_path / "x.speedscope.json")
    done = subprocess.run(["node", "-e", HOLD_TO_SCHEMA, path], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"right": True, "errors": None, "wrong": False}


def test_what_has_no_sites_keeps_its_syntax(tmp_path):
    """The program's name is in trace events; replay has no names at all."""
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    try:
        trace = json.loads(export(tape, "trace-event", tmp_path / "x.json").read_text())
        lines = export(tape, "replay", tmp_path / "x.replay").read_text().splitlines()
    finally:
        names.unlink()
    assert {"hos\"tile", "hostile"} & {event["args"].get("name") for event in trace["traceEvents"]
                                       if event["ph"] == "M"}
    assert len(lines) == 1 + len(HOSTILE) + 1
