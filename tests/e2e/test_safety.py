"""The world runs out under the recorder: the program runs on with the same output and exit code,
the tape is readable and says why it is not complete."""

import contextlib
import os
import resource
import subprocess

import pytest

import recording
from tape_reader import BadTape, Tape

WORK = ("threads", "eight")  # 32,000 events in 8 threads
BIG = ("world", "plain")  # 120,000 events


def program(args):
    return [recording.target(args[0]), *args[1:]]


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
                          capture_output=True)
    if done.returncode:
        pytest.skip("no permission to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def limited(args, limits, tape, env=None):
    """Runs with limits set before the program, and so the recorder, starts."""
    def set_limits():
        for what, value in limits.items():
            resource.setrlimit(what, (value, value))
    more = {"LD_PRELOAD": recording.library(), "MEMTAPE_OUTPUT": tape, **(env or {})}
    done = subprocess.run([str(a) for a in args], env=recording.clean_env(**more), timeout=120,
                          preexec_fn=set_limits, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return recording.Outcome(done.returncode, done.stdout, done.stderr, tape)


def check_unrecorded(plain, recorded):
    """As without, but for one line that says why there is no tape."""
    assert recorded.returncode == plain.returncode
    assert recorded.stdout == plain.stdout
    said = recorded.stderr.removeprefix(plain.stderr)
    assert said == b"" or said.startswith(b"memtape: cannot create") and said.count(b"\n") == 1


def check_partial(tape):
    """Readable, and either whole or with the loss counted."""
    read = Tape(tape)
    assert not read.damage
    read.replay()
    return read


@pytest.mark.parametrize("kib", [8, 64, 300, 1024, 3000])
@pytest.mark.parametrize("args", [WORK, BIG], ids=" ".join)
def test_disk_full(args, kib, tmp_path):
    plain = recording.run_plain(program(args))
    with small_disk(tmp_path / "disk", f"{kib}k") as disk:
        tape = disk / "the.mtape"
        recorded = recording.run_bare(program(args), tape)
        assert recorded.answer() == plain.answer()
        try:
            read = check_partial(tape)
        except (BadTape, FileNotFoundError):
            assert kib < 64
            return
        if kib < 1024:
            assert read.lost_events() > 0 or read.fault != 0
        if recording.have_reader() and read.lost_events():
            assert recording.report(tape, "summary")["lost_events"] > 0


def test_disk_full_under_the_record_command(tmp_path):
    if not recording.have_reader():
        pytest.skip("built without the command")
    plain = recording.run_plain(program(BIG))
    with small_disk(tmp_path / "disk", "256k") as disk:
        recorded = recording.run_recorded(program(BIG), disk / "the.mtape", options=["--quiet"])
        assert recorded.returncode == plain.returncode
        assert recorded.stdout == plain.stdout


@pytest.mark.parametrize("size", [0, 1, 4096, 65536, 200000, 3000000])
def test_file_size_limit(size, tmp_path):
    """SIGXFSZ would kill the program for a file it never wrote."""
    plain = recording.run_plain(program(BIG))
    tape = tmp_path / "the.mtape"
    recorded = limited(program(BIG), {resource.RLIMIT_FSIZE: size}, tape)
    check_unrecorded(plain, recorded)
    if tape.exists() and tape.stat().st_size >= 4096:
        check_partial(tape)


@pytest.mark.parametrize("size", [4096, 65536, 300000])
def test_children_of_a_program_whose_recording_has_ended(size, tmp_path):
    """The tape is not mapped in them: nothing may be counted there."""
    args = [recording.target("stopped")]
    plain = recording.run_plain(args)
    recorded = limited(args, {resource.RLIMIT_FSIZE: size}, tmp_path / "the.mtape")
    check_unrecorded(plain, recorded)
    assert recorded.returncode == 0


@pytest.mark.parametrize("mib", [8, 16, 24, 32, 64, 128, 512])
def test_address_space_limit(mib, tmp_path):
    args = [recording.target("world"), "plain"]
    limits = {resource.RLIMIT_AS: mib << 20}
    unset = {"LD_PRELOAD": "", "MEMTAPE_OUTPUT": ""}
    plain = limited(args, limits, tmp_path / "none", env=unset)
    recorded = limited(args, limits, tmp_path / "the.mtape")
    check_unrecorded(plain, recorded)


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_descriptor_limit(count, tmp_path):
    tape = tmp_path / "the.mtape"
    limits = {resource.RLIMIT_NOFILE: count}
    unset = {"LD_PRELOAD": "", "MEMTAPE_OUTPUT": ""}
    args = [recording.target("hooks")]
    plain = limited(args, limits, tmp_path / "none", env=unset)
    recorded = limited(args, limits, tape)
    if plain.returncode == 127 or recorded.returncode == 127:
        pytest.skip("not even the loader gets by with so few")
    check_unrecorded(plain, recorded)


@pytest.mark.parametrize("where", ["/proc/nothing.mtape", "/nonexistent/folder/x.mtape", "/dev/null",
                                   "/dev/full", "", "/", "x" * 5000])
def test_impossible_output(where, tmp_path):
    plain = recording.run_plain(program(WORK))
    recorded = recording.run_bare(program(WORK), where, cwd=tmp_path)
    check_unrecorded(plain, recorded)


def test_read_only_folder(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    as_user = {}
    if os.getuid() == 0:  # to whom no folder is read-only
        if not recording.anybody_may_enter(recording.library()):
            pytest.skip("the build lies where only root may look")
        as_user = {"user": 65534, "group": 65534, "extra_groups": []}
        for path in (tmp_path, *tmp_path.parents):
            with contextlib.suppress(PermissionError):
                path.chmod(path.stat().st_mode | 0o055)
    plain = recording.run_plain(program(WORK), **as_user)
    recorded = recording.run_bare(program(WORK), folder / "the.mtape", **as_user)
    check_unrecorded(plain, recorded)
    assert not (folder / "the.mtape").exists()


def test_existing_file_is_not_overwritten(tmp_path):
    tape = tmp_path / "the.mtape"
    tape.write_bytes(b"somebody's precious data")
    plain = recording.run_plain(program(WORK))
    recorded = recording.run_bare(program(WORK), tape)
    check_unrecorded(plain, recorded)
    assert tape.read_bytes() == b"somebody's precious data"


def test_forked_children_do_not_touch_the_tape(tmp_path):
    """20 children that allocate: one tape, the parent's, whole."""
    tape = tmp_path / "the.mtape"
    recording.run_bare([recording.target("processes"), "many"], tape)
    read = check_partial(tape)
    assert not read.unknown_frees
    assert [path.name for path in tmp_path.iterdir()] == ["the.mtape"]


@pytest.mark.parametrize("value", ["", "nonsense", "follow=maybe", "stacks=0", "free_stacks=0",
                                   "stacks=0,free_stacks=0", ",,,=,", "x" * 10000, "stacks=\xff"])
def test_odd_options(value, tape):
    plain = recording.run_plain(program(WORK))
    recorded = recording.run_bare(program(WORK), tape, env={"MEMTAPE_OPTIONS": value})
    assert recorded.answer() == plain.answer()
