"""End-to-end tests: programs are recorded as a user would, tapes are read with the reports.

They need a built tree (MEMTAPE_BUILD_DIR) or an installed one (MEMTAPE_PREFIX); loops that prove
something by repetition are short unless MEMTAPE_TEST_FULL=1. With MEMTAPE_RACES=1 memtape is
one with ThreadSanitizer, and what that finds is a failure of the test. Nothing else is: it
is ten times slower, and what was too slow is skipped.
"""

import os
import pathlib
import re
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


RACES = "MEMTAPE_RACES" in os.environ


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if RACES and report.when == "call" and report.failed:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, str(report.longrepr).splitlines()[-1])


@pytest.fixture(scope="session")
def race_logs(tmp_path_factory):
    """A folder of this worker's, or None."""
    if not RACES:
        return None
    assert b"__tsan_init" in recording.memtape().read_bytes()
    logs = tmp_path_factory.mktemp("races")
    os.environ["TSAN_OPTIONS"] = f"log_path={logs}/race:exitcode=0:allocator_may_return_null=1"
    return logs


@pytest.fixture(autouse=True)
def races(race_logs):
    yield
    found = [path.read_text() for path in race_logs.iterdir()] if race_logs else []
    found = [text for text in found if re.search("WARNING: ThreadSanitizer: (?!thread leak|signal)", text)]
    if found:
        for path in race_logs.iterdir():
            path.unlink()
        pytest.fail("\n".join(found))


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "the.mtape"
