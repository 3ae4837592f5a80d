"""/api/v1/diff answers what `memtape diff --json` answers, and its flame graph adds up to the same."""

import json
import urllib.parse

import pytest

from test_diff import BOTH, run, shop  # noqa: F401 - shop is a fixture
from test_serve_data import serve

METRICS = ["peak", "leaked", "allocated", "count", "temporary"]


class Api:
    def __init__(self, server):
        self.server = server
        tapes = server.json("/api/v1/info")["tapes"]
        while any(tape["state"] == "loading" for tape in tapes):
            tapes = server.json("/api/v1/info")["tapes"]
        self.ids = {tape["file"].split(".")[0]: tape["id"] for tape in tapes}

    def get(self, what="diff", **params):
        query = urllib.parse.urlencode({"c": self.ids["monday"], "b": self.ids["tuesday"], **params})
        return self.server.json(f"/api/v1/{what}?{query}")

    def error(self, code=400, what="diff", **params):
        query = urllib.parse.urlencode({"c": self.ids["monday"], **params})
        return json.loads(self.server.get(f"/api/v1/{what}?{query}", code)[1])["error"]


@pytest.fixture
def api(shop):  # noqa: F811
    path = shop / "tuesday.mtape"  # tapes are told apart by their ids, and these have one by hand
    path.write_bytes(path.read_bytes().replace(bytes(range(16)), bytes(range(16, 32)), 1))
    with serve(*(shop / name for name in BOTH)) as server:
        yield Api(server)


def keys(row):
    return (row["function"], row["status"], row["a"], row["b"], row["difference"])


def listed(answer):
    return [row for name in ("changed", "new", "gone") for row in answer[name]]


def assert_same(mine, theirs, metric):
    rows = [row for row in theirs["rows"] if row["difference"] != 0]
    assert sorted(map(str, map(keys, listed(mine)))) == sorted(map(str, map(keys, rows)))
    assert {"a": mine["a"]["total"], "b": mine["b"]["total"],
            "difference": mine["difference"]} == theirs["totals"][metric]
    for status in ("grown", "shrunk", "new", "gone"):
        assert mine["counts"][status] == sum(row["status"] == status for row in rows)
    assert sum(mine["counts"].values()) == len(theirs["rows"])


@pytest.mark.parametrize("by", ["function", "stack", "module"])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_and_totals_are_the_commands(api, shop, by, metric):  # noqa: F811
    theirs = json.loads(run(shop, *BOTH, "--by", by, "--metric", metric, "--json"))
    assert_same(api.get(m=metric, by=by), theirs, metric)
    theirs = json.loads(run(shop, *BOTH, "--by", by, "--metric", metric, "--filter", "size > 4k",
                            "--per", "8:20", "--json"))
    assert_same(api.get(m=metric, by=by, q="size > 4k", a_per=8, b_per=20), theirs, metric)


def test_two_moments_of_one_tape(api, shop):  # noqa: F811
    theirs = json.loads(run(shop, "tuesday.mtape", "--at", "3500us,25ms", "--json"))
    mine = api.get(c=api.ids["tuesday"], a_at="3500us", b_at="25ms", m="live")
    assert_same(mine, theirs, "peak")
    assert mine["difference"] > 0
    assert (mine["a"]["at_ns"], mine["b"]["at_ns"]) == (3500000, 25000000)
    query = urllib.parse.urlencode({"c": api.ids["tuesday"], "a_at": "3500us", "b_at": "25ms"})
    alone = api.server.json(f"/api/v1/diff?{query}")  # the other tape and m=live go without saying
    for answer in (mine, alone):
        del answer["ms"]
    assert mine == alone


@pytest.mark.parametrize("metric", ["allocated", "count", "temporary"])
def test_two_spans_of_one_tape(api, metric):
    ends = {"a_from": "0ns", "a_until": "12ms", "b_from": "12ms", "b_until": "end"}
    both = api.get(c=api.ids["tuesday"], m=metric, **ends)
    for side in ("a", "b"):
        query = {"c": api.ids["tuesday"], "from": ends[f"{side}_from"], "until": ends[f"{side}_until"]}
        matched = [row["matched"] for row in api.server.json("/api/v1/sites?" + urllib.parse.urlencode(query))["rows"]]
        group, unit = {"allocated": ("allocated", "bytes"), "count": ("allocated", "count"),
                       "temporary": ("temporary", "count")}[metric]
        assert both[side]["total"] == sum(sums[group][unit] for sums in matched)
    flame = api.get("diff/flame", c=api.ids["tuesday"], m=metric, **ends)
    assert (flame["before"][0], flame["after"][0]) == (both["a"]["total"], both["b"]["total"])
    half = api.get(c=api.ids["tuesday"], m=metric, a_until="12ms", **{"from": "0ns"})
    assert half["a"]["total"] == both["a"]["total"]


