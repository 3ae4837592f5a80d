"""Every target, built four ways: it behaves as without a recorder, and its tape holds what its
head comment says."""

import pytest

import recording
import targets
from tape_reader import EXT_EXEC, Tape

VARIANTS = ("", "-O0", "-fp", "-clang")
# What these do does not depend on the compiler's frames, and they are slow.
ONE_VARIANT = {"world", "processes", "endings", "crowd", "deep", "exceptions many", "churn threads",
               "churn dlmopen", "freesized", "exec_self", "problems"}
CASES = targets.all_cases()
# 20,000 stacks of 10,000 frames are 20 GB of JSON; test_bare_library looks at these.
ENDLESS = {"deep main", "deep thread", "exceptions many"}


def matrix():
    for case in CASES:
        for variant in VARIANTS:
            if variant and {case.name, case.id} & ONE_VARIANT:
                continue
            if variant == "-clang" and (targets.SOURCES / f"{case.name}.cpp").exists():
                continue
            yield pytest.param(case, variant, id=case.id + variant)


def check_answer(plain, recorded, case):
    assert plain.returncode == case.returncode, plain.stderr
    assert recorded.returncode == plain.returncode, recorded.stderr
    assert recorded.stdout == plain.stdout
    assert recording.strip_numbers(recorded.stderr) == recording.strip_numbers(plain.stderr)


def check_rows(case, rows, lost):
    wrong = []
    for expected in case.expected:
        wrong += targets.check_expected(expected, rows, case.loss_allowed and lost)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case,variant", list(matrix()))
def test_bare_library(case, variant, tape):
    program = recording.target(case.name + variant)
    plain = recording.run_plain([program, *case.args])
    recorded = recording.run_bare([program, *case.args], tape)
    check_answer(plain, recorded, case)
    read = Tape(tape)
    assert not read.damage
    lost = read.lost_events() > case.losses_at_most or read.fault
    assert case.loss_allowed or not lost, (read.lost, read.fault, read.fault_errno)
    check_rows(case, read.allocations(), bool(lost))
    assert not read.overlaps, [hex(e.address) for e in read.overlaps[:5]]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_record_command(case, tape):
    if not recording.have_reader():
        pytest.skip("built without the command")
    program = recording.target(case.name)
    plain = recording.run_plain([program, *case.args])
    options = ["--quiet", *(["--no-follow-exec"] if case.name == "exec_self" else [])]
    recorded = recording.run_recorded([program, *case.args], tape, options=options)
    shell_code = case.returncode if case.returncode >= 0 else 128 - case.returncode
    assert plain.returncode == case.returncode, plain.stderr
    assert recorded.returncode in (case.returncode, shell_code), recorded.stderr
    assert recorded.stdout == plain.stdout
    summary = recording.report(tape, "summary")
    lost = summary["lost_events"] > case.losses_at_most
    assert case.loss_allowed or not lost
    if case.id in ENDLESS:
        return
    sizes = {expected.size for expected in case.expected}
    check_rows(case, [row for row in recording.rows(tape) if row["size"] in sizes], lost)


@pytest.mark.parametrize("function", ("execl", "execlp", "execle"))
def test_an_exec_is_on_the_tape(function, tape):
    """The one that failed as well."""
    recording.run_bare([recording.target("exec_self"), function], tape)
    noted = [payload[8:] for _, _, kind, payload in Tape(tape).extended if kind == EXT_EXEC]
    assert noted == [b"/proc/self/nothing", b"/proc/self/exe"]


def test_every_target_states_something():
    """A head comment that nobody can read would be a test that cannot fail."""
    stating = {case.name for case in CASES if case.expected}
    for path in [*targets.SOURCES.glob("*.c"), *targets.SOURCES.glob("*.cpp")]:
        head = "\n".join(targets.head_comment(path))
        assert ("Must be found" in head or " Run: " in head) == (path.stem in stating), path
    assert len(stating) > 20


def test_own_malloc_is_left_alone(tape):
    program = recording.target("own_malloc")
    plain = recording.run_plain([program])
    recorded = recording.run_bare([program], tape)
    assert recorded.answer() == plain.answer()
    assert plain.stdout == b"own malloc 1000\n"


def descriptors(outcome):
    return int(outcome.stdout.rsplit(b"descriptors ", 1)[1])


def transcript(outcome):
    return outcome.stdout.decode().splitlines()[:-1]


def test_recorder_is_invisible(tape):
    """Environment, descriptors, signals, limits, threads, heap: as without it. The bare library
    keeps one descriptor, the tape's, beyond 900; the command's none."""
    program = recording.target("invisible")
    plain = recording.run_plain([program])
    recorded = recording.run_bare([program], tape)
    assert b"threads 1\n" in plain.stdout
    assert transcript(recorded) == transcript(plain)
    assert descriptors(recorded) == descriptors(plain) + 1


def test_recorder_is_invisible_under_the_command(tape):
    if not recording.have_reader():
        pytest.skip("built without the command")
    program = recording.target("invisible")
    plain = recording.run_plain([program])
    recorded = recording.run_recorded([program], tape, options=["--quiet"])
    assert transcript(recorded) == transcript(plain)
    assert descriptors(recorded) == descriptors(plain)
