"""memtape sql: answers agree with the reports, and nothing a statement says does harm."""

import csv
import io
import json
import os
import pathlib
import pty
import random
import re
import select
import signal
import subprocess
import time

import pytest

import recording
import test_reading

MAN = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/man/memtape-sql.1"


@pytest.fixture
def shop(tmp_path):
    names = test_reading.write_shop(tmp_path / "shop.mtape").names()
    yield tmp_path
    names.unlink()


def sql(folder, *words, code=0, stdin=""):
    done = recording.run([recording.memtape(), "sql", "shop.mtape", *words], cwd=folder,
                         stdin=stdin.encode())
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return done.stdout.decode() if code == 0 else done.stderr.decode()


def ask(folder, text):
    return json.loads(sql(folder, "--json", text))


def report(folder, *words):
    return recording.report(folder / "shop.mtape", *words)


def test_sums_are_those_of_the_summary(shop):
    summary = report(shop, "summary")
    [row] = ask(shop, "SELECT count(*) AS count, sum(size) AS bytes, sum(leaked) AS leaked_count, "
                      "sum(leaked * size) AS leaked_bytes, sum(at_peak) AS peak_count, "
                      "sum(at_peak * size) AS peak_bytes, sum(temporary) AS temporary_count, "
                      "sum(temporary * size) AS temporary_bytes, "
                      "sum(usable_size) AS usable FROM allocations")
    assert (row["count"], row["bytes"]) == tuple(summary["allocations"].values())
    assert row["usable"] == summary["usable_bytes"]
    for what in ("leaked", "peak", "temporary"):
        assert row[f"{what}_count"] == summary[what]["count"]
        assert row[f"{what}_bytes"] == summary[what]["bytes"]
    [whole] = ask(shop, "SELECT * FROM summary")
    assert whole["peak_ns"] == summary["peak"]["time_ns"]
    assert whole["duration_ns"] == summary["duration_ns"]
    assert whole["unknown_free_count"] == summary["unknown_frees"]
    calls = {row["call"]: row for row in ask(shop, "SELECT call, sum(calls) AS calls, "
                                                   "sum(failed) AS failed FROM calls GROUP BY 1")}
    for name, function in summary["functions"].items():
        assert calls[name]["calls"] >= function["calls"]
        assert calls[name]["failed"] == function["failed"]


def test_rows_are_those_of_the_report(shop):
    rows = ask(shop, "SELECT a.*, t.tid, f.tid AS free_tid FROM allocations AS a "
                     "LEFT JOIN threads AS t ON t.id = thread "
                     "LEFT JOIN threads AS f ON f.id = free_thread ORDER BY a.id")
    frames = {}
    for frame in ask(shop, "SELECT * FROM frames WHERE role IN ('mine', 'library') ORDER BY stack, position"):
        frames.setdefault(frame["stack"], []).append(frame["function"])
    blocks = report(shop, "allocations", "--frames=all")
    assert len(rows) == len(blocks) > 0
    for row, block in zip(rows, blocks):
        assert hex(row["address"]) == block["address"]
        assert (row["size"], row["usable_size"]) == (block["size"], block["usable_size"])
        assert (row["alloc_ns"], row["free_ns"]) == (block["alloc_ns"], block["free_ns"])
        assert (row["tid"], row["free_tid"]) == (block["thread"], block["free_thread"])
        assert (row["call"], row["free_call"]) == (block["function"], block["free_function"])
        assert row["realloc_of"] == block["realloc_of"]
        assert (row["temporary"], row["at_peak"]) == (block["temporary"], block["at_peak"])
        assert row["leaked"] == (block["free_ns"] is None)
        shown = [frame["function"] for frame in block["stack"]]
        assert [name for name in shown if name in frames[row["stack"]]] == frames[row["stack"]]


def test_threads_and_timeline_are_those_of_the_reports(shop):
    threads = {row["tid"]: row for row in report(shop, "threads")["threads"]}
    for row in ask(shop, "SELECT * FROM threads"):
        assert row["name"] == threads[row["tid"]]["name"]
        assert row["foreign_free_count"] == threads[row["tid"]]["foreign_free_count"]
    usage = ask(shop, "SELECT ns, rss_bytes, pss_bytes FROM usage")
    assert usage == [{"ns": 0, "rss_bytes": 3 << 20, "pss_bytes": None},
                     {"ns": 70_000_000, "rss_bytes": 5 << 20, "pss_bytes": None}]
    [spans] = ask(shop, "SELECT sum(allocated_bytes) AS bytes, max(live_bytes_max) AS peak, "
                        "(SELECT peak_bytes FROM summary) AS summary FROM timeline")
    assert spans["peak"] == spans["summary"]


