"""A server to be asked: by urllib as programs do, and by bare sockets as attackers do."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

import recording
import shapes


@dataclass
class Reply:
    status: int
    headers: dict  # names in lower case
    body: bytes

    def json(self):
        assert self.headers["content-type"].startswith("application/json")
        return json.loads(self.body.decode("utf-8"))

    def error(self):
        return self.json()["error"]


def parse_reply(data):
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split()[1])
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Reply(status, headers, body)


def read_all(sock):
    data = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while True:
            more = sock.recv(65536)
            if not more:
                break
            data += more
    return data


class Server:
    def __init__(self, process, place, tapes):
        self.process, self.tapes = process, tapes
        self.url, self.port, self.token = place["url"], place["port"], place["token"]
        self.path = place["socket"]

    def connect(self, timeout=20):
        if self.path:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
            sock.connect(self.path)
            return sock
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def raw(self, data, timeout=20):
        """What a server that was sent these bytes says until it closes; None: nothing."""
        with self.connect(timeout) as sock:
            sock.sendall(data)
            answer = read_all(sock)
        return parse_reply(answer) if answer else None

    def ask(self, target, method="GET", headers=(), host=None, token=True, body=b""):
        lines = [f"{method} {target} HTTP/1.1", "Connection: close"]
        lines.append(f"Host: {self.host if host is None else host}")
        if token and self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        lines += headers
        return self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def get(self, resource, status=200, **params):
        """An answer of the API; params with _ for -; a list is a parameter given several times."""
        params = {key.rstrip("_").replace("_", "-"): value for key, value in params.items()}
        query = "?" + urllib.parse.urlencode(params, doseq=True) if params else ""
        reply = self.ask(f"/api/v1/{resource}{query}")
        assert reply.status == status, reply.body
        return reply

    def json(self, resource, status=200, **params):
        answer = self.get(resource, status, **params).json()
        return shapes.conform(f"/api/v1/{resource}", answer) if status == 200 else answer

    def wait_read(self):
        """Until its tapes are read, which takes a while if they are large."""
        while any(tape["state"] == "loading" for tape in self.json("info")["tapes"]):
            time.sleep(0.02)
        return self

    def post(self, resource, members, status=200):
        reply = self.ask(f"/api/v1/{resource}", "POST", ["Content-Type: application/json"],
                         body=json.dumps(members).encode())
        assert reply.status == status, reply.body
        return shapes.conform(f"/api/v1/{resource}", reply.json(), "post") if status == 200 else reply.json()


@contextlib.contextmanager
def serve(*tapes, options=(), env=None, stderr=None, cwd=None):
    args = [recording.memtape(), "serve", "--json", *options, *tapes]
    with subprocess.Popen([str(arg) for arg in args], stdout=subprocess.PIPE, stderr=stderr, cwd=cwd,
                          env=env or recording.clean_env()) as process:
        try:
            line = process.stdout.readline()
            assert line, "the server did not start"
            yield Server(process, json.loads(line), tapes)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0


def token_of(url):
    return re.search(r"#k=([0-9a-f]{32})$", url).group(1)
