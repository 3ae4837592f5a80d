"""
Leak scans against Valgrind's Memcheck and gcc's LeakSanitizer, on programs of which it is known what
they lose (tests/targets/leaks/leak.h). Bytes and blocks of every class must be the same.

Whose block is it? A block that the loader, libc or libstdc++ allocated for itself has no function of
the program between the allocation and the first function of theirs that is only called by themselves:
the loader's. Memcheck lets libc and libstdc++ free theirs before it looks (__libc_freeres()), and
the loader's lists have other lengths under it. These blocks are not compared.

A thread's vector of thread-local memory (allocate_dtv) is possibly lost to both, and suppressed by
memtape. It has 16 bytes for each library with such memory, of which the recorder is one, so only the
number of vectors is compared.
"""

import os
import re
import signal
import subprocess
import time

import pytest

import leak_cases
import recording

CASES = leak_cases.all_cases()
PARAMETERS = [pytest.param(case, id=case.id) for case in CASES if case.program != "forked"]
FORKED = [case for case in CASES if case.program == "forked"]

# The peers are slow, and what they find in these programs does not change: otherwise a sample will do.
SAMPLE = 1 if recording.FULL else 6

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")
needs_valgrind = pytest.mark.skipif(not recording.which("valgrind"), reason="valgrind is not installed")

# Where Memcheck finds something else than the programs state.
MEMCHECK_DIFFERS = {
    # It looks at general registers only.
    "threads vector_register_of_running": {"definite": (620, 1), "reachable": (0, 0)},
    # libc frees its own memory before Memcheck looks, and so the stream forgets its buffer.
    "mapped buffer_of_a_stream": {"definite": (4096, 1), "reachable": (0, 0)},
}

# Where memtape does.
MEMTAPE_DIFFERS = {
    # What a program takes from the break is in the mapping of libc's heap, of which only blocks are
    # looked at: the recorder does not see calls of sbrk().
    "mapped program_break": {"definite": (416, 1), "reachable": (0, 0)},
}

def found_by(records):
    return leak_cases.add_up(
        record for record in records if not record.is_vector and not record.is_loaders)


def vector_count(records):
    """Of threads that are there: libc holds them by their middle."""
    return sum(record.blocks for record in records if record.is_vector and record.kind == "possible")


@needs_valgrind
@pytest.mark.parametrize("case", PARAMETERS[::SAMPLE])
def test_memcheck_finds_what_the_program_states(case, tmp_path):
    stated = {**case.found, **MEMCHECK_DIFFERS.get(case.id, {})}
    for _ in range(3):  # a word that is no pointer may look like one into a large block
        done, records = leak_cases.memcheck(case.args, tmp_path)
        assert done.returncode == case.returncode, done.stderr
        if found_by(records) == stated:
            break
    assert found_by(records) == stated, records
    assert vector_count(records) == case.dtvs


@pytest.mark.parametrize("case", PARAMETERS)
def test_memtape_finds_the_same(case, tape):
    plain = recording.run_plain(case.args)
    done, records = leak_cases.scanned(case.args, tape)
    assert plain.returncode == case.returncode, plain.stderr
    assert done.returncode in (case.returncode, 128 - case.returncode), done.stderr
    assert found_by(records) == {**case.found, **MEMTAPE_DIFFERS.get(case.id, {})}, records


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if case.dtvs])
def test_vectors_of_threads_are_suppressed(case, tape):
    _, records = leak_cases.scanned(case.args, tape)
    assert not any(record.is_vector for record in records)
    assert vector_count(leak_cases.records_of(tape, "--no-suppressions")) == case.dtvs


# --- LeakSanitizer ---------------------------------------------------------------------------------

# It takes a pointer into the middle of a block for as good as one to the beginning, so it has no
# possible losses. Direct and indirect leaks together are what is definitely and indirectly lost. A
# direct leak is a block that no lost block points to, so a cycle has none: Memcheck calls the block
# of the cycle that it meets first definitely lost.
CYCLES = {
    "classes cycle_of_two", "classes cycle_of_ten", "classes two_cycles", "classes eight",
    "classes leader_of_follower", "containers list_lost", "containers map_lost",
    "containers map_of_strings_lost", "containers unordered_map_lost", "containers shared_cycle",
    "containers shared_new_cycle",
}

# It does not look into memory that the program mapped itself.
NO_ROOTS = {
    f"mapped {name}" for name in (
        "private_mapping", "shared_mapping", "private_file", "shared_file", "memory_file",
        "zero_device", "end_of_mapping", "moved", "behind_a_guard", "looks_like_an_arena",
        "beside_large_block", "program_break")
}

