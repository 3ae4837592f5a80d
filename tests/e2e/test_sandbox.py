"""Programs that forbid themselves system calls end as they would without the recorder."""

import platform
import resource

import pytest

import recording
import seccomp
from tape_reader import Tape

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")

HOW = {"prctl": 30000, "syscall": 30000, "threads": 120000, "newborn": 60000, "fork": 30000,
       "strict": 30000}
FAULT_SANDBOX = 6


@pytest.mark.parametrize("collected", (False, True), ids=("bare", "record"))
@pytest.mark.parametrize("how", HOW)
def test_a_program_in_its_sandbox_is_recorded_and_not_killed(how, collected, tape):
    program = recording.target("sandbox")
    plain = recording.run_plain([program, how])
    start = recording.run_recorded if collected else recording.run_bare
    options = {"options": ["--quiet"]} if collected else {}
    answer = start([program, how], tape, **options)
    assert answer.answer() == plain.answer()
    assert plain.returncode == 0
    rows = [row for row in recording.rows(tape) if row["size"] in (3501, 3502)]
    assert sum(row["size"] == 3501 for row in rows) == HOW[how]
    assert len(rows) > HOW[how]
    deepest = max(sum(frame["function"] == "descend" for frame in row["stack"]) for row in rows)
    assert deepest == 200
    assert recording.report(tape, "summary")["lost_events"] == 0


@pytest.mark.parametrize("options", ("stacks=0,free_stacks=0,counts=1", "calls=1", "latency=1",
                                     "follow=1", "selfcheck=1", "stack_use=0"))
@pytest.mark.parametrize("how", ("threads", "newborn", "fork", "strict"))
def test_no_way_of_recording_makes_system_calls_in_a_sandbox(how, options, tape):
    answer = recording.run_bare([recording.target("sandbox"), how], tape,
                                env={"MEMTAPE_OPTIONS": options})
    assert answer.returncode == 0, answer.stderr


def test_where_a_sandbox_leaves_no_space_recording_ends_and_says_so(tape):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    answer = recording.run_bare([recording.target("sandbox"), "threads"], tape,
                                preexec_fn=small_files)
    assert answer.returncode == 0, answer.stderr
    read = Tape(tape)
    assert read.fault == FAULT_SANDBOX
    assert not read.damage


@pytest.mark.parametrize("collected", (False, True), ids=("bare", "record"))
def test_a_filter_that_was_there_before_is_not_asked_for_what_no_libc_asks(collected, tape):
    start = recording.run_recorded if collected else recording.run_bare
    answer = start([recording.target("stack_use"), "threads"], tape,
                   preexec_fn=seccomp.install(seccomp.kill("mincore")))
    assert answer.returncode == 0, answer.stderr
    assert sum(row["size"] == 2711 for row in recording.rows(tape)) == 1
