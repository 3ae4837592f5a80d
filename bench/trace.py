#!/usr/bin/env python3
"""What a traced page fault costs, and what is lost: `memtape trace faults`, `perf record -g` and with --call-graph dwarf.

    trace.py [--pages N] [--depths N,...] [--runs N] [--prefix DIR]

Runs programs/faults.c, interleaved; medians. Traced: ns a page for the program. CPU: of all that the command started,
less that of a run without, a page; of memtape that is with stacks unwound, which perf leaves to perf script. perf -g
follows frame pointers, which the program here has. Nothing is asserted.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(done.stdout.split()[0]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Ways:
    def __init__(self, prefix, folder, pages, depth):
        self.memtape = os.path.join(prefix, "bin", "memtape")
        self.tape, self.data = os.path.join(folder, "t.mtape"), os.path.join(folder, "perf.data")
        self.program = [os.path.join(folder, "faults"), str(pages), str(depth)]
        self.pages = pages

    def ours(self):
        figures = run([self.memtape, "trace", "faults", "-q", "-f", "-o", self.tape, "--", *self.program])
        done = subprocess.run([self.memtape, "report", self.tape, "trace", "--json", "--top", "1"], stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)["faults"]
        return *figures, found["lost"], os.path.getsize(self.tape)

    def perf(self, *how):
        figures = run(["perf", "record", "-q", "-o", self.data, "-e", "page-faults", "-c", "1", *how, "--", *self.program])
        done = subprocess.run(["perf", "report", "-i", self.data, "--stats"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
        lost = re.findall(r"LOST_SAMPLES events: +(\d+)\s*$", done.stdout, re.M)
        return *figures, int(lost[-1]) if lost else 0, os.path.getsize(self.data)

    def take(self):
        return {"without": (*run(self.program), 0, 0), "memtape trace": self.ours(), "perf record -g": self.perf("-g"),
                "perf, dwarf": self.perf("--call-graph", "dwarf,16384")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50000)
    parser.add_argument("--depths", default="5,50")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--prefix", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", os.path.join(folder, "faults"),
                        os.path.join(HERE, "programs", "faults.c")], check=True)
        print("| depth | | ns a page, traced | CPU added, ns a page | lost | bytes a page |\n|---:|---|---:|---:|---:|---:|")
        for depth in map(int, options.depths.split(",")):
            ways = Ways(options.prefix, folder, options.pages, depth)
            taken = [ways.take() for _ in range(options.runs)]
            bare = statistics.median(one["without"][1] for one in taken)
            for name in taken[0]:
                ns, cpu, lost, size = (statistics.median(one[name][i] for one in taken) for i in range(4))
                print(f"| {depth} | {name} | {ns:,.0f} | {max(cpu - bare, 0) / options.pages * 1e9:,.0f} | {lost / options.pages:.1%} | "
                      f"{size / options.pages:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
