"""Programs that forbid themselves system calls end as they would without the recorder."""

import platform
import re
import resource
import shutil

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


@pytest.mark.parametrize("how", ("alone 500", "one_thread 500", "newborn 0"))
def test_a_filter_that_no_hook_saw_is_seen_from_outside(how, tape):
    """By system calls in the program's own assembly. `newborn` does not even wait for it."""
    program = [recording.target("sandbox"), *how.split()]
    plain = recording.run_plain(program)
    assert plain.returncode == 0
    answer = recording.run_recorded(program, tape, options=["--quiet"])
    assert answer.answer() == plain.answer()
    sizes = [row["size"] for row in recording.rows(tape)]
    assert sizes.count(3501) == (30000 if how.startswith("alone") else 60000)
    assert recording.report(tape, "summary")["lost_events"] == 0


def calls_in_sandbox(lines):
    """Names of system calls from the filter on, by all threads but memtape's."""
    collector = lines[0].split()[0]
    begin = next(i for i, line in enumerate(lines) if "SECCOMP_SET_MODE_FILTER" in line)
    names = (re.match(r"(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)", line) for line in lines[begin:])
    return {found[2] for found in names if found and found[1] != collector}


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_once_it_runs_the_recorder_adds_no_calls_but_futex(tape, tmp_path):
    program = [recording.target("sandbox"), "newborn", "0"]
    log = tmp_path / "strace.txt"
    strace = ["strace", "-f", "-o", log]
    assert recording.run([*strace, "sh", "-c", 'true; "$@"; true', "sh", *program]).returncode == 0
    own = calls_in_sandbox(log.read_text().splitlines())
    done = recording.run([*strace, recording.memtape(), "record", "-q", "-o", tape, *program])
    assert done.returncode == 0, done.stderr
    assert "clone3" in own
    assert calls_in_sandbox(log.read_text().splitlines()) - own <= {"futex"}


@pytest.mark.parametrize("how", ("prctl", "strict", "alone 1500"))
def test_how_deep_a_stack_is_in_a_sandbox_is_asked_from_outside(how, tape):
    recording.run_recorded([recording.target("sandbox"), *how.split()], tape)
    first, = recording.report(tape, "threads")["threads"]
    assert first["stack_known"] == ("events" if how == "strict" else "pages")
    if how != "strict":  # whose end nobody is told of
        assert first["stack_used_bytes"] > 200 * 300  # descend() writes to all of its frames


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
