"""What a program asks its recorder for while it runs: leak scans, looks at resident memory; and names of threads."""

import time

import pytest

import recording


def scans(tape):
    """The blocks that are definitely lost, by scan, by their sizes."""
    found = []
    for number in (1, 2):
        answer = recording.report(tape, "leak-classes", "--scan", str(number))
        found.append({loss["bytes"] // loss["blocks"] for loss in answer["records"] if loss["class"] == "definitely_lost"})
    return found


@pytest.mark.parametrize("variant", ["", "-O0", "-clang"])
@pytest.mark.parametrize("options", [[], ["--leak-scan"]])
def test_a_program_has_itself_scanned(tape, variant, options):
    target = recording.target("asks" + variant)
    if not target.exists():
        pytest.skip("not built")
    done = recording.run_recorded([target], tape, options=["-q", *options])
    assert (done.returncode, done.stdout) == (0, b"1 1 errno 1234\n"), done.stderr
    first, second = scans(tape)
    assert 1234 in first and 4321 not in first
    assert {1234, 4321} <= second
    assert 777 not in first | second


def test_snapshots_and_names_are_on_the_tape(tape):
    recording.run_recorded([recording.target("asks")], tape, options=["-q"])
    marks = {mark["name"]: mark for mark in recording.report(tape, "marks")["marks"]}
    assert set(marks) == {"snapshot", "three more"}
    assert "work" in marks["three more"]["stack"]
    names = [thread["name"] for thread in recording.report(tape, "threads")["threads"]]
    assert "a thread with quite a long name" in names and "asks" in names
    looks = [look for look in recording.report(tape, "rss")["samples"] if look["measured"]]
    assert any(look["ns"] >= marks["three more"]["ns"] and look["rss_bytes"] > looks[0]["rss_bytes"] + (3 << 20) for look in looks)


def test_a_scan_that_cannot_be_made_is_said(tape):
    """Not for a forked child, nor while another traces the program."""
    begin = time.monotonic()
    assert recording.run_recorded([recording.target("asks"), "traced"], tape, options=["-q"]).answer() == (0, b"0 1\n", b"")
    assert time.monotonic() - begin < 4


def test_nobody_who_could_be_asked_is_no_trouble(tape):
    target = recording.target("asks")
    plain, bare = recording.run_plain([target]), recording.run_bare([target], tape)
    assert plain.answer() == bare.answer() == (0, b"0 0 errno 1234\n", b"")
    assert [mark["name"] for mark in recording.report(tape, "marks")["marks"]] == ["snapshot", "three more"]


def test_a_collector_that_was_killed_is_not_waited_for(tape):
    begin = time.monotonic()
    done = recording.run_recorded([recording.target("asks"), "killed"], tape, options=["-q"])
    assert done.returncode == -9 and done.stdout == b"0 0 errno 1234\n"
    assert time.monotonic() - begin < 4
