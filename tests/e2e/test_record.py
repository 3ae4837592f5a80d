"""`memtape record` as a process: what it passes through, what it refuses, what it survives."""

import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import select
import signal
import stat
import subprocess
import time

import pytest

import recording

PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void catch(int number)
{
	caught = number;
}

static void churn(long pairs)
{
	for (long i = 0; i < pairs; i++) {
		void *volatile block = malloc((size_t)(i % 1000 + 1));

		free(block);
	}
}

int main(int argc, char **argv)
{
	const char *deed = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(deed, "churn")) {
		churn(number);
		puts("done");
	} else if (!strcmp(deed, "exit")) {
		return (int)number;
	} else if (!strcmp(deed, "raise")) {
		churn(100);
		raise((int)number);
	} else if (!strcmp(deed, "catch")) { /* churns until a signal comes, exits with it */
		signal((int)number, catch);
		puts("ready");
		fflush(stdout);
		while (!caught)
			churn(1000);
		return (int)caught;
	} else if (!strcmp(deed, "forever")) {
		puts("ready");
		fflush(stdout);
		for (;;)
			churn(1000);
	} else if (!strcmp(deed, "seconds")) {
		time_t end = time(NULL) + number;

		puts("ready");
		fflush(stdout);
		while (time(NULL) < end)
			churn(1000);
	}
	return 0;
}
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.c").write_text(PROGRAM)
    for name, options in (("program", []), ("static", ["-static"])):
        subprocess.run(["cc", "-O1", "-o", folder / name, folder / "program.c", *options], check=True)
    return folder


@pytest.fixture
def program(programs):
    return programs / "program"


def memtape(*args, **options):
    return recording.run([recording.memtape(), *args], **options)


def start(*args, **options):
    return subprocess.Popen([recording.memtape(), *map(str, args)], env=recording.clean_env(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def child_of(pid):
    done = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True)
    return int(done.stdout.split()[0])


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("did not happen in time")


def events(stderr):
    return int(re.search(rb"([\d,]+) events?", stderr).group(1).replace(b",", b""))


# --- the exit code -------------------------------------------------------------------------------

@pytest.mark.parametrize("code", [0, 1, 7, 125, 255])
def test_the_exit_code_is_the_programs(code, program, tape):
    assert memtape("record", "-o", tape, program, "exit", code).returncode == code
    assert tape.stat().st_size > 4096


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM,
                                    signal.SIGINT, signal.SIGPIPE])
def test_memtape_dies_as_the_program_died(number, program, tape):
    done = memtape("record", "-o", tape, program, "raise", int(number))
    assert done.returncode == -number
    assert events(done.stderr) >= 200
    assert not list(tape.parent.glob("core*"))


