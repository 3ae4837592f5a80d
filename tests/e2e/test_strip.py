"""`memtape strip`: what is on the new tape is what the rows of the old one say, and nothing else."""

import json
import os
import resource
import signal
import subprocess
import time
from collections import defaultdict

import pytest

import recording

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

PROGRAM = """
import json, threading, sys
kept = []
def work(n):
    for i in range(n):
        text = json.dumps({"a": list(range(i % 40)), "b": "x" * (i % 5000)})
        if i % 50 == 0:
            kept.append(bytearray(1000 + i))
        if i % 300 == 299:
            kept.pop(0)
threads = [threading.Thread(target=work, args=(1500,)) for _ in range(3)]
[t.start() for t in threads]
work(1500)
[t.join() for t in threads]
grown = []
for i in range(20000):
    grown.append(i)
"""
MS = 1_000_000


def memtape(*args, **more):
    return recording.run([recording.memtape(), *args], **more)


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    path = tmp_path_factory.mktemp("strip") / "python.mtape"
    done = recording.run_recorded([recording.which("python3"), "-c", PROGRAM], path)
    assert done.returncode == 0
    return path


def stripped(tape, out, *options):
    done = memtape("strip", tape, "-o", out, *options)
    assert done.returncode == 0, done.stderr.decode()
    assert memtape("verify", out).returncode == 0
    return out


def chains_of(rows):
    """Rows of blocks that realloc made of each other."""
    by_id, chains = {row["id"]: row for row in rows}, defaultdict(list)
    first = {}
    for row in rows:
        old = row["realloc_of"]
        first[row["id"]] = first[old] if old is not None else row["id"]
        chains[first[row["id"]]].append(row)
    assert all(row["realloc_of"] is None or row["realloc_of"] in by_id for row in rows)
    return list(chains.values())


def end_of(chain):
    return chain[-1]["free_ns"]


def told(rows):
    """Everything but the numbers of rows, and the peak, which may be another."""
    return sorted(json.dumps({key: value for key, value in row.items()
                              if key not in ("id", "realloc_of", "at_peak")}, sort_keys=True)
                  for row in rows)


def survivors(tape, keeps):
    chains = chains_of(list(recording.rows(tape)))
    return [row for chain in chains if keeps(chain) for row in chain], sum(
        len(chain) for chain in chains if not keeps(chain))


def is_long(chain):
    return end_of(chain) is None or end_of(chain) - chain[0]["alloc_ns"] >= MS


def test_what_lived_shortly_is_gone_and_all_else_is_as_it_was(tape, tmp_path):
    out = stripped(tape, tmp_path / "long.mtape", "--min-lifetime", "1ms")
    wanted, gone = survivors(tape, is_long)
    assert gone > len(wanted) > 100
    assert any(row["temporary"] for row in wanted) and not all(row["temporary"] for row in wanted)
    assert told(recording.rows(out)) == told(wanted)  # stacks, threads, whether temporary, too
    assert out.stat().st_size < tape.stat().st_size
    before, after = (recording.report(path, "summary") for path in (tape, out))
    assert before["leaked"] == after["leaked"]
    assert before["allocations"]["count"] - after["allocations"]["count"] == gone
    edit = json.loads(memtape("info", "--json", out).stdout)["edits"][0]
    assert edit["stripped_allocations"] == gone
    assert edit["stripped_bytes"] == (before["allocations"]["bytes"]
                                      - after["allocations"]["bytes"])


def live_course(rows):
    events = [(row["alloc_ns"], 1, row["size"]) for row in rows]
    events += [(row["free_ns"], 0, -row["size"]) for row in rows if row["free_ns"] is not None]
    live = most = 0
    for _, _, change in sorted(events):
        live += change
        most = max(most, live)
    return most


def test_how_much_is_hidden_is_measured(tape, tmp_path):
    out = stripped(tape, tmp_path / "long.mtape", "--min-lifetime", "1ms")
    gone = [row for chain in chains_of(list(recording.rows(tape))) if not is_long(chain)
            for row in chain]
    edit = json.loads(memtape("info", "--json", out).stdout)["edits"][0]
    # a realloc is one moment on the tape, two in rows of the same time
    assert edit["hidden_bytes"] == pytest.approx(live_course(gone), rel=0.2)
    before, after = (recording.report(path, "summary")["peak"]["bytes"] for path in (tape, out))
    assert after <= before <= after + edit["hidden_bytes"]


