"""Totals are right: an interposer that only counts, preloaded behind the recorder, sees the same
calls of the same process and must come to the same numbers."""

import struct
import subprocess

import pytest

import recording
from tape_reader import FUNCTIONS, ALLOC, FAIL, FREE, IN, OUT, Tape

COUNTED = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc",
           "pvalloc", "free")

# What libstdc++ 12 makes of the operators, and glibc of the rest.
BENEATH = {"operator new": "malloc", "operator new[]": "malloc", "operator new(nothrow)": "malloc",
           "operator new[](nothrow)": "malloc", "reallocarray": "realloc", "cfree": "free",
           "free_sized": "free", "free_aligned_sized": "free"}

TARGETS = [("hooks",), ("operators",), ("frames",), ("jumps",), ("coroutines",), ("mappings",),
           ("exceptions", "deep"), ("threads", "eight"), ("threads", "thousand"), ("early",),
           ("thread_ends",), ("deep", "saw"), ("conformance",),
           ("endings", "return"), ("endings", "_exit_thread"), ("endings", "kill"),
           ("processes", "fork"), ("processes", "vfork"), ("processes", "many")]

PYTHON = "import json; a = [str(i) * 3 for i in range(20000)]; print(len(json.dumps(a)))"
PERL = "my %h; $h{$_} = 'x' x $_ for 1..2000; print scalar(keys %h), qq(\\n);"
SQL = ("create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n where "
       "i < 20000) insert into t select i, hex(i) from n; create index u on t(b); "
       "select count(*), max(b) from t;")
C_SOURCE = "\n".join(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) "
                     f"s += a[i] * {i}; return s; }}" for i in range(60))


def real_programs(tmp_path):
    source = tmp_path / "source.c"
    source.write_text(C_SOURCE)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
    return {
        "python3": [recording.which("python3"), "-c", PYTHON],
        "cc1": [cc1.stdout.strip(), "-O2", "-quiet", source, "-o", tmp_path / "source.s"],
        "git": [recording.which("git"), "-C", recording.ROOT, "--no-pager", "log", "--stat", "-20"],
        "perl": [recording.which("perl"), "-e", PERL],
        "sqlite3": [recording.which("sqlite3"), ":memory:", SQL],
        "sort": [recording.which("sort"), "-R", source],
        "clang": [recording.which("clang-14"), "-cc1", "-emit-obj", "-O2", source, "-o",
                  tmp_path / "source.o"],
    }


def counted_totals(path):
    data = path.read_bytes()
    return {name: struct.unpack_from("<QQQ", data, 24 * i) for i, name in enumerate(COUNTED)}


def tape_totals(tape):
    """{name: [calls, bytes, failed, of size 0]} from the events, by the tests' own reader."""
    totals = {}
    for event in Tape(tape).events:
        name, kind = FUNCTIONS[event.fn]
        row = totals.setdefault(name, [0, 0, 0, 0])
        if kind == OUT:
            continue  # the IN or FAIL that follows is the call
        row[0] += 1
        if kind in (ALLOC, IN) and event.address:
            row[1] += event.size
            row[3] += event.size == 0
        elif kind == FAIL or (kind == ALLOC and not event.address):
            row[2] += 1
    return totals


def summary_totals(tape):
    rows = recording.report(tape, "summary")["functions"]
    return {name: [row["calls"], row["bytes"], row["failed"]] for name, row in rows.items()}


def fold(totals):
    """As the interposer sees it: operators and reallocarray become what they call."""
    folded = {name: [0, 0, 0] for name in COUNTED}
    for name, row in totals.items():
        beneath = BENEATH.get(name, name)
        if name.startswith("operator delete"):
            beneath = "free"
        elif name.startswith("operator new") and "align" in name:
            beneath = "aligned_alloc"
        assert beneath in folded, (
            f"events of {name} are on the tape, but which function that the interposer counts does it call? "
            f"Say so in BENEATH, or count it (COUNTED, tests/targets/count_interposer.c)")
        for i in range(3):
            folded[beneath][i] += row[i]
    return folded


