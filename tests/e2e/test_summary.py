"""The summary that is made while a program is recorded is the one that its tape gives."""

import re

import pytest

import recording
import targets

pytestmark = pytest.mark.skipif(not recording.have_reader() or not recording.have_library(),
                                reason="built without memtape or its recorder")

HOW = re.compile(r"^memtape: the summary (was made while recording|is made from the tape: (.*))", re.M)
SMALL = 20_000  # bytes: played at the end, and never too late
DEEP = {"abyss"}  # few events, and many chunks of stacks, which pack well
# What a busy machine does, or a program with much memory or many threads.
REASONS = {"it could not keep up", "no processor was idle", "an event came late", "it needs much memory",
           "too many threads"}


def record(args, tape, *options, **more):
    """How the summary was made (None: while recording), and its text."""
    done = recording.run_recorded(args, tape, options=["-v", "-f", *options], **more)
    text = done.stderr.decode(errors="replace")
    how = HOW.search(text)
    assert how, text
    return how[2], text[how.end():].split("\n\n", 1)[1], done


def report(tape):
    done = recording.run([recording.memtape(), "report", tape, "summary", "--top", "3"])
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="replace")


def check_same(args, tape, *options, **more):
    why_not, summary, done = record(args, tape, *options, **more)
    expected = report(tape)
    assert summary.startswith(expected), why_not
    is_small = tape.stat().st_size < SMALL and args[0].name not in DEEP
    assert why_not is None or (not is_small and why_not in REASONS), why_not
    return why_not, summary, done


def program(name):
    path = recording.target(name)
    if not path.exists():
        pytest.skip(f"{name} was not built")
    return path


@pytest.mark.parametrize("case", targets.all_cases(), ids=lambda case: case.id)
def test_of_every_target(case, tape):
    check_same([program(case.name), *case.args], tape)


@pytest.mark.parametrize("options", [["--no-stacks"], ["--no-free-stacks"], ["--latency"], ["--no-compress"],
                                     ["--buffer", "256k"], ["--level", "9"]], ids=" ".join)
def test_with_options(options, tape):
    check_same([program("threads"), "eight"], tape, *options)
    check_same([program("sites")], tape, *options)
