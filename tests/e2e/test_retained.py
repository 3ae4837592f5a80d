"""Retained size as a metric: what the blocks of a stack keep alive, each byte counted once. Held against brute force on
tapes written by hand and on a recorded program that says what points to what."""

import json
import random
import re
import subprocess

import pytest

import recording
import scan_image
from scanned_tape import HOLDERS, ScannedTape
from scan_image import UNKNOWN
from test_serve_data import serve

SEEDS = range(4)
FILTERS = {"": lambda block: True, "size > 300": lambda block: block["size"] > 300,
           "function = load": lambda block: block["site"] in ("make", "cache"),
           "function = keep": lambda block: block["site"] == "keep", "size > 100000": lambda block: False}


@pytest.fixture(scope="module", autouse=True)
def names():
    """All these tapes have the same functions at the same places."""
    yield
    ScannedTape().tape.names().unlink()


@pytest.fixture(scope="module", params=SEEDS)
def scanned(request, tmp_path_factory):
    """A tape with two scans: in the second, one holder points to all blocks itself."""
    made = ScannedTape(request.param)
    made.path = tmp_path_factory.mktemp("retained") / "the.mtape"
    made.tape.at(100)
    scan_image.begin(made.collector, 2)
    made.flat = [dict(block, retained=block["size"], parent=~0, dominator=~0) for block in made.blocks
                 if block["class"] != UNKNOWN and block is not made.late]
    made.tape.at(101)
    scan_image.result(made.collector, scan_image.Image(made.flat, HOLDERS), 2)
    made.write(made.path)
    return made


def memtape(*words, code=0):
    done = recording.run([recording.memtape(), *words])
    assert done.returncode == code, done.stderr.decode()
    return (done.stdout if code == 0 else done.stderr).decode()


def by_site(nodes):
    """What is allocated in each function itself, of the nodes of a tree."""
    sums = {}
    for node in nodes:
        if node["self_bytes"]:
            sums[node["function"]] = sums.get(node["function"], 0) + node["self_bytes"]
    return sums


def expected_of(scanned, wanted):
    """Each block is charged to the outermost wanted one on its way to what holds it, if there is one."""
    sums, counts = {}, {}
    for block in scanned.blocks:
        chain = [one for one in scanned.chain(block) if isinstance(one, dict) and wanted(one)]
        if chain:
            site = chain[-1]["site"]
            sums[site] = sums.get(site, 0) + block["size"]
            counts.setdefault(site, set()).add(chain[-1]["address"])
    return sums, {site: len(tops) for site, tops in counts.items()}


@pytest.mark.parametrize("text", FILTERS)
def test_each_byte_counts_for_the_outermost_block_that_holds_it(scanned, text):
    sums, counts = expected_of(scanned, FILTERS[text])
    words = ["--sort", "retained", "--scan", "1", "--filter", text]
    for direction in ([], ["--bottom-up"]):
        tree = recording.report(scanned.path, "tree", *words, *direction, "--one-in", "1000000")
        assert tree["metric"] == "retained" and tree["bytes"] == sum(sums.values())
        assert tree["count"] == sum(counts.values())
        if not direction:
            assert by_site(tree["nodes"]) == sums
            for node in tree["nodes"]:
                below = [one["bytes"] for one in tree["nodes"] if one["parent"] == node["id"]]
                assert node["bytes"] == node["self_bytes"] + sum(below)
    folded = memtape("export", scanned.path, "--to", "folded", "--metric", "retained", "--scan", "1", "--filter", text)
    lines = [line.rsplit(" ", 1) for line in folded.splitlines()]
    assert {stack.rsplit(";", 1)[-1]: int(value) for stack, value in lines} == sums


def test_all_that_a_scan_knows_is_charged_and_nothing_twice(scanned):
    """As `retained` has it by holder."""
    told = recording.report(scanned.path, "retained", "--scan", "1", "--top", "1000")
    whole = sum(one["retained_bytes"] for one in told["holders"])
    whole += sum(told[key]["bytes"] for key in ("shared", "lost", "not_scanned"))
    tree = recording.report(scanned.path, "tree", "--sort", "retained", "--scan", "1")
    assert tree["bytes"] == whole == sum(block["size"] for block in scanned.blocks)


