"""MEMTAPE_LOG: what the recorder decides and why, at no risk for the program."""

import os
import re
import resource
import signal
import subprocess
import time

import pytest

import recording

LINE = re.compile(r"^\d{10}\.\d{3} memtape (\d+)/(\d+) (error|warning|info|debug): (.+)$")
SEVERITY = ["error", "warning", "info", "debug"]


def lines(text):
    """(pid, level, text) of each; every line of the log is whole."""
    found = [LINE.match(line) for line in text.splitlines()]
    assert all(found), text
    return [(int(match[1]), match[3], match[4]) for match in found]


def bare(args, tape, **env):
    """Without a collector, which would have its own say on standard error."""
    done = recording.run_bare(args, tape, env=env)
    return done, done.stderr.decode()


@pytest.mark.parametrize("level", ["off", *SEVERITY])
def test_levels(tape, level):
    done, text = bare(["/bin/true"], tape, MEMTAPE_LOG=level, MEMTAPE_OPTIONS="nonsense=1,free_stacks=1")
    found = [of for _, of, _ in lines(text)]
    assert done.returncode == 0 and tape.exists()
    wanted = SEVERITY[:SEVERITY.index(level) + 1] if level in SEVERITY else []
    assert set(found) == set(wanted) - {"error"}  # there is none
    if level == "debug":
        assert any("/libc.so.6" in text for _, _, text in lines(text))
    if level == "info":
        assert [text for _, of, text in lines(text) if of == "warning"] == ["MEMTAPE_OPTIONS: not known, from here on: nonsense=1,free_stacks=1"]
        assert any(text.startswith(f"recorded to {tape}, with") for _, _, text in lines(text))


@pytest.mark.parametrize("asked", ["loud", "loud:/tmp/x", ":/tmp/x"])
def test_a_level_that_is_not_known(tape, asked):
    done, text = bare(["/bin/true"], tape, MEMTAPE_LOG=asked)
    assert done.returncode == 0 and tape.exists()
    assert text == f"memtape: log level {asked}: expected error, warning, info or debug, and perhaps :FILE behind it; there is no log\n"


def test_a_file_has_placeholders_and_stays_where_it_was(tmp_path, tape):
    (tmp_path / "other").mkdir()
    script = "import os; os.chdir('other'); p = os.fork(); bytes(50000); p or os.execv('/bin/true', ['true']); os.wait()"
    done = recording.run(["/usr/bin/python3", "-c", script], cwd=tmp_path,
                         env=recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=f"{tape}.%p", MEMTAPE_OPTIONS="follow=1",
                                                 MEMTAPE_LOG="info:log.%e.%p"))
    assert done.returncode == 0 and done.stderr == b""
    logs = list(tmp_path.glob("log.*"))
    assert len(logs) == 2 and all(log.name.startswith("log.python3") for log in logs)
    logs += (tmp_path / "other").iterdir()
    assert logs[2:] and all(log.name.startswith("log.true") for log in logs[2:])  # what the forked child became
    for log in logs:
        assert {pid for pid, _, _ in lines(log.read_text())} == {int(log.name.rsplit(".", 1)[1])}
        assert log.stat().st_mode & 0o777 == 0o600


def test_rotation(tmp_path, tape):
    for _ in range(4):
        bare(["/bin/true"], tmp_path / "t", MEMTAPE_LOG=f"debug:{tmp_path / 'log'}", MEMTAPE_LOG_BYTES="700")
    logs = sorted(name for name in os.listdir(tmp_path) if name.startswith("log"))
    assert logs == ["log", "log.old"]
    for name in logs:
        assert lines((tmp_path / name).read_text())
        assert 0 < os.stat(tmp_path / name).st_size < 700 + 560
    assert os.stat(tmp_path / "log.old").st_size >= 700
    for _ in range(4):
        bare(["/bin/true"], tmp_path / "t", MEMTAPE_LOG=f"debug:{tmp_path / 'whole'}", MEMTAPE_LOG_BYTES="0")
    assert os.stat(tmp_path / "whole").st_size > 3000 and not (tmp_path / "whole.old").exists()


def test_variables_of_bytehound(tmp_path, tape):
    log = tmp_path / "log"
    done, text = bare(["/bin/true"], tape, MEMORY_PROFILER_LOG="warn", MEMORY_PROFILER_LOGFILE=log, MEMTAPE_OPTIONS="nonsense=1")
    assert done.returncode == 0 and text == ""
    assert [of for _, of, _ in lines(log.read_text())] == ["warning"]
    _, text = bare(["/bin/true"], tmp_path / "other", MEMORY_PROFILER_LOG="trace")
    assert "debug" in {of for _, of, _ in lines(text)}


