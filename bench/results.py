#!/usr/bin/env python3
"""From raw figures to the Markdown file: medians, ratios, bars.

    results.py RAW.json     prints the Markdown again
"""
import json
import os
import platform
import statistics
import subprocess
import sys

import tools
import workloads

MEMTAPE, RECORDING, PARTIAL = "memtape", "memtape --no-summary", "memtape --no-summary --no-free-stacks"
LIBRARY, LIBRARY_PARTIAL = "memtape, library only", "memtape, library only, no free stacks"
HEAPTRACK, RAW, MEMUSAGE = "heaptrack", "heaptrack -r", "memusage"
MEMUSAGE_COMMAND, OUR_MEMUSAGE = "memusage, the command", "memtape memusage"
BIG = 990_000  # "a million": paths keep the last 4,096 of their blocks
PROGRAM_NAMES = {workload.name for workload in workloads.everything() if not workload.micro}


def first_line(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10)
        return (done.stdout or done.stderr).strip().split("\n")[0]
    except OSError:
        return "not here"


def machine(build):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory_kib = int(open("/proc/meminfo").readline().split()[1])
    virtual = "hypervisor" in open("/proc/cpuinfo").read()
    return {
        "CPU": f"{os.cpu_count()} x {cpu}{', virtual machine' if virtual else ''}", "memory": f"{memory_kib / 2**20:.0f} GiB",
        "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
        "memtape": first_line("git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"),
        "heaptrack": first_line("heaptrack", "--version"), "valgrind": first_line("valgrind", "--version"),
        "gcc": first_line("gcc", "--version"), "clang": first_line("clang-14", "--version"),
        "python3": first_line("/usr/bin/python3", "--version"), "sqlite3": first_line("sqlite3", "--version")[:6],
        "redis": first_line("redis-server", "--version"), "git": first_line("git", "--version"),
        "perl": first_line("perl", "-e", "print $^V")}


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def target_rss_kib(run):
    """Sampling misses the shortest runs; where one process is all there is, the kernel's figure is as good."""
    return max(run["target_rss_kib"], run["largest_rss_kib"] if run["other_rss_kib"] < 4096 else 0)


class Figures:
    """Medians by (workload, size, tool). Failed runs do not count; a cell without runs is None."""

    def __init__(self, raw):
        self.raw = raw
        self.size = raw["size"]

    def runs(self, workload, tool, size=None):
        size = size or ("full" if workload == "true" else self.size)
        return [run for run in self.raw["runs"] if (run["workload"], run["tool"], run["size"]) == (workload, tool, size)]

    def good(self, workload, tool, size=None):
        return [run for run in self.runs(workload, tool, size) if not run["status"] and not run["timed_out"]]

    def median(self, workload, tool, key, size=None):
        return median([key(run) for run in self.good(workload, tool, size)])

    def cpu_ns(self, workload, tool, size=None):
        return self.median(workload, tool, cpu, size)

    def events(self, workload, size=None):
        return self.raw["counts"][f"{workload}/{size or self.size}"]["events"]

    def names(self):
        return [w for w in dict.fromkeys(run["workload"] for run in self.raw["runs"]) if w != "true"]

    def threshold(self):
        return BIG if self.size == "full" else BIG // 4

    def big(self):
        return [name for name in self.names() if self.events(name) >= self.threshold() and not name.startswith("calls")]

    def tool_names(self):
        present = {run["tool"] for run in self.raw["runs"]}
        return [tool.name for tool in tools.TOOLS if tool.name in present]

    def added_ns(self, workload, tool, size=None):
        """CPU added per event, collectors and interpreters included."""
        base, with_tool = self.cpu_ns(workload, "none", size), self.cpu_ns(workload, tool, size)
        return (with_tool - base) / self.events(workload, size) if base and with_tool else None

    def added_range(self, workload, tool, size=None):
        base, runs = self.cpu_ns(workload, "none", size), self.good(workload, tool, size)
        values = [(cpu(run) - base) / self.events(workload, size) for run in runs] if base else []
        return (min(values), max(values)) if values else None

    def target_ns(self, workload, tool):
        """CPU added per event inside the target process alone (sampled, in steps of 10 ms)."""
        base = self.cpu_ns(workload, "none")
        inside = self.median(workload, tool, lambda run: run["target_cpu_ns"])
        return (inside - base) / self.events(workload) if base and inside else None

    def report(self, workload, tool):
        return next((r for r in self.raw["reports"] if (r["workload"], r["tool"], r["size"]) == (workload, tool, self.size)
                     and not r["status"]), None)


