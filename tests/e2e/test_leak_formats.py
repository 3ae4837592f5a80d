"""Leaks as other tools write them: LeakSanitizer's text and suppressions, Valgrind's tree for callgrind_annotate."""
import pathlib
import re
import subprocess

import pytest

import recording

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "web" / "scanned.c"


@pytest.fixture(scope="module", name="built")
def fixture_built(tmp_path_factory):
    """The program, its tape with a leak scan, and the program with LeakSanitizer."""
    folder = tmp_path_factory.mktemp("formats")
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "scanned", SOURCE], check=True)
    subprocess.run(["gcc", "-g", "-O1", "-fsanitize=leak", "-o", folder / "checked", SOURCE], check=True)
    done = recording.run_recorded([folder / "scanned"], folder / "the.mtape", ["-q", "--leak-scan"])
    assert done.returncode == 0, done.stderr
    return folder


def written(built, *options, code=0):
    done = recording.run([recording.memtape(), "report", built / "the.mtape", "leak-classes", *options])
    assert done.returncode == code, done.stderr
    return done.stdout.decode()


def lsan(built, **more):
    return subprocess.run(["setarch", "-R", built / "checked"], stderr=subprocess.PIPE, text=True, check=False,
                          env=recording.clean_env(**more))


def leaks(text):
    """(kind, bytes, objects, function that allocated) of each leak in LeakSanitizer's text."""
    found = []
    for kind, size, count, stack in re.findall(
            r"^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n((?: +#.*\n)+)", text, re.M):
        frames = re.findall(r"#\d+ 0x[0-9a-f]+ in (\S+) (\S+)", stack)
        own = [(function, place.rpartition("/")[2]) for function, place in frames if "scanned.c:" in place]
        found.append((kind, int(size), int(count), own[0][0], re.sub(r"(:\d+):\d+$", r"\1", own[0][1])))
    return sorted(found)


def test_leaksanitizers_text_is_what_it_writes(built):
    ours, theirs = written(built, "--format", "lsan"), lsan(built).stderr
    assert leaks(ours) == leaks(theirs) != []
    for line in (r"^==\d+==ERROR: LeakSanitizer: detected memory leaks$", r"^SUMMARY: LeakSanitizer: 32000 byte\(s\) leaked in 80 allocation\(s\)\.$"):
        assert re.search(line, ours, re.M) and re.search(line, theirs, re.M)


def test_nothing_lost_is_nothing_said(built):
    assert written(built, "--format", "lsan", "--filter", "size = 1024") == ""


