"""`memtape report --html` in Chromium, from a file: the same app without a server."""

import base64
import gzip
import json
import re

import pytest
from test_web import HERE, chromium, dist, env, modules, recording, run, scanned_tape, tape  # noqa: F401  fixtures


def iec(size):
    """As the app writes bytes: three digits."""
    unit = 0
    while size >= 1024:
        size, unit = size / 1024, unit + 1
    return f"{size:.3g} {['B', 'KiB', 'MiB'][unit]}"


def asked(tape, *words):  # noqa: F811
    return json.loads(run(recording.memtape(), "report", tape, *words, "--json", env=recording.clean_env()))


@pytest.fixture(scope="session")
def report(tape, tmp_path_factory):  # noqa: F811
    path = tmp_path_factory.mktemp("report") / "report.html"
    run(recording.memtape(), "report", tape, "--html", "-o", path, env=recording.clean_env())
    return path


def named(capture, function):
    flame = capture["/api/v1/flame?dir=down&m=peak&px=2000"]
    return flame["hashes"][flame["names"].index(function)]


@pytest.mark.slow
def test_report(report, tape, env, dist):  # noqa: F811
    summary, leaks = asked(tape), asked(tape, "leaks")["sites"]
    packed = re.search(r'id="capture">([^<]*)<', report.read_text())[1]
    capture = json.loads(gzip.decompress(base64.b64decode(packed)))
    totals = {
        "peak": iec(summary["peak"]["bytes"]), "leaked": iec(summary["leaked"]["bytes"]),
        "grown": iec(next(site["leaked_bytes"] for site in leaks if site["function"] == "grow")),
        "main": named(capture, "main"),
    }
    run("node", "--test", HERE / "report" / "report.test.mjs", timeout=600,
        env=dict(env, MEMTAPE_URL=report.as_uri(), MEMTAPE_TOTALS=json.dumps(totals), CHROMIUM=chromium()))


@pytest.mark.slow
def test_a_report_has_the_retained_size_of_a_leak_scan(scanned_tape, env, dist, tmp_path):  # noqa: F811
    path = tmp_path / "report.html"
    run(recording.memtape(), "report", scanned_tape, "--html", "-o", path, env=recording.clean_env())
    run("node", "--test", HERE / "report" / "scanned.test.mjs", timeout=600,
        env=dict(env, MEMTAPE_URL=path.as_uri(), CHROMIUM=chromium()))