def test_a_moment_is_what_was_alive_then(shop):
    for ns in (0, 5_000_000, 50_000_000, 81_000_000, 100_000_000):
        [live] = ask(shop, f"SELECT total(live_bytes) AS bytes FROM live_at({ns})")
        [rows] = ask(shop, f"SELECT total(size) AS bytes FROM allocations WHERE alloc_ns <= {ns} "
                           f"AND (free_ns IS NULL OR free_ns > {ns})")
        assert live == rows
    assert ask(shop, "SELECT sum(live_bytes) AS bytes FROM live_at('peak')") == ask(
        shop, "SELECT peak_bytes AS bytes FROM summary")


def test_a_filter_can_be_the_argument_of_allocations(shop):
    rows = ask(shop, """SELECT DISTINCT site(stack) AS site FROM allocations('size >= 1KiB and
                        function ~ "^stock_" and lifetime > 1ms')""")
    assert rows == [{"site": "stock_grow"}]
    message = sql(shop, "SELECT 1 FROM allocations('size >= 4KiX')", code=2)
    assert "4KiX" in message and "line 1, column 1" in message


def test_text_json_and_csv_say_the_same(shop):
    text = "SELECT site(stack) AS site, count(*) AS n, free_ns FROM allocations GROUP BY 1 ORDER BY 1"
    rows = ask(shop, text)
    cells = list(csv.DictReader(io.StringIO(sql(shop, "--csv", text))))
    lines = sql(shop, text).splitlines()
    assert len(rows) == len(cells) == len(lines) - 1 > 0
    assert lines[0].split() == ["site", "n", "free_ns"]
    for row, cell, line in zip(rows, cells, lines[1:]):
        assert {k: "" if v is None else str(v) for k, v in row.items()} == cell
        assert line.split()[-2:] == [str(row["n"]), "-" if row["free_ns"] is None else
                                     str(row["free_ns"])]
    assert any(row["site"] == test_reading.HOSTILE for row in rows)
    assert "\x1b" not in sql(shop, text)


def test_values_of_every_kind_are_shown(shop):
    text = "SELECT 1.5 AS a, 1e300 AS b, 9e999 AS c, x'00ff' AS d, NULL AS e, -5 AS f, 'g' AS f"
    out = sql(shop, "--json", text)
    assert '"c": 9e999' in out
    assert json.loads(out) == [{"a": 1.5, "b": 1e300, "c": float("inf"), "d": "00ff", "e": None,
                                "f": -5, "f:2": "g"}]
    assert sql(shop, text).splitlines()[1].split() == ["1.5", "1.0e+300", "Inf", "00ff", "-", "-5",
                                                       "g"]
    assert json.loads(sql(shop, "--json", "SELECT 1 AS x WHERE 0")) == []
    assert sql(shop, "--csv", "SELECT 1 AS x WHERE 0") == "x\n"


def test_units_can_be_read_and_written(shop):
    assert ask(shop, "SELECT bytes('4KiB') AS b, ns('1.5ms') AS n, human_bytes(4096) AS hb, "
                     "human_time(1500000) AS ht, human_address(255) AS ha, human_bytes(NULL) AS x, "
                     "human_bytes(-1536.2) AS nb, human_time(avg(2500)) AS at, "
                     "human_bytes(-9223372036854775807 - 1) AS least, human_bytes(9e99) AS most") == [
        {"b": 4096, "n": 1_500_000, "hb": "4.0 KiB", "ht": "1.50 ms", "ha": "0xff", "x": None,
         "nb": "-1.5 KiB", "at": "2.50 us", "least": "-8.0 EiB", "most": None}]
    [row] = ask(shop, "SELECT stack_text(stack) AS s FROM allocations WHERE address = 0xa0000")
    assert row["s"] == "receipt_print < till_run"


def test_statements_come_from_standard_input(shop):
    out = sql(shop, stdin="SELECT 1 AS a;\n-- no statement ';'\nSELECT\n 2 AS b; SELECT 3 AS c")
    assert out == "a\n1\n\nb\n2\n\nc\n3\n"
    assert "allocations" in sql(shop, stdin=".tables\n")
    assert "human_bytes" in sql(shop, stdin=".functions\n")
    assert "free_ns" in sql(shop, stdin=".schema allocations\n")
    assert sql(shop, stdin="") == sql(shop, "") == ""


