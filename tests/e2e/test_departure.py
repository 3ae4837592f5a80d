"""A tape named relative to a directory that the program leaves, its descriptor closed."""

import recording
from tape_reader import Tape


def test_tape_grows_after_the_program_has_left_its_directory(tmp_path):
    answer = recording.run_bare([recording.target("departed")], "here.mtape", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    read = Tape(tmp_path / "here.mtape")
    assert not read.fault
    assert not read.lost_events()
    assert sum(row["size"] == 2401 for row in read.allocations()) == 60000
