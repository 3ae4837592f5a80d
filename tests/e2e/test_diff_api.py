"""/api/v1/diff answers what `memtape diff --json` answers, and its flame graph adds up to the same."""

import json
import urllib.parse

import pytest

import recording
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


def without_names(answer):
    """Where the tapes are: the server says their names alone."""
    for side in ("a", "b"):
        answer[side].pop("id", None)
        answer[side]["tape"] = answer[side]["tape"].rsplit("/", 1)[-1]
    return {key: value for key, value in answer.items() if key not in ("gen", "ms")}


def exact(text):
    return json.loads(text, parse_float=lambda digits: ["a number", digits])


def asked(api, **params):
    query = urllib.parse.urlencode({"c": api.ids["monday"], "b": api.ids["tuesday"], **params})
    return without_names(exact(api.server.get(f"/api/v1/diff?{query}")[1]))


def printed(shop, *words):  # noqa: F811
    return without_names(exact(run(shop, *words, "--json")))


@pytest.mark.parametrize("by", ["function", "stack", "module"])
@pytest.mark.parametrize("metric", [*METRICS, "wasted", "leaked_count", "temporary_bytes"])
def test_command_and_server_say_the_same(api, shop, by, metric):  # noqa: F811
    words = [*BOTH, "--by", by, "--metric", metric]
    assert json.dumps(asked(api, m=metric, by=by)) == json.dumps(printed(shop, *words))
    mine = asked(api, m=metric, by=by, q="size > 4k", a_per=8, b_per=20, top=2, frames="all")
    assert mine == printed(shop, *words, "--filter", "size > 4k", "--per", "8:20", "--top", "2", "--frames=all")


def test_two_moments_of_one_tape(api, shop):  # noqa: F811
    theirs = printed(shop, "tuesday.mtape", "--at", "3500us,25ms")
    mine = api.get(c=api.ids["tuesday"], b=api.ids["tuesday"], a_at="3500us", b_at="25ms", m="live")
    assert mine["metric"] == "live" and mine["totals"]["live"]["difference"] > 0
    assert (mine["a"]["until_ns"], mine["b"]["until_ns"]) == (3500000, 25000000)
    query = urllib.parse.urlencode({"c": api.ids["tuesday"], "a_at": "3500us", "b_at": "25ms"})
    alone = api.server.json(f"/api/v1/diff?{query}")  # the other tape and m=live go without saying
    assert without_names(mine) == without_names(alone) == theirs


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("spans", [("..15ms", "15ms.."), ("2ms..25ms", "start..end")])
def test_two_spans_are_the_commands(api, shop, metric, spans):  # noqa: F811
    """What was allocated then: leaked is never freed, as in every report about a part of a tape."""
    ends = [span.split("..") for span in spans]
    params = {f"{side}_{key}": word for side, pair in zip("ab", ends) for key, word in zip(("from", "until"), pair) if word}
    mine = asked(api, c=api.ids["tuesday"], b=api.ids["tuesday"], m=metric, **params)
    assert mine == printed(shop, "tuesday.mtape", "--between", ",".join(spans), "--metric", metric)
    for side, (begin, end) in zip("ab", ends):
        command = [recording.memtape(), "report", "tuesday.mtape", "leaks", "--json"]
        command += [f"--from={begin}"] if begin else []
        command += [f"--until={end}"] if end else []
        sites = json.loads(recording.run(command, cwd=shop).stdout)["sites"]
        assert mine[side]["leaked_bytes"] == sum(site["leaked_bytes"] for site in sites)


@pytest.mark.parametrize("metric", ["allocated", "count", "temporary"])
def test_two_spans_of_one_tape(api, metric):
    ends = {"a_from": "0ns", "a_until": "12ms", "b_from": "12ms", "b_until": "end"}
    both = api.get(c=api.ids["tuesday"], m=metric, **ends)
    for side in ("a", "b"):
        query = {"c": api.ids["tuesday"], "from": ends[f"{side}_from"], "until": ends[f"{side}_until"]}
        matched = [row["only_matched"] for row in api.server.json("/api/v1/sites?" + urllib.parse.urlencode(query))["rows"]]
        key = {"allocated": "size", "count": "allocated_count", "temporary": "temporary_count"}[metric]
        assert both[side]["total"] == sum(sums[key] for sums in matched)
    flame = api.get("diff/flame", c=api.ids["tuesday"], m=metric, **ends)
    assert (flame["before"][0], flame["after"][0]) == (both["a"]["total"], both["b"]["total"])
    half = api.get(c=api.ids["tuesday"], m=metric, a_until="12ms", **{"from": "0ns"})
    assert half["a"]["total"] == both["a"]["total"]


def test_the_row_behind_the_change(api):
    found = api.get(stacks=0)
    assert found["main"]["function"] == "stock_grow"
    assert found["main"] == found["rows"][0]
    back = api.get(c=api.ids["tuesday"], b=api.ids["monday"])
    assert back["main"]["difference"] == -found["main"]["difference"]
    assert api.get(b=api.ids["monday"])["main"] is None


def test_rows_are_bounded_and_counted(api):
    whole, short = api.get(by="stack", m="count"), api.get(by="stack", m="count", top=1)
    assert short["rows"] == whole["rows"][:1] and short["counts"] == whole["counts"]
    differ = [row for row in whole["rows"] if row["difference"] != 0]
    for status in ("grown", "shrunk", "new", "gone"):
        assert whole["counts"][status] == sum(row["status"] == status for row in differ)
    assert sum(whole["counts"].values()) == len(whole["rows"])
    assert all("stack" not in row for row in api.get(stacks=0)["rows"])


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
    ({"m": "peak"}, "b", "two tapes"),
    ({"b": "nobody"}, "b", "no tape"), ({"a_at": "1ms", "m": "peak"}, "m", "m=live"),
    ({"a_from": "5ms", "a_until": "2ms"}, "a_from", "begins"), ({"b_until": "mark(none)"}, "b_until", "none"),
    ({"a_at": "mark(none)"}, "a_at", "none"), ({"b": "last", "a_per": "0"}, "a_per", "1"),
    ({"b": "last", "top": "x"}, "top", "number"), ({"b": "last", "by": "line"}, "by", "function")])
def test_errors_say_which_parameter(api, params, parameter, words):
    error = api.error(404 if words in ("no tape", "none") else 400, **params)
    assert error["parameter"] == parameter
    assert words in error["message"] + str(error["hint"])
