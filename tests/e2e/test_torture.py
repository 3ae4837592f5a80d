"""The targets, over and over, two at a time. 100 rounds with MEMTAPE_TEST_FULL=1."""

import pathlib
import subprocess
import sys

import pytest

import recording

SCRIPT = pathlib.Path(__file__).with_name("torture.py")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["bare", "selfcheck", "record"])
def test_torture(mode):
    if mode == "record" and not recording.have_reader():
        pytest.skip("built without the command")
    seconds = recording.times(full=100000, standard=12)
    done = subprocess.run([sys.executable, SCRIPT, "--rounds", "100", "--seconds", str(seconds),
                           "--mode", mode], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
