"""Tapes that are sent to a gatherer: over networks that cut and wait, and among strangers."""

import contextlib
import fcntl
import os
import random
import resource
import signal
import socket
import stat
import struct
import subprocess
import threading

import pytest

import gathering
import recording
from gathering import data, end, gather, page, proxy, send, until

# Steps of its work on the tape, a line on standard output after each, the next one when a line comes in.
STEPS = """
import sys
kept = []
for line in sys.stdin:
    kept.append([bytearray(600 + i % 900) for i in range(3000)])
    print("done", flush=True)
"""


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    """Some megabytes that are not compressed."""
    path = tmp_path_factory.mktemp("tape") / "service.mtape"
    done = recording.run_recorded([recording.target("service"), "100000"], path, ["-q", "--no-compress"])
    assert done.returncode == 0 and path.stat().st_size > 1 << 20
    return path


@pytest.fixture
def token(tmp_path):
    return gathering.token_file(tmp_path / "token")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tapes"


class Recording:
    """STEPS, recorded and sent."""

    def __init__(self, tape, where, *options):
        args = [recording.memtape(), "record", "--no-summary", "-o", tape, "--to", where, *options, "--",
                recording.which("python3"), "-c", STEPS]
        self.tape = tape
        self.process = subprocess.Popen(list(map(str, args)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=recording.clean_env())

    def step(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"done\n"

    def end(self):
        _, err = self.process.communicate(timeout=gathering.PATIENCE)
        assert self.process.returncode == 0, err
        return err.decode()


@contextlib.contextmanager
def record_to(tape, where, *options):
    one = Recording(tape, where, *options)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def assert_equal(gatherer, *tapes):
    """What was gathered is these tapes, byte for byte."""
    assert sorted(path.read_bytes() for path in gatherer.tapes()) == sorted(path.read_bytes() for path in tapes)


def event_count(path):
    return recording.report(path, "summary")["allocations"]["count"]


# --- what is sent is there ------------------------------------------------------------------------------

def test_a_tape_is_there_byte_for_byte(tape, folder, token):
    with gather(folder, token) as gatherer:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 0, done.stderr
        assert_equal(gatherer, tape)
        name = gatherer.tapes()[0].name
        header = tape.read_bytes()[:4096]
        pid, = struct.unpack_from("<I", header, 40)
        assert name.startswith(f"{os.uname().nodename}.service.{pid}.2") and name.endswith(".mtape")
        assert name.encode() in done.stdout
        assert stat.S_IMODE(gatherer.tapes()[0].stat().st_mode) == 0o600
        before = gatherer.tapes()[0].stat()
        assert send(tape, gatherer.where, token=token).returncode == 0  # nothing is written again
        after = gatherer.tapes()[0].stat()
        assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
        lines = gatherer.end()
    assert gatherer.process.returncode == 0
    assert lines[-1].startswith("1 tape complete, 0 connections cut, 0 connections refused")


def test_a_tape_is_read_while_it_grows(tmp_path, folder, token):
    with gather(folder, token) as gatherer, \
            record_to(tmp_path / "a.mtape", gatherer.where, "--token-file", token) as program:
        program.step()
        until(lambda: gatherer.has_said("begun"), program.process)
        there, = gatherer.tapes()
        first = until(lambda: event_count(there), program.process)
        program.step()
        until(lambda: event_count(there) >= first + 2000, program.process)
        said = program.end()
        assert f"a.mtape is on {gatherer.where} as {there.name}" in said
        until(lambda: gatherer.has_said("python3.*complete"))
        assert_equal(gatherer, program.tape)
        assert recording.report(there, "summary") == recording.report(program.tape, "summary")


@pytest.mark.parametrize("seed", range(recording.times(full=20, standard=2)))
def test_cuts_at_any_byte_lose_nothing(tape, folder, token, seed):
    dice = random.Random(seed)
    cuts = [dice.randrange(dice.choice([200, 9000, tape.stat().st_size // 6])) for _ in range(5)]
    with gather(folder, token) as gatherer, \
            proxy(gatherer.port, allow=lambda n: cuts[n] if n < len(cuts) else None) as network:
        done = send(tape, network.where, token=token)
        assert done.returncode == 0, done.stderr
        assert network.count == len(cuts) + 1
        assert_equal(gatherer, tape)
        sent = sum(map(len, network.said))
        assert sent < 2 * tape.stat().st_size  # it goes on where it was


def test_a_recording_survives_cuts(tmp_path, folder, token):
    cuts = [100, 5000, 9000, 40000]
    with gather(folder, token) as gatherer, \
            proxy(gatherer.port, allow=lambda n: cuts[n] if n < len(cuts) else None) as network, \
            record_to(tmp_path / "a.mtape", network.where, "--token-file", token, "--no-compress") as program:
        until(lambda: (program.step(), network.count > len(cuts))[1], program.process)
        program.end()
        assert_equal(gatherer, program.tape)


def test_a_killed_gatherer_that_comes_back_gets_the_rest(tmp_path, folder, token):
    with gather(folder, token) as first, \
            record_to(tmp_path / "a.mtape", first.where, "--token-file", token) as program:
        program.step()
        there = until(first.tapes, program.process)[0]
        until(lambda: there.stat().st_size > 4096, program.process)
        first.end(signal.SIGKILL)
        program.step()
        with gather(folder, token, port=first.port) as second:
            program.step()
            until(lambda: second.has_said("resumed"), program.process)
            program.end()
            assert_equal(second, program.tape)


def test_many_programs_at_once_have_a_tape_each(tmp_path, folder, token):
    count = recording.times(full=50, standard=8)
    with gather(folder, token) as gatherer, contextlib.ExitStack() as stack:
        programs = [stack.enter_context(record_to(tmp_path / f"{i}.mtape", gatherer.where, "--token-file", token))
                    for i in range(count)]
        for program in programs:
            program.step()
        until(lambda: len(gatherer.tapes()) == count)
        for program in programs:
            program.end()
        assert_equal(gatherer, *[program.tape for program in programs])


def test_a_rotated_tape_is_there_as_it_is_in_the_end(tmp_path, folder, token):
    local = tmp_path / "a.mtape"
    with gather(folder, token) as gatherer:
        done = recording.run_recorded(
            [recording.target("service"), "1500000"], local,
            ["-q", "--no-compress", "--max-size", "16m", "--rotate", "--to", gatherer.where, "--token-file", token])
        assert done.returncode == 0
        assert b"is on" in done.stderr, done.stderr
        assert_equal(gatherer, local)
    assert recording.report(local, "recording")["edits"]  # it was rotated


def test_a_program_that_becomes_another_one_has_two_tapes(tmp_path, folder, token):
    with gather(folder, token) as gatherer:
        done = recording.run_recorded([recording.target("becomes"), "thread", recording.target("becomes"), "end"],
                                      tmp_path / "a.mtape", ["-q", "--to", gatherer.where, "--token-file", token])
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "a.mtape").read_bytes() in [path.read_bytes() for path in gatherer.tapes()]


def test_all_tapes_of_a_session_are_there(tmp_path, folder, token):
    session = tmp_path / "s"
    with gather(folder, token) as gatherer:
        done = recording.run([recording.memtape(), "record", "-q", "--follow", "--to", gatherer.where, "--token-file", token, "-o", session, "--",
                              "/bin/sh", "-c", "/bin/ls / >/dev/null; /bin/cat /dev/null; true"])
        assert done.returncode == 0, done.stderr
        assert f"{session}: its 3 tapes are on {gatherer.where}" in done.stderr.decode()
        assert_equal(gatherer, *session.glob("*.mtape"))
        assert {path.name.split(".")[1] for path in gatherer.tapes()} == {"sh", "dash", "ls", "cat"} & {path.name.split(".")[0] for path in session.iterdir()}
        before = [(path.name, path.stat().st_mtime_ns) for path in gatherer.tapes()]
        done = send(session, gatherer.where, token=token)
        assert done.returncode == 0 and b"its 3 tapes are on" in done.stdout
        assert [(path.name, path.stat().st_mtime_ns) for path in gatherer.tapes()] == before  # only compared
        assert send(session, gatherer.where, "--follow", token=token).returncode == 2
    done = recording.run([recording.memtape(), "record", "--follow", "--no-local", "--to", "127.0.0.1:1", "/bin/echo", "must not run"])
    assert done.returncode == 2 and done.stdout == b"" and b"--no-local" in done.stderr


# --- nobody waits ---------------------------------------------------------------------------------------

def test_the_program_never_waits_for_a_gatherer(tmp_path, folder, token):
    gate = threading.Event()  # nothing goes through before the program has done all of its work
    with gather(folder, token) as gatherer, proxy(gatherer.port, gate=gate) as network, \
            record_to(tmp_path / "a.mtape", network.where, "--token-file", token, "--no-compress") as program:
        for _ in range(20):
            program.step()
        assert not (folder.exists() and gatherer.tapes())
        gate.set()
        program.end()
        assert_equal(gatherer, program.tape)


def test_what_is_not_sent_at_the_end_is_sent_by_the_command_that_is_said(tmp_path, folder, token):
    with gather(folder, token) as gatherer:
        where = gatherer.where
        gatherer.end()
        with record_to(tmp_path / "a.mtape", where, "--token-file", token, "--to-wait", "100ms") as program:
            program.step()
            said = program.end()
    assert "0 B of " in said and "are there; the rest is sent by `memtape send " in said
    words = said.split("`memtape ")[1].split("`")[0].split()
    with gather(folder, token, port=gatherer.port) as again:
        done = recording.run([recording.memtape(), *words])
        assert done.returncode == 0, done.stderr
        assert_equal(again, program.tape)


def test_no_local_removes_a_tape_only_when_it_is_there(tmp_path, folder, token):
    with gather(folder, token) as gatherer:
        with record_to(tmp_path / "a.mtape", gatherer.where, "--token-file", token, "--no-local") as program:
            program.step()
            program.end()
        assert not program.tape.exists() and event_count(gatherer.tapes()[0]) > 3000
    with record_to(tmp_path / "b.mtape", gatherer.where, "--token-file", token, "--no-local",
                   "--to-wait", "100ms") as program:
        program.end()
    assert program.tape.exists()


def test_a_full_disk_is_said_and_the_tape_is_kept(tape, folder, token):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    with gather(folder, token, preexec_fn=limit) as gatherer:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"refuses it: the gatherer cannot write: File too large" in done.stderr
    with gather(folder, token, options=["--max-size", "300k"]) as gatherer:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"takes tapes of at most 307200 bytes" in done.stderr
    with gather(folder, token) as gatherer:
        assert send(tape, gatherer.where, token=token).returncode == 0
        assert_equal(gatherer, tape)


# --- strangers ------------------------------------------------------------------------------------------

def test_nothing_is_taken_from_who_has_another_token_or_none(tape, folder, token, tmp_path):
    other = gathering.token_file(tmp_path / "other", b"another one, of 32 bytes as well")
    with gather(folder, token) as gatherer:
        done = send(tape, gatherer.where, token=other)
        assert done.returncode == 1 and b"the gatherer has another token" in done.stderr
        done = send(tape, gatherer.where)
        assert done.returncode == 1 and b"wants a token" in done.stderr
        with gatherer.connect() as sock:
            kind, _ = gathering.answer(sock, other.read_bytes())
            assert kind == 1
            assert sock.recv(1) == b""
        assert gatherer.tapes() == []
        with gatherer.connect() as sock:  # the proof is the one of the documentation
            assert gathering.answer(sock, token.read_bytes()) == (0, True)
    with gather(folder) as gatherer:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"has no token; nothing was sent" in done.stderr
        assert gatherer.tapes() == []


def test_nothing_is_sent_to_a_gatherer_that_does_not_know_the_token(tape, token):
    heard = []

    def pretend(listener):
        with listener.accept()[0] as sock:
            sock.settimeout(gathering.PATIENCE)
            sock.sendall(struct.pack("<8sII", b"MTGREET\n", 1, 1) + bytes(32))
            heard.append(gathering.receive(sock, 80))
            sock.sendall(struct.pack("<8sII", b"MTVERDI\n", 1, 0) + heard[0][48:])  # its own proof
            heard.append(sock.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=pretend, args=[listener])
        thread.start()
        done = send(tape, f"127.0.0.1:{listener.getsockname()[1]}", token=token)
        thread.join()
    assert done.returncode == 1 and b"does not know the token; nothing was sent" in done.stderr
    assert [len(part) for part in heard] == [80, 0]


def test_what_was_overheard_is_good_for_nothing(tape, folder, token):
    with gather(folder, token) as gatherer:
        with proxy(gatherer.port) as network:
            assert send(tape, network.where, token=token).returncode == 0
            said = bytes(network.said[0])
        gatherer.tapes()[0].unlink()
        with gatherer.connect() as sock:
            with contextlib.suppress(OSError):
                sock.sendall(said)
            with contextlib.suppress(OSError):
                gathering.receive(sock, 48 + 48)
        until(lambda: gatherer.has_said("refused"))
        assert gatherer.tapes() == []


def test_other_machines_need_a_token_or_consent(tape, folder, token, tmp_path):
    done = recording.run([recording.memtape(), "gather", "--listen", "0.0.0.0:0", "-d", folder])
    assert done.returncode == 2 and b"others can reach that" in done.stderr
    done = send(tape, "192.0.2.1:1")
    assert done.returncode == 2 and b"is another machine" in done.stderr
    done = recording.run_recorded(["/bin/true"], tmp_path / "a.mtape", ["--to", "192.0.2.1:1"])
    assert done.returncode == 2 and b"--to: 192.0.2.1 is another machine" in done.stderr
    token.chmod(0o644)
    done = send(tape, "192.0.2.1:1", token=token)
    assert done.returncode == 1 and b"can be read by everybody" in done.stderr
    done = send(tape, "192.0.2.1:1", token=gathering.token_file(tmp_path / "short", b"secret\n"))
    assert done.returncode == 1 and b"at least 16 bytes" in done.stderr


def test_strangers_that_stay_keep_nobody_out(tape, folder, token):
    with gather(folder, token) as gatherer, contextlib.ExitStack() as stack:
        for _ in range(recording.times(full=1000, standard=200)):
            stack.enter_context(gatherer.connect())
        assert send(tape, gatherer.where, token=token).returncode == 0
        assert_equal(gatherer, tape)
        until(lambda: gatherer.has_said("refused: the connection was closed"))  # by it: they are all here
        # 64 strangers, and as many that are being thrown out
        assert len(os.listdir(f"/proc/{gatherer.process.pid}/fd")) < 2 * 64 + 32
        assert len(os.listdir(f"/proc/{gatherer.process.pid}/task")) < 2 * 64 + 32


# --- hostile senders ------------------------------------------------------------------------------------

@contextlib.contextmanager
def known(gatherer, head, **names):
    """A connection that has begun a tape."""
    with gatherer.connect() as sock:
        assert gathering.answer(sock, gatherer.token.read_bytes()) == (0, True)
        sock.sendall(gathering.begin(head, **names))
        yield sock


def refusal(sock):
    """What is said in the end."""
    last = None
    with contextlib.suppress(ConnectionError):
        while (said := gathering.hear(sock)) is not None:
            last = said
    assert last and last[0] == gathering.REFUSED, last
    return last[1]


HOSTILE = {
    "another type": (gathering.message(99, b"x"), b"unknown type 99"),
    "a gatherer's type": (gathering.message(gathering.DONE), b"unknown type 18"),
    "far too long": (struct.pack("<II", gathering.DATA, 0xffffffff), b"type 2 with 4294967295 bytes"),
    "too short": (gathering.message(gathering.DATA, b"12345678"), b"type 2 with 8 bytes"),
    "a gap": (data(8192, b"x"), b"do not follow"),
    "before the tape": (data(0, b"x"), b"do not follow"),
    "the end of 64 bits": (data(2**64 - 1, b"x"), b"do not follow"),
    "back into the header": (gathering.message(gathering.REWIND, struct.pack("<Q", 5)), b"where nothing is"),
    "back to the future": (gathering.message(gathering.REWIND, struct.pack("<Q", 5000)), b"where nothing is"),
    "a page of another tape": (gathering.message(gathering.HEADER, page(bytes(16))), b"another tape"),
    "no page": (gathering.message(gathering.HEADER, bytes(4096)), b"not the first page"),
    "a second beginning": (gathering.begin(page()), b"out of its order"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_nonsense_is_refused_by_name(gatherer_of_module, what):
    said, reason = HOSTILE[what]
    head = page()
    with known(gatherer_of_module, head) as sock:
        sock.sendall(said)
        assert reason in refusal(sock)


@pytest.fixture(scope="module")
def gatherer_of_module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    with gather(folder / "in", gathering.token_file(folder / "token")) as gatherer:
        yield gatherer


def test_noise_is_refused_before_it_costs_anything(gatherer_of_module, tape):
    dice = random.Random(1)
    before = gatherer_of_module.tapes()
    for _ in range(recording.times(full=1000, standard=50)):
        with gatherer_of_module.connect() as sock, contextlib.suppress(OSError):
            sock.sendall(dice.choice([b"GET / HTTP/1.1\r\n\r\n" * 10, dice.randbytes(dice.randrange(1, 300)),
                                      struct.pack("<8sII", b"MTANSWR\n", 1, 1) + dice.randbytes(64)]))
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
    assert gatherer_of_module.tapes() == before
    assert send(tape, gatherer_of_module.where, token=gatherer_of_module.token).returncode == 0


def test_names_stay_in_the_folder(folder, token, tmp_path):
    names = [(b"../../up", b"../" * 80), (b"/etc/x", b"a b\nc\x1b[31m"), (b"", b""), (b".hidden", b"..")]
    with gather(folder, token) as gatherer:
        for host, program in names:
            with known(gatherer, page(), host=host, program=program) as sock:
                assert gathering.hear(sock)[0] == gathering.READY
        with known(gatherer, page(), host=b"zero\0", program=b"x") as sock:
            assert b"zero byte" in refusal(sock)
        found = [path.name for path in gatherer.tapes()]
        assert len(found) == len(names)
        assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") and
                   not name.startswith(".") and name.endswith(".mtape") for name in found), found
        assert sorted(path.name for path in tmp_path.iterdir()) == ["tapes", "token"]


def test_no_other_file_is_written_nor_one_behind_a_link(folder, token, tmp_path):
    victim, linked = tmp_path / "victim", tmp_path / "linked"
    head, body = page(), b"not even a chunk"
    name = "host.program.4711.20260921-141320"
    folder.mkdir()
    (folder / f"{name}.mtape").symlink_to(linked)
    (folder / f"{name}.2.mtape").write_bytes(page() + b"of somebody else")
    victim.write_bytes(head + b"linked")  # of the same uuid
    linked.write_bytes(head + b"linked")
    os.link(victim, folder / f"{name}.3.mtape")
    os.mkfifo(folder / f"{name}.4.mtape")
    (folder / f"{name}.5.mtape").mkdir()
    before = [(path, path.read_bytes()) for path in (victim, linked, folder / f"{name}.2.mtape")]
    with gather(folder, token) as gatherer:
        with known(gatherer, head) as sock:
            kind, payload = gathering.hear(sock)
            assert kind == gathering.READY and payload[48:].decode() == f"{name}.6.mtape"
            sock.sendall(data(4096, body) + end(body))
            while (said := gathering.hear(sock))[0] == gathering.ACK:
                pass
            assert said[0] == gathering.DONE
    assert [(path, path.read_bytes()) for path, _ in before] == before
    assert (folder / f"{name}.6.mtape").read_bytes() == head + body


def test_a_complete_tape_is_never_changed_again(folder, token):
    head, body = page(), b"all of it"
    with gather(folder, token) as gatherer:
        with known(gatherer, head) as sock:
            sock.sendall(data(4096, body) + end(b"another") + end(body))
            kinds = [gathering.hear(sock)[0] for _ in range(4)]
            assert kinds == [gathering.READY, gathering.ACK, gathering.UNEQUAL, gathering.DONE]
        for said in (data(4096 + len(body), b"more"), gathering.message(gathering.REWIND, struct.pack("<Q", 4096)),
                     end(body + b"more")):
            with known(gatherer, head) as sock:
                sock.sendall(said)
                assert b"is complete there" in refusal(sock)
        assert gatherer.tapes()[0].read_bytes() == head + body


def test_who_comes_back_takes_the_place_of_the_old_connection(folder, token):
    head = page()
    with gather(folder, token) as gatherer, known(gatherer, head) as old:
        assert gathering.hear(old)[0] == gathering.READY
        old.sendall(data(4096, b"first"))
        assert gathering.hear(old)[0] == gathering.ACK
        with known(gatherer, head) as new:
            kind, payload = gathering.hear(new)
            assert (kind, struct.unpack_from("<QI", payload)) == (gathering.READY, (4101, 5))
            assert old.recv(1) == b""
            new.sendall(data(4101, b"second") + end(b"firstsecond"))
            assert [gathering.hear(new)[0] for _ in range(2)] == [gathering.ACK, gathering.DONE]


def test_a_tape_that_another_gatherer_writes_is_left_alone(folder, token):
    head = page()
    with gather(folder, token) as one, gather(folder, token) as other, known(one, head) as first:
        assert gathering.hear(first)[0] == gathering.READY
        with known(other, head) as second:
            assert b"written by another process" in refusal(second)
        first.sendall(data(4096, b"all") + end(b"all"))
        assert [gathering.hear(first)[0] for _ in range(2)] == [gathering.ACK, gathering.DONE]


def test_no_more_streams_than_wanted(folder, token):
    with gather(folder, token, options=["--streams", "1"]) as gatherer, known(gatherer, page()) as first:
        assert gathering.hear(first)[0] == gathering.READY
        with gatherer.connect() as sock:
            assert gathering.answer(sock, token.read_bytes())[0] == 3
        first.close()
        until(lambda: gatherer.has_said("cut"))
        with known(gatherer, page()) as third:
            assert gathering.hear(third)[0] == gathering.READY


def test_raw_tapes_are_repacked_first(tmp_path, folder):
    raw = tmp_path / "raw.mtape"
    assert recording.run_bare(["/bin/true"], raw).returncode == 0
    done = send(raw, "127.0.0.1:1")
    assert done.returncode == 1 and b"`memtape repack` it first" in done.stderr


def test_a_recording_that_has_not_begun_is_one(tmp_path, folder, token):
    """Its file is held before it has a header."""
    tape = tmp_path / "a.mtape"
    with gather(folder, token) as gatherer, tape.open("wb") as file:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"not a tape" in done.stderr
        fcntl.flock(file, fcntl.LOCK_EX)
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"is being recorded: use --follow" in done.stderr
        said = recording.run([recording.memtape(), "report", tape])
        assert said.returncode == 1 and b"not a tape yet: its program has not begun" in said.stderr
        assert gatherer.tapes() == []


def test_a_tape_that_is_not_whole_is_not_sent_as_one(tmp_path, folder, token):
    with gather(folder, token) as gatherer, record_to(
            tmp_path / "a.mtape", "127.0.0.1:1", "--token-file", token, "--to-wait", "100ms") as program:
        program.step()
        done = send(program.tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"is being recorded: use --follow" in done.stderr
        until(lambda: program.tape.stat().st_size > 0)
        program.process.kill()
        program.process.wait()
        done = send(program.tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"`memtape repack` it first" in done.stderr
        assert gatherer.tapes() == []