def test_the_row_behind_the_change(api):
    found = api.get()
    assert found["main"]["function"] == "stock_grow"
    assert found["main"] in found["changed"]
    back = api.get(c=api.ids["tuesday"], b=api.ids["monday"])
    assert back["main"]["difference"] == -found["main"]["difference"]
    assert api.get(b=api.ids["monday"])["main"] is None


def test_lists_are_bounded(api):
    whole, short = api.get(by="stack", m="count"), api.get(by="stack", m="count", n=1)
    for name in ("changed", "new", "gone"):
        assert short[name] == whole[name][:1]
    assert short["counts"] == whole["counts"]


@pytest.mark.parametrize("params", [{"m": metric} for metric in METRICS] + [
    {"m": "peak", "a_per": 3, "b_per": 7}, {"m": "wasted"}, {"m": "leaked_count"},
    {"m": "live", "a_at": "2ms", "b_at": "25ms"}, {"m": "peak", "q": "size < 4k"}])
def test_the_flame_graph_adds_up_on_both_sides(api, params):
    flame, rows = api.get("diff/flame", **params), api.get(**params)
    count = len(flame["value"])
    near = 1e-2 if "a_per" in params else 0
    assert flame["a"] == rows["a"] and flame["b"] == rows["b"]
    assert abs(flame["before"][0] - flame["a"]["total"]) <= near
    assert abs(flame["after"][0] - flame["b"]["total"]) <= near
    assert flame["value"][0] == flame["total"]
    for box in range(count):
        children = [i for i in range(count) if flame["parent"][i] == box]
        assert abs(sum(flame["value"][i] for i in children) + flame["self"][box] - flame["value"][box]) <= near
        for side in ("before", "after"):
            assert sum(flame[side][i] for i in children) <= flame[side][box] + near
        assert flame["value"][box] >= max(flame["before"][box], flame["after"][box]) - near
        left = flame["begin"][box]
        for i in children:
            assert abs(flame["begin"][i] - left) <= near and flame["depth"][i] == flame["depth"][box] + 1
            left += flame["value"][i]


def test_what_vanished_is_in_the_picture_and_can_be_zoomed_to(api):
    flame = api.get("diff/flame")
    names = [flame["names"][i] for i in flame["name"]]
    gift = names.index("gift_wrap")
    assert flame["before"][gift] == 0 and flame["after"][gift] == 3000
    back = api.get("diff/flame", c=api.ids["tuesday"], b=api.ids["monday"])
    gift = [back["names"][i] for i in back["name"]].index("gift_wrap")
    assert back["after"][gift] == 0 and back["value"][gift] == 3000
    way = [flame["hashes"][flame["name"][names.index(name)]] for name in ("main", "gift_wrap")]
    inside = api.get("diff/flame", root=".".join(way))
    assert inside["root_names"] == ["main", "gift_wrap"] and inside["after"] == [3000]
    assert api.get("diff/flame", root="1.2")["root"] == []


@pytest.mark.parametrize("params, parameter, words", [
    ({}, "b", "two tapes"), ({"m": "live"}, "b", "two tapes"),
    ({"b": "nobody"}, "b", "no tape"), ({"a_at": "1ms", "m": "peak"}, "m", "m=live"),
    ({"a_from": "5ms", "a_until": "2ms"}, "a_from", "begins"), ({"b_until": "mark(none)"}, "b_until", "none"),
    ({"a_at": "mark(none)"}, "a_at", "none"), ({"b": "last", "a_per": "0"}, "a_per", "1"),
    ({"b": "last", "n": "201"}, "n", "200"), ({"b": "last", "by": "line"}, "by", "function")])
def test_errors_say_which_parameter(api, params, parameter, words):
    error = api.error(404 if words in ("no tape", "none") else 400, **params)
    assert error["parameter"] == parameter
    assert words in error["message"] + str(error["hint"])
