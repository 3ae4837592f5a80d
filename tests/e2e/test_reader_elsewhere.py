"""A tape says the same to the whole reader on a big-endian processor and on one of 32 bits: it is built for s390x and i386 of Debian's
packages (reader_elsewhere.py), run by qemu-user where this processor cannot, and each report is compared with that of the reader here,
byte by byte.

With MEMTAPE_TEST_FULL=1, and where build/reader-ARCH has it: the first time takes packages of some 80 MB and minutes."""

import re
import shutil

import pytest

import reader_elsewhere
import recording
from test_answers import OPERANDS, QUESTIONS
from test_reading import write_shop

PROGRAMS = {"threads": ["eight"], "problems": ["huge"]}


@pytest.fixture(scope="module", params=reader_elsewhere.ARCHS, ids=lambda arch: arch.name)
def elsewhere(request):
    arch = request.param
    folder = recording.build_dir().parent / f"reader-{arch.name}"
    if not recording.FULL and not (folder / "memtape").exists():
        pytest.skip(f"{folder}/memtape is not there (MEMTAPE_TEST_FULL=1 builds it)")
    for program in (f"qemu-{arch.name}", "ninja", "apt-get", "dpkg"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    try:
        return reader_elsewhere.make(folder, recording.build_dir(), arch)
    except reader_elsewhere.Unavailable as why:
        pytest.skip(f"a package for {arch.name} cannot be had: {why}")


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tapes")
    names = write_shop(folder / "shop.mtape").names()
    for program, words in PROGRAMS.items():
        recording.run_recorded([recording.target(program), *words], folder / f"{program}.mtape", options=["--latency"])
    yield folder
    names.unlink()


def same(elsewhere, folder, *words):
    """What both say; also of files that they write."""
    env = recording.clean_env(TZ="UTC", XDG_CACHE_HOME=folder / "cache-here")
    here = recording.run([recording.memtape(), *words], cwd=folder, env=env)
    env["XDG_CACHE_HOME"] = str(folder / "cache-there")
    assert recording.run([*elsewhere, *words], cwd=folder, env=env).answer() == here.answer(), words
    return here


@pytest.mark.parametrize("tape", ["shop", *PROGRAMS])
def test_each_report_says_the_same(tape, elsewhere, tapes):
    answered = 0
    for name, cases in QUESTIONS.items():
        asked = cases[0]
        operands = [value for key, value in asked.items() if key in OPERANDS]
        options = [f"--{key}={value}" for key, value in asked.items() if key not in OPERANDS]
        done = same(elsewhere, tapes, "report", f"{tape}.mtape", name, *operands, "--json", *options)
        answered += done.returncode == 0 and len(done.stdout) > 2
    assert answered > 25


@pytest.mark.parametrize("words", [["report", "shop.mtape"], ["report", "shop.mtape", "allocations", "--csv"],
                                   ["report", "shop.mtape", "groups", "--by", "stack", "--filter", "size > 100", "--json"],
                                   ["report", "threads.mtape", "tree", "--bottom-up", "--json"], ["info", "threads.mtape", "--json"],
                                   ["flamegraph", "threads.mtape", "-o", "-"]], ids=lambda words: "-".join(words[:3]))
def test_texts_and_pictures_are_the_same(words, elsewhere, tapes):
    assert same(elsewhere, tapes, *words).returncode == 0


def test_each_export_is_the_same(elsewhere, tapes):
    formats = re.findall(r"^ +([a-z][a-z0-9-]*) ", same(elsewhere, tapes, "export", "--list").stdout.decode(), re.M)
    made = [same(elsewhere, tapes, "export", "threads.mtape", "--to", name) for name in formats if name != "html"]  # needs the app
    assert sum(done.returncode == 0 for done in made) > 12


def test_names_on_the_tape_are_the_same(elsewhere, tmp_path):
    program = tmp_path / "gone"
    shutil.copy(recording.target("problems"), program)
    recording.run_recorded([program, "huge"], tmp_path / "named.mtape")
    assert recording.run([recording.memtape(), "symbols", "embed", "named.mtape"], cwd=tmp_path).returncode == 0
    program.unlink()
    done = same(elsewhere, tmp_path, "report", "named.mtape", "top", "--json")
    assert b'"main"' in done.stdout and b'problems.c"' in done.stdout


@pytest.mark.parametrize("words", [["strip", "--filter", "size > 100"], ["strip", "--min-lifetime", "1ms", "--no-names"]],
                         ids=lambda words: words[1])
def test_a_tape_that_was_stripped_says_the_same(words, elsewhere, tapes, tmp_path):
    """Its bytes may differ: Zstandard looks for what repeats in the processor's order."""
    said = []
    for name, reader in (("here", [recording.memtape()]), ("there", elsewhere)):
        tape = tmp_path / f"{name}.mtape"
        assert recording.run([*reader, *words, "threads.mtape", "-o", tape], cwd=tapes).returncode == 0
        said.append([same(elsewhere, tapes, "report", tape, *asked, "--json").stdout for asked in (["timeline"], ["threads"], ["allocations"])])
    assert said[0] == said[1]


def test_names_that_are_embedded_are_the_same(elsewhere, tapes, tmp_path):
    said = []
    for name, reader in (("here", [recording.memtape()]), ("there", elsewhere)):
        tape = tmp_path / f"{name}.mtape"
        shutil.copy(tapes / "threads.mtape", tape)
        assert recording.run([*reader, "symbols", "embed", tape]).returncode == 0
        said.append(tape.read_bytes())
    assert len(said[0]) > (tapes / "threads.mtape").stat().st_size
    if "reader-s390x" not in str(elsewhere[-1]):
        assert said[0] == said[1]


def test_an_anonymised_tape_has_the_same_figures(elsewhere, tapes, tmp_path):
    """Its identity and its words are random."""
    said = []
    for name, reader in (("here", [recording.memtape()]), ("there", elsewhere)):
        tape = tmp_path / f"{name}.mtape"
        assert recording.run([*reader, "anonymise", "threads.mtape", "-o", tape], cwd=tapes).returncode == 0
        said.append([same(elsewhere, tapes, "report", tape, *asked, "--json").stdout for asked in (["timeline"], ["threads"], ["sizes"])])
        assert b"run_eight" not in same(elsewhere, tapes, "report", tape, "top", "--json").stdout
    assert said[0][0] == said[1][0] and [len(text) for text in said[0]] == [len(text) for text in said[1]]


@pytest.mark.parametrize("text", ["SELECT stack, count(*), sum(size), avg(size / 3.0) FROM allocations GROUP BY stack ORDER BY 1",
                                  "SELECT * FROM allocations ORDER BY rowid LIMIT 100"], ids=["sums", "rows"])
def test_sql_answers_the_same(text, elsewhere, tapes):
    assert same(elsewhere, tapes, "sql", "threads.mtape", text, "--json").stdout.count(b"\n") > 2


def test_an_index_of_the_other_is_made_anew(elsewhere, tapes, tmp_path):
    tape, here = tmp_path / "the.mtape", [recording.memtape()]
    shutil.copy(tapes / "threads.mtape", tape)
    asked = ["report", tape, "allocations", "--json"]
    expected = recording.run([*here, *asked]).answer()
    for reader in (here, elsewhere, here):
        for made in (b"true", b"false"):
            assert b'"made": ' + made in recording.run([*reader, "index", tape, "--json"]).stdout
        for asker in (here, elsewhere):
            assert recording.run([*asker, *asked]).answer() == expected
