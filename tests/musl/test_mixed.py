"""Programs of musl beside those of glibc, recorded by the installed memtape, and where no glibc is."""
import ctypes
import os
import pathlib
import shutil

import pytest

import recording

LINKER = "ld-musl-x86_64.so.1"


def counted(tape, bytes_):
    rows = [row for row in recording.report(tape, "allocations") if row["size"] == bytes_]
    return len(rows), sum(row["free_ns"] is not None for row in rows)


def functions(tape, bytes_):
    rows = [row for row in recording.report(tape, "allocations") if row["size"] == bytes_]
    return {row["stack"][0]["function"] for row in rows}


def has_the_world(tape):
    assert counted(tape, 111) == (400, 400) and functions(tape, 111) == {"own_thread"}
    assert counted(tape, 77) == (50, 0) and functions(tape, 77) == {"plugin_keep"}
    assert counted(tape, 78) == (50, 50) and functions(tape, 78) == {"plugin_keep"}
    assert recording.report(tape, "summary")["lost_events"] == 0


def tapes_of(folder, program):
    """Those of a program by its name, of the tapes in a folder named NAME.PID.mtape."""
    return sorted(path for path in folder.glob(f"{program}.*.mtape"))


def test_threads_plugins_and_forks_are_recorded(world, tape):
    program, plugin = world
    done = recording.run_recorded([program, "world", plugin], tape)
    assert (done.returncode, done.stdout) == (3, b"")
    has_the_world(tape)
    assert counted(tape, 55) == (0, 0)


def test_threads_plugins_and_forks_are_recorded_by_the_bare_library(world, library, tape):
    program, plugin = world
    done = recording.run([program, "world", plugin],
                         env=recording.clean_env(LD_PRELOAD=library, MEMTAPE_OUTPUT=tape))
    assert done.answer() == (3, b"", b"")
    has_the_world(tape)


def test_a_forked_child_has_its_own_tape(world, tmp_path):
    program, plugin = world
    done = recording.run_recorded([program, "world", plugin], tmp_path / "%e.%p.mtape", ["--follow"])
    assert done.returncode == 3
    tapes = tapes_of(tmp_path, "musl_world")
    assert sorted(counted(tape, 55)[0] for tape in tapes) == [0, 20]


def test_children_of_the_other_libc_run_unharmed(world, musl_target, tmp_path):
    program, _ = world
    for args, answer in (([program, "run", "/usr/bin/perl", "-e", "print 6*7; exit 5"], (5, b"42")),
                         (["/bin/sh", "-c", f"{musl_target}; echo $?; exit 5"], (5, b"7\n"))):
        for options in ([], ["--follow"]):
            done = recording.run_recorded(args, tmp_path / "%e.%p.mtape", options)
            assert (done.returncode, done.stdout) == answer, done.stderr
            assert b"error" not in done.stderr


def test_children_of_the_other_libc_are_recorded(world, musl_target, tmp_path):
    program, _ = world
    done = recording.run_recorded(["/bin/sh", "-c", f"{musl_target}; exit 5"],
                                  tmp_path / "%e.%p.mtape", ["--follow"])
    assert done.returncode == 5
    (tape,) = tapes_of(tmp_path, "musl_target")
    assert counted(tape, 100) == (1001, 1)  # the calloc is as large

    done = recording.run_recorded([program, "run", "/usr/bin/perl", "-e", "$_ = 'x' x 1234567"],
                                  tmp_path / "%e.%p.mtape", ["--follow"])
    assert done.returncode == 0
    (tape,) = tapes_of(tmp_path, "perl")
    assert any(row["size"] > 1234567 for row in recording.report(tape, "allocations"))


def test_a_script_of_a_musl_interpreter_is_recorded(world, tmp_path, tape):
    program, plugin = world
    script = tmp_path / "script"
    script.write_text(f"#!{program} world\n")  # which gets the script as its plugin
    script.chmod(0o755)
    done = recording.run_recorded([script], tape)
    assert done.returncode == 99
    assert counted(tape, 111) == (400, 400)


# --- where there is no glibc --------------------------------------------------------------------


def change_root(root):
    """In the child: as root at once, else in a user namespace where that is allowed."""
    if os.geteuid() != 0:
        unshared = ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
        if unshared != 0:
            raise PermissionError("unshare")
    os.chroot(root)
    os.chdir("/")


def can_change_root(root):
    pid = os.fork()
    if pid == 0:
        try:
            change_root(root)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@pytest.fixture
def alpine(tmp_path, world, musl_target):
    """A root with what Alpine has of these: its linker is the C library, and no /proc."""
    root = tmp_path / "root"
    for folder in ("lib", "usr/lib", "tmp"):
        (root / folder).mkdir(parents=True)
    shutil.copy(pathlib.Path("/lib") / LINKER, root / "lib" / LINKER)
    (root / "lib/libc.musl-x86_64.so.1").symlink_to(LINKER)
    for path in (*world, musl_target):
        shutil.copy(path, root / path.name)
    if not can_change_root(root):
        pytest.skip("neither root nor user namespaces: the root cannot be changed here")
    return root


def run_inside(root, args, **env):
    return recording.run(args, env={key: str(value) for key, value in env.items()},
                         preexec_fn=lambda: change_root(root))


def test_the_library_alone_records_where_no_glibc_is(alpine, library):
    shutil.copy(library, alpine / "usr/lib/libmemtape.so")
    done = run_inside(alpine, ["/musl_world", "world", "/plugin.so"],
                      LD_PRELOAD="/usr/lib/libmemtape.so", MEMTAPE_OUTPUT="/tmp/world.mtape")
    assert done.answer() == (3, b"", b"")
    tape = alpine / "tmp/world.mtape"
    assert counted(tape, 111) == (400, 400)
    assert counted(tape, 77) == (50, 0)
    assert counted(tape, 78) == (50, 50)


def test_its_tapes_have_names_where_the_binaries_are(alpine, library):
    shutil.copy(library, alpine / "usr/lib/libmemtape.so")
    done = run_inside(alpine, ["/musl_target"], LD_PRELOAD="/usr/lib/libmemtape.so",
                      MEMTAPE_OUTPUT="/tmp/target.mtape")
    assert done.answer() == (7, b"", b"")
    rows = recording.report(alpine / "tmp/target.mtape", "allocations", "--sysroot", alpine)
    assert [row["stack"][0]["function"] for row in rows if row["size"] == 100].count("keep") == 1000
