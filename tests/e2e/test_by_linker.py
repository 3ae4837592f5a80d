"""A program that is started as the argument of the dynamic linker has its own name, and its functions have theirs."""

import json
import os
import re
import subprocess

import pytest

import crossed
import recording


def loader_of(program):
    found = subprocess.run(["readelf", "-l", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"interpreter: (\S+)\]", found)[1]


def symbols(tape):
    done = recording.run([recording.memtape(), "symbols", "list", tape, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["modules"]


def check(done, tape, program):
    assert done.returncode == 0, done.stderr
    info = recording.report(tape, "recording")
    assert info["process"]["exe"] == os.path.realpath(program)
    (main,) = [module for module in recording.report(tape, "modules")["modules"] if module["module"] == os.path.realpath(program)]
    assert main["allocated_count"] >= 2400
    functions = {frame["function"] for row in recording.report(tape, "temporary")["sites"] for frame in row["stack"]}
    assert {"leaf", "main"} <= functions
    (row,) = [row for row in symbols(tape) if row["module"] == os.path.realpath(program)]
    assert row["from"] == "object" and row["named"] == row["addresses"] > 0


@pytest.mark.parametrize("form", ["whole path", "from its folder"])
def test_wide_words(form, tape):
    program = recording.target("frames")
    name = program if form == "whole path" else f"./{program.name}"
    done = recording.run_recorded([loader_of(program), name], tape, cwd=program.parent)
    check(done, tape, program)


def test_narrow_words(tape, tmp_path):
    machine = crossed.Machine("i386", tmp_path)
    machine.need()
    if not machine.is_native:
        pytest.skip("this kernel runs no programs of 32 bits")
    program = machine.target("frames")
    check(machine.record([loader_of(program), program], tape), tape, program)


def test_the_tapes_name_is_the_programs(tmp_path):
    program = recording.target("frames")
    done = recording.run_bare([loader_of(program), program], tmp_path / "%e.mtape")
    assert done.returncode == 0 and [path.name for path in tmp_path.iterdir()] == ["frames.mtape"]
