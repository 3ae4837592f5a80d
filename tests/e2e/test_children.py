"""With follow=1 a forked child has a tape of its own with all that it did, however it was made."""

import pytest

import recording
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
