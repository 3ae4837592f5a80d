"""A tape that is watched while it grows: record --live."""

import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import termios
import time
import urllib.error
import urllib.request

import pytest

import recording
import shapes
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
                assert all(b[2] >= a[2] for a, b in zip(seen, seen[1:])) and seen[-1][2] > seen[0][2]
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


# --- record --serve --------------------------------------------------------------------------


class Shown:
    """`record --serve` of a program that works until its input ends."""

    def __init__(self, watched, tape, *options):
        self.process = subprocess.Popen([recording.memtape(), "record", "--serve", *options, "-o", tape, *(watched if isinstance(watched, list) else [watched])],
                                        env=recording.clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        line = self.process.stderr.readline().decode()
        assert line.startswith("memtape: watch it at http://127.0.0.1:"), line + self.process.stderr.read().decode()
        self.url, self.token = line.split()[-1].split("#k=")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def ask(self, resource):
        request = urllib.request.Request(f"{self.url}api/v1/{resource}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return shapes.conform(f"/api/v1/{resource}", json.load(reply))

    def post(self, resource, body, token=True, **headers):
        headers = {"Content-Type": "application/json", **headers, **({"Authorization": f"Bearer {self.token}"} if token else {})}
        request = urllib.request.Request(f"{self.url}api/v1/{resource}", data=json.dumps(body).encode(), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, shapes.conform(f"/api/v1/{resource}", json.load(reply), "post")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read())["error"]

    def tape(self):
        return self.ask("info")["tapes"][-1]  # snapshots come before it

    def until(self, state):
        until = time.monotonic() + 30
        while (one := self.tape())["state"] != state or not one["name"]:  # what the program is comes with its first events
            assert time.monotonic() < until, one
            time.sleep(0.1)
        return one

    def server_pid(self):
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"\nPPid:\t{self.process.pid}\n" in (path / "status").read_text() and \
                        b"\0serve\0" in (path / "cmdline").read_bytes():
                    return int(path.name)
            except OSError:
                continue
        return None


def test_a_recording_shows_itself_until_it_is_interrupted(watched, tmp_path):
    with Shown(watched, tmp_path / "the.mtape") as shown:
        first = shown.until("live")
        assert first["name"] == "watched" and first["file"] == "the.mtape"
        while shown.tape()["allocation_count"] <= first["allocation_count"]:
            time.sleep(0.1)
        shown.process.stdin.close()
        assert shown.until("complete")["end"] == "exited 3"
        said = shown.process.stdout.read()  # it ends although the server goes on
        assert said.startswith(b"working\ndone: ")
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(30) == 3
        assert b"until Ctrl-C" in shown.process.stderr.read()


def test_a_server_may_end_with_the_program(watched, tmp_path):
    with Shown(watched, tmp_path / "the.mtape", "--serve-until-exit", "-q") as shown:
        shown.until("live")
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
        assert shown.process.stderr.read() == b"at work\n"


def test_the_death_of_the_server_changes_nothing(watched, tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "-q") as shown:
        before = shown.until("live")
        os.kill(shown.server_pid(), signal.SIGKILL)
        time.sleep(1)
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3  # nobody is left to wait for
        rounds = int(shown.process.stdout.read().split()[-1])
        kept = sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 4321")
        assert kept[0]["n"] == rounds > before["allocation_count"] // 10
        assert recording.run([recording.memtape(), "verify", "-q", tape]).returncode == 0


def test_a_mark_can_be_made_from_outside(watched, tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "-q") as shown:
        first = shown.until("live")
        assert shown.ask("info")["can_mark"] is True
        for text in ("loaded \u00e4", "second"):
            status, made = shown.post("mark", {"text": text})
            assert (status, made["text"]) == (200, text)
        until = time.monotonic() + 30
        while len(marks := shown.ask("tape")["marks"]) < 2:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert [one["text"] for one in marks] == ["loaded \u00e4", "second"]
        assert first["duration_ns"] <= marks[0]["ns"] <= marks[1]["ns"]
        shown.process.stdin.close()
        shown.until("complete")
        while shown.ask("info")["can_mark"]:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert shown.post("mark", {"text": "late"})[0] == 503
    assert [one["text"] for one in sql(tape, "SELECT text FROM marks ORDER BY ns")] == ["loaded \u00e4", "second"]
    assert recording.run([recording.memtape(), "verify", "-q", tape]).returncode == 0


def test_a_mark_is_made_for_those_alone_who_may(watched, tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown.until("live")
        assert shown.post("mark", {"text": "x"}, token=False)[0] == 401
        assert shown.post("mark", {"text": "x"}, Origin="http://evil.example")[0] == 403
        assert shown.post("mark", {"text": "x"}, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
        assert shown.post("mark", {"text": "x"}, **{"Content-Type": "text/plain"})[0] == 415
        with pytest.raises(urllib.error.HTTPError, match="405"):
            shown.ask("mark?text=x")
        for body in ({}, {"text": ""}, {"text": "x" * 256}, {"text": "two\nlines"}, {"text": 'x', "more": 1}):
            assert shown.post("mark", body)[0] == 400, body
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert sql(tape, "SELECT count(*) AS n FROM marks") == [{"n": 0}]


def test_a_server_of_a_finished_tape_makes_no_marks(watched, tmp_path):
    tape = tmp_path / "the.mtape"
    recording.run_recorded(["/bin/true"], tape)
    with serve(tape) as server:
        assert server.json("info")["can_mark"] is False
        assert "record --serve" in server.post("mark", {"text": "x"}, status=501)["error"]["message"]
    for number in ("2", "x", "99999999999", "77"):
        done = recording.run([recording.memtape(), "serve", "--control", number, tape])
        assert done.returncode == 2 and b"--control" in done.stderr


def test_a_memtape_that_is_stopped_holds_nobody_up(watched, tmp_path):
    tape = tmp_path / "the.mtape"
    with Shown(watched, tape, "--serve-until-exit", "-q") as shown:
        shown.until("live")
        shown.process.send_signal(signal.SIGSTOP)
        status, error = shown.post("mark", {"text": "late"})
        shown.process.send_signal(signal.SIGCONT)
        assert status == 503 and "may still take effect" in error["message"]
        assert shown.post("mark", {"text": "soon"})[0] == 200  # its word is not taken for the first one's
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert [one["text"] for one in sql(tape, "SELECT text FROM marks ORDER BY ns")] == ["late", "soon"]


def test_a_port_in_use_keeps_the_program_from_starting(watched, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = recording.run([recording.memtape(), "record", "--serve", "--port", port, "-o", tmp_path / "the.mtape", watched])
    assert done.returncode == 125 and done.stdout == b"" and b"--serve" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_there", [True, False])
def test_a_tape_that_is_overwritten_is_not_shown(watched, tmp_path, is_there):
    tape = tmp_path / "the.mtape"
    if is_there:
        recording.run_recorded(["/bin/true"], tape)
    with Shown(watched, tape, "-f", "--serve-until-exit") as shown:
        first = shown.until("live")
        assert first["name"] == "watched"
        while shown.tape()["allocation_count"] < first["allocation_count"] + 20:  # it is at work
            time.sleep(0.05)
        shown.process.stdin.close()
        assert shown.process.wait(30) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["the.mtape"]
    assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 4321")[0]["n"] > 0


@pytest.mark.parametrize("options", [["--port", "8080"], ["--open"], ["--serve", "--port", "65536"]])
def test_options_of_the_server_want_one(watched, options):
    done = recording.run([recording.memtape(), "record", *options, watched])
    assert done.returncode == 2 and b"--port" in done.stderr and done.stdout == b""


def read_terminal(fd, end):
    text = b""
    until = time.monotonic() + 30
    while end not in text:
        assert time.monotonic() < until, text
        text += os.read(fd, 4096)
    return text


def test_the_terminal_stays_the_programs(watched, tmp_path):
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen([recording.memtape(), "record", "--serve", "--serve-until-exit", "-q", "-o", tmp_path / "the.mtape",
                                watched], env=recording.clean_env(), stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
    try:
        text = read_terminal(ours, b"at work\r\n")
        time.sleep(2)  # while it is watched
        os.write(ours, b"\n")  # what it waits for
        text += read_terminal(ours, b"done: ")
        assert process.wait(30) == 3
        first, _, rest = text.partition(b"\r\n")
        assert first.startswith(b"memtape: watch it at http://127.0.0.1:")
        assert rest.startswith(b"working\r\nat work\r\n\r\ndone: ")
        assert termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
