"""Programs in many languages on many allocators, however these come in: what the program counts itself is
on the tape; where the allocator is out of reach, the program is as it is without us.

The programs are in allocators/. They print a line for each of their sizes: how many blocks, how many freed.
"""

import collections
import fcntl
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import recording
import test_counts

pytestmark = pytest.mark.slow

SOURCES = pathlib.Path(__file__).with_name("allocators")
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
SHARED = {"jemalloc": "libjemalloc.so.2", "tcmalloc_minimal": "libtcmalloc_minimal.so.4",
          "mimalloc": "libmimalloc.so.2"}
# Debian's libmimalloc-dev has no archive: mimalloc is linked statically nowhere here.
ARCHIVES = {"jemalloc": "libjemalloc_pic.a", "tcmalloc_minimal": "libtcmalloc_minimal.a"}
ALLOCATORS = list(SHARED)
COMPILED = ["c", "c++", "rust", "go"]
INTERPRETED = ["node", "java"]

Program = collections.namedtuple("Program", "args allocator linkage")


def link_words(language, allocator, linkage):
    if linkage == "shared":
        return ["-Wl,--no-as-needed", f"-l{allocator}", "-Wl,--as-needed"]
    if linkage == "static":  # whole, for rustc names it behind the C library; go names it twice
        archive = [str(LIBRARIES / ARCHIVES[allocator])]
        if language != "go":
            archive = ["-Wl,--whole-archive", *archive, "-Wl,--no-whole-archive"]
        return [*archive, "-lstdc++", "-lm", "-ldl"]
    return []


def compiler(language, out, words):
    """The command, its environment and what must be there for it."""
    return {
        "c": (["gcc", "-O2", "-fno-builtin", "-pthread", SOURCES / "work.c", "-o", out, *words], {}),
        "c++": (["g++", "-std=c++17", "-O2", "-pthread", SOURCES / "work.cpp", "-o", out, *words], {}),
        "rust": (["rustc", "-O", SOURCES / "work.rs", "-o", out, *[f"-Clink-arg={word}" for word in words]], {}),
        "go": (["go", "build", "-o", out, SOURCES / "work.go"],
               {"CGO_ENABLED": "1", "CGO_LDFLAGS": " ".join(words), "CGO_LDFLAGS_ALLOW": ".*",
                "GOCACHE": str(out.parent / "go"), "GOFLAGS": "-mod=mod"}),
        "java": (["javac", "-nowarn", "-XDignore.symbol.file", "-d", out, SOURCES / "Work.java"], {}),
    }[language]


