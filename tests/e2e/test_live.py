"""A tape that is watched while it grows: record --live."""

import json
import subprocess
import time

import pytest

import recording
from serving import serve
from test_serve_events import open_all

MANY = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *deep(int bytes, int depth)
{
	void *block = depth > 0 ? deep(bytes, depth - 1) : malloc(bytes);
	__asm__ volatile("" : : "r"(block));
	return block;
}
static void *run(void *number)
{
	unsigned random = (unsigned)(long)number * 7919 + 1;
	void *kept[500] = { 0 };
	for (int i = 0; i < 100000; i++) {
		int k = (random = random * 1103515245 + 12345) >> 8;
		free(kept[k %= 500]);
		kept[k] = deep(1 + (random >> 16) % 3000, (random >> 4) % 12);
		if ((random >> 9) % 50 == 0)
			kept[k] = realloc(kept[k], (random >> 12) % 9000 + 1);
		if (i % 1000 == 0)
			usleep((unsigned)(long)number * 5000);
	}
	return NULL;
}
int main(void)
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    source = tmp_path_factory.mktemp("many") / "many.c"
    source.write_text(MANY)
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", source.with_suffix(""), source], check=True)
    return source.with_suffix("")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    program = tmp_path_factory.mktemp("watched") / "watched"
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", program, recording.ROOT / "tests/web/watched.c"], check=True)
    return program


def sql(tape, statement):
    return json.loads(recording.run([recording.memtape(), "sql", "--json", tape, statement]).stdout)


def sums(tape):
    """What no timing changes: how many blocks of each size, what became of them, and whose they were."""
    sizes = sql(tape, "SELECT size, call, leaked, reallocated, count(*) AS n FROM allocations GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4")
    sites = recording.report(tape, "top", "--top", "100")["sites"]
    return sizes, sorted((one["function"] or "", one["allocated_count"], one["allocated_bytes"], one["stacks"]) for one in sites)


@pytest.mark.parametrize("options", [["--live"], ["--live", "--latency"], ["--live", "--no-compress"], ["--live", "--no-stacks"]])
def test_what_was_taken_in_parts_is_the_same(many, tmp_path, options):
    plain, live = tmp_path / "plain.mtape", tmp_path / "live.mtape"
    more = [option for option in options if option != "--live"]
    recording.run_recorded([many], plain, options=more)
    recording.run_recorded([many], live, options=options)
    first, second = (recording.run([recording.memtape(), "verify", tape]).stdout.decode() for tape in (plain, live))
    assert "sound" in first and "sound" in second
    events = [text.split(" events")[0].split()[-1] for text in (first, second)]
    assert events[0] == events[1] != "0"
    assert sums(plain) == sums(live)


def test_what_happens_is_on_the_tape_soon(watched, tmp_path):
    tape = tmp_path / "watched.mtape"
    with subprocess.Popen([recording.memtape(), "record", "-q", "--live", "-o", tape, watched], env=recording.clean_env(),
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        try:
            until = time.monotonic() + 20
            while (not tape.exists() or tape.stat().st_size < 8192) and time.monotonic() < until:
                time.sleep(0.05)
            with serve(tape) as server, open_all(server, 1)[0] as stream:
                seen = []
                while len(seen) < 6:  # some 200 events a second: they fill a chunk in minutes
                    one = stream.event()[1]["tapes"][0]
                    if one["state"] == "live":
                        seen.append((time.monotonic(), one["duration_ns"] / 1e9, one["allocation_count"]))
                assert all(b[2] > a[2] for a, b in zip(seen, seen[1:]))
                behind = [moment - tape_s for moment, tape_s, _ in seen]
                assert max(behind) - min(behind) < 2  # it keeps up
                function = server.json("sites", by="function")
                assert "grow" in json.dumps(function)
                recorder.stdin.close()
                while one["state"] != "complete":
                    one = stream.event()[1]["tapes"][0]
                assert one["end"] == "exited 3"
        finally:
            recorder.kill()


def test_a_recorder_that_is_killed_leaves_what_was_shown(watched, tmp_path):
    tape = tmp_path / "killed.mtape"
    with subprocess.Popen([recording.memtape(), "record", "-q", "--live", "-o", tape, watched], env=recording.clean_env(),
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        time.sleep(3)
        recorder.kill()
        recorder.stdin.close()
    kept = sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 4321")
    assert kept[0]["n"] > 50