# Other reasons.
INCOMPARABLE = {
    "pointers no_bytes_lost": "malloc(0) is a block of one byte to it",
    "pointers no_bytes_end": "malloc(0) is a block of one byte to it",
    "pointers no_bytes_many": "malloc(0) is a block of one byte to it",
    "objects empty_array": "it knows of arrays without elements",
    "modules name_space": "it does not look at libraries of other name spaces",
    "threads result_not_joined": "it does not look for results of threads",
    "threads results_of_three": "it does not look for results of threads",
    "threads main_has_ended": "it does not look at the first thread when that has ended",
}


def lsan_cases():
    for case in CASES:
        if case.program in ("endings", "forked") or case.returncode < 0:
            continue  # it looks at a normal end only
        if case.id not in NO_ROOTS and case.id not in INCOMPARABLE:
            yield pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", list(lsan_cases())[::SAMPLE])
def test_leak_sanitizer_agrees(case):
    program = recording.target(f"leaks/{case.program}-lsan")
    if not program.exists():
        pytest.skip("built without LeakSanitizer")
    done = recording.run([program, case.name], env=recording.clean_env(LSAN_OPTIONS="exitcode=0"))
    assert done.returncode == case.returncode, done.stderr
    leaks = {"Direct": (0, 0), "Indirect": (0, 0)}
    for kind, size, count in re.findall(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object",
                                        done.stderr.decode()):
        leaks[kind] = (leaks[kind][0] + int(size), leaks[kind][1] + int(count))
    lost = [case.found["definite"], case.found["indirect"]]
    assert [sum(column) for column in zip(*leaks.values())] == [sum(column) for column in zip(*lost)]
    assert (leaks["Direct"] == case.found["definite"]) == (case.id not in CYCLES)
    assert leaks["Direct"] <= case.found["definite"]


# --- programs that are more than one process, or have no end ---------------------------------------


def memcheck_sums(text):
    """By process: the sums of a log."""
    sums = {}
    for pid, line in re.findall(r"==(\d+)==\s+(.*)", text):
        found = sums.setdefault(pid, dict.fromkeys(leak_cases.CLASSES, (0, 0)))
        match = re.match(r"(definitely|indirectly|possibly) lost: ([\d,]+) bytes in ([\d,]+) blocks|"
                         r"(still) reachable: ([\d,]+) bytes in ([\d,]+) blocks", line)
        if match:
            word, size, count = [part for part in match.groups() if part]
            kind = {"definitely": "definite", "indirectly": "indirect", "possibly": "possible",
                    "still": "reachable"}[word]
            found[kind] = (int(size.replace(",", "")), int(count.replace(",", "")))
    return sums


@needs_valgrind
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FORKED])
def test_memcheck_looks_at_children_too(case, tmp_path):
    done = recording.run(["valgrind", "--leak-check=full", "--undef-value-errors=no",
                          f"--log-file={tmp_path}/log", *case.args])
    assert done.returncode == 0
    parent, child = [found for _, found in sorted(memcheck_sums((tmp_path / "log").read_text()).items())]
    assert parent == case.found
    assert child == case.child


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FORKED])
def test_a_child_is_not_its_parent(case, tape):
    """Nothing of what a child does is in its parent's scan."""
    done, records = leak_cases.scanned(case.args, tape)
    assert done.returncode == 0, done.stderr
    assert found_by(records) == case.found


def run_until_third_line(args):
    """As in a terminal: all of the group gets the signal. Its exit code."""
    process = subprocess.Popen([str(arg) for arg in args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=recording.clean_env(), start_new_session=True)
    with process:
        for _ in range(3):
            assert process.stdout.readline() == b"allocated\n"
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
    return process.returncode


ENDLESS = {"definite": (8, 2), "indirect": (0, 0), "possible": (0, 0), "reachable": (4, 1)}


@needs_valgrind
def test_memcheck_of_an_endless_program(tmp_path):
    log = tmp_path / "log"
    program = recording.target("leaks/endless")
    assert run_until_third_line(["valgrind", "--leak-check=full", f"--log-file={log}", program]) == -signal.SIGINT
    assert list(memcheck_sums(log.read_text()).values()) == [ENDLESS]


def test_memtape_of_an_endless_program(tape):
    program = recording.target("leaks/endless")
    code = run_until_third_line([recording.memtape(), "record", "--quiet", "--leak-scan", "-o", tape, "--", program])
    assert code in (-signal.SIGINT, 128 + signal.SIGINT)
    assert leak_cases.add_up(leak_cases.records_of(tape)) == ENDLESS


def test_every_program_states_something():
    stating = {case.program for case in CASES} | {"endless", "plugin", "library"}
    for path in [*leak_cases.SOURCES.glob("*.c"), *leak_cases.SOURCES.glob("*.cpp")]:
        assert path.stem in stating, path
    assert len(CASES) > 200
