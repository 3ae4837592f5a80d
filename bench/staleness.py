#!/usr/bin/env python3
"""What looking at which pages are used takes, in the program and beside it.

    staleness.py [--mib N,...] [--runs N] [--out FILE] [--prefix DIR]

Runs programs/staleness.c, interleaved, plain and recorded with a look every two seconds: those that see writes only, and
as root those that see reads, too. In the program: what a page takes in the rounds after looks, and the longest mmap().
Beside it: the collector's CPU for each look and GiB, above that of a recording without looks. Nothing is asserted.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

import leaks
import results

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS, PERIOD = 12, 2
WRITES_ONLY = ["setpriv", "--bounding-set=-bpf,-sys_admin"] if os.geteuid() == 0 else []


def ways(memtape, tape):
    """{name: what comes before the program}"""
    record = [memtape, "record", "-q", "-f", "--no-summary", "-o", tape]
    found = {"plain": [], "recorded": [*record, "--"], "writes": [*WRITES_ONLY, *record, f"--staleness={PERIOD}s", "--"]}
    if os.geteuid() == 0:
        found["reads_and_writes"] = [*record, f"--staleness={PERIOD}s", "--"]
    return found


def take(memtape, tape, program, mib, uses):
    """{way: its figures} of one run each."""
    taken = {}
    for way, words in ways(memtape, tape).items():
        _, cpu, out = leaks.run([*words, program, str(mib), str(SECONDS), uses])
        taken[way] = json.loads(out)
        taken[way]["beside"] = cpu - taken[way]["cpu"]
        if way in ("writes", "reads_and_writes"):
            told = json.loads(leaks.run([memtape, "report", tape, "idle", "--json"])[2])
            if told["noticed"] != way:
                raise SystemExit(f"{way}: {told.get('blind') or told['noticed']}")
            taken[way]["looks"] = len(told["looks"])
    for figures in taken.values():
        if "looks" in figures:
            figures["look"] = (figures["beside"] - taken["recorded"]["beside"]) * 1000 / figures["looks"] / (mib / 1024)
    return taken


def lines(memtape, folder, options):
    yield "# What looking at which pages are used takes\n"
    machine = results.machine(options.prefix)
    yield from (f"* {key}: {machine[key]}" for key in ("CPU", "memory", "kernel", "memtape"))
    yield f"* load when it began: {os.getloadavg()[0]:.1f}; medians of {options.runs} interleaved runs\n"
    yield "| MiB | the program | seen | ns a page | after a look | longest mmap(), us | collector, ms a look and GiB |"
    yield "|---:|---|---|---:|---:|---:|---:|"
    tape, program = os.path.join(folder, "the.mtape"), os.path.join(folder, "program")
    for mib in (int(word) for word in options.mib.split(",")):
        for uses in ("read", "write"):
            runs = [take(memtape, tape, program, mib, uses) for _ in range(options.runs)]
            for way in runs[0]:
                middle = {key: statistics.median(run[way][key] for run in runs) for key in runs[0][way]}
                look = f"{middle['look']:.1f}" if "look" in middle else ""
                yield (f"| {mib} | {uses}s | {way} | {middle['median_ns']:.0f} | {middle['after_look_ns']:.0f} | "
                       f"{middle['longest_us']:.0f} | {look} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", default="256,1024")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", default=os.path.join(HERE, f"results/staleness-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    with tempfile.TemporaryDirectory(prefix="memtape-staleness-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", os.path.join(folder, "program"),
                        os.path.join(HERE, "programs/staleness.c")], check=True)
        with open(options.out, "w") as out:
            for line in lines(os.path.join(options.prefix, "bin", "memtape"), folder, options):
                print(line, file=out)
                print(line, flush=True)
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
