"""What is made of a tape is its owner's alone, and what others put in shared folders is not believed."""

import os
import stat
import struct
import sys

import pytest

import recording
import test_reading
from test_symbols import jit_dump, jit_frame, jit_lines, jit_load, jit_record, tape_pid

NOBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "app.mtape"


def memtape(*words, **kwargs):
    done = recording.run([recording.memtape(), *words], **kwargs)
    assert done.returncode == 0, done.stderr.decode()
    return done


# --- made ------------------------------------------------------------------------------------

MADE = {
    "report": ["report", "{tape}", "top", "-o", "out.txt"],
    "html": ["report", "{tape}", "--html", "-o", "out.html"],
    "plot": ["plot", "{tape}", "-o", "out.svg"],
    "heatmap": ["heatmap", "{tape}", "-o", "out.svg"],
    "flamegraph": ["flamegraph", "{tape}", "-o", "out.svg"],
    "folded": ["export", "{tape}", "--to", "folded", "-o", "out.folded"],
    "sqlite": ["export", "{tape}", "--to", "sqlite", "-o", "out.sqlite"],
    "sql": ["sql", "{tape}", "SELECT 1", "-o", "out.txt"],
    "strip": ["strip", "{tape}", "--no-names", "-o", "out.mtape"],
    "anonymise": ["anonymise", "{tape}", "-o", "out.mtape"],
    "repack": ["repack", "{tape}", "-o", "out.mtape"],
    "embed": ["symbols", "embed", "{tape}", "-o", "out.mtape"],
}


@pytest.mark.parametrize("what", MADE)
def test_what_is_made_of_a_tape_is_for_its_owner_alone(tape, tmp_path, what):
    recording.run_recorded([recording.target("jit")], tape, cwd=tmp_path)
    mask = os.umask(0)
    try:
        memtape(*(word.format(tape=tape) for word in MADE[what]), cwd=tmp_path)
    finally:
        os.umask(mask)
    [made] = tmp_path.glob("out.*")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


# --- found -----------------------------------------------------------------------------------


@pytest.fixture
def code(tape, tmp_path):
    """Where the code is that target jit made, and its process; no file names it yet."""
    recording.run_recorded([recording.target("jit")], tape, cwd=tmp_path)
    yield tape_pid(tape), int(jit_frame(tape)["function"], 16) & ~0xfff


@only_root
def test_a_jitdump_of_another_user_is_not_believed(tape, tmp_path, code):
    pid, begin = code
    dump = tmp_path / f"jit-{pid}.dump"
    jit_dump(dump, pid, jit_load(pid, 1, begin, 64, "made"))
    assert jit_frame(tape)["function"] == "made"
    os.chown(dump, NOBODY, NOBODY)
    assert jit_frame(tape)["function"].startswith("0x")


@only_root
def test_a_map_of_another_user_is_not_believed(tape, code):
    pid, begin = code
    path = f"/tmp/perf-{pid}.map"
    with open(path, "w") as file:
        file.write(f"{begin:x} 40 made\n")
    try:
        assert jit_frame(tape)["function"] == "made"
        os.chown(path, NOBODY, NOBODY)
        assert jit_frame(tape)["function"].startswith("0x")
    finally:
        os.unlink(path)


def test_a_link_to_a_jitdump_is_not_followed(tape, tmp_path, code):
    pid, begin = code
    jit_dump(tmp_path / "elsewhere", pid, jit_load(pid, 1, begin, 64, "made"))
    (tmp_path / f"jit-{pid}.dump").symlink_to("elsewhere")
    assert jit_frame(tape)["function"].startswith("0x")


# A process of its own: a child's peak begins with that of whom it is forked from.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_large_jitdump_takes_little_memory(tape, tmp_path, code):
    """Of 300 MiB nearly all is code; and one that is nothing but lines is read up to a bound."""
    pid, begin = code
    dump = tmp_path / f"jit-{pid}.dump"
    blocks = [jit_load(pid, 1, begin + (1 << 30) + n * 65536, 1 << 20, f"big{n}") for n in range(300)]
    jit_dump(dump, pid, *blocks, jit_load(pid, 1, begin, 64, "made"))
    peak = lambda: int(recording.run([sys.executable, "-c", PEAK, recording.memtape(), "report", tape, "top"]).stdout)
    assert jit_frame(tape)["function"] == "made"
    assert peak() < 100_000
    lines = struct.pack("<QII", begin, 1, 0) + b"\0"
    many = jit_record(2, 0, struct.pack("<QQ", begin, 1 << 20) + lines * (1 << 20))
    jit_dump(dump, pid, jit_load(pid, 1, begin, 64, "made"), *([many] * 20))
    assert jit_frame(tape)["function"] == "made"
    assert 50_000 < peak() < 400_000


@only_root
def test_an_index_of_another_user_is_not_believed(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = test_reading.write_shop(tape).names()
    memtape("index", tape)
    index = tmp_path / "shop.mtape.index"
    before = memtape("index", tape, "--json").stdout
    assert b'"made":false' in before.replace(b" ", b"")
    os.chown(index, NOBODY, NOBODY)
    assert b'"made":true' in memtape("index", tape, "--json").stdout.replace(b" ", b"")
    assert index.stat().st_uid == 0 and stat.S_IMODE(index.stat().st_mode) == stat.S_IMODE(tape.stat().st_mode)
    os.chown(index, NOBODY, NOBODY)
    os.chown(tape, NOBODY, NOBODY)  # whom the tape is believed, the index is
    assert b'"made":false' in memtape("index", tape, "--json").stdout.replace(b" ", b"")
    names.unlink()
