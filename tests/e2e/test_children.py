"""
With follow=1 a forked child has a tape of its own with all that it did, however it was made; and no
child comes to harm, whenever it is made and whatever the kernel refuses.
"""

import errno
import platform

import pytest

import recording
import seccomp
from tape_reader import Tape

VARIANTS = ("", "-O0", "-fp", "-clang")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("how", ("fork", "atfork", "raw", "mapping"))
def test_child_is_recorded_from_its_first_event(how, variant, tape):
    program = recording.target("afterfork" + variant)
    answer = recording.run_bare([program, how], tape, env={"MEMTAPE_OPTIONS": "follow=1"})
    assert answer.returncode == 0, answer.stderr
    others = [path for path in tape.parent.glob("*.mtape") if path != tape]
    assert len(others) == 1
    child = Tape(others[0])
    assert not child.damage
    assert not child.lost_events()
    rows = [row for row in child.allocations() if row["size"] in (2202, 2203)]
    assert [row["size"] for row in rows].count(2202) == 10
    assert [row["size"] for row in rows].count(2203) == 10
    assert not child.overlaps


MADV_DONTFORK, MADV_WIPEONFORK = 10, 18
only_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")


def tape_of_main(tape, how, size, count):
    read = Tape(tape)
    assert not read.damage
    assert not read.fault
    assert sum(row["size"] == size for row in read.allocations()) == count, how


@pytest.mark.parametrize("options", ("follow=0", "follow=1", "stacks=0,free_stacks=0,counts=1"))
@pytest.mark.parametrize("how", ("fork", "_Fork", "clone", "clone3"))
def test_a_child_made_in_the_middle_of_the_recorder_lives_on(how, options, tape):
    program = recording.target("forkhandler")
    answer = recording.run_bare([program, how], tape, env={"MEMTAPE_OPTIONS": options})
    assert answer.returncode == 0, answer.stderr
    if "counts" not in options:
        tape_of_main(tape, how, 3301, 5000)


@pytest.mark.parametrize("how", ("fork", "clone"))
def test_a_child_made_in_the_middle_of_the_recorder_lives_on_with_a_collector(how, tape):
    answer = recording.run_recorded([recording.target("forkhandler"), how], tape)
    assert answer.returncode == 0, answer.stderr
    rows = recording.report(tape, "summary")
    assert rows["lost_events"] == 0


@pytest.mark.parametrize("options", ("follow=0", "follow=1", "stacks=0,free_stacks=0,counts=1"))
def test_what_a_child_mapped_where_the_tape_was_stays_its_own(options, tape):
    answer = recording.run_bare([recording.target("claims")], tape, env={"MEMTAPE_OPTIONS": options})
    assert answer.returncode == 0, answer.stderr
    if "counts" not in options:
        tape_of_main(tape, "raw", 3401, 20000)


def test_what_a_child_mapped_where_the_spool_was_stays_its_own(tape):
    answer = recording.run_recorded([recording.target("claims")], tape)
    assert answer.returncode == 0, answer.stderr
    assert recording.report(tape, "summary")["lost_events"] == 0


REFUSALS = {
    "wipe": [(MADV_WIPEONFORK, errno.EINVAL)],
    "wipe-denied": [(MADV_WIPEONFORK, errno.EPERM)],
    "keep-out": [(MADV_DONTFORK, errno.EINVAL)],
    "both": [(MADV_WIPEONFORK, errno.EINVAL), (MADV_DONTFORK, errno.EINVAL)],
}


def refusing(what):
    return seccomp.install(*[seccomp.refuse("madvise", *row) for row in REFUSALS[what]])


@only_x86
@pytest.mark.parametrize("how", ("fork", "atfork", "raw", "mapping"))
@pytest.mark.parametrize("what", REFUSALS)
def test_a_child_is_told_from_its_parent_where_the_kernel_refuses_advice(what, how, tape):
    program = recording.target("afterfork")
    answer = recording.run_bare([program, how], tape, env={"MEMTAPE_OPTIONS": "follow=1"},
                                preexec_fn=refusing(what))
    assert answer.returncode == 0, answer.stderr
    others = [path for path in tape.parent.glob("*.mtape") if path != tape]
    assert len(others) == 1
    child = Tape(others[0])
    assert not child.damage
    rows = [row for row in child.allocations() if row["size"] == 2202]
    assert len(rows) == 10
    tape_of_main(tape, how, 2201, 1)


@only_x86
@pytest.mark.parametrize("collected", (False, True), ids=("bare", "record"))
@pytest.mark.parametrize("what", REFUSALS)
def test_children_live_and_leave_the_tape_alone_where_the_kernel_refuses_advice(
        what, collected, tape):
    program = recording.target("forkhandler")
    start = recording.run_recorded if collected else recording.run_bare
    for how in ("fork", "_Fork", "clone"):
        tape.unlink(missing_ok=True)
        answer = start([program, how], tape, preexec_fn=refusing(what))
        assert answer.returncode == 0, answer.stderr
        rows = [row for row in recording.rows(tape) if row["size"] in (3301, 3302)]
        assert len(rows) == 5000, how