def test_suppressions_suppress_here_and_there(built, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(written(built, "--format", "suppressions"))
    assert sorted(rules.read_text().split()) == ["leak:hang", "leak:lose", "leak:middle"]
    answer = recording.report(built / "the.mtape", "leak-classes", "--suppressions", rules)
    assert [answer[word]["blocks"] for word in ("definitely_lost", "indirectly_lost", "possibly_lost")] == [0, 0, 0]
    assert answer["suppressed"]["blocks"] == 81 and answer["still_reachable"]["blocks"] == 30
    assert lsan(built).returncode == 23
    quiet = lsan(built, LSAN_OPTIONS=f"suppressions={rules}")
    assert quiet.returncode == 0 and "leak of" not in quiet.stderr


NAMES = r"""
#include <cstdlib>
namespace shop {
namespace { __attribute__((noinline)) void hidden(int n) { void *volatile p = malloc(n); p = nullptr; } }
struct Maker {
	__attribute__((noinline)) void operator()(int n) const { void *volatile p = malloc(n); p = nullptr; }
	__attribute__((noinline)) void take(void (*f)(int)) { void *volatile p = malloc(7); p = nullptr; f(5); }
};
}
__attribute__((noinline)) void clear() { volatile char room[8192]; for (int i = 0; i < 8192; i++) room[i] = 0; }
int main() { shop::Maker maker; maker(9); maker.take(shop::hidden); clear(); }
"""


def test_rules_name_one_function_without_its_parameters(tmp_path):
    (tmp_path / "names.cc").write_text(NAMES)
    subprocess.run(["g++", "-g", "-O1", "-o", tmp_path / "names", tmp_path / "names.cc"], check=True)
    recording.run_recorded([tmp_path / "names"], tmp_path / "the.mtape", ["-q", "--leak-scan"])
    rules = written(tmp_path, "--format", "suppressions")
    assert sorted(rules.splitlines()) == ["leak:shop::(anonymous namespace)::hidden", "leak:shop::Maker::operator()",
                                          "leak:shop::Maker::take"]


def totals(path, events):
    done = subprocess.run(["callgrind_annotate", f"--show={','.join(events)}", path], stdout=subprocess.PIPE, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if "PROGRAM TOTALS" in line)
    return [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) \(", line)], done.stdout


def test_the_tree_has_valgrinds_numbers_and_source_lines(built, tmp_path):
    theirs, ours = tmp_path / "theirs.kcg", tmp_path / "ours.kcg"
    events = ["RB", "PB", "IB", "DB", "DIB", "RBk", "PBk", "IBk", "DBk"]
    subprocess.run(["valgrind", "-q", "--leak-check=full", "--xtree-leak=yes", f"--xtree-leak-file={theirs}", built / "scanned"],
                   stderr=subprocess.DEVNULL, check=True)
    text = written(built, "--xtree", ours)
    assert "definitely lost" in text  # beside the usual text
    assert totals(ours, events)[0] == totals(theirs, events)[0] == [30720, 9000, 12000, 32000, 12000, 30, 1, 40, 40]
    lose = next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if "malloc(500)" in line)
    assert re.search(rf"^{lose} 0 0 0 32000 12000 0 0 0 40$", ours.read_text(), re.M)
    annotated = totals(ours, ["DB", "IB"])[1]
    assert re.search(r"^32,000 \(100.0%\) +0 +\treturn malloc\(500\);$", annotated, re.M)
    assert ours.read_text() == written(built, "--format", "xtree")
    again = recording.run([recording.memtape(), "report", built / "the.mtape", "leak-classes", "--xtree", ours])
    assert again.returncode != 0 and b"--force" in again.stderr  # not overwritten


@pytest.mark.parametrize("word", ["json", "csv", "text"])
def test_formats_are_those_of_the_short_options(built, word):
    short = {"json": ["--json"], "csv": ["--csv"], "text": []}[word]
    assert written(built, "--format", word) == written(built, *short)


# --- LeakSanitizer's text as a tape -----------------------------------------------------------------

def converted(text, folder, code=0):
    (folder / "lsan.log").write_text(text)
    done = recording.run([recording.memtape(), "convert", "-q", "--force", folder / "lsan.log", "-o", folder / "lsan.mtape"])
    assert done.returncode == code, done.stderr
    return folder / "lsan.mtape" if code == 0 else done.stderr.decode()


def sites(tape):
    return sorted((site["function"], site["file"] and site["file"].rpartition("/")[2], site["line"], site["leaked_bytes"], site["leaked_count"])
                  for site in recording.report(tape, "leaks")["sites"])


@pytest.mark.parametrize("sanitizer", ["leak", "address"])
def test_the_text_of_the_sanitizer_is_read(built, tmp_path, sanitizer):
    subprocess.run(["gcc", "-g", "-O1", f"-fsanitize={sanitizer}", "-o", tmp_path / "checked", SOURCE], check=True)
    text = subprocess.run(["setarch", "-R", tmp_path / "checked"], stderr=subprocess.PIPE, text=True, check=False,
                          env=recording.clean_env(ASAN_OPTIONS="detect_leaks=1")).stderr
    lines = SOURCE.read_text().splitlines()
    line = {size: next(i for i, words in enumerate(lines, 1) if f"malloc({size})" in words) for size in (300, 500)}
    assert sites(converted("the program says this\n" + text, tmp_path)) == [
        ("hang", "scanned.c", line[300], 12000, 40), ("lose", "scanned.c", line[500], 20000, 40)]


def test_what_is_written_is_read_again(built, tmp_path):
    tape = converted(written(built, "--format", "lsan"), tmp_path)
    assert [(name, size, count) for name, _, _, size, count in sites(tape)] == [("hang", 12000, 40), ("lose", 20000, 40)]
    stack = recording.report(tape, "leaks", "--frames=all")["sites"][0]["stack"]
    assert [frame["function"] for frame in stack[:2]] == ["lose", "main"]


def test_frames_of_all_shapes(tmp_path):
    tape = converted("""==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 7 byte(s) in 1 object(s) allocated from:
    #0 0x4af01b in operator new(unsigned long) /build/llvm/asan_new_delete.cpp:95:3
    #1 0x4da26a in std::map<int, char const*>::at(int) const /src/with space/map.h:4:7
    #2 0x7f076fd9cec4 in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x29d8f) (BuildId: 8a1)
    #3 0x401000  (/usr/bin/x+0x1000)
    #4 0x401001 (<unknown module>)

Indirect leak of 1,2 byte(s) in 1 object(s) allocated from:
Indirect leak of 18446744073709551616 byte(s) in 1 object(s) allocated from:
Direct leak of 12 byte(s) in 2 object(s) allocated from:
SUMMARY: AddressSanitizer: 19 byte(s) leaked in 3 allocation(s).
""", tmp_path)
    rows = recording.report(tape, "leaks", "--frames=all")["sites"]
    assert sorted((row["leaked_bytes"], row["leaked_count"]) for row in rows) == [(7, 1), (12, 2)]
    stack = next(row for row in rows if row["leaked_bytes"] == 7)["stack"]
    assert [(f["function"], f["file"], f["line"], f["module"]) for f in stack[:3]] == [
        ("operator new(unsigned long)", "/build/llvm/asan_new_delete.cpp", 95, "[unknown]"),
        ("std::map<int, char const*>::at(int) const", "/src/with space/map.h", 4, "[unknown]"),
        ("__libc_start_main", None, None, "/lib/x86_64-linux-gnu/libc.so.6")]
    assert stack[3]["module"] == "/usr/bin/x" and "401000" in stack[3]["function"]


def test_a_text_without_leaks_is_refused(tmp_path):
    assert "no line says" in converted("==1==ERROR: LeakSanitizer: detected memory leaks\n", tmp_path, code=1)
