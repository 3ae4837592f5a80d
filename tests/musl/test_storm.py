"""Leak scans of a program of musl with 16 threads that allocate as fast as they can."""

import recording
import storm


def test_a_storm_is_scanned_from_outside(storm_program, library, tape):
    with storm.Storm([storm_program], LD_PRELOAD=library, MEMTAPE_OUTPUT=tape) as blowing:
        storm.scan_from_outside(blowing, recording.times(100, 12))
        blowing.ends_unharmed()


def test_a_storm_is_scanned_by_signal(storm_program, tape):
    count = recording.times(100, 12)
    with storm.Storm([recording.memtape(), "record", "-q", "--leak-scan=signal", "-o", tape, storm_program]) as blowing:
        storm.scan_by_signal(blowing, count)
        blowing.ends_unharmed()
    assert storm.scans_while_running(tape) >= count
    assert recording.report(tape, "summary")["lost_events"] == 0


def test_a_storm_that_is_not_recorded_is_refused_and_unharmed(storm_program):
    with storm.Storm([storm_program]) as blowing:
        blowing.burst()
        done = recording.run([recording.memtape(), "leaks", "-q", blowing.process.pid], timeout=60)
        assert done.returncode == 1 and b"glibc" in done.stderr, done
        blowing.ends_unharmed()