def test_a_site_by_itself_has_what_holders_says_of_it(scanned):
    for site in recording.report(scanned.path, "holders", "--scan", "1")["sites"]:
        tree = recording.report(scanned.path, "tree", "--sort", "retained", "--scan", "1", "--filter",
                                f"function = {site['function']}")
        assert tree["bytes"] == site["retained_bytes"]


def test_the_last_scan_is_the_usual_one(scanned):
    blocks = [block for block in scanned.blocks if block is not scanned.late]
    sums = {site: sum(block["size"] for block in blocks if block["site"] == site) for site in ("make", "keep", "cache")}
    for words in ([], ["--scan", "2"]):
        assert by_site(recording.report(scanned.path, "tree", "--sort", "retained", *words)["nodes"]) == sums
    assert sums != expected_of(scanned, FILTERS[""])[0]


def test_a_range_of_time_is_of_what_was_allocated_in_it(scanned):
    late = {block["address"] for block in scanned.blocks[30:]}
    sums, _ = expected_of(scanned, lambda block: block["address"] in late)
    begin = min(late) - 0x5000000 >> 12
    tree = recording.report(scanned.path, "tree", "--sort", "retained", "--scan", "1", "--from", f"{begin + 1}ms")
    assert by_site(tree["nodes"]) == sums


def svg_data(path):
    text = path.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1)
    for name, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        data = data.replace(name, letter)
    return text, json.loads(data)


def test_the_flame_graph_has_it(scanned, tmp_path):
    sums, counts = expected_of(scanned, FILTERS[""])
    memtape("flamegraph", scanned.path, "--metric", "retained", "--scan", "1", "-o", tmp_path / "the.svg")
    text, data = svg_data(tmp_path / "the.svg")
    whole = sum(sums.values())
    assert f"Retained size: {whole / 1024:.1f} KiB" in text and "leak scan 1 after 62.0 ms" in text
    assert data["metric"] == "retained size" and data["is_retained"]
    frames = {data["names"][frame[1]][0]: frame for frame in data["frames"]}
    assert data["frames"][0][2] == whole
    assert {site: (frames[site][2], frames[site][3]) for site in sums} == {site: (sums[site], counts[site]) for site in sums}
    assert all(len(frame[8]) == 6 for frame in data["frames"])  # temporary allocations are not known
    memtape("export", scanned.path, "--to", "flamegraph", "--metric", "retained", "--scan", "1", "-o",
            tmp_path / "export.svg")
    assert svg_data(tmp_path / "export.svg")[1]["frames"] == data["frames"]
    memtape("flamegraph", scanned.path, "--metric", "peak", "-o", tmp_path / "peak.svg")
    data = svg_data(tmp_path / "peak.svg")[1]
    assert not data["is_retained"] and all(len(frame[8]) == 8 for frame in data["frames"])


def test_the_server_says_the_same(scanned):
    with serve(scanned.path) as server:
        assert server.json("/api/v1/tape")["tape"]["has"]["leak_scan"] is True
        measures = {one["word"]: one for one in server.json("/api/v1/fields")["measures"]}
        assert [word for word, one in measures.items() if one["scan"]] == ["retained"]
        for text, wanted in FILTERS.items():
            sums, _ = expected_of(scanned, wanted)
            asked = {"m": "retained", "scan": 1, **({"q": text} if text else {})}
            flame = server.json("/api/v1/flame", **asked)
            assert flame["total"] == sum(sums.values()) and flame["m"] == "retained" and flame["unit"] == "bytes"
            if not sums:
                continue
            assert {name: value for name, value in zip(flame["names"], flame["self"]) if value} == sums
            up = {row["function"]: row["total"] for row in server.json("/api/v1/children", dir="up", **asked)["rows"]}
            assert up == sums
            site = max(sums, key=sums.get)
            frame = server.json("/api/v1/frame", h=flame["hashes"][flame["names"].index(site)], **asked)
            assert next(one for one in frame["metrics"] if one["m"] == "retained")["self"] == sums[site]
            assert sum(one["value"] for one in frame["callers"]) == sums[site]
            folded = server.get("/api/v1/export", to="folded", **asked)[1].decode()
            assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == flame["total"]
        answer = server.json("/api/v1/tree", sort="retained", scan=1)
        del answer["gen"], answer["ms"]
        assert answer == recording.report(scanned.path, "tree", "--sort", "retained", "--scan", "1")
        blocks = [block for block in scanned.blocks if block is not scanned.late]
        assert server.json("/api/v1/flame", m="retained")["total"] == sum(block["size"] for block in blocks)
        assert "scan" in server.get("/api/v1/flame", m="retained", scan=7, code=404)[1].decode()
        server.get("/api/v1/export", to="pprof", m="retained", code=400)
        server.get("/api/v1/export", to="folded", m="retained", at="1ms", code=400)
        svg = server.get("/api/v1/export/flamegraph.svg", m="retained")[1].decode()
        assert "leak scan 2 after 100 ms" in svg