def test_why_something_is_not_recorded(tmp_path):
    _, text = bare(["/bin/true"], tmp_path / "t", MEMTAPE_LOG="info", MEMTAPE_OPTIONS="follow=1", MEMTAPE_FOLLOW="others")
    assert [text for _, _, text in lines(text)] == ["not recorded: MEMTAPE_FOLLOW has other names"]
    _, text = bare(["/bin/true"], tmp_path / "missing" / "t", MEMTAPE_LOG="error")
    log = [line for line in text.splitlines() if LINE.match(line)]
    assert len(log) == 1 and log[0].endswith(f"not recorded: {tmp_path / 'missing' / 't'} cannot be created (error 2)")


# --- the program comes first ---------------------------------------------------------------------

def test_a_file_that_took_the_place_of_standard_error(tmp_path, tape):
    mine = tmp_path / "mine"
    done, text = bare(["/bin/sh", "-c", f"exec 2>{mine}; echo text >&2; exit 3"], tape, MEMTAPE_LOG="debug")
    assert done.returncode == 3 and lines(text)
    assert mine.read_text() == "text\n"


def run_into(stderr, tape, **more):
    env = recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape, MEMTAPE_LOG="debug")
    return subprocess.run(["/bin/sh", "-c", "echo done"], stdout=subprocess.PIPE, stderr=stderr, env=env, timeout=60, check=False, **more)


def test_a_pipe_that_nobody_reads(tape):
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(write_end, b"x" * 4096)
    os.set_blocking(write_end, True)
    done = run_into(write_end, tape)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    os.close(read_end)
    done = run_into(write_end, tape.with_suffix(".2"))
    assert (done.returncode, done.stdout) == (0, b"done\n")
    os.close(write_end)
    done = subprocess.run(["/bin/sh", "-c", "exec 2>&-; exec /bin/echo done"], stdout=subprocess.PIPE, check=False, timeout=60,
                          env=recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=f"{tape}.%p", MEMTAPE_LOG="debug"))
    assert (done.returncode, done.stdout) == (0, b"done\n")


def test_a_file_that_may_not_grow(tmp_path, tape):
    log = tmp_path / "log"
    log.write_text("x" * 2000)
    with open(log, "a", encoding="ascii") as file:
        done = run_into(file, "/dev/null/none", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2100, 2100)))
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert os.stat(log).st_size == 2100


@pytest.mark.parametrize("how", ["prctl", "strict"])
def test_the_last_line_of_a_program_that_locks_itself_in(how, tmp_path, tape):
    log = tmp_path / "log"
    done, _ = bare([recording.target("sandbox"), how], tape, MEMTAPE_LOG=f"debug:{log}")
    assert done.returncode == 0, done.stderr
    assert "locks itself in" in lines(log.read_text())[-1][2]


def test_a_collector_that_is_killed(tmp_path):
    log, tape = tmp_path / "log", tmp_path / "t"
    script = "import sys; print(1, flush=True); sys.stdin.readline(); a = [str(i) for i in range(3000000)]"
    env = recording.clean_env(MEMTAPE_LOG=f"info:{log}", PYTHONMALLOC="malloc")
    with subprocess.Popen([recording.memtape(), "record", "-q", "-o", tape, "/usr/bin/python3", "-c", script], env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as collector:
        collector.stdout.readline()
        collector.kill()
        collector.wait()
        collector.stdin.write(b"go on\n")
        collector.stdin.flush()
        deadline = time.monotonic() + 100
        while "the program ends" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
    found = [(level, text) for _, level, text in lines(log.read_text())]
    assert found[0][1].startswith("recorded by a collector")
    assert ("warning", f"the collector does not answer: recorded to {tape}.spool alone from here on") in found
    assert found[-1] == ("info", "the program ends")


def test_pauses(tape, tmp_path):
    log = tmp_path / "log"
    with subprocess.Popen(["/bin/sh", "-c", "echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=recording.clean_env(LD_PRELOAD=recording.library(), MEMTAPE_OUTPUT=tape, MEMTAPE_OPTIONS="toggle=12",
                                                  MEMTAPE_LOG=f"info:{log}")) as process:
        process.stdout.readline()
        for word in ("paused", "resumed"):
            process.send_signal(signal.SIGUSR2)
            deadline = time.monotonic() + 60
            while lines(log.read_text())[-1][2] != word and time.monotonic() < deadline:
                time.sleep(0.01)
            assert lines(log.read_text())[-1][2] == word
        process.communicate(b"\n", timeout=60)
