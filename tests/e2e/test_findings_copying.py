"""Containers that grow by copying: in a C++ program, on tapes written by hand, and in programs without."""

import random
import re

import pytest

import recording
from test_findings import MIB, Program, findings, follow, made  # noqa: F401: a fixture

GROWING = recording.target("growing")


def copying(answer):
    return [one for finding in answer["findings"] for one in (finding, *(finding["also"] or ())) if one["type"] == "copying"]


def recorded(tape, program):
    done = recording.run_recorded(program, tape)
    assert done.returncode == 0, done.stderr.decode()
    return findings(tape)


def test_a_vector_without_reserve(tape):
    finding, = recorded(tape, [GROWING, "vector"])["findings"]
    assert finding["type"] == "copying" and finding["function"].startswith("collect")
    assert finding["bytes"] == 8 * ((4 << 20) - 8) and finding["count"] == 8 * 19
    assert "50.0 % of the 64.0 MiB it allocated, in 152 steps of 8 blocks" in finding["evidence"]
    assert "the largest grew to 4.0 MiB" in finding["evidence"]
    group, = follow(tape, finding)["groups"]
    assert group["only_matched"]["size"] == 8 * ((8 << 20) - 8)


@pytest.mark.parametrize("what", ("reserved", "random"))
def test_other_vectors_and_blocks_in_turn(tape, what):
    assert recorded(tape, [GROWING, what])["findings"] == []


@pytest.mark.parametrize("program", (
    ["python3", "-c", "x = [str(i) for i in range(200000)]; d = dict.fromkeys(x)"],
    ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"]), ids=("python3", "sh"))
def test_programs_that_do_not_copy_much(tape, program):
    assert copying(recorded(tape, program)) == []


def grow(program, stack, sizes, start_ms=10):
    """Each block is freed shortly after the next is allocated."""
    before = None
    for i, size in enumerate(sizes):
        block = program.alloc(start_ms + i, size, stack)
        if before:
            program.free(start_ms + i + 0.5, before)
        before = block
    program.free(start_ms + len(sizes) + 0.5, before)


@pytest.mark.parametrize("factor, is_found", ((1.2, False), (1.5, True), (2, True), (3, False)))
def test_the_factor(made, factor, is_found):  # noqa: F811
    program = Program()
    sizes = [int(MIB * factor ** i) for i in range(9)]
    grow(program, program.stack("fill"), sizes)
    found = copying(findings(made(program, 100)))
    assert [finding["bytes"] for finding in found] == ([sum(sizes[:-1])] if is_found else [])
    assert [finding["count"] for finding in found] == ([8] if is_found else [])


def test_two_steps_are_no_chain(made):  # noqa: F811
    program = Program()
    for i in range(20):
        grow(program, program.stack("fill"), [MIB, 2 * MIB, 4 * MIB], 10 * (i + 1))
    assert copying(findings(made(program, 300))) == []


def test_vectors_that_grow_in_turn(made):  # noqa: F811
    """A hundred alive at a time: of each step the block freed next is what it continues."""
    program = Program()
    stack = program.stack("fill")
    blocks = [None] * 100
    for step in range(10):
        for i in range(100):
            block = program.alloc(10 + step * 100 + i, 1024 << step, stack)
            if blocks[i]:
                program.free(10 + step * 100 + i + 0.5, blocks[i])
            blocks[i] = block
    finding, = copying(findings(made(program, 2000)))
    assert finding["bytes"] == 100 * 1024 * 511 and finding["count"] == 900
    assert re.search("of 100 blocks; the largest grew to 512.0 KiB", finding["evidence"])


def test_the_block_freed_is_of_another_function(made):  # noqa: F811
    program = Program()
    stacks = [program.stack("one"), program.stack("other")]
    before = None
    for i in range(12):
        block = program.alloc(10 + i, MIB << i % 5, stacks[i % 2])
        if before:
            program.free(10 + i + 0.5, before)
        before = block
    assert copying(findings(made(program, 100))) == []


def test_blocks_of_any_size_in_turn(made):  # noqa: F811
    """The block before is freed after the next one is allocated; a step is chance."""
    numbers = random.Random(1)
    program = Program()
    grow(program, program.stack("parse"), [numbers.randrange(1, MIB) for _ in range(2000)])
    assert copying(findings(made(program, 3000))) == []
