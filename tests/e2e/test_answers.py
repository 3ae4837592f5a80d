"""A question has one answer: `memtape report TAPE NAME --json` and /api/v1/NAME give the same bytes
for the same parameters, and both consist of what the schemas say."""

import json
import urllib.parse

import pytest

import recording
import shapes
from test_serve_data import serve

QUESTIONS = {
    "summary": [{}, {"filter": "size > 100"}, {"from": "30%", "until": "60%"}],
    "overview": [{}, {"filter": "leaked"}, {"from": "30%", "until": "60%"}],
    "findings": [{}, {"top": 1}, {"frames": "all"}],
    "marks": [{}, {"top": 2}, {"from": "30%"}, {"from": "10%", "until": "60%"}, {"from": "end"}],
    "usage": [{}, {"points": 5, "from": "30%"}, {"from": "10%", "until": "60%"}],
    "timeline": [{}, {"points": 7, "from": "30%"}, {"filter": "size > 100", "top": 3}],
    "curves": [{"points": 9}, {"points": 40, "bands": "module", "top": 2}, {"filter": "size > 100", "bands": "size"},
               {"from": "30%", "until": "60%", "bands": "function", "points": 5}],
    "top": [{}, {"sort": "count", "top": 3}, {"filter": "size > 100", "frames": "all"}],
    "trace": [{}, {"top": 1, "from": "30%"}],
    "leaks": [{}, {"sort": "allocated"}, {"from": "50%"}, {"filter": "size > 100"}],
    "temporary": [{}, {"until": "70%", "top": 1}],
    "sizes": [{}, {"filter": "size > 100"}, {"from": "30%", "until": "60%"}],
    "modules": [{}, {"sort": "leaked", "top": 2}, {"filter": "size > 100", "frames": "all"}],
    "at": [{"moment": "50%"}, {"moment": "peak", "top": 1}, {"moment": "end", "filter": "size > 100"}],
    "rss": [{}],
    "lifetimes": [{}, {"sites": True, "top": 2}, {"filter": "size > 100", "sites": True, "sort": "leaked"}],
    "reallocs": [{}, {"sort": "size", "top": 2}, {"filter": "size > 100"}],
    "threads": [{}, {"sort": "leaked", "top": 1}, {"filter": "size > 100"}],
    "between": [{"begin": "10%", "end": "80%"}, {"begin": "start", "end": "end", "sort": "net", "top": 2}],
    "latency": [{}, {"sort": "max", "top": 2}, {"filter": "size > 100"}],
    "groups": [{}, {"by": "thread", "sort": "leaked_size"}, {"by": "stack", "skip": 1, "top": 2, "filter": "size > 100"},
               {"by": "size", "from": "30%", "until": "60%"}, {"by": "lifetime", "sort": "all.size:asc"},
               {"sort": "saves"}],
    "savings": [{}, {"by": "size", "top": 2}, {"filter": "size > 100"}, {"from": "30%", "until": "60%"}],
    "residency": [{}, {"at": "peak", "top": 1}, {"filter": "size > 100"}],
    "growth": [{}, {"top": 2}, {"filter": "size > 100"}, {"from": "30%", "until": "60%"}],
    "tree": [{}, {"bottom-up": True, "sort": "leaked"}, {"function": "main"}, {"filter": "size > 100", "one-in": 20}],
    "fragmentation": [{}, {"at": "50%", "top": 2}, {"at": "peak", "sort": "slack"}],
    "space": [{}, {"at": "50%", "cells": 100}],
    "mappings": [{}, {"at": "50%"}, {"sort": "resident", "top": 3}, {"from": "30%", "until": "60%"}],
    "files": [{}, {"sort": "live", "at": "50%"}, {"sort": "count", "top": 2, "filter": "size > 100"}, {"sort": "wasted"}],
    "recording": [{}], "verify": [{}],
    "mallopts": [{}, {"top": 1}, {"until": "50%"}],
    "pools": [{}, {"top": 1}],
    "now": [{}, {"last": "1ms", "sort": "growth", "top": 2, "points": 7}, {"last": "all", "sort": "churn", "filter": "size > 100"},
            {"sort": "blocks", "from": "30%", "until": "60%"}],
    "processes": [{}],
}
CASES = [(name, asked) for name, cases in QUESTIONS.items() for asked in cases]
OPERANDS = {"moment", "begin", "end", "file"}


