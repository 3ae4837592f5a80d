#!/usr/bin/env python3
"""What every export of a tape takes: time, peak memory and size, at some numbers of events.

    exports.py [--events N[,N...]] [--only FORMAT,...] [--runs N] [--out FILE] [--prefix DIR]

Records programs/events.c and writes each format that `memtape export --list` has. The size is that of the
file, which is counted and thrown away: no disk is in the figures (but that on which sqlite makes its database).
"Heap" is memory of the process alone, without pages of the mapped tape and its index, which the kernel takes
back when it wants them. Nothing is asserted; two numbers of events show what grows.
"""
import argparse
import datetime
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))
PIECE_BYTES = 1 << 20
LOOK_S = 0.01
KINDS = {"Sums": "stacks", "The whole run": "stacks", "Single": "events", "Everything": "answers"}
# The file that has a record for each call, and goes over calls to write it.
GROWS = {"memusage": "events", "trace-event": "moments"}


class Peak(threading.Thread):
    """The most anonymous memory of a process, of looks every 10 ms."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.bytes, self.ends = f"/proc/{pid}/status", 0, threading.Event()

    def run(self):
        while not self.ends.wait(LOOK_S):
            try:
                with open(self.path) as status:
                    found = re.search(r"^RssAnon:\s+(\d+) kB", status.read(), re.M)
            except (FileNotFoundError, ProcessLookupError):
                return
            if found:
                self.bytes = max(self.bytes, int(found[1]) * 1024)


class Measured:
    """Seconds, resident and anonymous bytes, of the least of the runs; bytes written."""

    def __init__(self, argv, runs, env):
        self.wall = self.cpu = float("inf")
        self.rss = self.heap = self.size = 0
        for _ in range(runs):
            begin = time.monotonic()
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env)
            peak = Peak(process.pid)
            peak.start()
            self.size = sum(iter(lambda: len(os.read(process.stdout.fileno(), PIECE_BYTES)), 0))
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - begin
            peak.ends.set()
            peak.join()
            if status != 0:
                raise SystemExit(f"{' '.join(argv)}: status {status}")
            self.wall, self.cpu = min(self.wall, wall), min(self.cpu, usage.ru_utime + usage.ru_stime)
            self.rss, self.heap = max(self.rss, usage.ru_maxrss * 1024), max(self.heap, peak.bytes)


def formats(memtape):
    """(name, what it grows with) of all there are, in the order of the list."""
    listed = subprocess.run([memtape, "export", "--list"], check=True, capture_output=True, text=True).stdout
    grows = ""
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            grows = next(what for begin, what in KINDS.items() if line.startswith(begin))
        elif line:
            yield line.split()[0], GROWS.get(line.split()[0], grows)


def mib(count):
    return f"{count / 2**20:,.1f}"


def tape_rows(options, folder, program, env, events):
    memtape = os.path.join(options.prefix, "bin/memtape")
    tape = os.path.join(folder, "events.mtape")
    subprocess.run([memtape, "record", "-q", "-f", "--no-summary", "-o", tape, program, str(events)], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([memtape, "index", "-q", "-f", tape], check=True, env=env)
    # Names are looked up once for all runs, and kept.
    subprocess.run([memtape, "report", tape, "summary"], check=True, stdout=subprocess.DEVNULL, env=env)
    yield f"## {events:,} events, a tape of {mib(os.path.getsize(tape))} MiB\n"
    yield "| format | s | s of CPU | MiB of heap | MiB resident | MiB written | the file grows with |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name, grows in formats(memtape):
        if options.only and name not in options.only.split(","):
            continue
        one = Measured([memtape, "export", tape, "--to", name], options.runs, env)
        line = (f"| {name} | {one.wall:.2f} | {one.cpu:.2f} | {mib(one.heap)} | {mib(one.rss)} | {mib(one.size)} | "
                f"{grows} |")
        print(line, flush=True)
        yield line
    yield ""
    os.unlink(tape)


def heading(machine):
    yield "# What exports take\n"
    for key in ("CPU", "memory", "kernel", "memtape"):
        yield f"* {key}: {machine[key]}"
    yield f"* load when it began: {os.getloadavg()[0]:.1f}\n"
    yield ("With an index; the least time of the runs, the most memory. Heap is what the process has for itself, resident "
           "also has pages of the mapped index that were read.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="1000000,10000000")
    parser.add_argument("--only", help="these formats, with commas")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/exports-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lines = list(heading(results.machine(options.prefix)))
    with tempfile.TemporaryDirectory(prefix="memtape-exports-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"), TMPDIR=folder)
        program = os.path.join(folder, "events")
        subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", program, os.path.join(HERE, "programs/events.c")],
                       check=True)
        for word in options.events.split(","):
            lines += tape_rows(options, folder, program, env, int(float(word)))
    with open(options.out, "w") as out:
        out.write("\n".join(lines))
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