def cpu(run):
    return run["user_ns"] + run["system_ns"]


def number(value, unit="", digits=None):
    if value is None:
        return "-"
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def failure(runs):
    if not runs:
        return "-"
    return "timed out" if runs[0]["timed_out"] else f"failed ({runs[0]['status']})"


def overview(f):
    """CPU added per event: workloads down, tools across."""
    names = f.tool_names()
    slow = {tool.name for tool in tools.TOOLS if tool.slow}
    rows = []
    for workload in f.names():
        counts = f.raw["counts"][f"{workload}/{f.size}"]
        row = [workload, f"{counts['events'] / 1e6:.2f} M", f"{counts['depth']:.0f}", number(f.cpu_ns(workload, "none") / 1e9, " s")]
        for tool in names[1:]:
            size = "small" if tool in slow else None
            added, times = f.added_ns(workload, tool, size), ratio(f.cpu_ns(workload, tool, size), f.cpu_ns(workload, "none", size))
            row.append(f"{number(added, digits=0)} ({number(times, 'x')})" if added is not None else failure(f.runs(workload, tool, size)))
        rows.append(row)
    return table(["workload", "events", "depth", "CPU alone", *(f"{n} \\*" if n in slow else n for n in names[1:])], rows)


def detail(f, workload):
    rows = []
    base = f.good(workload, "none")
    if not base:
        return "failed without any tool\n"
    base_rss, base_wall = f.median(workload, "none", target_rss_kib), median([run["wall_ns"] for run in base])
    for tool in f.tool_names():
        if not f.runs(workload, tool):
            continue
        if not f.good(workload, tool):
            rows.append([tool, failure(f.runs(workload, tool))] + [""] * 10)
            continue
        med = lambda key: f.median(workload, tool, lambda run: run[key])
        spread, report = f.added_range(workload, tool), f.report(workload, tool)
        added = f.added_ns(workload, tool)
        rows.append([
            tool, number(f.cpu_ns(workload, tool) / 1e9, " s"), number(ratio(f.cpu_ns(workload, tool), f.cpu_ns(workload, "none")), "x"),
            number(ratio(med("wall_ns"), base_wall), "x"),
            f"{number(added, digits=0)} ({spread[0]:.0f}-{spread[1]:.0f})" if tool != "none" else "",
            number(f.target_ns(workload, tool), digits=0) if tool != "none" else "",
            number(ratio(added, f.added_ns(workload, HEAPTRACK))) if tool != "none" else "",
            number(ratio(added, f.added_ns(workload, RAW))) if tool != "none" else "",
            number((f.median(workload, tool, target_rss_kib) - base_rss) / 1024, digits=1) if tool != "none" else number(base_rss / 1024, digits=1),
            number(med("other_rss_kib") / 1024, digits=0) if tool != "none" else "",
            number(med("file_bytes") / f.events(workload)) if med("file_bytes") else "",
            f"{number(report['wall_ns'] / 1e9, ' s')}, {number(max(report['target_rss_kib'], report['largest_rss_kib']) / 1024, digits=0)} MiB"
            if report else ""])
    return table(["tool", "CPU", "CPU x", "wall x", "ns/event added (min-max)", "of it in the target", "of heaptrack", "of heaptrack -r",
                  "target RSS + MiB", "largest other RSS MiB", "bytes/event on disk", "first report"], rows)


def startup(f):
    rows = []
    for tool in f.tool_names():
        runs = f.good("true", tool)
        if runs:
            walls = sorted(run["wall_ns"] / 1e6 for run in runs)
            rows.append([tool, number(median(walls)), f"{walls[0]:.1f}-{walls[-1]:.1f}", number(f.cpu_ns("true", tool) / 1e6),
                         number(f.median("true", tool, target_rss_kib) / 1024)])
    return table(["tool", "wall ms", "min-max", "CPU ms", "target RSS MiB"], rows)


def verdict(measured, bar, digits=2, unit="", below=True):
    if measured is None:
        return "not measured", "-"
    return number(measured, unit, digits), "met" if (measured <= bar) == below else "**not met**"


def compare_rows(f, tool, label, peer, everywhere, middle=None):
    """The bars of one tool against one peer: worst workload and median workload."""
    ratios = {w: ratio(f.added_ns(w, tool), f.added_ns(w, peer)) for w in f.big()}
    ratios = {w: r for w, r in ratios.items() if r is not None}
    worst = max(ratios, key=ratios.get, default=None)
    shown, met = verdict(ratios.get(worst), everywhere)
    yield [f"CPU added per event, {label}, against {peer}: everywhere", f"<= {number(everywhere)}", f"{shown} (worst: {worst})", met]
    if middle:
        shown, met = verdict(median(ratios.values()), middle)
        yield [f"the same, median of {len(ratios)} workloads", f"<= {number(middle, digits=3)}", shown, met]
        real = [value for name, value in ratios.items() if name in PROGRAM_NAMES]
        shown, met = verdict(median(real), middle)
        yield [f"the same, median of the {len(real)} real programs", f"<= {number(middle, digits=3)}", shown, met]


