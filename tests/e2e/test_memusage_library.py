"""libmemusage.so in the place of glibc's: LD_PRELOAD and memusage's variables, nothing else."""

import os
import pathlib
import re
import subprocess

import pytest

import recording
from test_memusage import ESCAPE, programs, records, stat  # noqa: F401  (programs is a fixture)

THEIRS = pathlib.Path("/lib/x86_64-linux-gnu/libmemusage.so")
SCRIPT = "import json; print(len(json.dumps([{'a': i} for i in range(3000)])))"
SQL = "create table t(a); insert into t values(1),(2); select sum(a) from t;"

need_original = pytest.mark.skipif(not THEIRS.exists(), reason="glibc's libmemusage.so is not there")


def library():
    return recording.library().with_name("libmemusage.so")


def run(args, folder, preload=None, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMUSAGE_", "MEMTAPE_")) and k != "NO_COLOR"}
    env.update({"LD_PRELOAD": str(preload or library()), **variables})
    return subprocess.run([str(arg) for arg in args], cwd=folder, env=env, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)


def tables(text):
    """{row label: numbers} of each table."""
    plain = ESCAPE.sub(b"", text).decode()
    found = []
    for part in plain.split("\nMemory usage summary:")[1:]:
        rows = {m[1].strip(): tuple(map(int, m[2].split())) for m in re.finditer(r"^ *([\w()]+)\|((?: +\d+)+)", part, re.M)}
        rows["peaks"] = tuple(map(int, re.findall(r"(?:total|peak): (\d+)", part.splitlines()[0])))
        found.append(rows)
    return found


def mask(text):
    """What differs between two allocators' layouts of the same calls, and how deep whose frames are."""
    return re.sub(rb"nomove:\d+", b"nomove:*", re.sub(rb"stack peak: \d+", b"stack peak: *", text))


@need_original
@pytest.mark.parametrize("name,args", [("hello", []), ("reallocs", []), ("nothing", []), ("threads", ["4", "500"]),
                                       ("deep", ["t"]), ("ends", ["x"]), ("descriptors", [])])
def test_same_bytes_as_the_original(programs, tmp_path, name, args):  # noqa: F811
    theirs, ours = (run([programs / name, *args], tmp_path, preload) for preload in (THEIRS, library()))
    texts = [mask(run.stderr) for run in (ours, theirs)]
    if name == "threads":  # how much of it they hold at once is the scheduler's affair
        texts = [re.sub(rb"heap peak: \d+", b"heap peak: *", text) for text in texts]
    assert texts[0] == texts[1] != b""
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)


@need_original
@pytest.mark.parametrize("words", [["python3", "-c", SCRIPT], ["git", "--version"], ["sqlite3", ":memory:", SQL],
                                   ["gcc", "--version"]], ids=lambda words: words[0])
def test_same_bytes_of_real_programs(tmp_path, words):
    args = [recording.which(words[0]), *words[1:]]
    # the same seed of hashes in both; and the original's way in has as long a name as ours
    seeds = {"PYTHONHASHSEED": "1", "LANG": "C", "LC_ALL": "C"}
    theirs, ours = (run(args, tmp_path, preload, **seeds) for preload in (THEIRS, library()))
    ours_rows, theirs_rows = tables(ours.stderr), tables(theirs.stderr)
    assert len(ours_rows) == len(theirs_rows) == 1 and ours.stdout == theirs.stdout
    for label in ("malloc", "realloc", "calloc"):  # what a longer variable costs is a byte here and there
        assert abs(ours_rows[0][label][0] - theirs_rows[0][label][0]) <= 2
        assert abs(ours_rows[0][label][1] - theirs_rows[0][label][1]) <= 512
    assert abs(ours_rows[0]["free"][0] - theirs_rows[0]["free"][0]) <= 2 + ours_rows[0].get("aligned", (0,))[0]
    shape = [re.sub(rb"\d+|[= ]", b"", ESCAPE.sub(b"", text)).split(b"Histogram")[0].replace(b"aligned|\n", b"")
             for text in (ours.stderr, theirs.stderr)]
    assert shape[0] == shape[1]


@pytest.mark.parametrize("words", [["ls", "/"], ["sort", "/etc/passwd"], ["perl", "-e", "print 1"]], ids=lambda words: words[0])
def test_a_table_of_programs_that_close_stderr(tmp_path, words):
    """All of coreutils do, and the original is silent."""
    done = run([recording.which(words[0]), *words[1:]], tmp_path)
    assert done.returncode == 0 and len(tables(done.stderr)) == 1
    assert tables(done.stderr)[0]["malloc"][0] > 10


@pytest.mark.parametrize("how,code,count", [("k", -9, 0), ("s", -11, 0), ("a", -6, 0), ("t", -15, 0), ("e", 9, 1), ("q", 8, 1)])
def test_however_it_ends(programs, tmp_path, how, code, count):  # noqa: F811
    done = run([programs / "ends", how], tmp_path, MEMUSAGE_OUTPUT="data")
    assert done.returncode == code and len(tables(done.stderr)) == count
    assert (tmp_path / "data").stat().st_size % 24 == 0
    if count:
        assert tables(done.stderr)[0]["malloc"] == (1, 4321, 0)
        assert [heap for heap, _, _ in records(tmp_path / "data")] == [0, 4321, 4321]


