"""`memtape report TAPE growth`: patterns of call sites, and two leak scans compared."""
import json
import random
import re
import subprocess

import pytest

import recording
import tape_writer
from test_findings import CUT_OFF, RUNNING, Program
from test_leak_scan import pid_of
from test_serve_data import serve

KIB = 1024
END_MS = 10_000


@pytest.fixture(name="made")
def fixture_made(tmp_path, monkeypatch):
    monkeypatch.setattr(tape_writer, "CHUNK_BYTES", 8 << 20)
    names = []

    def finish(program, end_ms=END_MS):
        path = tmp_path / "made.mtape"
        names.append(program.write(path, end_ms))
        return path
    yield finish
    for path in names:
        path.unlink(missing_ok=True)


def planted():
    """One function of each pattern."""
    program, blocks = Program(), {"queue": [], "waves": [], "clean": []}
    names = ("leak", "bursts", "cache", "burst", "setup", "waves", "clean", "pair", "queue")
    stack = {name: program.stack(name) for name in names}
    calls = [(i * 20, "leak", KIB) for i in range(500)]
    calls += [(i * 20 + 1, "queue", 3 * KIB) for i in range(490)]
    calls += [(500 + burst * 1600 + i / 10, "bursts", 256) for burst in range(6) for i in range(300)]
    calls += [(i * 20 + 2, "cache", 2 * KIB) for i in range(200)]
    calls += [(4000 + i / 100, "burst", 64) for i in range(1500)]
    calls += [(3 + i / 10, "setup", 50 * KIB) for i in range(5)]
    calls += [(i * 25 + 5, "waves", 5 * KIB if i // 40 % 2 == 0 else 0) for i in range(395)]
    calls += [(i * 45 + 7, "clean", 0 if i % 2 else 9 * KIB) for i in range(200)]
    calls += [(100, "pair", KIB), (6000, "pair", KIB)]
    calls += [(9990, "queue", 0)] * 490  # freed at the end: it grew all the same
    for ms, name, size in sorted(calls, key=lambda call: call[0]):
        if size:
            block = program.alloc(ms, size, stack[name])
            blocks.get(name, []).append(block)
        elif blocks[name]:
            program.free(ms, blocks[name].pop())
    return program


PATTERNS = {"leak": "growing", "bursts": "growing", "queue": "growing", "cache": "levelled_off", "burst": "burst", "setup": "one_off", "waves": "unsteady",
            "pair": "one_off"}


def test_each_planted_pattern_is_told(made):
    tape = made(planted())
    answer = recording.report(tape, "growth")
    sites = {site["function"]: site for site in answer["sites"]}
    assert {name: site["pattern"] for name, site in sites.items()} == PATTERNS  # nothing of clean
    words = [site["pattern"] for site in answer["sites"]]
    assert words == sorted(words, key=["growing", "unsteady", "levelled_off", "burst", "one_off"].index)
    leak = sites["leak"]
    assert (leak["leaked_blocks"], leak["leaked_bytes"], leak["allocated_blocks"]) == (500, 500 * KIB, 500)
    assert leak["never_freed_share"] == 1 and leak["r2"] > 0.999 and abs(leak["bytes_per_s"] - 50 * KIB) < KIB
    assert leak["age_ns"] == answer["end_ns"] - leak["first_ns"] and len(leak["course"]) == 24
    assert sites["queue"]["leaked_blocks"] == 0
    for name in ("cache", "burst", "setup"):
        assert sites[name]["bytes_per_s"] is None and sites[name]["r2"] is None
    for pattern in set(PATTERNS.values()):
        of = [site for site in answer["sites"] if site["pattern"] == pattern]
        assert answer[pattern] == {"sites": len(of), "leaked_bytes": sum(s["leaked_bytes"] for s in of),
                                   "leaked_blocks": sum(s["leaked_blocks"] for s in of)}
    assert "scans" not in answer


def test_a_sentence_says_why(made):
    tape = made(planted())
    sites = {site["function"]: site["evidence"] for site in recording.report(tape, "growth")["sites"]}
    assert "50.0 KiB more every second from 0 ns on (R² 1.000); 100.0 % of its 500 allocations were never freed" == sites["leak"]
    assert sites["burst"].startswith("all allocated within 15") and "1,500 allocations" in sites["burst"]
    assert "nearly nothing in the last quarter" in sites["cache"]
    assert "without a steady direction" in sites["waves"]
    text = recording.run([recording.memtape(), "report", tape, "growth"]).stdout.decode()
    for evidence in sites.values():
        assert evidence.split("; ")[0] in text


def test_leaks_say_the_same_of_each_function(made):
    tape = made(planted())
    grown = {site["function"]: site for site in recording.report(tape, "growth")["sites"]}
    leaks = recording.report(tape, "leaks")["sites"]
    assert len(leaks) == sum(site["leaked_blocks"] > 0 for site in grown.values()) > 3
    for site in leaks:
        same = grown[site["function"]]
        assert (site["pattern"], site["bytes_per_s"]) == (same["pattern"], same["bytes_per_s"])
    by_size = recording.report(tape, "leaks", "--sort", "allocated")["sites"]
    assert {site["function"]: site["pattern"] for site in by_size}["queue"] is None  # all of it was freed
    text = recording.run([recording.memtape(), "report", tape, "leaks"]).stdout.decode()
    assert "Growing to the end: 50.0 KiB more every second" in text and "A burst that stays" in text
    assert max(map(len, text.splitlines())) <= 100


def test_of_less_than_a_second_no_rate_is_said(made):
    program = Program()
    leak = program.stack("leak")
    for i in range(100):
        program.alloc(i * 9, KIB, leak)
    tape = made(program, 900)
    site, = recording.report(tape, "growth")["sites"]
    assert (site["pattern"], site["bytes_per_s"]) == ("growing", None) and site["r2"] > 0.99
    assert re.match(r"9\d\.\d KiB more from 0 ns on \(R² ", site["evidence"]), site["evidence"]
    assert recording.report(tape, "leaks")["sites"][0]["bytes_per_s"] is None
    for report in ("growth", "leaks"):
        assert "second" not in recording.run([recording.memtape(), "report", tape, report]).stdout.decode()


def test_a_burst_is_no_initialisation(made):
    """71,045 blocks within half a second, and only then quiet; and five that are made at the start."""
    program = Program()
    burst, setup = program.stack("burst"), program.stack("setup")
    for i in range(5):
        program.alloc(1 + i / 10, 50 * KIB, setup)
    for i in range(71_045):
        program.alloc(2 + i / 150, 16, burst)
    sites = {site["function"]: site for site in recording.report(made(program), "growth")["sites"]}
    assert {name: site["pattern"] for name, site in sites.items()} == {"burst": "burst", "setup": "one_off"}
    assert re.match(r"all allocated within 47\d ms, 10.\d\d? s before the end; "
                    r"100.0 % of its 71,045 allocations were never freed", sites["burst"]["evidence"])


def test_growth_may_rest_while_others_come_and_go(made):
    """A parser keeps one document of ten, for good; nothing comes for four seconds, and up to three are being read."""
    program, reading = Program(), []
    stack = program.stack("parse")
    for ms in [*range(0, 3000, 10), *range(7000, 10_000, 10)]:
        block = program.alloc(ms, 10 * KIB, stack)
        if ms % 100:
            reading.append(block)
        if len(reading) > ms // 10 % 4:
            for old in reading:
                program.free(ms, old)
            reading.clear()
    site, = recording.report(made(program), "growth")["sites"]
    assert (site["pattern"], site["leaked_blocks"]) == ("growing", 60 + len(reading))
    assert 0.8 < site["r2"] < 0.95


@pytest.mark.parametrize("end", [RUNNING, CUT_OFF])
def test_of_a_program_that_goes_on_nobody_says_it_leaked(made, end):
    program = planted()
    program.end = end
    tape = made(program)
    answer = recording.report(tape, "growth")
    assert answer["goes_on"] and recording.report(tape, "summary")["goes_on"]
    assert all(site["evidence"].endswith("not freed yet") for site in answer["sites"])
    finding, = [f for f in recording.report(tape, "findings")["findings"] if f["function"] == "queue"]
    assert finding["type"] == "growth" and "are not freed yet" in finding["evidence"]
    for report in ("growth", "summary", "leaks", "tree --sort leaked"):
        text = recording.run([recording.memtape(), "report", tape, *report.split()]).stdout.decode().lower()
        assert "never freed" not in text and "not freed yet" in text, report
    pictures = [recording.run([recording.memtape(), "flamegraph", tape, "--metric", "leaked", "-o", "-"]).stdout.decode()]
    with serve(tape) as server:
        pictures.append(server.get("/api/v1/export/flamegraph.svg", m="leaked")[1].decode())
        flame = server.json("/api/v1/flame", m="leaked")
        frame = server.json("/api/v1/frame", h=flame["hashes"][1], m="leaked")
    pictures.append(" ".join(one["title"] for one in frame["metrics"]))
    for i, picture in enumerate(pictures):
        assert "not freed yet" in picture.lower(), i


def test_many_sites_are_all_counted(made):
    program = Program()
    for i in range(700):
        program.alloc(i, KIB, program.stack(f"keep_{i}"))
    tape = made(program)
    answer, whole = recording.report(tape, "growth"), recording.report(tape, "summary")
    sums = [answer[kind] for kind in ("growing", "unsteady", "levelled_off", "burst", "one_off", "unknown")]
    assert sum(one["sites"] for one in sums) == 700
    assert sum(one["leaked_bytes"] for one in sums) == whole["leaked"]["bytes"] == 700 * KIB


def test_a_filter_lets_just_the_site_through(made):
    tape = made(planted())
    for site in recording.report(tape, "growth")["sites"]:
        only = recording.report(tape, "growth", "--filter", site["filter"])["sites"]
        assert [row["function"] for row in only] == [site["function"]]


@pytest.mark.parametrize("options, code", [(["--fail-on", "growing"], 1), (["--error-exitcode", "9"], 9), ([], 0),
                                           (["--fail-on", "growing", "--filter", 'site = "cache"'], 0)])
def test_growth_fails_a_build(made, options, code):
    assert recording.run([recording.memtape(), "report", made(planted()), "growth", *options]).returncode == code


@pytest.mark.parametrize("report, kind", [("growth", "definite"), ("leak-classes", "growing"), ("top", "growing")])
def test_what_a_report_does_not_know_is_refused(made, report, kind):
    done = recording.run([recording.memtape(), "report", made(planted()), report, "--fail-on", kind])
    assert done.returncode == 2 and b"growing" in done.stderr or b"--fail-on" in done.stderr


def test_the_server_says_the_same(made):
    tape = made(planted())
    with serve(tape) as server:
        answer = server.json("/api/v1/growth")
    del answer["gen"], answer["ms"]
    assert answer == recording.report(tape, "growth")


def test_a_tape_without_times_says_so(tmp_path):
    (tmp_path / "sums.folded").write_text("main;take 1000\nmain;load 4096\n")
    recording.run([recording.memtape(), "convert", "-q", tmp_path / "sums.folded", "-o", tmp_path / "made.mtape"])
    answer = recording.report(tmp_path / "made.mtape", "growth")
    assert answer["sites"] and {site["pattern"] for site in answer["sites"]} == {"unknown"}


SOURCE = r"""
#include <map>
#include <string>
#include <cstdlib>
#include <cstdio>
#include <csignal>
#include <unistd.h>
namespace shop { std::map<int, std::string> g_sessions; static void *volatile last; }
static volatile int scanned;
__attribute__((noinline)) void lose(int n) { for (int i = 0; i < n; i++) { void *volatile p = malloc(100); p = nullptr; } }
__attribute__((noinline)) void keep(int n) { for (int i = 0; i < n; i++) shop::g_sessions[shop::g_sessions.size()] = std::string(200, 'x'); }
__attribute__((noinline)) void clear() { volatile char room[16384]; for (int i = 0; i < 16384; i++) room[i] = 0; }
int main() { lose(10); keep(5); clear(); puts("one"); fflush(stdout); getchar();
	lose(20); keep(7); clear(); puts("two"); fflush(stdout); getchar(); quick_exit(0); }
"""


@pytest.fixture(scope="module", name="shop")
def fixture_shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.cc").write_text(SOURCE)
    subprocess.run(["g++", "-g", "-O1", "-o", folder / "shop", folder / "shop.cc"], check=True)
    return folder / "shop"


def test_a_variable_that_holds_has_its_type_and_place(shop, tmp_path):
    done = recording.run_recorded([shop], tmp_path / "shop.mtape", ["-q", "--leak-scan"], stdin=b"\n\n")
    assert done.returncode == 0, done.stderr
    answer = recording.report(done.tape, "retained")
    holder = next(h for h in answer["holders"] if h["name"] and "g_sessions" in h["name"])
    assert holder["name"] == "shop::g_sessions" and holder["type"] == "std::map<int, std::string>"
    line = next(i for i, line in enumerate(SOURCE.splitlines(), 1) if "g_sessions;" in line)
    assert holder["file"].endswith("shop.cc") and holder["line"] == line
    assert holder["module"].endswith("/shop") and holder["blocks"] == 2 * 12
    site = next(s for s in recording.report(done.tape, "holders")["sites"]
                if s["chain"] and s["chain"][0]["name"] == "shop::g_sessions")
    assert site["chain"][0]["type"] == holder["type"] and site["chain"][0]["line"] == line
    with serve(done.tape) as server:
        assert server.json("/api/v1/retained")["holders"] == answer["holders"]


def test_two_scans_are_compared(shop, tmp_path):
    tape = tmp_path / "scans.mtape"
    process = subprocess.Popen([recording.memtape(), "record", "-q", "--leak-scan=every:100ms", "-o", tape, "--", shop],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=recording.clean_env(), bufsize=0)
    assert process.stdout.readline() == b"one\n"
    subprocess.run(["sleep", "0.5"], check=True)  # for scans of this state
    process.stdin.write(b"\n")
    assert process.stdout.readline() == b"two\n"
    subprocess.run(["sleep", "0.5"], check=True)
    process.stdin.write(b"\n")
    assert process.wait(60) == 0
    ids = range(1, 200)
    known = {}
    for scan in ids:
        done = recording.run([recording.memtape(), "report", tape, "leak-classes", "--json", "--scan", str(scan)])
        if done.returncode != 0:
            break
        known[scan] = json.loads(done.stdout)
    lost = {scan: answer["definitely_lost"] for scan, answer in known.items()}
    before = next(scan for scan, of in lost.items() if of["blocks"] >= 10)
    after = max(lost)
    answer = recording.report(tape, "growth", "--since-scan", str(before), "--scan", str(after))["scans"]
    assert (answer["before"], answer["after"]) == (before, after)
    assert answer["classes_before"]["definitely_lost"] == lost[before] and answer["classes"]["definitely_lost"] == lost[after]
    assert lost[after]["bytes"] - lost[before]["bytes"] >= 19 * 100
    records = {(r["class"], r["function"]): r for r in answer["records"]}
    assert records["definitely_lost", "lose(int)"]["bytes_more"] >= 19 * 100
    for record in answer["records"]:
        assert record["bytes_more"] == record["bytes"] - record["bytes_before"] != 0
    assert [r["bytes_more"] for r in answer["records"]] == sorted((r["bytes_more"] for r in answer["records"]), reverse=True)
    first = recording.report(tape, "growth")["scans"]
    assert (first["before"], first["after"]) == (min(known), max(known))
    refused = recording.run([recording.memtape(), "report", tape, "growth", "--since-scan", str(after), "--scan", str(before)])
    assert refused.returncode != 0 and b"not before" in refused.stderr


def test_random_waves_are_not_growth(made):
    chance, program, live = random.Random(5), Program(), []
    stack = program.stack("pool")
    for i in range(2000):
        if live and chance.random() < min(0.9, len(live) / 100):
            program.free(i * 5, live.pop(chance.randrange(len(live))))
        else:
            live.append(program.alloc(i * 5, 2 * KIB, stack))
    site, = recording.report(made(program), "growth")["sites"]
    assert site["pattern"] in ("unsteady", "levelled_off") and site["leaked_blocks"] == len(live)
