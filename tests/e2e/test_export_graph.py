"""Exports that are graphs of calls, read by graphviz and callgrind_annotate."""

import json
import re
import shutil
import subprocess

import pytest

import recording
from exporting import HOSTILE, export, totals, write_hostile
from test_reading import write_shop

TARGETS = ("frames", "hooks", "threads", "coroutines")
EVENTS = ("curB", "curBk", "totB", "totBk", "totFdB", "totFdBk")


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


def numbers(line):
    """The leading columns "1,234 (12.3%)  ." of a line, and what follows them."""
    found = []
    for _ in EVENTS:
        match = re.match(r"\s*(?:([\d,]+)(?: \([ \d.]+%\))?|(\.)) ", line)
        if not match:
            return None, line
        found.append(int(match[1].replace(",", "")) if match[1] else 0)
        line = line[match.end():]
    return found, line.strip()


def annotate(path, *words, inclusive=True):
    done = subprocess.run(["callgrind_annotate", f"--inclusive={'yes' if inclusive else 'no'}",
                           "--threshold=100", f"--show={','.join(EVENTS)}", path, *words],
                          capture_output=True, timeout=60, check=True, cwd="/")
    assert b"WARNING" not in done.stdout
    return done.stdout.decode("utf-8", "replace")


def program_totals(text):
    line = next(line for line in text.splitlines() if line.endswith("PROGRAM TOTALS"))
    return numbers(line)[0]


def functions(text):
    """{name: costs} of the table of functions."""
    found = {}
    for line in text.splitlines():
        costs, name = numbers(line)
        if costs and ":" in name and "PROGRAM TOTALS" not in name:
            found[re.sub(r"( \[[^\[\]]*\])?$", "", name.split(":", 1)[1])] = costs
    return found


def expected_costs(tape):
    of = totals(tape)
    return [of["alive_bytes"], of["alive_count"], of["allocated_bytes"], of["allocated_count"],
            of["allocated_bytes"] - of["alive_bytes"], of["allocated_count"] - of["alive_count"]]


@needs("callgrind_annotate")
@pytest.mark.parametrize("name", TARGETS)
def test_callgrind_shows_the_totals_of_the_tape(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    path = export(tape, "callgrind", tmp_path / "x.kcg")
    for inclusive in (False, True):
        assert program_totals(annotate(path, inclusive=inclusive)) == expected_costs(tape)
    shown = functions(annotate(path))
    done = recording.run([recording.memtape(), "sql", "--json", tape,
                          "SELECT function, count(*) AS n, max(allocated_bytes) AS bytes, "
                          "max(allocated_count) AS count FROM functions GROUP BY 1"])
    known = {row["function"]: row for row in json.loads(done.stdout) if row["n"] == 1}
    compared = [(costs[2:4], [known[function]["bytes"], known[function]["count"]])
                for function, costs in shown.items() if function in known]
    assert len(compared) > 3 and all(ours == theirs for ours, theirs in compared)


def lines_of(text, file):
    """{line: costs} of the annotated source of a file."""
    section = text.split(f"-- Auto-annotated source: {file}\n", 1)[1].split("\n-- Auto-", 1)[0]
    found, at = {}, 0
    for line in section.splitlines():
        skipped = re.match(r"-- line (\d+) -+$", line)
        costs, _ = numbers(line + " ")
        if found and re.fullmatch(r"-+", line):
            break  # what follows sums up
        if skipped:
            at = int(skipped[1])
        elif costs is not None:
            found[at], at = costs, at + 1
    return {line: costs for line, costs in found.items() if any(costs)}


@needs("callgrind_annotate")
@pytest.mark.parametrize("name", ("frames", "hooks", "threads", "deep"))
def test_callgrind_annotates_lines_as_memtape_does(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    path = export(tape, "callgrind", tmp_path / "x.kcg")
    report = recording.report(tape, "annotate", f"{name}.c", "--no-suppressions")
    wanted = {line["line"]: [line[f"{what}_{unit}"] for what in ("leaked", "allocated", "freed")
                             for unit in ("bytes", "count")] for line in report["lines"]}
    shown = lines_of(annotate(path), report["file"])
    assert shown == {line: costs for line, costs in wanted.items() if any(costs)} != {}


@needs("callgrind_annotate")
def test_callgrind_of_a_moment_and_of_a_part(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    path = export(tape, "callgrind", tmp_path / "x", "--at", "30.7ms")
    part = export(tape, "callgrind", tmp_path / "y", "--filter", "size < 1KiB")
    names.unlink()
    assert program_totals(annotate(path)) == [8 * 8192, 8, 8 * 8192 + 1100, 19, 1100, 11]
    assert program_totals(annotate(part)) == [560, 3, 4560, 43, 4000, 40]


@needs("callgrind_annotate")
def test_hostile_names_in_callgrind(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    path = export(tape, "callgrind", tmp_path / "x")
    expected = expected_costs(tape)
    names.unlink()
    text = annotate(path)
    assert program_totals(text) == expected
    for name in HOSTILE:
        if b"\xff" not in name:
            assert name.decode().replace("\x1b", "?") in text


def graph(path):
    done = subprocess.run(["dot", "-Tjson0", path], capture_output=True, timeout=60, check=True)
    assert not done.stderr
    return json.loads(done.stdout)


@needs("dot")
@pytest.mark.parametrize("name", TARGETS)
def test_dot_draws_what_top_says(name, tape, tmp_path):
    assert recording.run_bare([recording.target(name)], tape).returncode == 0
    path = export(tape, "dot", tmp_path / "x.dot", "--metric", "count")
    drawn = graph(path)
    count = totals(tape)["allocated_count"]
    assert f"{count:,}" in drawn["label"]
    boxes = {box["label"].split("\\n")[0]: box["label"].split("\\n")[1:] for box in drawn["objects"]}
    for site in recording.report(tape, "top", "--frames=exact", "--sort", "count", "--top", "10")["sites"]:
        if site["allocated_count"] * 100 > count:
            assert boxes[site["function"]][0].split(" (")[0] == f"{site['allocated_count']:,}"
    assert subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "x.svg", path], check=False).returncode == 0
    assert "<svg" in (tmp_path / "x.svg").read_text()


@needs("dot")
def test_hostile_names_in_dot(tmp_path):
    tape = tmp_path / "hostile.mtape"
    names = write_hostile(tape).names()
    drawn = graph(export(tape, "dot", tmp_path / "x.dot"))
    names.unlink()
    labels = "\n".join(box["label"] for box in drawn["objects"])
    for name in HOSTILE:
        if b"\xff" not in name and b"&amp;" not in name:
            assert name.decode().replace("\x1b", "?").replace("\\", "\\\\") in labels
    assert len(drawn["edges"]) == len(HOSTILE)
