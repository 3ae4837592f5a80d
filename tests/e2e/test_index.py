"""The index beside a tape: made once, by whoever asks; never half, never in the way."""
import json
import os
import signal
import subprocess
import time

import pytest

import recording
from tape_reader import CHUNK
from tape_writer import HEADER_BYTES, TapeWriter

OPEN = 1
MANY = "l = [bytes(i % 500 + 40) for i in range(600000)]; l = None"  # over a million events


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    done = recording.run_recorded(["/usr/bin/python3", "-c", MANY], folder / "many.mtape",
                                  env=recording.clean_env(PYTHONMALLOC="malloc"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def tape(large):
    for path in large.iterdir():
        if path.name != "many.mtape":
            path.unlink()
    return large / "many.mtape"


def memtape(*words, code=0):
    done = recording.run([recording.memtape(), *map(str, words)], env=recording.clean_env())
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return done


def index(tape, *options):
    return json.loads(memtape("index", "--json", *options, tape).stdout)


def names(tape):
    return sorted(path.name for path in tape.parent.iterdir())


def test_an_answer_is_the_same_with_an_index_and_without(tape):
    reports = [["summary", "--json"], ["top", "--json"], ["timeline", "--csv"], ["threads", "--json"]]
    before = [memtape("report", tape, *words).stdout for words in reports]
    assert index(tape, "-f")["made"] is True
    assert [memtape("report", tape, *words).stdout for words in reports] == before


def test_a_question_about_single_allocations_leaves_an_index(tape):
    memtape("report", tape, "allocations", "--top", "3")
    assert names(tape) == ["many.mtape", "many.mtape.index"]
    made = index(tape)
    assert made["made"] is False
    assert made["events"] > 1_000_000
    assert os.stat(tape.parent / "many.mtape.index").st_mode == os.stat(tape).st_mode


def test_little_memory_is_enough(tape):
    whole = index(tape, "-f")
    little = index(tape, "-f", "--memory", "64m")
    assert {**little, "took_ns": 0, "file_bytes": 0} == {**whole, "took_ns": 0, "file_bytes": 0}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_index_is_none(tape, number):
    for delay_ms in (1, 5, 20, 60, 120):
        process = subprocess.Popen([recording.memtape(), "index", tape], env=recording.clean_env(),
                                   stdout=subprocess.DEVNULL)
        time.sleep(delay_ms / 1000)
        process.send_signal(number)
        if process.wait() == 0:  # it was faster
            (tape.parent / "many.mtape.index").unlink()
        assert names(tape) == ["many.mtape"]
    assert index(tape)["made"] is True


def test_many_at_once_do_not_disturb_each_other(tape):
    many = [subprocess.Popen([recording.memtape(), "index", "-q", "-f", tape], env=recording.clean_env())
            for _ in range(3)]
    assert [process.wait() for process in many] == [0, 0, 0]
    assert names(tape) == ["many.mtape", "many.mtape.index"]
    assert index(tape)["made"] is False


def test_a_tape_that_grows_has_no_index(tmp_path):
    tape = TapeWriter()
    main = tape.stream(1, "main")
    main.event(0, 0x1000, 10, 24)
    tape.write(tmp_path / "open.mtape")
    data = bytearray((tmp_path / "open.mtape").read_bytes())
    head = list(CHUNK.unpack_from(data, HEADER_BYTES))
    head[4] = OPEN
    CHUNK.pack_into(data, HEADER_BYTES, *head)
    (tmp_path / "open.mtape").write_bytes(data)
    done = memtape("index", tmp_path / "open.mtape", code=1)
    assert b"repack" in done.stderr
    memtape("report", tmp_path / "open.mtape", "allocations")
    assert names(tmp_path / "open.mtape") == ["open.mtape"]


def test_too_little_memory_is_a_mistake(tape):
    assert b"64m" in memtape("index", "--memory", "1m", tape, code=2).stderr
    assert names(tape) == ["many.mtape"]
