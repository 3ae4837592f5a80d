"""Whose functions are, said to a server: what it knows, what it keeps, and who may say so."""

import json
import pathlib
import threading
import time

import pytest

import recording
from serving import serve
from test_my_code import C, built

ROLES = {"mine": "my", "library": "library", "allocator": "wrapper"}


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    return built(tmp_path_factory.mktemp("c"), "store.c", C, "gcc", "-O1", "-fno-optimize-sibling-calls")


@pytest.fixture
def server(tape, tmp_path):
    with serve(tape, cwd=tmp_path) as server:
        yield server.wait_read()


def first(server):
    return server.json("top")["sites"][0]["function"]


def reported(tape, folder):
    done = recording.run([recording.memtape(), "report", tape, "top", "--json"], cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["sites"][0]["function"]


def said(server):
    return [(row["role"], row["pattern"], row["from"], row["line"])
            for row in server.json("my-code")["patterns"] if row["from"] != "built-in"]


def wait_for(what, wanted):
    end = time.monotonic() + 60
    while what() != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert what() == wanted


def test_what_is_said_is_in_force_and_kept(server, tape, tmp_path):
    config = tmp_path / ".memtape" / "config"
    before = server.json("my-code")
    assert (before["config"], before["exists"], before["refusal"]) == (str(config), False, None)
    assert first(server) == "zmalloc_at"
    readings = server.json("info")["tapes"][0]["readings"]
    answer = server.post("my-code/change", {"role": "allocator", "add": "zmalloc*, _sdsnewlen"})
    assert answer["exists"] and answer["patterns"][0]["from"] == "config"
    wait_for(lambda: first(server), "command")
    assert server.json("info")["tapes"][0]["readings"] == readings + 1
    assert config.read_text() == "wrapper = zmalloc*, _sdsnewlen\n"
    assert said(server) == [("allocator", "zmalloc*", "config", 1), ("allocator", "_sdsnewlen", "config", 1)]
    assert reported(tape, tmp_path) == "command"
    server.post("my-code/change", {"role": "allocator", "remove": "_sdsnewlen"})
    wait_for(lambda: first(server), "_sdsnewlen")
    server.post("my-code/change", {"role": "mine", "add": "zmalloc*"})
    wait_for(lambda: first(server), "zmalloc_at")
    assert config.read_text() == "my = zmalloc*\n" and reported(tape, tmp_path) == "zmalloc_at"
    assert [path.name for path in config.parent.iterdir()] == ["config"]


def test_what_the_user_wrote_stays(tape, tmp_path):
    config = tmp_path / ".memtape" / "config"
    config.parent.mkdir()
    config.write_text("# ours\n\nlibrary = third_party/,store.c\r\n  my   =  src/  \n# the end")
    config.chmod(0o640)
    with serve(tape, cwd=tmp_path, options=["--wrapper=zmalloc*"]) as server:
        server.wait_read()
        assert said(server)[0] == ("allocator", "zmalloc*", "option", 0)
        server.post("my-code/change", {"role": "mine", "add": "store.c", "remove": "nothing/"})
    assert config.read_bytes() == b"# ours\n\nlibrary = third_party/\n  my   =  src/  \n# the end\nmy = store.c\n"
    assert config.stat().st_mode & 0o777 == 0o640


def test_built_in_patterns_are_told(server):
    rows = [row for row in server.json("my-code")["patterns"] if row["from"] == "built-in"]
    found = {(row["role"], row["of"], row["pattern"]) for row in rows}
    assert {("allocator", "function", "malloc"), ("library", "function", "std::*"), ("library", "module", "libstdc++.so*"),
            ("library", "source", "/usr/include/*"), ("library", "source", "*/site-packages/*"),
            ("start", "function", "_start")} <= found


@pytest.mark.parametrize(("members", "parameter", "at"), [
    ({"role": "mine", "add": "src/,,lib/"}, "add", 5), ({"role": "mine", "add": "src/, "}, "add", 6),
    ({"role": "mine", "add": ""}, "add", 0), ({"role": "mine", "add": "a\nmy = b"}, "add", 1),
    ({"role": "library", "remove": ",x"}, "remove", 0), ({"role": "library", "add": "x" * 5000}, "add", 0),
    ({"role": "start", "add": "x"}, "role", None), ({"role": "mine"}, "add", None), ({"add": "x"}, "role", None)])
def test_a_wrong_pattern_changes_nothing_and_is_pointed_at(server, tmp_path, members, parameter, at):
    error = server.post("my-code/change", members, 400)["error"]
    assert (error["parameter"], error["pos"]) == (parameter, at), error
    assert not (tmp_path / ".memtape").exists()


@pytest.mark.parametrize(("line", "place"), [("my = a,,b", "1:8"), ("# x\n wrapper = ,a", "2:12")])
def test_a_wrong_pattern_of_the_file_is_pointed_at(server, tape, tmp_path, line, place):
    (tmp_path / ".memtape").mkdir()
    (tmp_path / ".memtape" / "config").write_text(line + "\n")
    assert f"config:{place}: empty pattern" in server.get("my-code", 400).error()["message"]
    assert server.post("my-code/change", {"role": "mine", "add": "x"}, 400)
    assert first(server) == "zmalloc_at"
    done = recording.run([recording.memtape(), "report", tape, "top"], cwd=tmp_path)
    assert done.returncode == 2 and f"config:{place}: empty pattern".encode() in done.stderr
    done = recording.run([recording.memtape(), "report", tape, "top", "--my", "a,,b"], cwd=tmp_path.parent)
    assert done.returncode == 2 and b"--my 'a,,b': character 3: empty pattern" in done.stderr


def test_strangers_change_nothing(server, tape, tmp_path):
    body = json.dumps({"role": "mine", "add": "x"}).encode()
    json_type = "Content-Type: application/json"
    for headers, token, status in (([json_type, "Origin: http://evil.test"], True, 403), ([json_type], False, 401),
                                   ([json_type, "Sec-Fetch-Site: cross-site"], True, 403), (["Content-Type: text/plain"], True, 415)):
        assert server.ask("/api/v1/my-code/change", "POST", headers, body=body, token=token).status == status
    assert server.ask("/api/v1/my-code/change?role=mine&add=x").status == 405
    with serve(tape, cwd=tmp_path, options=["--no-token"]) as open_one:
        open_one.wait_read()
        assert "--no-token" in open_one.json("my-code")["refusal"]
        assert "--no-token" in open_one.post("my-code/change", {"role": "mine", "add": "x"}, 501)["error"]["message"]
    assert not (tmp_path / ".memtape").exists()


def test_readers_see_whole_files_and_no_change_is_lost(server, tape, tmp_path):
    config = tmp_path / ".memtape" / "config"
    server.post("my-code/change", {"role": "mine", "add": "begin"})
    seen, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            seen.add(config.read_text())

    def add(letter):
        for i in range(8):
            server.post("my-code/change", {"role": "mine", "add": f"{letter}{i}"})

    watcher, threads = threading.Thread(target=watch), [threading.Thread(target=add, args=(letter,)) for letter in "ab"]
    watcher.start()
    for thread in threads:
        thread.start()
    done_by_command = recording.run([recording.memtape(), "report", tape, "top", "--my=c0", "--remember"], cwd=tmp_path)
    for thread in threads:
        thread.join()
    done.set()
    watcher.join()
    assert done_by_command.returncode == 0
    assert all(text.endswith("\n") and text.startswith("my = begin\n") for text in seen)
    assert sorted(config.read_text().split("\n"))[1:] == sorted(
        f"my = {name}" for name in ["begin", "c0", *(f"{letter}{i}" for letter in "ab" for i in range(8))])


def test_a_link_is_not_written_through(server, tmp_path):
    target = pathlib.Path(tmp_path / "elsewhere")
    target.write_text("precious\n")
    (tmp_path / ".memtape").mkdir()
    (tmp_path / ".memtape" / "config").symlink_to(target)
    assert server.post("my-code/change", {"role": "mine", "add": "x"}, 503)
    assert target.read_text() == "precious\n" and (tmp_path / ".memtape" / "config").is_symlink()
