"""What is suppressed is no leak, whoever is asked: text, JSON, CSV, REST, SQL, filters, diff."""

import csv
import io
import json
import re
import shutil
import subprocess

import pytest

import recording
from serving import serve

# main.c's malloc leaks 10 bytes; libstdc++ keeps a reserve for exceptions, cache_fill() 3,001 bytes.
PROGRAM = """
#include <cstdlib>
#include <stdexcept>
void *volatile kept;
__attribute__((noinline)) void cache_fill() { kept = malloc(3001); }
__attribute__((noinline)) void forget() { kept = malloc(10); }
int main(int argc, char **)
{
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	forget();
	if (argc > 1)
		cache_fill();
	if (!kept)
		throw std::runtime_error("");
}
"""
RULES = "# ours\nleak:^cache_fill\n"
OURS = (1, 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("needs g++")
    where = tmp_path_factory.mktemp("suppressions")
    (where / "program.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "-g", "-O1", "-fno-builtin", "program.cpp", "-o", "program"], cwd=where, check=True)
    run(where, "record", "-q", "-o", "plain.mtape", "./program")
    run(where, "record", "-q", "-o", "cache.mtape", "./program", "cache")
    return where


def run(folder, *words, code=0):
    done = recording.run([recording.memtape(), *words], cwd=folder)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


def refusal(folder, *words):
    done = recording.run([recording.memtape(), *words], cwd=folder)
    assert done.returncode in (1, 2) and not done.stdout
    return done.stderr.decode()


def report(folder, tape, *words):
    return json.loads(run(folder, "report", tape, *words, "--json"))


def pair(sums):
    return sums["count"], sums["bytes"]


def column_sums(rows, count="leaked_count", size="leaked_bytes"):
    return sum(int(row[count]) for row in rows), sum(int(row[size]) for row in rows)


def totals_of_reports(folder, tape, *options):
    """What leaked and what is suppressed, as each report has it."""
    summary = report(folder, tape, "summary", *options)
    leaked = {"summary": pair(summary["leaked"])}
    suppressed = {"summary": pair(summary["suppressed"])}
    for name, key in (("leaks", "sites"), ("modules", "modules"), ("threads", "threads"),
                      ("sizes", "sizes")):
        answer = report(folder, tape, name, *options)
        leaked[name], suppressed[name] = column_sums(answer[key]), pair(answer["suppressed"])
        rows = csv.DictReader(io.StringIO(run(folder, "report", tape, name, "--csv", *options)))
        leaked[name + " --csv"] = column_sums(list(rows))
    answer = report(folder, tape, "top", "--sort", "count", *options)
    leaked["top"], suppressed["top"] = column_sums(answer["sites"]), pair(answer["suppressed"])
    for by in ("stack", "thread", "size", "call", "lifetime"):
        answer = report(folder, tape, "groups", "--by", by, *options)
        suppressed["groups"] = pair(answer["suppressed"])
        for part in ("only_matched", "all"):
            leaked[f"groups {by} {part}"] = column_sums([row[part] for row in answer["groups"]], size="leaked_size")
    for direction in ([], ["--bottom-up"]):
        answer = report(folder, tape, "tree", "--sort", "leaked", *direction, *options)
        leaked["tree" + "".join(direction)], suppressed["tree"] = pair(answer), pair(answer["suppressed"])
    return leaked, suppressed


def totals_of_filters(folder, tape, *options):
    def of(filter_):
        blocks = report(folder, tape, "allocations", "--filter", filter_, *options)
        assert all(block["free_ns"] is None for block in blocks)
        return len(blocks), sum(block["size"] for block in blocks)
    leaked = {text: of(text) for text in ("leaked", "leaked = yes and size > 0", "group_leaked > 0 and not freed")}
    assert of("not freed") == of("leaked or suppressed")
    assert of("not freed and not leaked") == of("suppressed") == of("not freed and not (leaked and size > 0)")
    return leaked, {"suppressed": of("suppressed")}


def totals_of_sql(folder, tape, *options):
    def ask(statement):
        rows = json.loads(run(folder, "sql", tape, statement, "--json", *options))
        return tuple(next(iter(rows)).values())
    names = {"groups": "", "threads": "", "summary": "", "functions": "self_"}
    leaked = {table: ask(f"SELECT sum({own}leaked_count), sum({own}leaked_bytes) FROM {table}")
              for table, own in names.items()}
    suppressed = {"summary": ask("SELECT suppressed_count, suppressed_bytes FROM summary")}
    for word, sums in (("leaked", leaked), ("suppressed", suppressed)):
        sums["rows"] = ask(f"SELECT count(*), total(size) FROM allocations WHERE {word}")
        sums["field"] = ask(f"SELECT count(*), total(size) FROM allocations('{word}')")
        sums["few"] = ask(f"SELECT count(*), total(size) FROM allocations WHERE size IN (10, 72704, 3001) AND {word}")
    return leaked, suppressed


def totals_of_rest(server):
    summary = server.json("summary")
    leaked = {"summary": pair(summary["leaked"])}
    suppressed = {"summary": pair(summary["suppressed"])}
    for by in ("function", "stack", "thread"):
        for part in ("only_matched", "all"):
            rows = server.json("sites", by=by, sort="leaked_size")["rows"]
            leaked[f"sites {by} {part}"] = pair({
                key: sum(row[part]["leaked_" + word] for row in rows)
                for key, word in (("count", "count"), ("bytes", "size"))})
    leaked["range"] = pair(server.json("summary", until="100%")["leaked"])
    suppressed["range"] = pair(server.json("summary", until="100%")["suppressed"])
    leaked["filter"] = tuple(server.json("filter", q="leaked")[key] for key in ("count", "bytes"))
    suppressed["filter"] = tuple(server.json("filter", q="suppressed")[key] for key in ("count", "bytes"))
    assert server.json("flame", m="leaked")["total"] == leaked["summary"][1]
    assert server.json("overview")["spans"][-1]["leaked_bytes"] == leaked["summary"][1]
    rows = server.post("query", {"sql": "SELECT count(*), total(size) FROM allocations WHERE leaked"})["rows"]
    leaked["query"] = tuple(rows[0])
    return leaked, suppressed


def one_answer(*found):
    """All faces say the same; what that is."""
    leaked = {face: figures for part, _ in found for face, figures in part.items()}
    suppressed = {face: figures for _, part in found for face, figures in part.items()}
    assert len(set(leaked.values())) == 1, leaked
    assert len(set(suppressed.values())) == 1, suppressed
    return next(iter(leaked.values())), next(iter(suppressed.values()))


def test_every_face_says_the_same_of_leaks(folder):
    asked = (folder, "plain.mtape")
    with serve(folder / "plain.mtape") as server:
        leaked, suppressed = one_answer(totals_of_reports(*asked), totals_of_filters(*asked), totals_of_sql(*asked),
                                        totals_of_rest(server))
        cli = run(folder, "report", "plain.mtape", "summary", "--json").encode()
        assert server.get("report", name="summary").body == cli
    assert leaked == OURS and suppressed[0] == 1 and suppressed[1] > 4096
    text = run(folder, "report", "plain.mtape")
    size = f"{suppressed[1] / 1024:.1f} KiB"
    assert re.search(r"^  leaked +10 B +in 1 block never freed, ", text, re.MULTILINE)
    assert f"{size} more suppressed" in text
    assert "10 B in 1 block" in run(folder, "report", "plain.mtape", "leaks")
    assert f"{size} in 1 block more suppressed" in run(folder, "report", "plain.mtape", "threads")
    folded = run(folder, "export", "plain.mtape", "--to", "folded", "--metric", "leaked")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == 10


def test_without_suppressions_all_that_was_never_freed_leaked(folder):
    asked = (folder, "plain.mtape", "--no-suppressions")
    leaked, suppressed = one_answer(totals_of_reports(*asked), totals_of_sql(*asked))
    never = report(folder, "plain.mtape", "allocations", "--filter", "not freed")
    assert leaked == (len(never), sum(block["size"] for block in never)) != OURS
    assert suppressed[0] == 0
    with serve(folder / "plain.mtape", options=["--no-suppressions"]) as server:
        assert one_answer(totals_of_rest(server))[0] == leaked


def test_a_comparison_does_not_count_what_is_suppressed(folder, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(RULES)
    tapes = ["plain.mtape", "cache.mtape"]
    run(folder, "diff", *tapes, "--fail-if", "leaked>0", code=1)
    run(folder, "diff", *tapes, "--fail-if", "leaked>0", "--suppressions", rules)
    run(folder, "diff", *tapes, "--fail-if", "leaked>0", "--suppressions", rules, "--no-suppressions", code=2)
    answer = json.loads(run(folder, "diff", *tapes, "--metric", "leaked", "--suppressions", rules, "--json"))
    assert answer["totals"]["leaked"] == {"a": 10, "b": 10, "difference": 0}
    for side, tape in (("a", "plain.mtape"), ("b", "cache.mtape")):
        want = report(folder, tape, "summary", "--suppressions", rules)
        assert (answer[side]["leaked_count"], answer[side]["leaked_bytes"]) == pair(want["leaked"])
        assert (answer[side]["suppressed_count"], answer[side]["suppressed_bytes"]) == pair(want["suppressed"])
    assert "suppressed" in run(folder, "diff", *tapes)
    with serve(folder / "plain.mtape", folder / "cache.mtape", options=["--suppressions", rules]) as server:
        ids = [tape["id"] for tape in server.json("info")["tapes"]]
        shown = server.json("diff", c=ids[0], b=ids[1], m="leaked")
        assert (shown["a"]["total"], shown["b"]["total"]) == (10, 10)
        assert all(shown["b"][key] == answer["b"][key] for key in ("suppressed_count", "suppressed_bytes"))


def test_the_suppressions_of_a_project_are_found(folder, tmp_path):
    inside = tmp_path / "src" / "deep"
    inside.mkdir(parents=True)
    tape = folder / "cache.mtape"
    assert pair(report(inside, tape, "summary")["leaked"]) == (2, 3011)
    (tmp_path / ".memtape").mkdir()
    project = tmp_path / ".memtape" / "suppressions"
    project.write_text(RULES)
    asked = (inside, tape)
    leaked, suppressed = one_answer(totals_of_reports(*asked), totals_of_filters(*asked), totals_of_sql(*asked))
    assert leaked == OURS and suppressed[0] == 2
    found = report(inside, tape, "leaks")["suppressed"]
    assert found["file"] == str(project) and "leak:^cache_fill" in [rule["rule"] for rule in found["rules"]]
    for name in ("summary", "leaks", "threads"):
        assert f"built-in, {project}" in run(inside, "report", tape, name)
    run(inside, "diff", folder / "plain.mtape", tape, "--fail-if", "leaked>0")
    # One that is named takes its place.
    (tmp_path / "other").write_text("leak:nothing\n")
    assert pair(report(inside, tape, "summary", "--suppressions", "../../other")["leaked"]) == (2, 3011)
    # The nearest is the project's.
    (inside / ".memtape").mkdir()
    assert pair(report(inside, tape, "summary")["leaked"]) == OURS
    (inside / ".memtape" / "suppressions").write_text("race:x\n")
    assert pair(report(inside, tape, "summary")["leaked"]) == (2, 3011)


COMMANDS = [["report", "T"], ["diff", "T", "T"], ["sql", "T", "SELECT 1"], ["serve", "T"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_wrong_file_is_told_by_its_line(folder, tmp_path, command):
    project = tmp_path / ".memtape" / "suppressions"
    project.parent.mkdir()
    project.write_text("leak:ours\n\nwhat is this\n")
    words = [folder / "plain.mtape" if word == "T" else word for word in command]
    assert f"{project}:3: expected leak:PATTERN" in refusal(tmp_path, *words)
    assert "open nowhere: No such file" in refusal(tmp_path, *words, "--suppressions", "nowhere")
    run(tmp_path, "report", folder / "plain.mtape", "--no-suppressions")
    project.unlink()
    project.mkdir()
    assert f"read {project}: Is a directory" in refusal(tmp_path, *words)
