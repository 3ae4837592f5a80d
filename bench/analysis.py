#!/usr/bin/env python3
"""How long a tape takes to answer: index and questions, at 10^6, 10^7 and 10^8 events.

    analysis.py [--events N[,N...]] [--runs N] [--heaptrack-max N] [--out FILE] [--prefix DIR]

Records programs/events.c, makes the index anew, asks; where heaptrack is the peer both record the
program with shorter stacks. Every figure is the least of some runs (a busy machine only adds), with the median
behind it. Nothing is asserted; the table says what the bar is.
"""
import argparse
import datetime
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))
PEER_DEPTH = "2"  # heaptrack 1.4's interpreter ends by bad_alloc with the stacks of more levels
QUESTIONS = [  # what, words after `memtape report TAPE`, bar in ms at 10^8 events
    ("summary", ["summary"], 100),
    ("top 50", ["top", "--top", "50"], 100),
    ("timeline of 2,000 points", ["timeline", "--points", "2000", "--csv"], 100),
    ("what was alive at 50%", ["at", "50%"], 150),
    ("between 40% and 60%", ["between", "40%", "60%"], 150),
    ("filter: regex, size, lifetime", [
        "groups", "--filter", 'function ~ "^w.rk$" and size >= 100 and lifetime < 1ms', "--top", "10"], 2000),
]


class Measured:
    """Wall and processor time in seconds, peak resident memory in bytes, of the least of the runs."""

    def __init__(self, argv, runs, before=None, env=None):
        walls, cpus, self.rss = [], [], 0
        for _ in range(runs):
            if before:
                before()
            begin = time.monotonic()
            process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
            errors = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            walls.append(time.monotonic() - begin)
            if status != 0:
                raise SystemExit(f"{' '.join(argv)}: {errors.decode(errors='replace')}")
            cpus.append(usage.ru_utime + usage.ru_stime)
            self.rss = max(self.rss, usage.ru_maxrss * 1024)
        self.wall, self.median, self.cpu = min(walls), statistics.median(walls), min(cpus)

    def ms(self):
        return f"{self.wall * 1000:,.0f} ms ({self.median * 1000:,.0f})"


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def mib(count):
    return f"{count / 2**20:,.0f} MiB"


class Tape:
    def __init__(self, bench, events, *more):
        self.bench, self.events = bench, events
        self.program = [bench.program, str(events), *more]
        self.path = os.path.join(bench.folder, f"events-{'-'.join(self.program[1:])}.mtape")
        subprocess.run([bench.memtape, "record", "-q", "-f", "--no-summary", "-o", self.path, *self.program],
                       check=True, stdout=subprocess.DEVNULL)

    def report(self, words, runs, before=None):
        return Measured([self.bench.memtape, "report", self.path, *words], runs, before, self.bench.env)

    def index(self):
        return Measured([self.bench.memtape, "index", "-q", "-f", self.path], self.bench.runs, None, self.bench.env)

    def first_summary(self):
        return self.report(["summary"], self.bench.runs, lambda: remove(self.path + ".index"))

    def heaptrack(self):
        """heaptrack_print on the same program; None where its interpreter gave up on the way."""
        base = os.path.join(self.bench.folder, f"heaptrack-{self.events}")
        subprocess.run(["heaptrack", "-o", base, *self.program],  # its exit code says nothing
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = base + ".zst"
        if not os.path.exists(file):
            return None
        text = subprocess.run(["heaptrack_print", "-f", file], capture_output=True, text=True, errors="replace").stdout
        calls = re.findall(r"^calls to allocation functions: (\d+)", text, re.M)
        measured = Measured(["heaptrack_print", "-f", file], self.bench.runs)
        os.unlink(file)
        return measured if calls and int(calls[-1]) > self.events * 0.4 else None

    def peer_rows(self):
        if not shutil.which("heaptrack") or self.events > self.bench.heaptrack_max:
            return
        shallow = Tape(self.bench, self.events, "8", PEER_DEPTH)
        first, peer = shallow.first_summary(), shallow.heaptrack()
        shallow.remove()
        yield (f"with {PEER_DEPTH} levels: tape to first summary", first.ms(), "")
        if not peer:
            yield ("heaptrack_print", "its interpreter gave up", "")
            return
        yield ("the same: heaptrack_print", peer.ms(), "")
        yield ("heaptrack_print / first summary", f"{peer.wall / first.wall:.1f} x", "2 x")

    def rows(self):
        """The lines of the table."""
        index_path = self.path + ".index"
        first = self.first_summary()
        index = self.index()
        rate = self.events / index.wall / 1e6
        yield ("index", f"{rate:.1f} M events/s, {index.wall:.2f} s ({index.median:.2f}), {index.cpu:.2f} s of CPU", "20 M events/s")
        yield ("peak memory of that", mib(index.rss), "1,024 MiB")
        yield ("tape and index", f"{mib(os.path.getsize(self.path))} and {mib(os.path.getsize(index_path))}", "")
        yield ("tape to first summary, no index", first.ms(), "half of heaptrack_print")
        yield from self.peer_rows()
        for what, words, bar in QUESTIONS:
            measured = self.report(words, max(self.bench.runs, 3))
            yield (what, f"{measured.ms()}, {mib(measured.rss)} resident", f"{bar} ms at 10^8")

    def remove(self):
        remove(self.path)
        remove(self.path + ".index")


class Bench:
    def __init__(self, options, folder):
        self.folder, self.runs, self.heaptrack_max = folder, options.runs, options.heaptrack_max
        self.memtape = os.path.join(options.prefix, "bin/memtape")
        self.program = os.path.join(folder, "events")
        self.env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
        subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", self.program, os.path.join(HERE, "programs/events.c")],
                       check=True)


def heading(machine):
    yield "# How long a tape takes to answer\n"
    for key in ("CPU", "memory", "kernel", "memtape", "heaptrack"):
        yield f"* {key}: {machine[key]}"
    yield f"* load when it began: {os.getloadavg()[0]:.1f}\n"
    yield "The least of the runs, and the median in parentheses. Resident memory has the pages of the mapped index in it.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="1000000,10000000,100000000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--heaptrack-max", type=int, default=10**7)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/analysis-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    sizes = [int(float(word)) for word in options.events.split(",")]
    lines = list(heading(results.machine(options.prefix)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="memtape-analysis-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        if shutil.disk_usage(folder).free < max(sizes) * 40:
            raise SystemExit(f"{folder} has less than {mib(max(sizes) * 40)} of room")
        bench = Bench(options, folder)
        for events in sizes:
            tape = Tape(bench, events)
            lines += [f"## {events:,} events\n", "| what | measured | bar |", "|---|---|---|"]
            for row in tape.rows():
                lines.append("| " + " | ".join(row) + " |")
                print(f"{events:>11,}  {row[0]:<34} {row[1]}", flush=True)
            lines.append("")
            tape.remove()
    lines.append(f"Load when it ended: {os.getloadavg()[0]:.1f}. What other programs do to {os.cpu_count()} processors is in the "
                 "seconds, not in the seconds of CPU.\n")
    with open(options.out, "w") as out:
        out.write("\n".join(lines))
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
