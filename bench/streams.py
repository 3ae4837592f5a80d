#!/usr/bin/env python3
"""What streams take: the gatherer's memory, descriptors and CPU, and a program's time beside a slow gatherer.

    streams.py [--streams N,...] [--size SIZE] [--runs N] [--events N] [--out FILE] [--prefix DIR]

As many senders as there are streams send a tape of SIZE MiB each at once, to one gatherer, and stay until all of it is there. Then
tests/targets/service is recorded without --to, with it, to a gatherer that accepts and never reads, and to nobody; its
time is the one on its tape, interleaved; the ratio is the median of those of each round. Nothing is asserted but that what
was gathered is what was sent.
"""
import argparse
import datetime
import fcntl
import filecmp
import json
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import results

FLAGS, RECORDING = 24, 128  # of a tape's header
HERE = os.path.dirname(os.path.abspath(__file__))


class Gatherer:
    def __init__(self, memtape, folder, token):
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.process = subprocess.Popen([memtape, "gather", "--listen", "127.0.0.1:0", "-d", folder, "--token-file", token],
                                        stdout=subprocess.PIPE, text=True)
        self.where = self.process.stdout.readline().split()[-1]
        self.threads = self.descriptors = 0

    def look(self):
        base = f"/proc/{self.process.pid}"
        self.threads = max(self.threads, len(os.listdir(f"{base}/task")))
        self.descriptors = max(self.descriptors, len(os.listdir(f"{base}/fd")))

    def end(self):
        status = open(f"/proc/{self.process.pid}/status").read()
        self.rss_mib = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
        self.process.terminate()
        self.process.stdout.read()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.cpu_s = usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, options, folder):
        self.memtape = os.path.join(options.prefix, "bin", "memtape")
        self.program = os.path.join(options.build, "tests/targets/service")
        self.options, self.folder = options, folder
        self.token = self.path("token")
        with open(self.token, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
            out.write("0123456789abcdef0123456789abcdef\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, tape, *words):
        subprocess.run([self.memtape, "record", "-q", "-f", "-o", tape, *words, "--", self.program, str(self.options.events)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def make_tapes(self, count):
        """Copies of one tape, with uuids and process numbers of their own."""
        first = self.path("first.mtape")
        self.record(first, "--no-compress", "--max-size", f"{self.options.size}m")
        data = bytearray(open(first, "rb").read())
        for i in range(count):
            data[40:44], data[72:88] = (i + 1).to_bytes(4, "little"), i.to_bytes(16, "little")
            with open(self.path(f"{i}.mtape"), "wb") as out:
                out.write(data)
        return len(data)

    def grow(self, count):
        """The tapes, marked and locked as if they were recorded: their senders stay until grown() is called."""
        files = [open(self.path(f"{i}.mtape"), "r+b", buffering=0) for i in range(count)]
        for one in files:
            fcntl.flock(one, fcntl.LOCK_EX)
            flags, = struct.unpack("<I", os.pread(one.fileno(), 4, FLAGS))
            os.pwrite(one.fileno(), struct.pack("<I", flags | RECORDING), FLAGS)
        return files

    @staticmethod
    def grown(files):
        for one in files:
            flags, = struct.unpack("<I", os.pread(one.fileno(), 4, FLAGS))
            os.pwrite(one.fileno(), struct.pack("<I", flags & ~RECORDING), FLAGS)
            one.close()

    def streams(self, count, size):
        gatherer = Gatherer(self.memtape, self.path("in"), self.token)
        files = self.grow(count)
        begin = time.monotonic()
        senders = [subprocess.Popen([self.memtape, "send", "-q", "--follow", "--token-file", self.token, self.path(f"{i}.mtape"),
                                     gatherer.where]) for i in range(count)]
        while sum(entry.stat().st_size == size for entry in os.scandir(gatherer.folder)) < count:
            gatherer.look()
            time.sleep(0.005)
        took = time.monotonic() - begin
        gatherer.look()
        self.grown(files)
        if any(sender.wait() for sender in senders):
            raise SystemExit("a sender failed")
        gatherer.end()
        for name in os.listdir(gatherer.folder):
            pid = int(name.split(".")[-3])
            if not filecmp.cmp(self.path(f"{pid - 1}.mtape"), os.path.join(gatherer.folder, name), shallow=False):
                raise SystemExit(f"{name} differs")
        return gatherer.rss_mib, gatherer.threads, gatherer.descriptors, gatherer.cpu_s, took

    def program_ms(self, *words):
        tape = self.path("timed.mtape")
        self.record(tape, "--live", *words)
        done = subprocess.run([self.memtape, "report", tape, "summary", "--json"], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["duration_ns"] / 1e6

    def times(self):
        """A round: alone, gathered, to somebody who never reads, to nobody."""
        gatherer = Gatherer(self.memtape, self.path("in"), self.token)
        to = ["--token-file", self.token, "--to-wait", "0s", "--to"]
        with socket.create_server(("127.0.0.1", 0)) as deaf, socket.create_server(("127.0.0.1", 0)) as gone:
            nobody = gone.getsockname()[1]
            gone.close()
            one = [self.program_ms(), self.program_ms(*to, gatherer.where), self.program_ms(*to, f"127.0.0.1:{deaf.getsockname()[1]}"),
                   self.program_ms(*to, f"127.0.0.1:{nobody}")]
        gatherer.end()
        return one


def middle(values, digits=1):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def report(bench, options):
    yield "# What streams take\n"
    machine = results.machine(os.path.join(HERE, "../build/gcc"))
    yield from (f"* {key}: {machine[key]}" for key in ("CPU", "memory", "kernel", "memtape"))
    yield f"* load when it began: {os.getloadavg()[0]:.1f}; medians of {options.runs} runs, with minimum and maximum\n"
    size_bytes = bench.make_tapes(max(options.streams))
    size = size_bytes / 2**20
    yield f"Senders and gatherer on one machine; {size:.1f} MiB a tape. Each was compared with its original.\n"
    yield "| streams at once | gatherer's peak RSS, MiB | threads | descriptors | its CPU, s | all are there after, s | MiB/s |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for count in options.streams:
        figures = [bench.streams(count, size_bytes) for _ in range(options.runs)]
        columns = [[one[i] for one in figures] for i in range(5)]
        rate = [count * size / took for took in columns[4]]
        yield (f"| {count} | {middle(columns[0])} | {max(columns[1])} | {max(columns[2])} | {middle(columns[3], 2)} | "
               f"{middle(columns[4], 2)} | {middle(rate, 0)} |")
    rounds = [bench.times() for _ in range(options.runs)]
    yield f"\n`service {options.events}`, recorded with --live; milliseconds from its first event to its end.\n"
    yield "| gatherer | the program takes, ms | / without --to |"
    yield "|---|---:|---:|"
    for i, name in enumerate(["none, without --to", "one that takes all", "one that accepts and never reads", "none at that address"]):
        yield f"| {name} | {middle([one[i] for one in rounds])} | {middle([one[i] / one[0] for one in rounds], 2)} |"


def numbers(text):
    return [int(float(part)) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=numbers, default=[1, 10, 50, 250])
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--events", type=int, default=300000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/streams-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    parser.add_argument("--build", default=os.path.join(HERE, "../build/gcc"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    lines = []
    with tempfile.TemporaryDirectory(prefix="memtape-streams-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        for line in report(Bench(options, folder), options):
            lines.append(line)
            print(line, flush=True)
    with open(options.out, "w") as out:
        out.write("\n".join(lines) + "\n")
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
