"""The index beside a tape: made once, by whoever asks; never half, never in the way."""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

import recording
from serving import serve
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


def memtape(*words, code=0, env=None, **popen):
    done = recording.run([recording.memtape(), *map(str, words)], env=recording.clean_env(**(env or {})), **popen)
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


# --- full disks ----------------------------------------------------------------------------------

@contextlib.contextmanager
def disk_with(folder, path, room_kib):
    """A disk on which besides a copy of the file there is room for so much."""
    folder.mkdir()
    size = os.stat(path).st_size // 4096 * 4 + 8 + room_kib
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no permission to mount")
    try:
        yield pathlib.Path(shutil.copy2(path, folder))
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def is_announced(done, tape):
    """Said in one line before it is written: how large, where, how much is free, how to avoid it."""
    line = done.stderr.decode()
    return re.fullmatch(rf"memtape: writing {tape}.index, an index of about [\d.]+ MiB \([\d.]+ [KM]?i?B free\); .*; --no-index: .*\n", line)


def test_an_index_that_takes_much_of_the_disk_is_announced_and_can_be_avoided(tape, tmp_path):
    wanted = memtape("report", tape, "allocations", "--top", "50")
    assert wanted.stderr == b"" and names(tape) == ["many.mtape", "many.mtape.index"]  # much is free there
    with disk_with(tmp_path / "disk", tape, 200000) as copy:
        for words in (["report", copy, "allocations", "--top", "50"], ["sql", copy, "SELECT count(*) FROM allocations"]):
            done = memtape(*words, "--no-index")
            assert done.stderr == b"" and names(copy) == ["many.mtape"]
        with serve(copy, options=["--no-index"]) as server:
            assert server.wait_read().json("flame")["total"] > 0
        assert names(copy) == ["many.mtape"]
        done = memtape("report", copy, "allocations", "--top", "50")
        assert done.stdout.replace(bytes(copy), bytes(tape)) == wanted.stdout and is_announced(done, copy)
        assert names(copy) == ["many.mtape", "many.mtape.index"]
        assert memtape("report", copy, "allocations", "--no-index").stderr == b""  # it is there, and used
        assert memtape("index", "--force", copy).stderr == b""  # who asks for it knows


@pytest.mark.parametrize("room_kib", [0, 100, 2000])
@pytest.mark.parametrize("has_cache", [False, True])
def test_a_full_disk_beside_the_tape_sends_the_index_to_the_cache(tape, tmp_path, room_kib, has_cache):
    wanted = memtape("report", tape, "allocations", "--top", "50").stdout
    cache = tmp_path / "cache"
    env = {"XDG_CACHE_HOME": cache}
    if has_cache:
        (cache / "memtape").mkdir(parents=True)
    with disk_with(tmp_path / "disk", tape, room_kib) as copy:
        done = memtape("report", copy, "allocations", "--top", "50", env=env)
        assert done.stdout.replace(bytes(copy), bytes(tape)) == wanted and is_announced(done, copy)
        assert names(copy) == ["many.mtape"]
        (kept,) = (cache / "memtape").glob("*.index")
        made = json.loads(memtape("index", "--json", copy, env=env).stdout)
        assert (made["made"], made["path"]) == (False, str(kept))


def test_full_disks_beside_the_tape_and_of_the_cache_leave_no_index_and_an_answer(tape, tmp_path):
    wanted = memtape("report", tape, "allocations", "--top", "50").stdout
    with disk_with(tmp_path / "disk", tape, 2000) as copy:
        (copy.parent / "memtape").mkdir()
        env = {"XDG_CACHE_HOME": copy.parent, "TMPDIR": copy.parent}
        done = memtape("report", copy, "allocations", "--top", "50", env=env)
        assert done.stdout.replace(bytes(copy), bytes(tape)) == wanted and is_announced(done, copy)
        assert names(copy) == ["many.mtape", "memtape"] and not any((copy.parent / "memtape").glob("*.index*"))
        failed = memtape("index", copy, env=env, code=1)
        assert b"No space left" in failed.stderr
        assert names(copy) == ["many.mtape", "memtape"] and not any((copy.parent / "memtape").glob("*.index*"))


def test_no_room_anywhere_is_told(tape, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))
    done = memtape("report", tape, "allocations", "--top", "50", code=1, restore_signals=False, preexec_fn=limit)
    assert b"no room" in done.stderr and b"File too large" in done.stderr and b"$TMPDIR" in done.stderr
    assert names(tape) == ["many.mtape"]
