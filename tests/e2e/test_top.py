"""memtape top: a live view of recordings, in a terminal (tmux) of several sizes, and printed."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import uuid

import pytest

import recording
from test_live import MANY, many, sums, watched  # noqa: F401  (fixtures)

PATIENCE_S = 90  # on a loaded machine

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


def wait_for(what, said):
    until = time.monotonic() + PATIENCE_S
    while not (value := what()):
        assert time.monotonic() < until, said()
        time.sleep(0.05)
    return value


class Terminal:
    """A command in a terminal of that size, of a tmux of its own; after it, its exit code and the terminal's modes."""

    def __init__(self, args, folder, width=80, height=24, **env):
        self.name = f"memtape-test-{uuid.uuid4().hex[:12]}"
        self.width, self.height = width, height
        command = " ".join(shlex.quote(str(arg)) for arg in args)
        self.env, self.modes = recording.clean_env(**{"LC_ALL": "C.UTF-8", **env}), folder / "modes"
        shell = f"export TERM={env.get('TERM', '$TERM')}; {command} 2> {shlex.quote(str(folder / 'stderr'))}; echo \"code=$?\"; " \
                f"stty -a > {shlex.quote(str(self.modes))}; echo end of stty; exec sleep 1000"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), shell)

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-u", "-L", self.name, *args], env=self.env, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def screen(self, *options):
        lines = self.tmux("capture-pane", "-p", *options).split("\n")[:-1]
        assert all(len(line) <= self.width for line in lines) or options
        return lines

    def text(self):
        return "\n".join(self.screen())

    def until(self, *patterns):
        """Waits until the screen has all of them."""
        def has():
            text = self.text()
            return text if all(re.search(pattern, text, re.MULTILINE) for pattern in patterns) else None
        return wait_for(has, lambda: f"no {patterns} on\n{self.text()}")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def pid(self):
        """Of the command."""
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}"))
        return int(wait_for(lambda: subprocess.run(["pgrep", "-P", str(shell), "-x", "memtape"], capture_output=True).stdout.split(),
                            self.text)[0])

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))
        self.width, self.height = width, height

    def code(self):
        """The exit code; the terminal is as it was."""
        text = self.until(r"^code=\d+$", "^end of stty$")
        modes = set(self.modes.read_text().replace(";", "").split())
        assert {"echo", "icanon", "isig", "icrnl", "opost", "onlcr"} <= modes, modes
        assert self.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}#{keypad_cursor_flag}").strip() == "010"
        return int(re.search(r"^code=(\d+)$", text, re.MULTILINE).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], env=self.env, capture_output=True)


