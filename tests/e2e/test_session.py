"""Process trees recorded as one session: a folder, and all its processes as one tape."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import recording
import serving
from recording import memtape

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")
ECHO = "/bin/echo"


def record(folder, args, *options, **more):
    done = recording.run([memtape(), "record", "-q", "--follow", "-o", folder, *options, "--", *args],
                         env=recording.clean_env(), timeout=120, **more)
    return done


def report(session, what="summary", *options):
    return recording.report(session, what, *options)


def tapes(folder):
    return sorted(folder.glob("*.mtape"))


def by_name(rows, name):
    return [row for row in rows if row["name"] == name]


def manifest(folder):
    return [json.loads(line) for line in (folder / "session.jsonl").read_text().splitlines()]


def check_merged(folder):
    """What is said of all is the sum of what each tape says alone; of the peak it is a bound."""
    rows = report(folder, "processes")
    assert len(rows) == len(tapes(folder)) == len({row["tape"] for row in rows})
    peaks = []
    for row in rows:
        alone = report(folder / row["tape"])
        assert row["allocations"] == alone["allocations"]
        leaked = {key: alone["leaked"][key] + alone["suppressed"][key] for key in ("count", "bytes")}
        assert row["leaked"] == leaked
        assert row["peak"]["bytes"] == alone["peak"]["bytes"]
        peaks.append(alone["peak"]["bytes"])
    whole = report(folder)
    for key in ("count", "bytes"):
        assert whole["allocations"][key] == sum(row["allocations"][key] for row in rows)
        assert whole["leaked"][key] + whole["suppressed"][key] == sum(row["leaked"][key] for row in rows)
    assert max(peaks) <= whole["peak"]["bytes"] <= sum(peaks)
    groups = report(folder, "groups", "--by", "process")["groups"]
    assert sum(group["only_matched"]["allocated_count"] for group in groups) == whole["allocations"]["count"]
    return rows


SOURCE = r"""#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) static void *keep(size_t bytes) { void *volatile block = malloc(bytes); return block; }
__attribute__((noinline)) static void use(size_t bytes) { void *volatile block = malloc(bytes); free(block); }
static void reap(void) { while (wait(NULL) > 0) ; }
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "end";
	char *again[] = { argv[0], "end", NULL };
	void *mine;
	pid_t pid;
	if (!strcmp(how, "end")) {
		use(3000);
		keep(30);
		return argc > 2 ? atoi(argv[2]) : 0;
	}
	if (!strcmp(how, "big")) {       /* one after the other */
		for (int i = 0; i < 3; i++) {
			if ((pid = fork()) == 0) {
				keep(1 << 20);
				_exit(i);
			}
			waitpid(pid, NULL, 0);
		}
		return 0;
	}
	mine = keep(5000);
	if (!strcmp(how, "fork")) {
		if (fork() == 0) {
			keep(700);
			free(mine);
			if (fork() == 0) {
				keep(11);
				_exit(3);
			}
			reap();
			_exit(4);
		}
	} else if (!strcmp(how, "late")) {      /* on one processor the parent goes on before the child begins */
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		sched_setaffinity(0, sizeof(one), &one);
		if (fork() == 0) {
			keep(11);
			_exit(3);
		}
		keep(900);
		free(mine);
	} else if (!strcmp(how, "vfork")) {
		if (vfork() == 0) {
			execv(argv[0], again);
			_exit(127);
		}
	} else if (!strcmp(how, "spawn")) {
		posix_spawn(&pid, argv[0], NULL, NULL, again, environ);
	} else if (!strcmp(how, "system")) {
		char line[4200];
		snprintf(line, sizeof(line), "%s end; true", argv[0]);
		if (system(line) != 0)
			return 9;
	} else if (!strcmp(how, "daemon")) {
		int gone[2];
		char byte;
		if (pipe(gone) == 0 && fork() == 0) {
			setsid();
			if (fork() == 0) {
				close(gone[0]);
				keep(777);
				_exit(0);
			}
			_exit(0);
		}
		close(gone[1]);
		reap();
		if (read(gone[0], &byte, 1) != 0)
			return 9;
	} else if (!strcmp(how, "kill")) {
		if (fork() == 0) {
			keep(99);
			raise(SIGKILL);
		}
	}
	reap();
	use(1234);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    (folder / "tree.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "tree", folder / "tree.c"], check=True)
    return folder / "tree"


@pytest.mark.parametrize("how", ["vfork", "spawn", "system"])
def test_a_program_that_is_started_is_in_the_tree(how, program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, how]).returncode == 0
    rows = check_merged(folder)
    first, last = rows[0], by_name(rows, "tree")[-1]
    assert first["argv"] == [str(program), how] and first["parent"] is None and first["exit"] == 0
    assert last["exit"] == 0 and last["ended"] == "exit"
    assert last["argv"] == [str(program), "end"] and last["leaked"] == {"count": 1, "bytes": 30}
    assert last["inherited_bytes"] == 0
    above = last
    while above["parent"] is not None:
        assert above["begin_ns"] >= rows[above["parent"]]["begin_ns"]
        above = rows[above["parent"]]
    assert above is first


