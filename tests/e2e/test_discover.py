"""Programs that announce themselves, and gatherers that look for them (MEMTAPE_BROADCAST, `gather --discover`)."""

import contextlib
import os
import pathlib
import re
import socket
import struct
import subprocess

import pytest

import gathering
import recording
from gathering import BEGIN, gather, until
from test_embedded import PYTHON, STEPS, assert_equal_chunks, assert_sound, event_count, lives, sender_of

ANNOUNCEMENT = struct.Struct("<8sII16sIHH")
FOUND_MAX = 32

FORKS = """
import os, sys
kept = [bytearray(600 + i % 900) for i in range(3000)]
child = os.fork()
kept += [bytearray(600 + i % 900) for i in range(3000)]
if not child:
    os.write(1, b"child\\n")
sys.stdin.readline()
if child:
    os.waitpid(child, 0)
"""


@pytest.fixture
def token(tmp_path):
    return gathering.token_file(tmp_path / "token")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tapes"


@pytest.fixture
def ear():
    """Where announcements arrive."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(gathering.PATIENCE)
        yield sock


def port_of(sock):
    return sock.getsockname()[1]


def announcement(port, uuid=None, magic=b"MTANNOU\n", version=1, flags=1):
    return ANNOUNCEMENT.pack(magic, version, flags, uuid or os.urandom(16), 1, port, 0)


def hear(ear):
    """What is announced: uuid, pid and port."""
    magic, version, flags, uuid, pid, port, zero = ANNOUNCEMENT.unpack(ear.recv(100))
    assert (magic, version, flags, zero) == (b"MTANNOU\n", 1, 1, 0) and port
    return uuid, pid, port


def discover(folder, token, port=0, at="127.0.0.1"):
    return gather(folder, token, options=[f"--discover={at}:{port}"])


def discovered_at(gatherer):
    """The port of datagrams."""
    until(lambda: gatherer.has_said("^discovering on "))
    return int(re.search(r"discovering on \S+:(\d+)\n", "".join(gatherer.lines)).group(1))


def environment(place, token, **more):
    env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_BROADCAST=place, MEMTAPE_OUTPUT="tape", **more)
    if token:
        env["MEMTAPE_TOKEN_FILE"] = str(token)
    return env


class Program:
    def __init__(self, place, token, cwd, script=STEPS, **more):
        self.process = subprocess.Popen([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd, env=environment(place, token, **more))

    def step(self, count=1):
        for _ in range(count):
            self.process.stdin.write(b"go\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline(), self.process.stderr.read()

    def end(self, err=b""):
        assert self.process.communicate(timeout=gathering.PATIENCE)[1] == err and self.process.returncode == 0


@contextlib.contextmanager
def program(place, token, cwd, **more):
    one = Program(place, token, cwd, **more)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def assert_arrived(gatherer, folder, here):
    until(lambda: gatherer.has_said("complete at"))
    there, = folder.iterdir()
    assert_equal_chunks(here, there)
    assert_sound(there)
    assert event_count(there) == event_count(here) > 1000


@pytest.mark.parametrize("at", ["127.0.0.1", "127.255.255.255"])
def test_it_is_found_and_its_tape_taken_while_it_grows(tmp_path, folder, token, at):
    with discover(folder, token, at="0.0.0.0") as gatherer:
        with program(f"{at}:{discovered_at(gatherer)}", token, tmp_path) as one:
            until(lambda: gatherer.has_said("begun"))
            one.step(8)
            until(lambda: gatherer.tapes()[0].stat().st_size > 100000)
            one.end()
        assert_arrived(gatherer, folder, tmp_path / "tape")
        assert gatherer.end()[-1].endswith("0 connections refused; "
                                           f"{recording_size(gatherer)} received; 0 datagrams ignored\n")


def recording_size(gatherer):
    return re.search(r"; (.*) received", gatherer.lines[-1]).group(1)


def test_without_a_token_the_loopback_is_free(tmp_path, folder):
    with discover(folder, None) as gatherer:
        with program(f"127.0.0.1:{discovered_at(gatherer)}", None, tmp_path) as one:
            one.step()
            one.end()
        assert_arrived(gatherer, folder, tmp_path / "tape")


def test_a_gatherer_that_comes_late_gets_all(tmp_path, folder, token, ear):
    port = port_of(ear)
    with program(f"127.0.0.1:{port}", token, tmp_path) as one:
        one.step(8)
        first, second = hear(ear), hear(ear)
        assert first == second and first[1] == one.process.pid
        ear.close()
        with discover(folder, token, port) as gatherer:
            until(lambda: gatherer.has_said("begun"))
            with pytest.raises(ConnectionRefusedError):  # it is taken
                connect(first[2])
            one.end()
            assert_arrived(gatherer, folder, tmp_path / "tape")
            assert gatherer.tapes()[0].read_bytes()[72:88] == first[0]


def test_a_gatherer_is_killed_and_another_takes_over(tmp_path, folder, token):
    with discover(folder, token) as gatherer:
        port = discovered_at(gatherer)
        with program(f"127.0.0.1:{port}", token, tmp_path) as one:
            one.step(8)
            until(lambda: gatherer.tapes() and gatherer.tapes()[0].stat().st_size > 100000)
            gatherer.end(9)
            one.step(8)
            with discover(tmp_path / "others", token, port) as other:
                until(lambda: other.has_said("begun"))
                one.end()
                assert_arrived(other, tmp_path / "others", tmp_path / "tape")


def test_a_wrong_token_gets_nothing_and_the_right_one_all(tmp_path, folder, token):
    wrong = gathering.token_file(tmp_path / "wrong", b"another one, of 32 bytes as well")
    with discover(folder, wrong) as gatherer:
        port = discovered_at(gatherer)
        with program(f"127.0.0.1:{port}", token, tmp_path) as one:
            one.step()
            until(lambda: gatherer.has_said(r"^127\.0\.0\.1:\d+: refused: it has not the token"))
            assert not gatherer.tapes()
            gatherer.end()
            with discover(folder, token, port) as other:
                until(lambda: other.has_said("begun"))
                one.end()
                assert_arrived(other, folder, tmp_path / "tape")


def connect(port):
    sock = socket.create_connection(("127.0.0.1", port), gathering.PATIENCE)
    sock.settimeout(gathering.PATIENCE)
    return sock


def verdict_of(token, port, is_right):
    """A gatherer of our own, which says that all is well; what it hears then."""
    with connect(port) as sock:
        greeting = struct.pack("<8sII", b"MTGREET\n", 1, 1) + os.urandom(32)
        sock.sendall(greeting)
        answer = gathering.receive(sock, 80)
        assert answer[48:] == gathering.prove(token, b"memtape stream sender 1", greeting, answer[:48])
        proof = gathering.prove(token, b"memtape stream gather 1", greeting, answer[:48]) if is_right else os.urandom(32)
        sock.sendall(struct.pack("<8sII", b"MTVERDI\n", 1, 0) + proof)
        return gathering.receive(sock, 8)


def test_strangers_who_connect_get_nothing(tmp_path, token, ear):
    with program(f"127.0.0.1:{port_of(ear)}", token, tmp_path) as one:
        one.step()
        port = hear(ear)[2]
        with connect(port) as silent, connect(port) as rude:
            rude.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(100))
            with contextlib.suppress(ConnectionResetError):
                assert rude.recv(1) == b""
            with contextlib.suppress(ConnectionResetError):
                assert silent.recv(1) == b""
        assert verdict_of(token.read_bytes(), port, False) == b""
        assert hear(ear)[2] == port  # it still waits
        assert struct.unpack("<I", verdict_of(token.read_bytes(), port, True)[:4]) == (BEGIN,)
        one.end()


def test_strangers_and_garbage_that_a_gatherer_hears(tmp_path, folder, token, ear):
    with discover(folder, token) as gatherer, socket.create_server(("127.0.0.1", 0), backlog=200) as stranger:
        port = discovered_at(gatherer)
        at, there = port_of(stranger), ("127.0.0.1", port)
        garbage = [b"", b"x", os.urandom(40), os.urandom(1400), announcement(at)[:-1], announcement(at) + b"x",
                   announcement(0), announcement(at, magic=b"MTGREET\n")]
        for data in garbage:
            ear.sendto(data, there)
        ear.sendto(announcement(at, flags=0), there)
        until(lambda: gatherer.has_said(r"^127\.0\.0\.1:\d+: refused: it announces that it has no token"))
        same = os.urandom(16)
        for _ in range(3):
            ear.sendto(announcement(at, same), there)
        with stranger.accept()[0] as sock:
            assert gathering.receive(sock, 48).startswith(b"MTGREET\n")
            sock.sendall(bytes(80))
            assert gathering.receive(sock, 100) == b""  # nothing more to him
        with program(f"127.0.0.1:{port}", token, tmp_path) as one:
            one.step()
            one.end()
        assert_arrived(gatherer, folder, tmp_path / "tape")
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):  # one connection of three announcements
            stranger.accept()
        assert gatherer.end()[-1].endswith(f"2 connections refused; {recording_size(gatherer)} received; "
                                           f"{len(garbage)} datagrams ignored\n")


def test_a_flood_of_announcements_is_bounded(folder, token, ear):
    with discover(folder, token) as gatherer, socket.create_server(("127.0.0.1", 0), backlog=500) as stranger:
        there = ("127.0.0.1", discovered_at(gatherer))
        for _ in range(3 * FOUND_MAX):
            ear.sendto(announcement(port_of(stranger)), there)
        stranger.settimeout(gathering.PATIENCE)
        socks = [stranger.accept()[0] for _ in range(FOUND_MAX)]
        last = announcement(port_of(stranger), flags=0)
        until(lambda: ear.sendto(last, there) and gatherer.has_said("it announces that it has no token"))  # all are read
        assert len(threads(gatherer)) <= FOUND_MAX + 2
        gatherer.end()
        for sock in socks:
            sock.close()
        assert sum("refused:" in line for line in gatherer.lines) == 1 and not gatherer.tapes()


def threads(gatherer):
    return list(pathlib.Path(f"/proc/{gatherer.process.pid}/task").iterdir())


def test_forked_children_announce_themselves(tmp_path, folder, token):
    with discover(folder, token) as gatherer:
        place = f"127.0.0.1:{discovered_at(gatherer)}"
        with program(place, token, tmp_path, script=FORKS, MEMTAPE_OPTIONS="follow=1") as one:
            assert one.process.stdout.readline() == b"child\n"
            until(lambda: len(gatherer.tapes()) == 2)
            one.end()
        until(lambda: sum("complete at" in line for line in gatherer.lines) == 2)
        assert {tape.read_bytes()[40:44] for tape in gatherer.tapes()} >= {struct.pack("<I", one.process.pid)}
        for tape in gatherer.tapes():
            assert_sound(tape)


def ticks(pid):
    return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def test_a_sender_that_nobody_finds_sleeps_and_ends(tmp_path, token, ear):
    log = tmp_path / "log"
    with program(f"127.0.0.1:{port_of(ear)}", token, tmp_path, MEMTAPE_LOG=f"info:{log}") as one:
        one.step()
        pid = sender_of(log)
        hear(ear)
        before = ticks(pid)
        for _ in range(2):  # a second each
            hear(ear)
        assert ticks(pid) - before < 40
        one.end()
    until(lambda: not lives(pid))
    assert_sound(tmp_path / "tape")


def test_the_port_that_is_asked_for_or_one_of_the_next(tmp_path, token, ear):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = port_of(taken)
        if first > 65000:
            pytest.skip("there are too few ports above")
        with program(f"127.0.0.1:{port_of(ear)}", token, tmp_path, MEMTAPE_BROADCAST_PORT=str(first)) as one:
            assert first < hear(ear)[2] <= first + 100
            one.end()


@pytest.mark.parametrize("is_recorded", [False, True])
def test_what_has_its_place_is_not_announced(tmp_path, folder, token, ear, is_recorded):
    words = [recording.memtape(), "record", "-o", tmp_path / "tape"] if is_recorded else []
    with gather(folder, token) as gatherer:
        env = recording.clean_env(MEMTAPE_BROADCAST=f"127.0.0.1:{port_of(ear)}", MEMTAPE_TOKEN_FILE=str(token))
        if not is_recorded:
            env.update(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=f"tcp://{gatherer.where},tape")
        done = recording.run([*words, PYTHON, "-c", "print(sum(len(str(i)) for i in range(1000)))"], cwd=tmp_path, env=env)
        assert done.returncode == 0 and b"MEMTAPE_BROADCAST" not in done.stderr, done.stderr
        until(lambda: is_recorded or gatherer.has_said("complete at"))
    ear.setblocking(False)
    with pytest.raises(BlockingIOError):
        ear.recv(100)


@pytest.mark.parametrize("place, port, why", [
    ("1", "", "others can reach it; MEMTAPE_TOKEN_FILE names a token, or add ,no-token if whoever comes may have it"),
    ("1,yes", "", "what is behind its comma is no-token, or nothing"),
    ("127.0.0.1:0", "", "it is neither 1 nor HOST nor HOST:PORT"),
    ("nowhere.invalid", "", "its host is neither an address in numbers nor a name in /etc/hosts"),
    ("1,no-token", "70000", "MEMTAPE_BROADCAST_PORT is no port"),
])
def test_what_is_not_announced_is_said_once(tmp_path, place, port, why):
    with program(place, None, tmp_path, script=FORKS, MEMTAPE_BROADCAST_PORT=port, MEMTAPE_OPTIONS="follow=1") as one:
        one.end(f"memtape: MEMTAPE_BROADCAST: the tape is not sent: {why}\n".encode())
    assert_sound(tmp_path / "tape")


@pytest.mark.parametrize("options, why", [
    (["--discover"], "--discover: others can reach that"),
    (["--discover=127.0.0.1:1:2"], "127.0.0.1:1:2: an address of IPv6"),
    (["--discover", "--no-token", "--tls-cert", "cert", "--tls-key", "key"], "programs that announce themselves do not speak TLS"),
])
def test_what_a_gatherer_cannot_do(tmp_path, options, why):
    done = recording.run([recording.memtape(), "gather", "-d", tmp_path / "tapes", *options])
    assert done.returncode == 2 and why in done.stderr.decode(), done.stderr
