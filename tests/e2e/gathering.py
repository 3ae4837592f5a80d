"""A gatherer, whom tapes are sent to, and what is between it and them: a network that cuts and waits."""

import contextlib
import hashlib
import hmac
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import recording

PATIENCE = 60
PAGE = 4096
BEGIN, DATA, HEADER, REWIND, END, READY, ACK, DONE, UNEQUAL, REFUSED = 1, 2, 3, 4, 5, 16, 17, 18, 19, 20


def until(holds, process=None):
    """Waits for a state; what `holds` returned."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = holds()
        if value:
            return value
        assert process is None or process.poll() is None, "it has ended"
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def token_file(path, text=b"not to be guessed, 32 bytes long"):
    path.write_bytes(text)
    path.chmod(0o600)
    return path


class Gatherer:
    def __init__(self, folder, token=None, port=0, options=(), **popen):
        args = [recording.memtape(), "gather", "--listen", f"127.0.0.1:{port}", "-d", folder, *options]
        args += ["--token-file", token] if token else []
        self.folder, self.token = folder, token
        self.process = subprocess.Popen(list(map(str, args)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=recording.clean_env(), **popen)
        self.lines = [self.process.stdout.readline().decode()]
        self.port = int(re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", self.lines[0]).group(1))
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode())

    def has_said(self, pattern):
        return any(re.search(pattern, line) for line in self.lines)

    def tapes(self):
        return sorted(self.folder.iterdir())

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.lines

    @property
    def where(self):
        return f"127.0.0.1:{self.port}"

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        sock.settimeout(PATIENCE)
        return sock


@contextlib.contextmanager
def gather(folder, token=None, **more):
    gatherer = Gatherer(folder, token, **more)
    try:
        yield gatherer
    finally:
        if gatherer.process.poll() is None:
            gatherer.end()


def send(tape, where, *options, token=None, **more):
    words = ["--token-file", token] if token else []
    return recording.run([recording.memtape(), "send", *options, *words, tape, where], **more)


class Proxy:
    """Between sender and gatherer. `allow(number)` says how many bytes of the sender's connection `number` go
    through before it is cut (None: all); while `gate` is not set, nothing goes through."""

    def __init__(self, port, allow=lambda number: None, gate=None):
        self.port_behind, self.allow, self.gate = port, allow, gate
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.count = 0
        self.said = []  # what each sender has said
        self.socks, self.threads = [], []
        self.start(self.accept)

    def start(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        thread.start()
        self.threads.append(thread)

    @property
    def where(self):
        return f"127.0.0.1:{self.port}"

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                front, _ = self.listener.accept()
                try:
                    back = socket.create_connection(("127.0.0.1", self.port_behind))
                except OSError:
                    front.close()
                    continue
                self.socks += [front, back]
                self.said.append(bytearray())
                self.start(self.forward, front, back, self.allow(self.count), self.said[-1])
                self.start(self.forward, back, front, None, bytearray())
                self.count += 1

    def forward(self, source, sink, left, said):
        with contextlib.suppress(OSError):
            while left is None or left > 0:
                if self.gate:
                    self.gate.wait(PATIENCE)
                data = source.recv(4096 if left is None else min(left, 4096))
                if not data:
                    break
                said += data
                sink.sendall(data)
                left = None if left is None else left - len(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self.socks:
            sock.close()


@contextlib.contextmanager
def proxy(port, **more):
    one = Proxy(port, **more)
    try:
        yield one
    finally:
        if one.gate:
            one.gate.set()
        one.close()


# --- the protocol as docs/stream-protocol.md has it -------------------------------------------------------

def receive(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            break
        data += more
    return data


def message(kind, payload=b""):
    return struct.pack("<II", kind, len(payload)) + payload


def hear(sock):
    """A message of a gatherer; None: it has closed."""
    head = receive(sock, 8)
    if len(head) < 8:
        return None
    kind, length = struct.unpack("<II", head)
    return kind, receive(sock, length)


def prove(token, label, greeting, answer):
    return hmac.new(token, label + b"\0" + greeting + answer, hashlib.sha256).digest()


def answer(sock, token, nonce=None):
    """Says the answer to a greeting; the verdict's kind, and whether its proof is right."""
    greeting = receive(sock, 48)
    hello = struct.pack("<8sII", b"MTANSWR\n", 1, 1 if token else 0) + (nonce or os.urandom(32))
    proof = prove(token, b"memtape stream sender 1", greeting, hello) if token else bytes(32)
    sock.sendall(hello + proof)
    verdict = receive(sock, 48)
    magic, version, kind = struct.unpack_from("<8sII", verdict)
    assert (magic, version) == (b"MTVERDI\n", 1)
    expected = prove(token, b"memtape stream gather 1", greeting, hello) if token else bytes(32)
    return kind, verdict[16:] == expected


def page(uuid=None, pid=4711, flags=0):
    data = bytearray(PAGE)
    struct.pack_into("<8sIIIII", data, 0, b"MEMTAPE\n", 1, PAGE, 2, 65536, flags)
    struct.pack_into("<I", data, 40, pid)
    struct.pack_into("<Q", data, 64, 1790000000 * 10**9)
    data[72:88] = uuid or random.randbytes(16)
    return bytes(data)


def begin(head, host=b"host", program=b"program"):
    return message(BEGIN, struct.pack("<II", len(host), len(program)) + head + host + program)


def end(body):
    return message(END, struct.pack("<Q", PAGE + len(body)) + hashlib.sha256(body).digest())


def data(offset, body):
    return message(DATA, struct.pack("<Q", offset) + body)