@contextlib.contextmanager
def recorded(args, tape, *options):
    """A program under `memtape record`; its input stays open, and recording has begun."""
    with subprocess.Popen([recording.memtape(), "record", "-q", *options, "-o", tape, "--", *args], env=recording.clean_env(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        pid = None
        try:
            pid = wait_for(lambda: child_of(recorder.pid), lambda: "nothing is recorded")
            yield recorder, pid
        finally:
            if pid and recorder.poll() is None:  # its child: the number is nobody else's
                os.kill(pid, signal.SIGKILL)
            recorder.kill()


def child_of(pid):
    """What it records, once somebody answers for it."""
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True).stdout.split():
        done = recording.run([recording.memtape(), "ctl", child.decode(), "--json"])
        if done.returncode == 0 and json.loads(done.stdout)["state"] == "recording":
            return int(child)
    return None


def top(*options):
    return [recording.memtape(), "top", *options]


def looks(*options, env=None):
    done = recording.run(top(*options, "--json"), env=env)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


# --- a program that grows ---------------------------------------------------------------------


@pytest.mark.parametrize("width, height", [(80, 24), (200, 60)])
def test_a_growing_program_is_seen_to_grow(watched, tmp_path, width, height):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (recorder, pid), \
            Terminal(top("-p", pid, "--cost", "30", "-i", "0.2"), tmp_path, width, height) as terminal:
        text = terminal.until(rf"^ watched  pid {pid}  recorded .* recording$", r"^ Heap +[\d.]+ (K|M)iB  \+[\d.]+ [KM]iB/s ",
                              r"^ RSS +[\d.]+ MiB", r"^ Allocs +\d+/s", r" (K|M)iB +\d+ +\+[\d.]+ [KM]iB +\d+ +[\d.]+ [KM]iB  grow  +watched.c:29",
                              r"^ ! Live bytes grow all the time: grow ")
        assert re.search(r"churn +watched\.c:34", text) and ("PLACE" in text) == (width >= 110)
        assert re.search(r"^\?Help /Filter sSort .* window 60s$", text, re.MULTILINE)
        heap = re.search(r"^ Heap +[\d.]+ .iB +\S+ \S+ +([▁▂▃▄▅▆▇█ ]+)$", text, re.MULTILINE).group(1)
        assert heap.rstrip()[-1] == "█" and heap[0] == "▁"  # a curve that rises

        def alive():
            return re.search(r"(\d[\d,]*) +\+\S+ \S+ +\d+ +\S+ \S+  grow ", terminal.text()).group(1)
        before = alive()
        wait_for(lambda: alive() != before, terminal.text)  # it goes on
        terminal.press("3")
        terminal.until(r"BYTES/s  FUNCTION.*\n +0 B +0 .* churn ")  # what allocates most often
        terminal.press("2")
        terminal.until(r"BYTES/s  FUNCTION.*\n.* grow ")
        terminal.press("Enter")
        terminal.until(r"^ grow", r"^ +[\d.]+ .iB alive in \d+ blocks; in the window \+", r"^  0  grow$", r"watched\.c:29  watched$", r"^  1  main$")
        terminal.press("Escape")
        terminal.until("FUNCTION")
        terminal.press("f")
        terminal.until(r"^ Findings", r"Live bytes grow all the time$", r"memtape report", "groups --filter")
        terminal.press("Escape")
        terminal.press("/")
        terminal.type("size < 100")
        terminal.until(r"^Filter: size < 100_$")
        terminal.press("Enter")
        text = terminal.until(r"^ Heap +0 B", r"  churn ", r"^ Filter: size < 100  \(/ Change, Esc All\)")
        assert not re.search(r"  grow  +watched", text)
        terminal.press("/")
        terminal.type(" and siz > 3")
        terminal.press("Enter")
        terminal.until(r"unknown field 'siz'")
        terminal.press("Escape")  # all again
        terminal.until(r"  grow  +watched", r"^\?Help")
        terminal.press("w", "w")
        terminal.until("window 1h$")
        terminal.press("?")
        terminal.until(r"^ Help", "go into a process that is recorded|the window of growth")
        terminal.press("?", "Escape", "q")
        assert terminal.code() == 0
        recorder.stdin.close()
        assert recorder.wait(60) == 3  # as without us
        assert b"done: " in recorder.stdout.read()
    assert b"sound" in recording.run([recording.memtape(), "verify", tmp_path / "the.mtape"]).stdout


def test_a_python_program_over_a_terminal_without_colours_or_utf8(tmp_path):
    code = "import time\nkept = []\nfor _ in range(20000):\n\tkept.append(bytearray(50000))\n\ttime.sleep(0.005)"
    with recorded([recording.which("python3"), "-c", code], tmp_path / "the.mtape", "-l", "1") as (_, pid), \
            Terminal(top("-p", pid, "--cost", "30", "-i", "0.2"), tmp_path, LC_ALL="C", NO_COLOR=1, TERM="vt100") as terminal:
        text = terminal.until(r"^ python3\S*  pid \d+  recorded .* recording", r"^ +[\d.]+ MiB +\S+ +\+[\d.]+ .iB +\d+ .* python3", r"^ Heap .* \+[\d.]+ .iB/s +[_.=+*%#-]+$")
        assert text.isascii()
        terminal.press("q")
        assert terminal.code() == 0


def test_a_killed_program_is_said_to_have_ended(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid), Terminal(top("-p", pid, "--cost", "30", "-i", "0.2"), tmp_path) as terminal:
        terminal.until(r"recording$", "  grow  ")
        os.kill(pid, signal.SIGKILL)
        terminal.until(r" ended: killed by SIGKILL; q quits$", "  grow  ")
        terminal.press("s", "Enter")  # what is known can still be looked at
        terminal.until(r"^ (grow|churn)$|^  0 ")
        terminal.press("q")
        assert terminal.code() == 0


def test_a_killed_collector_leaves_the_tape_that_was_seen(watched, tmp_path):  # noqa: F811
    tape = tmp_path / "the.mtape"
    with recorded([watched], tape) as (recorder, pid), Terminal(top("-p", pid, "--cost", "30", "-i", "0.2"), tmp_path) as terminal:
        terminal.until("recording$", "  grow  ")
        seen = looks("-p", pid)[0]["now"]["total"]
        recorder.kill()
        recorder.wait()
        terminal.press("q")
        assert terminal.code() == 0
        os.kill(pid, signal.SIGKILL)
    kept = recording.report(tape, "summary")
    assert kept["allocations"]["count"] >= seen["allocated_count"] > 0
    assert b"damage" not in recording.run([recording.memtape(), "verify", tape]).stdout


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0), (signal.SIGQUIT, 131)])
def test_signals_leave_the_terminal_as_it_was(tmp_path, number, code):
    with Terminal(top(), tmp_path) as terminal:
        terminal.until(r"^ memtape top  \d+ processes")
        os.kill(terminal.pid(), number)
        assert terminal.code() == code


