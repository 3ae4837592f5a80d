"""Files are mapped from beyond what a word of 32 bits can say as without a recorder, and the tape has where from."""

import errno

import pytest

import crossed
import recording

SHOWN = b"""short: three
wide: five
moved: one on
moved, its second page: two on
by number: two on
odd: error 22
far: %d
high bits only: four
"""
GIB = 1 << 30
FOUND = {2 * 4096: 3 * GIB, 3 * 4096: 5 * GIB, 5 * 4096: 5 * GIB + 4096, 7 * 4096: 4 * GIB}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    machine = crossed.Machine("i386", tmp_path_factory.mktemp("i386"))
    machine.need()
    return machine


def check(plain, done, tape):
    assert done.answer() == plain.answer() and done.returncode == 0
    assert plain.stdout in {SHOWN % number for number in (0, errno.EINVAL, errno.EOVERFLOW)}, plain.stdout
    rows = {row["mapped_bytes"]: row["offset"] for row in recording.report(tape, "mappings")["mappings"]
            if row["mapped_bytes"] in FOUND and row["fd"] >= 0}
    assert rows == FOUND


def test_wide_words(tape, tmp_path):
    args = [recording.target("bigmaps"), tmp_path / "file"]
    check(recording.run_plain(args), recording.run_bare(args, tape), tape)


def test_narrow_words(narrow, tape, tmp_path):
    args = [narrow.target("bigmaps"), tmp_path / "file"]
    check(narrow.run(args), narrow.record(args, tape), tape)


@pytest.mark.parametrize("machine", [None, "narrow"])
def test_a_program_that_is_linked_statically(machine, request, tape, tmp_path):
    if machine:
        narrow = request.getfixturevalue("narrow")
        compiler, library = f"{narrow.triplet}-gcc", narrow.library.with_name("libmemtape.a")
    else:
        compiler, library = "gcc", recording.build_dir() / "src/target/rec/libmemtape.a"
    if not library.exists():
        pytest.skip(f"{library} is not there")
    program = tmp_path / "static"
    done = recording.run([compiler, "-static", *crossed.FLAGS, "-O2", "-o", program, crossed.TARGETS / "bigmaps.c",
                          f"-Wl,@{library.with_suffix('.wrap')}", library])
    assert done.returncode == 0, done.stderr
    args, env = [program, tmp_path / "file"], {"MEMTAPE_OUTPUT": str(tape)}
    if machine:
        check(narrow.run(args), narrow.run(args, env), tape)
    else:
        check(recording.run_plain(args), recording.run(args, env=recording.clean_env(**env)), tape)
