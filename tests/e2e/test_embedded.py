"""Tapes that the recorder sends alone: no memtape, no shell, no collector where the program is."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess

import pytest

import gathering
import recording
from gathering import gather, until

PYTHON = recording.which("python3")
CHUNK, NODE = 64, 12

# Works for each line of standard input, and says so.
STEPS = """
import sys
kept = []
for line in sys.stdin:
    kept = [bytearray(600 + i % 900) for i in range(3000)]
    print("done", flush=True)
"""


@pytest.fixture
def token(tmp_path):
    return gathering.token_file(tmp_path / "token")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tapes"


def environment(where, token=None, **more):
    env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=f"tcp://{where}", **more)
    if token:
        env["MEMTAPE_TOKEN_FILE"] = str(token)
    return env


class Program:
    """STEPS, or another script, recorded by the library alone."""

    def __init__(self, where, token=None, script=STEPS, cwd=None, **more):
        self.process = subprocess.Popen([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd, env=environment(where, token, **more))

    def step(self, word=b"go\n"):
        self.process.stdin.write(word)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.strip()

    def end(self):
        out, err = self.process.communicate(timeout=gathering.PATIENCE)
        assert self.process.returncode == 0, err
        return out, err.decode()


@contextlib.contextmanager
def program(*args, **more):
    one = Program(*args, **more)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def status(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(rf"^{name}:\s+(\S+)", text, re.MULTILINE).group(1)


def sender_of(log):
    """The sender's process, as the recorder's log has it."""
    return int(until(lambda: re.search(r"sent by process (\d+) \(error 0\)", log.read_text() if log.exists() else "")).group(1))


def lives(pid):
    with contextlib.suppress(OSError):
        return status(pid, "State") != "Z"
    return False


def raw_chunks(data):
    size, = struct.unpack_from("<I", data, 20)
    for at in range(4096, len(data), size):
        slot = data[at:at + size]
        state, stream, seq, used, nodes, first = struct.unpack_from("<6I", slot, 8)
        if state and (used or nodes):
            yield (stream, seq), (first, slot[CHUNK:CHUNK + used], slot[size - NODE * nodes:] if nodes else b"")


def packed_chunks(data):
    at = 4096
    while at < len(data):
        _, stream, seq, used, nodes, first = struct.unpack_from("<6I", data, at + 8)
        stored, = struct.unpack_from("<I", data, at + 56)
        payload = data[at + CHUNK:at + CHUNK + stored]
        assert stored == used + NODE * nodes
        if stream:  # 0: what the sender adds, the losses
            yield (stream, seq), (first, payload[:used], payload[used:])
        at += CHUNK + stored


def assert_equal_chunks(raw, packed):
    expected = dict(raw_chunks(raw.read_bytes()))
    assert expected and expected == dict(packed_chunks(packed.read_bytes()))


def assert_sound(tape):
    done = recording.run([recording.memtape(), "verify", tape])
    assert done.returncode == 0 and b"sound" in done.stdout, (done.stdout, done.stderr)


def event_count(path):
    return recording.report(path, "summary")["allocations"]["count"]


# --- all of it is there ------------------------------------------------------------------------------------

def world_make(world, program_path):
    """A root with the program, what it needs to be loaded, the recorder, and nothing else."""
    needed = subprocess.run(["ldd", program_path], check=True, capture_output=True, text=True).stdout
    files = re.findall(r"(/\S+) \(0x", needed)
    for path in files:
        copy = world / path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), copy)
    shutil.copy(program_path, world / "program")
    shutil.copy(recording.library(), world / "libmemtape.so")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
def test_a_device_with_nothing_but_the_library(tmp_path, folder, token):
    world = tmp_path / "world"
    world.mkdir()
    world_make(world, recording.target("service"))
    shutil.copy(token, world / "token")
    with gather(folder, token) as gatherer:
        done = subprocess.run(["/program", "20000"], preexec_fn=lambda: (os.chroot(world), os.chdir("/")), check=False,
                              executable="/program", capture_output=True, timeout=gathering.PATIENCE,
                              env={"LD_PRELOAD": "/libmemtape.so", "MEMTAPE_TOKEN_FILE": "/token",
                                   "MEMTAPE_OUTPUT": f"tcp://{gatherer.where},/%e.mtape"})
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
        assert ".program." in there.name
    here, = world.glob("*.mtape")
    assert_equal_chunks(here, there)
    assert_sound(there)
    first, second = (recording.report(tape, "summary") for tape in (here, there))
    assert first["allocations"] == second["allocations"] and first["leaked"] == second["leaked"]
    assert second["lost_events"] == 0
    for tape, picture in ((here, tmp_path / "here.svg"), (there, tmp_path / "there.svg")):  # plotted elsewhere
        done = recording.run([recording.memtape(), "plot", tape, "-o", picture])
        assert done.returncode == 0, done.stderr
        assert b"<svg" in picture.read_bytes()


@pytest.mark.parametrize("words", [",tape", ",none"])
def test_threads_and_their_stacks_are_there(tmp_path, folder, token, words):
    with gather(folder, token) as gatherer:
        done = recording.run([recording.target("service"), "20000"], cwd=tmp_path, env=environment(gatherer.where + words, token))
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    assert_sound(there)
    assert (tmp_path / "tape").exists() == (words == ",tape")
    leaked = recording.report(there, "summary")["leaked"]
    assert f"{leaked['bytes']}" in done.stdout.decode() or leaked["count"] > 0
    assert "leak" in recording.run([recording.memtape(), "report", there, "leaks"]).stdout.decode()


def test_it_is_read_while_it_grows_and_after_sigkill(tmp_path, folder, token):
    with gather(folder, token) as gatherer, program(f"{gatherer.where},tape", token, cwd=tmp_path) as one:
        for _ in range(8):
            one.step()
        until(lambda: gatherer.tapes() and gatherer.tapes()[0].stat().st_size > 100000)
        there, = gatherer.tapes()
        assert event_count(there) > 1000
        one.process.kill()
        one.process.wait()
        until(lambda: gatherer.has_said("complete at"))
    assert_equal_chunks(tmp_path / "tape", there)
    assert event_count(there) == event_count(tmp_path / "tape")


def test_a_gatherer_that_is_killed_and_comes_back(tmp_path, folder, token):
    with gather(folder, token) as gatherer:
        with program(f"{gatherer.where},tape", token, cwd=tmp_path) as one:
            for _ in range(8):
                one.step()
            until(lambda: gatherer.tapes() and gatherer.tapes()[0].stat().st_size > 100000)
            gatherer.end(signal.SIGKILL)
            one.step()
            with gather(folder, token, port=gatherer.port) as again:
                one.step()
                until(lambda: again.has_said("resumed"))
                one.end()
                until(lambda: again.has_said("complete at"))
                there, = again.tapes()
    assert_equal_chunks(tmp_path / "tape", there)


@pytest.mark.parametrize("words", [",tape", ",none"])
def test_cuts_at_any_byte_lose_nothing(tmp_path, folder, token, words):
    cuts = [30, 120, 3000, 70000, 200000]
    with gather(folder, token) as gatherer, \
            gathering.proxy(gatherer.port, allow=lambda n: cuts[n] if n < len(cuts) else None) as network, \
            program(network.where + words, token, cwd=tmp_path) as one:
        for _ in range(12):
            one.step()
        until(lambda: network.count > len(cuts))
        one.end()
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    assert_sound(there)
    assert recording.report(there, "summary")["lost_events"] == 0
    if words == ",tape":
        assert_equal_chunks(tmp_path / "tape", there)


def test_forked_children_have_tapes_of_their_own(tmp_path, folder, token):
    script = """
