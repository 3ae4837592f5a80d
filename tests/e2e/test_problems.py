"""Real problems with planted causes: the user's own line is the first thing that every view says, and what is
as it should be is named by none."""

import concurrent.futures
import json
import re

import pytest

import planted
import recording
from planted import CAUSES
from serving import serve

pytestmark = pytest.mark.skipif(not recording.have_reader() or not recording.target("causes/store").exists(),
                                reason="built without memtape's reader, or without a compiler of C++")

GROWING = [name for name, cause in CAUSES.items() if cause.grows]
WRONG = [name for name, cause in CAUSES.items() if cause.finding]
LISTS = [(name, title) for name, cause in CAUSES.items() for title in cause.lists]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """program -> (tape, summary). They wait most of the time: all at once."""
    folder = tmp_path_factory.mktemp("causes")

    def run(name):
        watch = {"store": planted.watch_store, "redis": planted.watch_redis}.get(name)
        return planted.evenly(lambda: watch(folder) if watch else planted.record(CAUSES[name], folder))

    names = [*CAUSES, *(["redis"] if planted.have_redis() else [])]
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(run, names)))


def is_first(cause, text, title):
    row, before = planted.first_place(text, title)
    assert f"{cause.file.name}:{cause.line}" in row, text
    assert cause.function.rsplit("::", 1)[-1] in row, text
    assert not any("%" in line for line in before), text


@pytest.mark.parametrize("name, title", LISTS, ids=lambda word: word[:6].strip())
def test_the_summary_begins_with_it(name, title, runs):
    tape, summary = runs[name]
    is_first(CAUSES[name], summary, title)
    done = recording.run([recording.memtape(), "report", tape])
    assert done.returncode == 0, done.stderr
    is_first(CAUSES[name], done.stdout.decode(), title)


@pytest.mark.parametrize("name", CAUSES)
def test_it_is_the_first_finding_and_others_are_none(name, runs):
    cause, (tape, _) = CAUSES[name], runs[name]
    found = recording.report(tape, "findings")["findings"]
    if cause.finding:
        assert found[0]["type"] == cause.finding and cause.is_at(found[0]), found[0]
    else:
        assert found == []
    for finding in found:
        assert finding["function"], finding
        assert not finding["function"].startswith(tuple(cause.benign)), finding
        assert not finding["function"].startswith(("std::", "operator", "__gnu", "lib")), finding


@pytest.mark.parametrize("name", GROWING)
def test_it_is_the_first_row_of_leaks(name, runs):
    cause, (tape, _) = CAUSES[name], runs[name]
    assert cause.is_at(recording.report(tape, "leaks")["sites"][0])
    sites = recording.report(tape, "growth")["sites"]
    assert cause.is_at(sites[0]) and sites[0]["pattern"] == "growing"
    growing = [site for site in sites if site["pattern"] == "growing"]
    assert not any(site["function"].startswith(tuple(cause.benign)) for site in growing)
    groups = recording.report(tape, "groups", "--sort", "leaked_size")["groups"]
    assert cause.is_at(next(group for group in groups if group["file"]))


@pytest.mark.parametrize("name", WRONG)
def test_the_pages_of_the_app_begin_with_it(name, runs):
    cause, (tape, _) = CAUSES[name], runs[name]
    with serve(tape) as server:
        assert cause.is_at(server.json("findings")["findings"][0])
        if cause.grows:
            assert cause.is_at(server.json("growth")["sites"][0])
        if planted.LEFT in cause.lists:
            rows = server.json("sites", by="function", sort="leaked_size", n=200, spark=24)["rows"]
            row = next(row for row in rows if row["file"])
            assert cause.is_at({**row, "function": row["title"]}), row
        if planted.PEAK in cause.lists:
            assert cause.is_at(server.json("top", sort="peak")["sites"][0])
        if cause.finding == "pinning":
            assert cause.is_at(server.json("fragmentation", sort="unused")["sites"][0])


def test_a_regression_is_the_verdict(runs):
    cause, tapes = CAUSES["orders-2"], [runs["orders"][0], runs["orders-2"][0]]
    done = recording.run([recording.memtape(), "diff", *tapes])
    assert done.returncode == 0, done.stderr
    verdict = next(line for line in done.stdout.decode().splitlines() if "higher" in line)
    assert f"{cause.function}(" in verdict and "operator" not in verdict
    done = recording.run([recording.memtape(), "diff", "--json", *tapes])
    answer = json.loads(done.stdout)
    assert cause.is_at(answer["main"]) and cause.is_at(answer["rows"][0])
    assert f"{cause.function}(" in answer["verdict"]


def test_a_server_is_shown_by_its_title(runs):
    assert f"\n{planted.STORE_TITLE}\n" in runs["store"][1]


@pytest.mark.skipif(not planted.have_redis(), reason="redis is not installed")
def test_a_live_redis(runs):
    """Built without debug information: functions have no lines. Its allocator's own are not named."""
    tape, summary = runs["redis"]
    assert "not freed yet" in summary and re.search("^redis-server ", summary, re.M)
    first = recording.report(tape, "growth")["sites"][0]
    assert (first["pattern"], first["function"]) == ("growing", "lpInsert")
    assert planted.first_row(summary, planted.PEAK).split()[5] == "lpInsert"
