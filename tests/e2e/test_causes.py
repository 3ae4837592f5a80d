"""One finding a cause: what is found at one line of the user's code is told once, with evidence of each kind."""
import subprocess

import pytest

import recording
import tape_writer
from test_findings import KIB, MIB, Program, findings, follow
from test_serve_data import serve

SOURCE = r"""
#include <cstdlib>
#include <vector>

namespace gw {
struct Log {
	char *data = nullptr;
	size_t size = 0;
	void append();
};
__attribute__((noinline)) void Log::append()
{
	data = static_cast<char *>(realloc(data, size += 4096)); // PLANTED
}
__attribute__((noinline)) static char *table(size_t size)
{
	return new char[size]; // OTHER
}
} // namespace gw

int main()
{
	static gw::Log log;
	static std::vector<char *> tables;

	for (int i = 0; i < 3000; i++) {
		log.append();
		if (i < 32) // it has to move: no place behind it, nor in what it left
			tables.push_back(new char[log.size]);
	}
	tables.push_back(gw::table(9 << 20));
	quick_exit(0);
}
"""


def line_of(word):
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if word in line)


@pytest.fixture(scope="module", name="tape")
def fixture_tape(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causes")
    (folder / "gw.cc").write_text(SOURCE)
    subprocess.run(["g++", "-g", "-O1", "-o", folder / "gw", folder / "gw.cc"], check=True)
    done = recording.run_recorded([folder / "gw"], folder / "gw.mtape", ["-q"])
    assert done.returncode == 0, done.stderr
    return folder / "gw.mtape"


def test_two_kinds_at_a_line_are_one_finding(tape):
    found = findings(tape)["findings"]
    assert [(f["function"], f["line"]) for f in found] == [
        ("gw::Log::append()", line_of("PLANTED")), ("gw::table(unsigned long)", line_of("OTHER"))]
    first, second = found
    also, = first["also"]
    kinds = {one["type"]: one for one in (first, also)}  # how often it moves, and so which leads, is the kernel's choice
    assert set(kinds) == {"huge", "realloc"} and second["type"] == "huge"
    assert kinds["huge"]["bytes"] == 3000 * 4 * KIB
    assert first["stake_bytes"] == kinds["huge"]["bytes"]  # what was copied is no memory
    assert first["serious"] and second["serious"]  # one that costs memory makes it so
    assert second["also"] == [] and second["stake_bytes"] == second["bytes"] == 9 * MIB
    assert follow(tape, kinds["realloc"])["copied_bytes"] == kinds["realloc"]["bytes"]
    assert "function" not in also and also["stack"][0]["line"] == line_of("PLANTED")


def test_every_face_has_one_finding(tape):
    found = findings(tape)["findings"]
    with serve(tape) as server:
        assert server.json("/api/v1/findings")["findings"] == found
    rows = recording.run([recording.memtape(), "report", tape, "findings", "--csv"]).stdout.decode().splitlines()
    assert len(rows) == 1 + len(found) and rows[0].endswith(",possible,serious,stake_bytes")
    text = " ".join(recording.run([recording.memtape(), "report", tape, "findings"]).stdout.decode().split())
    assert text.count("gw::Log::append() gw.cc:") == 1
    for words in (found[0]["title"], "Also ", found[0]["also"][0]["title"], found[0]["also"][0]["evidence"]):
        assert " ".join(words.split()) in text


@pytest.fixture(name="made")
def fixture_made(tmp_path, monkeypatch):
    monkeypatch.setattr(tape_writer, "CHUNK_BYTES", 8 << 20)
    names = []

    def finish(program, end_ms):
        path = tmp_path / "made.mtape"
        names.append(program.write(path, end_ms))
        return path
    yield finish
    for path in names:
        path.unlink(missing_ok=True)


def test_a_leak_leads_whatever_else_its_blocks_waste(made):
    """Blocks of 50,000 bytes with 200,000 usable ones: their waste is more than what leaks."""
    program = Program()
    leak, other = program.stack("serve", "leak"), program.stack("serve", "load")
    for i in range(100):
        program.alloc(i * 100, 50_000, leak, 200_000)
        program.alloc(i * 100, 40_000, other, 60_000)
    tape = made(program, 10_000)
    first, second = findings(tape)["findings"]
    assert (first["type"], first["function"]) == ("growth", "leak")
    assert [also["type"] for also in first["also"]] == ["slack"]
    assert first["stake_bytes"] == first["also"][0]["bytes"] == 100 * 150_000 > first["bytes"]
    assert (second["type"], second["function"]) == ("growth", "load") and second["also"][0]["type"] == "slack"
    text = recording.run([recording.memtape(), "report", tape, "findings"]).stdout.decode()
    assert "14.3 MiB at stake in all: these are the same blocks" in text


def test_growth_that_is_suppressed_is_no_finding(made, tmp_path):
    program = Program()
    leak, other = program.stack("serve", "leak"), program.stack("serve", "load")
    for i in range(100):
        program.alloc(i * 100, 50_000, leak)
        program.alloc(i * 100, 40_000, other)
    tape = made(program, 10_000)
    (tmp_path / "rules").write_text("leak:^leak$\n")
    found = findings(tape, "--suppressions", tmp_path / "rules")["findings"]
    assert [(f["type"], f["function"]) for f in found] == [("growth", "load")]
    assert len(findings(tape)["findings"]) == 2


def test_without_stacks_nothing_is_one(tmp_path):
    """What was found without a stack has no line in common."""
    (tmp_path / "gw.cc").write_text(SOURCE)
    subprocess.run(["g++", "-g", "-O1", "-o", tmp_path / "gw", tmp_path / "gw.cc"], check=True)
    done = recording.run_recorded([tmp_path / "gw"], tmp_path / "gw.mtape", ["-q", "--no-stacks"])
    assert done.returncode == 0, done.stderr
    found = findings(tmp_path / "gw.mtape")["findings"]
    assert {f["type"] for f in found} >= {"huge", "realloc"} and all(f["also"] == [] for f in found)
