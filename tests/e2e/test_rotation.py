"""record --max-size --rotate: a tape of bounded size. The same program recorded with and without it
leaves the same blocks, and what was left out is counted: together the same sums."""

import contextlib
import json
import os
import random
import re
import subprocess
import time

import pytest

import recording

SIZE = 16 << 20
ROUNDS = recording.times(full=5000000, standard=1500000)  # several rotations
OPTIONS = ["-q", "--no-compress"]
ROTATED = [*OPTIONS, "--max-size", "16m", "--rotate"]


def record(tape, rounds, options, program="service"):
    done = recording.run_recorded([recording.target(program), rounds], tape, options)
    assert (done.returncode, done.stderr) == (0, b"")
    kept_bytes, kept_count = map(int, done.stdout.split())
    return {"count": kept_count, "bytes": kept_bytes}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    tape = tmp_path_factory.mktemp("whole") / "whole.mtape"
    kept = record(tape, ROUNDS, OPTIONS)
    return tape, kept


@pytest.fixture(scope="module")
def rotated(tmp_path_factory):
    tape = tmp_path_factory.mktemp("rotated") / "rotated.mtape"
    record(tape, ROUNDS, ROTATED)
    return tape


def sql(tape, statement):
    done = recording.run([recording.memtape(), "sql", tape, statement, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def leaks(tape):
    return [(row["leaked_bytes"], row["leaked_count"], [frame["function"] for frame in row["stack"]])
            for row in recording.report(tape, "leaks")["sites"]]


def test_what_lives_is_the_same(whole, rotated):
    tape, kept = whole
    assert leaks(rotated) == leaks(tape) != []
    for one in (tape, rotated):
        assert recording.report(one, "summary")["leaked"] == kept
    live = ("select size, call, function, count(*) from allocations a join frames f on f.stack = a.stack "
            "and position = 0 where "
            "free_ns is null group by 1, 2, 3 order by 1, 2, 3")
    assert sql(rotated, live) == sql(tape, live)


def test_sums_are_the_same_with_what_was_left_out(whole, rotated):
    full, part = (recording.report(one, "summary") for one in (whole[0], rotated))
    out = part["rotated"]
    assert "rotated" not in full and out["rotations"] >= 2
    for member in ("allocations", "frees"):
        for unit in ("count", "bytes"):
            assert part[member][unit] + out[member][unit] == full[member][unit]
    for member in ("reallocs", "failed", "unknown_frees"):
        assert part[member] + out[member] == full[member]
    assert out["lost_frees"] == 0 and part["lost_events"] == 0
    assert part["threads"] <= full["threads"]
    peak = max(part["peak"], out["peak"], key=lambda peak: peak["bytes"])
    # Two threads: which of two events at nearly the same time came first is not always the same.
    assert abs(peak["bytes"] - full["peak"]["bytes"]) < 4000
    assert abs(peak["count"] - full["peak"]["count"]) < 2


@pytest.mark.parametrize("program,rounds,more", [("exchange", 500000, []), ("exchange", 500000, ["--live"]),
                                                 ("paths", 80000, [])])
def test_no_block_is_lost_between_threads_and_among_many_stacks(program, rounds, more, tape):
    kept = record(tape, rounds, [*ROTATED, *more], program)
    summary = recording.report(tape, "summary")
    assert summary["rotated"]["rotations"] >= 1 and tape.stat().st_size < SIZE
    assert summary["leaked"] == kept
    assert summary["lost_events"] == summary["unknown_frees"] == summary["rotated"]["unknown_frees"] == 0
    quality = summary["quality"]
    assert quality["truncated_stacks"] == quality["damaged_places"] == quality["missing_chunks"] == 0
    found = sql(tape, "select s.depth, count(*) as n from allocations a join stacks s on s.id = a.stack "
                      "where a.size in (77, 999) and a.leaked group by 1")
    if program == "paths":  # each with all its frames
        assert len(found) == 1 and found[0]["depth"] > 60 and found[0]["n"] == kept["count"]


def test_reports_say_from_when_on_there_is_detail(rotated):
    out = recording.report(rotated, "summary")["rotated"]
    words = recording.report(rotated, "summary")["quality"]["edits"]
    assert len(words) == 1 and words[0].startswith(f"rotated, without {out['allocations']['count']:,} allocations")
    for what in ("summary", "top", "tree", "temporary", "sizes", "lifetimes", "recording"):
        text = recording.run([recording.memtape(), "report", rotated, what]).stdout.decode()
        assert "rotated, without " in text, what
    later = sql(rotated, f"select count(*) as n from allocations where free_ns > {out['from_ns']}")
    assert later[0]["n"] > 1000


def test_a_rotated_tape_can_be_written_anew(rotated, tmp_path):
    before = recording.report(rotated, "summary")
    for command in (["repack"], ["strip", "--min-lifetime", "1ns"], ["anonymise"]):
        other = tmp_path / command[0]
        done = recording.run([recording.memtape(), *command, rotated, "-o", other])
        assert done.returncode == 0, done.stderr
        after = recording.report(other, "summary")
        for member in ("leaked", "allocations", "frees", "peak", "threads"):
            assert after[member] == before[member], (command, member)
        assert after["rotated"] == before["rotated"]
        assert [row[:2] for row in leaks(other)] == [row[:2] for row in leaks(rotated)]


@contextlib.contextmanager
def started(tape, rounds, options=ROTATED):
    process = subprocess.Popen(
        [recording.memtape(), "record", *options, "-o", tape, recording.target("service"), str(rounds)],
        env=recording.clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def wait_for(condition):
    for _ in range(20000):
        with contextlib.suppress(FileNotFoundError):
            if condition():
                return condition()
        time.sleep(0.001)
    raise AssertionError("it has not happened in 20 s")


def held_bytes(pid, folder):
    """Of all files of a process that are in this folder, those without a name too."""
    held = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        link = f"/proc/{pid}/fd/{name}"
        with contextlib.suppress(FileNotFoundError):
            path = os.readlink(link)
            if re.fullmatch(rf"{folder}/(tape|tape.new|#\d+ \(deleted\))", path):
                status = os.stat(link)
                held[status.st_ino] = max(status.st_size, status.st_blocks * 512)
    return sum(held.values())


def test_files_are_never_larger_than_wanted(tmp_path):
    most, files = 0, set()
    with started(tmp_path / "tape", ROUNDS) as process:
        while process.poll() is None:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                most = max(most, held_bytes(process.pid, tmp_path))
                files.add((tmp_path / "tape").stat().st_ino)
            time.sleep(0.002)
    assert process.returncode == 0
    assert len(files) >= 2  # one after the other
    assert SIZE / 3 < most <= SIZE
    assert os.listdir(tmp_path) == ["tape"]


def test_a_killed_collector_leaves_one_whole_tape(tmp_path):
    rotations = 0
    for i in range(recording.times(full=40, standard=2)):
        tape = tmp_path / f"tape{i}"
        with started(tape, 2500000) as process:
            before = wait_for(lambda: tape.stat().st_size > 1 << 20 and tape.stat().st_ino)
            if i % 2 == 0:  # about when the new file takes the place of the old one
                wait_for(lambda: tape.stat().st_ino != before)
            time.sleep(random.uniform(0, 0.5))
            assert process.poll() is None
            process.kill()
            output = process.stdout.read()  # the program goes on to its end
        kept_bytes, kept_count = map(int, output.split())
        assert b"sound" in recording.run([recording.memtape(), "verify", tape]).stdout
        summary = recording.report(tape, "summary")
        assert summary["leaked"] == {"count": kept_count, "bytes": kept_bytes}
        assert summary["lost_events"] == 0 and summary["unknown_frees"] == 0
        assert set(os.listdir(tmp_path)) == {tape.name, tape.name + ".spool"}
        rotations += "rotated" in summary
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)
    assert rotations > 0


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
                      capture_output=True).returncode:
        pytest.skip("no permission to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_ends_recording_and_leaves_the_tape(tmp_path):
    with small_disk(tmp_path / "disk", "12m") as disk:  # the spool has some of it
        done = recording.run([recording.memtape(), "record", *ROTATED[1:], "--no-summary", "-o", disk / "tape",
                              recording.target("service"), "1500000"])
        assert done.returncode == 0 and len(done.stdout.split()) == 2
        assert b"No space left" in done.stderr
        summary = recording.report(disk / "tape", "summary")
        assert summary["quality"]["lost_events"] > 0 and "No space left" in summary["quality"]["fault"]
        assert b"sound" in recording.run([recording.memtape(), "verify", disk / "tape"]).stdout


def test_recording_ends_where_nothing_more_can_be_left_out(tape):
    done = recording.run_recorded([recording.target("hoard"), "3000000"], tape, ROTATED)
    summary = recording.report(tape, "summary")
    kept_count = int(done.stdout.split()[1])
    assert done.returncode == 0 and SIZE * 0.9 < tape.stat().st_size <= SIZE
    words = f"nothing more can be left out of the tape (more than {SIZE // 4} bytes would be left"
    assert words in done.stderr.decode() and words in summary["quality"]["fault"], done.stderr
    assert summary["lost_events"] > 0 and 0 < summary["leaked"]["count"] < kept_count
    assert b"sound" in recording.run([recording.memtape(), "verify", tape]).stdout


def test_marks_samples_and_threads_are_bounded_and_counted(rotated):
    out = recording.report(rotated, "summary")["rotated"]
    assert out["records"] > 0
    names = {row["name"] for row in recording.report(rotated, "threads")["threads"]}
    assert "service" in names
    assert recording.report(rotated, "rss")["samples"]


@pytest.mark.parametrize("options,words", [
    (["--rotate"], b"--rotate needs --max-size"), (["--rotate", "--max-size", "15m"], b"at least 16m"),
    (["--rotate", "--max-size", "16m", "--staleness"], b"--staleness"),
])
def test_what_cannot_be_rotated_is_refused(options, words, tape):
    done = recording.run_recorded(["/bin/true"], tape, options)
    assert done.returncode == 2 and words in done.stderr
