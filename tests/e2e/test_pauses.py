"""A recording that is paused and resumed: what is on the tape, and what is known to be unknown."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import recording

MODES = ["recorded", "bare"]


def record(mode, args, tape, options=(), env=None, **more):
    if mode == "bare":
        return recording.run_bare(args, tape, env=env, **more)
    return recording.run_recorded(args, tape, ["-q", *options], env=env, **more)


def allocations(tape, *functions):
    """(function, size, freed) of the blocks that those functions allocated, in order."""
    found = []
    for row in recording.report(tape, "allocations", "--filter",
                                " or ".join(f'site = "{name}"' for name in functions)):
        found.append((row["size"], row["free_ns"] is not None))
    return found


def pauses(tape):
    told = recording.run([recording.memtape(), "info", tape, "--json"]).stdout
    return json.loads(told).get("pauses", [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variant", ["", "-O0", "-clang"])
def test_the_program_pauses(mode, variant, tape):
    target = recording.target("pauses" + variant)
    if not target.exists():
        pytest.skip("not built")
    assert record(mode, [target], tape).returncode == 0
    assert allocations(tape, "before") == [(1001, i < 60) for i in range(100)]
    assert allocations(tape, "after") == [(3001, i < 50) for i in range(100)]
    assert not allocations(tape, "during")
    assert allocations(tape, "reused") == [(1401, True)]
    assert allocations(tape, "grown") == [(1501, False)] * 10
    sizes = {row["size"] for row in recording.report(tape, "allocations")}
    assert not sizes & {667, 2001, 2501, 4000}
    summary = recording.report(tape, "summary")
    assert summary["leaked"]["bytes"] >= 40 * 1001 + 10 * 1501 + 50 * 3001
    assert summary["quality"]["lost_events"] == 0
    [pause] = pauses(tape)
    assert pause["by"] == "program" and 0 < pause["begin_ns"] < pause["end_ns"]
    assert summary["quality"]["paused_ns"] == pause["end_ns"] - pause["begin_ns"]
    found = [finding["type"] for finding in recording.report(tape, "findings")["findings"]]
    assert not {"invalid_free", "double_free", "mismatched_free"} & set(found)
    text = recording.run([recording.memtape(), "report", tape, "top"]).stdout
    assert b"recording was paused, for " in text


@pytest.mark.parametrize("env,signals", [
    ({"MEMTAPE_DISABLED": "1", "MEMTAPE_OPTIONS": "toggle=12"}, [signal.SIGUSR2]),
    ({"MEMTAPE_OPTIONS": "paused=1,toggle=10,toggle=12"}, [signal.SIGUSR1, signal.SIGUSR2]),
    ({"MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1", "MEMORY_PROFILER_REGISTER_SIGUSR1": "1"},
     [signal.SIGUSR1])])
@pytest.mark.parametrize("mode", MODES)
def test_a_signal_resumes(mode, env, signals, tape):
    options = []
    if mode == "recorded" and "MEMORY_PROFILER_DISABLE_BY_DEFAULT" not in env:
        options = ["--disabled", *(f"--toggle={number.name}" for number in signals)]
        env = {}
    target = recording.target("pauses")
    if mode == "bare":
        env = {**env, "LD_PRELOAD": str(recording.library()), "MEMTAPE_OUTPUT": str(tape)}
        command = [target, "wait"]
    else:
        command = [recording.memtape(), "record", "-q", *options, "-o", tape, "--", target, "wait"]
    with subprocess.Popen(command, env=recording.clean_env(**env), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        def say():
            process.stdin.write("go\n")
            return process.stdout.readline()

        assert process.stdout.readline() == "ready\n"
        pid = process.pid if mode == "bare" else child_of(process.pid)
        assert say() == "done\n"  # 1000: paused
        for number in signals:
            os.kill(pid, number)
            assert say() == "done\n"  # 2000: recorded; 3000: paused, if there is a second signal
        os.kill(pid, signals[0])
        assert say() == "done\n"
        process.stdin.close()
        assert process.wait() == 0
    sizes = [size for size, _ in allocations(tape, "before")]
    assert sizes == ([2000] if len(signals) == 1 else [2000, 4000])
    assert pauses(tape)[0]["by"] == "start"
    assert [p["by"] for p in pauses(tape)[1:]] == ["signal"]


def child_of(pid):
    for _ in range(500):
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("no child")


def test_a_handler_of_the_programs_is_left_alone(tape):
    script = ("import signal, os\n"
              "signal.signal(signal.SIGUSR1, lambda *_: print('mine'))\n"
              "os.kill(os.getpid(), signal.SIGUSR1)\n")
    done = recording.run_recorded(["/usr/bin/python3", "-c", script], tape,
                                  ["-q", "--toggle", "USR1"])
    assert done.answer() == (0, b"mine\n", b"") and not pauses(tape)


def test_the_clock_pauses(tape):
    """The program goes on until it has been paused again, however long the machine takes for that."""
    with subprocess.Popen([recording.memtape(), "record", "-q", "--delay", "300ms", "--duration", "300ms", "-o", tape, "--",
                           recording.target("pauses"), "storm", "0", "2", "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=recording.clean_env()) as it:
        assert it.stdout.readline() == b"begun\n"
        while True:
            so_far = recording.run([recording.memtape(), "info", tape, "--json"])  # fails while there is no header
            if so_far.returncode == 0 and any(pause["by"] == "time" for pause in json.loads(so_far.stdout).get("pauses", [])):
                break
            assert it.poll() is None
            time.sleep(0.1)
        it.stdin.close()
        assert it.stdout.read() == b"over\n" and it.wait(timeout=60) == 0
    first, second = pauses(tape)
    assert (first["by"], second["by"]) == ("start", "time") and second["end_ns"] is None
    assert first["end_ns"] >= 250e6 and second["begin_ns"] - first["end_ns"] >= 250e6
    rows = recording.report(tape, "allocations", "--filter", 'site = "before"')
    assert rows and all(first["end_ns"] <= row["alloc_ns"] <= second["begin_ns"]
                        for row in rows)
    assert recording.report(tape, "allocations", "--filter", 'site = "before" and leaked') == []


def test_a_forked_child_begins_as_its_parent_is(tmp_path):
    target = recording.target("pauses")
    tape = tmp_path / "the.mtape"
    done = recording.run_recorded([target, "fork"], tape, ["-q", "--follow"])
    assert done.returncode == 3
    [child] = tmp_path.glob("the.mtape.*")
    assert [size for size, _ in allocations(tape, "before", "during", "after")] == [1001, 3002]
    assert [size for size, _ in allocations(child, "before", "during", "after")] == [3001]


def test_a_delay_is_not_the_childrens(tmp_path):
    target = recording.target("pauses")
    tape = tmp_path / "the.mtape"
    done = recording.run_recorded(["/bin/sh", "-c", f"{target}; exit 4"], tape,
                                  ["-q", "--follow", "--delay", "60s"])
    assert done.returncode == 4
    [child] = tmp_path.glob("the.mtape.*")
    assert [size for size, _ in allocations(child, "before", "after")] == [1001] * 100 + [3001] * 100
    assert [pause["by"] for pause in pauses(tape)] == ["start"]


def test_blocks_are_filled_with_zeros(tape):
    target = recording.target("pauses")
    plain = recording.run_plain([target, "zero"]).stdout
    assert re.fullmatch(rb"fresh [1-9]\d* grown [1-9]\d* freed 1\n", plain)
    dirty = recording.run_recorded([target, "zero"], tape, ["-q", "-f"]).stdout
    assert re.fullmatch(rb"fresh [1-9]\d* grown [1-9]\d* freed 1\n", dirty)
    zeros = b"fresh 0 grown 0 freed 0\n"
    assert recording.run_recorded([target, "zero"], tape, ["-qf", "--zero-memory"]).stdout == zeros
    assert recording.run_bare([target, "zero"], tape.parent / "bare.mtape",
                              env={"MEMORY_PROFILER_ZERO_MEMORY": "1"}).stdout == zeros


def test_real_programs_with_zeros(tmp_path):
    for args in (["/usr/bin/python3", "-c", "print(sorted({i: str(i) for i in range(9999)})[-1])"],
                 ["sqlite3", ":memory:", "select sum(value) from generate_series(1, 1000)"],
                 ["perl", "-e", "print join ',', sort map { $_ * 7 % 101 } 1..100"]):
        plain = recording.run_plain(args)
        done = recording.run_recorded(args, tmp_path / "the.mtape", ["-qf", "--zero-memory"])
        assert done.answer() == plain.answer()


GROWS = ("import time\n"
         "kept = []\n"
         "for i in range(30):\n"
         "    kept.append(bytearray(2 << 20))\n"
         "    time.sleep(0.01)\n"
         "del kept\n"
         "time.sleep(0.3)\n"
         "kept = [bytearray(2 << 20) for i in range(30)]\n"
         "time.sleep(0.3)\n")


def test_a_limit_makes_a_snapshot(tape):
    done = recording.run_recorded(
        ["/usr/bin/python3", "-c", GROWS], tape,
        ["-q", "--snapshot-at", "rss=40m", "--snapshot-at", "heap=50m", "--snapshot-at", "available=1t"])
    assert done.answer() == (0, b"", b"")
    marks = recording.report(tape, "marks")["marks"]
    grown = [mark for mark in marks if mark["name"].startswith("snapshot: rss ")]
    assert len(grown) == 2 and 40 <= float(grown[0]["name"].split()[2]) < 70
    assert len([mark for mark in marks if mark["name"].startswith("snapshot: available")]) == 1
    heap = [mark for mark in marks if mark["name"].startswith("snapshot: heap ")]
    assert len(heap) == 2 and 50 <= float(heap[0]["name"].split()[2]) < 70 and heap[0]["ns"] > grown[0]["ns"]
    looks = [at["ns"] for at in recording.report(tape, "rss")["samples"] if at["measured"]]
    assert all(any(0 <= at - mark["ns"] < 5e8 for at in looks) for mark in grown)


MEMORY = {"v1": ("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "memory.limit_in_bytes"),
          "v2": ("/sys/fs/cgroup", "cgroup.controllers", "memory.max")}


@contextlib.contextmanager
def small_cgroup(version, limit):
    root, sign, name = MEMORY[version]
    if not pathlib.Path(root, sign).exists():
        pytest.skip(f"no cgroups {version} of memory")
    folder = pathlib.Path(root, f"memtape-test-{os.getpid()}")
    try:
        folder.mkdir()
        (folder / name).write_text(limit)
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no cgroup with a limit of memory can be made: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


@pytest.mark.parametrize("version", MEMORY)
def test_the_snapshot_comes_before_the_kernel_kills(version, tape):
    script = "import time\nkept = []\nwhile True: kept.append(bytearray(1 << 20)), time.sleep(0.004)"
    with small_cgroup(version, "100m") as group:
        done = recording.run(["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh",
                              recording.memtape(), "record", "-q", "--snapshot-at", "cgroup=60%", "-o", tape,
                              "--", "/usr/bin/python3", "-c", script])
    assert done.returncode == -signal.SIGKILL  # memtape ends as the program did
    summary = recording.report(tape, "summary")
    assert summary["process"]["signal"] == signal.SIGKILL and summary["lost_events"] == 0
    marks = [mark for mark in recording.report(tape, "marks")["marks"] if mark["name"].startswith("snapshot: cgroup ")]
    assert len(marks) == 1 and 60 <= int(marks[0]["name"].split()[2].rstrip("%")) < 90
    looks = [at["ns"] for at in recording.report(tape, "rss")["samples"] if at["measured"]]
    assert any(0 <= at - marks[0]["ns"] < 5e8 for at in looks)
    # What was allocated last is there, too: more than the limit allows had been asked for.
    assert summary["leaked"]["bytes"] > 85 << 20


def test_a_tape_is_not_larger_than_wanted(tape):
    script = "import os\nfor i in range(400000): [object() for j in range(3)], bytearray(i % 5000)\nprint('done')"
    done = recording.run_recorded(["/usr/bin/python3", "-c", script], tape,
                                  ["-q", "--max-size", "1m", "--no-compress"])
    assert done.returncode == 0 and done.stdout == b"done\n"
    assert tape.stat().st_size <= 1 << 20
    summary = recording.report(tape, "summary")
    assert "reached its limit" in summary["quality"]["fault"] and summary["quality"]["lost_events"] > 0
    assert summary["goes_on"]  # nobody saw what was freed later
    scans = recording.run([recording.memtape(), "report", tape, "leak-classes"])
    assert scans.returncode != 0 and b"recording stopped early" in scans.stderr
    assert "never freed" not in recording.run([recording.memtape(), "report", tape]).stdout.decode()


@pytest.mark.parametrize("options,words", [
    (["--snapshot-at", "rss"], b"no limit such as"), (["--snapshot-at", "walls=3"], b"no limit"),
    (["--snapshot-at", "cgroup=101%"], b"no limit"), (["--max-size", "3k"], b"at least 1m"),
    (["--snapshot-at", "rss=1", "--snapshot-at", "rss=2"], b"two limits"),
    (["--toggle", "KILL"], b"--toggle: KILL is no signal"), (["--toggle", "0"], b"no signal"),
    (["--toggle", "NONSENSE"], b"no signal"), (["--delay", "soon"], b"--delay"),
    (["--disabled", "--delay", "1s"], b"--disabled waits"),
    (["--disabled", "--duration", "1s"], b"--disabled waits")])
def test_options_are_checked(options, words, tape):
    done = recording.run_recorded(["true"], tape, options)
    assert done.returncode == 125 or done.returncode == 2
    assert words in done.stderr and not tape.exists()
