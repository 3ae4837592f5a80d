"""/api/v1/events: what is served, told again when it changes; who may listen, and what listeners cost."""

import json
import subprocess
import time

import pytest

import recording
from serving import parse_reply, serve
from test_reading import write_shop

STREAMS_MAX = 32


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    tape = tmp_path_factory.mktemp("events") / "shop.mtape"
    names = write_shop(tape).names()
    with serve(tape) as server:
        until = time.monotonic() + 20
        while server.json("info")["tapes"][0]["state"] == "loading" and time.monotonic() < until:
            time.sleep(0.1)
        yield server
    names.unlink(missing_ok=True)


class Stream:
    """A listener; events are (id, data)."""

    def __init__(self, server, *headers, timeout=20):
        self.sock = server.connect(timeout)
        lines = ["GET /api/v1/events HTTP/1.1", f"Host: {server.host}", f"Authorization: Bearer {server.token}", *headers, "", ""]
        self.sock.sendall("\r\n".join(lines).encode())
        self.file = self.sock.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, head
            head += line
        self.reply = parse_reply(head)
        self.text = b""
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        self.file.close()

    def chunk(self):
        """The next piece; b"": it ended, with the last chunk as HTTP wants it."""
        size = int(self.file.readline().strip(), 16)
        data = self.file.read(size)
        assert self.file.readline() == b"\r\n"
        self.ended = size == 0
        return data

    def block(self):
        """The next text up to an empty line; None: the end."""
        while b"\n\n" not in self.text:
            data = self.chunk()
            if not data:
                return None
            self.text += data
        block, _, self.text = self.text.partition(b"\n\n")
        return block.decode()

    def event(self):
        while (block := self.block()) is not None:
            members = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "data" in members:
                return members["id"], json.loads(members["data"])
        return None


# --- what is told ----------------------------------------------------------------------------


def test_the_first_event_is_what_info_says(shop):
    with Stream(shop) as stream:
        assert stream.reply.status == 200
        assert stream.reply.headers["content-type"] == "text/event-stream"
        assert stream.reply.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in stream.reply.headers
        assert stream.block() == "retry: 1000"
        _, told = stream.event()
        info = shop.json("info")
        assert told["tapes"] == info["tapes"] and told["version"] == info["version"]


def test_what_does_not_change_is_not_told_again(shop):
    with Stream(shop) as stream:
        stream.event()
        stream.sock.settimeout(2)
        with pytest.raises(TimeoutError):
            stream.event()


def test_one_who_comes_back_is_told_what_is_new_to_him(shop):
    with Stream(shop) as stream:
        known, _ = stream.event()
    with Stream(shop, f"Last-Event-ID: {known}", timeout=2) as stream, pytest.raises(TimeoutError):
        stream.event()
    for other in ("0" * 16, "", "x" * 300):
        with Stream(shop, f"Last-Event-ID: {other}") as stream:
            assert stream.event()[0] == known


def test_quiet_streams_say_that_they_are_there(shop):
    with Stream(shop) as stream:
        stream.event()
        begin = time.monotonic()
        assert stream.block() == ":"
        assert 8 < time.monotonic() - begin < 18


