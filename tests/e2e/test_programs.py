"""The recorder harms no program: the rows of programs.toml answer recorded as they answer plain, and
their tapes are whole."""

import json

import pytest

import programs
import recording

ROWS = {program.name: program for program in programs.all_programs()}
RECORDED = [name for name, program in ROWS.items() if not program.refused]
CHECKED = [name for name in RECORDED if ROWS[name].checked]


def rows(names):
    return [pytest.param(name, marks=pytest.mark.xfail(reason=ROWS[name].broken, strict=True))
            if ROWS[name].broken else name for name in names]


def found(name):
    program = ROWS[name]
    reason = program.missing()
    if reason:
        pytest.skip(reason)
    if not recording.have_reader():
        pytest.skip("built without the command")
    return program


def told(*args):
    done = recording.run([recording.memtape(), *args, "--json"])
    assert done.stdout, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def check_tape(tape):
    """Whole, with all events; how many these are."""
    verdict = told("verify", tape)
    assert verdict["sound"], verdict
    info = told("info", tape)
    losses = {what: lost for what, lost in info["losses"].items() if lost and what != "truncated_stacks"}
    assert not losses, (info["process"]["argv"], losses)
    assert not info["recorder"]["selfcheck_differences"], info["process"]["argv"]
    return info["tape"]["events"], info["recorder"]["selfchecks"]


def differences(plain, recorded):
    files = {name for name, _ in plain.files.items() ^ recorded.files.items()}
    texts = {what: (old, new) for what in ("exit", "stdout", "stderr", "client")
             if (old := getattr(plain, what)) != (new := getattr(recorded, what))}
    return texts, sorted(files)


def record(program, tmp_path, env=None):
    """The answer, and what check_tape() says of each tape."""
    tapes = tmp_path / "tapes"
    tapes.mkdir()
    follow = ["--follow"] if program.follow else []
    before = [recording.memtape(), "record", "-q", *follow, "-o", tapes / "%e.%p.mtape", "--"]
    answer = programs.run(program, tmp_path / "work", before, env)
    return answer, [check_tape(tape) for tape in sorted(tapes.iterdir())]


@pytest.mark.slow
@pytest.mark.parametrize("name", rows(RECORDED))
def test_it_answers_as_it_does_unrecorded(name, tmp_path):
    program = found(name)
    plain = programs.run(program, tmp_path / "work")
    assert plain.exit == program.exit, plain.stderr
    recorded, tapes = record(program, tmp_path)
    assert differences(plain, recorded) == ({}, [])
    assert len(tapes) >= max(1, program.follow)
    assert max(events for events, _ in tapes) >= program.least, tapes


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_its_stacks_are_the_same_walked_twice(name, tmp_path):
    program = found(name)
    recorded, tapes = record(program, tmp_path, {"MEMTAPE_SELFCHECK": "1"})
    assert recorded.exit == program.exit, recorded.stderr
    assert max(checks for _, checks in tapes) >= program.least, tapes


@pytest.mark.parametrize("name", [name for name in ROWS if name not in RECORDED])
def test_what_cannot_be_recorded_is_not_run(name, tmp_path):
    program = found(name)
    before = [recording.memtape(), "record", "-o", tmp_path / "tape", "--"]
    answer = programs.run(program, tmp_path / "work", before)
    assert answer.exit == 125
    assert program.refused in answer.stderr
    assert answer.stdout == ""
    assert not (tmp_path / "tape").exists()
