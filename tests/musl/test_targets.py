"""The recorder's targets, built against musl: what is on the tape is what their head comments say, and their stacks are those of
libgcc for the same calls, and those of a walk without a memory. (C only: Debian has no C++ library for musl. What of the
targets calls functions that musl lacks is left out, too.)"""

import shutil
import subprocess

import pytest

import crossed
import recording
import targets
from test_architectures import case_of, check_stacks

CASES = [("frames", ""), ("frames", "-O0"), ("frames", "-fp"), ("jumps", ""), ("threads thousand", ""), ("signals thread", ""),
         ("deep saw", ""), ("processes clone", ""), ("crowd", ""),
         *recording.times([("threads eight", ""), ("signals thread", "-fp"), ("signals altstack", ""), ("processes fork_threads", ""),
                           ("endings raw_exit", "")], [])]


class Musl(crossed.Machine):
    """Programs of this processor, so that nothing is emulated."""

    def __init__(self, folder, library):
        self.name, self.folder, self.is_native, self.chosen = "musl", folder, True, library

    @property
    def library(self):
        return self.chosen

    def compile(self, source, out, *options):
        path = self.folder / out
        if not path.exists():
            subprocess.run(["musl-gcc", "-std=gnu17", *crossed.VARIANTS[""], *crossed.FLAGS, "-Wl,--eh-frame-hdr", *options, "-o", path, crossed.TARGETS / source,
                            *(["-static-libgcc", "-lgcc_eh"] if "-shared" in options else [])], check=True)
        return path

    def oracle(self):
        return self.module("oracle.c", "oracle.so", "-DORACLE_LIBGCC", "-DORACLE_MUSL")


@pytest.fixture(scope="module")
def machine(library, tmp_path_factory):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed (Debian: musl-tools)")
    return Musl(tmp_path_factory.mktemp("targets"), library)


@pytest.mark.parametrize("words,variant", CASES, ids=str)
def test_stacks_are_those_of_libgcc(words, variant, machine, tmp_path):
    case = case_of(words)
    outcome, read = check_stacks(machine, [machine.target(case.name, variant), *case.args], tmp_path)
    assert (outcome.returncode, outcome.stderr) == (case.returncode, b"")
    assert not read.damage and not read.fault and read.lost_events() == 0
    wrong = [text for expected in case.expected for text in targets.check_expected(expected, read.allocations())]
    assert case.expected and not wrong, "\n".join(wrong)