def test_what_lives_at_a_fork_is_inherited_and_counted_once(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    first, child, grandchild = rows = check_merged(folder)
    assert [row["started"] for row in rows] == ["start", "fork", "fork"]
    assert [row["parent"] for row in rows] == [None, 0, 1]
    assert [row["exit"] for row in rows[1:]] == [4, 3]
    assert child["inherited_bytes"] - first["inherited_bytes"] == 5000
    assert grandchild["inherited_bytes"] == child["inherited_bytes"] + 700 - 5000  # it freed what it had inherited
    assert (child["leaked"], grandchild["leaked"]) == ({"count": 1, "bytes": 700}, {"count": 1, "bytes": 11})


def test_what_is_inherited_is_of_the_moment_of_the_fork(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "late"]).returncode == 0
    first, child = check_merged(folder)
    assert child["begin_ns"] > 0 and child["started"] == "fork" and child["exit"] == 3
    assert child["inherited_bytes"] - first["inherited_bytes"] == 5000  # and not the 900 of the parent, which then freed the 5000


def test_a_daemon_is_the_child_of_who_forked_it(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "daemon"]).returncode == 0
    rows = check_merged(folder)
    assert [row["parent"] for row in rows] == [None, 0, 1]
    assert rows[2]["leaked"]["bytes"] == 777 and rows[2]["exit"] == 0


def test_a_process_that_was_killed_is_packed_and_its_end_is_known_or_said_not_to_be(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "kill"]).returncode == 0
    rows = check_merged(folder)
    assert (rows[1]["ended"], rows[1]["signal"]) in (("signal", "SIGKILL"), ("unknown", None))
    assert rows[1]["exit"] is None and rows[1]["leaked"]["bytes"] == 99
    assert all(path.read_bytes()[16] == 2 for path in tapes(folder))


def test_memory_of_a_process_is_gone_with_it_but_leaked(program, tmp_path):
    """Three processes, one after the other, with a MiB each: never more than one of these lives."""
    folder = tmp_path / "s"
    assert record(folder, [program, "big"]).returncode == 0
    check_merged(folder)
    whole = report(folder)
    assert 1 << 20 <= whole["peak"]["bytes"] < 2 << 20
    assert whole["leaked"]["bytes"] >= 3 << 20
    leaks = report(folder, "leaks")["sites"]
    assert [(site["leaked_bytes"], site["leaked_count"]) for site in leaks if site["leaked_bytes"] >= 1 << 20] == [(3 << 20, 3)]
    for filter_ in ("leaked", "size >= 0", "not freed"):
        kept = report(folder, "leaks", "--filter", filter_)["sites"]
        assert (kept[0]["leaked_bytes"], kept[0]["leaked_count"]) == (3 << 20, 3)
    rows = report(folder, "allocations", "--filter", "leaked and size >= 1mib")
    assert len(rows) == 3 and all(row["free_ns"] is not None for row in rows)
    assert not report(folder, "allocations", "--filter", "freed and size >= 1mib")


