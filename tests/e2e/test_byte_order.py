"""A tape says the same to readers of other byte orders and word sizes: what decodes tapes is built of the reader's own sources
for them, run by qemu-user, and compared with the same built for here, byte by byte. (The rest of the reader
needs libraries: test_reader_elsewhere.py.)"""

import re
import shutil

import pytest

import crossed
import recording

SOURCE = recording.ROOT / "src"
WORLDS = ("both", "target", "read", "bring", "ask", "show")
NOT = re.compile(r"/(anonymise|rotate|shift|strip|zst)")  # of capture: they write tapes, or need a library
MACHINES = ("mips64", "arm")  # big-endian of 64 bits, little-endian of 32


def build(compiler, out):
    sources = [*SOURCE.glob("both/core/*.c"), *SOURCE.glob("both/tape/*.c"), *SOURCE.glob("read/base/*.c"), *SOURCE.glob("read/capture/*.c")]
    sources = [path for path in sources if not NOT.search(str(path))]
    assert len(sources) > 30
    done = recording.run([compiler, "-std=gnu17", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-O1", "-Wno-scalar-storage-order", "-pthread",
                          "-I", SOURCE, *[f"-I{SOURCE / world}" for world in WORLDS], "-o", out,
                          recording.ROOT / "tests/e2e/decoder/decode.c", *sources, "-lm"])
    assert done.returncode == 0, done.stderr.decode()
    return out


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return build("cc", tmp_path_factory.mktemp("here") / "decode")


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tapes")
    raw, packed = folder / "raw.mtape", folder / "packed.mtape"
    assert recording.run_bare([recording.target("threads"), "eight"], raw).returncode == 0
    assert recording.run_recorded([recording.target("frames")], packed, ["-q", "--no-compress"]).returncode == 0
    return raw, packed


@pytest.mark.parametrize("name", MACHINES)
def test_a_tape_says_the_same_to_a_reader_on_another_processor(name, here, tapes, tmp_path):
    machine = crossed.Machine(name, tmp_path)
    for program in (f"{machine.triplet}-gcc", machine.emulator):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed (./dev setup --arch {name})")
    there = build(f"{machine.triplet}-gcc", tmp_path / "decode")
    for tape in tapes:
        said = recording.run([here, tape])
        assert said.returncode == 0 and re.search(rb"^\d{4,} events, \d+ records, 0 damages, 0 unknown nodes$", said.stdout, re.M), said.stderr
        assert recording.run([machine.emulator, "-L", machine.sysroot, there, tape]).answer() == said.answer()