def test_reports_say_what_was_left_out(tape, tmp_path):
    out = stripped(tape, tmp_path / "long.mtape", "--min-lifetime", "1ms", "-q")
    for what in ("summary", "top", "leaks", "tree", "threads", "timeline", "lifetimes"):
        text = memtape("report", out, what).stdout.decode()
        assert "freed in less than 1.00 ms" in text, what
        assert "stripped" not in memtape("report", tape, what).stdout.decode()
    assert recording.report(out, "summary")["quality"]["edits"]
    assert "edits" not in recording.report(tape, "summary")["quality"]
    assert "stripped of" in memtape("info", out).stdout.decode()
    assert "Edited" not in memtape("info", tape).stdout.decode()


def window(tape):
    duration = recording.report(tape, "summary")["duration_ns"]
    return f"{duration * 3 // 10}ns", f"{duration * 6 // 10}ns", duration * 3 // 10, duration * 6 // 10


def test_a_cut_has_what_was_alive_in_it(tape, tmp_path):
    begin, end, begin_ns, end_ns = window(tape)
    out = stripped(tape, tmp_path / "cut.mtape", "--from", begin, "--until", end)
    wanted, gone = survivors(tape, lambda chain: chain[0]["alloc_ns"] <= end_ns and (
        end_of(chain) is None or end_of(chain) >= begin_ns))
    assert gone > 100 and len(wanted) > 100
    assert told(recording.rows(out)) == told(wanted)


def test_reports_of_a_cut_are_those_of_the_whole(tape, tmp_path):
    begin, end, _, _ = window(tape)
    out = stripped(tape, tmp_path / "cut.mtape", "--from", begin, "--until", end)
    reports = ("allocations", "lifetimes", "sizes", "threads", "timeline", "reallocs",
               "leaks")  # the peak is the cut's own
    for what in reports:
        both = [recording.report(path, *what.split(), "--from", begin, "--until", end)
                for path in (tape, out)]
        if what == "reallocs":  # a site shows one of its stacks
            for answer in both:
                [site.pop("stack") for site in answer["sites"]]
        assert without(both[0]) == without(both[1]), what
    for moment in (begin, end):
        both = [sorted((site["live_bytes"], site["live_count"], site["function"])
                       for site in recording.report(path, "at", moment)["sites"]
                       if site["live_count"]) for path in (tape, out)]
        assert both[0] and both[0] == both[1]
    both = [recording.report(path, "between", begin, end) for path in (tape, out)]
    for answer in both:
        [site.pop("stack", None) for site in answer["sites"]]
    assert without(both[0]) == without(both[1])