import os
os.fork()
os.fork()
kept = [bytearray(1000) for _ in range(1000)]
try:
    while True: os.wait()
except ChildProcessError:
    pass
"""
    with gather(folder, token) as gatherer:
        done = recording.run([PYTHON, "-c", script], cwd=tmp_path,
                             env=environment(gatherer.where, token, MEMTAPE_OPTIONS="follow=1"))
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: sum("complete at" in line for line in gatherer.lines) == 4)
        there = gatherer.tapes()
    local = sorted(tmp_path.glob("memtape.*.mtape"))
    assert len(there) == len(local) == 4
    uuids = {tape.read_bytes()[72:88]: tape for tape in there}
    assert {tape.read_bytes()[72:88] for tape in local} == set(uuids)
    for tape in local:
        assert_equal_chunks(tape, uuids[tape.read_bytes()[72:88]])
    assert sorted(tape.read_bytes()[88:104] in uuids for tape in there) == [False, True, True, True]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_disk_that_is_slow_to_give_room_ends_nothing(tmp_path, folder, token):
    """A slot is counted before the file has its place: the sender looks in between."""
    with gather(folder, token) as gatherer:
        recorded = environment(gatherer.where + ",tape", token)
        settings = [word for name in ("LD_PRELOAD", "MEMTAPE_OUTPUT", "MEMTAPE_TOKEN_FILE") for word in ("-E", f"{name}={recorded[name]}")]
        done = recording.run(["strace", "-f", "-qq", "-o", tmp_path / "calls", "-e", "trace=fallocate", "-e", "inject=fallocate:delay_enter=300000",
                              *settings, recording.target("service"), "5000"], cwd=tmp_path, env=recording.clean_env())
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        assert "fallocate" in (tmp_path / "calls").read_text()
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    assert_equal_chunks(tmp_path / "tape", there)


# --- the program does not notice ----------------------------------------------------------------------------

CHILDLESS = """
import os, signal, sys
came = []
signal.signal(signal.SIGCHLD, lambda *_: came.append(1))
try:
    os.waitpid(-1, 0)
    sys.exit("there was a child")