def both_counts(args, tape, tmp_path, env=None, **options):
    counts = tmp_path / "counts"
    interposer = recording.target("count_interposer.so")
    outcome = recording.run_bare(args, tape, preload_after=[interposer],
                                 env={"COUNT_OUTPUT": counts, **(env or {})}, **options)
    return outcome, counted_totals(counts)


def compare(counted, totals, exact_bytes=True):
    folded = fold(totals)
    for name in COUNTED:
        calls, size, failed = counted[name]
        # Calls that succeeded: a reallocarray that overflows never comes to realloc.
        assert folded[name][0] - folded[name][2] == calls - failed, (name, folded, counted)
        # libstdc++ rounds an aligned new's size up before it asks for the memory; what a free
        # gave back is not what the interposer counts.
        if name != "free" and (name != "aligned_alloc" or exact_bytes):
            assert folded[name][1] == size, (name, folded[name], counted[name])


def add_empty_news(summary, own):
    """libstdc++ asks for one byte when new is asked for none."""
    for name, row in own.items():
        if name.startswith("operator new"):
            row[1] += row[3]
            if name in summary:
                summary[name][1] += row[3]


def check(args, tape, tmp_path, env=None, exact_bytes=True):
    outcome, counted = both_counts(args, tape, tmp_path, env)
    assert sum(row[0] for row in counted.values()) > 10
    own = tape_totals(tape)
    summary = summary_totals(tape) if recording.have_reader() else {}
    add_empty_news(summary, own)
    compare(counted, own, exact_bytes)
    if recording.have_reader():
        compare(counted, summary, exact_bytes)
    return outcome


@pytest.mark.parametrize("args", TARGETS, ids=" ".join)
def test_targets(args, tape, tmp_path):
    exact = args[0] != "operators"
    check([recording.target(args[0]), *args[1:]], tape, tmp_path, exact_bytes=exact)


REAL_PROGRAMS = ["python3", "cc1", "git", "perl", "sqlite3", "sort",
                 pytest.param("clang", marks=pytest.mark.skipif(not recording.FULL, reason="long"))]


@pytest.mark.parametrize("name", REAL_PROGRAMS)
def test_real_programs(name, tape, tmp_path):
    args = real_programs(tmp_path)[name]
    if not args[0]:
        pytest.skip(f"{name} is not installed")
    outcome = check(args, tape, tmp_path)
    assert outcome.returncode == 0, outcome.stderr


def test_python_with_malloc(tape, tmp_path):
    args = [recording.which("python3"), "-c", "print(sum(len(str(i)) for i in range(3000)))"]
    outcome = check(args, tape, tmp_path, env={"PYTHONMALLOC": "malloc"})
    assert outcome.stdout == b"10890\n"


def test_separate_runs_agree(tape, tmp_path):
    """Not behind the recorder but alone: the recorder adds no call and loses none."""
    args = [recording.target("frames")]
    counts = tmp_path / "alone"
    env = recording.clean_env(LD_PRELOAD=recording.target("count_interposer.so"), COUNT_OUTPUT=counts)
    assert recording.run(args, env=env).returncode == 0
    alone = counted_totals(counts)
    assert recording.run_bare(args, tape).returncode == 0
    folded = fold(tape_totals(tape))
    # pthread_atfork of the interposer itself may allocate; nothing else differs.
    assert folded["free"][0] == alone["free"][0]
    assert 0 <= alone["malloc"][0] - folded["malloc"][0] <= 1


def test_a_first_allocation_is_one_event(tape):
    """Recording begins inside of it, and what the allocator calls for it is its own affair."""
    recording.run_bare([recording.target("before_all")], tape, preload_after=[recording.target("malloc_by_memalign.so")])
    sizes = [(FUNCTIONS[event.fn][0], event.size) for event in Tape(tape).events if event.size in (111, 112, 222, 333)]
    assert sizes == [("malloc", size) for size in (111, 112, 222, 333)]


def test_frees_are_matched(tape):
    """Every free on the tape is of a block on the tape."""
    recording.run_bare([recording.which("perl"), "-e", PERL], tape)
    read = Tape(tape)
    blocks = read.replay()
    assert len(blocks) > 1000
    assert not read.unknown_frees
    assert not read.overlaps
    assert FREE in {FUNCTIONS[event.fn][1] for event in read.events}