def test_a_part_is_chosen_by_process(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, ["/bin/sh", "-c", f"{program} end; {program} spawn; true"]).returncode == 0
    rows = report(folder, "processes")
    trees = by_name(rows, "tree")
    count = report(folder, "summary", "--filter", "process = tree")["allocations"]["count"]
    assert count == sum(row["allocations"]["count"] for row in trees)
    last = trees[-1]
    assert report(folder, "summary", "--filter", f"pid = {last['pid']} and process = tree")["allocations"] == last["allocations"]
    assert report(folder, "summary", "--process", str(last["pid"]))["allocations"] == last["allocations"]
    assert report(folder, "summary", "--process", last["tape"])["allocations"] == last["allocations"]
    done = recording.run([memtape(), "report", folder, "--process", "tree"])
    assert done.returncode == 2 and b"there are" in done.stderr and last["tape"].encode() in done.stderr
    done = recording.run([memtape(), "report", folder, "--process", "nobody"])
    assert done.returncode != 0 and b"no such process" in done.stderr


@pytest.mark.parametrize("what", ["space", "rss", "mappings", "leak-classes", "recording"])
def test_what_is_about_one_process_says_how_to_ask_for_one(what, program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    done = recording.run([memtape(), "report", folder, what])
    assert done.returncode == 2 and b"--process" in done.stderr and not done.stdout
    if what != "leak-classes":
        assert recording.run([memtape(), "report", folder, what, "--process", report(folder, "processes")[0]["tape"]]).returncode == 0


def test_a_flame_graph_has_the_processes_at_its_root(program, tmp_path):
    folder, picture = tmp_path / "s", tmp_path / "f.svg"
    assert record(folder, [program, "fork"]).returncode == 0
    done = recording.run([memtape(), "flamegraph", folder, "--metric", "leaked", "-o", picture])
    assert done.returncode == 0, done.stderr
    rows = report(folder, "processes")
    for row in rows:
        assert f"<title>tree {row['pid']} (" in picture.read_text()
    done = recording.run([memtape(), "flamegraph", folder, "--process", str(rows[1]["pid"]), "-o", tmp_path / "one.svg"])
    assert done.returncode == 0 and "<title>tree " not in (tmp_path / "one.svg").read_text()


def test_commands_that_read_a_tape_take_a_session(program, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, ends in zip(folders, (1, 3)):
        assert record(folder, ["/bin/sh", "-c", f"{program} end; " * ends + "true"]).returncode == 0
    both = [report(folder, "summary")["allocations"]["count"] for folder in folders]
    counted = recording.run([memtape(), "sql", folders[1], "--json", "SELECT process, count(*) AS n FROM allocations GROUP BY process"])
    assert sum(row["n"] for row in json.loads(counted.stdout)) == both[1]
    difference = json.loads(recording.run([memtape(), "diff", *folders, "--json"]).stdout)
    assert json.dumps(difference).count(str(both[1] - both[0])) > 0 and both[1] > both[0]
    folded = recording.run([memtape(), "export", folders[1], "--to", "folded", "--metric", "count"]).stdout.decode().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == both[1] and all(line.startswith(("sh ", "tree ")) for line in folded)
    for command, picture in (("plot", "p.svg"), ("heatmap", "h.svg")):
        assert recording.run([memtape(), command, folders[0], "-o", tmp_path / picture]).returncode == 0
        assert "<svg" in (tmp_path / picture).read_text()
    for command in ("info", "verify"):
        done = recording.run([memtape(), command, folders[0]])
        assert done.returncode == 2 and b"is a session of processes: `memtape report " in done.stderr and done.stdout == b""


def test_a_served_session_shows_all_processes_first_and_has_each(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, ["/bin/sh", "-c", f"{program} end; true"]).returncode == 0
    with serving.serve(folder) as server:
        rows = report(folder, "processes")
        names = [tape["file"] for tape in server.json("info")["tapes"]]
        assert names[-1] == "session.merged" and sorted(names[:-1]) == sorted(row["tape"] for row in rows)
        assert server.json("processes")["processes"] == rows  # of the last tape, which the app shows
        assert server.json("summary")["allocations"] == report(folder, "summary")["allocations"]
        grid = server.json("grid", x="time", y="lifetime")
    whole = report(folder)
    assert sum(grid["never"]["count"]) == whole["leaked"]["count"] + whole["suppressed"]["count"] > 0
    assert sum(grid["never"]["bytes"]) == whole["leaked"]["bytes"] + whole["suppressed"]["bytes"]


def test_one_tape_has_one_process(program, tmp_path, tape):
    assert recording.run([memtape(), "record", "-q", "-o", tape, "--", program, "end", "3"]).returncode == 3
    row, = report(tape, "processes")
    assert (row["exit"], row["ended"], row["parent"]) == (3, "exit", None)
    assert row["argv"] == [str(program), "end", "3"] and row["leaked"]["bytes"] >= 30
    done = recording.run([memtape(), "report", tape, "--process", "1"])
    assert done.returncode == 2 and b"is not a session" in done.stderr


def test_what_a_runtime_keeps_is_not_leaked(tape):
    """The pool of libstdc++ is suppressed, as in all other reports."""
    assert recording.run_recorded([recording.target("growing"), "calls"], tape).returncode == 0
    row, = report(tape, "processes")
    summary = report(tape)
    assert summary["suppressed"]["bytes"] > 0
    assert row["leaked"] == {key: summary["leaked"][key] for key in ("count", "bytes")}
    with serving.serve(tape) as server:
        assert server.json("processes")["processes"] == [row]


def test_the_tree_is_shown_with_children_below_their_parents(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    text = recording.run([memtape(), "report", folder, "processes"]).stdout.decode()
    places = [line.index("tree fork") for line in text.splitlines() if "tree fork" in line]
    assert len(places) == 3 and places[0] < places[1] < places[2]
    assert "exit 4" in text and "exit 3" in text


def test_the_manifest_names_each_tape_and_the_end(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    first, *lines, last = manifest(folder)
    assert first["memtape_session"] == 1 and first["command"] == [str(program), "fork"]
    assert last == {"end": True, "tapes": 3}
    own = next(path for path in tapes(folder) if path.name == f"tree.{first['pid']}.mtape")
    ends = [line for line in lines if "ended" in line]
    assert {line["ended"] for line in ends} <= {path.name for path in tapes(folder)} and all("status" in line and line["ns"] > 0 for line in ends)
    lines = [line for line in lines if "tape" in line]
    assert {line["tape"] for line in lines} == {path.name for path in tapes(folder)} - {own.name}
    assert all(line["packed"] for line in lines)


def test_a_tape_that_is_gone_or_damaged_is_said_to_be(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    rows = report(folder, "processes")
    (folder / rows[2]["tape"]).unlink()
    (folder / rows[1]["tape"]).write_bytes((folder / rows[1]["tape"]).read_bytes()[:600] + b"x" * 600)
    done = recording.run([memtape(), "report", folder])
    assert done.returncode == 0, done.stderr
    assert b"not in the folder any more" in done.stdout
    (folder / "session.jsonl").write_text("no\n")
    assert b"not the manifest" in recording.run([memtape(), "report", folder]).stderr


def test_a_session_of_a_later_version_is_refused(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "end"]).returncode == 0
    text = (folder / "session.jsonl").read_text()
    (folder / "session.jsonl").write_text(text.replace('"memtape_session":1', '"memtape_session":1,"new":{"x":[1]}') + '{"new":1}\n')
    assert recording.run([memtape(), "report", folder]).returncode == 0  # unknown members are passed over
    (folder / "session.jsonl").write_text(text.replace('"memtape_session":1', '"memtape_session":9'))
    assert b"later version" in recording.run([memtape(), "report", folder]).stderr


def test_a_killed_collector_leaves_a_session_that_can_be_read(tmp_path):
    folder = tmp_path / "s"
    script = f"{ECHO} one; read line; {ECHO} two; exit 5"
    process = subprocess.Popen([memtape(), "record", "-q", "--follow", "-o", folder, "--", "/bin/sh", "-c", script],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=recording.clean_env())
    assert process.stdout.readline() == b"one\n"
    process.kill()
    process.wait(30)
    early = report(folder, "processes")
    assert [row["name"] for row in by_name(early, "echo")] == ["echo"]
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.stdout.readline() == b"two\n"
    process.stdout.close()
    limit = time.monotonic() + 30
    while len(by_name(report(folder, "processes"), "echo")) < 2:
        assert time.monotonic() < limit
        time.sleep(0.1)
    text = recording.run([memtape(), "report", folder]).stdout.decode()
    assert "memtape was killed" in text


def test_ended_processes_are_packed_while_others_run(tmp_path):
    folder = tmp_path / "s"
    process = subprocess.Popen([memtape(), "record", "-q", "--follow", "-o", folder, "--", "/bin/sh", "-c",
                                f"for i in 1 2 3 4 5; do {ECHO} $i; done; read line"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=recording.clean_env())
    try:
        assert [process.stdout.readline() for _ in range(5)][-1] == b"5\n"
        limit = time.monotonic() + 60
        while len(manifest(folder)) < 6 or any(path.read_bytes()[16] != 2 for path in folder.glob("echo.*.mtape")):
            assert time.monotonic() < limit
            time.sleep(0.05)
        assert len(list(folder.glob("echo.*.mtape"))) == 5
        descriptors = os.listdir(f"/proc/{process.pid}/fd")
        assert len(descriptors) < 30
    finally:
        process.stdin.close()
        assert process.wait(60) == 1


def test_a_process_that_outlives_the_first_is_left_as_it_is_and_read_later(tmp_path):
    folder = tmp_path / "s"
    reading, writing = os.pipe()
    try:  # the child has begun before the first process ends
        script = f"read begun < <((echo begun; read line <&{reading}; {ECHO} late >&2) 2>/dev/null &)"
        done = subprocess.run([memtape(), "record", "-q", "--follow", "-o", folder, "--", "/bin/bash", "-c", script],
                              env=recording.clean_env(), pass_fds=(reading,), timeout=60, stdout=subprocess.DEVNULL)
        assert done.returncode == 0
        assert not all(path.read_bytes()[16] == 2 for path in tapes(folder))
        before = len(report(folder, "processes"))
    finally:
        os.close(writing)
        os.close(reading)
    limit = time.monotonic() + 30
    while not by_name(report(folder, "processes"), "echo"):
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert len(report(folder, "processes")) > before


def test_an_existing_folder_is_overwritten_only_if_it_is_a_session_and_asked_for(program, tmp_path):
    folder = tmp_path / "s"
    assert record(folder, [program, "fork"]).returncode == 0
    done = record(folder, [program, "end"])
    assert done.returncode == 125 and b"--force" in done.stderr and len(tapes(folder)) == 3
    assert record(folder, [program, "end"], "--force").returncode == 0
    assert len(tapes(folder)) == 1 and len(report(folder, "processes")) == 1
    other = tmp_path / "mine"
    other.mkdir()
    (other / "precious.mtape").write_text("mine")
    done = record(other, [program, "end"], "--force")
    assert done.returncode == 125 and (other / "precious.mtape").read_text() == "mine"


def test_a_program_that_is_not_there_leaves_no_folder(tmp_path):
    done = record(tmp_path / "s", ["/nonexistent"])
    assert done.returncode == 127 and not (tmp_path / "s").exists()


def test_without_a_name_the_folder_is_called_by_program_and_number(program, tmp_path):
    done = recording.run([memtape(), "record", "--follow=all", "--no-summary", program, "end"], cwd=tmp_path)
    folder, = tmp_path.iterdir()
    assert re.fullmatch(r"memtape\.tree\.\d+\.session", folder.name)
    assert f"memtape report {folder.name} processes".encode() in done.stderr


# --- trees as there are ---------------------------------------------------------------------

MAKEFILE = """
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
all: app
app: $(OBJECTS)
\tgcc -o $@ $^
%.o: %.c
\tgcc -O1 -c -o $@ $<
"""


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_a_parallel_make_is_the_sum_of_its_processes(tmp_path):
    source, folder = tmp_path / "src", tmp_path / "s"
    source.mkdir()
    (source / "Makefile").write_text(MAKEFILE)
    (source / "main.c").write_text("int f0(void); int f1(void); int main(void) { return f0() + f1(); }\n")
    for i in range(2):
        (source / f"f{i}.c").write_text(f"#include <stdio.h>\nint f{i}(void) {{ return puts(\"{i}\") < 0; }}\n")
    assert record(folder, ["make", "-s", "-j4", "-C", source], "--no-free-stacks").returncode == 0
    assert subprocess.run([source / "app"], stdout=subprocess.DEVNULL).returncode == 0
    rows = check_merged(folder)
    assert len(by_name(rows, "cc1")) == 3 and by_name(rows, "make")
    for row in by_name(rows, "cc1"):
        names = []
        while row["parent"] is not None:
            row = rows[row["parent"]]
            names.append(row["name"])
        assert names[-1] == "make" and "gcc" in " ".join(names)


def test_a_pipeline_is_the_sum_of_its_processes(tmp_path):
    folder = tmp_path / "s"
    done = record(folder, ["/bin/bash", "-c", "seq 2000 | sort -rn | head -n 1"])
    assert done.stdout == b"2000\n"
    assert {"seq", "sort", "head"} <= {row["name"] for row in check_merged(folder)}


def test_multiprocessing_is_the_sum_of_its_processes(tmp_path):
    folder = tmp_path / "s"
    script = ("import multiprocessing as m\n"  # each to its end: a pool kills those that have not begun
              "def f(n, queue):\n  queue.put(len(str(n) * n))\n"
              "if __name__ == '__main__':\n"
              "  fork = m.get_context('fork')\n  queue = fork.Queue()\n"
              "  all = [fork.Process(target=f, args=(n, queue)) for n in (5, 50, 100)]\n"
              "  for one in all: one.start()\n"
              "  print(sum(queue.get() for _ in all))\n"
              "  for one in all: one.join()\n")
    (tmp_path / "script.py").write_text(script)
    done = record(folder, [sys.executable, tmp_path / "script.py"], "--no-stacks")
    assert done.returncode == 0 and done.stdout.strip() == b"405"
    rows = check_merged(folder)
    workers = [row for row in rows if row["started"] == "fork"]
    assert len(workers) >= 3 and all(row["inherited_bytes"] > 0 for row in workers)


def test_a_server_that_forks_its_workers_first_is_the_sum_of_its_processes(tmp_path):
    folder = tmp_path / "s"
    script = ("import os, socket\n"
              "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(8)\n"
              "for _ in range(3):\n"
              "  if os.fork() == 0:\n"
              "    c, _ = s.accept(); c.sendall(c.recv(100) * 1000); c.close(); os._exit(6)\n"
              "for _ in range(3):\n"
              "  c = socket.create_connection(s.getsockname()); c.sendall(b'hello')\n"
              "  while c.recv(4096): pass\n"
              "print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(3)))\n")
    (tmp_path / "server.py").write_text(script)
    done = record(folder, [sys.executable, tmp_path / "server.py"], "--no-stacks")
    assert done.stdout.strip() == b"[6, 6, 6]", done.stderr
    workers = [row for row in check_merged(folder) if row["started"] == "fork"]
    assert [row["exit"] for row in workers] == [6, 6, 6]


BOMB = r"""
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	atomic_int *is_over = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (!*is_over) {
		void *volatile block = malloc(100);
		(void)block;
		if (fork() < 0)
			*is_over = 1;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv") or not recording.anybody_may_enter(recording.library()),
                    reason="needs a user of its own")
def test_a_fork_bomb_that_a_limit_stops_is_the_sum_of_its_processes(tmp_path):
    folder, bomb = tmp_path / "s", tmp_path / "bomb"
    (tmp_path / "bomb.c").write_text(BOMB)
    subprocess.run(["gcc", "-o", bomb, tmp_path / "bomb.c"], check=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="memtape-bomb"))
    try:
        shutil.copy(bomb, place / "bomb")
        os.chown(place, 64999, 64999)
        done = recording.run(["setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", "prlimit", "--nproc=50", memtape(),
                              "record", "-q", "--follow", "-o", place / "s", "--", place / "bomb"],
                             env=recording.clean_env(), timeout=120)
        assert done.returncode == 0, done.stderr
        shutil.copytree(place / "s", folder)
    finally:
        shutil.rmtree(place)
    assert len(check_merged(folder)) > 10
