"""Programs that are linked statically, with libmemtape.a in them."""

import collections

import pytest

import recording
import test_pools

ALIKE = [("conformance", "static"), ("threads", "static-pie"), ("pools", "static"), ("threads", "static-musl")]
BEHAVIOUR = [("conformance", "static-musl"), ("conformance", "static"), ("endings", "static"), ("processes", "static"),
             ("signals", "static-pie")]


def linked(name, kind):
    path = recording.target(f"{name}-{kind}")
    if not path.exists():
        pytest.skip("not built")
    return path


def calls(tape, source):
    """What the program's own functions allocated: how, how much, what freed it, on which stack."""
    counts = collections.Counter()
    for row in recording.rows(tape):
        own = tuple(frame["function"] for frame in row["stack"] if (frame["file"] or "").endswith(source))
        if own and (row["stack"][0]["file"] or "").endswith(source):  # not what the C library does for it
            counts[row["function"], row["size"], row["free_function"], own] += 1
    return counts


@pytest.mark.parametrize("name,kind", ALIKE)
def test_the_tape_is_that_of_the_same_program_linked_dynamically(tmp_path, name, kind):
    program, tapes = linked(name, kind), [tmp_path / "static.mtape", tmp_path / "dynamic.mtape"]
    done = recording.run_recorded([program], tapes[0], options=["-q"])
    assert (done.returncode, done.stderr) == (0, b"")
    recording.run_recorded([recording.target(name)], tapes[1], options=["-q"])
    summary = recording.report(tapes[0], "summary")
    assert summary["lost_events"] == 0 and summary["unknown_frees"] == 0
    found, wanted = (calls(tape, f"{name}.c") for tape in tapes)
    assert sum(found.values()) > 150
    if kind == "static-musl":  # has other functions to test, and no tables for what is around main and threads
        return
    assert found == wanted
    assert not summary["quality"].get("truncated_stacks")


def test_pools_of_a_static_program(tape):
    done = recording.run_recorded([linked("pools", "static")], tape, options=["-q"])
    assert test_pools.counted(tape) == test_pools.owners(done)


@pytest.mark.parametrize("name,kind", BEHAVIOUR)
def test_the_program_does_what_it_does(tape, name, kind):
    program = linked(name, kind)
    plain, done = recording.run_plain([program]), recording.run_recorded([program], tape, options=["-q"])
    assert done.answer() == plain.answer()
    assert tape.exists()


def test_without_memtape_nothing_is_recorded(tmp_path):
    program = linked("pools", "static")
    done = recording.run_plain([program], cwd=tmp_path)
    assert done.returncode == 0 and not list(tmp_path.iterdir())
    env = recording.clean_env(MEMTAPE_OUTPUT=tmp_path / "own.mtape")
    assert recording.run([program], env=env).returncode == 0
    assert recording.report(tmp_path / "own.mtape", "pools")["pools"]


def test_a_static_program_without_it_is_refused_with_the_remedy(tape):
    program = recording.target("unlinked-static")
    if not program.exists():
        pytest.skip("not built")
    done = recording.run_recorded([program], tape)
    assert done.returncode != 0 and b"statically linked" in done.stderr and b"libmemtape.a" in done.stderr


def test_a_cxx_program(tape):
    program = linked("exceptions", "static")
    plain, done = recording.run_plain([program]), recording.run_recorded([program], tape, options=["-q"])
    assert done.answer() == plain.answer()
    top = recording.report(tape, "top", "--sort", "allocated", "--top", "3")["sites"]
    assert all(site["file"] and site["file"].endswith("exceptions.cpp") for site in top[:1])