def simple_row(what, bar_text, measured, bar, unit="", digits=2, extra=""):
    shown, met = verdict(measured, bar, digits, unit)
    return [what, bar_text, shown + extra, met]


def slowdown_rows(f):
    for workload in ("python3", "sqlite3"):
        if workload in f.names():
            base = f.cpu_ns(workload, "none")
            yield simple_row(f"slowdown of {workload}, recording with default settings", "<= 2.3x",
                             ratio(f.cpu_ns(workload, RECORDING), base), 2.3, "x")
            inside = f.median(workload, PARTIAL, lambda run: run["target_cpu_ns"])
            yield simple_row(f"slowdown of {workload}, --no-free-stacks, in the target (collector beside)", "<= 1.8x", ratio(inside, base),
                             1.8, "x")
            yield simple_row(f"slowdown of {workload}, no free stacks, library alone", "<= 1.8x",
                             ratio(f.cpu_ns(workload, LIBRARY_PARTIAL), base), 1.8, "x")


def inside_rows(f):
    usage = median([f.added_ns(w, MEMUSAGE) for w in f.big()])
    for label, values in (("collector beside", [f.target_ns(w, PARTIAL) for w in f.big()]),
                          ("library alone", [f.added_ns(w, LIBRARY_PARTIAL) for w in f.big()])):
        shown, met = verdict(ratio(median(values), usage), 5, 1, "x")
        extra = f" ({number(median(values), ' ns')} against {number(usage, ' ns')})" if usage and median(values) else ""
        yield [f"no free stacks, in the target, {label}, medians against memusage", "<= 5x", shown + extra, met]


def micro_rows(f):
    for tool in (RECORDING, LIBRARY):
        yield simple_row(f"scaling: ns per event at 8 threads against 1, {tool}", "<= 1.3x",
                         ratio(f.added_ns("threads 8", tool), f.added_ns("threads 1", tool)) if "threads 8" in f.names() else None, 1.3, "x")
    for tool in (RECORDING, LIBRARY):
        yield simple_row(f"depth: ns per event at 200 against 20, {tool}", "<= 2.5x",
                         ratio(f.added_ns("depth 200", tool), f.added_ns("depth 20", tool)) if "depth 200" in f.names() else None, 2.5, "x")


def memusage_rows(f):
    """Start, collector and summary count, too."""
    ours = {w: f.added_ns(w, OUR_MEMUSAGE) for w in ("pairs", "calls 1", "calls 2", "calls 8") if w in f.names()}
    for tool, what in ((MEMUSAGE_COMMAND, "glibc's memusage"), (MEMUSAGE, "glibc's libmemusage.so, preloaded by hand")):
        for workload, value in ours.items():
            yield simple_row(f"{workload}: ns per event of memtape memusage, summary included, against {what}", "<= 1x",
                             ratio(value, f.added_ns(workload, tool)), 1, "x")
    if ours.get("calls 8"):
        yield simple_row("scaling: ns per event at 8 threads against 1, memtape memusage", "<= 1.3x",
                         ratio(ours["calls 8"], ours.get("calls 1")), 1.3, "x")


def size_rows(f):
    over = {}
    for w in f.names():
        base, got = (f.median(w, t, target_rss_kib) for t in ("none", MEMTAPE))
        threads = f.median(w, "none", lambda run: run["target_threads"]) or 1
        if base and got:
            over[w] = (got - base) / 1024 - threads
    worst = max(over, key=over.get, default=None)
    yield simple_row("RSS added to the target, less 1 MiB per thread", "<= 8 MiB", over.get(worst), 8, " MiB", 1, f" (worst: {worst})")
    for tool, what in ((RECORDING, "RSS of the collector"), (MEMTAPE, "RSS of collector and summary (not a bar)")):
        rss = {w: (f.median(w, tool, lambda run: run["other_rss_kib"]) or 0) / 1024 for w in f.names()}
        worst = max(rss, key=rss.get, default=None)
        yield simple_row(what, "<= 64 MiB", rss.get(worst) or None, 64, " MiB", 1, f" (worst: {worst})")
    tape = {w: ratio(f.median(w, MEMTAPE, lambda run: run["file_bytes"]), f.events(w)) for w in f.big()}
    tape = {w: value for w, value in tape.items() if value is not None}
    worst = max(tape, key=tape.get, default=None)
    yield simple_row("tape, bytes per event, median", "<= 3", median(tape.values()), 3)
    yield simple_row("tape, bytes per event, everywhere", "<= 8", tape.get(worst), 8, extra=f" (worst: {worst})")


