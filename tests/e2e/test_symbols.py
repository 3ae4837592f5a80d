"""Names and lines are found wherever they are kept, and a wrong name is never shown."""

import ctypes.util
import functools
import http.server
import json
import shutil
import subprocess
import threading

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


def frames(tape):
    blocks = recording.report(tape, "allocations")
    block = next(b for b in blocks if b["size"] == 12345)
    return [(f["function"], f["line"]) for f in block["stack"]][:3]


def record(program, tape):
    done = recording.run_bare([program], tape)
    assert done.returncode == 0
    return tape


def test_lines_come_from_the_program_itself(program, tape):
    assert frames(record(program, tape)) == [("hidden_inner", 5), ("hidden_outer", 9), ("main", 14)]


def test_lines_come_from_a_file_beside_a_stripped_program(program, tape):
    tool("objcopy", "--only-keep-debug", "hidden", "hidden.debug", cwd=program.parent)
    tool("strip", "-s", "hidden", cwd=program.parent)
    tool("objcopy", "--add-gnu-debuglink=hidden.debug", "hidden", cwd=program.parent)
    assert frames(record(program, tape)) == [("hidden_inner", 5), ("hidden_outer", 9), ("main", 14)]


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


def build_id(program):
    return tool("readelf", "-n", program).split("Build ID:")[1].split()[0]


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


def test_a_server_is_asked_on_demand(program, tape, server):
    if not ctypes.util.find_library("debuginfod"):
        pytest.skip("needs libdebuginfod")
    root, url = server
    folder = root / "buildid" / build_id(program)
    folder.mkdir(parents=True)
    tool("objcopy", "--only-keep-debug", program, folder / "debuginfo")
    tool("strip", "-s", program)
    record(program, tape)
    env = recording.clean_env(DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=program.parent / "cache")

    def leaf(*options):
        done = recording.run([recording.memtape(), "report", tape, "top", "--json", "--sort",
                              "allocated", *options], env=env)
        assert done.returncode == 0, done.stderr
        sites = json.loads(done.stdout)["sites"]
        return next(s for s in sites if s["allocated_bytes"] == 12345)

    assert leaf()["function"].startswith("0x")
    found = leaf("--debuginfod")
    assert (found["function"], found["line"]) == ("hidden_inner", 5)


def test_a_server_that_is_not_named_is_an_error(program, tape):
    record(program, tape)
    done = recording.run([recording.memtape(), "report", tape, "--debuginfod"],
                         env=recording.clean_env(DEBUGINFOD_URLS=""))
    assert done.returncode == 2 and b"DEBUGINFOD_URLS" in done.stderr


def test_the_network_is_not_asked_otherwise(program, tape):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    tool("strip", "-s", program)
    record(program, tape)
    done = recording.run(["strace", "-f", "-e", "trace=%network", "-o", program.parent / "calls",
                          recording.memtape(), "report", tape],
                         env=recording.clean_env(DEBUGINFOD_URLS="http://127.0.0.1:9/"))
    assert done.returncode == 0
    assert "connect" not in (program.parent / "calls").read_text()