def test_it_fits_after_a_resize(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid), Terminal(top("-p", pid, "--cost", "30", "-i", "0.2"), tmp_path) as terminal:
        terminal.until("  grow  ", "window 60s$")
        terminal.resize(140, 40)
        terminal.until("FUNCTION +PLACE", "window 60s$", r"^ Heap .{100,}$")  # the curve is longer, too
        assert terminal.screen()[39].startswith("?Help")
        terminal.resize(30, 8)
        terminal.until("^ Heap ", r"\?Help /Filter", "LIVE")
        terminal.resize(80, 24)
        terminal.until("  grow  +watched.c:29", "window 60s$")
        terminal.press("q")
        assert terminal.code() == 0


def test_a_pause_holds_the_screen_and_not_the_program(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid), Terminal(top("-p", pid, "--cost", "30", "-i", "0.1"), tmp_path) as terminal:
        terminal.until("  grow  ", r"recorded [1-9]")
        terminal.press("p")
        held = terminal.until("PAUSED  recording$")
        before = looks("-p", pid)[0]["now"]["total"]["live_count"]
        wait_for(lambda: looks("-p", pid)[0]["now"]["total"]["live_count"] > before + 20, terminal.text)
        assert terminal.text() == held
        terminal.press("p")
        wait_for(lambda: terminal.text() != held and "PAUSED" not in terminal.text(), terminal.text)
        recording.run([recording.memtape(), "ctl", str(pid), "stop"])
        terminal.until("allocations paused$")
        terminal.press("C-c")
        assert terminal.code() == 0


# --- the list ---------------------------------------------------------------------------------


def test_the_list_has_recorded_processes_first(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid), Terminal(top("--cost", "30", "-i", "0.2"), tmp_path) as terminal:
        text = terminal.until(r"^ memtape top  \d+ processes", rf"^ +{pid} +\S+ .* recorded +watched$")
        lines = text.split("\n")
        states = [line[41:49] == "recorded" for line in lines[2:-1] if line.strip()]
        assert states[0] and states == sorted(states, reverse=True)
        assert "PID  USER" in lines[1] and lines[-1].startswith("?Help /Filter EnterOpen aAttach pPause qQuit")
        terminal.press("/")
        terminal.type(str(pid))
        terminal.press("Enter")
        terminal.until("^ memtape top  1 process$", rf"^ Filter: {pid} ")
        terminal.press("Enter")
        terminal.until(rf"^ watched  pid {pid}", "  grow  ")
        terminal.press("Escape")
        terminal.until(rf"^ +{pid} +\S+ .* recorded ", "^ memtape top  1 process$")
        terminal.press("Escape")
        terminal.until(r"^ memtape top  \d{2,} processes|^ memtape top  [2-9] processes")
        terminal.press("q")
        assert terminal.code() == 0


