#!/usr/bin/env python3
"""What a user of the web app waits for, on a tape of 10^8 events with two million nodes of call tree.

    app.py [--events N] [--tape FILE] [--runs N] [--timeout TIME] [--out FILE] [--prefix DIR] [--dist DIR]

Records programs/events.c, makes the index, and goes over the app's pages in Chromium (app.mjs), each run with a server that has
just started. With --tape the tape is taken from there, and made there if it is not: to measure again without recording.
Every figure is the least of the runs, with their median behind it. Nothing is asserted; the table says what the bar is.
"""
import argparse
import datetime
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import results

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = ["8", "20", "3"]  # threads, levels, turns: at 10^8 events 2.5 million nodes
ENDPOINTS = [  # path, of what, bar in ms for 10^8 events
    ("info", "", None), ("tape", "", None), ("summary", "", None), ("summary", "range", 150), ("summary", "filter", 2000), ("findings", "", None),
    ("curves", "", 5), ("curves", "filter", None), ("flame", "", 50), ("flame", "range", 150), ("flame", "filter", 2000),
    ("frame", "", None), ("tree", "", None), ("sites", "", 20), ("sites", "range", 150), ("sites", "filter", 2000), ("allocs", "", 20),
    ("allocs", "later", 20), ("allocs", "filter", 2000), ("grid", "", None), ("grid", "range", None), ("grid", "filter", None),
    ("source", "", 10), ("files", "", None), ("report", "", None), ("space", "", None),
]


def percentile(values, share):
    values = sorted(value for value in values if value is not None)
    return values[min(len(values) - 1, int(len(values) * share))]


def dist_bytes(folder):
    """As they travel: compressed, but for fonts, which are."""
    files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.parent.name != "report"]  # for files, not served
    return sum(p.stat().st_size if p.suffix == ".woff2" else len(gzip.compress(p.read_bytes(), 9)) for p in files)


def memory(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1]) << 10 for name in ("VmRSS", "VmHWM", "RssAnon")}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.memtape = os.path.join(options.prefix, "bin/memtape")
        self.env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
        self.tape = os.path.abspath(options.tape or os.path.join(folder, "events.mtape"))
        if not os.path.exists(self.tape):
            self.record(os.path.join(folder, "events"))
        subprocess.run([self.memtape, "index", "-q", self.tape], check=True, env=self.env)

    def record(self, program):
        subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", program, HERE / "programs/events.c"], check=True)
        subprocess.run([self.memtape, "record", "-q", "-f", "--no-summary", "-o", self.tape, program, str(self.options.events), *PROGRAM],
                       check=True, stdout=subprocess.DEVNULL)

    def run(self, number):
        """One pass of the browser over a new server."""
        server = subprocess.Popen([self.memtape, "serve", "--json", "--timeout", self.options.timeout, self.tape], stdout=subprocess.PIPE,
                                  text=True, env=self.env)
        try:
            url = json.loads(server.stdout.readline())["url"]
            idle = memory(server.pid)
            chromium = next(path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path)
            done = subprocess.run(["node", HERE / "app.mjs", str(number)], check=True, stdout=subprocess.PIPE, text=True,
                                  env=dict(self.env, MEMTAPE_URL=url, MEMTAPE_WEB=self.options.web, CHROMIUM=chromium))
            result = json.loads(done.stdout)
            result["server"] = {"idle": idle, "after": memory(server.pid)}
            result["load"] = os.getloadavg()[0]
            return result
        finally:
            server.terminate()
            server.wait(30)


# --- the table ------------------------------------------------------------------------------------

def verdict(least, bar):
    return "" if bar is None else "met" if least <= bar else "**not met**"


def shown(values, unit="ms", digits=0):
    return f"{min(values):,.{digits}f} {unit} ({statistics.median(values):,.{digits}f})"


def row(what, values, bar, bar_text=None, unit="ms", digits=0):
    """values: one of each run."""
    return [what, shown(values, unit, digits), bar_text or (f"{bar:,} {unit}" if bar is not None else ""), verdict(min(values), bar)]


def waits(runs):
    of = lambda take: [take(run) for run in runs]
    yield row("first content, the tab opened again", of(lambda r: r["content"][1]["content"]), 300)
    yield row("first content, the server just started", of(lambda r: r["content"][0]["content"]), None)
    yield row("everything of the Overview, the server just started", of(lambda r: r["content"][0]["whole"]), None)
    yield row("zoom of the flame graph until the server's boxes are drawn, p95", of(lambda r: percentile(r["zoom"], .95)), 100)
    yield row("the same, p50", of(lambda r: percentile(r["zoom"], .5)), None)
    yield row("input to next paint, p95", of(lambda r: percentile(r["waits"] or [0], .95)), 50)
    yield row("longest task of a page's script", of(lambda r: max(r["tasks"] or [0])), 100)
    yield row("brushing a range until the tiles are new, p50", of(lambda r: percentile(r["brush"]["overview"], .5)), None)
    yield row("brushing a range until the flame graph is new, p50", of(lambda r: percentile(r["brush"]["flame"], .5)), 150)


def frames(runs):
    rows = f"{runs[0]['rows']:,} rows"
    for name, what in (("lines", "a row a frame"), ("pages", "a page a frame"), ("far", "thousands of rows a frame")):
        fps = [run["scroll"][name]["fps"] for run in runs]
        late = statistics.median(run["scroll"][name]["p95"] for run in runs)
        empty = statistics.median(run["scroll"][name]["empty"] for run in runs)
        bar = "60 a second" if name == "lines" else ""
        yield [f"Allocations, {rows}, scrolled by {what}", f"{max(fps):.0f} frames a second ({statistics.median(fps):.0f}); 95 % within {late:.0f} ms; "
               f"{empty * 100:.0f} % waited for rows", bar, (("met" if max(fps) >= 59 else "**not met**") if bar else "")]