except ChildProcessError:
    pass
print("childless", sys.argv[1], flush=True)
sys.stdin.readline()
if sys.argv[1] == "1":
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SCRIPT"], "2"])
assert not came
"""


@pytest.mark.parametrize("reaps", [False, True])
def test_neither_it_nor_the_program_it_becomes_has_a_child(tmp_path, folder, token, reaps):
    script = CHILDLESS if not reaps else "import ctypes\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n" + CHILDLESS
    log = tmp_path / "log"
    with gather(folder, token) as gatherer:
        env = environment(gatherer.where, token, SCRIPT=script, MEMTAPE_LOG=f"info:{log}")
        with subprocess.Popen([PYTHON, "-c", script, "1"], env=env, cwd=tmp_path, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"childless 1\n", process.stderr.read()
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"childless 2\n", process.stderr.read()
            until(lambda: gatherer.has_said("complete at"))  # while the next program runs
            until(lambda: not lives(sender_of(log)))
            out, err = process.communicate(b"\n", timeout=gathering.PATIENCE)
        assert (process.returncode, out, err) == (0, b"", b"")


@pytest.mark.parametrize("words", [",tape", ",none"])
@pytest.mark.parametrize("kind", ["prctl", "syscall", "threads", "newborn", "strict", "fork"])
def test_a_program_that_forbids_itself_system_calls(tmp_path, folder, token, kind, words):
    with gather(folder, token) as gatherer:
        done = recording.run([recording.target("sandbox"), kind], cwd=tmp_path, env=environment(gatherer.where + words, token))
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    assert event_count(there) >= 30000
    assert recording.report(there, "summary")["lost_events"] == 0


def test_a_sender_with_nobody_to_send_to_sleeps_and_ends(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    log = tmp_path / "log"
    with program(f"127.0.0.1:{port},tape", cwd=tmp_path, MEMTAPE_LOG=f"info:{log}") as one:
        one.step()
        pid = sender_of(log)
        switches = int(status(pid, "voluntary_ctxt_switches"))
        until(lambda: int(status(pid, "voluntary_ctxt_switches")) > switches + 15)
        ticks = sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        assert ticks < 30
        one.end()  # the pipes are not the sender's
    until(lambda: not lives(pid))
    assert_sound(tmp_path / "tape")


def test_what_a_sender_has_of_the_program(tmp_path, folder, token):
    """Little memory, no descriptor, another session: also of a child that was forked when much was there."""
    script = """
import os, sys
much = bytearray(os.urandom(1 << 20)) * 200
if os.fork() == 0:
    kept = [bytearray(100) for _ in range(1000)]
    print("child", flush=True)
    sys.stdin.readline()
    os._exit(0)
