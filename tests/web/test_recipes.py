"""What docs/recipes say of the app is done in Chromium, on the programs they say it of.

MEMTAPE_SHOTS=DIR writes the pages' pictures there: they are docs/recipes/img.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from test_web import HERE, ROOT, chromium, dist, env, modules, record, recording, run, served  # noqa: F401  fixtures

PICTURE_BYTES_MAX = 100 << 10
VISITS, TIMES = 400, 6


def waited_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(.05)


def redis_tape(folder):
    """redis with a module that leaks, visited now and then."""
    for program in ("redis-server", "redis-cli"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    run("cc", "-g", "-O1", "-shared", "-fPIC", "-o", folder / "visits.so", HERE / "recipes" / "visits.c")
    socket = folder / "socket"
    command = [recording.memtape(), "record", "-q", "-o", folder / "redis.mtape", "--", "redis-server", "--port", "0",
               "--unixsocket", socket, "--save", "", "--loadmodule", folder / "visits.so"]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, env=recording.clean_env()) as server:
        waited_for(socket.exists)
        for _ in range(TIMES):
            subprocess.run(["redis-cli", "-s", str(socket)], input=b"VISIT\n" * VISITS, check=True, stdout=subprocess.DEVNULL)
            time.sleep(.2)
        subprocess.run(["redis-cli", "-s", str(socket), "shutdown", "nosave"], check=False, stdout=subprocess.DEVNULL)
        assert server.wait(60) == 0
    return folder / "redis.mtape"


def build_tape(folder, name, *flags):
    (folder / name).mkdir()
    return record(folder / name, *flags).rename(folder / f"{name}.mtape")


def sessions_tape(folder):
    run("cc", "-g", "-O1", "-o", folder / "sessions", ROOT / "tests" / "docs" / "programs" / "sessions.c")
    run(recording.memtape(), "record", "-q", "-o", folder / "sessions.mtape", "--", folder / "sessions", env=recording.clean_env())
    return folder / "sessions.mtape"


def python_tapes(folder):
    """The script of reduce-the-peak.md and what becomes of it, by the commands of that page."""
    page = (ROOT / "docs" / "recipes" / "reduce-the-peak.md").read_text()
    commands = re.findall(r"^\$ (.*(?:spent|orders).*)$", page, re.MULTILINE)
    assert len(commands) == 4
    (folder / "spent.py").write_bytes((ROOT / "tests" / "docs" / "programs" / "spent.py").read_bytes())
    path = f"{recording.memtape().parent}:{os.environ['PATH']}"
    run("bash", "-ec", "\n".join([f"python={sys.executable}", *commands]), cwd=folder, env=recording.clean_env(PATH=path))
    assert (folder / "all.txt").read_text() == (folder / "each.txt").read_text() != ""
    return folder / "all.mtape", folder / "each.mtape"


@pytest.fixture(scope="module")
def tapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    with served(redis_tape(folder), build_tape(folder, "before"), build_tape(folder, "after", "-DPLANTED"),
                sessions_tape(folder), *python_tapes(folder)) as url:
        yield url


@pytest.mark.slow
def test_the_steps_lead_to_the_culprits(env, tapes, dist):  # noqa: F811
    shots = {"MEMTAPE_SHOTS": os.environ["MEMTAPE_SHOTS"]} if "MEMTAPE_SHOTS" in os.environ else {}
    run("node", "--test", HERE / "recipes" / "recipes.test.mjs", timeout=600,
        env=dict(env, MEMTAPE_URL=tapes, CHROMIUM=chromium(), **shots))


def test_pictures_are_small_and_shown():
    shown = set()
    for page in (ROOT / "docs" / "recipes").glob("*.md"):
        shown |= {pathlib.PurePath(name).name for name in re.findall(r"!\[[^\]]+\]\((img/[^)]+)\)", page.read_text())}
    found = {path.name: path.stat().st_size for path in (ROOT / "docs" / "recipes" / "img").iterdir()}
    assert set(found) == shown
    assert found and max(found.values()) <= PICTURE_BYTES_MAX
