"""Every command line in README.md and docs/recipes is run here, as printed.

A fenced block marked `console` holds a session: lines that begin with "$ " are commands, the rest is
what a reader may expect to see and is not compared. A page's commands run in order in one empty folder
by one shell, with the installed memtape in PATH and the programs of tests/docs/programs beside them.
A block after the comment <!-- not run: WHY --> is for the reader's eyes: only that its words of memtape and
./dev exist is checked. One after <!-- run by root: WHY --> is that for others than root, or where system calls cannot be traced.
"""
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/recipes").glob("*.md"))]
WORKED_EXAMPLE = "where-memory-comes-from.md"  # run by test_worked_example.py
BLOCK = re.compile(r"^(<!-- (?P<when>not run|run by root): [^>]+ -->\n)?```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)


@functools.cache
def traces_calls():
    return os.geteuid() == 0 and traces("brk")


def blocks(page):
    """(whether it is run, its commands)"""
    for match in BLOCK.finditer(page.read_text()):
        yield not match["when"] or match["when"] == "run by root" and traces_calls(), COMMAND.findall(match["text"])


def commands(page, run):
    return [c for is_run, block in blocks(page) for c in block if is_run == run]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The programs the pages talk about, compiled as a reader would."""
    folder = tmp_path_factory.mktemp("programs")
    for source in sorted((ROOT / "tests/docs/programs").glob("*.c")):
        shutil.copy(source, folder)
        subprocess.run(["gcc", "-g", "-O1", "-o", folder / source.stem, source], check=True)
    for script in (ROOT / "tests/docs/programs").glob("*.py"):
        shutil.copy(script, folder)
    for source in ("tests/web/recipes/visits.c", "examples/encrypt.cpp"):  # pages compile them
        shutil.copy(ROOT / source, folder)
    return folder


def traces(kind):
    """Whether memtape may trace that here."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["memtape", "trace", kind, "-q", "-o", folder + "/may.mtape", "true"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != WORKED_EXAMPLE], ids=lambda p: p.name)
def test_every_command_on_the_page_runs(page, programs, tmp_path):
    lines = commands(page, run=True)
    if any("memtape trace" in line for line in lines) and not traces("faults"):
        pytest.skip("perf_event_open(2) may not be used here")
    shutil.copytree(programs, tmp_path, dirs_exist_ok=True)
    library = next(pathlib.Path(os.environ["MEMTAPE_PREFIX"]).rglob("libmemtape.so"))
    # -e: the first command that fails fails the page; a program that is meant to be killed is
    # written as `program || true` on the page.
    script = "set -e\n" + "\n".join(f"echo {shlex.quote(cmd)} >&2\n{cmd}" for cmd in lines)
    environment = dict(os.environ, LIBMEMTAPE=str(library), NO_COLOR="1")
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, timeout=120,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_words_of_commands_that_are_not_run_exist(page):
    known = subprocess.run(["memtape", "--help"], check=True, capture_output=True, text=True).stdout
    dev = subprocess.run([ROOT / "dev", "--help"], check=True, capture_output=True, text=True).stdout
    for command in commands(page, run=False):
        for word in re.findall(r"(?:^|\s)\./dev (\w+)", command):
            assert re.search(rf"^  {word}\b", dev, re.MULTILINE), command
        for word in re.findall(r"\bmemtape ([a-z]+)\b", command):
            assert re.search(rf"^  {word}\b", known, re.MULTILINE), command


def test_the_variable_that_holds_the_memory_is_named(programs, tmp_path):
    """docs/recipes/who-holds-it.md: what it promises is what its commands say."""
    page = ROOT / "docs/recipes/who-holds-it.md"
    shutil.copytree(programs, tmp_path, dirs_exist_ok=True)
    lines = [line for line in commands(page, run=True) if "report" not in line]
    subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=tmp_path, timeout=120, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    said = {name: subprocess.run(["memtape", "report", "redis.mtape", name], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                                 check=True).stdout for name in ("leak-classes", "growth", "retained", "holders")}
    line = next(i for i, text in enumerate((programs / "visits.c").read_text().splitlines(), 1) if "} * visits" in text)
    assert "definitely lost: 0 bytes in 0 blocks" in said["leak-classes"]
    more = said["growth"].partition("Between two leak scans")[2]
    assert re.search(r"^ +250\.0 KiB  remember_visit  visits\.c:\d+ ", more, re.MULTILINE), more
    assert more.index("remember_visit") < more.index("\n", more.index("KiB  "))  # it is the first
    assert f"\nvisits keeps 500.0 KiB in 1,000 blocks alive   struct visit *  visits.c:{line}\n" in said["retained"]
    assert re.search(r"^ +visits  struct visit \*  visits\.c:\d+, at \+0x0\n +→ remember_visit ", said["holders"], re.MULTILINE)


def test_the_pages_have_commands():
    assert all(commands(page, run=True) for page in PAGES)
