#!/usr/bin/env python3
"""The bench: what recording costs, next to what the peers cost.

    run.py [--quick] [--only WORKLOAD] [--tools NAMES] [--runs N] [--out FILE] [--prefix DIR]

Every workload runs under every tool, the tools interleaved (A B C A B C ...), so that a noisy
machine is noisy for all. Medians go into one Markdown file in bench/results/, raw figures into a
.json next to it. Nothing is asserted: the last table says which bars are met.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import results
import tools
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW_RUNS = 1
# In the header of a raw tape: struct tape_live's lost[TAPE_SELFCHECKS], then TAPE_SELFCHECK_DIFFERENCES.
SELFCHECK_AT = 512 - 256 + 48 + 6 * 8
STARTUP_RUNS = 20


class Bench:
    def __init__(self, build, root, timeout_s):
        self.build = os.path.abspath(build)
        self.machine = results.machine(build)
        self.ws = workloads.Workspace(root)
        self.timeout_s = timeout_s
        self.measure = self.ws.build("measure", "measure.c")
        self.counter = self.ws.build("libcount.so", "count.c", "-fPIC", "-shared", "-ldl")
        for name in ("depth", "live", "loads", "pairs", "paths", "shapes", "threads"):
            self.ws.build(name, f"micro/{name}.c", "-pthread", "-ldl")
        self.made, self.counts, self.runs, self.reports, self.checks = set(), {}, [], [], []

    def make(self, workload, size):
        if workload.make and (workload.name, size) not in self.made:
            workload.make(self.ws, workload.sizes[size])
            self.made.add((workload.name, size))

    def measured(self, argv, exe, env=None, memory_mib=0, drive=None):
        result = self.ws.path("result.json")
        words = [self.measure, result, exe, str(self.timeout_s), str(memory_mib), "--", *argv]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, "LC_ALL": "C", **(env or {})}, text=True, errors="replace")
        running = lambda: process.poll() is None
        driver = threading.Thread(target=drive or (lambda _: None), args=(running,))
        driver.start()
        said = process.communicate()[1]
        driver.join()
        with open(result) as file:
            figures = json.load(file)
        failed = figures["status"] or figures["timed_out"]
        return {**figures, "said": said[-300:]} if failed else figures

    def run(self, workload, size, tool, memory_mib=0, words=None):
        """One run of a workload; `words` go before its command line instead of the tool's."""
        self.make(workload, size)
        argument = workload.sizes[size]
        out = tempfile.mkdtemp(dir=self.ws.root, prefix="out-")
        words = tool.wrap(self.build, out) if words is None else words
        exe = tool.exe or workload.exe(self.ws)
        drive = workload.drive and (lambda running: workload.drive(self.ws, argument, running))
        figures = self.measured([*words, *workload.argv(self.ws, argument)], exe, workload.env, memory_mib, drive)
        return out, figures

    def count(self, workload, size):
        """Events and mean depth, from the counting preload library."""
        path = self.ws.path("count")
        words = tools.preload(self.counter, f"BENCH_COUNT_FILE={path}")
        out, _ = self.run(workload, size, tools.TOOLS[0], words=words)
        shutil.rmtree(out)
        with open(path, "rb") as file:
            allocations, frees, reallocs, size_bytes, depth, samples = struct.unpack("6Q", file.read(48))
        self.counts[f"{workload.name}/{size}"] = {
            "events": allocations + frees + reallocs, "allocations": allocations, "frees": frees, "reallocs": reallocs,
            "bytes": size_bytes, "depth": depth / max(samples, 1)}

    def report(self, workload, size, tool, files):
        """Time and memory to the first report; interpreting counts where the tool has not done it."""
        shell = os.path.realpath("/bin/sh")
        figures = self.measured(["/bin/sh", "-c", tool.report(self.build, files)], shell)
        self.reports.append({"workload": workload.name, "size": size, "tool": tool.name, **figures})

    def one(self, workload, size, tool, number):
        out, figures = self.run(workload, size, tool, tool.memory_mib)
        files = tools.files_left(out)
        entry = {"workload": workload.name, "size": size, "tool": tool.name, "round": number, **figures,
                 "disk_bytes": sum(os.stat(name).st_blocks * 512 for name in files),
                 "file_bytes": sum(os.path.getsize(name) for name in files)}
        failed = entry["timed_out"] or entry["status"]
        self.runs.append(entry)
        if not number and tool.report and files and not failed:
            self.report(workload, size, tool, files)
        shutil.rmtree(out)
        note = f" FAILED ({entry['status']}{', timed out' if entry['timed_out'] else ''})" if failed else ""
        print(f"{workload.name:12} {size:6} {tool.name:40} {(figures['user_ns'] + figures['system_ns']) / 1e9:8.3f} s CPU{note}",
              flush=True)

    def workload(self, workload, size, chosen, rounds, slow):
        chosen = [tool for tool in chosen if not workload.tools or tool.name in workload.tools]
        fast = [tool for tool in chosen if not tool.slow]
        fast.insert(len(fast) // 2 + 1, tools.TOOLS[0])  # the base decides every difference: twice
        self.count(workload, size)
        for number in range(rounds):
            for tool in fast:
                self.one(workload, size, tool, number)
        slow_tools = [tool for tool in chosen if tool.slow]
        if not slow or not slow_tools:
            return
        self.count(workload, "small")
        for number in range(SLOW_RUNS):
            for tool in [tools.TOOLS[0], *slow_tools]:
                self.one(workload, "small", tool, number)

    def check(self, workload):
        """One recording with every stack walked twice, and its counts next to the counting library's."""
        self.count(workload, "small")
        tool = next(tool for tool in tools.TOOLS if tool.name == "memtape, library only")
        out = tempfile.mkdtemp(dir=self.ws.root, prefix="out-")
        words = [*tool.wrap(self.build, out), "MEMTAPE_SELFCHECK=1"]
        shutil.rmtree(self.run(workload, "small", tool, words=words)[0])
        tape = tools.files_left(out)[0]
        with open(tape, "rb") as file:
            walked, different = struct.unpack_from("2Q", file.read(512), SELFCHECK_AT)
        done = subprocess.run([tools.memtape(self.build), "report", tape, "summary", "--json"], capture_output=True, text=True)
        summary = json.loads(done.stdout)
        shutil.rmtree(out)
        self.checks.append({"workload": workload.name, "walked": walked, "different": different,
                            "counted": self.counts[f"{workload.name}/small"], "allocations": summary["allocations"]["count"],
                            "frees": summary["frees"]["count"], "reallocs": summary["reallocs"]})

    def startup(self, chosen, rounds):
        empty = workloads.Workload("true", "an empty program", {"full": 0}, lambda ws, n: ["/bin/true"],
                                   lambda ws: os.path.realpath("/bin/true"))
        self.count(empty, "full")
        for number in range(rounds):
            for tool in chosen:
                if not tool.slow:
                    out, figures = self.run(empty, "full", tool, tool.memory_mib)
                    shutil.rmtree(out)
                    self.runs.append({"workload": "true", "size": "full", "tool": tool.name, "round": number, **figures,
                                      "disk_bytes": 0, "file_bytes": 0})


def choose(names, build):
    chosen = []
    for tool in tools.TOOLS:
        if names and tool.name != "none" and not any(name in tool.name for name in names):
            continue
        lacking = tools.missing(tool, build)
        if lacking:
            print(f"without {tool.name}: no {lacking}", file=sys.stderr)
        else:
            chosen.append(tool)
    return chosen


def wanted(args):
    known = workloads.everything()
    if not args.only:
        return known
    return [workload for name in args.only for workload in known if workload.name.startswith(name)]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a third of the work, two runs, few slow tools: 4 minutes")
    parser.add_argument("--only", action="append", metavar="WORKLOAD", help="only workloads whose name begins so, in this order")
    parser.add_argument("--tools", metavar="NAMES", help="only tools whose names contain one of these, comma-separated")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each (5; 2 with --quick)")
    parser.add_argument("--out", metavar="FILE", help="the Markdown file (default: bench/results/DATE.md)")
    parser.add_argument("--prefix", "--build", dest="build", default=os.path.join(HERE, "..", "build"), metavar="DIR",
                        help="where memtape is: an installation or a build directory")
    parser.add_argument("--tmp", default=None, metavar="DIR", help="where tapes and inputs go")
    parser.add_argument("--timeout", type=int, default=120, metavar="S", help="limit of one run")
    return parser.parse_args()


def save(bench, args, size, rounds, begin):
    """After every workload, so that a bench that is stopped leaves what it has."""
    raw = {"machine": bench.machine, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begin)),
           "seconds": round(time.time() - begin), "size": size, "rounds": rounds, "counts": bench.counts, "runs": bench.runs,
           "reports": bench.reports, "checks": bench.checks}
    with open(os.path.splitext(args.out)[0] + ".json", "w") as file:
        file.write(json.dumps(raw, separators=(",", ":")).replace("},{", "},\n{") + "\n")
    text = results.markdown(raw)
    with open(args.out, "w") as file:
        file.write(text)
    return text


def main():
    args = options()
    size, rounds = ("quick", args.runs or 2) if args.quick else ("full", args.runs or 5)
    chosen = choose([name.strip() for name in args.tools.split(",")] if args.tools else [], args.build)
    args.out = args.out or os.path.join(HERE, "results", time.strftime("%Y-%m-%d") + ("-quick" if args.quick else "") + ".md")
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    begin = time.time()
    with tempfile.TemporaryDirectory(dir=args.tmp, prefix="memtape-bench-") as root:
        bench = Bench(args.build, root, args.timeout)
        if not args.only or "true" in args.only:
            bench.startup(chosen, STARTUP_RUNS)
        for workload in wanted(args):
            slow = not workload.micro or workload.name in ("depth 20", "threads 2")
            bench.workload(workload, size, chosen, rounds, slow and not (args.quick and workload.name != "python3"))
            if results.LIBRARY in {tool.name for tool in chosen} and not workload.tools:
                bench.check(workload)
            save(bench, args, size, rounds, begin)
        text = save(bench, args, size, rounds, begin)
    print(text)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()
