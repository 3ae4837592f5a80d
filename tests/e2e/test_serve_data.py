"""memory-profiler's requests: they are answered in its shapes, with the numbers of the reports."""

import contextlib
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import recording
import shapes
from test_reading import write_shop

TIMEVAL = {"secs": int, "fract_nsecs": int}
FRAME = {"address": int, "address_s": str, "count": int, "is_inline": bool}
FRAME_MAY = {"library": str, "function": str, "raw_function": str, "source": str, "line": int,
             "column": int}
FREED = {"timestamp": TIMEVAL, "timestamp_relative": TIMEVAL, "timestamp_relative_p": (int, float)}
ALLOCATION = {"id": int, "address": int, "address_s": str, "timestamp": TIMEVAL,
              "timestamp_relative": TIMEVAL, "timestamp_relative_p": (int, float), "thread": int,
              "size": int, "backtrace_id": int, "backtrace": list, "is_mmaped": bool,
              "is_jemalloc": bool, "in_main_arena": bool, "extra_space": int,
              "position_in_chain": int, "chain_length": int}
GROUP = {"size": int, "min_size": int, "max_size": int, "min_timestamp": TIMEVAL,
         "min_timestamp_relative": TIMEVAL, "min_timestamp_relative_p": (int, float),
         "max_timestamp": TIMEVAL, "max_timestamp_relative": TIMEVAL,
         "max_timestamp_relative_p": (int, float), "interval": TIMEVAL, "leaked_count": int,
         "allocated_count": int}
TAPE = {"id": str, "executable": str, "cmdline": str, "architecture": str,
        "final_allocated": int, "final_allocated_count": int, "runtime": TIMEVAL,
        "unique_backtrace_count": int, "maximum_backtrace_depth": int, "timestamp": TIMEVAL}


def assert_shape(value, shape):
    for key, kind in shape.items():
        assert key in value, key
        if isinstance(kind, dict):
            assert_shape(value[key], kind)
        else:
            assert isinstance(value[key], kind), key


def assert_backtrace(frames):
    for frame in frames:
        assert_shape(frame, FRAME)
        assert frame["address_s"] == f"{frame['address']:016x}"
        for key in set(frame) - set(FRAME):
            assert isinstance(frame[key], FRAME_MAY[key])


def ns(timeval):
    return timeval["secs"] * 10**9 + timeval["fract_nsecs"]


class Server:
    def __init__(self, url):
        self.url = url

    def get(self, path, code=200, **params):
        query = "?" + urllib.parse.urlencode(params) if params else ""
        try:
            with urllib.request.urlopen(self.url + path + query, timeout=30) as answer:
                assert code == answer.status
                return answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as error:
            assert error.code == code, error.read()
            return error.headers.get_content_type(), error.read()

    def json(self, path, **params):
        kind, body = self.get(path, **params)
        assert kind == "application/json"
        return shapes.conform(path, json.loads(body))