def build(language, allocator="plain", linkage="none"):
    """Kept beside the targets: a program is built again only when its source is newer."""
    folder = recording.build_dir() / "tests" / "allocators"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{language}-{allocator}-{linkage}"
    command, env = compiler(language, out, link_words(language, allocator, linkage))
    tool = shutil.which(command[0])
    if not tool:
        pytest.skip(f"no {command[0]} here")
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    with open(f"{out}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists() or out.stat().st_mtime < newest:
            done = subprocess.run(list(map(str, command)), env={**os.environ, **env}, capture_output=True,
                                  text=True)
            assert done.returncode == 0, done.stderr
            os.utime(out)
    return out


def program(language, allocator="plain", linkage="none"):
    if language == "node":
        path = recording.which("node")
        if not path:
            pytest.skip("no node here")
        return [path, SOURCES / "work.js"]
    path = build(language, allocator, linkage)
    if language == "java":
        return [recording.which("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, "Work"]
    return [path]


def library(allocator, names=SHARED):
    path = LIBRARIES / names[allocator]
    if not path.exists():
        pytest.skip(f"no {path} here")
    return path


def sql(tape, statement):
    done = recording.run([recording.memtape(), "sql", "--json", tape, statement])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(answer):
    """{size: (blocks, freed)} as the program says; node does not know when its collector frees."""
    lines = [line.split() for line in answer.stdout.decode().splitlines()]
    return {int(size): (int(count), None if freed == "-" else int(freed)) for size, count, freed in lines}


def taped(tape, counts):
    rows = sql(tape, "SELECT size, count(*) AS blocks, sum(free_ns IS NOT NULL) AS freed FROM allocations "
                     f"WHERE size IN ({', '.join(map(str, counts))}) GROUP BY size")
    return {row["size"]: (row["blocks"], None if counts[row["size"]][1] is None else row["freed"])
            for row in rows}


def check_tape(tape):
    done = recording.run([recording.memtape(), "verify", "-q", tape])
    assert done.returncode == 0
    assert recording.report(tape, "summary")["lost_events"] == 0


def check_all(plain, recorded):
    assert plain.returncode == 0, plain.stderr
    assert recorded.answer() == plain.answer()
    check_tape(recorded.tape)
    counts = told(plain)
    assert counts and taped(recorded.tape, counts) == counts


def check_unharmed(plain, recorded):
    assert plain.returncode == 0, plain.stderr
    assert (recorded.returncode, recorded.stdout) == (0, plain.stdout)
    check_tape(recorded.tape)


@pytest.mark.parametrize("language", COMPILED + INTERPRETED)
def test_plain(language, tape):
    args = program(language)
    check_all(recording.run_plain(args), recording.run_recorded(args, tape, options=["--quiet"]))


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("language", COMPILED)
def test_linked_shared(language, allocator, tape):
    library(allocator)
    args = program(language, allocator, "shared")
    check_all(recording.run_plain(args), recording.run_recorded(args, tape, options=["--quiet"]))


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("language", COMPILED + INTERPRETED)
def test_preloaded_after_us(language, allocator, tape):
    env = {"LD_PRELOAD": library(allocator)}
    args = program(language)
    check_all(recording.run_plain(args, env=recording.clean_env(**env)),
              recording.run_recorded(args, tape, options=["--quiet"], env=env))


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("language", COMPILED + INTERPRETED)
def test_preloaded_before_us(language, allocator, tape):
    """It answers all calls, and we see none of them, or those of functions it does not have."""
    other = library(allocator)
    args = program(language)
    plain = recording.run_plain(args, env=recording.clean_env(LD_PRELOAD=other))
    env = recording.clean_env(LD_PRELOAD=f"{other}:{recording.library()}", MEMTAPE_OUTPUT=tape)
    recorded = recording.run(args, env=env, tape=tape, timeout=60)
    check_unharmed(plain, recorded)


@pytest.mark.parametrize("allocator", ARCHIVES)
@pytest.mark.parametrize("language", COMPILED)
def test_linked_statically(language, allocator, tape):
    """The program's own calls are bound to its own functions when it is linked, and we say so."""
    library(allocator, ARCHIVES)
    args = program(language, allocator, "static")
    recorded = recording.run_recorded(args, tape, options=["--no-summary"], timeout=60)
    check_unharmed(recording.run_plain(args), recorded)
    said = " ".join(line.removeprefix("memtape: ") for line in recorded.stderr.decode().splitlines())
    name = "jemalloc" if allocator == "jemalloc" else "tcmalloc"
    if language == "go":
        assert f"Its C code calls {name} that is linked into it, which cannot be recorded either" in said
    elif language == "c++":  # libstdc++ allocates exceptions, and that is recorded
        assert " has a malloc of its own inside: what its libraries allocate is recorded; its own calls go there, and are recorded only where" in said
        return
    else:
        assert f" has {name} inside, which its calls go to directly and cannot be recorded" in said
    assert "link the shared library of it" in said or "or with the shared library of it" in said


def counted_by_both(args, tape, tmp_path):
    """The interposer's totals, and the tape's by its summary: a reader of its own would be too slow."""
    outcome, counted = test_counts.both_counts(args, tape, tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    totals = test_counts.summary_totals(tape)
    for row in sql(tape, "SELECT call, count(*) AS blocks FROM allocations WHERE size = 0 GROUP BY call"):
        if row["call"].startswith("operator new"):
            totals[row["call"]][1] += row["blocks"]  # libstdc++ asks for one byte then
    return counted, totals


@pytest.mark.parametrize("language", COMPILED + INTERPRETED)
def test_totals_are_those_of_a_counter_behind_us(language, tape, tmp_path):
    counted, totals = counted_by_both(program(language), tape, tmp_path)
    assert sum(calls for calls, _, _ in counted.values()) > 2000
    test_counts.compare(counted, totals, exact_bytes=language != "c++")


@pytest.mark.parametrize("way", ["linked", "inside", "after us", "before us"])
def test_musl_with_another_allocator(way, tape, tmp_path):
    """Debian's allocators are made for glibc, and its one compiler for musl is C's: so this is a malloc of
    ours, in a program of C. The library is the one that is installed, made for glibc, too.
    """
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc here")
    pool, path = tmp_path / "libpool.so", tmp_path / "work"
    command = ["musl-gcc", "-O2", "-fno-builtin", "-DPREFIX="]
    subprocess.run([*command, "-shared", "-fPIC", SOURCES / "prefix" / "pool.c", "-o", pool], check=True)
    words = {"linked": [f"-Wl,-rpath,{tmp_path}", pool], "inside": [SOURCES / "prefix" / "pool.c"]}.get(way, [])
    subprocess.run([*command, SOURCES / "work.c", "-o", path, *words], check=True)
    before = {"after us": [pool], "before us": [pool]}.get(way, [])
    plain = recording.run_plain([path], env=recording.clean_env(LD_PRELOAD=":".join(map(str, before))))
    preloads = [pool, recording.library()] if way == "before us" else [recording.library(), *before]
    env = recording.clean_env(LD_PRELOAD=":".join(map(str, preloads)), MEMTAPE_OUTPUT=tape)
    recorded = recording.run([path], env=env, tape=tape, timeout=60)
    if way in ("linked", "after us"):
        check_all(plain, recorded)
    else:
        assert plain.returncode == 0 and recorded.answer() == plain.answer()
        assert not tape.exists() or taped(tape, told(plain)) == {}


@pytest.mark.parametrize("linkage", [[], ["-static"]], ids=["shared", "static"])
def test_musl(linkage, tape, tmp_path):
    folder = os.environ.get("MEMTAPE_MUSL_DIR")
    ours = pathlib.Path(folder or "/nonexistent") / "src" / "target" / "rec" / "libmemtape.so"
    if not ours.exists() or not shutil.which("musl-gcc"):
        pytest.skip("no musl build of the library")
    path = tmp_path / "work"
    subprocess.run(["musl-gcc", "-O2", "-fno-builtin", SOURCES / "work.c", "-o", path, *linkage], check=True)
    plain = recording.run_plain([path])
    env = recording.clean_env(LD_PRELOAD=ours, MEMTAPE_OUTPUT=tape)
    recorded = recording.run([path], env=env, tape=tape)
    if linkage:
        assert recorded.answer() == plain.answer()
        assert not tape.exists()
    else:
        check_all(plain, recorded)
