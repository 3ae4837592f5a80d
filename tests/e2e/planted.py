"""Programs with one planted cause among memory that is as it should be (tests/targets/causes/pace.h),
run as users do, and what is the first thing that each view of their tapes says."""

import re
import shutil
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field

import recording
import targets

SOURCES = targets.SOURCES / "causes"
ROUNDS, ROUND_S = 120, 0.02  # a process that was attached to is seen for so long, at least
LATE_MS, RUNS = 150, 6
STORE_TITLE = "store: answers at /run/of/it"  # servers write one over their arguments


@dataclass
class Cause:
    program: str
    function: str  # with its namespaces, without parameters
    finding: str = None  # its type; None: nothing is wrong but in comparison
    lists: list = field(default_factory=list)  # of the summary, which begin with it
    benign: list = field(default_factory=list)  # functions that are never a problem
    grows: bool = False

    @property
    def file(self):
        return next(SOURCES.glob(f"{self.program.split('-')[0]}.cpp"))

    @property
    def line(self):
        lines = self.file.read_text().splitlines()
        return 1 + next(i for i, line in enumerate(lines) if line.endswith("/* the cause */"))

    def is_at(self, row):
        """row: of any answer with a function, file and line."""
        place = row["file"].rsplit("/", 1)[-1], row["line"]
        return row["function"].startswith((self.function + "(", self.function + "<")) and place == (self.file.name, self.line)


PEAK, LEFT = "Alive at the peak", r"N(?:ever freed|ot freed yet)"

CAUSES = {cause.program: cause for cause in [
    Cause("gateway", "gateway::Journal::note", "growth", [PEAK, LEFT],
          ["gateway::Gateway::Gateway", "gateway::Cache", "gateway::Gateway::serve"], grows=True),
    Cause("documents", "dom::Node::append", "growth", [PEAK, LEFT], ["dom::Names::of"], grows=True),
    Cause("pages", "PageCache::find", "growth", [PEAK, LEFT], ["Templates::named", "render"], grows=True),
    Cause("series", "plant::Series::read", "copying", [PEAK], ["plant::Sensors::Sensors"]),
    Cause("reserve", "scan::Hits::prepare", "untouched", [PEAK], ["scan::Tiles::load", "scan::Frames"]),
    Cause("import", "etl::Labels::remember", "pinning", [LEFT], ["main"]),
    Cause("orders", "orders::Index::add", None, [], ["orders::read_rows"]),
    Cause("orders-2", "orders::Index::add", None, [PEAK], ["orders::read_rows"]),
    Cause("store", "store::Channels::publish", "growth", [PEAK, LEFT], ["store::Store::set", "store::Store::Store", "main"],
          grows=True),
]}


def first_place(text, title):
    """The first line with a source in a list of a summary, and the lines up to there."""
    head = re.search(rf"^{title}\b.*$", text, re.M)
    assert head, text
    rows = text[head.end():].splitlines()
    at = next(i for i, row in enumerate(rows) if re.search(r"\.(cpp|c|py|h|cc):\d+", row))
    return rows[at], rows[:at]


def first_row(text, title):
    return next(row for row in re.split(rf"^{title}\b.*$", text, maxsplit=1, flags=re.M)[1].splitlines() if "%" in row)


def evenly(run):
    """What run() returns without the lateness behind it, once a machine with other work has let it run
    evenly: what it kept from running looks like no growth. The last of some runs will do."""
    for _ in range(RUNS):
        *result, late_ms = run()
        if late_ms <= LATE_MS:
            break
    return tuple(result)


def record(cause, folder):
    """Tape and summary of a run of its own, and how late it was."""
    tape = folder / f"{cause.program}.mtape"
    done = recording.run_recorded([recording.target(f"causes/{cause.program}")], tape, options=["-f"])
    assert done.returncode == 0, done.stderr.decode()
    late = re.search(rb"(\d+) ms late", done.stdout)
    return tape, done.stderr.decode(), int(late[1]) if late else 0


def attach(pid, tape):
    """The collector, when it records."""
    process = subprocess.Popen([recording.memtape(), "attach", str(pid), "-f", "-o", tape],
                               stderr=subprocess.PIPE, text=True, env=recording.clean_env())
    line = process.stderr.readline()
    assert "memtape: recording" in line, line + process.stderr.read()
    return process


def follow(pid, tape, work):
    """The summary of a process that is attached to, works for long enough, and goes on while it is let
    go; and how late it was. work(round) is called evenly; who has been kept waiting catches up."""
    collector = attach(pid, tape)
    begin, i, late_s = time.monotonic(), 0, 0
    letting_go = None
    while letting_go is None or letting_go.poll() is None:
        work(i)
        i += 1
        time.sleep(max(0, begin + i * ROUND_S - time.monotonic()))
        late_s = max(late_s, time.monotonic() - begin - i * ROUND_S)
        if i == ROUNDS:
            letting_go = subprocess.Popen([recording.memtape(), "detach", str(pid), "-q"])
    summary = collector.stderr.read()
    assert letting_go.returncode == 0, summary
    assert collector.wait(60) == 0, summary
    return summary, late_s * 1000


def watch_store(folder):
    """The server is full when it is attached to, answers while it is recorded, and goes on."""
    tape, program = folder / "store.mtape", recording.target("causes/store")
    with subprocess.Popen([STORE_TITLE], executable=program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=recording.clean_env()) as server:
        guard = threading.Timer(120, server.kill)
        guard.start()

        def ask(line):
            server.stdin.write(line + "\n")
            server.stdin.flush()
            return server.stdout.readline()

        def work(i):
            for j in range(25):
                assert ask(f"publish item-{i}") == "sent\n"
                assert ask(f"set session:{i * 25 + j}") == "stored\n"

        assert server.stdout.readline() == "ready\n"
        for i in range(2000):
            ask(f"set session:{i}")
        summary, late_ms = follow(server.pid, tape, work)
        assert ask("set afterwards") == "stored\n"
        server.stdin.close()
        assert server.wait(60) == 0
        guard.cancel()
    return tape, summary, late_ms


def have_redis():
    return shutil.which("redis-server")


def connect(path):
    """To a server that may not listen yet."""
    until = time.monotonic() + 60
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(str(path))
            return client
        except OSError:
            client.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def watch_redis(folder):
    """Sessions that never expire, in a store that was full before, and a counter."""
    tape, path = folder / "redis.mtape", folder / "socket"
    path.unlink(missing_ok=True)
    command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=recording.clean_env()) as server, \
            connect(path) as client, client.makefile() as replies:

        def ask(lines):
            lines = list(lines)
            client.sendall("".join(f"{line}\r\n" for line in lines).encode())
            return [replies.readline().strip() for _ in lines]

        ask(f"set start:{i} {'s' * 60}" for i in range(5000))
        summary, late_ms = follow(server.pid, tape, lambda i: ask(
            [f"rpush session:{i * 40 + j} {'v' * 400}" for j in range(40)] + ["incr visits"]))
        assert int(ask(["incr visits"])[0].strip(":")) > ROUNDS
        server.terminate()
        assert server.wait(60) == 0
    return tape, summary, late_ms