def test_a_tape_that_grows_is_told_at_most_twice_a_second(tmp_path):
    tape, program = tmp_path / "live.mtape", tmp_path / "grow.py"
    program.write_text("import time\nkept = []\nfor i in range(500):\n"
                       "    kept = [bytearray(5000 + j) for j in range(3000)]\n    time.sleep(0.01)\n")
    recorder = subprocess.Popen([recording.memtape(), "record", "-o", tape, "/usr/bin/python3", program],
                                env=recording.clean_env(PYTHONMALLOC="malloc"), stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 10
        while (not tape.exists() or tape.stat().st_size < 1 << 16) and time.monotonic() < until:
            time.sleep(0.05)
        with serve(tape) as server, Stream(server, timeout=60) as stream:
            told, times = [], []
            while not told or told[-1]["state"] != "complete":
                told.append(stream.event()[1]["tapes"][0])
                times.append(time.monotonic())
            live = [one for one in told if one["state"] == "live"]
            assert len(live) >= 3
            assert len(told) <= 2 + 2.2 * (times[-1] - times[0])
            gens = [one["gen"] for one in live]
            assert gens == sorted(gens) and len(set(gens)) >= 3
            counts = [one["event_count"] for one in live]
            assert counts == sorted(counts) and counts[-1] > counts[0]
            durations = [one["duration_ns"] for one in live]
            assert durations == sorted(durations)
            assert all(one["refresh_ms"] >= 500 for one in live)
            assert told[-1]["gen"] == 0 and told[-1]["refresh_ms"] == 0
    finally:
        recorder.kill()
        recorder.wait()


# --- who may listen --------------------------------------------------------------------------


@pytest.mark.parametrize("headers, status", [
    (["Origin: http://evil.example"], 403), (["Sec-Fetch-Site: cross-site"], 403), (["Sec-Fetch-Site: none"], 403),
    (["Sec-Fetch-Site: same-site"], 403), (["Origin: null"], 403), ([], 200)])
def test_pages_of_others_may_not_listen(shop, headers, status):
    with Stream(shop, *headers) as stream:
        assert stream.reply.status == status


def test_without_the_token_nobody_listens(shop):
    assert shop.ask("/api/v1/events", token=False).status == 401
    assert shop.ask("/api/v1/events", token=False, headers=["Authorization: Bearer " + "0" * 32]).status == 401


def test_only_get_listens(shop):
    assert shop.ask("/api/v1/events", "POST", ["Content-Type: application/json"], body=b"{}").status == 405
    assert shop.ask("/api/v1/events", "HEAD").status == 405
    assert shop.ask("/api/v1/events?c=last").status == 400


# --- what they cost --------------------------------------------------------------------------


def open_all(server, count=STREAMS_MAX):
    """So many listeners; what those of a moment ago had is free soon."""
    streams, until = [], time.monotonic() + 20
    while len(streams) < count:
        assert time.monotonic() < until
        stream = Stream(server)
        if stream.reply.status == 200:
            streams.append(stream)
        else:
            stream.__exit__()
            time.sleep(0.1)
    return streams


def test_fifty_listeners_leave_the_server_to_others(shop):
    streams = open_all(shop)
    try:
        streams += [Stream(shop) for _ in range(50 - STREAMS_MAX)]
        statuses = [stream.reply.status for stream in streams]
        assert statuses.count(200) == STREAMS_MAX and statuses.count(503) == 50 - STREAMS_MAX
        refused = next(stream for stream in streams if stream.reply.status == 503)
        assert refused.reply.headers["retry-after"] == "1"
        assert "streams" in json.loads(refused.file.read(int(refused.reply.headers["content-length"])))["error"]["message"]
        for stream in streams:
            if stream.reply.status == 200:
                assert stream.event()[1]["tapes"]
        for _ in range(20):
            assert shop.json("summary")["peak"]["bytes"] > 0
    finally:
        for stream in streams:
            stream.__exit__()


def test_listeners_that_are_gone_make_room(shop):
    for _ in range(3):
        for stream in open_all(shop):
            stream.__exit__()


def test_one_who_does_not_read_holds_up_nobody(shop):
    silent, other = open_all(shop, 2)
    with silent, other:
        assert other.event()
        begin = time.monotonic()
        assert shop.json("info")["tapes"]
        assert time.monotonic() - begin < 5


def test_a_server_that_ends_ends_its_streams(tmp_path):
    tape = tmp_path / "shop.mtape"
    names = write_shop(tape).names()
    with serve(tape) as server:
        stream = open_all(server, 1)[0]
        while stream.event()[1]["tapes"][0]["state"] == "loading":
            pass
        server.process.terminate()
        assert stream.event() is None and stream.ended
        stream.__exit__()
    names.unlink(missing_ok=True)
