"""The release archives of ./dev dist, as a stranger has them: unpacked, built, installed, run."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ["MEMTAPE_BUILD_DIR"])


def run(*command, **rest):
    rest = {"check": True, "capture_output": True, "text": True, "errors": "replace"} | rest
    done = subprocess.run([str(word) for word in command], **rest | {"check": False})
    if rest["check"] and done.returncode != 0:
        pytest.fail(f"{command}: exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def dist(what, out, *rest):
    run("python3", ROOT / "tools/dist.py", what, BUILD, out, *rest)
    return next(out.glob("*.tar.*"))


@pytest.fixture(scope="session")
def source_archive(tmp_path_factory):
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("no git here")
    return dist("source", tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def recorder(tmp_path_factory):
    """The folder that the archive for devices unpacks to."""
    out = tmp_path_factory.mktemp("recorder")
    run("tar", "-C", out, "-xf", dist("recorder", out, "--processor", os.uname().machine))
    return next(out.glob("memtape-record-*/"))