@pytest.mark.parametrize("text, place", [
    ("SELEC 1", "line 1, column 1"),
    ("SELECT 1;\nSELECT size,\n  wrong FROM allocations", "line 3, column 3"),
    ("SELECT 1; SELECT nothing(1)", "line 1, column 18"),
    ("SELECT * FROM nowhere", "no such table: nowhere"),
])
def test_a_bad_statement_is_located(shop, text, place):
    assert place in sql(shop, text, code=2)
    assert place in sql(shop, code=2, stdin=text)


@pytest.mark.parametrize("text", [
    "ATTACH 'evil.db' AS evil", "CREATE TABLE t(x)", "VACUUM INTO 'evil.db'", "DELETE FROM groups",
    "PRAGMA journal_mode = wal", "SELECT load_extension('evil.so')", "CREATE TEMP VIEW v AS SELECT 1",
])
def test_nothing_can_be_changed(shop, text):
    before = sorted(os.listdir(shop)), (shop / "shop.mtape").read_bytes()
    sql(shop, text, code=2)
    assert (sorted(os.listdir(shop)), (shop / "shop.mtape").read_bytes()) == before


@pytest.mark.parametrize("text", [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "SELECT count(*) FROM allocations a, allocations b, allocations c, allocations d, allocations e",
    "SELECT count(*) FROM frames a, frames b, frames c, frames d, frames e WHERE a.function > 'a'",
])
def test_a_statement_without_end_is_stopped(shop, text):
    begin = time.monotonic()
    assert "time limit" in sql(shop, "--timeout", "1s", text, code=1)
    assert 0.9 < time.monotonic() - begin < 10


@pytest.mark.parametrize("text, why", [
    ("SELECT randomblob(1000000000)", "too long"),
    ("SELECT zeroblob(1000000000)", "too long"),
    ("SELECT replace(hex(zeroblob(8000000)), '0', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", "too long"),
    ("SELECT group_concat(randomblob(1000000)) FROM allocations", "too long|memory"),
    ("SELECT count(*) FROM (SELECT a.id, b.id, randomblob(100000) OVER () FROM allocations a, "
     "allocations b)", "OVER|function"),
    ("SELECT sum(length(g)) FROM (SELECT json_group_array(hex(randomblob(900000))) OVER (ORDER BY id) "
     "AS g, hex(randomblob(4000000)) FROM allocations)", "too long|memory"),
])
def test_a_statement_that_wants_all_memory_is_stopped(shop, text, why):
    done = recording.run(["bash", "-c", 'ulimit -v 2000000; exec "$0" "$@"', recording.memtape(),
                          "sql", "shop.mtape", "--memory", "100M", "--timeout", "30s", text],
                         cwd=shop)
    assert done.returncode in (1, 2), done.stderr
    assert re.search(why, done.stderr.decode()), done.stderr


def test_without_temporary_files_sorting_counts_as_memory(shop):
    text = ("SELECT count(*) FROM (SELECT a.id FROM allocations a, allocations b, allocations c, frames "
            "ORDER BY random() LIMIT -1 OFFSET 1)")
    message = sql(shop, "--in-memory", "--memory", "8M", "--timeout", "60s", text, code=1)
    assert "memory" in message
    trace = shop / "trace"
    done = recording.run(["strace", "-f", "-e", "trace=openat,open,creat", "-o", trace,
                          recording.memtape(), "sql", "shop.mtape", "--timeout", "5s", "--in-memory",
                          "SELECT count(*) FROM (SELECT a.id FROM allocations a, allocations b, "
                          "threads c, frames d WHERE d.stack < 9 ORDER BY random() "
                          "LIMIT -1 OFFSET 1)"], cwd=shop)
    assert done.returncode == 0, done.stderr
    assert not [line for line in trace.read_text().splitlines()
                if "O_CREAT" in line and ".index" not in line and "/cache" not in line]


@pytest.mark.parametrize("text", [
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT " + "-" * 1 + "+" * 200_000 + "1",
    "SELECT " + ", ".join("1" for _ in range(5000)),
    " UNION ".join("SELECT 1" for _ in range(1000)),
    "SELECT \x01",
], ids=["brackets", "signs", "columns", "unions", "control"])
def test_monsters_are_errors(shop, text):
    sql(shop, code=2, stdin=text)


def test_a_stopped_answer_leaves_no_file(shop):
    sql(shop, "--timeout", "200ms", "-o", "out.csv", "--csv",
        "SELECT * FROM allocations a, allocations b, allocations c, allocations d", code=1)
    assert sorted(os.listdir(shop)) == ["shop.mtape"]
    sql(shop, "-f", "-o", "out.csv", "--csv", "SELECT id FROM allocations LIMIT 2")
    assert (shop / "out.csv").read_text() == "id\n0\n1\n"


