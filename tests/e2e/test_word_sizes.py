"""Programs of 32 bits on a system of 64: the recorder for them is beside the other one, and what a program becomes
by exec is recorded whatever its words are."""

import json
import re
import shutil
import subprocess

import pytest

import crossed
import recording


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    machine = crossed.Machine("i386", tmp_path_factory.mktemp("i386"))
    machine.need()
    if not machine.is_native:
        pytest.skip("this kernel runs no programs of 32 bits")
    return machine


@pytest.fixture
def libraries(narrow, tmp_path):
    """The recorders of both, as they are installed."""
    folder = tmp_path / "libraries"
    (folder / "i386").mkdir(parents=True)
    shutil.copy(recording.library(), folder)
    shutil.copy(narrow.library, folder / "i386")
    return folder


def record(libraries, args, tape, *options):
    return recording.run_recorded(args, tape, options,
                                  env={"MEMTAPE_LIBRARY": str(libraries / "libmemtape.so")})


def sizes_counted(tape):
    counts = {}
    for row in recording.report(tape, "allocations"):
        counts[row["size"]] = counts.get(row["size"], 0) + 1
    return counts


def test_a_program_of_32_bits_is_recorded(narrow, libraries, tape):
    done = record(libraries, [narrow.target("frames")], tape)
    assert (done.returncode, done.stdout) == (0, b"frames 300\n"), done.stderr
    info = recording.report(tape, "recording")
    assert (info["process"]["machine"], info["process"]["pointer_bytes"]) == ("i386", 4)
    assert recording.report(tape, "summary")["lost_events"] == 0 and sum(sizes_counted(tape).values()) >= 2400
    functions = {frame["function"] for row in recording.report(tape, "temporary")["sites"] for frame in row["stack"]}
    assert {"leaf", "main"} <= functions


def test_what_is_missing_is_said(narrow, libraries, tape):
    shutil.rmtree(libraries / "i386")
    done = record(libraries, [narrow.target("frames")], tape)
    assert done.returncode == 125 and done.stdout == b"" and not tape.exists()
    assert b"is a 32-bit program (i386)" in done.stderr
    assert str(libraries / "i386/libmemtape.so").encode() in done.stderr and b"dist --arch i386" in done.stderr


@pytest.mark.parametrize("option", ["--leak-scan", "--staleness"])
def test_it_is_not_looked_into(option, narrow, libraries, tape):
    done = record(libraries, [narrow.target("frames")], tape, option)
    assert done.returncode == 125 and done.stdout == b"" and b"not looked into" in done.stderr


@pytest.mark.parametrize("order", ["wide narrow", "narrow wide", "narrow wide narrow"])
def test_a_program_that_becomes_one_of_the_other_size_is_recorded_on(order, narrow, libraries, tape):
    programs = {"wide": recording.target("execs"), "narrow": narrow.compile("execs.c", "narrow")}
    words = order.split()
    done = record(libraries, [programs[word] for word in words], tape)
    assert done.returncode == 0 and done.stdout == b"last of 1\n", done.stderr
    before = next(line for line in done.stderr.splitlines() if line.startswith(b"memtape: before it: "))
    assert b"ld.so" not in done.stderr and before.count(b"(3 allocations") == len(words) - 1
    info = recording.report(tape, "recording")
    assert info["process"]["machine"] == {"wide": "x86_64", "narrow": "i386"}[words[-1]]
    assert sizes_counted(tape)[2231] == 3
    assert recording.report(tape, "summary")["lost_events"] == 0


def test_without_the_other_recorder_it_is_left_and_that_is_said(narrow, libraries, tape):
    shutil.rmtree(libraries / "i386")
    done = record(libraries, [recording.target("execs"), narrow.compile("execs.c", "narrow")], tape)
    assert done.returncode == 0 and done.stdout == b"last of 1\n"
    assert b"not recorded: it is a program of 32 bits or for another processor" in done.stderr
    assert b"ld.so" not in done.stderr
    assert recording.report(tape, "recording")["process"]["machine"] == "x86_64"


WAYS = ["fork", "vfork", "spawn", "spawnp", "system", "popen"]


def tapes_of(tape):
    """Of all processes, by machine: sizes that were allocated."""
    found = {"i386": [], "x86_64": []}
    for path in sorted(tape.parent.glob(tape.name + "*")):
        if path.suffix != ".session":
            found[recording.report(path, "recording")["process"]["machine"]].append(sizes_counted(path))
    return found


def programs_of(narrow, name):
    return {"wide": recording.target(name), "narrow": narrow.compile(f"{name}.c", f"{name}-narrow")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ["wide narrow", "narrow wide", "narrow narrow", "wide narrow wide"])
