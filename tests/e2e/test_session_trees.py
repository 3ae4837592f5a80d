"""
Whole trees of processes: of every one the tape has what an independent counter, preloaded behind the recorder,
has counted in it, in calls and in bytes; and all of them together are what is reported of the session.
"""
import collections
import shutil
import subprocess
import sys

import pytest

import recording
from recording import memtape
from test_counts import compare, counted_totals, summary_totals

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")


def record(folder, args, counts, **more):
    counts.mkdir()
    env = recording.clean_env(LD_PRELOAD=recording.target("count_interposer.so"), COUNT_FOLDER=counts)
    return recording.run([memtape(), "record", "-q", "--follow", "-o", folder, "--", *args], env=env, timeout=300, **more)


def check(folder, counts):
    """The rows; a process that has run several programs has as many files, the first of which may be from before the recording."""
    rows = recording.report(folder, "processes")
    programs, total = collections.defaultdict(list), 0
    for row in rows:
        programs[row["pid"]].append(row)
    for pid, of_pid in programs.items():
        files = sorted(counts.glob(f"{pid}.*"), key=lambda path: int(path.suffix[1:]))
        assert len(files) >= len(of_pid), (pid, files)
        for row, file in zip(of_pid, files[-len(of_pid):]):
            own, counted = summary_totals(folder / row["tape"]), counted_totals(file)
            compare(counted, own)
            total += sum(calls for calls, _, _ in counted.values())
    assert total > 100
    of_all = {int(path.name.split(".")[0]) for path in counts.iterdir() if any(calls for calls, _, _ in counted_totals(path).values())}
    assert len(of_all - programs.keys()) <= 1, "a process was not recorded"  # memtape itself
    whole = recording.report(folder, "summary")
    assert whole["lost_events"] == 0
    for key in ("count", "bytes"):
        assert whole["allocations"][key] == sum(row["allocations"][key] for row in rows)
    return rows


def names(rows):
    return collections.Counter(row["name"] for row in rows)


def test_a_parallel_make(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    sources = [f"part{i}" for i in range(4)]
    for i, name in enumerate(sources):
        (project / f"{name}.c").write_text(f"#include <stdlib.h>\nint {name}(int n) {{ int *a = calloc(n, 4); int s = a[0] + {i}; free(a); return s; }}\n")
    calls = " + ".join(f"{name}(9)" for name in sources)
    (project / "main.c").write_text("".join(f"int {name}(int);\n" for name in sources) + f"int main(void) {{ return {calls} != 6; }}\n")
    objects = " ".join(f"{name}.o" for name in (*sources, "main"))
    (project / "Makefile").write_text(f"program: {objects}\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c -o $@ $<\n")
    compiler = shutil.which("gcc", path="/usr/local/bin:/usr/bin:/bin")  # and no cache before it, which is of C++
    done = record(tmp_path / "s", [recording.which("make"), "-C", project, "-j4", f"CC={compiler}"], tmp_path / "counts")
    assert done.returncode == 0, done.stderr
    assert subprocess.run([project / "program"]).returncode == 0
    rows = check(tmp_path / "s", tmp_path / "counts")
    found = names(rows)
    assert found["make"] >= 1 and found["cc1"] == found["as"] == 5 and found["ld"] == 1, found
    assert all(row["exit"] == 0 for row in rows if row["ended"] == "exit")


def test_a_shell_pipeline(tmp_path):
    line = "seq 1 5000 | sort -rn | head -n 100 | { while read n; do echo $n; done; } | sort | wc -l; (exit 5); true"
    done = record(tmp_path / "s", ["/bin/sh", "-c", line], tmp_path / "counts")
    assert done.returncode == 0 and done.stdout.split()[-1:] == [b"100"], done
    found = names(check(tmp_path / "s", tmp_path / "counts"))
    assert found["sort"] == 2 and found["wc"] == found["seq"] == found["head"] == 1, found


def test_python_multiprocessing(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text("import multiprocessing as m\n"
                      "def f(n):\n    return len([str(i) for i in range(n)])\n"
                      "if __name__ == '__main__':\n"
                      "    with m.get_context('fork').Pool(3) as pool:\n        print(sum(pool.map(f, [2000] * 12)))\n"
                      "        pool.close()\n        pool.join()\n")
    done = record(tmp_path / "s", [sys.executable, "-S", script], tmp_path / "counts")
    assert done.returncode == 0 and done.stdout.strip() == b"24000", done
    rows = check(tmp_path / "s", tmp_path / "counts")
    assert len(rows) >= 4 and sum(row["started"] == "fork" for row in rows) >= 3


TREES = r"""#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static _Atomic int *count;
static void work(int n) { for (int i = 0; i < n; i++) { char *volatile block = malloc(10 + i % 90); block = realloc(block, 200); if (i % 3) free(block); } }
/* Four workers wait for bytes to work for, and are ended by signals when none works. */
static int server(void)
{
	int asked[2], done[2];
	char byte = 0;
	pid_t workers[4];
	if (pipe(asked) || pipe(done))
		return 1;
	for (int i = 0; i < 4; i++)
		if ((workers[i] = fork()) == 0) {
			do {
				work(200);
				if (write(done[1], &byte, 1) != 1)
					_exit(1);
			} while (read(asked[0], &byte, 1) == 1);
			_exit(2);
		}
	work(50);
	for (int i = 0; i < 4; i++) /* all of them have begun */
		if (read(done[0], &byte, 1) != 1)
			return 1;
	for (int i = 0; i < 40; i++)
		if (write(asked[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
			return 1;
	for (int i = 0; i < 4; i++)
		kill(workers[i], i % 2 ? SIGTERM : SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
static void bomb(void)
{
	for (int i = 0; i < 2; i++) {
		if (atomic_fetch_add(count, 1) >= 60)
			break;
		if (fork() == 0) {
			work(20);
			bomb();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}
int main(int argc, char **argv)
{
	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(argv[1], "server"))
		return server();
	work(20);
	bomb();
	return 0;
}
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    (folder / "trees.c").write_text(TREES)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / "trees", folder / "trees.c"], check=True)
    return folder / "trees"


def test_a_server_with_workers_made_before(trees, tmp_path):
    done = record(tmp_path / "s", [trees, "server"], tmp_path / "counts")
    assert done.returncode == 0, done.stderr
    rows = check(tmp_path / "s", tmp_path / "counts")
    assert len(rows) == 5 and {row["parent"] for row in rows[1:]} == {0}
    assert {row["signal"] for row in rows[1:]} <= {"SIGKILL", "SIGTERM", None} and {row["exit"] for row in rows[1:]} == {None}
    assert sum(row["allocations"]["count"] for row in rows[1:]) >= 44 * 400


def test_a_fork_bomb_with_an_end(trees, tmp_path):
    done = record(tmp_path / "s", [trees, "bomb"], tmp_path / "counts")
    assert done.returncode == 0, done.stderr
    rows = check(tmp_path / "s", tmp_path / "counts")
    assert len(rows) == 61 and all(row["exit"] == 0 for row in rows)
    assert max(len(str(row["parent"])) for row in rows) > 1  # not all are the first one's
