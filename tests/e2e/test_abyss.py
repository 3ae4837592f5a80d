"""Stacks deeper than a chunk of the tape has room for: whole on the tape, and every reader lives."""

import pytest

import recording

DEPTH = 100000


def recorded(tape, collected, depth=DEPTH, variant=""):
    start = recording.run_recorded if collected else recording.run_bare
    answer = start([recording.target("abyss" + variant), depth], tape)
    assert answer.returncode == 0, answer.stderr
    return tape


@pytest.fixture(scope="module")
def abyss(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("abyss") / "deep.mtape", True)


def command(*args):
    done = recording.run([recording.memtape(), *args])
    assert done.returncode == 0, done.stderr
    return done.stdout


def frames_of(tape, size):
    stacks = [row["stack"] for row in recording.rows(tape) if row["size"] == size]
    assert len(stacks) == 1
    return sum(frame["function"] in ("ping", "pong") for frame in stacks[0])


@pytest.mark.parametrize("depth", (9000, 30000, DEPTH))
@pytest.mark.parametrize("collected", (False, True), ids=("bare", "record"))
def test_a_stack_of_many_chunks_is_on_the_tape_whole(collected, depth, tape):
    recorded(tape, collected, depth)
    assert frames_of(tape, 3401) == depth + 1
    assert frames_of(tape, 3402) == depth // 2 + 1
    assert b"sound" in command("verify", tape)
    assert recording.report(tape, "summary")["lost_events"] == 0


def test_a_stack_of_many_chunks_survives_repacking_and_anonymising(abyss, tmp_path):
    for how, more in (("repack", ()), ("strip", ("--no-free-stacks",)), ("anonymise", ())):
        other = tmp_path / f"{how}.mtape"
        command(how, abyss, "-o", other, *more)
        stack = [row["stack"] for row in recording.rows(other) if row["size"] == 3401][0]
        assert len(stack) > DEPTH, how


@pytest.mark.parametrize("words", (
    ["summary"], ["top"], ["leaks"], ["tree"], ["tree", "--json"], ["tree", "--bottom-up"],
    ["tree", "--function", "ping"], ["groups", "--by", "stack"], ["allocations"], ["findings"],
    ["threads"], ["timeline"], ["allocations", "--json", "--filter", "function = bottom"],
), ids=" ".join)
def test_reports_of_very_deep_stacks(abyss, words):
    assert command("report", abyss, *words)


def test_pictures_and_pages_of_very_deep_stacks(abyss, tmp_path):
    command("flamegraph", abyss, "-o", tmp_path / "flame.svg")
    command("flamegraph", abyss, "-o", tmp_path / "all.svg", "--min-width", "0")
    command("report", abyss, "--html", "-o", tmp_path / "page.html")
    command("diff", abyss, abyss)


@pytest.mark.parametrize("form", ("callgrind", "csv", "dhat", "dot", "firefox", "heaptrack",
                                  "massif", "perfetto", "pprof", "speedscope", "trace-event"))
def test_exports_of_very_deep_stacks(abyss, form, tmp_path):
    command("export", abyss, "--to", form, "-o", tmp_path / "out")
    assert (tmp_path / "out").stat().st_size > 0


def test_folded_stacks_have_all_frames(abyss):
    lines = command("export", abyss, "--to", "folded", "-m", "allocated").decode().splitlines()
    assert max(line.count("ping") + line.count("pong") for line in lines) == DEPTH + 1