@pytest.fixture(scope="module", params=[("problems", "huge"), ("marks",), ("bad_frees", "twice")], ids=lambda words: "-".join(words))
def tape(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "the.mtape"
    program, *words = request.param
    recording.run_recorded([recording.target(program), *words], path, options=["--latency"])
    assert path.exists()
    return path


@pytest.fixture(scope="module")
def server(tape):
    with serve(tape) as server:
        yield server


def parts(asked):
    """The same for a request."""
    return {"q" if key == "filter" else key: 1 if value is True else value for key, value in asked.items()}


def report(tape, name, asked):
    operands = [value for key, value in asked.items() if key in OPERANDS]
    options = [f"--{key}" if value is True else f"--{key}={value}" for key, value in asked.items() if key not in OPERANDS]
    done = recording.run([recording.memtape(), "report", tape, name, *operands, "--json", *options])
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def exact(text):
    """The members in their order, and each digit."""
    return json.loads(text, parse_float=lambda digits: ["a number", digits])


@pytest.mark.parametrize("name,asked", CASES)
def test_command_and_server_give_the_same_bytes(tape, server, name, asked):
    path = f"/api/v1/{name}?" + urllib.parse.urlencode(parts(asked))
    answer, printed = exact(server.get(path)[1]), exact(report(tape, name, asked))
    del answer["gen"], answer["ms"]
    if name == "processes":  # the command's JSON is the list alone
        answer = answer["processes"]
    assert json.dumps(answer) == json.dumps(printed)


def test_modules_without_names_are_those_of_this_answer(tape, server):
    """What other questions showed before does not count, what this one shows in outer frames does."""
    server.json("/api/v1/top", **{"frames": "all"})
    for name in QUESTIONS.keys() - {"recording", "verify", "processes"}:  # which shows no functions
        least = QUESTIONS[name][0]
        quality = server.json(f"/api/v1/{name}", **parts(least))["quality"]
        assert quality == json.loads(report(tape, name, least))["quality"]
    for name in ("top", "leaks"):
        answer = server.json(f"/api/v1/{name}", **{"frames": "all"})
        shown = {frame["module"] for site in answer["sites"] for frame in site["stack"]
                 if frame["function"].startswith(f"{(frame['module'] or '').rsplit('/', 1)[-1]}+0x")}
        assert shown <= {module["module"] for module in answer["quality"]["unnamed_modules"]}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_what_the_schemas_say(tape, server, name):
    server.json(f"/api/v1/{name}", **parts(QUESTIONS[name][0]))  # shapes.conform
    printed = json.loads(report(tape, name, QUESTIONS[name][0]))
    if name == "processes":
        printed = {"processes": printed, "quality": server.json(f"/api/v1/{name}")["quality"]}
    assert not shapes.faults(shapes.schema_of(f"/api/v1/{name}")[1], printed, name)


# Other routes, each asked somewhere, where its answer is held against its schema as well.
ROUTES = {
    "info": [{}], "tape": [{}], "fields": [{}], "reports": [{}], "sql": [{}], "my-code": [{}],
    "filter": [{"q": "size > 100"}], "names": [{"field": "function"}, {"field": "module", "n": 1}],
    "flame": [{}, {"m": "leaked", "dir": "up", "px": 100}, {"q": "size > 1000000000000"}],
    "children": [{}, {"m": "count", "n": 1}],
    "sites": [*({"by": by, "spark": 24} for by in ("stack", "function", "source", "module", "thread", "size", "mark", "pool", "call"))],
    "allocs": [{}, {"sort": "size", "order": "dsc", "n": 3}], "alloc": [{"row": 0}],
    "grid": [{"x": x, "y": y} for x, y in (("size", "lifetime"), ("time", "size"), ("lifetime", "latency"))],
    "heap": [*({"by": by, "cells": 100} for by in ("use", "age", "size", "thread", "site"))],
    "diff": [{"a_at": "20%", "b_at": "end"}, {"a_until": "50%", "b_from": "50%", "m": "allocated", "by": "module", "stacks": 0}],
    "diff/flame": [{"a_at": "20%", "b_at": "end"}, {"a_until": "50%", "b_from": "50%", "m": "count", "b_per": 3}],
}
ELSEWHERE = {"frame", "source", "annotate",  # below
             "leak-classes", "holders", "retained",  # test_leak_classes.py
             "stale", "idle",  # test_stale.py
             "tapes",  # test_tapes.py
             "attachable"}  # test_serve_attach.py
POSTS = {"attach",  # test_serve_attach.py
         "open",  # test_tapes.py
         "my-code/change",  # test_my_code_app.py
         "hold", "mark", "pause", "leak-scan", "snapshot", "stop", "query"}  # test_live.py, test_live_controls.py, test_sql_api.py


@pytest.mark.parametrize("name", ROUTES)
def test_answers_of_all_routes_are_what_the_schemas_say(server, name):
    assert shapes.schema_of(f"/api/v1/{name}")
    for params in ROUTES[name]:
        server.json(f"/api/v1/{name}", **params)


def test_a_function_and_a_file_are_what_the_schemas_say(server):
    flame = server.json("/api/v1/flame")
    for hash_ in flame["hashes"][1:4]:
        for metric in ("peak", "count"):
            server.json("/api/v1/frame", h=hash_, m=metric)
    for file in server.json("/api/v1/files", top=3)["files"]:
        server.json("/api/v1/source", file=file["id"])


def test_every_answer_is_asked_for():
    """What is no file is a value, and the document says what of."""
    paths = shapes.document()["paths"]
    ours = {path for path in paths if path.startswith("/api/v1/")}
    asked = {path for path in ours for method in paths[path] if shapes.schema_of(path, method)}
    assert asked == {f"/api/v1/{name}" for name in {*QUESTIONS, *ROUTES, *ELSEWHERE, *POSTS}}
    files = {path.removeprefix("/api/v1/") for path in ours - asked}
    assert files == {"events", "export", "export/flamegraph.svg", "export/report.html", "openapi.json", "report"}


def test_a_source_file_is_annotated_the_same(tape, server):
    """The server knows files by ids: no path comes from outside."""
    file = next(row for row in server.json("/api/v1/files", sort="allocated")["files"] if row["file"].endswith((".c", ".cpp")))
    for asked in ({}, {"sort": "leaked", "top": 1}, {"filter": "size > 100"}):
        answer = server.json("/api/v1/annotate", file=file["id"], **parts(asked))
        answer = {key: one for key, one in answer.items() if key not in ("gen", "ms")}
        assert answer["lines"] and answer == json.loads(report(tape, "annotate", {"file": file["file"], **asked}))


def test_the_served_document_is_the_printed_one(server):
    assert server.json("/api/v1/openapi.json") == shapes.document()