def time_rows(f):
    tail = {w: ratio((f.median(w, MEMTAPE, lambda run: run["tail_ns"]) or 0) / 1e9, f.events(w) / 1e6) for w in f.big()
            if f.good(w, MEMTAPE)}
    worst = max(tail, key=tail.get, default=None)
    yield simple_row("from program exit to the summary, s per million events", "<= 0.03 s", tail.get(worst), 0.03, " s", 3, f" (worst: {worst})")
    for tool in (MEMTAPE, LIBRARY):
        base, got = (f.median("true", t, lambda run: run["wall_ns"]) for t in ("none", tool))
        yield simple_row(f"start-up cost of an empty program, {tool}", "<= 10 ms", (got - base) / 1e6 if base and got else None, 10, " ms", 1)


def check_rows(f):
    checks = f.raw["checks"]
    if checks:
        walked, different = (sum(check[key] for check in checks) for key in ("walked", "different"))
        yield [f"self-check: {walked:,} memoised stacks walked again by rules", "0 differ", f"{different:,}",
               "met" if not different else "**not met**"]


def checks(f):
    """Counts on the tape next to those of the bench's own counting library, on small inputs."""
    rows = []
    for check in f.raw["checks"]:
        counted = check["counted"]
        expected = [counted[key] + counted["reallocs"] for key in ("allocations", "frees")] + [counted["reallocs"]]
        found = [check[key] for key in ("allocations", "frees", "reallocs")]
        rows.append([check["workload"], *(f"{value:,}" for value in expected), *(f"{b - a:+d}" for a, b in zip(expected, found)),
                     f"{check['walked']:,}", f"{check['different']:,}"])
    return table(["workload", "allocations counted", "frees counted", "reallocs counted", "tape: allocations", "frees", "reallocs",
                  "stacks walked twice", "differ"], rows)


def bars(f):
    rows = []
    rows += compare_rows(f, RECORDING, "recording with default settings", HEAPTRACK, 1 / 5, 1 / 8)
    rows += compare_rows(f, RECORDING, "recording with default settings", RAW, 1 / 3, 1 / 5)
    rows += compare_rows(f, MEMTAPE, "recording and the summary at the end", HEAPTRACK, 1 / 5, 1 / 8)
    rows += compare_rows(f, MEMTAPE, "recording and the summary at the end", RAW, 1 / 3, 1 / 5)
    rows += compare_rows(f, PARTIAL, "--no-free-stacks", HEAPTRACK, 1 / 6)
    rows += compare_rows(f, PARTIAL, "--no-free-stacks", RAW, 1 / 4)
    for part in (inside_rows, slowdown_rows, micro_rows, memusage_rows, size_rows, time_rows, check_rows):
        rows += part(f)
    return table(["what", "bar", "measured", ""], rows)


def markdown(raw):
    f = Figures(raw)
    if not f.names():
        return "Nothing was measured.\n"
    known = {w.name: w.what for w in workloads.everything()}
    parts = [f"# memtape bench, {raw['date']}\n",
             "\n".join(f"* {key}: {value}" for key, value in raw["machine"].items()) + "\n",
             f"Size \"{raw['size']}\", {raw['rounds']} runs of each, interleaved; medians. The whole bench took {raw['seconds']} s.\n",
             "An event is one allocation or one free; a realloc is one. CPU is user and system time of everything the command "
             "started: collectors, interpreters and compressors count. Other programs may have shared the machine: trust ratios.\n",
             "## CPU added per event in ns (CPU in all, as a multiple)\n", overview(f),
             "\\* on a small input, one run, against that input's own base.\n", "## Bars\n",
             f"Over the workloads of at least {f.threshold():,} events: {', '.join(f.big())}.\n", bars(f), "## Start-up: /bin/true\n", startup(f),
             "## Counts and self-check\n", "A realloc is counted as a free and an allocation here, as on the tape.\n", checks(f)]
    for workload in f.names():
        parts += [f"## {workload}\n", f"{known.get(workload, '')}\n", detail(f, workload)]
    return "\n".join(parts)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(markdown(json.load(file)))
