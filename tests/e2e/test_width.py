"""On a terminal of 80 columns no line of a report is wider, and no number is cut."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import pytest

import recording
from recording import memtape

pytestmark = pytest.mark.skipif(not recording.have_reader() or not recording.have_library(),
                                reason="built without memtape or its recorder")

COLUMNS = 80
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
KINDS = ["cxx", "python", "session"]

LONG_NAMES = r"""
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include <stdlib.h>

namespace a_company_with_long_names::storage_of_sessions {
template <typename Key, typename Value> struct index_of_everything {
	std::unordered_map<Key, std::vector<std::shared_ptr<Value>>> rows;
	std::map<std::string, std::function<void(const std::pair<Key, Value> &)>> watchers;
	__attribute__((noinline)) void insert_with_all_secondary_indexes(const Key &key, const Value &value)
	{
		rows[key].push_back(std::make_shared<Value>(value));
		watchers.emplace(std::string(40, 'x') + std::to_string(rows.size()), [value](auto &) { (void)value; });
	}
};

template <typename T> __attribute__((noinline)) void churn_through_temporaries(const T &)
{
	for (int i = 0; i < 500; i++) {
		std::vector<T> many(20);
		asm volatile("" : : "r"(many.data()) : "memory");
	}
}
}

using namespace a_company_with_long_names::storage_of_sessions;
using value_type = std::map<std::string, std::vector<std::pair<long, std::string>>>;

int main()
{
	auto *index = new index_of_everything<std::string, value_type>;
	const value_type value = {{std::string(60, 'k'), {{1, std::string(90, 'v')}}}};
	void *grown = nullptr;

	for (int i = 1; i <= 1500; i++) {
		index->insert_with_all_secondary_indexes(std::to_string(i % 700) + std::string(30, 'y'), value);
		grown = realloc(grown, i * 100);
		if (i % 100 == 0)
			churn_through_temporaries(value);
	}
	free(grown);
	index = nullptr;
	asm volatile("" : : "r"(index) : "memory");
}
"""
PYTHON = "rows = [{'key %d' % i: [i, str(i) * 20]} for i in range(5000)]; kept = rows[:2000]"
SESSION = "for i in 1 2 3; do /usr/bin/python3 -c 'import json, sys; rows = [str(i) * 9 for i in range(9000)]' " \
          "an argument of many words so that the command line is a long one; done"


def reports():
    listed = subprocess.run([memtape(), "report", "--list"], capture_output=True, check=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def cells(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def on_terminal(*args, cwd=None):
    """The exit code and the lines that the command writes on a terminal of 80 columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        os.chdir(cwd or "/")
        os.execvpe(str(args[0]), [str(arg) for arg in args], recording.clean_env(TERM="xterm-256color"))
    written = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            break
        if not more:
            break
        written += more
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, ESCAPE.sub("", written.decode()).replace("\r", "").split("\n")


