"""Totals against other tools' on programs that do the same in every run."""

import re
import shutil
import subprocess

import pytest

import recording
from test_counts import fold, real_programs, tape_totals

TARGETS = ("frames", "jumps", "coroutines", "hooks")
PROGRAMS = ("cc1", "sqlite3")


def command(name, tmp_path):
    if name in TARGETS:
        return [recording.target(name)]
    return real_programs(tmp_path)[name]


def own_totals(args, tape):
    assert recording.run_bare(args, tape).returncode == 0
    return fold(tape_totals(tape))


@pytest.mark.parametrize("name", TARGETS + PROGRAMS)
def test_memusage(name, tape, tmp_path):
    if not shutil.which("memusage"):
        pytest.skip("memusage is not installed")
    args = command(name, tmp_path)
    done = recording.run_plain(["memusage", *args])
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr.decode())
    totals = own_totals(args, tape)
    for function in ("malloc", "realloc", "calloc", "free"):
        calls, size = map(int, re.search(rf"{function}\|\s+(\d+)\s+(\d+)", text).groups())
        if function == "free":
            # It counts free(NULL), too, and does not see frees of aligned blocks.
            assert name == "hooks" or totals["free"][0] <= calls + 2
            continue
        # What a real program makes of another environment may be a block or two.
        slack = 0 if name in TARGETS else 2
        assert abs(totals[function][0] - calls) <= slack
        if function != "realloc":  # of a realloc it counts what was added
            assert abs(totals[function][1] - size) <= (slack and size // 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_dhat(name, tape, tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    args = command(name, tmp_path)
    done = subprocess.run(["valgrind", "--tool=dhat", f"--dhat-out-file={tmp_path}/dhat", *args],
                          capture_output=True, env=recording.clean_env(), timeout=120)
    blocks = re.search(rb"Total:\s+([\d,]+) bytes in ([\d,]+) blocks", done.stderr)
    size, count = (int(value.replace(b",", b"")) for value in blocks.groups())
    totals = own_totals(args, tape)
    asked = [row for function, row in totals.items() if function != "free"]
    if name == "hooks":  # what a failed and a freeing realloc are to DHAT differs
        assert abs(sum(row[0] - row[2] for row in asked) - count) <= 4
        return
    assert sum(row[0] for row in asked) == count
    assert sum(row[1] for row in asked) == size


@pytest.mark.parametrize("name", ("frames", "jumps", "coroutines"))
def test_heaptrack(name, tape, tmp_path):
    if not shutil.which("heaptrack"):
        pytest.skip("heaptrack is not installed")
    args = command(name, tmp_path)
    done = recording.run_plain(["heaptrack", "-o", tmp_path / "other", *args])
    count = int(re.search(rb"allocations:\s+(\d+)", done.stdout + done.stderr).group(1))
    totals = own_totals(args, tape)
    # heaptrack may have one or two of its own on its tape.
    assert 0 <= count - sum(row[0] for n, row in totals.items() if n != "free") <= 2