def test_two_tapes_differ_by_it(scanned, tmp_path):
    other = ScannedTape(99)
    other.write(tmp_path / "other.mtape")
    found = json.loads(memtape("diff", scanned.path, tmp_path / "other.mtape", "--metric", "retained", "--json"))
    before = sum(block["size"] for block in scanned.blocks if block is not scanned.late)
    after = sum(block["size"] for block in other.blocks)
    assert found["totals"]["retained"] == {"a": before, "b": after, "difference": after - before}
    assert "temporary" not in found["totals"]
    text = memtape("diff", scanned.path, tmp_path / "other.mtape", "--metric", "retained")
    assert re.search(r"^  retained +\d", text, re.MULTILINE) and not re.search(r"^  temporary ", text, re.MULTILINE)
    assert "B's retained size is" in text
    with serve(scanned.path, tmp_path / "other.mtape") as server:
        asked = dict(zip(("c", "b"), (one["id"] for one in server.json("/api/v1/info")["tapes"])), m="retained")
        answer = server.json("/api/v1/diff", **asked)
        assert answer["totals"]["retained"] == found["totals"]["retained"] and answer["rows"] == found["rows"]
        flame = server.json("/api/v1/diff/flame", **asked)
        assert (flame["before"][0], flame["after"][0]) == (before, after)
    assert "excludes" in memtape("diff", scanned.path, scanned.path, "--metric", "retained", "--fail-if",
                                 "temporary>1", code=2)


def test_a_tape_without_scan_says_how_to_get_one(tmp_path):
    recording.run_recorded([recording.target("marks")], tmp_path / "the.mtape")
    tape, remedy = tmp_path / "the.mtape", "memtape record --leak-scan"
    for words in (["flamegraph", tape, "-m", "retained", "-o", tmp_path / "the.svg"],
                  ["export", tape, "--to", "folded", "-m", "retained"], ["report", tape, "tree", "--sort", "retained"],
                  ["report", tape, "files", "--sort", "retained"], ["diff", tape, tape, "-m", "retained"]):
        assert remedy in memtape(*words, code=1)
    assert not (tmp_path / "the.svg").exists()
    with serve(tape) as server:
        assert server.json("/api/v1/tape")["tape"]["has"]["leak_scan"] is False
        error = json.loads(server.get("/api/v1/flame", m="retained", code=404)[1])["error"]
        assert remedy in error["message"] and error["parameter"] == "m"
        flame = server.json("/api/v1/flame")
        frame = server.json("/api/v1/frame", h=flame["hashes"][1])
        assert "retained" not in {one["m"] for one in frame["metrics"]}


@pytest.mark.parametrize("words", [
    ["flamegraph", "-m", "retained", "--at", "1ms", "-o", "x.svg"], ["flamegraph", "--scan", "1", "-o", "x.svg"],
    ["export", "--to", "folded", "--scan", "1"], ["export", "--to", "folded", "-m", "retained", "--at", "1ms"],
    ["export", "--to", "pprof", "-m", "retained"], ["export", "--to", "html", "--scan", "1"],
    ["report", "tree", "--scan", "1"], ["report", "files", "--sort", "live", "--scan", "1"],
    ["report", "top", "--sort", "retained"],
])
def test_what_makes_no_sense_is_refused(scanned, words, tmp_path):
    command, *rest = words
    memtape(command, scanned.path, *[tmp_path / word if word.endswith(".svg") else word for word in rest], code=2)


PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define FRAME __attribute__((noinline, noclone))
enum { BLOCKS = 80, SLOTS = 6 };
static const uintptr_t hidden = 0x5555555555555555;
static uintptr_t blocks[BLOCKS]; /* no pointers */
static char slots[BLOCKS];
void *roots[8];
FRAME static void *lists(size_t size) { void *made = calloc(1, size); return made; }
FRAME static void *names(size_t size) { void *made = calloc(1, size); return made; }
FRAME static void *pages(size_t size) { void *made = calloc(1, size); return made; }
FRAME static void build(void)
{
	int kind, from, to, root = 0;
	size_t size;
	char word[8];

	for (int i = 0; scanf("%7s", word) == 1;) {
		if (strcmp(word, "block") == 0 && scanf("%d %zu", &kind, &size) == 2)
			blocks[i++] = (uintptr_t)(kind == 0 ? lists : kind == 1 ? names : pages)(size) ^ hidden;
		else if (strcmp(word, "edge") == 0 && scanf("%d %d", &from, &to) == 2)
			((void **)(blocks[from] ^ hidden))[slots[from]++] = (void *)(blocks[to] ^ hidden);
		else if (strcmp(word, "root") == 0 && scanf("%d", &to) == 1)
			roots[root++] = (void *)(blocks[to] ^ hidden);
	}
}
FRAME static void clear(void)
{
	char room[65536];
	memset(room, 0, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
}
int main(void) { build(); clear(); return 0; }
"""
KINDS = ("lists", "names", "pages")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "graph.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-o", folder / "graph", folder / "graph.c"], check=True)
    return folder / "graph"


def graph_of(seed, count=80):
    """Blocks that can all be reached, with pointers between any of them: the kind and size of each, and edges."""
    rand = random.Random(seed)
    blocks = [(rand.randrange(3), rand.randrange(48, 400)) for _ in range(count)]
    roots, edges = [0], {i: [] for i in range(count)}
    for i in range(1, count):
        full = [j for j in range(i) if len(edges[j]) < 4]
        if len(roots) < 8 and rand.random() < .08:
            roots.append(i)
        else:
            edges[rand.choice(full[-12:])].append(i)
    for _ in range(count // 3):
        begin = rand.randrange(count)
        if len(edges[begin]) < 6:
            edges[begin].append(rand.randrange(count))
    return blocks, roots, edges


def reached(roots, edges, without=None):
    seen, todo = set(), [root for root in roots if root != without]
    while todo:
        block = todo.pop()
        if block not in seen:
            seen.add(block)
            todo += [to for to in edges[block] if to != without]
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_of_a_program_it_is_what_would_be_unreachable(program, tmp_path, seed):
    blocks, roots, edges = graph_of(seed)
    text = "".join(f"block {kind} {size}\n" for kind, size in blocks)
    text += "".join(f"edge {begin} {to}\n" for begin, ends in edges.items() for to in ends)
    text += "".join(f"root {root}\n" for root in roots)
    tape = tmp_path / "the.mtape"
    done = subprocess.run([recording.memtape(), "record", "--leak-scan", "-o", tape, program], input=text.encode(),
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    kept = {i: reached(roots, edges) - reached(roots, edges, i) for i in range(len(blocks))}
    assert set().union(*kept.values()) == set(range(len(blocks)))
    assert max(len(what) for what in kept.values()) > 5  # or the test would say little
    for wanted in (range(3), (0,), (1, 2)):
        chosen = [i for i in kept if blocks[i][0] in wanted]
        outermost = [i for i in chosen if not any(i in kept[j] for j in chosen if j != i)]
        sums = {}
        for i in outermost:
            kind = KINDS[blocks[i][0]]
            sums[kind] = sums.get(kind, 0) + sum(blocks[j][1] for j in kept[i])
        text = " or ".join(f"function = {KINDS[kind]}" for kind in wanted)
        tree = recording.report(tape, "tree", "--sort", "retained", "--filter", text)
        assert by_site(tree["nodes"]) == sums and tree["count"] == len(outermost)
        if len(wanted) == 3:
            assert sum(sums.values()) == sum(size for _, size in blocks)