def too_wide(lines):
    return [f"{cells(line)}: {line}" for line in lines if cells(line) > COLUMNS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("width")
    (folder / "long.cpp").write_text(LONG_NAMES)
    subprocess.run(["g++", "-g", "-O1", "-std=c++17", "-o", "long", "long.cpp"], cwd=folder, check=True)
    summaries = {
        "cxx": on_terminal(memtape(), "record", "--leak-scan=exit", "--latency", "--staleness=100ms",
                           "-o", "cxx.tape", "./long", cwd=folder),
        "python": on_terminal(memtape(), "record", "-o", "python.tape", "/usr/bin/python3", "-c", PYTHON, cwd=folder),
        "session": on_terminal(memtape(), "record", "--follow", "-o", "session.%p.tape", "/bin/sh", "-c", SESSION, cwd=folder),
    }
    return folder, summaries


NEEDED = {"at": ["1ms"], "allocations": ["--top", "300"], "between": ["1ms", "9ms"]}


def tape_of(folder, kind):
    return next(iter(sorted(folder.glob("session.*.tape")))) if kind == "session" else folder / f"{kind}.tape"


def commands(tape):
    return [["report", tape, name, *NEEDED.get(name, [])] for name in reports()] + \
        [["info", tape], ["verify", tape], ["top", "--once", tape], ["symbols", "list", tape]]


def is_to_copy(line):
    """A command: folded it could not be copied."""
    return line.strip().startswith("memtape ")


@pytest.mark.parametrize("kind", KINDS)
def test_reports_fit(folder, kind):
    where, _ = folder
    shown = 0
    for args in commands(tape_of(where, kind)):
        code, lines = on_terminal(memtape(), *args, cwd=where)
        if lines[0].startswith("memtape: "):
            continue  # what the tape does not have; a message, no report
        shown += code == 0
        assert too_wide([line for line in lines if not is_to_copy(line)]) == [], args
    assert shown > 20


def test_what_record_prints_fits(folder):
    for code, lines in folder[1].values():
        assert code == 0
        assert "Alive at the peak" in "\n".join(lines)
        assert too_wide([line for line in lines if not is_to_copy(line)]) == []


def test_lists_and_comparisons_fit(folder):
    where, _ = folder
    for args in [["list", where], ["list", "--read", where], ["report", "--list"], ["report", "--list-fields"], ["help"],
                 ["ctl", "--help"], ["triage"], ["diff", where / "cxx.tape", where / "python.tape"]]:
        _, lines = on_terminal(memtape(), *args, cwd=where)
        assert too_wide(lines) == [], args


@pytest.mark.parametrize("name", ["now", "groups", "threads", "modules", "sizes", "latency", "top", "leaks", "tree", "savings"])
def test_numbers_are_whole(folder, name):
    """Every word with a digit in the table as a pipe has it, unfolded, stands in the folded one."""
    tape = tape_of(folder[0], "cxx")
    piped = subprocess.run([memtape(), "report", tape, name], capture_output=True, check=True, text=True).stdout
    number = re.compile(r"(?<!\S)(?:0x[0-9a-f]+|[+-]?[0-9][0-9,.]*(?: [KMG]?i?B| ms| us| ns| s| %)?)(?!\S)")
    _, lines = on_terminal(memtape(), "report", tape, name, cwd=folder[0])
    shown = "\n".join(lines)
    numbers = set(number.findall(piped))
    assert len(numbers) > 5
    assert [word for word in numbers if word not in shown] == []


def test_the_number_of_a_line_stays_with_its_file(tmp_path):
    """A file's name that is too long is cut in its middle; the number behind it is not folded away."""
    stem = "the_handler_of_requests_of_a_server_with_a_very_long_name"
    (tmp_path / f"{stem}.c").write_text("""#include <stdlib.h>
__attribute__((noinline)) void *allocate_for_one_request(int n) { void *p = malloc(n); asm volatile(""); return p; }
int main(void)
{
	for (int i = 0; i < 20; i++)
		if (!allocate_for_one_request(5000))
			return 1;
}
""")
    subprocess.run(["gcc", "-g", "-O1", "-o", stem, f"{stem}.c"], cwd=tmp_path, check=True)
    assert recording.run_recorded([tmp_path / stem], tmp_path / "t.tape").returncode == 0
    for name in ["summary", "top", "leaks", "tree", "savings"]:
        _, lines = on_terminal(memtape(), "report", "t.tape", name, cwd=tmp_path)
        assert too_wide([line for line in lines if not is_to_copy(line)]) == []
        shown = "\n".join(lines)
        assert re.search(r"the_handler\w*….*name\.c:2(?!\S)", shown), shown
        assert "allocate_for_one_request" in shown


def test_annotate_takes_the_hottest_file(folder):
    tape = tape_of(folder[0], "cxx")
    answer = recording.report(tape, "annotate")
    assert answer["file"].endswith("/long.cpp")
    hottest = max(answer["lines"], key=lambda line: line["self_bytes"])
    assert "grown = realloc" in hottest["text"]


def test_next_has_the_findings_and_the_browser(folder):
    shown = "\n".join(folder[1]["cxx"][1]).split("Next\n")[1]
    for command in ["report cxx.tape findings", "report cxx.tape leaks", "report cxx.tape leak-classes", "serve cxx.tape"]:
        assert f"memtape {command}" in shown
    assert "leak-classes" not in "\n".join(folder[1]["python"][1])


def test_leaks_counts_what_it_leaves_out(folder):
    tape = tape_of(folder[0], "python")
    sites = recording.report(tape, "leaks")["sites"]
    shown = subprocess.run([memtape(), "report", tape, "leaks", "--top", "2"], capture_output=True, check=True, text=True).stdout
    count = len([site for site in sites if site["leaked_bytes"] > 0])
    assert count > 3 and f"… and {count - 2:,} more functions: " in shown
