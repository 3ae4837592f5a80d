"""A function has one name, whoever shows it: reports, SQL, the flame graph, exports and the server. What is left out may
differ (here nothing is), the spelling may not."""

import gzip
import html
import json
import re
import shutil
import sqlite3
import subprocess

import pytest

import recording
from exporting import export
from test_export_pprof import read as read_pprof

C = r"""
#include <stdlib.h>
static __attribute__((noinline)) void *volatile *keep(void **at) { return at; }
__attribute__((noinline)) void make_all(int n) { void *block = malloc(n * 100); *keep(&block) = block; }
int main(void) { for (int i = 1; i < 9; i++) make_all(i); return 0; }
"""
CXX = r"""
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace outer { namespace {
template <typename T, int N> struct Box {
	__attribute__((noinline)) T *make(std::map<std::string, T> *map) { return static_cast<T *>(malloc(sizeof(T) * N + (map != nullptr))); }
};
template <typename F> __attribute__((noinline)) void call(F &&f) { void *block = f(7); __asm__ volatile("" : : "r"(block)); }
struct Operators {
	__attribute__((noinline)) void *operator()(int n) const { return malloc(n * 100); }
	__attribute__((noinline)) void *operator<<(int n) { return malloc(n * 200); }
	__attribute__((noinline)) bool operator<(int n) const { void *block = malloc(n); __asm__ volatile("" : : "r"(block)); return block; }
};
} }
int main()
{
	using namespace outer;
	Box<unsigned long, 31> box;
	std::map<std::string, unsigned long> map { { std::string(99, 'x'), 1 } };
	Operators operators;
	std::function<void *(int)> function = [](int n) { return malloc(n * 3000); };
	void *block = box.make(&map);

	__asm__ volatile("" : : "r"(block));
	call([](int n) __attribute__((noinline)) { return malloc(n * 1000); });
	call(operators);
	call(function);
	block = operators << 3;
	__asm__ volatile("" : : "r"(block));
	std::vector<std::unique_ptr<int>> all;
	for (int i = 0; i < 10; i++)
		all.push_back(std::make_unique<int>(i));
	return operators < 3 ? 0 : 1;
}
"""
RUST = r"""
use std::collections::HashMap;
struct Holder<T> { items: Vec<T> }
impl<T: Clone> Holder<T> { #[inline(never)] fn add(&mut self, item: &T) { self.items.push(item.clone()); } }
trait Make { fn make(&self) -> Box<[u8]>; }
impl Make for u32 { #[inline(never)] fn make(&self) -> Box<[u8]> { vec![1u8; *self as usize].into_boxed_slice() } }
#[inline(never)] fn called<F: Fn(usize) -> Vec<u64>>(f: F) -> Vec<u64> { f(100) }
fn main() {
    let mut holder = Holder { items: vec![] };
    for i in 0..50 { holder.add(&format!("item {}", i)); }
    let mut map: HashMap<String, Vec<u32>> = HashMap::new();
    map.entry("a".to_string()).or_default().push(3);
    let made = Make::make(&5000u32);
    let closed = called(|n| vec![2u64; n]);
    println!("{} {} {} {}", holder.items.len(), map.len(), made.len(), closed.len());
    std::mem::forget(made);
}
"""
LANGUAGES = {  # what compiles it, and a name that has to be there
    "c": (C, ["cc", "-g", "-O1"], "make_all"),
    "cpp": (CXX, ["c++", "-std=c++17", "-g", "-O1"], "outer::(anonymous namespace)::Operators::operator<<(int)"),
    "rs": (RUST, ["rustc", "-g", "-O"], "called"),
}


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request, tmp_path_factory):
    source, compiler, function = LANGUAGES[request.param]
    if not shutil.which(compiler[0]):
        pytest.skip(f"needs {compiler[0]}")
    folder = tmp_path_factory.mktemp(request.param)
    (folder / f"program.{request.param}").write_text(source)
    subprocess.run([*compiler, f"program.{request.param}", "-o", "program"], cwd=folder, check=True, capture_output=True)
    recording.run_recorded([folder / "program"], folder / "the.mtape")
    return folder / "the.mtape", function