def test_examples_run_and_are_in_the_manual(shop):
    examples = recording.run([recording.memtape(), "sql", "--examples"]).stdout.decode()
    assert examples.count(";") >= 10
    assert examples.strip() in MAN.read_text().replace("\\-", "-").replace("\\&", "")
    out = sql(shop, "--json", stdin=examples)
    decoder, at, answers = json.JSONDecoder(), 0, []
    while at < len(out):
        answer, at = decoder.raw_decode(out, at)
        at += 1
        answers.append(answer)
    assert len(answers) == len(re.findall(r";$", examples, re.MULTILINE))
    assert sum(len(answer) > 0 for answer in answers) >= len(answers) - 2


def test_the_manual_lists_every_table_and_column(shop):
    page = MAN.read_text().replace("\\-", "-")
    schema = recording.run([recording.memtape(), "sql", "--schema"]).stdout.decode()
    for line in filter(None, map(str.strip, schema.splitlines())):
        name = line.split()[0]
        if name == "functions:":
            continue
        assert f".SS {name[:-1]}\n" in page if name.endswith(":") else f"\n  {name}" in page, line


class Terminal:
    def __init__(self, folder):
        self.fd, child = pty.openpty()
        self.process = subprocess.Popen([recording.memtape(), "sql", "shop.mtape"], cwd=folder,
                                        stdin=child, stdout=child, stderr=child,
                                        start_new_session=True, env=recording.clean_env(TERM="xterm"),
                                        preexec_fn=lambda: __import__("fcntl").ioctl(0, 0x540E, 0))
        os.close(child)
        self.seen = ""

    def expect(self, text, seconds=20):
        """Everything up to the text."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            try:
                self.seen += os.read(self.fd, 65536).decode()
            except OSError:
                break
        assert text in self.seen, self.seen
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())


def test_a_person_can_ask(shop):
    terminal = Terminal(shop)
    terminal.expect("memtape> ")
    terminal.type("SELECT count(*) AS n\n")
    terminal.expect("...> ")
    terminal.type("FROM allocations;\n")
    assert "53" in terminal.expect("memtape> ")
    terminal.type("SELECT wrong;\n")
    assert "line 3, column 8" in terminal.expect("memtape> ")
    terminal.type(".tables\n")
    assert "live_at" in terminal.expect("memtape> ")
    terminal.type(".nothing\n")
    assert ".help" in terminal.expect("memtape> ")
    terminal.type("SELECT count(*) FROM frames a, frames b, frames c, frames d, frames e;\n")
    time.sleep(1)
    terminal.type("\x03")
    assert "interrupted" in terminal.expect("memtape> ")
    terminal.type("SELECT 6 * 7;\n")
    terminal.expect("42")
    terminal.expect("memtape> ")
    terminal.type("\x1b[A\n")  # the line before
    terminal.expect("42")
    terminal.expect("memtape> ")
    terminal.type(".quit\n")
    assert terminal.process.wait(20) == 0
    os.close(terminal.fd)


def test_a_reader_that_leaves_ends_the_answer(shop):
    process = subprocess.Popen([recording.memtape(), "sql", "shop.mtape",
                                "SELECT * FROM allocations a, allocations b, allocations c"],
                               cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    process.wait(20)
    assert process.returncode in (0, 1, -signal.SIGPIPE)


# --- what takes long -------------------------------------------------------------------------

# Each would run for minutes inside one function, or while it is prepared.
ENDLESS = {
    "instr": "WITH t(a) AS (SELECT replace(hex(zeroblob(500000)), '0', 'a')) "
             "SELECT sum(instr(a, substr(a, 1, 500000) || 'b')) FROM t, stacks x, stacks y, stacks z",
    "replace": "WITH t(a) AS (SELECT hex(zeroblob(500000))) "
               "SELECT length(replace(a, substr(a, 1, 500000) || 'b', '')) FROM t, stacks x, stacks y, stacks z",
    "like": "WITH t(a) AS (SELECT hex(zeroblob(900000))) "
            "SELECT a LIKE '%' || substr(a, 1, 900000) || 'b' FROM t",
    "glob": "WITH t(a) AS (SELECT hex(zeroblob(900000))) "
            "SELECT a GLOB '*' || replace(substr(a, 1, 50000), '0', '[0-9]') || 'b' FROM t",
    "trim": "WITH t(a) AS (SELECT hex(zeroblob(900000))) "
            "SELECT length(trim(a, replace(substr(a, 1, 900000), '0', 'ä') || '0')) FROM t",
    "printf": "SELECT sum(length(printf('%1000000d', x.id) || printf('%.*c', 900000, 'x'))) "
              "FROM frames, frames y, frames z, stacks x",
    "group_concat": "SELECT length(group_concat(hex(zeroblob(10000)), '')) FROM frames x, frames y, frames z, frames u",
    "randomblob": "SELECT " + " + ".join(["length(hex(randomblob(1000000)))"] * 190),
    "in a list": "SELECT 1 IN (" + ", ".join(["length(hex(randomblob(1000000)))"] * 2500) + ")",
    "ctes": "WITH t0 AS (SELECT 1 AS a)" + "".join(f", t{n + 1} AS (SELECT x.a FROM t{n} x, t{n} y)"
                                                   for n in range(40)) + " SELECT count(*) FROM t40",
    "recursion": "WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM t) SELECT count(x) FROM t",
    "counting": "WITH RECURSIVE t(x) AS (SELECT 1 UNION SELECT x + 1 FROM t) SELECT count(x) FROM t",
    "json_patch": "SELECT json_patch('{}', '{}')",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_no_statement_runs_much_longer_than_is_allowed(shop, name):
    begin = time.monotonic()
    done = recording.run([recording.memtape(), "sql", "shop.mtape", "--timeout", "500ms", "--memory", "64MiB",
                          ENDLESS[name]], cwd=shop)
    assert time.monotonic() - begin < 10
    assert done.returncode in (0, 1, 2)
    if done.returncode:
        assert re.search(rb"time limit|too long|at most 500|memory than|not allowed", done.stderr), done.stderr


def texts_to_match(count):
    """Calls of functions that are written anew, with texts of few letters so that some match."""
    chance = random.Random(7)
    text = lambda most, letters: "".join(chance.choice(letters) for _ in range(chance.randrange(most)))
    quoted = lambda what: "'" + what + "'"
    for _ in range(count):
        whole, part = quoted(text(12, "abAä€")), quoted(text(3, "abAä€"))
        yield f"instr({whole}, {part})"
        yield f"instr(CAST({whole} AS BLOB), CAST({part} AS BLOB))"
        yield f"replace({whole}, {part}, {quoted(text(3, 'xyä'))})"
        yield f"{chance.choice(['trim', 'ltrim', 'rtrim'])}({whole}, {part})"
        yield f"{whole} LIKE {quoted(text(7, 'abAä%_'))}"
        yield f"{whole} LIKE {quoted(text(7, 'abAä%_ä'))} ESCAPE {quoted(chance.choice('bä%_'))}"
        yield f"{whole} GLOB {quoted(text(9, 'abAä*?[]^-'))}"
    yield from ("12345 LIKE '%34%'", "instr(12345, 34)", "replace(12345, 3, 'x')", "NULL LIKE 'a'", "'a' LIKE NULL",
                "instr(NULL, 'a')", "trim('xax', NULL)", "replace('a', 'a', NULL)", "1.5 GLOB '1*5'", "trim(' a ')")


def test_functions_of_texts_answer_as_sqlite_does(shop):
    import sqlite3

    calls = list(texts_to_match(700))
    database = sqlite3.connect(":memory:")
    wanted = [database.execute(f"SELECT {call}").fetchone()[0] for call in calls]
    text = sql(shop, "--json", stdin=";\n".join(f"SELECT {call} AS x" for call in calls) + ";\n")
    decoder, got, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        rows, at = decoder.raw_decode(text, at)
        got.append(rows[0]["x"])
        at += 1
    different = [(call, want, have) for call, want, have in zip(calls, wanted, got) if want != have]
    assert not different and len(got) == len(wanted)


def test_no_limit_of_a_control_group_is_null(tmp_path):
    """Tapes of before have the number that the kernel has for it."""
    from tape_writer import TapeWriter

    tape = TapeWriter()
    main = tape.stream(100, "main")
    tape.process(main, "/usr/bin/x", "x")
    tape.clock(main)
    for at, limit in enumerate((1 << 30, 9223372036854771712, (1 << 64) - 1)):
        tape.at(at + 1)
        tape.usage(main, 1 << 20, limit)
    tape.write(tmp_path / "shop.mtape")
    assert [row["cgroup_limit_bytes"] for row in ask(tmp_path, "SELECT cgroup_limit_bytes FROM usage")] == [1 << 30, None, None]