def test_children_count_for_themselves(programs, tmp_path):  # noqa: F811
    done = run([programs / "forks"], tmp_path, MEMUSAGE_OUTPUT="data")
    assert [rows["malloc"][:2] for rows in tables(done.stderr)] == [(1, 2000), (2, 4000)]
    child, = tmp_path.glob("data.*")
    assert [heap for heap, _, _ in records(tmp_path / "data")[2:]] == [1000, 4000]
    assert [heap for heap, _, _ in records(child)[2:]] == [2000, 0]


def test_a_forked_child_that_ends_by_exit_now_is_silent(tmp_path):
    script = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()"
    assert len(tables(run(["/usr/bin/python3", "-c", script], tmp_path).stderr)) == 1


def test_programs_of_a_shell_have_files_of_their_own(programs, tmp_path):  # noqa: F811
    (tmp_path / "elsewhere").mkdir()
    script = f"cd elsewhere; {programs}/hello; sh -c '{programs}/reallocs; exit 0'; exit 5"
    done = run(["sh", "-c", script], tmp_path, MEMUSAGE_OUTPUT="a%%b.dat")
    assert done.returncode == 5 and len(tables(done.stderr)) == 4
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 5 and names[0] == "a%b.dat" and all(re.fullmatch(r"a%b\.dat\.\d+", n) for n in names[1:4])
    assert {len(records(tmp_path / name)) > 2 for name in names[:4]} == {True}
    assert not list((tmp_path / "elsewhere").iterdir())


def test_only_the_program_of_that_name(programs, tmp_path):  # noqa: F811
    script = f"{programs}/hello; {programs}/reallocs; exit 0"
    done = run(["sh", "-c", script], tmp_path, MEMUSAGE_PROG_NAME="hello", MEMUSAGE_OUTPUT="data")
    assert len(tables(done.stderr)) == 1 and sorted(p.name for p in tmp_path.iterdir()) == ["data"]
    assert run([programs / "hello"], tmp_path, MEMUSAGE_PROG_NAME="ell").stderr == b""


@need_original
def test_same_data_as_the_original(programs, tmp_path):  # noqa: F811
    run([programs / "reallocs"], tmp_path, THEIRS, MEMUSAGE_NO_TIMER="", MEMUSAGE_OUTPUT="theirs")
    done = run([programs / "reallocs"], tmp_path, MEMUSAGE_NO_TIMER="", MEMUSAGE_BUFFER_SIZE="1", MEMUSAGE_OUTPUT="ours")
    theirs, ours = records(tmp_path / "theirs"), records(tmp_path / "ours")
    assert [heap for heap, _, _ in ours] == [heap for heap, _, _ in theirs]
    assert ours[1][:2] == tables(done.stderr)[0]["peaks"][1:]
    assert ours[0][1] == max(heap + stack for heap, stack, _ in ours[2:])
    times = [time for _, _, time in ours[2:]]
    assert times == sorted(times) and ours[0][2] <= times[0] and times[-1] <= ours[1][2]


def test_the_data_is_drawn(programs, tmp_path):  # noqa: F811
    run([programs / "deep", "-"], tmp_path, MEMUSAGE_OUTPUT="data")
    assert stat(programs, tmp_path, "data", "ours.png").returncode == 0
    theirs = recording.which("memusagestat")
    if theirs:
        before = (tmp_path / "data").read_bytes()
        subprocess.run([theirs, "data", "theirs.png"], cwd=tmp_path, check=True)
        assert (tmp_path / "data").read_bytes() == before and (tmp_path / "theirs.png").stat().st_size > 1000
    assert (tmp_path / "ours.png").stat().st_size > 1000


