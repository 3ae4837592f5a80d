"""Leak scans of a program with 16 threads that allocate as fast as they can: neither side notices the other."""

import pytest

import recording
import storm

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return storm.build(tmp_path_factory.mktemp("storm"), "gcc")


def test_a_storm_that_is_recorded_is_scanned_by_signal(program, tape):
    count = recording.times(100, 12)
    with storm.Storm([recording.memtape(), "record", "-q", "--leak-scan=signal", "-o", tape, program]) as blowing:
        storm.scan_by_signal(blowing, count)
        blowing.ends_unharmed()
    assert storm.scans_while_running(tape) >= count
    assert recording.report(tape, "summary")["lost_events"] == 0


def test_a_storm_that_is_recorded_is_scanned_from_outside(program, tape):
    with storm.Storm([program], LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape) as blowing:
        storm.scan_from_outside(blowing, recording.times(100, 12))
        blowing.ends_unharmed()


def test_a_storm_that_is_not_recorded_is_scanned_from_outside(program):
    with storm.Storm([program]) as blowing:  # glibc's heap knows what it has given, not what was asked for
        storm.scan_from_outside(blowing, recording.times(100, 12), lost_bytes=88, is_recorded=False)
        blowing.ends_unharmed()
