"""/api/v1 answers what the reports answer, for the same filter: one engine. And whatever is left out of a
picture, its parts add up."""

import collections
import json
import random
import urllib.parse

import pytest

import oracle
import recording
from tape_writer import TapeWriter
from test_reading import write_shop
from test_serve_data import serve

# "shop" is written byte by byte: hostile names, blocks of no bytes, stacks that were cut short.
TARGETS = {"shop": None, "wander": ["wander-O0", 3, 150, 3], "marks": ["marks"], "threads": ["threads"],
           "exceptions": ["exceptions"]}
METRICS = {"peak": "peak", "leaked": "leaked", "allocated": "allocated", "count": "count",
           "temporary": "temporary"}
MEASURES = [*METRICS, "live", "leaked_count", "temporary_bytes", "wasted"]


class Api:
    def __init__(self, server, tape, rows):
        self.server, self.tape, self.rows = server, tape, rows
        self.random = random.Random(1)
        self.filters = oracle.Generator(self.random, rows)

    def get(self, what, **params):
        answer = self.server.json(f"/api/v1/{what}?{urllib.parse.urlencode(params)}")
        assert answer["gen"] == 0 and answer["ms"] >= 0
        return answer

    def error(self, what, code=400, **params):
        query = urllib.parse.urlencode(params)
        return json.loads(self.server.get(f"/api/v1/{what}?{query}", code)[1])["error"]

    def report(self, what, *options, **params):
        named = {"q": "--filter", "from": "--from", "until": "--until"}
        options = [str(o) for o in options]
        for name, value in params.items():
            options += [named[name], value]
        done = recording.run([recording.memtape(), "report", self.tape, *what.split(), "--json",
                              "--no-suppressions", *options])
        assert done.returncode == 0, (options, done.stderr.decode())
        return json.loads(done.stdout)

    def draw(self, count):
        """Questions about parts of the tape, and the predicates that say what is in them."""
        yield {}, lambda row: True
        end = self.rows.duration
        yield ({"from": f"{end // 5}ns", "until": f"{end // 2}ns"},
               lambda row: end // 5 <= row["time"] <= end // 2)
        for _ in range(count):
            text, test = self.filters.filter(2)
            yield {"q": text}, test


@pytest.fixture(scope="module", params=TARGETS)
def api(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    tape, out = folder / "the.mtape", folder / "the.json"
    if TARGETS[request.param]:
        name, *args = TARGETS[request.param]
        done = recording.run_recorded([recording.target(name), *args], tape, ["--no-summary"])
        assert tape.exists(), done.stderr
    else:
        write_shop(tape)
    done = recording.run([recording.memtape(), "export", tape, "--to", "json", "-o", out])
    assert done.returncode == 0, done.stderr
    # What is evaluated here knows no names: all that was never freed leaked (test_suppressions.py).
    with serve(tape, options=["--no-suppressions"]) as server:
        while server.json("/api/v1/info")["tapes"][0]["state"] == "loading":
            pass
        yield Api(server, tape, oracle.Exported(out))


def total(rows, size="size"):
    return {"bytes": sum(row[size] for row in rows), "count": len(rows)}


def test_summary(api):
    large = sorted({row["size"] for row in api.rows.rows if row["size"] >= 16384})
    parts = [({"q": f"size>={low} and size<={high}"},
              lambda row, low=low, high=high: low <= row["size"] <= high)
             for low, high in zip(large, large[2:])][-8:]
    for part, test in [*api.draw(recording.times(full=100, standard=8)), *parts]:
        rows = [row for row in api.rows.rows if test(row)]
        summary, overview = api.get("summary", **part), api.get("overview", **part)
        reported = api.report("summary", **part)
        assert {**summary, "gen": 0, "ms": 0} == {**reported, "gen": 0, "ms": 0}
        assert summary["allocations"] == total(rows)
        assert overview["wasted_bytes"] == sum(row["slack"] for row in rows)
        assert (overview["rss_peak"] or {"bytes": 0})["bytes"] == summary["rss_max_bytes"]
        if part:
            assert summary["failed"] is None
            assert overview["realloc_count"] == sum(row["realloc_of"] is not None for row in rows)
        else:
            assert overview["realloc_count"] == summary["reallocs"]
        sizes = sorted(row["size"] for row in rows)
        median = sizes[(len(sizes) - 1) // 2] if sizes else None
        assert overview["size_is_exact"] == (not sizes or median < 16384)
        if overview["size_is_exact"]:
            assert overview["size_p50"] == median
        else:
            assert median <= overview["size_p50"] <= median * 33 / 32
        spans = overview["spans"]
        assert len(spans) == 24
        assert spans[-1]["allocated_bytes"] == summary["allocations"]["bytes"]
        assert spans[-1]["leaked_bytes"] == summary["leaked"]["bytes"]
        assert sum(span["temporary_count"] for span in spans) == summary["temporary"]["count"]
        sites = api.report("groups", "--by", "function", "--top", 100000, **part)["groups"]
        assert overview["leaking_functions"] == sum(g["only_matched"]["leaked_count"] > 0 for g in sites)


def test_timeline(api):
    for part, _ in api.draw(recording.times(full=60, standard=6)):
        for cols in (1, 13, 600):
            mine = api.get("curves", points=cols, **part)
            theirs = api.report("timeline", "--points", cols, **part)
            if not part and cols <= 512:  # then the report joins the model's own spans
                end = f"{api.rows.duration}ns"
                theirs = api.report("timeline", "--points", cols, "--from", "0ns", "--until", end)
            theirs = theirs["timeline"] if isinstance(theirs, dict) else theirs
            assert mine["cols"] == len(theirs)
            for key, column in (("live_max", "live_bytes_max"), ("live_count", "live_count_end"),
                                ("allocated_bytes", "allocated_bytes"),
                                ("allocated_count", "allocated_count"), ("freed_count", "free_count")):
                assert mine[key] == [step[column] for step in theirs], (key, part, cols)
            assert all(low <= high for low, high in zip(mine["live_min"], mine["live_max"]))
            assert mine["peak"]["bytes"] == max(mine["live_max"])
            assert mine["from_ns"] <= mine["peak"]["ns"] < mine["until_ns"]
        peak = api.get("curves", points=1, **{"from": f"{mine['peak']['ns']}ns",
                                              "until": f"{mine['peak']['ns']}ns", **{
                                                  k: v for k, v in part.items() if k == "q"}})
        assert peak["live_max"] == [mine["peak"]["bytes"]]


@pytest.mark.parametrize("by", ["module", "lifetime", "thread", "size", "function"])
def test_bands_add_up(api, by):
    for part, _ in api.draw(recording.times(full=30, standard=4)):
        for top in (1, 7):
            mine = api.get("curves", points=77, bands=by, top=top, **part)
            assert mine["live_max"] == api.get("curves", points=77, **part)["live_max"]
            assert len(mine["bands"]) <= top + 1
            assert [sum(values) for values in zip(*(band["values"] for band in mine["bands"]))] == \
                mine["live_max"] or max(mine["live_max"]) == 0
            for band in mine["bands"]:
                assert band["rest"] == (band["q"] is None)
    # What a band's filter selects is the band.
    mine = api.get("curves", points=1, bands=by, top=3)
    for band in mine["bands"]:
        if not band["rest"]:
            alone = api.get("curves", points=1, q=band["q"])
            assert alone["live_max"][0] >= band["values"][0]


def boxes_of(flame):
    """{names from the root inwards: value} of the boxes that have names; sums are checked on the way."""
    count = flame["boxes"]
    paths, filled = [], [0] * count
    for key in ("parent", "name", "value", "self", "begin", "count", "depth", "file", "line"):
        assert len(flame[key]) == count, key
    assert flame["begin"][0] == 0 and flame["parent"][0] == -1
    assert flame["value"][0] <= flame["total"] and (flame["root"] or flame["value"][0] == flame["total"])
    for i in range(count):
        name, parent = flame["name"][i], flame["parent"][i]
        label = "?" if name < 0 else flame["names"][name]
        if i > 0:
            assert parent < i and flame["depth"][i] == flame["depth"][parent] + 1
            assert flame["begin"][i] == flame["begin"][parent] + filled[parent]
            filled[parent] += flame["value"][i]
        paths.append((paths[parent] if i > 0 else ()) + (label,))
    for i in range(count):
        if flame["name"][i] >= 0:
            assert filled[i] + flame["self"][i] == flame["value"][i]
        else:
            assert flame["self"][i] == flame["value"][i] and filled[i] == 0
    return {path: value for path, value in zip(paths, flame["value"]) if path[-1] != "?"}


def selves_of(flame):
    """{hashes from the root inwards: what is its own}."""
    paths, selves = [], collections.Counter()
    for name, parent, own in zip(flame["name"], flame["parent"], flame["self"]):
        paths.append((paths[parent] if parent >= 0 else ()) + (flame["hashes"][name],))
        selves[paths[-1]] += own
    return selves


def nodes_of(tree):
    """The same of `memtape report tree`."""
    paths = {None: ("all",)}
    values = {}
    key = "count" if tree["metric"] in ("count", "temporary") else "bytes"
    for node in tree["nodes"]:
        paths[node["id"]] = paths[node["parent"]] + (node["function"],)
        values[paths[node["id"]]] = node[key]
    return values, tree[key]


def test_flame_is_the_tree(api):
    for part, _ in api.draw(recording.times(full=40, standard=4)):
        for direction in ("down", "up"):
            for metric in METRICS:
                flame = api.get("flame", m=metric, dir=direction, px=8192, **part)
                tree = api.report("tree", "--sort", metric, *(["--bottom-up"] if direction == "up" else []),
                                  **part)
                mine, (theirs, all_of) = boxes_of(flame), nodes_of(tree)
                assert flame["total"] == all_of, (part, metric)
                del mine[("all",)]
                if tree["pruned"] == 0 and -1 not in flame["name"]:
                    assert mine == theirs, (part, metric, direction)
                    assert flame["of"] == flame["boxes"]
                assert all(mine.get(path, value) == value for path, value in theirs.items())


def test_what_is_hidden_belongs_to_its_callers(api):
    """Top-down it is the picture without those names in its paths, where nothing was too small to be drawn."""
    for recursion in ("keep", "merge"):
        whole = api.get("flame", m="count", px=8192, recursion=recursion)
        assert -1 not in whole["name"]
        modules = {h: whole["modules"][m].rpartition("/")[2] for h, m in zip(whole["hashes"], whole["name_module"]) if m >= 0}
        one = sorted(modules)[len(modules) // 2]
        for hidden, params in (({one}, {"hide": one}),
                               ({h for h, m in modules.items() if m == modules[one]}, {"hide_modules": f"no.so/{modules[one]}"})):
            part = api.get("flame", m="count", px=8192, recursion=recursion, **params)
            assert part["total"] == whole["total"] and not hidden & set(part["hashes"])
            own = collections.Counter()
            for path, value in selves_of(whole).items():
                own[tuple(h for h in path if h not in hidden)] += value
            if recursion == "keep":
                assert +own == +selves_of(part)
            up = api.get("flame", m="count", dir="up", px=8192, recursion=recursion, **params)
            boxes_of(up)
            assert up["total"] == whole["total"]


@pytest.mark.parametrize("measure", MEASURES)
def test_flames_add_up_at_any_size(api, measure):
    for part, _ in api.draw(2):
        for px in (1, 5, 60, 8192):
            for recursion in ("keep", "merge"):
                for frames in ("my", "exact", "all"):
                    flame = api.get("flame", m=measure, at="60%", px=px, recursion=recursion, frames=frames,
                                    **part)
                    boxes_of(flame)
                    assert flame["unit"] == ("count" if measure in ("count", "leaked_count", "temporary")
                                             else "bytes")


def test_measures(api):
    for part, test in api.draw(recording.times(full=40, standard=5)):
        rows = [row for row in api.rows.rows if test(row)]
        at = api.rows.duration * 2 // 5
        live = [r for r in rows if r["time"] <= at and (r["leaked"] or r["free_time"] > at)]
        expected = {"live": total(live)["bytes"],
                    "leaked_count": sum(row["leaked"] for row in rows),
                    "temporary_bytes": sum(row["size"] for row in rows if row["temporary"]),
                    "wasted": sum(row["slack"] for row in rows)}
        for measure, value in expected.items():
            for direction in ("down", "up"):
                flame = api.get("flame", m=measure, at=f"{at}ns", dir=direction, **part)
                assert flame["total"] == value, (measure, part)
    assert api.get("flame", m="live", at="70%")["total"] == api.report("at 70%")["live_bytes"]


def test_zoom_and_focus(api):
    flame = api.get("flame", m="allocated", px=8192)
    picked = api.random.sample(range(1, flame["boxes"]), min(12, flame["boxes"] - 1))
    # What stands for stacks that are not known as well.
    picked += [i for i, n in enumerate(flame["name"]) if n >= 0 and flame["names"][n].startswith("(")]
    for box in picked:
        path, at = [], box
        if flame["name"][box] < 0:  # small ones together
            continue
        while at > 0:
            path.insert(0, flame["hashes"][flame["name"][at]])
            at = flame["parent"][at]
        zoomed = api.get("flame", m="allocated", px=8192, root=".".join(path))
        assert zoomed["root"] == path
        assert zoomed["root_names"][-1] == zoomed["names"][zoomed["name"][0]]
        assert zoomed["value"][0] == flame["value"][box] and zoomed["total"] == flame["total"]
        assert zoomed["hashes"][zoomed["name"][0]] == path[-1]
        boxes_of(zoomed)
        lost = api.get("flame", m="allocated", root=".".join([*path, "123"]))
        assert lost["root"] == path and lost["value"][0] == flame["value"][box]
        focus = [api.get("flame", m="allocated", px=8192, focus=path[-1], dir=d) for d in ("down", "up")]
        name = zoomed["names"][zoomed["name"][0]]
        for side in focus:
            boxes_of(side)
            assert side["names"][side["name"][0]] == name
        assert focus[0]["total"] == focus[1]["total"] >= flame["value"][box]
        frame = api.get("frame", h=path[-1], m="allocated")
        assert frame["function"] == name and frame["hash"] == path[-1]
        metrics = {metric["m"]: metric for metric in frame["metrics"]}
        assert metrics["allocated"]["total"] == focus[0]["total"]
        assert set(metrics) == set(MEASURES)
        assert sum(bucket["bytes"] for bucket in frame["sizes"]) == focus[0]["total"]
        assert sum(bucket["count"] for bucket in frame["sizes"]) == metrics["count"]["total"]
        assert len(frame["curve"]["values"]) == 120
        assert max(frame["curve"]["values"]) >= metrics["peak"]["total"]
        callees = sum(side["value"] for side in frame["callees"])
        assert callees <= focus[0]["total"]
        children = [v for v, d, n in zip(focus[0]["value"], focus[0]["depth"], focus[0]["name"])
                    if d == 1 and n >= 0]
        assert sorted(side["value"] for side in frame["callees"]) == sorted(children)[-20:]
    assert api.error("flame", 404, focus="123")["parameter"] == "focus"
    assert api.error("frame", 404, h="123")["parameter"] == "h"


def test_tree_rows(api):
    """The rows of each node are the boxes below it."""
    for part, _ in api.draw(2):
        for direction in ("down", "up"):
            flame = api.get("flame", m="allocated", dir=direction, px=8192, **part)
            mine = boxes_of(flame)
            todo, seen = [((), ())], {("all",): flame["total"]}
            while todo and len(seen) < 60:
                hashes, names = todo.pop()
                rows, off = [], 0
                while True:
                    page = api.get("children", m="allocated", dir=direction, path=".".join(hashes), off=off, n=3,
                                   **part)
                    rows += page["rows"]
                    off += 3
                    if off >= page["count"]:
                        break
                assert len(rows) == page["count"]
                assert page["total"] == seen[("all", *names)]
                assert [row["total"] for row in rows] == sorted((r["total"] for r in rows), reverse=True)
                for row in rows:
                    seen[("all", *names, row["function"])] = row["total"]
                    if row["children"]:
                        todo.append(((*hashes, row["hash"]), (*names, row["function"])))
                    else:
                        assert row["self"] == row["total"]
            for path, value in seen.items():
                assert mine.get(path, value) == value
    assert api.error("children", 404, path="1.2")["parameter"] == "path"


@pytest.mark.parametrize("by", ["function", "stack", "source", "module", "thread", "size", "mark", "call",
                                "lifetime", "process"])
def test_sites_are_the_groups(api, by):
    for number, (part, _) in enumerate(api.draw(recording.times(full=20, standard=3))):
        sort = ["size", "allocated_count", "all.leaked_size", "lifetime_p50", "interval"][number % 5]
        theirs = api.report("groups", "--by", by, "--sort", sort, **part)["groups"]
        mine = []
        while True:
            page = api.get("sites", by=by, sort=sort, spark=24, off=len(mine), n=7, **part)
            assert page["by"] == by and page["count"] == len(theirs)
            mine += page["rows"]
            if len(mine) >= page["count"]:
                break
        assert len({row["key"] for row in mine}) == len(mine)
        for row, group in zip(mine, theirs):
            assert row["title"] == group["title"]
            assert row["only_matched"] == group["only_matched"]
            assert row["all"] == {key: value for key, value in group["all"].items() if key in row["all"]}
            shown = [f["function"] for f in row["stack"] or [] if not f["folded"]]
            if group["stack"] and shown:
                assert shown == [f["function"] for f in group["stack"]][:len(shown)]
            assert len(row["spark"]) == 24 and min(row["spark"]) >= 0
            if "from" not in part:
                assert row["spark"][-1] == row["only_matched"]["leaked_size"]
        for row in mine[:6]:
            alone = api.get("sites", by=by, q=row["q"])
            assert alone["count"] == 1, row["q"]
            assert alone["rows"][0]["title"] == row["title"]
            assert alone["rows"][0]["only_matched"] == row["all"] == alone["rows"][0]["all"]


def same_row(mine, theirs):
    assert mine["row"] == theirs["id"]
    for key, name in (("address", "address"), ("size", "size"), ("usable", "usable_size"),
                      ("ns", "alloc_ns"), ("free_ns", "free_ns"), ("thread", "thread"),
                      ("free_thread", "free_thread"), ("call", "function"), ("free_call", "free_function"),
                      ("temporary", "temporary"), ("at_peak", "at_peak")):
        assert mine[key] == theirs[name], key


def test_allocs(api):
    sorts = ["size", "lifetime:asc", "address", "site", "time", "call", "-time", "usable", "free_time"]
    for number, (part, test) in enumerate(api.draw(recording.times(full=60, standard=8))):
        sort = sorts[number % len(sorts)]
        theirs = api.report("allocations", f"--sort={sort}", **part)
        mine, step = [], max(1, min(200, len(theirs) // 5))
        while True:
            page = api.get("allocs", sort=sort, off=len(mine), n=step, **part)
            assert page["count"] == len(theirs) == sum(test(row) for row in api.rows.rows)
            mine += page["rows"]
            if len(mine) >= page["count"]:
                break
        for row, other in zip(mine, theirs):
            same_row(row, other)
    for order in ("asc", "dsc"):
        page = api.get("allocs", sort="size", order=order, n=200)["rows"]
        sizes = [row["size"] for row in page]
        assert sizes == sorted(sizes, reverse=order == "dsc")


def test_alloc(api):
    theirs = api.report("allocations")
    everything = api.rows.rows
    for number in api.random.sample(range(len(theirs)), min(60, len(theirs))):
        mine, row = api.get("alloc", row=number), everything[number]
        same_row(mine["alloc"], theirs[number])
        assert [f["function"] for f in mine["stack"]][:len(theirs[number]["stack"])] == \
            [f["function"] for f in theirs[number]["stack"]]
        assert (mine["free_stack"] is None) == (theirs[number]["free_stack"] is None)
        chain = [r["number"] for r in row["chain"]]
        place = chain.index(number)
        assert [r["row"] for r in mine["chain"]] == chain[max(0, place - 63):place + 33][-64:]
        assert mine["alloc"]["chain_length"] == len(chain)
        end = row["free_time"] if row["freed"] else 1 << 62
        together = [r for r in everything if r["number"] != number and r["time"] < end and
                    (r["leaked"] or r["free_time"] > row["time"])]
        before = [r["address"] for r in together if r["address"] < row["address"]]
        after = [r["address"] for r in together if r["address"] > row["address"]]
        for key, expected in (("before", max(before, default=None)), ("after", min(after, default=None))):
            found = mine["neighbours"][key]
            assert (int(found["address"], 16) if found else None) == expected
    assert api.error("alloc", 404, row=len(theirs))["parameter"] == "row"


@pytest.mark.parametrize("x, y", [("size", "lifetime"), ("time", "size"), ("time", "lifetime"),
                                  ("lifetime", "size")])
def test_grid(api, x, y):
    for part, test in api.draw(recording.times(full=30, standard=3)):
        mine = api.get("grid", x=x, y=y, nx=24, ny=15, **part)
        columns, lines = len(mine["x"]["edges"]) - 1, len(mine["y"]["edges"]) - 1
        assert columns <= 24 and lines <= 15
        assert len(mine["count"]) == len(mine["bytes"]) == columns * lines
        rows = [row for row in api.rows.rows if test(row) and not row["lost_free"]]
        never = mine["never"] or {"count": [0], "bytes": [0]}
        if "lifetime" in (x, y) and mine["never"] is None:
            rows = [row for row in rows if row["freed"]]
        assert sum(mine["count"]) + sum(never["count"]) == len(rows)
        assert sum(mine["bytes"]) + sum(never["bytes"]) == total(rows)["bytes"]
        for axis, cells in ((mine["x"], columns), (mine["y"], lines)):
            edges = axis["edges"]
            assert all(a < b for a, b in zip(edges, edges[1:]))
        if y == "size" and x == "time":  # each cell by hand
            for line in range(lines):
                low, high = mine["y"]["edges"][line:line + 2]
                expected = sum(low <= max(row["size"], low if line == 0 else 0) <
                               (high if line + 1 < lines else high + 1) for row in rows)
                assert sum(mine["count"][line * columns:(line + 1) * columns]) == expected
    assert api.error("grid", 400, x="size", y="size")["parameter"] == "y"
    assert "--latency" in api.error("grid", 501, y="latency")["message"]


def test_bad_questions_are_told_what_is_wrong(api):
    assert api.error("sites", sort="beauty")["parameter"] == "sort"
    assert api.error("allocs", sort="beauty")["parameter"] == "sort"
    assert api.error("flame", m="beauty")["parameter"] == "m"
    assert api.error("flame", at="mark(nowhere)", code=404)["parameter"] == "at"
    assert api.error("curves", **{"from": "2s", "until": "1s"})["parameter"] in ("from", "until")
    assert api.error("allocs", n=201)["parameter"] == "n"
    wrong = api.error("summary", q="size >= banana")
    assert wrong["parameter"] == "q" and wrong["pos"] == 8 and wrong["len"] == 6


EVERYTHING = ["summary", "overview", "timeline", "curves", "curves?bands=module", "curves?bands=lifetime&q=leaked", "flame", "flame?dir=up",
              "flame?m=live", "flame?m=wasted&from=start&until=50%25", "children", "children?dir=up", "sites",
              "sites?by=thread&spark=24", "sites?q=leaked", "allocs", "allocs?sort=size", "allocs?sort=size&off=5000",
              "grid", "grid?x=time&y=size"]


def test_a_tape_without_allocations_has_answers(tmp_path):
    tape = TapeWriter()
    main = tape.stream(100, "idle")
    tape.process(main, "/usr/bin/idle", "idle")
    tape.clock(main)
    tape.at(5)
    tape.clock(main)
    tape.write(tmp_path / "idle.mtape")
    with serve(tmp_path / "idle.mtape") as server:
        while server.json("/api/v1/info")["tapes"][0]["state"] == "loading":
            pass
        answers = {what: json.loads(server.get(f"/api/v1/{what}")[1]) for what in EVERYTHING}
    assert answers["flame"]["boxes"] == 1 and answers["flame"]["total"] == 0
    assert answers["summary"]["allocations"] == {"bytes": 0, "count": 0}
    assert answers["overview"]["size_p50"] is None
    assert answers["children"]["rows"] == answers["sites"]["rows"] == answers["allocs"]["rows"] == []
    assert max(answers["curves?bands=module"]["live_max"]) == 0
    assert sum(answers["grid"]["count"]) == 0


def test_pages_far_into_a_sorted_list(tmp_path):
    """They come from a list of all rows; the first ones do not."""
    tape = tmp_path / "far.mtape"
    done = recording.run_recorded([recording.target("wander-O0"), 4, 4000, 1], tape, ["--no-summary"])
    assert done.returncode == 0, done.stderr
    done = recording.run([recording.memtape(), "report", tape, "allocations", "--json", "--sort=-lifetime"])
    expected = [row["id"] for row in json.loads(done.stdout)]
    assert len(expected) > 3000
    with serve(tape) as server:
        for off in (0, 900, 999, 1000, 1100, 2500, len(expected) - 50, len(expected), len(expected) + 7):
            page = json.loads(server.get(f"/api/v1/allocs?sort=lifetime&n=200&off={off}")[1])
            assert [row["row"] for row in page["rows"]] == expected[off:off + 200], off
            assert page["count"] == len(expected)


def test_hashes_are_the_same_on_every_tape(tmp_path):
    """A program under another name, at other addresses, recorded twice."""
    hashes = []
    for name in ("one", "two"):
        program = tmp_path / name / f"wander-{name}"
        program.parent.mkdir()
        program.write_bytes(recording.target("wander-O0").read_bytes())
        program.chmod(0o755)
        tape = tmp_path / f"{name}.mtape"
        done = recording.run_recorded([program, 3, 150, 1], tape, ["--no-summary"])
        assert done.returncode == 0, done.stderr
        with serve(tape) as server:
            flame = server.json("/api/v1/flame", m="allocated", px=8192)
        hashes.append(dict(zip(flame["names"], flame["hashes"])))
    assert hashes[0] == hashes[1] and len(hashes[0]) > 5
    assert all(len(h) == 16 and int(h, 16) >= 0 for h in hashes[0].values())
