"""Names relative to a directory: of a tape that the program leaves, of objects that it loads."""

import recording
from tape_reader import Tape


def test_tape_grows_after_the_program_has_left_its_directory(tmp_path):
    answer = recording.run_bare([recording.target("departed")], "here.mtape", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    read = Tape(tmp_path / "here.mtape")
    assert not read.fault
    assert not read.lost_events()
    assert sum(row["size"] == 2401 for row in read.allocations()) == 60000


def test_objects_loaded_by_a_relative_name_are_found_from_elsewhere(tape):
    program = recording.target("unload")
    answer = recording.run_bare(["./unload"], tape, cwd=program.parent)
    assert answer.returncode == 0, answer.stderr
    read = Tape(tape)
    plugins = [row["path"] for row in read.modules if "plugin_new" in row["path"]]
    assert len(plugins) == 2
    for path in plugins:
        assert path.startswith("/")
    rows = [row for row in read.allocations() if row["size"] == 2301]
    assert len(rows) == 50
    for row in rows:
        assert "plugin_work" in [frame["function"] for frame in row["stack"]]
