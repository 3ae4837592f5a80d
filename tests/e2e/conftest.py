"""End-to-end tests: programs are recorded as a user would, tapes are read with the reports.

They need a built tree (MEMTAPE_BUILD_DIR) or an installed one (MEMTAPE_PREFIX); loops that prove
something by repetition are short unless MEMTAPE_TEST_FULL=1.
"""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import recording  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def built_tree():
    if not recording.have_library():
        pytest.exit(f"{recording.library()} is not there: build first", returncode=4)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """What memtape keeps between runs stays among the tests."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("DEBUGINFOD_URLS", None)


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "the.mtape"
