"""./dev itself: what it says and how it fails."""
import os
import pathlib
import pty
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dev(tmp_path, *words, path=None):
    environment = dict(os.environ, MEMTAPE_BUILD=str(tmp_path / "build"))
    if path:
        environment["PATH"] = path
    return subprocess.run([ROOT / "dev", *words], env=environment, capture_output=True, text=True)


def test_help_lists_every_word(tmp_path):
    text = dev(tmp_path, "--help").stdout
    words = set(re.findall(r"^cmd_(\w+)\(\)", (ROOT / "dev").read_text(), re.MULTILINE))
    assert words == set(re.findall(r"^  (\w+)\b", text, re.MULTILINE))


@pytest.mark.parametrize("words", [["no-such-word"], ["test", "--no-such-option"], ["install"], ["setup", "--all"],
                                   ["build", "--tests"], ["clean", "--dry-run"]])
def test_what_is_not_known_is_refused(tmp_path, words):
    result = dev(tmp_path, *words)
    assert result.returncode != 0 and result.stderr


def test_setup_says_nothing_when_all_is_there(tmp_path):
    result = dev(tmp_path, "setup", "--tests")
    assert (result.returncode, result.stdout) == (0, "")


def test_setup_names_what_is_missing_to_those_who_may_not_install(tmp_path):
    """A machine with no package, no root and no sudo."""
    for name, text in (("dpkg-query", "exit 1"), ("id", "echo 1000")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    tools = ["bash", "readlink", "dirname", "nproc", "mkdir", "flock", "grep", "env"]
    for name in tools:
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / name).symlink_to(found)
    result = dev(tmp_path, "setup", path=str(tmp_path))
    assert result.returncode != 0
    assert "libdw-dev" in result.stdout and "apt-get" in result.stderr



def test_a_stage_says_on_a_terminal_what_it_is_at(tmp_path):
    """All packages are there, and meson takes its time."""
    for name, text in (("dpkg-query", "echo install ok installed"), ("node", "echo v18.20.4"), ("npm", "true"),
                       ("meson", "echo polishing the moon; sleep 3; echo no moon; exit 1")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    master, slave = pty.openpty()
    environment = dict(os.environ, MEMTAPE_BUILD=str(tmp_path / "build"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    code = subprocess.run([ROOT / "dev", "build"], env=environment, stdout=slave, stderr=slave, check=False).returncode
    os.close(slave)
    states = os.read(master, 1 << 16).decode().split("\r\033[K")  # of the same line
    os.close(master)
    assert code != 0
    assert any(re.match(r"build +\d s   polishing the moon$", state) for state in states)
    assert re.match(r"build +FAILED +\d s   /", states[-1]) and "    no moon" in states[-1]  # the log


def suite(tmp_path, text):
    """A suite of the tests in `text`: what the screen says after its first line, and how many passed and failed."""
    tests = tmp_path / "test_some.py"
    tests.write_text(f"import pathlib, pytest\nMARK = pathlib.Path({str(tmp_path / 'mark')!r})\n{text}\n")
    script = """source <(sed '$ d' "$0")
        QUICK=no
        suite some "$LOG/some.xml" run_pytest_twice "$LOG/some.xml" "$1"
        echo "$passed $failed" """
    done = subprocess.run(["bash", "-c", script, ROOT / "dev", tests], capture_output=True, text=True, check=True,
                          env=dict(os.environ, MEMTAPE_BUILD=str(tmp_path / "build")))
    *said, counted = done.stdout.splitlines()
    return [line.strip() for line in said[1:] if not line.startswith("    ") or line[8:].startswith("   ")], counted


SOUND = "def test_sound(): pass"
LATE = "def test_late():\n    if not MARK.exists(): MARK.touch(); assert False"
BROKEN = "@pytest.mark.parametrize('n', range({n}))\ndef test_broken(n): assert False"


def test_a_late_test_passes_at_a_second_try_and_is_named(tmp_path):
    said, counted = suite(tmp_path, f"{SOUND}\n{LATE}")
    assert counted == "2 0"
    assert said == ["2 passed, 0 failed", "at a second try only: test_late"]


def test_what_fails_twice_has_failed(tmp_path):
    said, counted = suite(tmp_path, f"{SOUND}\n{LATE}\n{BROKEN.format(n=1)}")
    assert counted == "2 1"
    assert said[-2:] == ["2 passed, 1 failed", "at a second try only: test_late"]


def test_many_that_fail_are_not_tried_again(tmp_path):
    said, counted = suite(tmp_path, f"{SOUND}\n{LATE}\n{BROKEN.format(n=3)}")
    assert counted == "1 4"
    assert said[-1] == "1 passed, 4 failed"


def test_a_runner_that_dies_has_failed(tmp_path):
    _, counted = suite(tmp_path, f"{SOUND}\n{LATE}\nraise SystemError")
    assert counted == "0 1"