def test_threads_lose_nothing(programs, tmp_path):  # noqa: F811
    count, rounds = 8, 20000
    done = run([programs / "threads", count, rounds], tmp_path, MEMUSAGE_OUTPUT="data")
    rows, = tables(done.stderr)
    assert rows["malloc"] == (count * rounds, count * rounds // 100 * sum(range(100)), 0)
    found = records(tmp_path / "data")[2:]
    assert len(found) >= 2 * count * rounds and all(time for _, _, time in found)
    assert all(a[2] <= b[2] for a, b in zip(found, found[1:]))
    assert max(heap for heap, _, _ in found) == rows["peaks"][1]


def test_main_may_end_while_threads_count(programs, tmp_path):  # noqa: F811
    for _ in range(recording.times(60, 8)):
        done = run([programs / "late"], tmp_path, MEMUSAGE_OUTPUT="data")
        assert done.returncode == 0 and tables(done.stderr)[0]["malloc"][0] > 0
        assert (tmp_path / "data").stat().st_size % 24 == 0


def test_mappings(programs, tmp_path):  # noqa: F811
    done = run([programs / "maps"], tmp_path, MEMUSAGE_TRACE_MMAP="", MEMUSAGE_OUTPUT="data")
    rows, = tables(done.stderr)
    assert rows["mmap(r)"] == (2, 4096, 1) and rows["mmap(w)"] == (1, 8192, 0) and rows["mmap(a)"] == (1, 20480, 0)
    assert rows["mremap"] == (3, 8192, 1) and rows["munmap"] == (7, 4096 * 4 + 2 * 20480, 1)
    assert rows["peaks"][:2] == (8192 + 4096 + 20480 + 8192, 8192 + 4096 + 20480)
    assert [heap for heap, _, _ in records(tmp_path / "data")[2:]] == [
        8192, 12288, 32768, 28672, 24576, 32768, 20480, 16384, 12288, 0, 0]


def test_aligned_allocations_have_a_row(programs, tmp_path):  # noqa: F811
    total = 3 * (1000 + 2048 + 70 + 10) + 40
    rows, = tables(run([programs / "aligned"], tmp_path).stderr)
    assert rows["aligned"] == (13, total, 0) and rows["malloc"] == (0, 0, 0) and rows["free"] == (13, total + 20)
    assert list(rows)[:5] == ["malloc", "realloc", "calloc", "aligned", "free"]


def test_a_stack_is_known_where_nothing_is_allocated(programs, tmp_path):  # noqa: F811
    (tmp_path / "deep.c").write_text("""
        int main(int argc, char **argv) {
            volatile char room[1 << 20];
            if (argc > 1) for (int i = 0; i < 1 << 20; i += 512) room[i] = i;
            return 0;
        }""")
    subprocess.run(["cc", "-O0", "-w", "-o", "deep", "deep.c"], cwd=tmp_path, check=True)
    flat, deep = (tables(run(["./deep", *args], tmp_path).stderr)[0]["peaks"][2] for args in ([], ["x"]))
    assert 0 < flat < 1 << 16 and 1 << 20 <= deep < (1 << 20) + (1 << 16)


def test_no_colours_where_they_are_not_wanted(programs, tmp_path):  # noqa: F811
    assert b"\x1b[01;32mMemory usage" in run([programs / "hello"], tmp_path).stderr
    assert b"\x1b" not in run([programs / "hello"], tmp_path, NO_COLOR="1").stderr


def test_what_cannot_be_written_is_told_and_the_table_is_there(programs, tmp_path):  # noqa: F811
    for name in ("nosuch/x", "/dev/null"):
        done = run([programs / "hello"], tmp_path, MEMUSAGE_OUTPUT=name)
        assert done.returncode == 0 and f"memusage: {name}: it " in done.stderr.decode()
        assert len(tables(done.stderr)) == 1


def test_a_limit_to_the_size_of_files_ends_the_data_only(programs, tmp_path):  # noqa: F811
    done = run(["sh", "-c", f"ulimit -f 100; exec {programs / 'threads'} 1 50000"], tmp_path, MEMUSAGE_OUTPUT="d",
               MEMUSAGE_PROG_NAME="threads")
    assert done.returncode == 0 and tables(done.stderr)[0]["malloc"][0] == 50000
    found = records(tmp_path / "d")
    assert 0 < len(found) <= (100 << 10) // 24 and found[1][0] == tables(done.stderr)[0]["peaks"][1]


def test_a_file_that_is_there_is_replaced_and_not_cut(programs, tmp_path):  # noqa: F811
    """Another process may still be writing to it."""
    (tmp_path / "data").write_bytes(b"x" * 5000)
    with open(tmp_path / "data", "rb") as old:
        run([programs / "hello"], tmp_path, MEMUSAGE_OUTPUT="data")
        assert len(old.read()) == 5000
    assert len(records(tmp_path / "data")) == 22


def test_descriptors_are_the_programs_own(programs, tmp_path):  # noqa: F811
    assert run([programs / "descriptors"], tmp_path, MEMUSAGE_OUTPUT="data").returncode == 0
    assert (tmp_path / "victim").read_bytes() == b"mine"
    assert [heap for heap, _, _ in records(tmp_path / "data")[2:]] == [5, 11]


def test_a_program_that_opens_its_own_file_as_stderr_keeps_it(tmp_path):
    script = "import os; os.close(2); fd = os.open('mine', os.O_CREAT | os.O_WRONLY); assert fd == 2"
    done = run(["/usr/bin/python3", "-c", script], tmp_path)
    assert done.returncode == 0 and (tmp_path / "mine").read_bytes() == b"" and len(tables(done.stderr)) == 1


def test_a_failed_exec_does_not_end_the_data(tmp_path):
    (tmp_path / "again.c").write_text("""
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) { malloc(100); execl("/nonexistent", "x", NULL); for (int i = 0; i < 9000; i++) malloc(10); return 0; }""")
    subprocess.run(["cc", "-O0", "-fno-builtin", "-w", "-o", "again", "again.c"], cwd=tmp_path, check=True)
    done = run(["./again"], tmp_path, MEMUSAGE_OUTPUT="data")
    found = records(tmp_path / "data")
    assert len(found) == 2 + 9001 and found[1][0] == tables(done.stderr)[0]["peaks"][1] == 90100
    assert all(time for _, _, time in found)
