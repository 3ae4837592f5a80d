"""What a server answers: its reports are those of the command, byte for byte, whoever asks and how many."""

import concurrent.futures
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

import recording
from serving import parse_reply, read_all, serve
from test_reading import write_shop

SQL_CTE = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    tape = tmp_path_factory.mktemp("serve") / "shop.mtape"
    names = write_shop(tape).names()
    with serve(tape) as server:
        yield server
    names.unlink()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A program of this machine, with symbols, marks, threads and samples of memory use."""
    tape = tmp_path_factory.mktemp("world") / "world.mtape"
    recording.run([recording.memtape(), "record", "-o", tape, recording.target("marks")])
    with serve(tape) as server:
        yield server


def cli(server, *args):
    outcome = recording.run([recording.memtape(), "report", server.tapes[0], *args])
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


# --- reports ---------------------------------------------------------------------------------

REPORTS = ["summary", "top", "leaks", "temporary", "tree", "sizes", "lifetimes", "reallocs", "threads",
           "modules", "timeline", "rss", "fragmentation", "space", "mappings", "mallopts", "marks",
           "allocations", "groups", "findings"]
OPTIONS = [
    ("top", ["--sort", "leaked"], {"sort": "leaked"}), ("top", ["--top", "2"], {"top": 2}),
    ("tree", ["--bottom-up"], {"bottom_up": 1}), ("tree", ["--function", "main"], {"function": "main"}),
    ("tree", ["--frames=all"], {"frames": "all"}), ("timeline", ["--points", "7"], {"points": 7}),
    ("timeline", ["--from", "25%", "--until", "75%"], {"from_": "25%", "until": "75%"}),
    ("lifetimes", ["--sites"], {"sites": 1}), ("leaks", ["--no-suppressions"], {"no_suppressions": 1}),
    ("groups", ["--by", "module"], {"by": "module"}), ("groups", ["--by", "size", "--skip", "1"], {"by": "size", "skip": 1}),
    ("groups", ["--sort", "leaked_count"], {"sort": "leaked_count"}),
    ("allocations", ["--sort", "-size", "--top", "5"], {"sort": "-size", "top": 5}),
    ("mappings", ["--at", "50%"], {"at": "50%"}), ("at", ["peak"], {"operand": "peak"}),
    ("between", ["10%", "90%"], {"operand": ["10%", "90%"]}),
    ("top", ["--filter", "size >= 100 and not leaked"], {"filter": "size >= 100 and not leaked"}),
    ("summary", ["--filter", "leaked or size < 64"], {"q": "leaked or size < 64"}),
    ("tree", ["--filter", 'function ~ "a"', "--from", "0s"], {"filter": 'function ~ "a"', "from_": "0s"}),
    ("allocations", ["--filter", "temporary"], {"filter": "temporary"}),
    ("groups", ["--filter", "lifetime < 1ms", "--by", "thread"], {"filter": "lifetime < 1ms", "by": "thread"}),
]


@pytest.mark.parametrize("name", REPORTS)
def test_reports_are_those_of_the_command(shop, world, name):
    for server in (shop, world):
        assert server.get("report", name=name).body == cli(server, name, "--json")


@pytest.mark.parametrize("name,args,params", OPTIONS, ids=[" ".join([o[0], *o[1]]) for o in OPTIONS])
def test_parameters_are_the_options_of_the_command(shop, world, name, args, params):
    for server in (shop, world):
        assert server.get("report", name=name, **params).body == cli(server, name, *args, "--json")


@pytest.mark.parametrize("format_,kind", [("csv", "text/csv"), ("text", "text/plain")])
def test_reports_come_as_csv_and_text(shop, format_, kind):
    reply = shop.get("report", name="top", format=format_)
    assert reply.headers["content-type"] == f"{kind}; charset=utf-8"
    assert reply.body == cli(shop, "top", *(["--csv"] if format_ == "csv" else []))


# Reports about what is recorded with an option only, which these tapes were not.
NEEDS_OPTION = {"latency": "--latency", "leak-classes": "--leak-scan", "holders": "--leak-scan", "retained": "--leak-scan",
                "stale": "--staleness", "idle": "--staleness"}


def needs_option(reply):
    return any(option in reply.error()["message"] for option in NEEDS_OPTION.values())


def test_every_report_of_the_list_answers(shop):
    known = shop.json("reports")["reports"]
    listed = recording.run([recording.memtape(), "report", "--list"]).stdout.decode()
    assert {line.split()[0] for line in listed.splitlines()} == {one["name"] for one in known}
    for one in known:
        if one["name"] == "annotate":  # no file of this tape is known: test_serve_source.py
            assert one["operands"] == "FILE"
            continue
        operands = {"A B": ["0%", "50%"], "T": ["50%"]}.get(one["operands"], [])
        reply = shop.ask("/api/v1/report?" + recording_query({"name": one["name"], "operand": operands}))
        assert reply.status == (404 if one["name"] in NEEDS_OPTION else 200), reply.body
        assert reply.status == 200 or needs_option(reply)


def test_suppressions_are_a_text_in_the_request(shop, tmp_path):
    known = shop.json("report", name="leaks")
    site = known["entries"][0]["function"] if "entries" in known else None
    rules = tmp_path / "rules"
    rules.write_text(f"# ours\nleak:{site or 'main'}\nrace:x\n")
    # A text has no file's name.
    want = cli(shop, "leaks", "--suppressions", rules, "--json").replace(f'"{rules}"'.encode(), b"null")
    assert want != cli(shop, "leaks", "--json")
    assert shop.get("report", name="leaks", suppressions=rules.read_text()).body == want
    headers = ["Content-Type: application/json"]
    body = {"name": "leaks", "suppressions": rules.read_text()}
    assert shop.ask("/api/v1/report", "POST", headers, body=json.dumps(body).encode()).body == want
    long = body | {"suppressions": rules.read_text() + "# " + "x" * 30000}
    assert shop.ask("/api/v1/report", "POST", headers, body=json.dumps(long).encode()).body == want


@pytest.mark.parametrize("text,words", [
    ("leak", "suppressions:1"), ("#\n\nnix\n", "suppressions:3"), ("/etc/passwd", "suppressions:1"), ("leak:a\n" * 501, "500 lines"),
    ("#" + "x" * (33 << 10), "32 KiB")])
def test_suppressions_that_are_none_are_told(shop, text, words):
    reply = shop.post("report", {"name": "leaks", "suppressions": text}, 400)
    assert words in reply["error"]["message"] and reply["error"]["parameter"] == "suppressions"


@pytest.mark.parametrize("params,parameter,words", [
    ({"name": "nix"}, "name", "unknown report 'nix'"), ({"name": "top", "sort": "nix"}, "sort", "expected one of"),
    ({"name": "at"}, None, "wants T"), ({"name": "top", "operand": "x"}, None, "takes nothing"),
    ({"name": "threads", "filter": "leaked", "q": "leaked"}, "q", "exclude each other"),
    ({"top": "many"}, "top", "number"), ({"by": "nix"}, "by", "one of stack, function"),
    ({"filter": "siz > 1"}, "filter", "did you mean size"), ({"points": 10**9}, "points", "from 0 to"),
    ({"nix": 1}, "nix", "unknown parameter 'nix'"), ({"top": [1, 2]}, "top", "twice"), ({"sites": "yes"}, "sites", "0 or 1"),
    ({"from_": "soon"}, "from", "not a time"), ({"c": "0" * 32}, "c", "no tape")])
def test_what_is_wrong_is_said(shop, params, parameter, words):
    reply = shop.ask("/api/v1/report?" + recording_query(params))
    assert reply.status == (404 if parameter == "c" else 400)
    error = reply.error()
    assert set(error) == {"message", "hint", "parameter", "pos", "len", "suggest"}
    assert error["parameter"] == parameter
    assert words in error["message"]


def recording_query(params):
    import urllib.parse
    return urllib.parse.urlencode({k.rstrip("_"): v for k, v in params.items()}, doseq=True)


# --- filters, fields, names ------------------------------------------------------------------


def test_a_good_filter_counts(shop):
    answer = shop.json("filter", q="size >= 100")
    rows = recording.report(shop.tapes[0], "groups", "--by", "process", "--filter", "size >= 100")
    assert answer["ok"] is True
    assert answer["count"] == rows["allocations"] if "allocations" in rows else answer["count"] > 0
    assert answer["total"] == shop.json("info")["tapes"][0]["allocation_count"]


@pytest.mark.parametrize("text,pos,len_,suggest", [
    ("siz > 1", 0, 3, "size"), ("size > banana", 7, 6, None), ("size > 1 and lifetme < 1ms", 13, 7, "lifetime"),
    ('function ~ "("', 11, 3, None), ("size >", 6, 0, None), ("size > 1 ä", 9, 2, None), ("(size > 1", 0, 1, None)])
def test_a_bad_filter_says_where(shop, text, pos, len_, suggest):
    for route in ("filter", "sites", "summary"):
        error = shop.json(route, 400, q=text)["error"]
        assert (error["parameter"], error["pos"], error["len"], error["suggest"]) == ("q", pos, len_, suggest)
        assert "\n" not in error["message"]


def test_moments_are_of_the_tape(world):
    marks = world.json("tape")["marks"]
    assert marks
    inside = world.json("filter", from_=f"mark({marks[0]['text']})")
    assert inside["count"] == world.json("filter", from_=f"{marks[0]['ns']}ns")["count"]
    assert world.json("filter", 400, from_="mark(nix)")["error"]["parameter"] in ("from", None)
    assert world.json("filter", until="100%")["count"] == inside["total"]


def test_fields_are_those_of_the_command(shop):
    listed = json.loads(recording.run([recording.memtape(), "report", "--list-fields", "--json"]).stdout)
    fields = shop.json("fields")
    assert [one["name"] for one in fields["fields"]] == [one["name"] for one in listed]
    assert "stack" in fields["sorts"]["by"] and "leaked_count" in fields["sorts"]["groups"]


def test_fields_list_every_measure_group_and_format_there_is(shop):
    fields, paths = shop.json("fields"), shop.json("openapi.json")["paths"]
    choices = lambda path, name: next(one["schema"]["enum"] for one in paths[f"/api/v1/{path}"]["get"]["parameters"]
                                      if one["name"] == name)
    measures = {one["word"]: one for one in fields["measures"]}
    assert list(measures) == choices("flame", "m")
    assert [word for word, one in measures.items() if one["in_reports"] or one["scan"] or one["touches"] or one["kernel"]] == \
        [word for word in measures if word in choices("export", "m")]
    assert [word for word, one in measures.items() if one["scan"]] == ["retained"]
    assert [word for word, one in measures.items() if one["at"]] == ["live"]
    assert all(one["sort"] in fields["sorts"]["groups"] for one in measures.values() if one["sort"])
    assert [one["word"] for one in fields["groups"]] == choices("sites", "by") == fields["sorts"]["by"]
    listed = recording.run([recording.memtape(), "export", "--list"]).stdout.decode()
    for one in fields["exports"]:
        assert f"  {one['name']} " in listed and one["summary"] in listed, one
        assert one["path"] is None or one["path"] in paths
    assert len(fields["exports"]) == len(re.findall("^  [a-z]", listed, re.M))
    assert {one["name"] for one in fields["exports"]} >= {"perfetto", "heaptrack", "pprof"}


@pytest.mark.parametrize("measure", ["peak", "allocated", "leaked"])
def test_a_group_is_sorted_by_the_key_of_a_measure(shop, measure):
    key = next(one["sort"] for one in shop.json("fields")["measures"] if one["word"] == measure)
    values = [row["only_matched"][key] for row in shop.json("sites", sort=key, n=200)["rows"]]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("field", ["function", "module", "source", "location", "site", "site_module", "call",
                                   "thread_name", "free_function", "free_call", "free_module", "mark"])
def test_names_count_what_a_filter_finds(world, field):
    for value in world.json("names", field=field, n=8)["values"]:
        text = value["text"].replace("\\", "\\\\").replace('"', '\\"')
        found = world.json("filter", q=f'{field} = "{text}"')["count"]
        # `function = f` also means f(int), and a path's last part means the path.
        assert found == value["count"] or (field not in ("call", "thread_name") and found > value["count"]), value


def test_names_are_completed(world):
    everything = world.json("names", field="function")["values"]
    name = everything[0]["text"]
    begun = [one["text"] for one in world.json("names", field="function", prefix=name[:2].upper())["values"]]
    assert name in begun and all(name[:2].lower() in text.lower() for text in begun)
    assert world.json("names", field="function", prefix="no such function")["values"] == []
    counts = [one["count"] for one in everything]
    assert counts == sorted(counts, reverse=True)
    assert len(world.json("names", field="function", n=2)["values"]) == 2
    assert world.json("names", 400, field="size")["error"]["parameter"] == "field"
    assert world.json("names", 400)["error"]["parameter"] == "field"


# --- SQL, exports ----------------------------------------------------------------------------


def test_sql_answers_what_the_command_does(shop):
    statement = "SELECT size, count(*) AS blocks, 1.5, NULL, 'x' FROM allocations GROUP BY size ORDER BY size"
    answer = shop.post("query", {"sql": statement})
    rows = json.loads(recording.run([recording.memtape(), "sql", "--json", shop.tapes[0], statement]).stdout)
    assert [one["name"] for one in answer["columns"]] == list(rows[0])
    assert answer["rows"] == [list(row.values()) for row in rows]
    assert answer["truncated"] is False and answer["ms"] >= 0


@pytest.mark.parametrize("to", ["folded", "json", "pprof"])
def test_exports_are_those_of_the_command(shop, to):
    want = recording.run([recording.memtape(), "export", "--to", to, shop.tapes[0]])
    reply = shop.get("export", to=to)
    assert want.returncode == 0 and reply.body == want.stdout
    assert reply.headers["content-disposition"].startswith('attachment; filename="memtape.shop.')
    assert shop.json("export", 400, to="nix")["error"]["parameter"] == "to"


@pytest.mark.parametrize("to", ["folded", "pprof", "heaptrack", "massif"])
@pytest.mark.parametrize("args,params", [
    (["--at", "50%"], {"at": "50%"}),
    (["--at", "peak", "--filter", "size < 200", "--from", "10%", "--until", "90%"],
     {"at": "peak", "q": "size < 200", "from_": "10%", "until": "90%"})])
def test_an_export_of_a_moment(shop, tmp_path, to, args, params):
    done = recording.run([recording.memtape(), "export", "--to", to, "-o", tmp_path / "x", *args, shop.tapes[0]])
    if done.returncode == 0:
        assert shop.get("export", to=to, **params).body == (tmp_path / "x").read_bytes()
    else:  # it is not of one moment
        error = shop.json("export", 400, to=to, **params)["error"]
        assert error["parameter"] == "at" and error["message"] in done.stderr.decode()


def test_copies_of_a_tape_have_ids_of_their_own(tmp_path):
    first, copy, third = (tmp_path / name for name in ("first.mtape", "copy.mtape", "third.mtape"))
    write_shop(first)
    for other in (copy, third):
        shutil.copy(first, other)
    with serve(first, copy, third) as server:
        served = server.json("info")["tapes"]
        ids = [tape["id"] for tape in served]
        assert len(set(ids)) == 3 and all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
        for tape in served:
            assert server.json("tape", c=tape["id"])["tape"]["file"] == tape["file"]
        assert server.json("tape", c="last")["tape"]["file"] == "third.mtape"
        assert server.json("diff", c=ids[0], b=ids[1])["b"]["tape"] == "copy.mtape"
    with serve(first, copy) as server:  # the same each time
        assert [tape["id"] for tape in server.json("info")["tapes"]] == ids[:2]
    with serve(copy) as server:
        assert [tape["id"] for tape in server.json("info")["tapes"]] == ids[:1]


def questions(server):
    """One for each GET route of the API, with what it wants."""
    known = {"row": 0, "field": "function", "to": "json", "sort": None, "q": "size > 1", "moment": "50%", "begin": "10%", "end": "90%"}
    function = server.json("sites")["rows"][0]["hash"]
    for path, methods in server.json("openapi.json")["paths"].items():
        if not path.startswith("/api/v1/") or "get" not in methods or path.endswith(("openapi.json", "/source", "/annotate", "/events", "/tapes")):
            continue
        names = [one["name"] for one in methods["get"]["parameters"]]
        params = {name: value for name, value in known.items() if name in names and value is not None}
        if "h" in names:
            params["h"] = function
        if "b_at" in names:
            params["b_at"] = "end"
        yield path, params
    for name in REPORTS:
        yield "/api/v1/report", {"name": name}


def test_a_question_that_needs_too_much_memory_is_given_up(world):
    tape = world.tapes[0]
    asked = list(questions(world))
    answered = refused = 0
    for size in ("20KiB", "40KiB", "100KiB", "300KiB", "1MiB"):
        with serve(tape, options=["--answer-memory", size]) as server:
            for path, params in asked:
                reply = server.ask(f"{path}?{recording_query(params)}")
                if reply.status == 200:
                    answered += 1
                    continue
                if needs_option(reply):
                    continue
                assert reply.status == 503, (size, path, params, reply.body)
                assert "--answer-memory" in reply.error()["message"] and "ask for less" in reply.error()["hint"]
                refused += 1
            assert server.json("info")["tapes"][0]["state"] == "complete"
    assert refused > 10 and answered > 20
    with serve(tape) as server:  # with what is usual all are answered
        for path, params in asked:
            reply = server.ask(f"{path}?{recording_query(params)}")
            assert reply.status == 200 or needs_option(reply), (path, params)


def test_a_range_behind_the_peak_has_its_own(world):
    duration = world.json("info")["tapes"][0]["duration_ns"]
    peak = world.json("summary")["peak"]
    for from_, until in ((f"{peak['time_ns'] + 1}ns", None), ("60%", "90%"), (None, "5%")):
        args = [*(["--from", from_] if from_ else []), *(["--until", until] if until else [])]
        want = json.loads(cli(world, "summary", "--json", *args))["peak"]
        part = {"from_": from_} if from_ else {}
        part |= {"until": until} if until else {}
        found = world.json("summary", **part)
        assert found["peak"] == want
        assert world.json("flame", m="peak", **part)["total"] == want["bytes"]
        rows = world.json("sites", by="module", n=200, **part)["rows"]
        assert sum(row["only_matched"]["peak_size"] for row in rows) == want["bytes"]
        if found["allocations"]["bytes"] > 0 and found["leaked"]["bytes"] > 0:
            assert want["bytes"] >= found["leaked"]["bytes"] > 0
        assert want["time_ns"] <= duration


def test_an_export_of_a_part(shop):
    want = recording.run([recording.memtape(), "export", "--to", "folded", "-m", "allocated", "--filter", "size < 200",
                          shop.tapes[0]]).stdout
    assert shop.get("export", to="folded", m="allocated", q="size < 200").body == want


def test_the_flame_graph_is_a_picture(shop):
    reply = shop.get("export/flamegraph.svg", m="allocated", q="size < 9000")
    assert reply.headers["content-type"] == "image/svg+xml"
    assert b"<svg" in reply.body and b"Allocated" in reply.body
    assert "flamegraph.svg" in reply.headers["content-disposition"]


@pytest.mark.parametrize("metric", ["peak", "leaked", "allocated", "count", "temporary"])
def test_a_flame_graph_has_one_title_whoever_draws_it(shop, tmp_path, metric):
    recording.run([recording.memtape(), "flamegraph", shop.tapes[0], "--metric", metric, "-o", tmp_path / "drawn.svg"])
    titles = [re.findall(r"<title[^>]*>([^<]*)</title>", text)[0] for text in
              [(tmp_path / "drawn.svg").read_text(), shop.get("export/flamegraph.svg", m=metric).body.decode()]]
    assert titles[0] == titles[1] and re.match(r"[A-Z][a-z ]+: [0-9]", titles[0]), titles


# --- the document ----------------------------------------------------------------------------


def test_the_document_lists_all_and_is_true(shop):
    document = shop.json("openapi.json")
    assert document["openapi"].startswith("3.0")
    for path, methods in document["paths"].items():
        method, route = next(iter(methods.items()))
        names = [one["name"] for one in route["parameters"]]
        assert len(names) == len(set(names))
        assert path.startswith(("/api/v1/", "/data/", "/list"))
        target = path.replace("{c}", "last") + "?no_such_parameter=1"
        reply = shop.ask(target, method.upper(), ["Content-Type: application/json"] if method == "post" else [],
                         body=b"{}" if method == "post" else b"")
        assert reply.status == 400, path
        for name in names:
            if path.startswith("/api/") and name != "c":
                assert name in reply.error()["message"], path


def test_the_manual_of_the_api_has_every_route(shop):
    text = (recording.ROOT / "docs/http-api.md").read_text()
    for path, methods in shop.json("openapi.json")["paths"].items():
        assert path.removeprefix("/api/v1").replace("{c}", "ID") in text, path
        if path.startswith("/api/"):
            for one in next(iter(methods.values()))["parameters"]:
                assert f"`{one['name']}`" in text, (path, one["name"])


def help_rows():
    """{name of an option: its help, with single blanks}"""
    rows = {}
    for line in recording.run([recording.memtape(), "report", "--help"]).stdout.decode().splitlines():
        option = re.match(r" {2,6}(?:-\w, )?--([a-z-]+)", line)
        if option:
            words = rows[option.group(1)] = []
        if option or line.startswith(" " * 30):
            words.extend(line[30:].split())
    return {name: " ".join(words) for name, words in rows.items()}


def manual_paragraphs():
    text = (recording.ROOT / "docs/man/memtape-report.1").read_text().replace("\\-", "-")
    paragraphs = re.split(r"^\.TP\n", text[text.index("\n.SH OPTIONS"):text.index("\n.SH JSON")], flags=re.MULTILINE)[1:]
    return {re.search(r"--([a-z-]+)", paragraph).group(1): paragraph for paragraph in paragraphs}


def test_command_manual_and_server_have_the_same_options_of_reports(shop):
    helps, manual = help_rows(), manual_paragraphs()
    methods = shop.json("openapi.json")["paths"]["/api/v1/report"]
    params = {one["name"]: one for one in methods["get"]["parameters"]}
    only_command = {"json", "csv", "output", "list", "list-fields", "html", "max-size", "with-source", "with-argv", "force",
                    "debug-dir", "sysroot", "path-map", "full-names", "no-template-args", "no-debuginfod",
                    "my", "library", "wrapper", "remember", "xtree", "fail-on", "error-exitcode", "process", "no-index"}  # the tapes of a session are tapes of their own there
    only_server = {"c", "gen", "name", "operand", "q"}
    assert set(helps) == set(manual) == set(params) - only_server | only_command
    assert only_command.isdisjoint(params) and only_server.isdisjoint(helps)
    body = methods["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    for name in set(params) & set(helps) - {"suppressions"}:  # a file there, its text here
        words = params[name]["schema"].get("enum", []) if name in ("by", "format", "frames") else []
        assert helps[name] == params[name]["description"] + (" (" + ", ".join(words) + ")" if words else ""), name
        assert body[name]["description"] == params[name]["description"]
        reports = re.match(r"([a-z, ]+): ", helps[name])
        for report in reports.group(1).split(", ") if reports else []:
            assert re.search(rf"\b{report}\b", manual[name], re.IGNORECASE), (name, report)


# --- tapes -----------------------------------------------------------------------------------


def test_info_and_tape_say_what_it_is(world):
    tape = world.json("info")["tapes"][0]
    info = json.loads(recording.run([recording.memtape(), "info", "--json", world.tapes[0]]).stdout)
    assert tape["id"] == info["tape"]["uuid"] and tape["pid"] == info["process"]["pid"]
    assert tape["argv"] == info["process"]["argv"] and tape["exe"] == info["process"]["exe"]
    assert tape["event_count"] == info["tape"]["events"] and tape["stack_count"] == info["tape"]["stacks"]
    assert tape["state"] == "complete" and tape["end"] == "exited 0" and tape["error"] is None
    assert tape["duration_ns"] == info["process"]["duration_ns"] and tape["has"]["marks"] is True
    assert tape["file"] == "world.mtape"
    detail = world.json("tape", c=tape["id"])
    assert detail["tape"]["id"] == tape["id"]
    assert [one["tid"] for one in detail["threads"]] == [one["tid"] for one in info["threads"]]
    assert [one["path"] for one in detail["modules"]] == [one["path"] for one in info["modules"]]
    assert {one["symbols"] for one in detail["modules"]} <= {"unread", "lines", "functions", "exported", "none", "gone",
                                                             "changed", "kernel"}
    assert sum(one["stacks"] for one in detail["modules"]) > 0


@pytest.mark.parametrize("called,name", [("front", "front"), ("", "marks"), ("front: idle", "marks")])
def test_a_program_has_the_name_it_was_called_by(tmp_path, called, name):
    """Of one file with several names; one that says what it does just now is called by its file."""
    tape = tmp_path / "one.mtape"
    outcome = recording.run([recording.memtape(), "record", "--follow", "-o", tape, "bash", "-c", 'exec -a "$0" "$1"', called, recording.target("marks")])
    assert outcome.returncode == 0, outcome.stderr
    with serve(*tmp_path.glob("one.mtape*")) as server:
        tapes = [server.json("tape", c=one["id"])["tape"] for one in server.json("info")["tapes"]]
        assert [one["name"] for one in tapes if one["exe"].endswith("/marks")] == [name]


def test_several_tapes_and_one_twice(tmp_path):
    tape, other = tmp_path / "shop.mtape", tmp_path / "other.mtape"
    write_shop(tape)
    recording.run([recording.memtape(), "record", "-o", other, recording.target("marks")])
    with serve(tape, other, tape, tape) as server:
        tapes = server.json("info")["tapes"]
        assert [one["file"] for one in tapes] == ["shop.mtape", "other.mtape", "shop.mtape", "shop.mtape"]
        for one in tapes:
            assert server.json("tape", c=one["id"])["tape"]["id"] == one["id"]
        assert server.json("tape")["tape"]["id"] == tapes[3]["id"]
        assert server.get("report", c=tapes[1]["id"]).body != server.get("report", c=tapes[0]["id"]).body


@pytest.mark.parametrize("content,words", [(None, "No such file"), (b"", "tape"), (b"x" * 9000, "tape")])
def test_what_is_no_tape_is_not_served(tmp_path, content, words):
    path = tmp_path / "no.mtape"
    if content is not None:
        path.write_bytes(content)
    outcome = recording.run([recording.memtape(), "serve", path])
    assert outcome.returncode == 1
    assert outcome.stdout == b"" and words in outcome.stderr.decode()


def test_a_port_in_use_is_an_error(shop):
    outcome = recording.run([recording.memtape(), "serve", "--port", str(shop.port), shop.tapes[0]])
    assert outcome.returncode == 1
    assert b"in use" in outcome.stderr and outcome.stdout == b""


def test_a_port_may_be_chosen(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serve(tape, options=["--port", str(port)]) as server:
        assert server.port == port
        with socket.create_connection(("::1", port), 5) as sock:
            sock.sendall(f"GET /api/v1/info?token={server.token} HTTP/1.0\r\nHost: [::1]:{port}\r\n\r\n".encode())
            assert parse_reply(read_all(sock)).status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_well(tmp_path, number):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with subprocess.Popen([recording.memtape(), "serve", "--json", tape], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=recording.clean_env()) as process:
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr.read() == b""


def test_a_stop_and_go_does_not_end_it(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape) as server:
        server.process.send_signal(signal.SIGSTOP)
        server.process.send_signal(signal.SIGCONT)
        assert server.ask("/api/v1/info").status == 200


def test_open_without_a_display_says_so(tmp_path):
    tape, log = tmp_path / "shop.mtape", tmp_path / "log"
    write_shop(tape)
    env = recording.clean_env()
    env.pop("DISPLAY", None)
    env.pop("WAYLAND_DISPLAY", None)
    with open(log, "wb") as errors, serve(tape, options=["--open"], env=env, stderr=errors) as server:
        assert server.ask("/api/v1/info").status == 200
    assert b"no display" in log.read_bytes()


def test_open_runs_the_opener_with_the_url(tmp_path):
    tape, opened = tmp_path / "shop.mtape", tmp_path / "opened"
    write_shop(tape)
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    opener.chmod(0o755)
    env = recording.clean_env(DISPLAY=":0", PATH=f"{opener.parent}:{os.environ['PATH']}")
    with serve(tape, options=["--open"], env=env) as server:
        until = time.monotonic() + 10
        while not opened.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert opened.read_text() == server.url


# --- a tape that grows -----------------------------------------------------------------------

GROWING = "import time\nkept = []\nfor i in range(400):\n" \
          "    kept = [bytearray(5000 + j) for j in range(3000)]\n    time.sleep(0.01)\n"


def test_a_tape_that_is_being_recorded_is_live(tmp_path):
    tape = tmp_path / "live.mtape"
    program = tmp_path / "grow.py"
    program.write_text(GROWING)
    recorder = subprocess.Popen([recording.memtape(), "record", "-o", tape, "/usr/bin/python3", program],
                                env=recording.clean_env(PYTHONMALLOC="malloc"), stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 10
        while not tape.exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        with serve(tape) as server:
            until = time.monotonic() + 10
            while server.json("info")["tapes"][0]["state"] == "loading" and time.monotonic() < until:
                time.sleep(0.1)
            assert server.json("info")["tapes"][0]["state"] == "live"  # this asks for a reading, too
            first = server.json("filter")
            assert first["gen"] >= 1
            begin = time.monotonic()
            while (second := server.json("filter"))["gen"] == first["gen"]:
                assert time.monotonic() - begin < 15
                time.sleep(0.2)
            assert time.monotonic() - begin > 0.5  # not each time that it is asked
            assert second["gen"] == first["gen"] + 1 and second["total"] > first["total"]
            recorder.wait(60)
            until = time.monotonic() + 20
            while server.json("info")["tapes"][0]["state"] == "live" and time.monotonic() < until:
                time.sleep(0.5)
            assert server.json("info")["tapes"][0]["state"] == "complete"
            assert server.json("filter")["gen"] == 0
            assert server.get("report").body == cli(server, "summary", "--json")
    finally:
        recorder.kill()
        recorder.wait()


def test_a_tape_that_goes_away_while_it_is_recorded_stays_what_was_read(tmp_path):
    tape, other = tmp_path / "live.mtape", tmp_path / "other.mtape"
    program = tmp_path / "grow.py"
    program.write_text(GROWING)
    recording.run([recording.memtape(), "record", "-q", "-o", other, recording.target("marks")])
    recorder = subprocess.Popen([recording.memtape(), "record", "-o", tape, "/usr/bin/python3", program],
                                env=recording.clean_env(PYTHONMALLOC="malloc"), stderr=subprocess.DEVNULL)

    def state(server, wanted):
        until = time.monotonic() + 30
        while (one := server.json("info")["tapes"][0])["state"] != wanted:
            assert time.monotonic() < until, one
            time.sleep(0.2)
        return one

    try:
        until = time.monotonic() + 10
        while not tape.exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        with serve(tape) as server:
            before = state(server, "live")
            tape.unlink()
            gone = state(server, "truncated")
            assert (gone["id"], gone["pid"]) == (before["id"], before["pid"])
            assert server.json("summary")["allocations"]["count"] > 0
            shutil.copy(other, tape)  # another recording is another tape
            time.sleep(3)
            for _ in range(3):
                server.get("summary")
                time.sleep(1)
            replaced = state(server, "truncated")
            assert (replaced["id"], replaced["pid"], replaced["exe"]) == (before["id"], before["pid"], before["exe"])
    finally:
        recorder.kill()
        recorder.wait()


# --- many at once ----------------------------------------------------------------------------


def test_many_who_ask_at_once_get_what_one_gets(world):
    asked = [f"/api/v1/report?name={name}&top={top}" for name in ("top", "tree", "summary", "groups", "modules", "findings")
             for top in range(1, 9)]
    asked += [f"/api/v1/filter?q=size+%3E+{size}" for size in range(40)]
    asked += ["/api/v1/names?field=function", "/api/v1/names?field=location", "/api/v1/tape"] * 6
    strip = lambda reply: (reply.status, reply.body.rpartition(b'"ms"')[0] or reply.body)
    with serve(world.tapes[0], options=["--cache", "0"]) as server, concurrent.futures.ThreadPoolExecutor(12) as pool:
        many = [strip(reply) for reply in pool.map(server.ask, asked)]
    one = [strip(world.ask(target)) for target in asked]
    assert many == one
    assert {status for status, _ in many} == {200}


def test_what_takes_long_holds_up_nobody(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--timeout", "3s"]) as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(server.post, "query", {"sql": SQL_CTE}, 503) for _ in range(3)]
        time.sleep(0.3)
        begin = time.monotonic()
        assert server.ask("/api/v1/report?name=top").status == 200
        assert time.monotonic() - begin < 2
        for one in slow:
            one.result(20)


def test_a_question_ends_when_nobody_waits_for_its_answer(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--timeout", "60s"]) as server:
        body = json.dumps({"sql": SQL_CTE}).encode()
        head = f"POST /api/v1/query HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {server.token}\r\n" \
               f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        sock = server.connect()
        sock.sendall(head.encode() + body)
        time.sleep(0.5)
        sock.close()
        begin = time.monotonic()
        assert server.post("query", {"sql": "SELECT 1"})["rows"] == [[1]]  # they take turns
        assert time.monotonic() - begin < 5


def test_an_end_cancels_what_runs(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with serve(tape, options=["--timeout", "60s"]) as server:
            slow = pool.submit(server.ask, "/api/v1/query", "POST", ["Content-Type: application/json"],
                               body=json.dumps({"sql": SQL_CTE}).encode())
            time.sleep(0.5)
            begin = time.monotonic()
        assert time.monotonic() - begin < 5
        reply = slow.result(10)
        assert reply is None or reply.status == 503


def test_an_end_waits_for_nothing_that_cannot_be_stopped(tmp_path):
    """SQLite doubles such a statement forty times before it asks whether it may."""
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    doubled = "WITH t0 AS (SELECT 1 AS a)" + "".join(f", t{n + 1} AS (SELECT x.a FROM t{n} x, t{n} y)" for n in range(40))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with serve(tape, options=["--timeout", "60s", "--memory", "1GiB"]) as server:
            slow = pool.submit(server.ask, "/api/v1/query", "POST", ["Content-Type: application/json"],
                               body=json.dumps({"sql": doubled + " SELECT count(*) FROM t40"}).encode())
            time.sleep(0.5)
            begin = time.monotonic()
            assert server.ask("/api/v1/report?name=top").status == 200
            assert time.monotonic() - begin < 3
            begin = time.monotonic()
        assert time.monotonic() - begin < 7
        reply = slow.result(10)  # a busy machine comes to a place where it may be stopped after all
        assert reply is None or reply.status == 503


def test_an_end_waits_for_no_reading_which_has_what_it_uses(tmp_path):
    tape = tmp_path / "many.mtape"
    recording.run([recording.memtape(), "record", "--no-summary", "-o", tape, "/usr/bin/python3", "-c",
                   "kept = [str(number) for number in range(300000)]"], env=recording.clean_env(PYTHONMALLOC="malloc"))
    with serve(tmp_path):  # whose names of tapes are its own
        time.sleep(0.2)  # then a memtape with ThreadSanitizer reads
        begin = time.monotonic()
    assert time.monotonic() - begin < 5


def test_a_statement_has_its_own_time_when_its_turn_comes(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--timeout", "5s"]) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        slow = pool.submit(server.post, "query", {"sql": SQL_CTE}, 503)
        time.sleep(0.3)
        second = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t LIMIT 1500000) SELECT count(*) FROM t"
        assert server.post("query", {"sql": second})["rows"] == [[1500000]]
        slow.result(30)


def test_answers_are_repeated_from_the_cache(world):
    once = world.json("report", name="tree")
    first, second = world.json("names", field="function"), world.json("names", field="function")
    assert first == second  # ms, too: it is the same answer
    assert world.json("names", field="function", n=3) != first
    assert once == world.json("report", name="tree")


def test_connections_are_kept_and_many_requests_go_over_one(shop):
    asked = f"GET /api/v1/filter HTTP/1.1\r\nHost: {shop.host}\r\nAuthorization: Bearer {shop.token}\r\n\r\n"
    last = asked.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    with shop.connect() as sock:
        sock.sendall((asked * 20 + last).encode())
        assert read_all(sock).count(b'"ok":true') == 21


# --- how the app gets into the program -------------------------------------------------------

EMBED = recording.ROOT / "tools" / "embed_assets.py"


def embed(folder, names, out):
    out.mkdir()
    listed = folder / "dist.list"
    listed.write_text("".join(f"{name}\n" for name in names))
    return recording.run(["/usr/bin/python3", EMBED, listed, folder, out / "c", out / "S", out / "bin"])


def test_the_same_files_make_the_same_bytes(tmp_path):
    app = tmp_path / "app"
    app.mkdir()
    files = {"index.html": b"<!doctype html>" + b"x" * 500, "assets/app-1A2B3C4D.js": b"let a = 1;" * 100,
             "assets/app-5E6F7A8B.css": b"p{color:red}",
             "assets/boot-00000000.js": b"let b = 2;", "assets/font-ABCDEFGH.woff2": bytes(range(256)),
             "assets/icon-11111111.svg": b"<svg/>", "robots.txt": b"Disallow: /",
             "report/app-22222222.js": b"let c = 3;"}
    for name, content in files.items():
        (app / name).parent.mkdir(exist_ok=True)
        (app / name).write_bytes(content)
    assert embed(app, files, tmp_path / "one").returncode == 0
    os.utime(app / "index.html", (1, 1))
    assert embed(app, reversed(list(files)), tmp_path / "two").returncode == 0
    assert (tmp_path / "one" / "bin").read_bytes() == (tmp_path / "two" / "bin").read_bytes()
    table = (tmp_path / "one" / "c").read_text()
    assert table == (tmp_path / "two" / "c").read_text()
    row = re.compile(r'\t\{ "(.*)", "(.*)", "(.*)", (\d+), (\d+), (\d+), (\d+), (true|false) \},')
    rows = [match.groups() for match in map(row.fullmatch, table.splitlines()) if match and match[1].startswith("/")]
    served = {name for name in files if not name.startswith("report/")}
    assert {row[0][1:] or "index.html" for row in rows} == served and rows == sorted(rows)
    blob = (tmp_path / "one" / "bin").read_bytes()
    for path, kind, _, at, size, packed_at, packed, is_hashed in rows:
        at, size, packed_at, packed = (int(number) for number in (at, size, packed_at, packed))
        content = files["index.html" if path == "/" else path[1:]]
        assert blob[at:at + size] == content
        if path.endswith("woff2"):
            assert packed == 0 and kind == "font/woff2"
        else:
            assert gzip.decompress(blob[packed_at:packed_at + packed]) == content
        assert (is_hashed == "true") == ("-" in path)


def test_files_of_unknown_kinds_are_not_embedded(tmp_path):
    (tmp_path / "app.exe").write_bytes(b"MZ")
    outcome = embed(tmp_path, ["app.exe"], tmp_path / "out")
    assert outcome.returncode == 1 and b"app.exe" in outcome.stderr


# --- static files ----------------------------------------------------------------------------


def test_the_page_comes_packed_and_is_not_sent_twice(shop):
    plain = shop.ask("/", token=False)
    assert plain.status == 200 and plain.headers["content-type"].startswith("text/html")
    if "etag" not in plain.headers:
        assert b"built without its web app" in plain.body and b"/api/v1/info" in plain.body
        return
    packed = shop.ask("/", headers=["Accept-Encoding: br, gzip"], token=False)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    for refused in ("gzip;q=0", "identity", "gzipped"):
        assert "content-encoding" not in shop.ask("/", headers=[f"Accept-Encoding: {refused}"]).headers
    again = shop.ask("/", headers=[f"If-None-Match: {plain.headers['etag']}"], token=False)
    assert again.status == 304 and again.body == b""
    assert plain.headers["cache-control"] == "no-cache"
    for asset in set(re.findall(rb'(?:src|href)="(/assets/[^"]+)"', plain.body)):
        reply = shop.ask(asset.decode(), token=False)
        assert reply.status == 200
        assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_head_has_no_body(shop):
    reply = shop.ask("/api/v1/fields", "HEAD")
    assert reply.status == 200 and reply.body == b"" and int(reply.headers["content-length"]) > 1000
