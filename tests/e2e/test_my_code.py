"""Who allocates is the user's own code, whatever of libraries is between it and malloc."""

import json
import re
import shutil

import pytest

import recording
from serving import serve

CXX = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace gw {
struct Session {
	std::vector<char> buffer;
	std::map<int, std::string> names;
	explicit Session(int size);
};
Session::Session(int size)
{
	buffer.resize(size); /* line 16 */
	for (int i = 0; i < 100; i++)
		names[i] = std::string(64, 'x'); /* line 18 */
}
}
template <typename T> struct Table {
	std::vector<T> rows;
	void add(T row) { rows.push_back(row); } /* line 23 */
};
int main()
{
	std::vector<std::unique_ptr<gw::Session>> *all = new std::vector<std::unique_ptr<gw::Session>>;
	std::vector<int> order{1, 2, 3};
	auto grow = [](int n) { return new std::string(n * 1000, 'y'); }; /* line 29 */
	Table<long> *table = new Table<long>;

	for (int i = 0; i < 10; i++)
		all->push_back(std::make_unique<gw::Session>(10000)); /* line 33 */
	std::for_each(order.begin(), order.end(), [&](int n) { grow(n); });
	for (int i = 0; i < 1000; i++)
		table->add(i);
	return 0;
}
"""

IMPLICIT = """
#include <memory>
#include <string>
#include <vector>
struct Options {
	std::vector<int> table = std::vector<int>(5000); /* line 6 */
	std::string name;
};
std::vector<Options> kept;
__attribute__((noinline)) static void keep(const Options &options)
{
	kept.push_back(options); /* line 12 */
	asm volatile(""); /* no tail call, which has no frame */
}
int main()
{
	auto one = std::make_unique<Options>();
	one->name = std::string(30000, 'n');
	keep(*one);
	return 0;
}
"""

C = """
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
static void *volatile kept;
KEEP void *zmalloc_at(int n) { void *p = malloc(n); kept = p; return p; }
KEEP void *_sdsnewlen(int n) { void *p = zmalloc_at(n); kept = p; return p; }
KEEP void command(void) { kept = _sdsnewlen(5000); kept = kept; }
int main(void) { command(); return 0; }
"""


def built(folder, name, source, compiler, *words):
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    (folder / name).write_text(source)
    program = folder / "program"
    done = recording.run([compiler, "-g", *words, folder / name, "-o", program])
    assert done.returncode == 0, done.stderr.decode()
    tape = folder / "t.mtape"
    done = recording.run_recorded([program], tape)
    assert done.returncode == 0, done.stderr.decode()
    return tape


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def tape(request, tmp_path_factory):
    return built(tmp_path_factory.mktemp("cxx"), "gw.cpp", CXX, "g++", request.param)


@pytest.fixture(scope="module")
def c_tape(tmp_path_factory):
    return built(tmp_path_factory.mktemp("c"), "store.c", C, "gcc", "-O1", "-fno-optimize-sibling-calls")


def text(tape, *words, cwd=None):
    done = recording.run([recording.memtape(), "report", tape, *words], cwd=cwd)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def lines_of_code(tape, what, *options):
    return {(site["function"], site["line"]) for site in recording.report(tape, what, *options)["sites"]}


def of_program(title):
    return not title.startswith(("lib", "ld-", "std::", "__gnu_cxx", "operator", "0x"))


def test_the_first_line_is_the_users(tape):
    first = next(line for line in text(tape, "summary").splitlines() if "gw" in line and "%" in line)
    assert "gw::Session::Session(int)  gw.cpp:1" in first
    assert "via std::vector::resize" in text(tape, "top") and "via std::vector::push_back" in text(tape, "top")
    assert "std::" not in "".join(l for l in text(tape, "top").splitlines() if "via " not in l).replace("libstdc++", "")


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_copy_that_the_compiler_makes_is_its_callers(tmp_path, compiler, optimised):
    tape = built(tmp_path, "options.cpp", IMPLICIT, compiler, optimised)
    found = lines_of_code(tape, "top", "--filter", "size = 30001 or size = 20000")
    assert any(function.startswith("keep(") and line == 12 for function, line in found), found
    assert not any("Options::Options(Options const&)" in function for function, _ in found)
    frames = [frame for site in recording.report(tape, "top", "--frames=exact", "--filter", "size = 30001")["sites"]
              for frame in site["stack"] if "Options::Options(Options const&)" in frame["function"]]
    assert frames and {(frame["file"], frame["role"]) for frame in frames} == {("<implicit>", "library")}


LAMBDAS = """#include <cstdlib>
static void *volatile kept;
static auto outside = [](int n) { kept = malloc(n); };
template <class F> __attribute__((noinline)) void twice(F f) { f(40001); f(40002); }
int main(int argc, char **)
{
\tauto first = [](int n) { kept = malloc(n); };
\tfirst(20001 + argc);
\ttwice([](auto n) { kept = malloc(n); });
\toutside(30001 + argc);
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_lambda_has_its_functions_name_and_its_own_line(tmp_path, compiler, optimised):
    tape = built(tmp_path, "lambdas.cpp", LAMBDAS, compiler, optimised, "-std=c++17")
    sites = recording.report(tape, "top", "--filter", "size in 20000..40010")["sites"]
    found = {site["line"]: site["brief"] for site in sites}
    assert set(found) == {3, 7, 9}, found
    assert found[7].startswith("main::{lambda") and found[9].startswith("main::{lambda") and found[7] != found[9]
    assert re.fullmatch(r"(outside::)?\{lambda(#\d+)?\}", found[3]), found


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
@pytest.mark.parametrize("options", ["-O0", "-O2", "-O2 -g0"])
def test_what_compilers_make_is_called_after_what_it_is_made_of(tmp_path, compiler, options):
    """Of static initialisers and of pointers to lambdas the user's frame is the first, and shown once."""
    tape = built(tmp_path, "beside.cpp", """
#include <cstdlib>
struct Table { void *at; __attribute__((noinline)) Table(size_t n) : at(malloc(n)) { asm volatile(""); } };
Table table(70001);
void *raw = malloc(60002); /* line 5 */
__attribute__((noinline)) void *call(void *(*make)(size_t), size_t n) { void *p = make(n); asm volatile(""); return p; }
int main()
{
	raw = call([](size_t n) { void *p = malloc(n); asm volatile(""); return p; }, 50003); /* line 9 */
}
""", compiler, *options.split())
    stacks = {site["peak_bytes"]: [frame["brief"] for frame in site["stack"]]
              for site in recording.report(tape, "top", "--no-suppress")["sites"]}
    initialisers = "static initialisers" if "-g0" in options else "static initialisers of beside.cpp"
    assert stacks[70001][0].startswith("Table::Table")
    assert stacks[70001][1].startswith(initialisers) and stacks[60002][0].startswith(initialisers)
    assert [f.split("(")[0] for f in stacks[50003]][:3] == ["main::{lambda}", "call", "main"]
    for stack in stacks.values():
        assert not any("_GLOBAL_" in f or "_FUN" in f or "__invoke" in f or "__static_" in f for f in stack), stack
        assert "-g0" in options or sum("initialisers" in f for f in stack) <= 1, stack


def test_libraries_are_named_on_request(tape):
    exact = {site["function"].split("<")[0] for site in recording.report(tape, "top", "--frames=exact")["sites"]}
    mine = {site["function"] for site in recording.report(tape, "top")["sites"]}
    assert any(name.startswith("std::") for name in exact)
    assert not any(name.startswith(("std::", "void std::")) for name in mine)
    assert "gw::Session::Session(int)" in mine and "Table<long>::add(long)" in mine | {"Table<long>::add(long)"}
    assert any(frame["role"] == "allocator" for site in recording.report(tape, "top", "--frames=all")["sites"]
               for frame in site["stack"])


def test_stacks_of_data_are_whole_and_say_whose_a_frame_is(tape):
    site = next(s for s in recording.report(tape, "top")["sites"] if s["function"] == "gw::Session::Session(int)")
    roles = {frame["function"].split("(")[0]: frame["role"] for frame in site["stack"]}
    assert roles["main"] == roles["gw::Session::Session"] == "mine"
    assert "library" in roles.values()


@pytest.mark.parametrize("by", ["function", "source", "module", "stack"])
@pytest.mark.parametrize("frames", ["my", "exact", "all"])
def test_filters_of_groups_choose_their_rows(tape, by, frames):
    with serve(tape) as server:
        answer = server.json("sites", by=by, frames=frames, n=200)
        assert answer["count"] == len(answer["rows"]) > 0
        for row in answer["rows"]:
            if row["q"] is None:
                assert frames == "all" and by != "stack"
                continue
            again = server.json("sites", by=by, frames=frames, n=200, q=row["q"])
            assert [r["key"] for r in again["rows"]] == [row["key"]], row["q"]
            assert again["rows"][0]["only_matched"]["size"] == row["all"]["size"], row["q"]


@pytest.mark.parametrize("frames", ["my", "exact", "all"])
def test_flames_trees_and_frames_agree(tape, frames):
    with serve(tape) as server:
        flame = server.json("flame", m="allocated", frames=frames, px=8192)
        rows = server.json("children", m="allocated", frames=frames)["rows"]
        assert sum(row["total"] for row in rows) == flame["total"]
        has_std = any(name.startswith("std::vector") for name in flame["names"])
        assert has_std == (frames != "my")
        main = flame["hashes"][flame["names"].index("main")]
        names = [row["function"] for row in server.json("frame", h=main, frames=frames)["callees"]]
        assert frames != "my" or not any("std::" in name for name in names)


def test_wrappers_are_what_the_user_says(c_tape, tmp_path):
    def top(*words):
        done = recording.run([recording.memtape(), "report", c_tape, "top", "--json", *words], cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)["sites"][0]["function"]

    assert top() == "zmalloc_at"
    assert top("--wrapper=zmalloc*,_sdsnewlen") == "command"
    assert top("--library=zmalloc*", "--library", "_sds*") == "command"
    assert top("--library=store.c", "--my=_sdsnewlen") == "_sdsnewlen"
    assert top("--wrapper=zmalloc*", "--remember") == "_sdsnewlen"
    assert (tmp_path / ".memtape" / "config").read_text() == "wrapper = zmalloc*\n"
    assert top() == "_sdsnewlen"
    assert top("--my=zmalloc*") == "zmalloc_at"
    (tmp_path / "below").mkdir()
    assert "_sdsnewlen" in text(c_tape, "top", cwd=tmp_path / "below")


def test_a_wrong_line_is_named(c_tape, tmp_path):
    (tmp_path / ".memtape").mkdir()
    for lines, number in (("# ours\n\nmy = src/\nfoo = x\n", 4), ("my\n", 1), ("library =\n", 1)):
        (tmp_path / ".memtape" / "config").write_text(lines)
        done = recording.run([recording.memtape(), "report", c_tape, "top"], cwd=tmp_path)
        assert done.returncode == 2 and f".memtape/config:{number}: ".encode() in done.stderr
    done = recording.run([recording.memtape(), "report", c_tape, "top", "--remember"])
    assert done.returncode == 2 and b"--remember" in done.stderr


REGRESSED = """
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Row {
	std::string key;
	std::vector<int> values;
};
static std::map<std::string, Row> rows;
static std::vector<std::shared_ptr<std::string>> cache;
__attribute__((noinline)) void index_row(int i)
{
	Row &row = rows["a rather long key of row " + std::to_string(i)];
	row.key = "row " + std::to_string(i) + ", longer than what a string holds itself";
	for (int j = 0; j < WIDTH; j++)
		row.values.push_back(j); /* line 17 */
}
int main()
{
	for (int i = 0; i < 200; i++)
		cache.push_back(std::make_shared<std::string>(200, 'x'));
	for (int i = 0; i < 300; i++)
		index_row(i);
	return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_verdict_of_a_diff_names_the_users_line(tmp_path, level):
    (tmp_path / "b.cpp").write_text(REGRESSED)
    for width in (10, 200):
        for command in (["g++", "-g", level, f"-DWIDTH={width}", "-o", f"w{width}", "b.cpp"],
                        [recording.memtape(), "record", "-q", "-o", f"w{width}.mtape", f"./w{width}"]):
            done = recording.run(command, cwd=tmp_path)
            assert done.returncode == 0, done.stderr.decode()
    for metric in ("peak", "allocated", "count"):
        done = recording.run([recording.memtape(), "diff", "w10.mtape", "w200.mtape", "--json", "--metric", metric],
                             cwd=tmp_path)
        found = json.loads(done.stdout)
        assert found["verdict"].endswith("100.0 % of it from index_row(int) (b.cpp:17)")
        assert (found["main"]["function"], found["main"]["line"]) == ("index_row(int)", 17)
        assert found["below"]["function"] == "index_row(int)"


def test_names_are_shortened_for_people_and_whole_for_filters(tape):
    with serve(tape) as server:
        flame = server.json("flame", m="allocated", frames="exact", px=8192)
        names = dict(zip(flame["names"], flame["briefs"], strict=True))
        library = {name: brief for name, brief in names.items() if name.startswith(("std::vector<", "void std::"))}
        assert library and not any(brief.startswith("void ") or "<" in brief or "(" in brief for brief in library.values())
        for name, brief in names.items():
            assert not name.startswith(("std::", "void std::", "__gnu_cxx::")) or "lambda(" not in brief, name
            if name.startswith("main::{lambda") and "operator()" in name:
                assert brief in ("main::{lambda}", "main::{lambda#2}"), name
        rows = server.json("sites", by="function", n=200)["rows"]
        row = next(r for r in rows if "{lambda" in r["function"])
        assert row["title"] == "main::{lambda}" != row["function"]
        assert server.json("sites", by="function", q=row["q"])["rows"][0]["hash"] == row["hash"]
        assert server.json("frame", h=row["hash"])["brief"] == row["title"]
        tree = server.json("children", m="allocated")["rows"]
        assert [r["brief"] for r in tree] == [names.get(r["function"], r["function"]) for r in tree]
    sites = {site["function"]: site["brief"] for site in recording.report(tape, "top")["sites"]}
    assert sites[row["function"]] == row["title"]


PARTS = """
#include <stdlib.h>
static void *volatile kept;
void part(int bytes) { kept = malloc(bytes); kept = kept; }
"""

WHOLE = """
#include <stdlib.h>
void part(int bytes);
static void *volatile kept;
int main(int argc, char **argv) { (void)argc; kept = malloc(900000); part(atoi(argv[1])); return 0; }
"""


@pytest.mark.parametrize(("bytes_of_part", "by"), [(10000, "function"), (500000, "module")])
def test_curves_are_by_function_where_one_module_has_nearly_all(tmp_path, bytes_of_part, by):
    (tmp_path / "part.c").write_text(PARTS)
    (tmp_path / "whole.c").write_text(WHOLE)
    for words in (["-shared", "-fPIC", "-o", "libpart.so", "part.c"], ["-o", "whole", "whole.c", "-L.", "-lpart", f"-Wl,-rpath,{tmp_path}"]):
        done = recording.run(["gcc", "-g", *words], cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    done = recording.run_recorded([tmp_path / "whole", str(bytes_of_part)], tmp_path / "t.mtape")
    assert done.returncode == 0, done.stderr.decode()
    found = recording.report(tmp_path / "t.mtape", "curves", "--bands=auto", "--points=10")
    named = recording.report(tmp_path / "t.mtape", "curves", f"--bands={by}", "--points=10")
    assert found["by"] == by and found["bands"] == named["bands"] and len(found["bands"]) >= 2
    assert recording.report(tmp_path / "t.mtape", "curves", "--points=10")["by"] is None


def test_bands_of_a_function_name_the_users_or_the_librarys(tape):
    with serve(tape) as server:
        for frames in ("my", "exact"):
            bands = server.json("curves", bands="function", frames=frames, points=50)["bands"]
            assert any(band["title"].startswith("std::") for band in bands) == (frames == "exact"), bands
            sites = {row["title"] for row in server.json("sites", by="function", frames=frames, n=200)["rows"]}
            assert {band["title"] for band in bands if not band["rest"]} <= sites
            for band in bands:
                if band["q"] is not None:
                    part = server.json("sites", by="function", frames=frames, q=band["q"])["rows"]
                    assert [row["title"] for row in part] == [band["title"]]


LOST_SCOPE = """
#include <string>
#include <unordered_map>
#include <vector>
struct Point {
	double lat, lon;
	unsigned as;
};
struct Resolver {
	std::unordered_map<std::string, std::vector<Point>> seen;
	std::vector<Point> query(const std::string &peer) const;
	std::vector<Point> resolve(const std::string &peer);
};
__attribute__((noinline)) std::vector<Point> Resolver::query(const std::string &peer) const
{
	std::vector<Point> route;
	for (size_t i = 0; i < 9 + peer.size() % 2; i++)
		route.push_back({1.0, 2.0, 3});
	return route;
}
__attribute__((noinline)) std::vector<Point> Resolver::resolve(const std::string &peer)
{
	auto known = seen.find(peer);
	if (known != seen.end())
		return known->second;
	auto route = query(peer);
	seen[peer] = route; /* line 27 */
	return route;
}
int main()
{
	auto *resolver = new Resolver;
	size_t hops = 0;

	for (int i = 0; i < 500; i++)
		hops += resolver->resolve("10.0.0.1:" + std::to_string(i)).size();
	return hops == 0;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_call_whose_scope_the_compiler_dropped_has_the_users_line(tmp_path, compiler):
    """In C++20 GCC's assignment of vectors loses its scope: the allocation's line is in new_allocator.h, within nothing
    that is inlined."""
    tape = built(tmp_path, "geo.cpp", LOST_SCOPE, compiler, "-O2", "-std=c++20")
    for what in ("top", "leaks"):
        site = recording.report(tape, what)["sites"][0]
        assert site["function"].startswith("Resolver::resolve(")
        assert (site["file"].rsplit("/", 1)[-1], site["line"]) == ("geo.cpp", 27)
        assert "via std::" in text(tape, what)