def sizes(runs, bundle):
    mib = lambda take: [take(run) / 2**20 for run in runs]
    yield row("JS heap after all pages, garbage collected", mib(lambda r: r["heap"]["kept"]), 40, unit="MiB", digits=1)
    yield row("JS heap at its largest, garbage and all", mib(lambda r: r["heap"]["most"]), None, unit="MiB", digits=1)
    yield ["the app, compressed, with fonts", f"{bundle / 1024:.1f} KiB", "190 KiB", verdict(bundle, 190 << 10)]
    yield row("server: anonymous memory before any question", mib(lambda r: r["server"]["idle"]["RssAnon"]), None, unit="MiB")
    yield row("server: anonymous memory after all", mib(lambda r: r["server"]["after"]["RssAnon"]), None, unit="MiB")
    yield row("server: resident after all, with the mapped index", mib(lambda r: r["server"]["after"]["VmRSS"]), None, unit="MiB")


def kind_of(answer):
    return "filter" if answer["filter"] else "range" if answer["range"] else "later" if answer["later"] else ""


def answers(runs):
    """Of each run p50 and p95; what was given up by the page (it asked for something else) has no status."""
    for path, kind, bar in ENDPOINTS:
        times = [[a["ms"] for a in run["answers"] if a["path"] == path and kind_of(a) == kind and a["status"] == 200] for run in runs]
        times = [of_run for of_run in times if of_run]
        if not times:
            continue
        middle, late = ([percentile(of_run, share) for of_run in times] for share in (.5, .95))
        yield [f"{path}{', of a ' + kind if kind in ('range',) else ', with a filter' if kind == 'filter' else ', further rows' if kind else ''}",
               f"{statistics.median(map(len, times)):.0f}", shown(middle), shown(late), f"{bar} ms" if bar else "", verdict(min(middle), bar)]
    late = sum(1 for run in runs for a in run["answers"] if a["status"] == 200 and a["ms"] > 5000)
    yield ["took longer than the 5 s that memtape serve gives if not told", str(late), "", "", "0", verdict(late, 0)]
    failed = sum(1 for run in runs for a in run["answers"] if a["status"] >= 400)
    yield ["refused or failed", str(failed), "", "", "0", verdict(failed, 0)]


def pages(runs):
    for name in runs[0]["pages"]:
        yield row(name, [run["pages"][name] for run in runs], None)[:2]


def markdown(raw):
    runs, machine = raw["runs"], raw["machine"]
    head = [f"* {key}: {machine[key]}" for key in ("CPU", "memory", "kernel", "memtape")]
    head += [f"* Chromium: {runs[0]['chromium']}, headless, pictures by the processor",
             f"* tape: {raw['events']:,} events, {raw['tape_bytes'] / 2**20:,.0f} MiB, index {raw['index_bytes'] / 2**20:,.0f} MiB",
             f"* load when it began: {raw['load']:.1f}; after each run: {', '.join(format(run['load'], '.1f') for run in runs)}\n"]
    return "\n".join([
        "# What a user of the app waits for\n", *head,
        f"The least of {len(runs)} runs, and the median in parentheses. The browser shares the processors with the server. Without the flame graph's "
        f"animation. A question may take {raw['timeout']}.\n",
        results.table(["what", "measured", "bar", ""], [*waits(runs), *frames(runs), *sizes(runs, raw["bundle_bytes"])]),
        "## The server's answers, as the browser saw them\n", "The bars are for 10^8 events. The first of a kind finds out what the others use again.\n",
        results.table(["endpoint", "answers", "p50", "p95", "bar", ""], answers(runs)),
        "## From choosing a page until it is complete\n", results.table(["page", "measured"], pages(runs))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=lambda text: int(float(text)), default=10**8)
    parser.add_argument("--tape")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", default="60s", help="of a question, as for memtape serve, whose own is 5s")
    parser.add_argument("--out", default=str(HERE / f"results/app-{datetime.date.today()}.md"))
    parser.add_argument("--prefix", default=str(HERE.parent / "build/prefix"))
    parser.add_argument("--dist", default=str(HERE.parent / "build/gcc/web/dist"))
    parser.add_argument("--web", default=str(HERE.parent / "web"))
    options = parser.parse_args()
    options.prefix = os.path.abspath(options.prefix)
    subprocess.run([sys.executable, HERE.parent / "tools/build_web.py", "--web", options.web, "--full", "--modules-only"], check=True)
    with tempfile.TemporaryDirectory(prefix="memtape-app-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        if not options.tape and shutil.disk_usage(folder).free < options.events * 60:
            raise SystemExit(f"{folder} has less than {options.events * 60 >> 20:,} MiB of room; TMPDIR=DIR names another")
        load = os.getloadavg()[0]
        bench = Bench(options, folder)
        raw = {"machine": results.machine(options.prefix), "date": str(datetime.date.today()), "load": load, "timeout": options.timeout,
               "events": options.events, "tape_bytes": os.path.getsize(bench.tape), "index_bytes": os.path.getsize(bench.tape + ".index"),
               "bundle_bytes": dist_bytes(options.dist), "runs": []}
        for number in range(1, options.runs + 1):
            raw["runs"].append(bench.run(number))
            print(f"run {number} of {options.runs}: done, load {raw['runs'][-1]['load']:.1f}", file=sys.stderr)
    pathlib.Path(options.out).with_suffix(".json").write_text(json.dumps(raw) + "\n")
    pathlib.Path(options.out).write_text(markdown(raw))
    print(f"written to {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
