"""Names and lines are found wherever they are kept, and a wrong name is never shown."""

import ctypes.util
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

import recording

SOURCE = """
#include <stdlib.h>
static __attribute__((noinline)) void *hidden_inner(int n)
{
	return malloc(n); /* line 5 */
}
__attribute__((noinline)) void *hidden_outer(int n)
{
	void *p = hidden_inner(n);
	return p ? p : 0;
}
int main(void)
{
	free(hidden_outer(12345));
	return 0;
}
"""


def tool(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                          **options).stdout


@pytest.fixture
def program(tmp_path):
    needed = ("gcc", "objcopy", "strip", "nm")
    if not all(shutil.which(name) for name in needed):
        pytest.skip(f"needs {needed}")
    (tmp_path / "hidden.c").write_text(SOURCE)
    tool("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "hidden.c", "-o", "hidden", cwd=tmp_path)
    return tmp_path / "hidden"


def frames(tape, *options, count=3):
    blocks = recording.report(tape, "allocations", *options)
    block = next(b for b in blocks if b["size"] == 12345)
    return [(f["function"], f["line"]) for f in block["stack"]][:count]


def record(program, tape):
    done = recording.run_recorded([program], tape)
    assert done.returncode == 0
    return tape


LINES = [("hidden_inner", 5), ("hidden_outer", 9), ("main", 14)]


def symbols(*words, **options):
    done = recording.run([recording.memtape(), "symbols", *words], **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def module(tape, name, *options):
    modules = json.loads(symbols("list", tape, "--json", *options))["modules"]
    return next(m for m in modules if m["module"].endswith(name))


def build_id(program):
    return tool("readelf", "-n", program).split("Build ID:")[1].split()[0]


def split_debug(program, debug_path):
    debug_path.parent.mkdir(parents=True, exist_ok=True)
    tool("objcopy", "--only-keep-debug", program, debug_path)
    tool("strip", "-s", program)


def by_build_id(folder, program):
    number = build_id(program)
    return folder / ".build-id" / number[:2] / f"{number[2:]}.debug"


def test_lines_come_from_the_program_itself(program, tape):
    assert frames(record(program, tape)) == [("hidden_inner", 5), ("hidden_outer", 9), ("main", 14)]


def test_lines_come_from_a_file_beside_a_stripped_program(program, tape):
    tool("objcopy", "--only-keep-debug", "hidden", "hidden.debug", cwd=program.parent)
    tool("strip", "-s", "hidden", cwd=program.parent)
    tool("objcopy", "--add-gnu-debuglink=hidden.debug", "hidden", cwd=program.parent)
    assert frames(record(program, tape)) == [("hidden_inner", 5), ("hidden_outer", 9), ("main", 14)]


def test_a_program_with_holes_between_its_segments_is_named(program, tape):
    """The loader tells of its segments then, and not of the whole (node is such a program)."""
    tool("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-no-pie",
         "-Wl,-z,max-page-size=0x200000,-z,separate-code", "hidden.c", "-o", "hidden", cwd=program.parent)
    assert frames(record(program, tape)) == LINES


def test_a_debug_file_with_a_wrong_checksum_is_not_used(program, tape):
    tool("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-Wl,--build-id=none", "hidden.c", "-o",
         "hidden", cwd=program.parent)
    split_debug(program, program.parent / "hidden.debug")
    tool("objcopy", "--add-gnu-debuglink=hidden.debug", "hidden", cwd=program.parent)
    record(program, tape)
    assert frames(tape) == LINES
    with open(program.parent / "hidden.debug", "ab") as debug:
        debug.write(b"x")
    assert all(name.startswith("0x") for name, _ in frames(tape))


def test_lines_come_from_a_folder_of_debug_files_by_build_id(program, tape, tmp_path):
    split_debug(program, by_build_id(tmp_path / "dbg", program))
    record(program, tape)
    assert all(name.startswith("0x") for name, _ in frames(tape))
    assert frames(tape, "--debug-dir", f"/nonexistent:{tmp_path}/dbg") == LINES
    assert module(tape, "/hidden", "--debug-dir", tmp_path / "dbg")["from"] == "debug file"


KINDS = [["gcc", "-gdwarf-2", "-gstrict-dwarf"], ["gcc", "-gdwarf-3"], ["gcc", "-gdwarf-4"], ["gcc", "-gdwarf-5"],
         ["gcc", "-g", "-gz=zlib"], ["gcc", "-g", "-fdebug-types-section"], ["gcc", "-g", "-gdwarf64"],
         ["gcc", "-g", "-flto"], ["gcc", "-g1"], ["gcc", "-g", "-ffunction-sections", "-Wl,--gc-sections"],
         ["clang-14", "-gdwarf-4"], ["clang-14", "-gdwarf-5"], ["clang-14", "-gdwarf-5", "-gsplit-dwarf"],
         ["clang-14", "-gline-tables-only"]]


@pytest.mark.parametrize("words", KINDS, ids=" ".join)
def test_every_kind_of_debug_information_is_read(program, tape, words):
    if not shutil.which(words[0]):
        pytest.skip(f"needs {words[0]}")
    tool(*words, "-O1", "-fno-optimize-sibling-calls", "hidden.c", "-o", "hidden", cwd=program.parent)
    assert frames(record(program, tape)) == LINES


INLINED = """
#include <string>
#include <vector>
namespace shop {
static inline __attribute__((always_inline)) void *deepest(int n) { void *p = operator new(n); asm volatile("" ::: "memory"); return p; }
static inline __attribute__((always_inline)) void *middle(int n) { return deepest(n); }
template <typename T> __attribute__((noinline)) void *basket(const T &list) { return middle(int(list.size()) + 12344); }
}
int main() { operator delete(shop::basket(std::vector<std::string>(1))); }
"""


@pytest.mark.parametrize("words", [["g++", "-g", "-O2"], ["clang++-14", "-g", "-O2"],
                                   ["g++", "-g", "-O2", "-gsplit-dwarf"]], ids=" ".join)
def test_inlined_calls_are_frames(tape, tmp_path, words):
    if not shutil.which(words[0]):
        pytest.skip(f"needs {words[0]}")
    (tmp_path / "shop.cpp").write_text(INLINED)
    tool(*words, "shop.cpp", "-o", "shop", cwd=tmp_path)
    record(tmp_path / "shop", tape)

    def names(*options):
        return [name for name, _ in frames(tape, *options)]

    # gcc leaves out the linker's name, and with it the parameters, of what was never compiled alone.
    assert [(name.replace("(int)", ""), line) for name, line in frames(tape)][:2] == [
        ("shop::deepest", 5), ("shop::middle", 6)]
    assert names()[2].endswith("shop::basket<std::vector<std::string>>(std::vector<std::string> const&)")
    assert "std::allocator<" in names("--full-names")[2]
    assert names("--no-template-args")[2].endswith("shop::basket<...>(std::vector<...> const&)")


LAMBDAS = """
#include <cstdlib>
__attribute__((noinline)) void taken(int n) { void *volatile p = malloc(n); p = nullptr; }
static const auto at_file = [](int n) { taken(100 + n); asm(""); };
namespace shop {
static const auto at_namespace = [](int n) { taken(200 + n); asm(""); };
static __attribute__((noinline)) void fill() {
	auto outer = [](int n) __attribute__((noinline)) { auto inner = [n] { taken(300 + n); asm(""); }; inner(); asm(""); };
	outer(1);
}
struct Shelf {
	__attribute__((noinline)) void fill() { auto any = [](auto n) { taken(400 + n); asm(""); }; any(1); }
};
}
int main(int argc, char **) {
	auto here = [&] { taken(500 + argc); asm(""); };
	at_file(1); shop::at_namespace(1); shop::fill(); shop::Shelf().fill(); here();
}
"""


@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_lambdas_are_named_after_what_is_around_them(tape, tmp_path, compiler, optimise):
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    (tmp_path / "lambdas.cpp").write_text(LAMBDAS)
    tool(compiler, "-std=c++17", "-g", optimise, "lambdas.cpp", "-o", "lambdas", cwd=tmp_path)
    record(tmp_path / "lambdas", tape)
    rows = json.loads(recording.run([recording.memtape(), "sql", tape, "--json", "SELECT DISTINCT function FROM frames"]).stdout)
    names = [row["function"] for row in rows if "operator()" in (row["function"] or "")]
    bare = {re.sub(r"<int>|\([^()]*\)( const)?|^auto | \[clone [^]]*\]", "", re.sub(
        r"\{lambda\([^)]*\)#\d+\}|\$_\d+", "{lambda}", name.replace("::operator()", ""))) for name in names}

    assert {"main::{lambda}", "shop::Shelf::fill::{lambda}", "shop::fill::{lambda}::{lambda}"} <= bare, names
    assert bare & {"{lambda}", "at_file::{lambda}"}, names  # a symbol of gcc has the variable's name
    assert bare & {"shop::{lambda}", "shop::at_namespace::{lambda}"}, names


@pytest.mark.parametrize("mangling", ["v0", "legacy"])
def test_functions_of_rust_are_named(tape, tmp_path, mangling):
    if not shutil.which("rustc"):
        pytest.skip("needs rustc")
    (tmp_path / "stock.rs").write_text("""mod shelf {
    #[inline(never)]
    pub fn fill<T: Clone>(item: T, n: usize) -> Vec<T> { vec![item; n] }
}
fn main() { std::process::exit((shelf::fill(7u8, 12345).len() == 1) as i32) }
""")
    options = ["-g"] + (["-Csymbol-mangling-version=v0"] if mangling == "v0" else [])
    try:
        tool("rustc", *options, "stock.rs", cwd=tmp_path)
    except subprocess.CalledProcessError as error:
        pytest.skip(error.stderr)
    record(tmp_path / "stock", tape)
    found = next(f for f in frames(tape, "--frames=all", count=99) if "shelf" in f[0])
    assert found[0].startswith("stock::shelf::fill") and "h0" not in found[0] and found[1] == 3
    top = recording.run([recording.memtape(), "report", tape, "top"]).stdout.decode()
    assert "shelf::fill" in top
    assert not [word for word in ("alloc::alloc::", "alloc::raw_vec::", "__rust_alloc", "__rdl_") if word in top]


def test_debug_information_may_lie_in_objects_of_its_own(program, tape):
    for version in ("4", "5"):
        tool("gcc", f"-gdwarf-{version}", "-gsplit-dwarf", "-O1", "-fno-optimize-sibling-calls",
             "hidden.c", "-o", "hidden", cwd=program.parent)
        assert list(program.parent.glob("*.dwo"))
        assert frames(record(program, tape)) == LINES
        tape.unlink()


def test_debug_information_may_be_shared_by_objects(program, tape, tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("needs dwz")
    for name in ("one", "two"):
        tool("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", f"-DNAME={name}", "hidden.c", "-o", name,
             cwd=program.parent)
    common = tmp_path / "dbg" / ".dwz" / "common"
    common.parent.mkdir(parents=True)
    done = subprocess.run(["dwz", "-m", common, "-M", "/nowhere/common", "one", "two"],
                          cwd=program.parent, capture_output=True, check=False)
    if done.returncode or not common.exists():
        pytest.skip(f"dwz shares nothing: {done.stderr}")
    by_id = by_build_id(tmp_path / "dbg", common)
    by_id.parent.mkdir(parents=True)
    common.rename(by_id)
    record(program.parent / "one", tape)
    assert frames(tape, "--debug-dir", tmp_path / "dbg") == LINES


@pytest.mark.parametrize("option", ["--sysroot", "--path-map"])
def test_a_program_that_moved_is_found(program, tape, tmp_path, option):
    record(program, tape)
    moved = tmp_path / "other" / "place"
    if option == "--sysroot":
        moved = tmp_path / "root" / str(program.parent).lstrip("/")
    moved.mkdir(parents=True)
    program.rename(moved / "hidden")
    value = tmp_path / "root" if option == "--sysroot" else f"{program.parent}={moved}"
    assert all(name.startswith("0x") for name, _ in frames(tape))
    assert frames(tape, option, value) == LINES
    stack = recording.report(tape, "allocations", option, value)[0]["stack"]
    wanted = moved if option == "--path-map" else program.parent
    assert stack[0]["file"] == str(wanted / "hidden.c")


def test_sources_alone_may_have_moved(program, tape):
    record(program, tape)
    stack = recording.report(tape, "allocations", "--path-map", f"{program.parent}=/elsewhere")[0]["stack"]
    assert stack[0]["function"] == "hidden_inner" and stack[0]["file"] == "/elsewhere/hidden.c"


def test_names_travel_with_the_tape(program, tape, tmp_path):
    record(program, tape)
    full = tmp_path / "with.mtape"
    assert "names of " in symbols("embed", tape, "-o", full)
    program.unlink()
    assert all(name.startswith("0x") for name, _ in frames(tape))
    assert frames(full) == LINES
    known = module(full, "/hidden")
    assert known["from"] == "tape" and known["named"] == known["addresses"] and known["remedy"] is None
    verified = recording.run([recording.memtape(), "verify", full])
    assert verified.returncode == 0, verified.stdout


def test_names_are_embedded_once(program, tape):
    record(program, tape)
    symbols("embed", tape)
    size, first = tape.stat().st_size, recording.report(tape, "summary")
    symbols("embed", tape)
    assert tape.stat().st_size == size
    assert recording.report(tape, "summary") == first
    program.unlink()
    symbols("embed", tape)  # of what the tape itself knows
    assert frames(tape) == LINES
    again = tape.with_suffix(".again")
    assert recording.run([recording.memtape(), "repack", tape, "-o", again]).returncode == 0
    assert frames(again) == LINES


def test_a_tape_that_is_still_recorded_is_left_alone(tape):
    with subprocess.Popen([recording.memtape(), "record", "-q", "-o", tape, "--", "sleep", "30"],
                          env=recording.clean_env()) as process:
        for _ in range(100):
            if tape.exists() and tape.stat().st_size > 4096:
                break
            time.sleep(0.1)
        done = recording.run([recording.memtape(), "symbols", "embed", tape])
        process.terminate()
    assert done.returncode == 1 and b"still recording" in done.stderr
    assert recording.run([recording.memtape(), "verify", tape]).returncode == 0


def test_nothing_is_embedded_in_a_tape_that_is_not_packed(program, tape):
    assert recording.run_bare([program], tape).returncode == 0
    done = recording.run([recording.memtape(), "symbols", "embed", tape])
    assert done.returncode == 1 and b"repack" in done.stderr


def test_embedded_names_that_are_damaged_are_no_names(program, tape):
    record(program, tape)
    size = tape.stat().st_size
    symbols("embed", tape)
    program.unlink()
    sound = tape.read_bytes()
    for at in range(size, len(sound), max(1, (len(sound) - size) // 40)):
        tape.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1:])
        assert recording.run([recording.memtape(), "report", tape, "top"]).returncode in (0, 1)


def test_names_are_kept_between_runs(program, tape):
    record(program, tape)
    assert module(tape, "/hidden")["cached"] == module(tape, "/hidden")["addresses"]
    symbols("cache", "--clear")
    assert module(tape, "/hidden")["cached"] == 0
    assert frames(tape) == LINES
    assert module(tape, "/hidden")["cached"] == module(tape, "/hidden")["addresses"]
    if shutil.which("strace"):
        done = recording.run(["strace", "-f", "-e", "trace=openat", "-o", program.parent / "calls",
                              recording.memtape(), "report", tape, "top"])
        assert done.returncode == 0 and "hidden_inner" in done.stdout.decode()
        opened = (program.parent / "calls").read_text()
        assert opened.count(str(program)) == 1  # its headers, and not libdw's look at the rest
    assert "Files" in symbols("cache")
    cleared = json.loads(symbols("cache", "--clear", "--json"))
    assert cleared["removed_files"] > 0 and cleared["files"] == 0
    assert module(tape, "/hidden")["cached"] == 0


def test_debug_information_installed_later_is_noticed(program, tape, tmp_path):
    debug = by_build_id(tmp_path / "dbg", program)
    split_debug(program, tmp_path / "later")
    record(program, tape)
    assert all(name.startswith("0x") for name, _ in frames(tape, "--debug-dir", tmp_path / "dbg"))
    debug.parent.mkdir(parents=True)
    (tmp_path / "later").rename(debug)
    assert frames(tape, "--debug-dir", tmp_path / "dbg") == LINES
    debug.unlink()
    assert all(name.startswith("0x") for name, _ in frames(tape, "--debug-dir", tmp_path / "dbg"))


def test_a_cache_that_is_damaged_is_no_cache(program, tape):
    record(program, tape)
    folder = pathlib.Path(json.loads(symbols("cache", "--json"))["folder"])
    assert frames(tape) == LINES
    kept = list(folder.glob(f"{build_id(program)}-*.names"))
    assert len(kept) == 1
    for damage in (b"", b"MTNAMES\n", kept[0].read_bytes()[:-3], b"\xff" * 5000):
        kept[0].write_bytes(damage)
        assert frames(tape) == LINES
        assert kept[0].read_bytes() != damage  # it was made anew


def test_the_remedy_is_told(program, tape):
    tool("strip", "-s", program)
    record(program, tape)
    text = symbols("list", tape)
    assert "What would tell more" in text and "DEBUGINFOD_URLS=https://" in text
    program.unlink()
    assert "--sysroot" in module(tape, "/hidden")["remedy"]


def test_verbs_that_do_not_exist_are_told(tape):
    for words in ([], ["lost", tape], ["embed"], ["list", tape, tape]):
        done = recording.run([recording.memtape(), "symbols", *words])
        assert done.returncode == 2 and b"embed" in done.stderr


def test_names_come_from_a_compressed_table(program, tape):
    if not shutil.which("xz"):
        pytest.skip("needs xz")
    (program.parent / "keep").write_text("hidden_inner\nhidden_outer\nmain\n")
    tool("objcopy", "-S", "--keep-symbols=keep", "hidden", "mini", cwd=program.parent)
    tool("xz", "mini", cwd=program.parent)
    tool("strip", "-s", "hidden", cwd=program.parent)
    tool("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "hidden", cwd=program.parent)
    assert tool("nm", program).strip() == ""
    assert frames(record(program, tape)) == [("hidden_inner", None), ("hidden_outer", None),
                                             ("main", None)]


def test_a_stripped_program_has_functions_without_names(program, tape):
    tool("strip", "-s", program)
    names = [name for name, _ in frames(record(program, tape))]
    assert all(name.startswith("0x") and "[hidden+0x" in name for name in names)
    assert len(set(names)) == 3


def test_a_stripped_program_is_told_whenever_it_is_asked_about(program, tape):
    """Also by who finds the names in the cache, where nobody reads the tables again."""
    tool("strip", "-s", program)
    record(program, tape)
    told = [recording.report(tape, "top", "--sort", "allocated")["quality"]["unnamed_modules"] for _ in range(3)]
    assert told == [[{"module": str(program), "reason": "no symbols at all"}]] * 3
    [module_] = [row for row in recording.report(tape, "modules")["modules"] if row["module"] == str(program)]
    assert module_["symbols"] == "none"


def test_the_summary_says_how_much_is_without_names(program, tape):
    """What the next commands and the app go by: of the peak, by module; nothing if that is little."""
    record(program, tape)
    assert "unnamed" not in recording.report(tape, "summary")
    tool("strip", "-s", program)
    tape.unlink()
    record(program, tape)
    unnamed = recording.report(tape, "summary")["unnamed"]
    sites = [site for site in recording.report(tape, "top", "--sort", "peak")["sites"] if "0x" in site["function"]]
    assert unnamed["bytes"] == sum(site["peak_bytes"] for site in sites) > 0
    assert unnamed["modules"] == [{"module": str(program), "reason": "no symbols at all",
                                   "build_id": build_id(program), "bytes": unnamed["bytes"]}]
    assert unnamed["share"] == pytest.approx(
        100 * unnamed["bytes"] / recording.report(tape, "summary")["peak"]["bytes"], abs=0.1)
    assert "memtape symbols list" in recording.run([recording.memtape(), "report", tape]).stdout.decode()


def test_a_program_built_anew_names_nothing(program, tape):
    record(program, tape)
    source = program.parent / "hidden.c"
    source.write_text(SOURCE.replace("hidden_inner", "another_name"))
    tool("gcc", "-g", "-O1", "hidden.c", "-o", "hidden", cwd=program.parent)
    names = [name for name, _ in frames(tape)]
    assert all(name.startswith("0x") for name in names)
    quality = recording.report(tape, "top", "--sort", "allocated")["quality"]
    assert {"module": str(program), "reason": "changed on disk since it was recorded"} in \
        quality["unnamed_modules"]
    text = recording.run([recording.memtape(), "report", tape]).stdout.decode()
    assert "changed on disk" in text


def test_a_program_that_is_gone_names_nothing(program, tape):
    record(program, tape)
    program.unlink()
    assert all(name.startswith("0x") for name, _ in frames(tape))
    assert "file is gone" in json.dumps(recording.report(tape, "leaks", "--sort", "allocated"))


@pytest.fixture
def server(tmp_path):
    root = tmp_path / "served"
    root.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=root)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield root, f"http://127.0.0.1:{listening.server_address[1]}/"
        listening.shutdown()


def served_program(program, tape, root):
    """A stripped program whose debug information only a server has."""
    folder = root / "buildid" / build_id(program)
    folder.mkdir(parents=True)
    tool("objcopy", "--only-keep-debug", program, folder / "debuginfo")
    tool("strip", "-s", program)
    record(program, tape)


def top_leaf(tape, *options, **env):
    done = recording.run([recording.memtape(), "report", tape, "top", "--json", "--sort", "allocated",
                          *options], env=recording.clean_env(**env))
    assert done.returncode == 0, done.stderr
    sites = json.loads(done.stdout)["sites"]
    return next(s for s in sites if s["allocated_bytes"] == 12345), done


def test_servers_are_asked_unless_they_may_not(program, tape, server, tmp_path):
    if not ctypes.util.find_library("debuginfod"):
        pytest.skip("needs libdebuginfod")
    root, url = server
    served_program(program, tape, root)
    env = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": tmp_path / "fetched"}
    assert top_leaf(tape, "--no-debuginfod", **env)[0]["function"].startswith("0x")
    found, _ = top_leaf(tape, **env)
    assert (found["function"], found["line"]) == ("hidden_inner", 5)


def test_a_server_that_does_not_answer_does_not_hold_up_a_report(program, tape, tmp_path):
    if not ctypes.util.find_library("debuginfod"):
        pytest.skip("needs libdebuginfod")
    tool("strip", "-s", program)
    record(program, tape)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        leaf, done = top_leaf(tape, DEBUGINFOD_URLS=f"http://127.0.0.1:{silent.getsockname()[1]}/",
                              DEBUGINFOD_CACHE_PATH=tmp_path / "fetched",
                              MEMTAPE_DEBUGINFOD_SECONDS="1")
    assert time.monotonic() - begin < 10
    assert leaf["function"].startswith("0x")
    assert b"symbols fetch" in done.stderr


def test_the_network_is_not_asked_when_it_may_not(program, tape):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    tool("strip", "-s", program)
    record(program, tape)
    done = recording.run(["strace", "-f", "-e", "trace=%network", "-o", program.parent / "calls",
                          recording.memtape(), "report", tape, "--no-debuginfod"],
                         env=recording.clean_env(DEBUGINFOD_URLS="http://127.0.0.1:9/"))
    assert done.returncode == 0
    assert "connect" not in (program.parent / "calls").read_text()


# --- code made at run time ---------------------------------------------------------------------

def jit_record(ident, ns, payload):
    return struct.pack("<IIQ", ident, 16 + len(payload), ns) + payload


def jit_load(pid, ns, address, size, name):
    body = struct.pack("<IIQQQQ", pid, pid, address, address, size, 0) + name.encode() + bytes(1 + size)
    return jit_record(0, ns, body)


def jit_lines(address, entries):
    body = struct.pack("<QQ", address, len(entries))
    for at, file, line in entries:
        body += struct.pack("<QII", at, line, 0) + file.encode() + b"\0"
    return jit_record(2, 0, body)


def jit_dump(path, pid, *records):
    path.write_bytes(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, 1, 0) + b"".join(records))


def tape_pid(tape):
    return json.loads(recording.run([recording.memtape(), "info", tape, "--json"]).stdout)["process"]["pid"]


def jit_frame(tape, size=3001):
    """The frame of the code that target jit made: its caller's caller is main."""
    blocks = recording.report(tape, "allocations")
    return next(b for b in blocks if b["size"] == size)["stack"][1]


def test_code_made_at_run_time_is_named_by_a_jitdump(tape, tmp_path):
    recording.run_recorded([recording.target("jit")], tape, cwd=tmp_path)
    pid = tape_pid(tape)
    address = int(jit_frame(tape)["function"], 16)
    begin = address & ~0xfff
    dump = tmp_path / f"jit-{pid}.dump"
    lines = jit_lines(begin, [(begin, "gen.js", 3), (begin + 8, "gen.js", 4), (begin + 32, "gen.js", 9)])
    jit_dump(dump, pid, lines, jit_load(pid, 1, begin, 64, "made::code()"))
    found = jit_frame(tape)
    assert (found["function"], found["file"], found["line"]) == ("made::code()", "gen.js", 4)
    # The last that had come by then, and none of what came later.
    jit_dump(dump, pid, jit_load(pid, 1, begin, 64, "older"), jit_load(pid, 2, begin, 64, "newer"),
             jit_load(pid, 1 << 62, begin, 64, "later"))
    assert jit_frame(tape)["function"] == "newer"
    symbols("embed", tape)
    dump.unlink()
    assert jit_frame(tape)["function"] == "newer"


def test_a_jitdump_of_another_process_is_not_used(tape, tmp_path):
    recording.run_recorded([recording.target("jit")], tape, cwd=tmp_path)
    pid = tape_pid(tape)
    begin = int(jit_frame(tape)["function"], 16) & ~0xfff
    dump = tmp_path / f"jit-{pid}.dump"
    jit_dump(dump, pid + 1, jit_load(pid, 1, begin, 64, "wrong"))
    assert jit_frame(tape)["function"].startswith("0x")
    jit_dump(dump, pid, jit_load(pid, 1, begin, 64, "older run"))
    os.utime(dump, (1000, 1000))
    assert jit_frame(tape)["function"].startswith("0x")
    dump.write_bytes(b"DTiJ" + bytes(100))
    assert jit_frame(tape)["function"].startswith("0x")



# --- leaks that are known ------------------------------------------------------------------------

KEEPER = """
#include <cstdlib>
#include <cstdio>
#include <stdexcept>
__attribute__((noinline)) void *cache_fill() { return malloc(3001); }
__attribute__((noinline)) void *forget() { return malloc(4001); }
void *volatile kept;
int main() { printf("kept"); kept = cache_fill(); kept = forget(); if (!kept) throw std::runtime_error(""); }
"""


def leaked_sizes(tape, *options):
    found = recording.report(tape, "leaks", *options)
    return {site["function"]: site["leaked_bytes"] for site in found["sites"]}, found["suppressed"]


def test_leaks_that_are_known_are_counted_and_not_shown(tape, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("needs g++")
    (tmp_path / "keeper.cpp").write_text(KEEPER)
    tool("g++", "-g", "-O1", "-fno-builtin", "keeper.cpp", "-o", "keeper", cwd=tmp_path)
    record(tmp_path / "keeper", tape)
    sizes, suppressed = leaked_sizes(tape)
    assert sizes == {"cache_fill()": 3001, "forget()": 4001}
    assert suppressed["count"] == len(suppressed["rules"]) and all(r["reason"] for r in suppressed["rules"])
    assert any("libstdc++" in rule["rule"] for rule in suppressed["rules"])
    everything, none = leaked_sizes(tape, "--no-suppressions")
    assert none["bytes"] == 0
    assert sum(everything.values()) == sum(sizes.values()) + suppressed["bytes"]
    rules = tmp_path / "known.supp"
    rules.write_text("# ours\nleak:^cache_*()$\nrace:forget\n")
    sizes, with_ours = leaked_sizes(tape, "--suppressions", rules)
    assert sizes == {"forget()": 4001}
    assert with_ours["bytes"] == suppressed["bytes"] + 3001
    text = recording.run([recording.memtape(), "report", tape, "leaks", "--suppressions", rules]).stdout.decode()
    assert "leak:^cache_*()$" in text and "reserve for exceptions" in text
    rules.write_text("leak\n")
    done = recording.run([recording.memtape(), "report", tape, "leaks", "--suppressions", rules])
    assert done.returncode == 2 and b"known.supp:1" in done.stderr


def test_the_summary_says_where_to_get_names(tmp_path):
    for name, words in (("named", []), ("bare", ["--strip-all"])):
        program, tape = tmp_path / name, tmp_path / f"{name}.mtape"
        subprocess.run(["objcopy", *words, recording.target("problems"), program], check=True)
        done = recording.run_recorded([program, "lost"], tape)
        assert done.returncode == 0, done.stderr
        assert (f"memtape symbols list {tape}" in done.stderr.decode()) == bool(words), done.stderr.decode()