os.wait()
"""
    log = tmp_path / "log"
    with gather(folder, token) as gatherer, \
            program(gatherer.where, token, script=script, cwd=tmp_path, MEMTAPE_OPTIONS="follow=1",
                    MEMTAPE_LOG=f"info:{log}.%p") as one:
        assert one.process.stdout.readline() == b"child\n"
        logs = until(lambda: [path for path in tmp_path.glob("log.*") if "sent by process" in path.read_text()])
        assert len(logs) == 2
        until(lambda: len(gatherer.tapes()) == 2)
        for path in logs:
            pid = sender_of(path)
            fields = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            assert int(re.search(r"^Rss:\s+(\d+)", fields, re.MULTILINE).group(1)) < 8 << 10
            links = sorted(os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir())
            assert len(links) == 3 and not any("pipe:" in link for link in links), links
            assert os.getsid(pid) == pid and os.readlink(f"/proc/{pid}/cwd") == "/"
        one.end()


# --- strangers ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("given, why", [
    (b"another one that is long enough", "the gatherer has another token"),
    (None, "the gatherer wants a token: MEMTAPE_TOKEN_FILE names its file"),
])
def test_a_gatherer_that_does_not_want_it(tmp_path, folder, token, given, why):
    other = gathering.token_file(tmp_path / "other", given) if given else None
    log = tmp_path / "log"
    with gather(folder, token) as gatherer, \
            program(f"{gatherer.where},tape", other, cwd=tmp_path, MEMTAPE_LOG=f"info:{log}") as one:
        pid = sender_of(log)
        until(lambda: not lives(pid))
        for _ in range(8):
            one.step()
        _, err = one.end()
        assert err == f"memtape: MEMTAPE_OUTPUT: the tape is not sent: {why}\n"
        assert not gatherer.tapes()
    assert_sound(tmp_path / "tape")


def test_a_gatherer_that_does_not_know_the_token_gets_nothing(tmp_path, token):
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(gathering.PATIENCE)
        with program(f"127.0.0.1:{server.getsockname()[1]},tape", token, cwd=tmp_path, MEMTAPE_LOG=f"info:{log}") as one:
            sock, _ = server.accept()
            with sock:
                sock.settimeout(gathering.PATIENCE)
                sock.sendall(struct.pack("<8sII", b"MTGREET\n", 1, 1) + bytes(32))
                assert gathering.receive(sock, 80)[:8] == b"MTANSWR\n"
                sock.sendall(struct.pack("<8sII", b"MTVERDI\n", 1, 0) + bytes(32))
                assert gathering.receive(sock, 1) == b""
            until(lambda: not lives(sender_of(log)))
            for _ in range(8):
                one.step()
            _, err = one.end()
    assert "the gatherer does not know the token; nothing was sent to it" in err


@pytest.mark.parametrize("where, why", [
    ("127.0.0.1", "it is not tcp://HOST:PORT"),
    ("127.0.0.1:0", "it is not tcp://HOST:PORT"),
    ("nobody.example:8747", "its host is neither an address in numbers nor a name in /etc/hosts"),
    ("::1:8747", "an address of IPv6 is written tcp://[::1]:PORT"),
    ("192.0.2.1:8747", "it is another machine; MEMTAPE_TOKEN_FILE names a token"),
    ("127.0.0.1:8747,a,b", "what is behind its commas is none, drop, no-token or one file"),
    ("127.0.0.1:8747,drop", "drop goes with none"),
])
def test_what_cannot_be_meant_is_said_and_recorded_all_the_same(tmp_path, where, why):
    script = "import os\nif os.fork(): os.wait()\n"  # a child does not say it again
    done = recording.run([PYTHON, "-c", script], cwd=tmp_path, env=environment(where, MEMTAPE_OPTIONS="follow=1"))
    assert done.returncode == 0
    assert done.stderr.decode().startswith(f"memtape: MEMTAPE_OUTPUT: the tape is not sent: {why}")
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir())


def test_by_name_and_without_a_token(tmp_path, folder):
    with gather(folder) as gatherer:
        done = recording.run([recording.target("service"), "1000"], cwd=tmp_path,
                             env=environment(f"localhost:{gatherer.port},tape"))
        assert done.returncode == 0 and done.stderr == b""
        until(lambda: gatherer.has_said("complete at"))


def test_the_first_process_of_a_container_waits_for_its_sender(tmp_path, folder, token):
    """The kernel ends all others with it."""
    if subprocess.run(["unshare", "-pf", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces for us here")
    with gather(folder, token) as gatherer:
        env = environment(f"{gatherer.where},none", token)
        del env["LD_PRELOAD"]
        done = recording.run(["unshare", "-pf", "/bin/sh", "-c", f"LD_PRELOAD={recording.library()} exec \"$@\"", "-",
                              recording.target("service"), "20000"], cwd=tmp_path, env=env)
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    assert ".service.1." in there.name
    assert_sound(there)


# --- without a file: bounds -------------------------------------------------------------------------------------

# While events are lost a library is loaded and a thread begins, both of which work on afterwards.
GAP = """
import sys, threading
work = threading.Semaphore(0)
done = threading.Semaphore(0)
def beside():
    while True:
        work.acquire()
        rows = database.execute("select zeroblob(5000) from (values(1),(2),(3))").fetchall()
        done.release()
