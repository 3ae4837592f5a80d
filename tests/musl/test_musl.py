"""libmemtape.so, built for glibc or musl, in programs of musl; the usual memtape reads the tapes."""
import json
import subprocess

import pytest

@pytest.fixture(scope="module")
def tape(library, musl_target, tmp_path_factory):
    path = tmp_path_factory.mktemp("tape") / "musl.mtape"
    result = subprocess.run([musl_target], env={"LD_PRELOAD": str(library), "MEMTAPE_OUTPUT": str(path)},
                            capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (7, "", "")
    return path


def test_the_table_of_memusage_at_exit(library, musl_target, tmp_path):
    env = {"LD_PRELOAD": str(library.with_name("libmemusage.so")), "MEMUSAGE_OUTPUT": "data", "NO_COLOR": "1"}
    result = subprocess.run([musl_target], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 7 and result.stderr.startswith("\nMemory usage summary: heap total: ")
    assert (tmp_path / "data").stat().st_size % 24 == 0 and (tmp_path / "data").stat().st_size > 48


def report(tape, what):
    text = subprocess.run(["memtape", "report", tape, what, "--json"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)


def innermost(row):
    return row["stack"][0]["function"]


def test_the_library_needs_libc_and_nothing_else(library):
    text = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
    assert [line for line in text.splitlines() if "NEEDED" in line and "libc.so" not in line] == []


def test_every_block_is_on_the_tape_with_its_place(tape):
    rows = report(tape, "allocations")
    kept = [r for r in rows if r["size"] == 100 and innermost(r) == "keep"]
    dropped = [r for r in rows if r["size"] == 64 and innermost(r) == "drop"]
    assert len(kept) == 1000 and all(r["free_ns"] is None for r in kept)
    assert len(dropped) == 500 and all(r["free_ns"] is not None for r in dropped)


def test_stacks_reach_main(tape):
    rows = [r for r in report(tape, "allocations") if r["size"] == 100 and innermost(r) == "keep"]
    assert all("main" in [f["function"] for f in r["stack"]] for r in rows)


def test_a_realloc_is_one_block_becoming_another(tape):
    grown = [r for r in report(tape, "allocations") if r["size"] == 5000]
    assert len(grown) == 1
    assert grown[0]["realloc_of"] is not None and grown[0]["free_ns"] is not None


def test_a_block_of_one_thread_is_freed_in_another(tape):
    rows = [r for r in report(tape, "allocations")
            if r["size"] == 10 and innermost(r) == "thread_main"]
    assert len(rows) == 1
    assert rows[0]["thread"] != rows[0]["free_thread"]


def test_nothing_was_lost(tape):
    assert report(tape, "summary")["lost_events"] == 0


def test_every_function_answers_as_without_a_recorder(library, conformance, tmp_path):
    plain = subprocess.run([conformance], capture_output=True, env={})
    recorded = subprocess.run([conformance], capture_output=True, env={
        "LD_PRELOAD": str(library), "MEMTAPE_OUTPUT": str(tmp_path / "conformance.mtape")})
    assert plain.returncode == 0 and plain.stdout
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
