"""Shared by tests/e2e, tests/docs and tests/musl: ./dev test sets the environment.

MEMTAPE_PREFIX     where memtape was installed (its bin/ is first in PATH)
MEMTAPE_BUILD_DIR  the Meson build folder it was installed from
MEMTAPE_MUSL_DIR   the build folder of the musl library
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than five seconds; not in ./dev test --quick")
