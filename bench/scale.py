#!/usr/bin/env python3
"""How the cost of recording grows: with depth, live blocks, threads, stacks, libraries, length.

    scale.py [--quick] [--runs N] [--out FILE] [--prefix DIR] [--tools NAMES]

CPU of everything, added per event, is measured at several sizes of each; the exponent is the slope
of a line through the points with both axes logarithmic: 0 does not grow, 1 is proportional. Runs of
the tools are interleaved, figures are medians. Writes a table (.md), the figures (.json) and a
picture (.svg).
"""
import argparse
import json
import math
import os
import statistics
import tempfile
import time

import results
import run
import tools
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
COLOURS = ("#1b6ca8", "#c2571a", "#5a7d2a", "#7a4fa3")


def kinds(quick):
    """Name, what the axis says, and for each size (size, program and its arguments, pairs)."""
    pairs = 300_000 if quick else 1_000_000
    million = 1_000_000

    def sizes(values, program, before=(), after=(), count=pairs):
        return [(value, [program, *map(str, before), str(value), *map(str, after)], count) for value in values]

    yield "depth", "frames", sizes((5, 10, 20, 50, 100, 200, 400), "depth")
    yield "depth, freed near main", "frames", [(value, ["shapes", "shallow", str(value), "100"], pairs // 2)
                                               for value in (16, 30, 50, 100, 200, 400)]
    yield "live blocks", "blocks", sizes((100, 1000, 10_000, 100_000, million), "live")
    # Its work is done in rounds of 25,000 pairs a thread.
    yield "threads", "threads", sizes((1, 2, 4, 8) if quick else (1, 2, 4, 8, 16, 32, 64), "threads", count=max(pairs, 1_600_000))
    yield "stacks", "different stacks", [(value, ["shapes", "shallow", "40", str(value)], pairs // 2)
                                         for value in (10, 100, 1000, 10_000, 100_000, million)]
    yield "libraries", "loaded and unloaded", sizes((1, 10, 100, 1000), "loads")
    lengths = (million // 10, million // 2, million) if quick else (million // 2, 5 * million, 50 * million, 500 * million)
    yield "length", "pairs", [(value, ["pairs"], value) for value in lengths]


def exponent(points):
    """Least squares of log y over log x; NaN where there is nothing to see."""
    points = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(points) < 2:
        return math.nan
    mean_x, mean_y = (statistics.mean(axis) for axis in zip(*points))
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else math.nan


def measure(bench, kind, chosen, rounds):
    name, unit, sizes = kind
    rows = []
    for size, words, pairs in sizes:
        workload = workloads.micro(f"{name} {size}", "", words[0], *words[1:], pairs=pairs)
        spent = {tool.name: [] for tool in chosen}
        tape_bytes = {}
        bench.count(workload, "full")
        events = bench.counts[f"{workload.name}/full"]["events"]
        for _ in range(rounds):
            for tool in chosen:
                out, figures = bench.run(workload, "full", tool, tool.memory_mib)
                if figures["status"] or figures["timed_out"]:
                    continue
                spent[tool.name].append(figures["user_ns"] + figures["system_ns"])
                tape_bytes[tool.name] = sum(os.path.getsize(file) for file in tools.files_left(out))
        base = statistics.median(spent["none"])
        added = {tool: (statistics.median(values) - base) / events
                 for tool, values in spent.items() if values and tool != "none"}
        rows.append({"size": size, "events": events, "added_ns": added,
                     "bytes_per_event": {tool: count / events for tool, count in tape_bytes.items() if tool != "none"}})
        print(f"{name:24} {size:>9} " + "  ".join(f"{tool}: {ns:.0f} ns" for tool, ns in added.items()), flush=True)
    return {"name": name, "unit": unit, "rows": rows}


def series(kind, tool):
    return [(row["size"], row["added_ns"][tool]) for row in kind["rows"] if row["added_ns"].get(tool, 0) > 0]


def number(value):
    for unit, factor in (("M", 1_000_000), ("k", 1000)):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g}"


def table(kinds_measured, names):
    for kind in kinds_measured:
        yield f"\n### {kind['name']}\n"
        yield f"| {kind['unit']} | events | " + " | ".join(f"{name}, ns | bytes" for name in names) + " |"
        yield "|---:|---:|" + "---:|---:|" * len(names)
        for row in kind["rows"]:
            cells = []
            for name in names:
                ns, size = row["added_ns"].get(name), row["bytes_per_event"].get(name)
                cells += ["failed" if ns is None else f"{ns:.0f}", "" if size is None else f"{size:.2f}"]
            yield f"| {number(row['size'])} | {number(row['events'])} | " + " | ".join(cells) + " |"
        yield f"| exponent | | " + " | ".join(f"**{exponent(series(kind, name)):.2f}** | " for name in names) + " |"


PANEL_W, PANEL_H, LEFT, TOP, GAP = 210, 150, 54, 58, 46


def panel(kind, names, x, y, low, high):
    sizes = [row["size"] for row in kind["rows"]]
    first, last = math.log10(min(sizes)), math.log10(max(sizes))
    place = lambda size, ns: (x + (math.log10(size) - first) / (last - first or 1) * PANEL_W,
                              y + PANEL_H - (math.log10(ns) - low) / (high - low) * PANEL_H)
    yield f'<text x="{x}" y="{y - 8}" class="title">{kind["name"]}</text>'
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = place(sizes[0], 10 ** power)[1]
        yield f'<line x1="{x}" x2="{x + PANEL_W}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>'
        yield f'<text x="{x - 6}" y="{at + 4:.1f}" class="tick" text-anchor="end">{number(10 ** power)}</text>'
    for i, size in enumerate((sizes[0], sizes[-1])):
        yield (f'<text x="{place(size, 10 ** low)[0]:.1f}" y="{y + PANEL_H + 16}" class="tick" '
               f'text-anchor="{"end" if i else "start"}">{number(size)}{" " + kind["unit"] if i else ""}</text>')
    for name, colour in zip(names, COLOURS):
        points = [place(size, ns) for size, ns in series(kind, name)]
        if not points:
            continue
        yield f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points)


def picture(kinds_measured, names):
    """Small multiples, one scale for all: what grows is seen to grow."""
    values = [ns for kind in kinds_measured for name in names for _, ns in series(kind, name)]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
    columns = 4
    rows = -(-len(kinds_measured) // columns)
    width = LEFT + columns * (PANEL_W + GAP)
    height = TOP + rows * (PANEL_H + GAP + 14)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12"><style>.grid{stroke:#d8d8d8}.tick{fill:#555;font-size:11px}'
           '.title{font-weight:bold}</style><rect width="100%" height="100%" fill="#fff"/>')
    yield '<text x="14" y="20">CPU added per event, ns</text>'
    at = 190
    for name, colour in zip(names, COLOURS):
        yield f'<rect x="{at}" y="10" width="12" height="12" fill="{colour}"/><text x="{at + 17}" y="20">{name}</text>'
        at += 40 + 7 * len(name)
    for i, kind in enumerate(kinds_measured):
        yield from panel(kind, names, LEFT + i % columns * (PANEL_W + GAP), TOP + i // columns * (PANEL_H + GAP + 14), low, high)
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", default="build/prefix")
    parser.add_argument("--quick", action="store_true", help="less work, one run of each")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--tools", default="memtape --no-summary,memtape --no-summary --no-free-stacks,heaptrack")
    parser.add_argument("--only", help="one of the kinds")
    parser.add_argument("--out", help="the table; .json and .svg go beside it")
    options = parser.parse_args()
    wanted = [name.strip() for name in options.tools.split(",")]
    chosen = [tool for tool in tools.TOOLS if tool.name in ("none", *wanted) and not tools.missing(tool, options.prefix)]
    names = [tool.name for tool in chosen if tool.name != "none"]
    out = options.out or os.path.join(HERE, "results", f"scale-{time.strftime('%Y-%m-%d')}.md")
    with tempfile.TemporaryDirectory(prefix="memtape-scale-") as root:
        bench = run.Bench(options.prefix, root, 600)
        measured = [measure(bench, kind, chosen, options.runs or (1 if options.quick else 3))
                    for kind in kinds(options.quick) if options.only in (None, kind[0])]
    lines = ["# How the cost of recording grows", "", "`./dev bench scale`: CPU of everything, added per event, and bytes of the tape.",
             "", ", ".join(f"{key}: {value}" for key, value in bench.machine.items() if value), *table(measured, names), ""]
    with open(out, "w") as file:
        file.write("\n".join(lines))
    with open(os.path.splitext(out)[0] + ".json", "w") as file:
        json.dump({"machine": bench.machine, "kinds": measured}, file, indent=1)
    with open(os.path.splitext(out)[0] + ".svg", "w") as file:
        file.write("\n".join(picture(measured, names)) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