kept = []
for line in sys.stdin:
    if line == "begin\\n":
        import sqlite3
        database = sqlite3.connect(":memory:", check_same_thread=False)
        threading.Thread(target=beside, daemon=True).start()
    elif line == "beside\\n":
        for _ in range(300):
            work.release()
            done.acquire()
    else:
        kept = [bytearray(600 + i % 900) for i in range(3000)]
    print("done", flush=True)
"""


def test_what_does_not_fit_is_lost_and_counted_and_the_rest_can_be_read(tmp_path, folder, token):
    with gather(folder, token) as gatherer, \
            program(f"{gatherer.where},none,drop", token, script=GAP, cwd=tmp_path) as one:
        one.step()
        until(lambda: gatherer.has_said("begun"))
        gatherer.process.send_signal(signal.SIGSTOP)
        for _ in range(400):  # more than fits into memory and the kernel's buffers
            one.step()
        one.step(b"begin\n")
        before = gatherer.tapes()[0].stat().st_size
        gatherer.process.send_signal(signal.SIGCONT)
        until(lambda: gatherer.tapes()[0].stat().st_size > before + (4 << 20))
        one.step(b"beside\n")
        for _ in range(20):
            one.step()
        one.end()
        until(lambda: gatherer.has_said("complete at"))
        there, = gatherer.tapes()
    summary = recording.report(there, "summary")
    assert_sound(there)
    assert summary["lost_events"] > 1000
    assert summary["allocations"]["count"] > 50000
    threads = recording.report(there, "threads")["threads"]
    assert len([thread for thread in threads if thread["tid"] and thread["allocated_count"] > 300]) == 2, threads
    assert "sqlite" in str(recording.report(there, "modules"))
    found = recording.run([recording.memtape(), "report", there, "top", "--filter", "module ~ sqlite"])
    assert found.returncode == 0 and b"sqlite" in found.stdout, (found.stdout, found.stderr)
    cut = re.search(r"cut short, .*: ([\d,]+)", recording.run([recording.memtape(), "report", there]).stdout.decode())
    assert not cut or int(cut.group(1).replace(",", "")) < 200, cut


@pytest.mark.parametrize("kind", ["gatherer", "sender"])
def test_where_nobody_takes_it_the_program_goes_on(tmp_path, folder, token, kind):
    log = tmp_path / "log"
    with gather(folder, token) as gatherer, \
            program(f"{gatherer.where},none,drop", token, cwd=tmp_path, MEMTAPE_LOG=f"info:{log}") as one:
        one.step()
        until(lambda: gatherer.has_said("begun"))
        pid = sender_of(log)
        if kind == "gatherer":
            gatherer.end(signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
            until(lambda: not lives(pid))
        for _ in range(300):
            one.step()
        one.end()
    until(lambda: not lives(pid))
    said = log.read_text()
    assert "lost: " in said or "recording ends here: the collector has ended" in said