@pytest.mark.parametrize("args, code, says", [
    ([], 2, b"Usage"),
    (["record"], 2, b"which program"),
    (["record", "--no-such-option", "true"], 2, b"no-such-option"),
    (["record", "-o", "x", "--buffer", "1k", "true"], 2, b"--buffer"),
    (["record", "--level", "99", "true"], 2, b"--level"),
    (["no-such-program"], 127, b"no such program"),
    (["/no/such/program"], 127, b"No such file"),
    (["reocrd"], 127, b"memtape record"),
    (["/etc"], 126, b"directory"),
    (["/etc/passwd"], 126, b"not executable"),
    (["help", "nothing"], 2, b"nothing"),
])
def test_what_cannot_start_has_envs_exit_codes(args, code, says, tmp_path):
    done = memtape(*args, cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert os.listdir(tmp_path) == []


# --- programs that cannot be recorded ------------------------------------------------------------

def test_a_static_program_is_refused_with_the_remedy(programs, tape):
    done = memtape("record", "-o", tape, programs / "static", "exit", 0)
    assert done.returncode == 125
    assert b"statically linked" in done.stderr and b"-static" in done.stderr
    assert not tape.exists()


def test_a_setuid_program_is_refused(programs, tape, tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs root to make one of another user")
    copy = tmp_path / "setuid"
    copy.write_bytes((programs / "program").read_bytes())
    os.chown(copy, 65534, 65534)
    copy.chmod(0o4755)
    done = memtape("record", "-o", tape, copy, "exit", 0)
    assert done.returncode == 125 and b"setuid" in done.stderr
    assert not tape.exists()


def test_a_program_that_loads_no_recorder_leaves_no_tape(program, tape):
    """As if it had been started in some way that drops LD_PRELOAD: another library is preloaded."""
    libc = re.search(r"\S*libc\.so\.6$", pathlib.Path("/proc/self/maps").read_text(), re.M).group(0)
    done = recording.run([recording.memtape(), "record", "-o", tape, program, "exit", "3"],
                         env=recording.clean_env(MEMTAPE_LIBRARY=libc))
    assert done.returncode == 3
    assert b"nothing was recorded" in done.stderr
    assert not tape.exists()


def test_an_env_script_is_recorded_as_its_interpreter(program, tape, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env program\n")
    script.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = recording.run([recording.memtape(), "record", "-o", tape, script, "ignored"],
                         env=recording.clean_env(PATH=path))
    assert done.returncode == 0, done.stderr
    assert b"replaced itself" not in done.stderr


def test_an_exec_is_told(program, tape):
    done = memtape("record", "-o", tape, "/bin/sh", "-c", f"exec {program} exit 4")
    assert done.returncode == 4
    assert b"before it: sh (" in done.stderr


def test_a_program_that_leaves_the_work_to_children_is_told(program, tmp_path):
    script = f"{program} churn 20000000; true"
    done = memtape("-o", tmp_path / "a", "/bin/sh", "-c", script)
    assert b"child processes" in done.stderr and b"--follow" in done.stderr
    done = memtape("-o", tmp_path / "b", "/bin/sh", "-c", f"{program} churn 10; true")
    assert b"--follow" not in done.stderr


# --- names ---------------------------------------------------------------------------------------

def test_the_default_name_has_program_and_pid(program, tmp_path):
    done = memtape(program, "exit", 0, cwd=tmp_path)
    assert done.returncode == 0
    names = os.listdir(tmp_path)
    assert len(names) == 1 and re.fullmatch(r"memtape\.program\.\d+\.mtape", names[0])


def test_a_pattern_is_expanded(program, tmp_path):
    pattern = tmp_path / "%e-%h-%t-%%.mtape"
    before = int(time.time())
    assert memtape("-o", pattern, program, "exit", 0).returncode == 0
    name = re.fullmatch(r"program-(.+)-(\d+)-%\.mtape", os.listdir(tmp_path)[0])
    assert name.group(1) == os.uname().nodename
    assert before <= int(name.group(2)) <= time.time()


def test_n_counts_up(program, tmp_path):
    for _ in range(3):
        assert memtape("-o", tmp_path / "run%n", program, "exit", 0).returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["run0", "run1", "run2"]


def test_nothing_is_overwritten_unasked(program, tape, tmp_path):
    tape.write_text("precious")
    done = memtape("record", "-o", tape, "/bin/sh", "-c", f"touch {tmp_path}/ran")
    assert done.returncode == 125 and b"-f" in done.stderr
    assert tape.read_text() == "precious"
    assert not (tmp_path / "ran").exists()
    assert memtape("record", "-f", "-o", tape, program, "exit", 0).returncode == 0
    assert tape.read_bytes()[:8] == b"MEMTAPE\n"


def test_force_keeps_the_old_tape_until_there_is_a_new_one(programs, tape):
    tape.write_text("precious")
    assert memtape("record", "-f", "-o", tape, programs / "static").returncode == 125
    assert memtape("record", "-f", "-o", tape, "/no/such").returncode == 127
    assert tape.read_text() == "precious"
    assert os.listdir(tape.parent) == [tape.name]


def test_a_directory_that_is_not_there_is_told_before_the_program_runs(tmp_path):
    done = memtape("record", "-o", tmp_path / "no" / "tape", "/bin/sh", "-c", f"touch {tmp_path}/ran")
    assert done.returncode == 125 and b"No such file" in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_tape_is_its_owners_business(program, tape):
    assert memtape("-o", tape, program, "exit", 0).returncode == 0
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600


# --- input, output, environment ------------------------------------------------------------------

def test_input_and_output_pass_through(tape):
    text = os.urandom(1 << 20)
    done = memtape("record", "-q", "-o", tape, "/bin/cat", stdin=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, b"")


def test_the_programs_options_are_its_own(tape):
    done = memtape("record", "-q", "-o", tape, "/bin/echo", "--help", "-o", "x", "--", "-f")
    assert done.stdout == b"--help -o x -- -f\n"


def test_two_dashes_run_a_program_that_is_called_like_a_command(program, tape, tmp_path):
    (tmp_path / "help").symlink_to(program)
    env = recording.clean_env(PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = recording.run([recording.memtape(), "record", "-o", tape, "--", "help", "exit", "9"], env=env)
    assert done.returncode == 9
    assert recording.run([recording.memtape(), "help"], env=env).returncode == 0


def test_the_program_sees_its_own_environment_and_descriptors(tape):
    script = "env | grep -E 'MEMTAPE|LD_PRELOAD'; ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    plain = recording.run(["/bin/sh", "-c", script])
    recorded = memtape("record", "-q", "-o", tape, "/bin/sh", "-c", script)
    assert recorded.stdout == plain.stdout


@pytest.mark.parametrize("closed", [[2], [1, 2], [0, 1, 2]])
def test_closed_descriptors_stay_closed_and_never_become_the_tape(closed, program, tape, tmp_path):
    def close():
        for fd in closed:
            os.close(fd)
    script = f"ls /proc/$$/fd > {tmp_path}/fds; {program} churn 1000"
    done = subprocess.run([recording.memtape(), "record", "-o", tape, "/bin/sh", "-c", script],
                          env=recording.clean_env(), preexec_fn=close, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == 0
    assert not set((tmp_path / "fds").read_text().split()) & {str(fd) for fd in closed if fd != 1}
    assert b"events" not in tape.read_bytes()
    assert memtape("repack", "-q", tape).returncode == 0


def test_a_closed_pipe_on_stderr_does_not_change_the_exit_code(program, tape):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([recording.memtape(), "-o", tape, program, "exit", "5"],
                          env=recording.clean_env(), stderr=writer)
    os.close(writer)
    assert done.returncode == 5


# --- signals and job control ---------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_to_memtape_reaches_the_program(number, program, tape):
    process = start("record", "-o", tape, program, "catch", int(number))
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == number
    assert events(stderr) > 0


def test_a_signal_that_kills_the_program_kills_memtape(program, tape):
    process = start("record", "-o", tape, program, "forever")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM


def test_timeout_ends_program_and_memtape(program, tape):
    done = recording.run(["timeout", "1", recording.memtape(), "-o", tape, program, "forever"])
    assert done.returncode == 124
    assert events(done.stderr) > 0


def test_ignored_signals_stay_ignored(tape):
    script = "grep SigIgn /proc/self/status"
    command = [recording.memtape(), "record", "-q", "-o", tape, "/bin/sh", "-c", script]

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    done = subprocess.run(command, env=recording.clean_env(), preexec_fn=ignore, capture_output=True)
    assert int(done.stdout.split()[1], 16) == 1 << (signal.SIGINT - 1) | 1 << (signal.SIGHUP - 1)


class Terminal:
    """A shell of its own terminal: what a user at a keyboard sees."""

    def __init__(self, tmp_path):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(tmp_path)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      recording.clean_env(PS1="$ ", TERM="dumb", HISTFILE="/dev/null"))
        self.text = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, seconds=15):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            left = end - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.text!r}"
            if select.select([self.fd], [], [], left)[0]:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
        found = re.search(pattern, self.text)
        self.text = self.text[found.end():]
        return found

    def close(self):
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(tmp_path):
    shell = Terminal(tmp_path)
    yield shell
    shell.close()


def test_ctrl_c_reaches_the_program_and_not_memtape(terminal, program, tape):
    terminal.type(f"{recording.memtape()} -o {tape} {program} catch {int(signal.SIGINT)}; echo code=$?\n")
    terminal.expect(r"ready\r\n")
    terminal.type("\x03")
    terminal.expect(r"events?\b")
    terminal.expect(rf"code={int(signal.SIGINT)}\r\n")


def test_ctrl_z_stops_both_and_fg_continues_both(terminal, program, tape):
    terminal.type(f"{recording.memtape()} -o {tape} {program} catch {int(signal.SIGINT)}; echo code=$?\n")
    terminal.expect(r"ready\r\n")
    terminal.type("\x1a")
    terminal.expect(r"Stopped")
    terminal.type("ps -o state= --ppid $(jobs -p); echo listed\n")
    assert terminal.expect(r"(\w)\r\nlisted").group(1) == "T"
    terminal.type("fg\n")
    time.sleep(0.3)
    terminal.type("\x03")
    terminal.expect(r"[1-9][\d,]* events?")


# --- trouble -------------------------------------------------------------------------------------

@pytest.mark.slow
def test_the_program_runs_on_when_memtape_is_killed(program, tape):
    process = start("record", "-o", tape, program, "churn", 3000000)
    wait_for(lambda: tape.exists() and tape.stat().st_size > 8192)
    child = child_of(process.pid)
    began = time.monotonic()
    process.kill()
    stdout = process.stdout.read()  # ends when the program does
    assert stdout == b"done\n"
    assert time.monotonic() - began < 30
    wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists() or state_of(child) == "Z")
    done = memtape("repack", "-q", tape, "-o", tape.with_suffix(".packed"))
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.slow
def test_a_stopped_memtape_does_not_stop_the_program_for_good(program, tape):
    process = start("record", "-o", tape, program, "churn", 2000000)
    wait_for(lambda: tape.exists() and tape.stat().st_size > 8192)
    process.send_signal(signal.SIGSTOP)
    assert process.stdout.readline() == b"done\n"
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=20)
    assert process.returncode == 0


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
                      capture_output=True).returncode:
        pytest.skip("no permission to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("size", ["300k", "1m"])
def test_a_full_disk_ends_recording_and_not_the_program(size, program, tmp_path):
    with small_disk(tmp_path / "disk", size) as disk:
        done = memtape("record", "--no-compress", "-o", disk / "tape", program, "churn", 1000000)
        assert (done.returncode, done.stdout) == (0, b"done\n")
        assert b"No space left" in done.stderr
        assert b"missing" in done.stderr
        packed = memtape("repack", disk / "tape", "-o", tmp_path / "packed")
        assert packed.returncode == 0, packed.stderr  # no damage
        assert events(packed.stdout) == events(done.stderr) > 0


def test_a_disk_full_from_the_start_is_told_before_the_program_runs(tmp_path):
    with small_disk(tmp_path / "disk", "4k") as disk:
        (disk / "filler").write_bytes(bytes(4096))
        done = memtape("record", "-o", disk / "tape", "/bin/sh", "-c", f"touch {tmp_path}/ran")
        assert done.returncode == 125
        assert b"No space left" in done.stderr
        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kib, code", [(8, 125), (500, 0), (4000, 0)])
def test_a_file_size_limit_ends_recording_and_not_the_program(kib, code, program, tape):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
    done = subprocess.run([recording.memtape(), "record", "--no-compress", "-o", tape, program,
                           "churn", "1000000"], env=recording.clean_env(), preexec_fn=limit,
                          capture_output=True)
    assert done.returncode == code, done.stderr
    if code == 0:
        assert done.stdout == b"done\n"
        assert b"File too large" in done.stderr
        assert tape.stat().st_size <= kib << 10


def test_a_read_only_directory_is_told_before_the_program_runs(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        done = memtape("record", "-o", disk / "tape", "/bin/sh", "-c", f"touch {tmp_path}/ran")
        assert done.returncode == 125 and b"Read-only" in done.stderr
        assert not (tmp_path / "ran").exists()


# --- what is written -----------------------------------------------------------------------------

def test_every_event_is_on_the_tape_in_both_formats(program, tmp_path):
    counts = {}
    for option in ("--level=1", "--level=9", "--no-compress"):
        tape = tmp_path / option.strip("-")
        done = memtape("record", option, "-o", tape, program, "churn", 200000)
        counts[option] = events(done.stderr), tape.stat().st_size
        packed = memtape("repack", tape, "-o", f"{tape}.packed")
        assert packed.returncode == 0
        assert events(packed.stdout) == counts[option][0]
    assert len({count for count, _ in counts.values()}) == 1
    assert counts["--level=1"][0] >= 400000
    assert counts["--level=1"][1] * 2 < counts["--no-compress"][1]


def test_children_are_followed_and_packed(program, tmp_path):
    script = f"{program} churn 100; ({program} churn 200); exec {program} churn 300"
    done = memtape("record", "--follow", "-o", tmp_path / "%e.%p.mtape", "/bin/sh", "-c", script)
    assert done.returncode == 0
    tapes = list(tmp_path.iterdir())  # the shell's tape is the third program's in the end
    assert len([path for path in tapes if path.name.startswith("program.")]) == 2
    (before,) = [path for path in tapes if re.fullmatch(r"sh\.\d+\.before-1\.mtape", path.name)]
    assert before.with_name(before.name.replace(".before-1", "")) in tapes
    assert all(path.name.startswith(("program.", "sh.")) for path in tapes)  # a shell that it forks is named as it is
    assert len(tapes) >= 4
    assert not [path for path in tmp_path.iterdir() if "repack" in path.name]
    for tape in tapes:
        assert tape.read_bytes()[16:20] == b"\x02\0\0\0"  # packed


def test_children_are_left_alone_otherwise(program, tmp_path):
    done = memtape("record", "-o", tmp_path / "%e.%p", "/bin/sh", "-c", f"{program} churn 100; true")
    assert done.returncode == 0
    assert len(os.listdir(tmp_path)) == 1


def test_quiet_says_nothing_and_no_summary_one_line(program, tmp_path):
    assert memtape("-q", "-o", tmp_path / "a", program, "exit", 0).stderr == b""
    done = memtape("record", "--no-summary", "-o", tmp_path / "b", program, "exit", 0)
    assert done.stderr.count(b"\n") == 1 and b"/b" in done.stderr


# --- repack --------------------------------------------------------------------------------------

def test_repack_in_place_keeps_all_events_and_is_smaller(program, tape):
    recording.run_bare([program, "churn", "5000"], tape)
    before = tape.stat().st_size
    done = memtape("repack", tape)
    assert done.returncode == 0 and events(done.stdout) >= 10000
    assert tape.stat().st_size < before / 4
    assert os.listdir(tape.parent) == [tape.name]


def test_repack_does_not_overwrite_unasked(program, tape, tmp_path):
    recording.run_bare([program, "churn", "10"], tape)
    other = tmp_path / "other"
    other.write_text("precious")
    assert memtape("repack", tape, "-o", other).returncode == 2
    assert other.read_text() == "precious"
    assert memtape("repack", tape, "-f", "-o", other).returncode == 0
    assert other.read_bytes()[:8] == b"MEMTAPE\n"


def test_repack_refuses_what_is_no_tape(tape):
    tape.write_text("no tape")
    done = memtape("repack", tape)
    assert done.returncode == 1 and b"the.mtape" in done.stderr
    assert tape.read_text() == "no tape"
    assert os.listdir(tape.parent) == [tape.name]


# --- what bytehound was told ---------------------------------------------------------------------


def info_of(tape):
    return json.loads(recording.run([recording.memtape(), "info", tape, "--json"]).stdout)


BYTEHOUND = {"MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE": "0", "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "true",
             "MEMORY_PROFILER_USE_PERF_EVENT_OPEN": "1", "MEMORY_PROFILER_CHUNK_SIZE": "5", "MEMORY_PROFILER": "no"}


@pytest.mark.parametrize("way", ["bare", "record"])
def test_variables_of_bytehound_are_understood_or_named(tmp_path, way):
    env = recording.clean_env(**BYTEHOUND, MEMORY_PROFILER_OUTPUT=str(tmp_path / "%e.dat"))
    args = ["/bin/sh", "-c", "/bin/true; exit 0"]
    if way == "bare":
        env["LD_PRELOAD"] = str(recording.library())
    else:
        args = [recording.memtape(), "record", "-q", *args]
    done = recording.run(args, env=env)
    assert done.returncode == 0, done.stderr
    named = [line for line in done.stderr.decode().splitlines() if "without effect" in line]
    assert len(named) >= 1 and len(named) == (1 if way == "record" else len(named))
    for line in named:
        assert "MEMORY_PROFILER_USE_PERF_EVENT_OPEN" in line and "MEMORY_PROFILER_CHUNK_SIZE" in line
        assert "OUTPUT" not in line and "GRAB" not in line and "TRACK" not in line
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if name.startswith("true")], names  # the child's
    shell = next(path for path in tmp_path.iterdir() if not path.name.startswith("true"))
    assert info_of(shell)["tape"]["free_stacks"] is False


def test_without_variables_of_bytehound_nothing_is_said(tmp_path, tape):
    done = recording.run_bare(["/bin/true"], tape)
    assert done.returncode == 0 and done.stderr == b""


def test_our_own_variables_come_before_bytehounds(tmp_path):
    env = recording.clean_env(MEMORY_PROFILER_OUTPUT=str(tmp_path / "theirs"), MEMTAPE_OUTPUT=str(tmp_path / "ours"),
                              LD_PRELOAD=str(recording.library()))
    assert recording.run(["/bin/true"], env=env).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]

def test_a_program_at_rest_adds_little_to_its_tape(tmp_path):
    done = recording.run_recorded(["sleep", "3"], tmp_path / "rest.mtape")
    assert done.returncode == 0
    info = json.loads(recording.run([recording.memtape(), "info", "--json", tmp_path / "rest.mtape"]).stdout)
    seconds = recording.report(tmp_path / "rest.mtape", "summary")["duration_ns"] / 1e9
    assert info["tape"]["chunks"] < 8 + 2 * seconds  # and not one every 20 ms