@contextlib.contextmanager
def serve(*tapes, options=()):
    args = [recording.memtape(), "serve", "--no-token", "--json", *options, *tapes]
    with subprocess.Popen([str(arg) for arg in args], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as server:
        try:
            yield Server(json.loads(server.stdout.readline())["url"].rstrip("/"))
        finally:
            server.terminate()
            assert server.wait(20) == 0


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    tape = folder / "shop.mtape"
    names = write_shop(tape).names()
    with serve(tape) as server:
        server.tape = tape
        yield server
    names.unlink()


def count(tape, expression, *options):
    rows = recording.report(tape, "groups", "--by", "process", "--filter", expression, *options)
    return rows["allocations"]


def test_list(shop):
    tapes = shop.json("/list")
    assert len(tapes) == 1
    assert_shape(tapes[0], TAPE)
    assert tapes[0]["executable"] == "/usr/bin/shop"
    assert tapes[0]["cmdline"] == "shop --open today"
    summary = recording.report(shop.tape, "summary")
    assert tapes[0]["final_allocated"] == summary["leaked"]["bytes"]
    assert tapes[0]["final_allocated_count"] == summary["leaked"]["count"]
    assert ns(tapes[0]["runtime"]) == summary["duration_ns"]
    by_id = shop.json(f"/data/{tapes[0]['id']}/allocations", count=1)
    assert by_id == shop.json("/data/last/allocations", count=1)


# The four requests of its manual.

def test_flame_graph_of_what_leaked(shop):
    kind, body = shop.get("/data/last/export/flamegraph", lifetime="only_leaked")
    assert kind == "image/svg+xml"
    assert b"stock_grow" in body and b"receipt_print" not in body


def test_ascii_tree_of_what_leaked(shop):
    kind, body = shop.get("/data/last/allocation_ascii_tree", lifetime="only_leaked")
    lines = body.decode().splitlines()
    assert kind == "text/plain"
    assert lines[0].split() == ["SIZE", "COUNT", "FIRST", "LAST", "SOURCE"]
    leaked = recording.report(shop.tape, "summary")["leaked"]
    assert re.search(rf" {leaked['count']} .*\(all\)$", lines[1])
    assert any(line.endswith("stock_grow [perf-5000000.map]") or "stock_grow" in line
               for line in lines)
    assert not any("receipt_print" in line for line in lines)


def test_largest_allocations(shop):
    answer = shop.json("/data/last/allocations", sort_by="size", order="dsc", count=3)
    assert answer["total_count"] == recording.report(shop.tape, "summary")["allocations"]["count"]
    sizes = [row["size"] for row in answer["allocations"]]
    everything = shop.json("/data/last/allocations")["allocations"]
    assert sizes == sorted((row["size"] for row in everything), reverse=True)[:3]
    for row in everything:
        assert_shape(row, ALLOCATION)
        assert_backtrace(row["backtrace"])
        assert row["address_s"] == f"{row['address']:016x}"
        if "deallocation" in row:
            assert_shape(row["deallocation"], FREED)
            assert ns(row["deallocation"]["timestamp_relative"]) >= ns(row["timestamp_relative"])
    expected = recording.report(shop.tape, "allocations")
    assert [row["address_s"] for row in everything] == [
        f"{int(row['address'], 16):016x}" for row in expected]
    assert [ns(row["timestamp_relative"]) for row in everything] == [
        row["alloc_ns"] for row in expected]
    for row, other in zip(everything, expected):  # outermost first
        assert [frame["function"] for frame in row["backtrace"] if "function" in frame] == [
            frame["function"] for frame in reversed(other["stack"])
            if "0x" not in frame["function"]]


def test_groups_that_leak(shop):
    answer = shop.json("/data/last/allocation_groups", group_allocations_min=2,
                       group_leaked_allocations_min="10%", sort_by="all.size", count=3)
    assert answer["total_count"] == len(answer["allocations"]) == 1
    group = answer["allocations"][0]
    assert_shape(group["all"], GROUP)
    assert_shape(group["only_matched"], GROUP)
    assert_shape(group["all"], {"max_total_usage_first_seen_at": TIMEVAL})
    assert group["all"]["allocated_count"] == 8 and group["all"]["leaked_count"] == 1
    assert group["backtrace"][-1]["function"] == "stock_grow"
    assert shop.json("/data/last/allocation_groups", group_leaked_allocations_min="13%",
                     group_allocations_min=2)["total_count"] == 0


@pytest.mark.parametrize("params, expression", [
    ({"lifetime": "only_leaked"}, "leaked"),
    ({"lifetime": "only_temporary"}, "not leaked"),
    ({"lifetime": "only_whole_group_leaked"}, "whole_group_leaked"),
    ({"lifetime": "only_chain_leaked"}, "chain_leaked"),
    ({"size_min": 101, "size_max": 3000}, "size in 101..3000"),
    ({"address_min": 0xA0000, "address_max": "0xb0000"}, "address in 0xa0000..0xb0000"),
    ({"lifetime_min": "0.01"}, "age >= 10ms"),
    ({"lifetime_min": "1ms", "lifetime_max": "1s"}, "age in 1ms..1s"),
    ({"backtrace_depth_min": 4}, "depth >= 4"),
    ({"function_regex": "^stock"}, 'function ~ "^stock"'),
    ({"negative_function_regex": "main"}, 'function !~ "main"'),
    ({"function_regex": 'a"b|"x"'}, "function ~ 'a\"b|\"x\"'"),
    ({"function_regex": r'\"x\"'}, "function ~ '\"x\"'"),
    ({"source_regex": "."}, 'source ~ "."'),
    ({"group_interval_min": "30%"}, "group_interval >= 30%"),
    ({"group_interval_max": "2ms"}, "group_interval <= 2ms"),
    ({"alive_at": "0.05"}, "alive_at 50ms"),
    ({"alive_at": "50%", "alive_at_2": "80%"}, "alive_between 50%..80%"),
    ({"chain_length_min": 2}, "chain_length >= 2"),
    ({"position_in_chain_max": 0, "chain_length_min": 2}, "chain_position = 0 and chain_length > 1"),
    ({"mmaped": "yes"}, "mmapped"),
    ({"custom_filter": "size = 100 or leaked"}, "size = 100 or leaked"),
])
def test_filters_are_those_of_the_language(shop, params, expression):
    answer = shop.json("/data/last/allocations", count=1, **params)
    assert answer["total_count"] == count(shop.tape, expression)


def test_ranges_of_time(shop):
    start_ns = ns(shop.json("/list")[0]["timestamp"])
    ms = start_ns // 10**6 + 30  # since 1970
    for params, options in (
            ({"from": "0.02", "to": "0.05"}, ("--from", "20ms", "--until", "50ms")),
            ({"from": "20%", "to": "70%"}, ("--from", "20%", "--until", "70%")),
            ({"from": ms}, ("--from", f"{ms * 10**6 - start_ns}ns")),
            ({"to": ms}, ("--until", f"{(ms + 1) * 10**6 - start_ns - 1}ns")),
            ({"to": "0.05", "lifetime": "only_not_deallocated_in_current_range"},
             ("--until", "50ms")),
            ({"to": "0.05", "lifetime": "only_deallocated_in_current_range"},
             ("--until", "50ms"))):
        expression = {None: "all", "only_not_deallocated_in_current_range": "kept_in_range",
                      "only_deallocated_in_current_range": "freed_in_range"}[params.get("lifetime")]
        answer = shop.json("/data/last/allocations", count=1, **params)
        assert answer["total_count"] == count(shop.tape, expression, *options), params


@pytest.mark.parametrize("key", ["size", "allocated_count", "leaked_count", "min_timestamp",
                                 "max_timestamp", "interval"])
@pytest.mark.parametrize("whose", ["all", "only_matched"])
@pytest.mark.parametrize("order", ["asc", "dsc", "desc"])
def test_orders_of_groups(shop, whose, key, order):
    groups = shop.json("/data/last/allocation_groups", sort_by=f"{whose}.{key}", order=order)
    values = [group[whose][key] for group in groups["allocations"]]
    values = [ns(value) if isinstance(value, dict) else value for value in values]
    assert len(values) > 3
    assert values == sorted(values, reverse=order != "asc")


def test_pages_of_a_list(shop):
    everything = shop.json("/data/last/allocations", sort_by="address")["allocations"]
    pages = [shop.json("/data/last/allocations", sort_by="address", skip=skip, count=7)
             for skip in range(0, len(everything), 7)]
    assert [row["id"] for page in pages for row in page["allocations"]] == [
        row["id"] for row in everything]


def test_folded_stacks(shop):
    _, body = shop.get("/data/last/export/flamegraph.pl", size_min=1000)
    expected = recording.run_plain([recording.memtape(), "export", shop.tape, "--to", "folded",
                                    "--metric", "allocated", "--filter", "size >= 1000"])
    assert body == expected.stdout


def test_heaptrack(shop, tmp_path):
    _, body = shop.get("/data/last/export/heaptrack")
    (tmp_path / "heaptrack.dat").write_bytes(body)
    assert body.startswith(b"v 10400 3\n")
    if shutil.which("heaptrack_print"):
        done = recording.run_plain(["heaptrack_print", "-f", tmp_path / "heaptrack.dat"])
        calls = recording.report(shop.tape, "summary")["allocations"]["count"]
        assert f"calls to allocation functions: {calls} ".encode() in done.stdout


def test_mmaps_and_mallopts(tmp_path):
    tape = tmp_path / "mappings.mtape"
    assert recording.run_bare([recording.target("mappings")], tape).returncode == 0
    with serve(tape) as server:
        maps = server.json("/data/last/mmaps")
        settings = server.json("/data/last/mallopts")
    kinds = {call["kind"] for call in maps}
    assert kinds == {"Mmap", "Munmap"}
    for call in maps:
        assert_shape(call, {"timestamp": TIMEVAL, "pointer": int, "pointer_s": str,
                            "length": int, "thread": int, "backtrace": list})
        assert_backtrace(call["backtrace"])
        if call["kind"] == "Mmap":
            assert_shape(call["mmap_protection"], {"is_readable": bool, "is_writable": bool,
                                                   "is_executable": bool})
            assert_shape(call["mmap_flags"], {"is_shared": bool, "is_private": bool,
                                              "is_fixed": bool, "is_anonymous": bool})
    assert settings == [] or all("raw_param" in setting for setting in settings)


@pytest.mark.parametrize("path, params, parameter", [
    ("allocations", {"size_min": "banana"}, "size_min"),
    ("allocations", {"size_min": "1 or leaked"}, "size_min"),
    ("allocations", {"lifetime_min": "3parsecs"}, "lifetime_min"),
    ("allocations", {"function_regex": "(a"}, "function_regex"),
    ("allocations", {"custom_filter": "a) or (b"}, "custom_filter"),
    ("allocations", {"lifetime": "for_ever"}, "lifetime"),
    ("allocations", {"sort_by": "colour"}, "sort_by"),
    ("allocation_groups", {"sort_by": "all.colour"}, "sort_by"),
    ("allocation_ascii_tree", {"sise_min": 5}, "sise_min"),
])
def test_what_makes_no_sense_is_said(shop, path, params, parameter):
    kind, body = shop.get(f"/data/last/{path}", code=400, **params)
    assert kind == "application/json"
    assert json.loads(body)["error"]["parameter"] == parameter


def test_a_bare_percentage_is_taken_as_it_is(shop):
    """memory-profiler's own page writes no %25."""
    ask = lambda query: json.loads(shop.get(f"/data/last/allocations?{query}")[1])
    for bare, encoded in (("from=50%&count=3", "from=50%25&count=3"), ("count=3&from=50%", "count=3&from=50%25"),
                          ("group_leaked_allocations_min=5%&count=2", "group_leaked_allocations_min=5%25&count=2"),
                          ("function_regex=%zz%41&count=2", "function_regex=%25zzA&count=2")):
        assert ask(bare) == ask(encoded)
    assert 0 < ask("from=50%&count=3")["total_count"] < ask("count=3")["total_count"]
    shop.get("/api/v1/filter?q=50%&limit=3", code=400)  # ours says what it is given wrong
    for broken in ("%00", "%ff"):
        shop.get(f"/data/last/allocations?function_regex={broken}", code=400)


def test_a_frame_has_the_name_of_its_library_and_not_its_path(shop):
    rows = shop.json("/data/last/allocations", count=1000)["allocations"]
    libraries = {frame["library"] for row in rows for frame in row["backtrace"] if "library" in frame}
    assert libraries and not [name for name in libraries if "/" in name]


def test_sums_of_what_matched_have_no_moment_of_most_use(shop):
    groups = shop.json("/data/last/allocation_groups", count=1000)["allocations"]
    names = [f"max_total_usage_first_seen_at{end}" for end in ("", "_relative", "_relative_p")]
    assert groups and all(group["only_matched"][name] is None for group in groups for name in names)
    assert any(group["all"][name] is not None for group in groups for name in names)
    assert all(name in group["all"] for group in groups for name in names)


def test_no_such_tape(shop):
    kind, body = shop.get(f"/data/{'0' * 32}/allocations", code=404)
    assert json.loads(body)["error"]["message"]


PLACES = """#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
static inline __attribute__((always_inline)) void *middle(size_t n) { if (n) return  inner(n); return 0; }
__attribute__((noinline)) void *outer(size_t n) { void *volatile p = middle(n); return p; }
int main(void) { int i; for (i = 0; i < 3; i++)   free(outer(71)); return outer(72) == NULL; }
"""


@pytest.mark.skipif(not shutil.which("llvm-symbolizer"), reason="needs llvm-symbolizer")
@pytest.mark.parametrize("is_embedded", (False, True), ids=("looked up", "embedded"))
def test_columns_are_those_of_llvm_symbolizer(tmp_path, is_embedded):
    (tmp_path / "places.c").write_text(PLACES)
    program, tape = tmp_path / "places", tmp_path / "places.mtape"
    assert recording.run(["gcc", "-g", "-O1", "-no-pie", "-fno-optimize-sibling-calls", "-o", program,
                          "places.c"], cwd=tmp_path).returncode == 0
    recording.run_recorded([program], tape)
    with serve(tape) as server:
        addresses = [frame["address"] for row in server.json("/data/last/allocations")["allocations"]
                     for frame in row["backtrace"] if frame.get("library") == "places"]
    truth = {}
    for address in addresses:
        lines = recording.run(["llvm-symbolizer", f"--obj={program}", "--inlines", hex(address)])
        places = lines.stdout.decode().split()
        truth[address] = {(name, *map(int, place.split(":")[-2:]))
                          for name, place in zip(places[::2], places[1::2])}
    if is_embedded:
        assert recording.run([recording.memtape(), "symbols", "embed", tape]).returncode == 0
        program.unlink()
    found = {}
    with serve(tape) as server:
        for row in server.json("/data/last/allocations")["allocations"]:
            for frame in row["backtrace"]:
                if frame["address"] in truth and "source" in frame:
                    place = (frame["function"], frame["line"], frame["column"])
                    found.setdefault(frame["address"], set()).add(place)
    assert {name for places in found.values() for name, _, _ in places} >= {"inner", "middle", "outer"}
    assert found == {address: truth[address] for address in found}