def members(value, keys):
    """All texts of these names, however deep."""
    if isinstance(value, list):
        return set().union(*(members(one, keys) for one in value))
    if not isinstance(value, dict):
        return set()
    return {one for key, one in value.items() if key in keys and isinstance(one, str)}.union(
        *(members(one, keys) for one in value.values()))


def unpacked(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def of_report(tape, folder, what):
    return members(recording.report(tape, what, "--frames=all"), {"function"})


def of_folded(tape, folder):
    text = export(tape, "folded", folder / "out.folded", "--metric", "allocated", "--frames=all").read_text()
    return {frame for line in text.splitlines() for frame in line.rsplit(" ", 1)[0].split(";")}


def of_speedscope(tape, folder):
    return {frame["name"] for frame in unpacked(export(tape, "speedscope", folder / "out.json", "--frames=all"))["shared"]["frames"]}


def of_flamegraph(tape, folder):
    text = export(tape, "flamegraph", folder / "out.svg", "--metric", "allocated", "--frames=all").read_text()
    return {html.unescape(title) for title in re.findall(r"<title>(.*) \([^()]*%[^()]*\)</title>", text)} - {"all"}


def of_callgrind(tape, folder):
    text = export(tape, "callgrind", folder / "out.callgrind", "--frames=all").read_text()
    return {re.sub(r"'\d+$", "", name) for name in re.findall(r"^c?fn=\(\d+\) (.*)$", text, re.MULTILINE)}  # 'N: of a recursion


def of_pprof(tape, folder):
    _, _, samples = read_pprof(export(tape, "pprof", folder / "out.pb.gz", "--frames=all"))
    return {name for stack, _ in samples for name in stack}


def of_json(tape, folder):
    return members(unpacked(export(tape, "json", folder / "out.json", "--frames=all")), {"function"})


def of_firefox(tape, folder):
    profile = unpacked(export(tape, "firefox", folder / "out.json", "--frames=all"))
    shared = profile["shared"]
    return {shared["stringArray"][name] for name in shared["funcTable"]["name"]}


def of_sqlite(tape, folder):
    with sqlite3.connect(export(tape, "sqlite", folder / "out.db", "--frames=all")) as data:
        return {row[0] for row in data.execute("SELECT function FROM frames")}


def of_server(tape, folder):
    with subprocess.Popen([str(recording.memtape()), "serve", "--json", str(tape)], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as server:
        try:
            base, token = json.loads(server.stdout.readline())["url"].split("#k=")
            ask = f"{base.rstrip('/')}/api/v1/flame?c=last&m=allocated&dir=down&px=3840&frames=all"
            answer = json.loads(recording.run(["curl", "-s", "-H", f"Authorization: Bearer {token}", ask]).stdout)
        finally:
            server.terminate()
    return set(answer["names"]) - {"all"}


FACES = {
    **{f"report-{what}": (lambda tape, folder, what=what: of_report(tape, folder, what))
       for what in ("top", "leaks", "temporary", "tree", "groups", "allocations", "findings")},
    "folded": of_folded, "speedscope": of_speedscope, "flamegraph": of_flamegraph, "callgrind": of_callgrind, "pprof": of_pprof,
    "json": of_json, "firefox": of_firefox, "sqlite": of_sqlite, "server": of_server,
}
FEW = ("report-leaks", "report-temporary", "report-findings",  # not every function is in them,
       "report-top", "report-groups")  # nor does everyone call the allocator by itself


@pytest.mark.parametrize("face", FACES)
def test_a_function_has_one_name(program, face, tmp_path):
    tape, function = program
    known = {row["function"] for row in json.loads(recording.run(
        [recording.memtape(), "sql", tape, "--json", "SELECT DISTINCT function FROM frames"]).stdout)}
    known |= {row["call"] for row in json.loads(recording.run(
        [recording.memtape(), "sql", tape, "--json", "SELECT DISTINCT call FROM allocations"]).stdout)}
    known |= {row["call"] for row in json.loads(recording.run(
        [recording.memtape(), "sql", tape, "--json", "SELECT DISTINCT free_call AS call FROM allocations"]).stdout)}
    shown = {name for name in FACES[face](tape, tmp_path) if name}
    known.discard(None)  # freed by nobody
    assert any(function in name for name in known)
    assert shown <= known, shown - known
    assert face in FEW or any(function in name for name in shown), shown