def without(value):
    """What is about the file, or counts rows of the whole tape, is left out."""
    gone = ("quality", "id", "realloc_of", "first_allocation", "last_allocation", "tape", "at_peak", "peak", "peak_bytes", "peak_count",
            "share")
    if isinstance(value, dict):
        return {key: without(item) for key, item in value.items() if key not in gone}
    if isinstance(value, list):
        return sorted((without(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def test_a_filter_keeps_whole_chains(tape, tmp_path):
    out = stripped(tape, tmp_path / "large.mtape", "--filter", "size >= 4000")
    wanted, gone = survivors(tape, lambda chain: any(row["size"] >= 4000 for row in chain))
    assert gone > 100 and len(wanted) > 10
    assert told(recording.rows(out)) == told(wanted)
    assert "size >= 4000" in memtape("report", out).stdout.decode()


def test_stacks_of_frees_can_go(tape, tmp_path):
    out = stripped(tape, tmp_path / "bare.mtape", "--no-free-stacks")
    before, after = list(recording.rows(tape)), list(recording.rows(out))
    assert any(row["free_stack"] for row in before)
    assert not any(row["free_stack"] for row in after)
    assert [{**row, "free_stack": None} for row in before] == [
        {**row, "free_stack": None} for row in after]
    assert out.stat().st_size < tape.stat().st_size
    info = json.loads(memtape("info", "--json", out).stdout)
    assert info["tape"]["free_stacks"] is False
    assert "without stacks of frees" in memtape("report", out).stdout.decode()


def test_stripping_again_takes_nothing_more(tape, tmp_path):
    once = stripped(tape, tmp_path / "a.mtape", "--min-lifetime", "1ms")
    again = stripped(once, tmp_path / "b.mtape", "--min-lifetime", "1ms")
    assert told(recording.rows(once)) == told(recording.rows(again))
    edits = json.loads(memtape("info", "--json", again).stdout)["edits"]
    assert [edit["stripped_allocations"] > 0 for edit in edits] == [True, False]


def test_a_raw_tape_can_be_stripped(tmp_path):
    tape = tmp_path / "raw.mtape"
    recording.run_bare([recording.which("python3"), "-c", PROGRAM], tape)
    out = stripped(tape, tmp_path / "long.mtape", "--min-lifetime", "1ms")
    assert told(recording.rows(out)) == told(survivors(tape, is_long)[0])


def test_what_makes_no_sense_is_refused(tape, tmp_path):
    out = tmp_path / "out"
    for options, words in (((), "nothing to remove"),
                           (("--min-lifetime", "often"), "--min-lifetime"),
                           (("--min-lifetime", "0s"), "above 0"),
                           (("--from", "90%", "--until", "10%"), "is later than"),
                           (("--filter", "sise > 1"), "size"),
                           (("--min-lifetime", "1ms", "--level", "20"), "--level")):
        done = memtape("strip", tape, "-o", out, *options)
        assert done.returncode == 2 and words in done.stderr.decode(), options
    assert memtape("strip", tape, "--min-lifetime", "1ms").returncode == 2
    assert memtape("strip", tape, "-o", tape, "-f", "--min-lifetime", "1ms").returncode == 2
    assert memtape("strip", tape, "-o", os.devnull, "-f", "--min-lifetime", "1ms").returncode == 2
    out.write_text("precious")
    assert memtape("strip", tape, "-o", out, "--min-lifetime", "1ms").returncode == 2
    assert out.read_text() == "precious"
    assert memtape("strip", tape, "-f", "-o", out, "--min-lifetime", "1ms").returncode == 0


def test_a_damaged_tape_gives_what_can_be_read(tape, tmp_path):
    bad, out = tmp_path / "bad.mtape", tmp_path / "out.mtape"
    content = bytearray(tape.read_bytes())
    content[len(content) // 2] ^= 0xFF
    bad.write_bytes(content)
    done = memtape("strip", bad, "-o", out, "--min-lifetime", "1ms")
    assert done.returncode == 1 and b"damaged in" in done.stdout
    assert memtape("verify", out).returncode == 0
    bad.write_text("no tape")
    done = memtape("strip", bad, "-o", tmp_path / "none", "--min-lifetime", "1ms")
    assert done.returncode == 1 and b"bad.mtape" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_a_full_disk_leaves_nothing_behind(command, tape, tmp_path):
    source = tmp_path / "source.mtape"
    source.write_bytes(tape.read_bytes())
    folder = tmp_path / "out"
    folder.mkdir()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    options = ["--from", "1%"] if command == "strip" else []
    done = subprocess.run([recording.memtape(), command, source, "-o", folder / "new.mtape", *options],
                          preexec_fn=limit, capture_output=True)
    assert done.returncode == 1 and b"new.mtape" in done.stderr
    assert os.listdir(folder) == []
    assert source.read_bytes() == tape.read_bytes()


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_killed_at_any_time_no_half_tape_has_the_name(command, tape, tmp_path):
    options = ["--from", "1%"] if command == "strip" else ["-l", "19"]
    for step in range(8):
        out = tmp_path / f"{step}.mtape"
        process = subprocess.Popen([recording.memtape(), command, tape, "-o", out, *options],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.005 * step)
        process.kill()
        process.wait()
        assert not out.exists() or memtape("verify", out).returncode == 0


def test_repacking_a_packed_tape_again_changes_nothing(tape, tmp_path):
    one, two = tmp_path / "one.mtape", tmp_path / "two.mtape"
    before = tape.read_bytes()
    assert memtape("repack", tape, "-o", one).returncode == 0
    assert memtape("repack", one, "-o", two).returncode == 0
    assert memtape("verify", two).returncode == 0
    assert one.read_bytes() == two.read_bytes()
    assert tape.read_bytes() == before
    assert recording.report(tape, "summary") == recording.report(one, "summary")
