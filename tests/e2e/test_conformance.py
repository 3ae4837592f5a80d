"""The recorder changes no answer of the allocator: transcripts with and without are the same."""

import os
import pathlib
import shutil
import subprocess

import pytest

import recording

ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc_minimal": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
LIBRARY_FOLDER = pathlib.Path("/usr/lib/x86_64-linux-gnu")


def same_transcript(plain, recorded, least_lines):
    plain_lines = plain.stdout.decode().splitlines()
    lines = recorded.stdout.decode().splitlines()
    differing = [(a, b) for a, b in zip(plain_lines, lines) if a != b]
    assert not differing, differing[:10]
    assert len(lines) == len(plain_lines) > least_lines
    assert recorded.returncode == plain.returncode
    assert recorded.stderr == plain.stderr


@pytest.mark.parametrize("variant", ["", "-O0", "-fp", "-clang"])
def test_glibc(variant, tape):
    program = recording.target("conformance" + variant)
    plain = recording.run_plain([program])
    assert plain.returncode == 0
    same_transcript(plain, recording.run_bare([program], tape), 2000)


@pytest.mark.parametrize("variant", ["", "-O0", "-fp"])
def test_operators(variant, tape):
    program = recording.target("conformance_cxx" + variant)
    plain = recording.run_plain([program])
    assert plain.returncode == 0
    same_transcript(plain, recording.run_bare([program], tape), 400)


@pytest.mark.parametrize("name", ["conformance", "conformance_cxx"])
@pytest.mark.parametrize("options", ["selfcheck", "record"])
def test_other_ways_of_recording(name, options, tape):
    program = recording.target(name)
    plain = recording.run_plain([program])
    if options == "selfcheck":
        recorded = recording.run_bare([program], tape, env={"MEMTAPE_SELFCHECK": "1"})
    elif not recording.have_reader():
        pytest.skip("built without the command")
    else:
        recorded = recording.run_recorded([program], tape, options=["--quiet"])
    same_transcript(plain, recorded, 400)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", ["conformance", "conformance_cxx"])
def test_preloaded_allocator(allocator, name, tape):
    """Preloaded after the recorder: the program's allocator is that one, not glibc's."""
    other = LIBRARY_FOLDER / ALLOCATORS[allocator]
    if not other.exists():
        pytest.skip(f"no {other}")
    args = [recording.target(name), "tame"]
    plain = recording.run_plain(args, env=recording.clean_env(LD_PRELOAD=other))
    recorded = recording.run_bare(args, tape, preload_after=[other])
    same_transcript(plain, recorded, 200)  # Debian's mimalloc ends the program at bad_alloc


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_linked_allocator(allocator, tape):
    program = recording.target(f"conformance-{allocator}")
    if not program.exists():
        pytest.skip(f"{allocator} was not there to link with")
    plain = recording.run_plain([program, "tame"])
    recorded = recording.run_bare([program, "tame"], tape)
    same_transcript(plain, recorded, 1500)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("case", ["threads eight", "threads thousand", "threads detached",
                                  "processes fork", "processes fork_threads", "processes vfork",
                                  "endings exit", "endings _exit_thread", "endings quick_exit"])
def test_linked_allocator_programs(allocator, case, tape):
    name, mode = case.split()
    program = recording.target(f"{name}-{allocator}")
    if not program.exists():
        pytest.skip(f"{allocator} was not there to link with")
    plain = recording.run_plain([program, mode])
    recorded = recording.run_bare([program, mode], tape)
    assert recorded.answer() == plain.answer()


def test_musl(tape, tmp_path):
    folder = os.environ.get("MEMTAPE_MUSL_DIR")
    library = pathlib.Path(folder or "/nonexistent") / "src" / "target" / "rec" / "libmemtape.so"
    if not library.exists() or not shutil.which("musl-gcc"):
        pytest.skip("no musl build of the library")
    program = tmp_path / "conformance"
    source = recording.ROOT / "tests" / "targets" / "conformance.c"
    subprocess.run(["musl-gcc", "-D_GNU_SOURCE", "-O2", "-w", source, "-o", program], check=True)
    plain = recording.run_plain([program])
    env = recording.clean_env(LD_PRELOAD=library, MEMTAPE_OUTPUT=tape)
    same_transcript(plain, recording.run([program], env=env), 2000)
    assert tape.stat().st_size > 4096
