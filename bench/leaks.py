#!/usr/bin/env python3
"""What looking for leaks takes at a program's end: memtape's leak scan, LeakSanitizer's check, Memcheck's.

    leaks.py [--sizes COUNTxBYTES,...] [--runs N] [--out FILE] [--prefix DIR]

Runs programs/leaks.c, interleaved, and gives medians. The whole run is CPU of all that the command started. Of memtape
the scan's own figures are on the tape: how long the program stood still, and CPU of the scan. Of LeakSanitizer the
program measures its check. Of Memcheck it is the difference between runs with --leak-check=full and without. Nothing is
asserted.
"""
import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))


def run(argv, env=None):
    """Wall clock, CPU of the command and its children, and its output."""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 23):
        raise SystemExit(f"{' '.join(argv)}: {done.stderr[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begin, cpu, done.stdout


class Ways:
    """Each way to run it once; figures by name."""

    def __init__(self, prefix, folder, count, size):
        self.memtape = os.path.join(prefix, "bin", "memtape")
        self.folder, self.words = folder, [str(count), str(size)]
        self.plain, self.lsan = os.path.join(folder, "plain"), os.path.join(folder, "lsan")

    def take(self):
        tape = os.path.join(self.folder, "leaks.mtape")
        record = [self.memtape, "record", "-q", "-f", "--no-summary", "-o", tape]
        plain = run([self.plain, *self.words])
        recorded = run([*record, "--", self.plain, *self.words])
        scanned = run([*record, "--leak-scan", "--", self.plain, *self.words])
        facts = json.loads(run([self.memtape, "report", tape, "leak-classes", "--json", "--top", "1"])[2])
        checked = run(["setarch", "-R", self.lsan, *self.words], dict(os.environ, LSAN_OPTIONS="detect_leaks=1"))
        valgrind = ["valgrind", "-q", "--error-exitcode=0"]
        unchecked = run([*valgrind, "--leak-check=no", self.plain, *self.words])
        full = run([*valgrind, "--leak-check=full", self.plain, *self.words])
        expected = (int(self.words[0]) + 99) // 100
        if facts["definitely_lost"]["blocks"] not in (expected, expected - 1):  # a register may hold the last
            raise SystemExit(f"{facts['definitely_lost']} where {expected} blocks were lost")
        scan = facts["scan"]
        return {"run": plain[1], "recorded": recorded[1], "scanned": scanned[1], "pause": scan["pause_ns"] / 1e9,
                "scan": scan["scan_ns"] / 1e9, "lsan run": checked[1], "lsan": float(checked[2].split()[0]),
                "memcheck run": full[1], "memcheck": full[1] - unchecked[1]}


def heading(machine, runs):
    yield "# What looking for leaks takes\n"
    for key in ("CPU", "memory", "kernel", "memtape", "valgrind", "gcc"):
        yield f"* {key}: {machine[key]}"
    yield f"* load when it began: {os.getloadavg()[0]:.1f}; medians of {runs} interleaved runs\n"
    yield ("Seconds. Look: the scan or check alone (memtape and LeakSanitizer by their own clocks, Memcheck by difference). "
           "Run: CPU of the whole command; of memtape with the collector and the packed tape.\n")
    yield ("| blocks | bytes each | memtape look | stood still | ns a block | LeakSanitizer look | ratio | Memcheck look | ratio | "
           "memtape run | recording alone | LeakSanitizer run | Memcheck run |")
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"


def row(count, size, figures):
    middle = {key: statistics.median(one[key] for one in figures) for key in figures[0]}
    look = middle["scan"]
    return (f"| {count:,} | {size} | {look:.4f} | {middle['pause']:.4f} | {look / count * 1e9:.0f} | {middle['lsan']:.4f} | "
            f"{look / middle['lsan']:.2f} | {middle['memcheck']:.3f} | {look / max(middle['memcheck'], 1e-9):.3f} | "
            f"{middle['scanned']:.2f} | {middle['recorded']:.2f} | {middle['lsan run']:.2f} | {middle['memcheck run']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000x64,100000x64,1000000x64,1000000x256")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/leaks-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    lines = list(heading(results.machine(options.prefix), options.runs))
    with tempfile.TemporaryDirectory(prefix="memtape-leaks-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        for name, flags in (("plain", []), ("lsan", ["-fsanitize=leak"])):
            subprocess.run(["gcc", "-O1", "-g", *flags, "-o", os.path.join(folder, name), os.path.join(HERE, "programs/leaks.c")], check=True)
        for word in options.sizes.split(","):
            count, size = (int(float(part)) for part in word.split("x"))
            ways = Ways(options.prefix, folder, count, size)
            lines.append(row(count, size, [ways.take() for _ in range(options.runs)]))
            print(lines[-1], flush=True)
    with open(options.out, "w") as out:
        out.write("\n".join(lines) + "\n")
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
