"""SQL from the app's console: its own examples on tapes of any length, and statements that need more than they may have."""
import json

import pytest

import recording
from serving import serve

MANY = "l = [bytes(i % 500 + 40) for i in range(300000)]; l = None"
SORTS = "SELECT id FROM allocations ORDER BY lifetime_ns, -id LIMIT 1 OFFSET 250000"  # every row is sorted, and none is like another
ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    path = tmp_path_factory.mktemp("console") / "many.mtape"
    done = recording.run_recorded(["/usr/bin/python3", "-c", MANY], path, env=recording.clean_env(PYTHONMALLOC="malloc"))
    assert done.returncode == 0, done.stderr
    return path


def test_examples_need_no_memory_for_each_allocation(tape):
    with serve(tape, options=["--memory", "8MiB"]) as server:
        said = server.wait_read().json("sql")
        assert said["memory_limit_bytes"] == 8 << 20 and said["time_limit_ns"] == 300 * 10**9
        for example in said["examples"]:
            assert "rows" in server.post("query", {"sql": example["text"]}), example
        server.post("query", {"sql": SORTS}, 503)  # which others do


def test_what_needs_too_much_says_what_to_raise_and_the_command_sorts_on_disk(tape):
    with serve(tape, options=["--memory", "8MiB"]) as server:
        message = server.wait_read().post("query", {"sql": SORTS}, 503)["error"]["message"]
        assert "8.0 MiB" in message and "`memtape serve --memory` raises" in message
    with serve(tape, options=["--sql-timeout", "500ms"]) as server:
        message = server.wait_read().post("query", {"sql": ENDLESS}, 503)["error"]["message"]
        assert "`memtape serve --sql-timeout` raises" in message
    words = [recording.memtape(), "sql", tape, SORTS, "--json"]
    limited = json.loads(recording.run([*words, "--memory", "8MiB"]).stdout)
    assert limited == json.loads(recording.run(words).stdout) and len(limited) == 1
    failed = recording.run([*words, "--memory", "8MiB", "--in-memory"])
    assert failed.returncode == 1 and b"--memory raises" in failed.stderr
    failed = recording.run([*words[:3], ENDLESS, "--timeout", "200ms"])
    assert failed.returncode == 1 and b"--timeout raises" in failed.stderr


def test_a_limit_of_all_requests_is_one_of_statements(tape):
    with serve(tape, options=["--timeout", "40s"]) as server:
        assert server.json("sql")["time_limit_ns"] == 40 * 10**9


def test_the_server_names_every_format_and_the_page_without_a_server_is_one(tmp_path):
    done = recording.run_recorded(["/usr/bin/python3", "-c", "pass"], tmp_path / "small.mtape")
    assert done.returncode == 0, done.stderr
    listed = recording.run([recording.memtape(), "export", "--list"]).stdout.decode()
    with serve(tmp_path / "small.mtape") as server:
        rows = {row["name"]: row for row in server.wait_read().json("fields")["exports"]}
        assert sorted(rows) == sorted(line.split()[0] for line in listed.splitlines() if line.startswith("  "))
        assert rows["html"]["kind"] == "everything"
        reply = server.ask(rows["html"]["path"])
        assert reply.status == 200 and reply.body.startswith(b"<!doctype html>"), reply.body[:300]
        assert "attachment" in reply.headers["content-disposition"]
