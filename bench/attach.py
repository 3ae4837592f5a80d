#!/usr/bin/env python3
"""What attaching takes: how long the process stands still, and an event attached against one recorded from the start.

    attach.py [--threads N,...] [--blocks N,...] [--pairs N] [--runs N] [--out FILE] [--prefix DIR]

Runs programs/attach.c. How long it stood still is on the tape. The cost of an event is CPU of the program's thread, by its
own clock: plain, recorded from its start and attached to, interleaved; the ratio is the median of those of each round.
Nothing is asserted.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))


class Bench:
    def __init__(self, prefix, folder):
        self.memtape = os.path.join(prefix, "bin", "memtape")
        self.program = os.path.join(folder, "attach")
        self.tape = os.path.join(folder, "attach.mtape")
        subprocess.run(["gcc", "-O2", "-g", "-fno-optimize-sibling-calls", "-fno-builtin", "-o", self.program,
                        os.path.join(HERE, "programs/attach.c"), "-pthread"], check=True)

    def start(self, words, before=()):
        process = subprocess.Popen([*before, self.program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"{self.program} did not start")
        return process

    def options(self):
        return ["--no-summary", "-f", "-o", self.tape]

    def info(self):
        return json.loads(subprocess.run([self.memtape, "info", "--json", self.tape], stdout=subprocess.PIPE, check=True).stdout)

    def pause(self, threads, blocks):
        """Of one attach: how long it stood still, how long until it recorded, and whether all blocks were found."""
        process = self.start([threads, blocks])
        begin = time.monotonic()
        with subprocess.Popen([self.memtape, "attach", str(process.pid), *self.options()], stderr=subprocess.PIPE, text=True) as attached:
            line = attached.stderr.readline()
            took = time.monotonic() - begin
            if "recording" not in line:
                raise SystemExit(line)
            time.sleep(0.2)
            subprocess.run([self.memtape, "detach", "-q", str(process.pid)], check=True)
        process.kill(), process.wait()
        found = self.info()["attached"]
        if blocks and found["before"]["count"] < blocks:
            raise SystemExit(f"{found} where {blocks} blocks were live")
        return found["pause_ns"] / 1e6, took * 1e3

    def event(self, process):
        process.stdin.write("\n"), process.stdin.flush()
        return float(process.stdout.readline())

    def events(self, pairs):
        """Nanoseconds of an event: plain, recorded from the start, attached to."""
        plain = self.start([1, 0, pairs])
        recorded = self.start([1, 0, pairs], [self.memtape, "record", "-q", *self.options()])
        out = [self.event(plain), self.event(recorded)]
        plain.kill(), plain.wait()
        recorded.stdin.close(), recorded.wait()
        process = self.start([1, 0, pairs])
        with subprocess.Popen([self.memtape, "attach", str(process.pid), *self.options()], stderr=subprocess.PIPE, text=True) as attached:
            attached.stderr.readline()
            out.append(self.event(process))
            process.stdin.close(), process.wait(), attached.wait()
        if self.info()["tape"]["events"] < 2 * pairs:
            raise SystemExit("not all events are on the tape")
        return out


def middle(figures):
    return f"{statistics.median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


def report(bench, options):
    machine = results.machine(options.prefix)
    yield "# What attaching takes\n"
    for key in ("CPU", "memory", "kernel", "memtape", "gcc"):
        yield f"* {key}: {machine[key]}"
    yield f"* load when it began: {os.getloadavg()[0]:.1f}; medians of {options.runs} runs, with minimum and maximum\n"
    yield "| threads | live blocks | stood still, ms | until it recorded, ms |"
    yield "|---:|---:|---:|---:|"
    for threads in options.threads:
        for blocks in options.blocks:
            figures = [bench.pause(threads, blocks) for _ in range(options.runs)]
            yield f"| {threads} | {blocks:,} | {middle([one[0] for one in figures])} | {middle([one[1] for one in figures])} |"
    figures = [bench.events(options.pairs) for _ in range(options.runs)]
    yield "\n| ns an event | plain | recorded from the start | attached | attached / from the start |"
    yield "|---|---:|---:|---:|---:|"
    columns = [middle([one[i] for one in figures]) for i in range(3)]
    yield f"| {2 * options.pairs:,} events | {' | '.join(columns)} | {middle([one[2] / one[1] for one in figures])} |"


def numbers(text):
    return [int(float(part)) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=numbers, default=[1, 4, 64])
    parser.add_argument("--blocks", type=numbers, default=[0, 100000, 5000000])
    parser.add_argument("--pairs", type=int, default=5000000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/attach-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    lines = []
    with tempfile.TemporaryDirectory(prefix="memtape-attach-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        for line in report(Bench(options.prefix, folder), options):
            lines.append(line)
            print(line, flush=True)
    with open(options.out, "w") as out:
        out.write("\n".join(lines) + "\n")
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