def test_a_process_is_attached_to_until_the_end(watched, tmp_path):  # noqa: F811
    with subprocess.Popen([watched], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        args = ["env", "-C", str(tmp_path), *top("--cost", "30", "-i", "0.2")]
        with Terminal(args, tmp_path) as terminal:
            terminal.until(r"^ memtape top ")
            terminal.press("/")
            terminal.type(str(program.pid))
            terminal.press("Enter")
            terminal.until(rf"^ +{program.pid} ", "^ memtape top  1 process$")
            terminal.press("Enter")
            terminal.until(rf"^ {program.pid} is not recorded: record it until memtape top ends\? \(y/n\)")
            terminal.press("n")
            terminal.until(r"^ Filter")
            assert not list(tmp_path.glob("*.mtape"))
            terminal.press("a")
            terminal.until("is not recorded")
            terminal.press("y")
            terminal.until(rf"^ watched  pid {program.pid}  recorded .* recording$", r"\+.* grow  +watched.c:29")
            terminal.press("q")
            assert terminal.code() == 0
        said = (tmp_path / "stderr").read_text()
        tape, = tmp_path.glob("*.mtape")
        assert said == f"memtape: let go of process {program.pid}; its tape is ./{tape.name}\n" or tape.name in said
        out, _ = program.communicate(timeout=60)  # its input ends
        assert program.returncode == 3 and b"done: " in out
    assert recording.report(tape, "recording")["process"]["end"] in ("running", "exit")


# --- printed ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    tape = tmp_path_factory.mktemp("top") / "the.mtape"
    recording.run_recorded([recording.target("problems"), "huge"], tape)
    return tape


def test_a_look_has_what_the_reports_have(problems):
    look, = looks(problems, "--last", "all", "--sort", "growth", "--filter", "size > 10")
    now = recording.report(problems, "now", "--last", "all", "--sort", "growth", "--filter", "size > 10", "--points", "60", "--top", "200")
    assert look["now"].pop("timeline") and now.pop("timeline") and look["now"] == now
    assert look["findings"] == recording.report(problems, "findings")
    assert look["tape"] == str(problems) and look["state"].startswith("ended: exited ")
    done = recording.run(top(problems))  # its output is no terminal
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and lines[0].startswith(f" problems  pid {now['pid']}  recorded ")
    assert lines[5].split() == ["LIVE", "BLOCKS", "GROWTH/s", "ALLOCS/s", "BYTES/s", "FUNCTION", "PLACE"]
    assert len(lines) - 6 == len(recording.report(problems, "now")["sites"])


def test_now_is_the_difference_of_two_moments(problems):
    """The same of `between`, which counts in its own way, and rates by hand."""
    half = recording.report(problems, "summary")["duration_ns"] // 2000
    now = recording.report(problems, "now", "--last", f"{half}us", "--top", "1000")
    between = recording.report(problems, "between", f"{now['from_ns']}ns", "end")
    total, seconds = between["total"], (now["duration_ns"] - now["from_ns"]) / 1e9
    assert total["live_before_bytes"] > 0  # else growth would be what is alive
    assert now["total"]["live_bytes"] == total["live_after_bytes"] and now["total"]["growth_bytes"] == total["net_bytes"]
    assert now["total"]["allocated_count"] == total["allocated_count"] and now["total"]["freed_count"] == total["freed_count"]
    assert now["total"]["allocated_bytes_per_s"] == pytest.approx(total["allocated_bytes"] / seconds, rel=1e-3)
    assert now["total"]["growth_bytes_per_s"] == pytest.approx(total["net_bytes"] / seconds, rel=1e-3)
    rows = {one["hash"]: one for one in between["sites"]}
    assert now["sites"] == sorted(now["sites"], key=lambda one: -one["live_bytes"])
    for site in now["sites"]:
        same = rows[site["hash"]]
        assert (site["live_bytes"], site["live_count"], site["growth_bytes"], site["allocated_count"], site["freed_count"]) == \
            (same["live_after_bytes"], same["live_after_count"], same["net_bytes"], same["allocated_count"], same["freed_count"])
    assert sum(one["allocated_count"] for one in now["timeline"]) == total["allocated_count"]


def test_looks_are_of_the_time_they_are_made(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid):
        counts = [look["now"]["total"]["allocated_count"] for look in looks("-p", str(pid), "-n", "3", "-i", "0.5", "--cost", "30", "--last", "all")]
        assert len(counts) == 3 and counts == sorted(counts) and counts[0] < counts[2]
        once = recording.run(top("-p", str(pid), "--once"))
        assert re.search(rf"^ watched  pid {pid} .* recording$", once.stdout.decode(), re.MULTILINE)


def test_a_program_at_rest_is_seen_at_rest(tmp_path):
    """Its last event is of long ago; what is alive is of now, and it allocates nothing."""
    with recorded([recording.which("sleep"), "1000"], tmp_path / "the.mtape") as (_, pid):
        def look():
            return looks("-p", str(pid))[0]["now"]
        first = wait_for(lambda: (now := look())["duration_ns"] > 1e9 and now, lambda: str(look()))
        later = wait_for(lambda: (now := look())["duration_ns"] > first["duration_ns"] + 5e8 and now, lambda: str(look()))
        assert later["total"]["allocated_count"] == first["total"]["allocated_count"] > 0
        assert later["total"]["allocations_per_s"] < first["total"]["allocations_per_s"]
        assert later["total"]["live_bytes"] == first["total"]["live_bytes"] > 0 and later["rss_bytes"] > 0


def test_processes_are_printed(watched, tmp_path):  # noqa: F811
    with recorded([watched], tmp_path / "the.mtape") as (_, pid):
        listed, = looks()
        row, = [one for one in listed["processes"] if one["pid"] == pid]
        assert row["tape"] == str(tmp_path / "the.mtape") and row["name"] == "watched"
        lines = recording.run(top("--once")).stdout.decode().splitlines()
        assert re.search(r"^ memtape top  \d+ process", lines[0]) and " recorded " in lines[2]
        assert any(line.split()[0] == str(pid) for line in lines[2:])


def test_what_was_watched_is_the_same(many, tmp_path):  # noqa: F811
    """A recording without --live that somebody looks at from its middle on: nothing is lost or counted twice."""
    plain, seen = tmp_path / "plain.mtape", tmp_path / "seen.mtape"
    recording.run_recorded([many], plain)
    with recorded([many], seen) as (recorder, pid):
        with subprocess.Popen(top("-p", str(pid), "-n", "1000", "-i", "0.1", "--cost", "30", "--json"), env=recording.clean_env(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watching:
            assert recorder.wait(PATIENCE_S) == 0
            watching.kill()
    assert b"sound" in recording.run([recording.memtape(), "verify", seen]).stdout
    assert sums(plain) == sums(seen)
    chunks = [json.loads(recording.run([recording.memtape(), "info", "--json", tape]).stdout)["tape"]["chunks"] for tape in (plain, seen)]
    assert chunks[1] > chunks[0]  # it was


@pytest.mark.parametrize("words, said", [
    (["-p", "1"], "process 1 is not being recorded; `memtape attach 1` records it from now on"),
    (["-p", "x"], "x is not the number of a process"),
    (["-p", "1", "a.mtape"], "expected one process or one tape at most"),
    (["/dev/null"], "/dev/null"),
    (["--interval", "1ms"], "--interval: at least 100ms"),
    (["--cost", "0"], "--cost: from 1 to 30"),
    (["--count", "0"], "--count: at least 1"),
    (["--last", "3s"], "--last: expected 10s, 60s, 10m, 1h or all"),
    (["--filter", "siz > 3", "a.mtape"], "filter: unknown field 'siz'"),
    (["--sort", "nothing"], "live, growth, churn, allocated, blocks"),
    (["--once", "--sort", "live"], "--filter, --last and --sort are about one process: name it with --pid"),
])
def test_what_is_wrong_is_said(words, said):
    done = recording.run(top(*words))
    assert done.returncode in (1, 2) and said in done.stderr.decode() and not done.stdout


def test_a_terminal_that_cannot_show_it_is_told(tmp_path):
    with Terminal(top(), tmp_path, TERM="no-such-terminal") as terminal:
        assert terminal.code() == 1
    assert "TERM=no-such-terminal" in (tmp_path / "stderr").read_text()
