"""Which processes there are to attach to, and attaching from the app's server."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import recording
import seccomp
from recording import memtape as binary
from serving import serve
from test_live import Shown, watched  # noqa: F401 (fixture)


@pytest.fixture
def working(watched):  # noqa: F811
    """Programs that work until their input ends."""
    with contextlib.ExitStack() as stack:
        def start(*args, **more):
            process = stack.enter_context(subprocess.Popen([str(a) for a in args or [watched]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                           stderr=subprocess.DEVNULL, text=True, env=recording.clean_env(), **more))
            stack.callback(process.kill)
            assert process.stdout.readline() == "working\n"
            return process
        yield start


def ended_well(process):
    process.stdin.close()
    assert process.wait(timeout=30) == 3
    assert process.stdout.read().startswith("done: ")


def printed(*options):
    done = recording.run([binary(), "attach", *options])
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def of(processes, pid):
    [row] = [row for row in processes if row["pid"] == pid]
    return row


def is_attached(pid):
    return ".spool" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def until(what):
    end = time.monotonic() + 30
    while not (got := what()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return got


def refused(pid, folder):
    """What the command says."""
    done = recording.run([binary(), "attach", pid, "-o", folder / "refused.mtape"])
    assert done.returncode == 1 and not (folder / "refused.mtape").exists()
    return done.stderr.decode().removeprefix("memtape: ").splitlines()[0]


# --- the list ---------------------------------------------------------------------------------


def test_the_list_is_the_same_in_a_terminal_and_over_http(working, tmp_path):
    process = working()
    with serve(tmp_path) as server:
        asked = server.json("attachable")["processes"]
    told = json.loads(printed("--list", "--json"))["processes"]
    one, other = of(asked, process.pid), of(told, process.pid)
    for key in ("name", "command", "user", "obstacle", "refusal", "tape"):
        assert one[key] == other[key], key
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    assert one["name"] == "watched" and one["command"] == process.args[0] and one["obstacle"] is one["refusal"] is one["tape"] is None
    assert 0 <= int(status.split("VmRSS:")[1].split()[0]) * 1024 - one["rss_bytes"] < 1 << 20  # it grows
    assert abs(int(other["start_realtime_ns"]) + other["age_ns"] - time.time_ns()) < 20e9 and 0 < other["age_ns"] < 60e9
    sizes = [row["rss_bytes"] for row in told]
    assert sizes == sorted(sizes, reverse=True)
    assert server.process.pid not in [row["pid"] for row in asked]
    assert "kthreadd" not in [row["name"] for row in told]
    [line] = [line for line in printed().splitlines() if line.split()[0] == str(process.pid)]
    assert line.split()[1] == one["user"] and " - " in line and line.split()[-2:] == ["watched", str(process.args[0])]


def test_the_list_says_what_the_command_says(working, watched, tmp_path):  # noqa: F811
    (tmp_path / "s.c").write_text("int puts(const char *), getchar(void); int main(void) { puts(\"working\"); return fflush(0), getchar(); }".replace(
        "int puts", "#include <stdio.h>\n#define fflush(x) fflush(NULL)\nint puts"))
    subprocess.run(["gcc", "-static", "-o", tmp_path / "static", tmp_path / "s.c"], check=True)
    static = working(tmp_path / "static")
    sandboxed = working(watched, preexec_fn=seccomp.install(seccomp.kill("mincore")))
    plain, traced, attached, left = working(), working(), working(), working()
    recorded = subprocess.Popen([binary(), "record", "-q", "-o", tmp_path / "t.mtape", "--", watched], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env=recording.clean_env())
    assert recorded.stdout.readline() == b"working\n"
    child = int(pathlib.Path(f"/proc/{recorded.pid}/task/{recorded.pid}/children").read_text())
    attaching = subprocess.Popen([binary(), "attach", str(attached.pid), "-o", tmp_path / "a.mtape"], stderr=subprocess.PIPE, env=recording.clean_env())
    assert b"recording" in attaching.stderr.readline()
    killed = subprocess.Popen([binary(), "attach", str(left.pid), "-o", tmp_path / "l.mtape"], stderr=subprocess.PIPE, env=recording.clean_env())
    assert b"recording" in killed.stderr.readline()
    killed.kill(), killed.communicate()
    tracing = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(traced.pid), "-ex", "python print('there', flush=True)"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert any(b"there" in line for line in tracing.stdout)
    wanted = {static.pid: "C library", sandboxed.pid: "seccomp", traced.pid: "traced", child: "recorded", attached.pid: "attached"}
    try:
        told = json.loads(printed("--list", "--json"))["processes"]
        for pid, word in wanted.items():
            row = of(told, pid)
            assert (row["obstacle"], row["refusal"]) == (word, refused(pid, tmp_path)), word
        for one in (plain, left):  # who has attached to the other one was killed
            assert of(told, one.pid)["obstacle"] is None and of(told, one.pid)["tape"] is None
        assert of(told, child)["tape"] == str(tmp_path / "t.mtape") and of(told, attached.pid)["tape"] == str(tmp_path / "a.mtape")
    finally:
        for one in (tracing, attaching):
            one.terminate()
            one.communicate(timeout=30)
        recorded.communicate(timeout=30)
    assert of(json.loads(printed("--list", "--json"))["processes"], attached.pid)["obstacle"] is None  # the library stays there
    for one in (sandboxed, plain, traced, attached, left):
        ended_well(one)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have groups")
def test_a_filter_is_found_behind_any_number_of_groups(working, watched, tmp_path):  # noqa: F811
    for count in (10, 900, 20000):
        groups = list(range(1000000000, 1000000000 + count))
        sandboxed = working(watched, preexec_fn=lambda: (os.setgroups(groups), seccomp.install(seccomp.kill("mincore"))()))
        assert "has a seccomp filter" in refused(sandboxed.pid, tmp_path)
        ended_well(sandboxed)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_others_see_their_own_processes_only(working):
    mine, theirs = working(), working("/bin/sh", "-c", "echo working; read x", user=65534)
    done = recording.run(["setpriv", "--reuid=65534", "--clear-groups", binary(), "attach", "--list", "--json"])
    pids = [row["pid"] for row in json.loads(done.stdout)["processes"]]
    assert theirs.pid in pids and mine.pid not in pids
    assert {mine.pid, theirs.pid} <= {row["pid"] for row in json.loads(printed("--list", "--json"))["processes"]}


@pytest.mark.parametrize("args, words", [
    (["--list", "1"], "--list takes no process"), (["--list", "--bpf"], "--list takes no process"),
    (["--list", "-d", "10s"], "no other option"), (["--json", "-q", "--list"], "no other option"), (["--json"], "--json needs --bpf or --list"),
    (["-q"], "expected the number of one process"), (["--control", "0", "1"], "not a socket"), (["--control", "x", "1"], "expected the number of a socket"),
])
def test_what_is_no_list(args, words):
    done = recording.run([binary(), "attach", *args])
    assert done.returncode == 2 and words in done.stderr.decode()


# --- attaching --------------------------------------------------------------------------------


def test_a_process_is_recorded_from_the_server_and_let_go(working, tmp_path):
    process = working()
    with serve(tmp_path) as server:
        info = server.json("info")
        assert info["tapes"] == [] and info["can_attach"] and info["recorded"] is None and not info["can_stop"]
        made = server.post("attach", {"pid": process.pid})
        assert made["file"] == f"memtape.watched.{process.pid}.0.mtape" and made["path"] == str(tmp_path / made["file"])
        assert is_attached(process.pid) and 0 < made["pause_ns"] < 10e9

        def live():
            [tape] = server.json("info")["tapes"]
            return tape if tape["state"] == "live" and tape.get("allocation_count", 0) > 20 and (tape["attached"]["before"] or {}).get("count") else None

        def read(resource):  # not yet, while the tape is read
            reply = server.ask(f"/api/v1/{resource}")
            assert reply.status in (200, 503)
            return reply.json()
        tape = until(live)
        assert tape["id"] == made["id"] == server.json("info")["recorded"] and tape["pid"] == process.pid
        assert tape["attached"]["pause_ns"] == made["pause_ns"]
        until(lambda: {"grow", "churn"} <= {row["title"] for row in read(f"sites?by=function&c={made['id']}").get("rows", [])})
        row = of(server.json("attachable")["processes"], process.pid)
        assert row["obstacle"] == "attached" and row["tape"] == made["path"]
        again = server.post("attach", {"pid": working().pid}, 503)["error"]["message"]
        assert "records a process already" in again
        assert server.post("pause", {})["changed"] and server.post("pause", {"on": False})["changed"]
        server.post("mark", {"text": "now"})
        assert server.post("stop", {})["tape_bytes"] == pathlib.Path(made["path"]).stat().st_size
        assert not is_attached(process.pid)
        until(lambda: server.json("info")["tapes"][0]["state"] == "complete")
        info = server.json("info")
        assert info["recorded"] is None and not info["can_stop"] and info["tapes"][0]["end"] == "still running"
        until(lambda: [mark["name"] for mark in read("marks").get("marks", [])] == ["now"])
        assert recording.run([binary(), "verify", made["path"]]).returncode == 0
        second = server.post("attach", {"pid": process.pid})
        assert second["file"] == f"memtape.watched.{process.pid}.1.mtape" and server.json("info")["recorded"] == second["id"]
        assert [tape["id"] for tape in server.json("info")["tapes"]] == [second["id"], made["id"]]
    assert not is_attached(process.pid)  # the server has ended, and waited for that
    assert recording.run([binary(), "verify", second["path"]]).returncode == 0
    ended_well(process)
    with serve(tmp_path) as server:  # a folder stands for its tapes, in the order in which they were written
        assert [tape["id"] for tape in server.json("info")["tapes"]] == [made["id"], second["id"]]


def test_a_server_that_is_killed_lets_its_process_go(working, tmp_path):
    process = working()
    server = subprocess.Popen([binary(), "serve", "--json", tmp_path], stdout=subprocess.PIPE, env=recording.clean_env())
    place = json.loads(server.stdout.readline())
    done = recording.run(["curl", "-sS", "-H", f"Authorization: Bearer {place['token']}", "-H", "Content-Type: application/json", "-d",
                          json.dumps({"pid": process.pid}), f"http://127.0.0.1:{place['port']}/api/v1/attach"])
    made = json.loads(done.stdout)
    assert is_attached(process.pid)
    server.kill()
    server.wait()
    server.stdout.close()
    until(lambda: not is_attached(process.pid))
    until(lambda: recording.run([binary(), "verify", made["path"]]).returncode == 0 and not pathlib.Path(made["path"] + ".spool").exists())
    ended_well(process)


def test_what_cannot_be_attached_to_is_refused_with_the_reason(working, watched, tmp_path):  # noqa: F811
    sandboxed = working(watched, preexec_fn=seccomp.install(seccomp.kill("mincore")))
    with serve(tmp_path) as server:
        assert server.post("attach", {"pid": sandboxed.pid}, 503)["error"]["message"] == refused(sandboxed.pid, tmp_path)
        assert "no process" in server.post("attach", {"pid": 4194303}, 503)["error"]["message"]
        assert server.post("attach", {"pid": 0}, 400)["error"]["parameter"] == "pid"
        assert server.post("attach", {}, 400)["error"]["parameter"] == "pid"
        info = server.json("info")
        assert info["tapes"] == [] and info["recorded"] is None
    assert list(tmp_path.iterdir()) == []
    ended_well(sandboxed)


def test_a_full_folder_is_an_error_and_the_process_goes_on(working, tmp_path):
    process = working()
    with serve(tmp_path) as server:
        tmp_path.rmdir()
        assert "No such file" in server.post("attach", {"pid": process.pid}, 503)["error"]["message"]
    tmp_path.mkdir()
    assert not is_attached(process.pid)
    ended_well(process)


@pytest.mark.parametrize("options", [["--no-token"], ["--allow-host", "example.org"], ["--listen", "0.0.0.0", "--i-know"]])
def test_where_others_could_ask_it_must_be_said(options, working, tmp_path):
    process = working()
    with serve(tmp_path, options=options) as server:
        assert not server.json("info")["can_attach"]
        assert "--attach" in server.json("attachable", 501)["error"]["message"]
        assert "--attach" in server.post("attach", {"pid": process.pid}, 501)["error"]["message"]
    assert not is_attached(process.pid)
    with serve(tmp_path, options=[*options, "--attach"]) as server:
        assert of(server.json("attachable")["processes"], process.pid)["obstacle"] is None and server.json("info")["can_attach"]
    ended_well(process)


def test_strangers_get_nothing(working, tmp_path):
    process = working()
    body, kind = json.dumps({"pid": process.pid}).encode(), "Content-Type: application/json"
    with serve(tmp_path) as server:
        assert server.ask("/api/v1/attachable", token=False).status == 401
        assert server.ask("/api/v1/attach", "POST", [kind], token=False, body=body).status == 401
        assert server.ask(f"/api/v1/attach?token={server.token}", "POST", [kind], token=False, body=body).status == 401
        for head in ("Origin: http://example.org", "Sec-Fetch-Site: cross-site"):
            assert server.ask("/api/v1/attach", "POST", [kind, head], body=body).status == 403
            assert server.ask("/api/v1/attachable", headers=[head]).status == 403
        assert server.ask("/api/v1/attach", "POST", ["Content-Type: text/plain"], body=body).status == 415
        assert server.ask(f"/api/v1/attach?pid={process.pid}").status == 405
    assert not is_attached(process.pid)
    ended_well(process)


def test_what_shows_a_recording_attaches_to_nothing_else(watched, tmp_path):  # noqa: F811
    with Shown(watched, tmp_path / "the.mtape", "-q") as shown:
        live = shown.until("live")
        info = shown.ask("info")
        assert not info["can_attach"] and info["recorded"] == live["id"] and live["attached"] is None
        assert shown.post("attach", {"pid": 1})[0] == 501


def test_stop_lets_go_what_the_command_has_attached_to(working, tmp_path):
    process = working()
    attached = subprocess.Popen([binary(), "attach", "--serve", "-q", str(process.pid), "-o", tmp_path / "a.mtape"], stderr=subprocess.PIPE,
                                env=recording.clean_env())
    url, token = attached.stderr.readline().decode().split()[-1].split("#k=")
    until(lambda: is_attached(process.pid))
    ask = ["curl", "-sS", "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json", "-d", "{}", f"{url}api/v1/stop"]
    done = until(lambda: (answer := json.loads(recording.run(ask).stdout)).get("tape_bytes") and answer)
    assert done["tape_bytes"] == (tmp_path / "a.mtape").stat().st_size and not is_attached(process.pid)
    attached.send_signal(signal.SIGINT)
    attached.communicate(timeout=30)
    ended_well(process)


# --- folders ----------------------------------------------------------------------------------


def test_of_a_folder_tapes_are_served_and_nothing_else(tmp_path):
    for at, name in enumerate(("b", "a")):
        recording.run([binary(), "record", "-q", "-o", tmp_path / f"{name}.mtape", "--", recording.target("counted")])
        os.utime(tmp_path / f"{name}.mtape", (1000 + at, 1000 + at))
    (tmp_path / "a.mtape.index").write_text("nothing")
    (tmp_path / "c.mtape").write_text("no tape")
    (tmp_path / "d.mtape").mkdir()
    with serve(tmp_path, tmp_path / "a.mtape") as server:
        assert [tape["file"] for tape in server.json("info")["tapes"]] == ["b.mtape", "a.mtape", "a.mtape"]
