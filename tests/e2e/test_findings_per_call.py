"""Buffers that are allocated and freed in every call, in a C++ program and on tapes written by hand."""

import re

import pytest

import recording
from test_findings import Program, findings, follow, made  # noqa: F401: a fixture


def test_a_string_in_every_call(tape):
    done = recording.run_recorded([recording.target("growing"), "calls"], tape)
    assert done.returncode == 0, done.stderr.decode()
    finding, = findings(tape)["findings"]
    assert finding["type"] == "per_call" and finding["function"].startswith("answer")
    assert (finding["count"], finding["bytes"]) == (40_000, 40_000 * 301)


def call(program, stack, inner, size, ms):
    """A buffer, and a block in it that outlives it."""
    buffer = program.alloc(ms, size, stack)
    kept = program.alloc(ms + 0.001, 1, inner)
    program.free(ms + 0.005, buffer)
    return kept


def per_call(made, sizes, count=12_000, gap_ms=0.02):  # noqa: F811
    program = Program()
    stack, inner = program.stack("handle"), program.stack("intern")
    for i in range(count):
        call(program, stack, inner, sizes[i % len(sizes)], 1 + i * gap_ms)
    tape = made(program, 2 + count * gap_ms)
    return tape, [f for f in findings(tape)["findings"] if f["type"] in ("per_call", "churn")]


@pytest.mark.parametrize("sizes", ([500], [500, 600, 700, 800]))
def test_a_buffer_in_every_call(made, sizes):  # noqa: F811
    tape, (finding,) = per_call(made, sizes)
    assert (finding["type"], finding["function"]) == ("per_call", "handle")
    assert finding["count"] == 12_000 and finding["bytes"] == 3000 * sum(sizes) * (4 // len(sizes))
    assert "50.0 % of all there are" in finding["evidence"]
    assert re.search(r"they lived (4\.99|5\.0\d) us on average", finding["evidence"])
    group, = follow(tape, finding)["groups"]
    assert group["only_matched"]["size"] == finding["bytes"]


def test_sizes_of_all_kinds_are_no_buffer(made):  # noqa: F811
    assert per_call(made, list(range(500, 520)))[1] == []


@pytest.mark.parametrize("sizes, types", [([500], ["per_call", "churn"]), (list(range(500, 520)), ["churn"])])
def test_a_buffer_is_more_useful_to_know_than_churn(made, sizes, types):  # noqa: F811
    program = Program()
    stack = program.stack("handle")
    for i in range(12_000):
        buffer = program.alloc(1 + i * 0.02, sizes[i % len(sizes)], stack)
        program.free(1 + i * 0.02 + 0.005, buffer)
    finding, = findings(made(program, 250))["findings"]
    assert [finding["type"], *(also["type"] for also in finding["also"])] == types


def test_a_few_calls_are_not_worth_it(made):  # noqa: F811
    assert per_call(made, [500], count=9000)[1] == []


def test_slow_calls_are_not_worth_it(made):  # noqa: F811
    assert per_call(made, [500], gap_ms=0.1)[1] == []


def test_blocks_of_which_several_are_alive(made):  # noqa: F811
    program = Program()
    stack, live = program.stack("queue"), []
    for i in range(12_000):
        live.append(program.alloc(1 + i / 50, 500, stack))
        if len(live) > 2:
            program.free(1 + i / 50 + 0.001, live.pop(0))
    assert [f for f in findings(made(program, 300))["findings"] if f["type"] == "per_call"] == []