def test_children_of_the_other_size_are_followed(order, way, narrow, libraries, tape):
    starts, last = programs_of(narrow, "starts"), programs_of(narrow, "execs")
    *before, end = order.split()
    args = [word for size in before for word in (starts[size], way)] + [last[end]]
    done = record(libraries, args, tape, "--follow", "--no-summary")
    plain = recording.run_plain(args)
    lines = done.stdout.splitlines()
    own = {"wide": libraries / "libmemtape.so", "narrow": libraries / "i386/libmemtape.so"}
    assert [line for line in lines if not line.startswith(b"LD_PRELOAD=")] == plain.stdout.splitlines()
    # what was in the environment before is in it afterwards
    assert [line for line in lines if line.startswith(b"LD_PRELOAD=")] == [f"LD_PRELOAD={own[size]}".encode() for size in reversed(before)]
    assert done.returncode == plain.returncode == 0
    assert b"ld.so" not in done.stderr and b"not recorded" not in done.stderr, done.stderr
    found = tapes_of(tape)
    machines = {"wide": "x86_64", "narrow": "i386"}
    for size in ("wide", "narrow"):
        rows = found[machines[size]]
        assert sum(row.get(2232) == 3 for row in rows) == before.count(size)
        assert sum(row.get(2231) == 3 for row in rows) == (end == size)


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_starts_them(shell, narrow, libraries, tape):
    program = programs_of(narrow, "execs")["narrow"]
    done = record(libraries, [f"/bin/{shell}", "-c", f"{program}; {program} | cat; exec {program}"], tape, "--follow", "--no-summary")
    assert (done.returncode, done.stdout) == (0, b"last of 1\n" * 3), done.stderr
    assert b"ld.so" not in done.stderr and b"not recorded" not in done.stderr, done.stderr
    assert sum(row.get(2231) == 3 for row in tapes_of(tape)["i386"]) == 3


def test_followed_ones_without_a_recorder_are_counted(narrow, libraries, tape):
    shutil.rmtree(libraries / "i386")
    starts = recording.target("starts")
    args = ["/bin/bash", "-c", " ".join(f"{starts} {way} {narrow.compile('execs.c', 'narrow')};" for way in WAYS[:4])]
    done = record(libraries, args, tape, "--follow", "--no-summary")
    assert done.returncode == 0 and done.stdout.count(b"last of 1\n") == 4
    assert b"memtape: not recorded: 4 programs of 32 bits or for another processor" in done.stderr, done.stderr


def troubles(tape):
    """What the scans say that are on the tape."""
    done = recording.run([recording.memtape(), "report", tape, "summary"])
    assert done.returncode == 0, done.stderr
    return [line.strip().decode() for line in done.stdout.splitlines() if b"no result: " in line]


UNSEEN = r"no result: process \d+ is a 32-bit program \(i386\): it is recorded, but not looked into"


def has_only_refused(tape):
    found = troubles(tape)
    return len(found) == 1 and re.fullmatch(UNSEEN, found[0])


def test_what_it_asks_for_itself_is_refused(narrow, libraries, tape):
    done = record(libraries, [narrow.target("asks")], tape, "--no-summary")
    assert (done.returncode, done.stdout) == (0, b"0 0 errno 1234\n"), done.stderr
    assert has_only_refused(tape)
    assert {mark["name"] for mark in recording.report(tape, "marks")["marks"]} == {"snapshot", "three more"}


@pytest.mark.parametrize("how", ["exec", "follow"])
def test_a_scan_at_its_end_is_refused(how, narrow, libraries, tape):
    execs = programs_of(narrow, "execs")
    args = [execs["wide"], execs["narrow"]] if how == "exec" else [recording.target("starts"), "fork", execs["narrow"]]
    done = record(libraries, args, tape, "--leak-scan", "--no-summary", *(["--follow"] if how == "follow" else []))
    assert done.returncode == 0, done.stderr
    tapes = [path for path in tape.parent.glob(tape.name + "*") if path.suffix != ".session"]
    narrow_ones = [path for path in tapes if recording.report(path, "recording")["process"]["machine"] == "i386"]
    assert len(narrow_ones) == 1 and has_only_refused(narrow_ones[0])


def started(libraries, args, tape, *options):
    """A recording of a program that ends in `waits`, and that one's number."""
    command = [recording.memtape(), "record", "--no-summary", *options, "-o", tape, "--", *args]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=recording.clean_env(MEMTAPE_LIBRARY=libraries / "libmemtape.so"))
    return process, process.stdout.readline().decode().strip()


def ask(command, *words):
    return recording.run([recording.memtape(), command, *words])


def test_pages_of_what_it_became_are_not_watched(narrow, libraries, tape):
    process, pid = started(libraries, [recording.target("execs"), narrow.target("waits")], tape, "--staleness")
    for _ in range(2):  # the collector comes round once in between
        assert ask("ctl", pid, "snapshot").returncode == 0
    process.communicate(b"\n", 60)
    stale = ask("report", tape, "stale")
    assert process.returncode == 0 and stale.returncode != 0
    assert re.search(rb"could not be watched: .*32-bit program \(i386\)", stale.stderr), stale.stderr


def test_one_that_runs_is_refused(narrow, libraries, tape):
    process, pid = started(libraries, [narrow.target("waits")], tape)
    scan, leaks, status = ask("ctl", pid, "leak-scan"), ask("leaks", pid), ask("ctl", pid, "status", "--json")
    process.communicate(b"\n", 60)
    assert scan.returncode != 0 and b"is a 32-bit program (i386)" in scan.stderr
    assert leaks.returncode != 0 and leaks.stdout == b"" and b"not looked into" in leaks.stderr
    assert status.returncode == 0 and json.loads(status.stdout)["state"] == "recording"
    assert process.returncode == 0 and has_only_refused(tape) and sizes_counted(tape)[2233] == 3
