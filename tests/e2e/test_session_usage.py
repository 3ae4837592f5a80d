"""What memory the processes of a session have: what they share counts once in the sum of their PSS."""
import subprocess

import pytest

import recording
import sessions
from recording import memtape

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")
MIB = 1 << 20

# Two children have 24 MiB of their parent and write to 8 MiB of it; all end when the manifest has measured both twice.
SOURCE = r"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *block = malloc(24 << 20), byte;
	memset(block, 1, 24 << 20);
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			free(malloc(77));
			memset(block, 2 + i, 8 << 20);
			if (read(0, &byte, 1) < 0)
				_exit(1);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return block[0] - 1;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("usage")
    (place / "shares.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-w", "-o", place / "shares", place / "shares.c"], check=True)
    recorder = subprocess.Popen([memtape(), "record", "-q", "--follow", "-o", place / "s", "--", place / "shares"],
                                stdin=subprocess.PIPE, env=recording.clean_env())
    try:
        full = lambda line: line["usage_ns"] and len(line["of"]) == 3 and min(row[3] for row in line["of"][1:]) >= 8 * MIB
        sessions.wait_until(lambda: sum(full(line) for line in sessions.lines(place / "s") if "usage_ns" in line) >= 2)
    finally:
        recorder.stdin.close()
    assert recorder.wait(timeout=60) == 0
    return place / "s"


def test_inherited_memory_is_shared_and_counted_once(folder):
    first, *children = recording.report(folder, "processes")
    assert len(children) == 2
    for row in (first, *children):
        assert row["rss"] >= 24 * MIB and row["private"] < row["pss"] < row["rss"]
    for row in children:
        assert 8 * MIB <= row["private"] < 16 * MIB and row["pss"] < 20 * MIB
    text = recording.run([memtape(), "report", folder, "processes"]).stdout.decode()
    assert "PSS" in text and "private" in text


def test_the_usage_of_a_session_is_the_sum_over_its_processes(folder):
    answer = recording.report(folder, "usage", "--points", "1000000")
    steps = {step["ns"]: step for step in answer["usage"]}
    rows = recording.report(folder, "processes")
    for part in answer["processes"]:
        assert rows[part["process"]]["pid"] == part["pid"]
    together = [ns for ns in {part["ns"] for part in answer["processes"]}
                if sum(part["ns"] == ns for part in answer["processes"]) == 3]
    assert together
    for ns in together:
        parts = [part for part in answer["processes"] if part["ns"] == ns]
        assert steps[ns]["rss"] == sum(part["rss"] for part in parts)
        assert steps[ns]["pss"] == sum(part["pss"] for part in parts)
    most = max(steps[ns]["pss"] for ns in together)
    assert 40 * MIB <= most <= steps[together[0]]["rss"] - 20 * MIB  # 24 once, and 8 of each child's own
    assert any(step["available"] is not None for step in answer["usage"])  # the machine's, of the first tape
    text = recording.run([memtape(), "report", folder, "usage"]).stdout.decode()
    assert "process, at most" in text and text.count("shares") >= 3


def test_what_was_not_measured_is_not_known(folder, tmp_path):
    done = recording.run([memtape(), "record", "-q", "--follow", "-o", tmp_path / "s", "--", "/bin/true"], env=recording.clean_env())
    assert done.returncode == 0
    (tmp_path / "s/session.jsonl").write_text("".join(
        line for line in (tmp_path / "s/session.jsonl").read_text().splitlines(keepends=True) if "usage_ns" not in line))
    row, = recording.report(tmp_path / "s", "processes")
    assert (row["rss"], row["pss"], row["private"]) == (None, None, None)
