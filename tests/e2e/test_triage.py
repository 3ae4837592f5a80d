"""memtape triage: numbers are those of other tools and of /proc, verdicts those of machines made up for them."""
import errno
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import recording
from looks import (GIB, MIB, V1_MOUNT, V2_MOUNT, machine, meminfo, pressure, process, v1_cgroup, v2_cgroup, vmstat,
                   write_recording, write_tree)

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

MEMORY_V1 = pathlib.Path("/sys/fs/cgroup/memory")
SLACK = 16 * MIB  # what others may take between two commands


def run(*options, code=0, **more):
    done = recording.run([recording.memtape(), "triage", *options], **more)
    assert done.returncode == code, done.stderr
    return done


def ask(*options, **more):
    return json.loads(run(*options, "--json", **more).stdout)


def verdicts(answer):
    return {verdict["name"]: verdict for verdict in answer["verdicts"]}


def levels(answer):
    return {name: verdict["level"] for name, verdict in verdicts(answer).items()}


def judged(tmp_path, *looks, **more):
    return ask(write_recording(tmp_path / "looks.txt", looks, **more))


# --- the numbers are those of other tools ---------------------------------------------------------

def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def between(ours, before, after, slack):
    return min(before, after) - slack <= ours <= max(before, after) + slack


def sandwich(theirs, ours, slack):
    """What others say before and after ours: others work on this machine, so it may take some tries."""
    for attempt in range(6):
        before, answer, after = theirs(), ask("--count", "1"), theirs()
        wrong = {key: (before[key], ours(answer)[key], after[key]) for key in before
                 if not between(ours(answer)[key], before[key], after[key], slack)}
        if not wrong:
            return
    raise AssertionError(wrong)


def test_memory_is_as_free_has_it():
    def free():
        lines = [line.split() for line in said("free", "-b").splitlines()]
        memory = dict(zip(lines[0], map(int, lines[1][1:])))
        swap = dict(zip(lines[0], map(int, lines[2][1:])))
        return {**memory, **{"swap " + key: value for key, value in swap.items()}}

    def ours(answer):
        memory, swap = answer["memory"], answer["swap"]
        return {"total": memory["total"], "used": memory["used"], "free": memory["free"], "shared": memory["shared"],
                "buff/cache": memory["buff_cache"], "available": memory["available"], "swap total": swap["total"],
                "swap used": swap["used"], "swap free": swap["free"]}

    sandwich(free, ours, SLACK)


@pytest.mark.skipif(not shutil.which("vmstat"), reason="no procps")
def test_memory_is_as_vmstat_has_it():
    names = {"total memory": ("memory", "total"), "used memory": ("memory", "used"), "active memory": ("memory", "active"),
             "inactive memory": ("memory", "inactive"), "free memory": ("memory", "free"), "buffer memory": ("memory", "buffers"),
             "total swap": ("swap", "total"), "used swap": ("swap", "used"), "free swap": ("swap", "free")}

    def theirs():
        rows = [line.split(None, 2) for line in said("vmstat", "-s").splitlines() if " K " in line]
        rows = {what: int(value) << 10 for value, _, what in rows}
        return {name: rows[name] for name in names}

    sandwich(theirs, lambda answer: {name: answer[where][key] for name, (where, key) in names.items()}, SLACK)


@pytest.mark.skipif(not shutil.which("vmstat"), reason="no procps")
def test_swapping_is_as_vmstat_has_it():
    for attempt in range(4):
        theirs = subprocess.Popen(["vmstat", "-n", "1", "2"], stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
        rates = ask()["rates"]
        lines = [line.split() for line in theirs.communicate(timeout=30)[0].splitlines()]
        row = dict(zip(lines[1], map(float, lines[-1])))
        if all(rates[ours] == pytest.approx(row[name], rel=0.25, abs=8) for ours, name in (("swap_in_kib", "si"), ("swap_out_kib", "so"))):
            return
    raise AssertionError((rates, row))


@pytest.mark.skipif(not pathlib.Path("/proc/pressure/memory").exists(), reason="no PSI")
def test_pressure_is_as_the_kernel_has_it():
    def theirs():
        lines = [line.split() for line in pathlib.Path("/proc/pressure/memory").read_text().splitlines()]
        return {f"{line[0]}_{word.partition('=')[0]}": float(word.partition("=")[2]) for line in lines for word in line[1:3]}

    sandwich(theirs, lambda answer: answer["pressure"], 0.001)


needs_sar = pytest.mark.skipif(not shutil.which("sar"), reason="no sysstat")


def sar(*options):
    """The row of averages, by the titles above it."""
    lines = [line.split() for line in said("sar", *options).splitlines() if line]
    titles = next(line for line in lines if "/s" in line[-1] or line[-1].startswith(("%", "kb")))
    return {title: float(value) for title, value in zip(titles[1:], lines[-1][1:])}


@needs_sar
def test_commit_and_swap_are_as_sar_has_them():
    def theirs():
        row = {key: value for key, value in sar("-r", "1", "1").items()
               if key in ("kbavail", "kbbuffers", "kbcached", "kbcommit", "kbactive", "kbinact")}
        return {key: value * 1024 for key, value in row.items()}

    def ours(answer):
        memory = answer["memory"]
        return {"kbavail": memory["available"], "kbbuffers": memory["buffers"], "kbcached": memory["cached"],
                "kbcommit": memory["committed"], "kbactive": memory["active"], "kbinact": memory["inactive"]}

    sandwich(theirs, ours, 4 * SLACK)  # a second lies between
    row, answer = sar("-r", "1", "1"), ask("--count", "1")
    memory, swap = answer["memory"], answer["swap"]
    percent = memory["committed"] * 100 / (memory["total"] + swap["total"])
    assert memory["commit_percent"] == pytest.approx(percent, abs=0.01)
    assert row["%commit"] == pytest.approx(row["kbcommit"] * 102400 / (memory["total"] + swap["total"]), abs=0.01)
    assert sar("-S", "1", "1")["kbswpfree"] == swap["free"] / 1024


@needs_sar
def test_paging_is_as_sar_has_it():
    for attempt in range(4):
        theirs = subprocess.Popen(["sar", "-B", "1", "1"], stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
        rates = ask()["rates"]
        lines = [line.split() for line in theirs.communicate(timeout=30)[0].splitlines() if line]
        row = dict(zip(next(line for line in lines if "fault/s" in line)[1:], map(float, lines[-1][1:])))
        if (rates["faults"] == pytest.approx(row["fault/s"], rel=0.25, abs=500)
                and rates["freed"] == pytest.approx(row["pgfree/s"], rel=0.25, abs=500)):
            break
    else:
        raise AssertionError((rates, row))


def counts(text):
    return {name: int(value) for name, value in (line.split()[:2] for line in text.splitlines())}


def parse_recording(path):
    """[(monotonic, {path: text})], read the slow way."""
    looks = []
    for line in path.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "look":
            looks.append((int(rest.split()[1]), {}))
        elif word == "file":
            text = looks[-1][1][rest] = []
        elif line.startswith("\t"):
            text.append(line[1:])
    return [(at, {name: "\n".join(lines) for name, lines in files.items()}) for at, files in looks]


def test_rates_are_those_of_what_was_read(tmp_path):
    path = tmp_path / "looks.txt"
    answer = ask("--record", path, "--interval", "300ms", "--count", "3")
    looks = parse_recording(path)
    seconds = (looks[-1][0] - looks[0][0]) / 1e9
    a, b = (counts(files["/proc/vmstat"]) for _, files in (looks[0], looks[-1]))
    assert 0.5 <= seconds < 5 and answer["span_ns"] == looks[-1][0] - looks[0][0] and len(looks) == 3

    def rate(*names):
        return pytest.approx(sum(b[name] - a[name] for name in names) / seconds, abs=0.001)

    rates = answer["rates"]
    assert rates["faults"] == rate("pgfault") and rates["major_faults"] == rate("pgmajfault")
    assert rates["paged_in_kib"] == rate("pgpgin") and rates["paged_out_kib"] == rate("pgpgout")
    assert rates["freed"] == rate("pgfree") and rates["stolen"] == rate("pgsteal_kswapd", "pgsteal_direct")
    page_kib = os.sysconf("SC_PAGESIZE") / 1024
    assert rates["swap_in_kib"] == pytest.approx((b["pswpin"] - a["pswpin"]) * page_kib / seconds, abs=0.001)
    assert answer["oom_kills"] == b["oom_kill"]


# --- a process -------------------------------------------------------------------------------------

class Child:
    """A program in Python that says "ready" when it has done its statements, and sleeps."""

    def __init__(self, statements, end="time.sleep(60)", **popen):
        self.process = subprocess.Popen([sys.executable, "-c", f"import os, time\n{statements}\nprint('ready', flush=True)\n{end}"],
                                        stdout=subprocess.PIPE, text=True, **popen)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def proc_kib(pid, name, key):
    line = next(line for line in pathlib.Path(f"/proc/{pid}/{name}").read_text().splitlines() if line.startswith(key + ":"))
    return int(line.split()[1]) * 1024


def test_a_process_is_as_proc_has_it():
    with Child("import resource\nheld = bytearray(60 << 20)\nresource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))") as child:
        subject = ask("--pid", str(child.pid), "--interval", "100ms")["subject"]
        for key, name in {"rss": "VmRSS", "anonymous": "RssAnon", "file": "RssFile", "shared": "RssShmem", "peak": "VmHWM",
                          "swapped": "VmSwap", "address_space": "VmSize", "data": "VmData", "page_tables": "VmPTE"}.items():
            assert subject[key] == proc_kib(child.pid, "status", name), key
        assert subject["pss"] == pytest.approx(proc_kib(child.pid, "smaps_rollup", "Pss"), rel=0.05)
        assert subject["limit_address_space"] == 8 << 30 and subject["limit_data"] is None
        assert subject["minor_faults"] == 0 and subject["growth"] == 0 and not subject["has_ended"]
        assert subject["rss"] > 60 << 20


def test_the_largest_processes_are_listed_as_ps_has_them():
    with Child("held = bytearray(1200 << 20)") as child:
        rows = ask("--count", "1")["processes"]
        assert [row["rss"] for row in rows] == sorted((row["rss"] for row in rows), reverse=True) and len(rows) <= 10
        row = next(row for row in rows if row["pid"] == child.pid)
        rss, percent = said("ps", "-o", "rss=,pmem=", "-p", str(child.pid)).split()
        assert row["rss"] == int(rss) * 1024 and row["rss_percent"] == pytest.approx(float(percent), abs=0.11)  # cut, not rounded
        assert row["name"] == pathlib.Path(f"/proc/{child.pid}/comm").read_text().strip()


def test_a_process_that_ends_meanwhile_is_said_to_have_ended():
    with Child("", end="time.sleep(0.4)") as child:
        answer = ask("--pid", str(child.pid), "--interval", "500ms", "--count", "3")
    assert answer["subject"]["has_ended"] and "it has ended" in verdicts(answer)["process"]["answer"]
    assert all(str(child.pid) not in (verdict["next"] or "") for verdict in answer["verdicts"])


# --- recordings ------------------------------------------------------------------------------------

def test_a_recording_is_judged_as_the_machine_was(tmp_path):
    path = tmp_path / "looks.txt"
    live = run("--pid", str(os.getpid()), "--interval", "200ms", "--record", path, "--json").stdout
    assert run(path, "--json").stdout == live
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert "cmdline" not in text and "environ" not in text


def test_a_recording_is_not_overwritten_by_accident(tmp_path):
    path = tmp_path / "looks.txt"
    path.write_text("precious")
    assert b"looks.txt" in run("--count", "1", "--record", path, code=2).stderr and path.read_text() == "precious"
    run("--count", "1", "--force", "--record", path)
    assert path.read_text().startswith("memtape triage 1\n")


def test_a_recording_that_was_killed_is_whole_up_to_the_last_look(tmp_path):
    path = tmp_path / "looks.txt"
    with subprocess.Popen([recording.memtape(), "triage", "--interval", "100ms", "--count", "1000", "--record", path]) as it:
        while not path.exists() or path.read_text().count("\nlook ") < 3:
            time.sleep(0.02)
        it.kill()
    assert ask(path)["look_count"] >= 3


@pytest.mark.parametrize("text, words", [
    ("", b"no recording"), ("memtape triage 9\n", b"no recording"), ("memtape triage 1\npage 4096\n", b"no look"),
    ("memtape triage 1\npage 4096\nlook 5 5\nwhat\n", b"line 4"), ("memtape triage 1\npage 1\nlook 1 9\nlook 2 9\n", b"line 4"),
    ("memtape triage 1\npage 4096\nsubject 7\nlook 1 1\n", b"process 7")])
def test_what_is_no_recording_is_refused(tmp_path, text, words):
    path = tmp_path / "looks.txt"
    path.write_text(text)
    done = run(path, code=1)
    assert words in done.stderr and done.stdout == b""


@pytest.mark.parametrize("options, code, words", [
    (["--pid", "x"], 2, b"not the number of a process"), (["--pid", "999999999"], 1, b"no process"),
    (["looks.txt", "--pid", "1"], 2, b"recording"), (["looks.txt", "--count", "3"], 2, b"recording"), (["a", "b"], 2, b"one recording"),
    (["--count", "1001"], 2, b"--count"), (["--count", "0"], 2, b"--count"), (["--interval", "0"], 2, b"--interval"), (["--root", "/nowhere"], 1, b"/nowhere"), (["--root", "/tmp"], 1, b"meminfo"),
    (["--fail-on", "bad"], 2, b"--fail-on"), (["nowhere.txt"], 1, b"nowhere.txt")])
def test_bad_input_is_refused(options, code, words):
    done = run(*options, code=code)
    assert words in done.stderr and done.stdout == b""


# --- verdicts: machines made up for them -----------------------------------------------------------

def test_a_healthy_machine_is_well(tmp_path):
    first, last = machine(), machine({"/proc/vmstat": vmstat(pgfault=101000, pgmajfault=52)})
    answer = judged(tmp_path, first, last)
    assert answer["level"] == "ok" and set(levels(answer).values()) == {"ok"}
    assert all(verdict["next"] is None for verdict in answer["verdicts"])
    assert answer["rates"]["faults"] == 1000 and answer["rates"]["major_faults"] == 2
    assert answer["host"] == "made-up" and answer["missing"] == [] and not answer["in_container"]
    assert answer["memory"]["used"] == 4 * GIB and answer["memory"]["buff_cache"] == 8 * GIB + GIB // 8 + GIB // 4


@pytest.mark.parametrize("percent, level", [(50, "ok"), (16, "ok"), (14, "warning"), (6, "warning"), (4, "critical")])
def test_memory_that_is_available(tmp_path, percent, level):
    answer = judged(tmp_path, machine({"/proc/meminfo": meminfo(total=1000 * MIB, available=percent * 10 * MIB)}))
    verdict = verdicts(answer)["memory"]
    assert verdict["level"] == level and f"({percent}.0 %)" in verdict["answer"]
    assert verdict["next"] == (None if level == "ok" else "memtape triage --count 10 -p 100")


@pytest.mark.parametrize("mode, committed, level", [(0, 99, "ok"), (1, 99, "ok"), (2, 89, "ok"), (2, 91, "warning"), (2, 99, "critical")])
def test_what_was_promised_is_judged_where_there_is_a_limit(tmp_path, mode, committed, level):
    files = machine({"/proc/meminfo": meminfo(CommitLimit=100 * MIB, Committed_AS=committed * MIB),
                     "/proc/sys/vm/overcommit_memory": f"{mode}\n"})
    assert levels(judged(tmp_path, files))["commit"] == level


@pytest.mark.parametrize("used, level", [(0, "ok"), (79, "ok"), (81, "warning"), (96, "critical")])
def test_swap_space(tmp_path, used, level):
    assert levels(judged(tmp_path, machine({"/proc/meminfo": meminfo(swap=100 * MIB, swap_used=used * MIB)})))["swap"] == level


@pytest.mark.parametrize("pages_in, pages_out, level", [(0, 0, "ok"), (5, 0, "warning"), (0, 9000, "warning"), (300, 300, "critical")])
def test_swapping(tmp_path, pages_in, pages_out, level):
    answer = judged(tmp_path, machine(), machine({"/proc/vmstat": vmstat(pswpin=pages_in, pswpout=pages_out)}))
    assert levels(answer)["swapping"] == level
    assert (answer["rates"]["swap_in_kib"], answer["rates"]["swap_out_kib"]) == (4 * pages_in, 4 * pages_out)


def test_counts_that_went_down_are_no_rate(tmp_path):
    """A machine that was moved, or started anew."""
    answer = judged(tmp_path, machine(), machine({"/proc/vmstat": vmstat(pgfault=5, oom_kill=0)}))
    assert answer["rates"]["faults"] is None and levels(answer)["paging"] == "unknown"


@pytest.mark.parametrize("counts_, level, efficiency", [
    ({}, "ok", None), ({"pgmajfault": 149}, "ok", None), ({"pgmajfault": 151}, "warning", None),
    ({"pgscan_kswapd": 5000, "pgsteal_kswapd": 5000, "pgsteal_file": 5000}, "ok", 100),
    ({"pgscan_direct": 10, "pgsteal_direct": 10}, "warning", 100),
    ({"pgmajfault": 900, "pgscan_kswapd": 6000, "pgscan_direct": 4000, "pgsteal_kswapd": 1000, "pgsteal_direct": 500}, "critical", 15)])
def test_paging(tmp_path, counts_, level, efficiency):
    answer = judged(tmp_path, machine(), machine({"/proc/vmstat": vmstat(**counts_)}))
    assert levels(answer)["paging"] == level and answer["rates"]["efficiency"] == efficiency
    if level != "ok":
        assert verdicts(answer)["paging"]["next"] == "memtape trace faults -p 100"


@pytest.mark.parametrize("some, full, level", [(0, 0, "ok"), (9.9, 4.9, "ok"), (10, 0, "warning"), (30, 5, "critical")])
def test_pressure(tmp_path, some, full, level):
    answer = judged(tmp_path, machine({"/proc/pressure/memory": pressure(some, full)}))
    assert levels(answer)["pressure"] == level and answer["pressure"]["some_avg10"] == some


def kernel_log(seconds, pid=4242, name="eater", cgroup=None):
    head = f"6,100,{int(seconds * 1e6)},-;"
    cause = f"oom-kill:constraint=CONSTRAINT_{'MEMCG' if cgroup else 'NONE'},nodemask=(null),cpuset=/,mems_allowed=0," + \
        (f"oom_memcg={cgroup},task_memcg={cgroup}/a" if cgroup else "global_oom,task_memcg=/") + f",task={name},pid={pid},uid=0"
    kill = f"{'Memory cgroup out' if cgroup else 'Out'} of memory: Killed process {pid} ({name}) total-vm:90000kB, " \
        "anon-rss:61440kB, file-rss:4kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0"
    return f"{head}{cause}\n{head}{kill}\n"


@pytest.mark.parametrize("ago, level", [(4000, "warning"), (100, "critical")])
def test_a_kill_is_worse_the_newer_it_is(tmp_path, ago, level):
    files = machine({"/dev/kmsg": kernel_log(5000.5 - ago, cgroup="/jobs"), "/proc/vmstat": vmstat(oom_kill=1)})
    answer = judged(tmp_path, files)
    verdict = verdicts(answer)["oom_kills"]
    assert verdict["level"] == level and "eater (4242)" in verdict["answer"] and "/jobs" in verdict["answer"]
    assert answer["kills"] == [{"ago_ns": ago * 10**9, "pid": 4242, "name": "eater", "cgroup": "/jobs", "address_space": 90000 << 10,
                                "anonymous": 61440 << 10, "file": 4096, "shared": 0}]


def test_a_kill_that_the_log_does_not_show_counts(tmp_path):
    answer = judged(tmp_path, machine({"/proc/vmstat": vmstat(oom_kill=3), "/dev/kmsg": errno.EPERM}))
    assert levels(answer)["oom_kills"] == "warning" and "3 kills" in verdicts(answer)["oom_kills"]["answer"]
    now = judged(tmp_path, machine({"/dev/kmsg": errno.EPERM}), machine({"/proc/vmstat": vmstat(oom_kill=1), "/dev/kmsg": errno.EPERM}))
    assert levels(now)["oom_kills"] == "critical" and now["new_oom_kills"] == 1


def test_kills_are_newest_first_and_of_all_looks(tmp_path):
    first, last = machine({"/dev/kmsg": kernel_log(10, pid=1)}), machine({"/dev/kmsg": kernel_log(20, pid=2)})
    assert [kill["pid"] for kill in judged(tmp_path, first, last)["kills"]] == [2, 1]


LEAF = "/sys/fs/cgroup/app.slice/web"


def in_cgroup(usage, limit=100 * MIB, **more):
    return {"/proc/100/cgroup": "0::/app.slice/web\n", **v2_cgroup(LEAF, usage, limit, **more),
            **v2_cgroup("/sys/fs/cgroup/app.slice", usage + MIB, 400 * MIB)}


@pytest.mark.parametrize("used, level", [(70, "ok"), (81, "warning"), (96, "critical")])
def test_the_cgroup_of_a_process_and_those_above(tmp_path, used, level):
    answer = judged(tmp_path, machine(in_cgroup(used * MIB)), subject=100)
    assert levels(answer)["cgroup"] == level and "in /app.slice/web" in verdicts(answer)["cgroup"]["answer"]
    assert [(row["name"], row["usage"], row["limit"]) for row in answer["cgroups"]] == [
        ("/app.slice/web", used * MIB, 100 * MIB), ("/app.slice", (used + 1) * MIB, 400 * MIB), ("/", None, None)]


def test_the_limit_above_counts_too(tmp_path):
    files = machine({"/proc/100/cgroup": "0::/app.slice/web\n", **v2_cgroup(LEAF, 50 * MIB),
                     **v2_cgroup("/sys/fs/cgroup/app.slice", 99 * MIB, 100 * MIB)})
    verdict = verdicts(judged(tmp_path, files, subject=100))["cgroup"]
    assert verdict["level"] == "critical" and verdict["answer"].endswith("in /app.slice")


def test_cache_that_is_freed_first_is_no_use_of_the_limit(tmp_path):
    answer = judged(tmp_path, machine(in_cgroup(99 * MIB, stat={"inactive_file": 90 * MIB})), subject=100)
    assert levels(answer)["cgroup"] == "ok" and answer["cgroups"][0]["working_set"] == 9 * MIB


def test_hits_of_the_limit_and_kills_in_the_cgroup(tmp_path):
    quiet, noisy = (in_cgroup(50 * MIB, events={"max": hits, "oom_kill": kills}) for hits, kills in ((7, 1), (12, 2)))
    before = judged(tmp_path, machine(quiet), machine(quiet), subject=100)
    assert (levels(before)["limit_hits"], levels(before)["cgroup_kills"]) == ("ok", "warning")
    now = judged(tmp_path, machine(quiet), machine(noisy), subject=100)
    assert (levels(now)["limit_hits"], levels(now)["cgroup_kills"]) == ("warning", "critical")
    assert now["cgroups"][0]["new_limit_hits"] == 5 and now["cgroups"][0]["new_oom_kills"] == 1


def test_the_lower_limit_that_only_slows_down(tmp_path):
    """memory.high: nothing is killed there, but everything waits."""
    quiet, noisy = ({**in_cgroup(85 * MIB, limit=400 * MIB, events={"high": hits}), LEAF + "/memory.high": f"{100 * MIB}\n"} for hits in (3, 9))
    answer = judged(tmp_path, machine(quiet), machine(noisy), subject=100)
    own = answer["cgroups"][0]
    assert (own["high"], own["high_hits"], own["new_high_hits"], own["used_percent"]) == (100 * MIB, 9, 6, 85)
    assert levels(answer)["cgroup"] == levels(answer)["limit_hits"] == "warning"
    assert "of 100.0 MiB" in verdicts(answer)["cgroup"]["answer"]


def test_cgroups_elsewhere_that_are_near_a_limit_are_found(tmp_path):
    """Without a process, those of the machine: the fullest, and where something was killed."""
    top = "/sys/fs/cgroup"
    tree = {f"{top}/a/b{i}": v2_cgroup(f"{top}/a/b{i}", (10 + i) * MIB, 100 * MIB) for i in range(10)}
    tree["full"] = v2_cgroup(f"{top}/full", 99 * MIB, 100 * MIB)
    tree["killed"] = v2_cgroup(f"{top}/a/b1/killed", MIB, events={"oom_kill": 2})
    tree["free"] = v2_cgroup(f"{top}/free", GIB)
    files = machine(*tree.values(), {f"{top}/full/cgroup.procs": "200\n100\n", f"{top}/a/b1/killed/cgroup.procs": ""})
    write_tree(tmp_path / "root", files)
    answer = ask("--root", tmp_path / "root", "--count", "1")
    assert [row["name"] for row in answer["cgroups"]] == ["/", "/a/b1/killed", "/full", "/a/b9", "/a/b8", "/a/b7"]
    assert [row["pid"] for row in answer["cgroups"]][:3] == [None, None, 100]
    verdict = verdicts(answer)["cgroup"]
    assert verdict["level"] == "critical" and "in /full" in verdict["answer"] and verdict["next"] == "memtape triage --count 10 -p 100"
    assert levels(answer)["cgroup_kills"] == "warning"
    write_tree(tmp_path / "idle", machine(tree["free"]))  # who has no limit is not worth a line
    assert [row["name"] for row in ask("--root", tmp_path / "idle", "--count", "1")["cgroups"]] == ["/"]
    about_a_process = ask("--root", tmp_path / "root", "--count", "1", "--pid", "100")
    assert "/full" not in {row["name"] for row in about_a_process["cgroups"]}


def test_kills_of_long_ago_do_not_hide_who_is_near_a_limit_now(tmp_path):
    """By what reaches the limit: cache that is freed first does not, and memory.high is one, too."""
    top = "/sys/fs/cgroup"
    killed = [v2_cgroup(f"{top}/killed{i}", (20 + i) * MIB, 100 * MIB, events={"oom_kill": 1}) for i in range(8)]
    cache = [v2_cgroup(f"{top}/cache{i}", 100 * MIB, 100 * MIB, stat={"inactive_file": 90 * MIB}) for i in range(5)]
    slowed = {**v2_cgroup(f"{top}/slowed", 98 * MIB), f"{top}/slowed/memory.high": f"{100 * MIB}\n"}
    write_tree(tmp_path / "root", machine(*killed, *cache, slowed))
    answer = ask("--root", tmp_path / "root", "--count", "1")
    assert [row["name"] for row in answer["cgroups"]][:5] == ["/", "/killed7", "/killed6", "/killed5", "/slowed"]
    assert levels(answer)["cgroup"] == "critical" and "in /slowed" in verdicts(answer)["cgroup"]["answer"]


def others(*cgroups):
    """Cgroups that this process is not in: events by name."""
    files = [{**v2_cgroup(f"/sys/fs/cgroup/{name}", MIB, 100 * MIB, events=events), f"/sys/fs/cgroup/{name}/cgroup.procs": ""}
             for name, events in cgroups]
    return machine(*files)


def test_what_happens_now_is_worse_than_what_happened_more_often(tmp_path):
    first = others(("old", {"oom_kill": 9, "max": 900}), ("new", {}))
    last = others(("old", {"oom_kill": 9, "max": 900}), ("new", {"oom_kill": 1, "max": 3}))
    answer = judged(tmp_path, first, last)
    kills, hits = verdicts(answer)["cgroup_kills"], verdicts(answer)["limit_hits"]
    assert kills["level"] == "critical" and kills["answer"].startswith("1 in /new ")
    assert hits["level"] == "warning" and hits["answer"].startswith("3 times since /new ")


def test_cgroups_that_cannot_be_read_have_unknown_limits_and_kills(tmp_path):
    answer = judged(tmp_path, machine({"/proc/self/cgroup": "0::/app.slice/web\n"}))
    assert {levels(answer)[name] for name in ("cgroup", "limit_hits", "cgroup_kills")} == {"unknown"}


def test_the_root_of_a_container_has_its_cgroup(tmp_path):
    """Whoever reads it from outside has no process there: the first one says it."""
    where = "/sys/fs/cgroup/memory"
    write_tree(tmp_path / "root", machine({
        "/proc/self/cgroup": None, "/proc/self/mountinfo": None, "/proc/1/cgroup": "4:memory:/docker/abc\n",
        "/proc/1/mountinfo": V1_MOUNT.replace(" / ", " /docker/abc ")}, v1_cgroup(where, 97 * MIB, 100 * MIB)))
    answer = ask("--root", tmp_path / "root", "--count", "1")
    assert answer["in_container"] and levels(answer)["cgroup"] == "critical"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.skipif(not recording.anybody_may_enter(pathlib.Path(recording.memtape())), reason="others cannot run what is built here")
@pytest.mark.parametrize("mode", [1, 2])
def test_who_cannot_see_others_is_told(mode):
    # In a namespace of its own: older kernels have one such setting for all mounts of one.
    command = (f"mount -t proc -o hidepid={mode} proc /proc || exit 99; setpriv --reuid 65534 --regid 65534 --clear-groups "
               f"{recording.memtape()} triage --count 1 --json || exit 98")
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", command], capture_output=True, text=True)
    if done.returncode not in (0, 98):
        pytest.skip(f"/proc cannot be mounted here: {done.stderr}")
    answer = json.loads(done.stdout)
    assert "hidden" in verdicts(answer)["processes"]["answer"] and "/proc/1/status" in {row["path"] for row in answer["missing"]}
    assert "hidden" not in verdicts(ask("--count", "1"))["processes"]["answer"]


@pytest.mark.parametrize("some, full, level", [(0, 0, "ok"), (11, 0, "warning"), (30, 6, "critical")])
def test_pressure_in_the_cgroup(tmp_path, some, full, level):
    answer = judged(tmp_path, machine(in_cgroup(MIB), {LEAF + "/memory.pressure": pressure(some, full)}), subject=100)
    assert levels(answer)["waiting"] == level and levels(answer)["pressure"] == "ok"
    assert answer["cgroups"][0]["some_avg10"] == some


def test_version_1_says_the_same(tmp_path):
    leaf = "/sys/fs/cgroup/memory/jobs/a"
    files = {"/proc/100/cgroup": "4:memory:/jobs/a\n1:cpu:/\n0::/\n", "/proc/self/mountinfo": V1_MOUNT,
             **v1_cgroup(leaf, 97 * MIB, 100 * MIB, failcnt=38, oom_kill=1), **v1_cgroup("/sys/fs/cgroup/memory/jobs", 97 * MIB)}
    answer = judged(tmp_path, machine(files), subject=100)
    assert levels(answer)["cgroup"] == "critical" and levels(answer)["cgroup_kills"] == "warning"
    assert [(row["name"], row["limit"], row["limit_hits"]) for row in answer["cgroups"]] == [
        ("/jobs/a", 100 * MIB, 38), ("/jobs", None, 0), ("/", None, None)]


def leak(mib, **more):
    return machine(process(100, "server", rss=mib * MIB, **more), in_cgroup((mib + 10) * MIB, limit=300 * MIB))


def test_a_leak_under_a_limit_is_foretold(tmp_path):
    answer = judged(tmp_path, *(leak(100 + 2 * i) for i in range(10)), subject=100)
    subject, verdict = answer["subject"], verdicts(answer)["growth"]
    assert subject["growth"] == pytest.approx(2 * MIB) and subject["growth_fit"] == 1
    assert subject["time_to_limit_of"] == "limit of the cgroup /app.slice/web" and "10 looks" in subject["time_to_limit_by"]
    assert subject["time_to_limit_ns"] == pytest.approx((300 - 128) / 2 * 1e9, rel=1e-6)
    assert verdict["level"] == "critical" and verdict["next"] == "memtape leaks 100"
    two = judged(tmp_path, leak(100), leak(102), subject=100)
    assert levels(two)["growth"] == "warning" and two["subject"]["growth_fit"] is None


def test_nothing_is_foretold_of_a_process_that_has_ended(tmp_path):
    gone = {path: None for path in process(100)}
    answer = judged(tmp_path, *(leak(100 + 2 * i) for i in range(4)), machine(gone, in_cgroup(200 * MIB, limit=300 * MIB)), subject=100)
    assert answer["subject"]["has_ended"] and answer["subject"]["rss"] == 106 * MIB
    assert answer["subject"]["time_to_limit_ns"] is None and levels(answer)["growth"] != "critical"


def test_a_process_that_is_killed_while_it_is_looked_at(tmp_path):
    gone = {path: None for path in [*process(100), "/proc/100/cgroup"]}
    answer = judged(tmp_path, machine(in_cgroup(99 * MIB)), machine(in_cgroup(MIB, events={"oom_kill": 1}), gone), subject=100)
    assert answer["subject"]["has_ended"] and levels(answer)["cgroup_kills"] == "critical"
    assert answer["cgroups"][0]["name"] == "/app.slice/web" and answer["cgroups"][0]["new_oom_kills"] == 1
    # Of one that is ending, or waits for its parent, the kernel still says something, and it is wrong.
    for change in ({"State": "Z (zombie)"}, {"VmRSS": "none"}):
        ending = {**process(100, rss=8 * MIB, **change), "/proc/100/cgroup": "0::/\n"}
        answer = judged(tmp_path, machine(in_cgroup(99 * MIB)), machine(in_cgroup(MIB, events={"oom_kill": 1}), ending), subject=100)
        assert answer["subject"]["rss"] == 200 * MIB
        assert answer["subject"]["has_ended"] and answer["cgroups"][0]["new_oom_kills"] == 1


def test_who_is_ending_is_not_among_the_largest(tmp_path):
    answer = judged(tmp_path, machine(process(300, VmRSS="none"), process(400, State="Z (zombie)")))
    assert [row["pid"] for row in answer["processes"]] == [100, 200]


def test_a_thread_of_the_kernel_has_no_memory_and_has_not_ended(tmp_path):
    answer = judged(tmp_path, machine(process(100, VmRSS="none")), machine(process(100, VmRSS="none")), subject=100)
    assert not answer["subject"]["has_ended"] and answer["subject"]["rss"] is None and levels(answer)["process"] == "unknown"


def test_what_goes_up_and_down_is_no_growth(tmp_path):
    answer = judged(tmp_path, *(leak(100 + (30 if i % 2 else 0) + i) for i in range(10)), subject=100)
    assert answer["subject"]["growth"] > 0 and levels(answer)["growth"] == "ok"


def test_another_process_with_the_same_number_is_another(tmp_path):
    answer = judged(tmp_path, leak(100), leak(300, start=999), subject=100)
    assert answer["subject"]["growth"] is None and answer["subject"]["minor_faults"] is None
    assert levels(answer)["growth"] == levels(answer)["faults"] == "unknown"


def test_the_limits_of_the_process_itself(tmp_path):
    limits = {"/proc/100/limits": "Max address space         838860800            unlimited            bytes\n"}
    answer = judged(tmp_path, machine(limits), subject=100)
    verdict = verdicts(answer)["rlimits"]
    assert verdict["level"] == "critical" and "RLIMIT_AS" in verdict["answer"] and "100.0 %" in verdict["answer"]


def test_faults_of_the_process(tmp_path):
    answer = judged(tmp_path, machine(), machine(process(100, minor=1500, major=150)), subject=100)
    assert answer["subject"]["minor_faults"] == 500 and answer["subject"]["major_faults"] == 150
    assert levels(answer)["faults"] == "warning"


def test_memory_that_failed(tmp_path):
    answer = judged(tmp_path, machine({"/proc/meminfo": meminfo(HardwareCorrupted=8 * MIB)}))
    assert levels(answer)["hardware"] == "warning" and "8.0 MiB" in verdicts(answer)["hardware"]["answer"]


# --- what is not known -----------------------------------------------------------------------------

def test_what_cannot_be_read_is_unknown_and_never_zero(tmp_path):
    files = machine({"/proc/vmstat": errno.EACCES, "/proc/pressure/memory": errno.ENOENT, "/dev/kmsg": errno.EPERM,
                     "/proc/meminfo": "MemTotal: 100 kB\n"})
    answer = judged(tmp_path, files, files)
    unknown = {name for name, level in levels(answer).items() if level == "unknown"}
    assert unknown == {"memory", "commit", "swap", "swapping", "paging", "pressure", "oom_kills"}
    assert set(answer["rates"].values()) == {None} and answer["memory"]["available"] is None and answer["oom_kills"] is None
    assert {row["path"] for row in answer["missing"]} == {"/proc/vmstat", "/proc/pressure/memory", "/dev/kmsg"}
    text = run(tmp_path / "looks.txt").stdout.decode()
    assert "Not read: " in text and "/proc/vmstat (Permission denied)" in text.replace("\n", " ")


def test_what_others_lack_is_not_missed(tmp_path):
    """A process that has ended, a controller that is not there."""
    files = machine({"/proc/300/status": errno.ENOENT, "/proc/100/smaps_rollup": errno.ESRCH, "/proc/200/oom_score": errno.EACCES})
    assert [row["path"] for row in judged(tmp_path, files)["missing"]] == ["/proc/200/oom_score"]


def test_one_look_has_no_rates():
    answer = ask("--count", "1")
    assert set(answer["rates"].values()) == {None}
    assert levels(answer)["swapping"] == levels(answer)["paging"] == "unknown"
    assert "--count 2" in verdicts(answer)["swapping"]["answer"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not recording.anybody_may_enter(pathlib.Path(recording.memtape())), reason="others cannot run what is built here")
def test_an_ordinary_user_sees_what_one_may_see():
    answer = ask("--pid", "1", "--interval", "100ms", user=65534, group=65534, extra_groups=[])
    assert "/proc/1/smaps_rollup" in {row["path"] for row in answer["missing"]}
    assert answer["subject"]["pss"] is None and answer["subject"]["rss"] == proc_kib(1, "status", "VmRSS")
    assert answer["memory"]["total"] == proc_kib("", "meminfo", "MemTotal")
    assert answer["oom_kills"] is not None and levels(answer)["oom_kills"] != "unknown"


# --- other roots -----------------------------------------------------------------------------------

def test_a_saved_tree_is_read(tmp_path):
    write_tree(tmp_path / "root", machine({"/dev/kmsg": kernel_log(4990)}, in_cgroup(96 * MIB)))
    answer = ask("--root", tmp_path / "root", "--pid", "100", "--count", "1")
    assert answer["host"] == "made-up" and answer["memory"]["total"] == 16 * GIB
    assert levels(answer)["cgroup"] == "critical" and levels(answer)["oom_kills"] == "critical"
    assert [row["pid"] for row in answer["processes"]] == [100, 200] and answer["process_count"] == 2


def test_links_of_another_root_lead_nowhere_but_into_it(tmp_path):
    root = tmp_path / "root"
    write_tree(root, machine())
    (tmp_path / "secret").write_text("some avg10=77.00 avg60=0.00 avg300=0.00 total=1\n")
    for name in ("/proc/pressure/memory", "/proc/uptime"):
        (root / name.lstrip("/")).unlink()
    (root / "proc/pressure/memory").symlink_to("../../../secret")
    os.mkfifo(root / "proc/uptime")  # and who waits for ever is not read
    answer = ask("--root", root, "--count", "1", timeout=20)
    assert answer["pressure"]["some_avg10"] is None
    assert {"/proc/pressure/memory", "/proc/uptime"} <= {row["path"] for row in answer["missing"]}


@pytest.mark.parametrize("change", [
    {"/proc/self/ns/cgroup": "cgroup:[4026532999]\n"}, {"/proc/self/ns/pid": "pid:[4026532999]\n"},
    {"/proc/self/cgroup": "4:memory:/docker/abc\n", "/proc/self/mountinfo": V1_MOUNT.replace(" / ", " /docker/abc ")}])
def test_a_container_says_that_it_is_one(tmp_path, change):
    path = write_recording(tmp_path / "looks.txt", [machine(change)])
    assert ask(path)["in_container"] and b"container" in run(path).stdout
    same = {"/proc/self/ns/cgroup": "cgroup:[4026531835]\n", "/proc/self/ns/pid": "pid:[4026531836]\n"}
    path = write_recording(path, [machine(same)])
    assert not ask(path)["in_container"] and b"container" not in run(path).stdout


# --- the screen ------------------------------------------------------------------------------------

HOSTILE = process(100, "\x1b[31mred\x07;rm -rf ~")


def busy(tmp_path):
    name = "/sys/fs/cgroup/" + "very-long-name/" * 8 + "end"
    files = machine(HOSTILE, {"/proc/100/cgroup": "0::" + name[len("/sys/fs/cgroup"):] + "\n", **v2_cgroup(name, 99 * MIB, 100 * MIB),
                              "/dev/kmsg": kernel_log(4999, name="a) total-vm:1kB, b", cgroup="/x"), "/proc/vmstat": vmstat(pswpin=10**8)})
    return write_recording(tmp_path / "looks.txt", [machine(HOSTILE), files], subject=100)


def test_the_screen_is_80_columns_wide(tmp_path):
    lines = run(busy(tmp_path)).stdout.decode().splitlines()
    # A cgroup's name has no blank at which a line could end.
    assert not [line for line in lines if len(line) > 80 and line.strip().count(" ")]
    assert len(run().stdout.decode().splitlines()) < 60


def test_names_cannot_write_to_the_terminal_or_into_commands(tmp_path):
    path = busy(tmp_path)
    text = run(path).stdout
    assert b"\x1b" not in text and b"\x07" not in text
    for verdict in ask(path)["verdicts"]:
        assert not verdict["next"] or re.fullmatch(r"memtape [-a-zA-Z0-9. ]+", verdict["next"])


def on_terminal(*args, **environment):
    primary, secondary = pty.openpty()
    with subprocess.Popen([recording.memtape(), "triage", *args], stdout=secondary, env=recording.clean_env(TERM="xterm", **environment)) as it:
        os.close(secondary)
        text = b""
        try:
            while part := os.read(primary, 65536):
                text += part
        except OSError:
            pass
    os.close(primary)
    assert it.returncode == 0
    return text


def test_colours_are_for_terminals(tmp_path):
    path = write_recording(tmp_path / "looks.txt", [machine({"/proc/meminfo": meminfo(available=MIB)})])
    assert b"\x1b[31mcritical" in on_terminal(path) and b"\x1b[32mok" in on_terminal(path)
    assert b"\x1b" not in on_terminal(path, NO_COLOR="1") and b"\x1b" not in run(path).stdout


def test_every_next_command_exists(tmp_path):
    """Those of all levels and questions, with their options."""
    words = set(re.findall(r'"((?:attach|triage|leaks|trace|record)[^"]*)"',
                           "".join(path.read_text() for path in (recording.ROOT / "src/ask/triage").glob("*.c"))))
    words |= {word[len("memtape "):] for path in (recording.ROOT / "src/ask/triage").glob("*.c")
              for word in re.findall(r'"(memtape \w+ [^"]*)"', path.read_text())}
    assert len(words) >= 5
    for command in words:
        name, *options = command.split()
        text = recording.run([recording.memtape(), name, "--help"]).stdout.decode()
        for option in options:
            if name == "trace" or option.startswith("-") and option != "--":
                assert re.search(rf"(^| ){re.escape(option)}\b", text, re.M), (command, option)


def test_fail_on(tmp_path):
    warning = write_recording(tmp_path / "warning.txt", [machine({"/proc/meminfo": meminfo(available=GIB)}), machine({"/proc/meminfo": meminfo(available=GIB)})])
    fine = write_recording(tmp_path / "fine.txt", [machine(), machine()])
    assert ask(warning)["level"] == "warning"
    run(warning), run(warning, "--fail-on", "critical"), run(fine, "--fail-on", "warning")
    assert run(warning, "--fail-on", "warning", code=1).stderr == b""


def test_the_manual_has_every_member_and_every_verdict(tmp_path):
    text = (recording.ROOT / "docs/man/memtape-triage.1").read_text().replace("\\-", "-")
    answer = judged(tmp_path, machine(in_cgroup(MIB)), subject=100)
    verdict_section, json_section = text.split(".SH VERDICTS")[1].split(".SH RECORDINGS")[0], text.split(".SH JSON")[1]
    assert set(re.findall(r"^\.TP\n\.B (.+)$", verdict_section, re.M)) == set(levels(answer))
    for key in [*answer, *answer["verdicts"][0]]:
        assert re.search(rf"^\.BR? {key}\b", json_section, re.M), key


# --- one real machine ------------------------------------------------------------------------------

class Cgroup:
    """One with a limit, of the version that this machine has."""

    def __init__(self, limit):
        self.is_v1 = (MEMORY_V1 / "memory.limit_in_bytes").exists()
        top = MEMORY_V1 if self.is_v1 else pathlib.Path("/sys/fs/cgroup")
        self.path = top / f"memtape-triage-{os.getpid()}"
        try:
            self.path.mkdir()
            (self.path / ("memory.limit_in_bytes" if self.is_v1 else "memory.max")).write_text(str(limit))
        except OSError as reason:
            if self.path.exists():
                self.path.rmdir()
            pytest.skip(f"no cgroup to be made here: {reason}")

    def number(self, v1, v2):
        return int((self.path / (v1 if self.is_v1 else v2)).read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for attempt in range(100):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.05)


GROWING = """
for i in range(8):
    held.append(bytearray(3 << 20)); time.sleep(0.1)
input()
while True:
    held.append(bytearray(3 << 20))
"""


def test_a_real_process_that_grows_into_its_limit_and_is_killed(tmp_path):
    """The growth before it, and the kill afterwards: its cgroup, its size, and who it was."""
    with Cgroup(64 * MIB) as cgroup, Child(f"open('{cgroup.path}/cgroup.procs', 'w').write(str(os.getpid()))\nheld = []", end=GROWING,
                                           stdin=subprocess.PIPE) as child:
        answer = ask("--pid", str(child.pid), "--interval", "100ms", "--count", "7")
        own = answer["cgroups"][0]
        assert own["name"] == "/" + cgroup.path.name and own["limit"] == 64 * MIB and own["oom_kills"] == 0
        assert answer["subject"]["growth"] > 5 * MIB and answer["subject"]["time_to_limit_of"] == f"limit of the cgroup {own['name']}"
        assert levels(answer)["growth"] == "critical" and own["usage"] <= own["peak"] <= 64 * MIB
        found = next(row for row in ask("--count", "1")["cgroups"] if row["name"] == own["name"])
        assert found["limit"] == 64 * MIB and found["pid"] == child.pid and 20 < found["used_percent"] < 100
        looks = tmp_path / "looks.txt"
        with subprocess.Popen([recording.memtape(), "triage", "--json", "-p", str(child.pid), "-i", "200ms", "-c", "8", "-o", looks],
                              stdout=subprocess.PIPE) as it:
            while not looks.exists() or "/dev/kmsg" not in looks.read_text():
                time.sleep(0.02)
            child.stdin.write("\n"), child.stdin.flush()
            meanwhile = json.loads(it.communicate(timeout=60)[0])
        assert child.wait(timeout=60) == -signal.SIGKILL
        assert meanwhile["subject"]["has_ended"] and meanwhile["cgroups"][0]["new_oom_kills"] == 1
        assert levels(meanwhile)["cgroup_kills"] == levels(meanwhile)["oom_kills"] == "critical"
        with Child(f"open('{cgroup.path}/cgroup.procs', 'w').write(str(os.getpid()))") as other:
            after = ask("--pid", str(other.pid), "--interval", "50ms")
            own = after["cgroups"][0]
            assert own["oom_kills"] == 1 and own["limit_hits"] > 0
            if cgroup.is_v1:
                assert own["limit_hits"] == cgroup.number("memory.failcnt", "") and own["peak"] == cgroup.number("memory.max_usage_in_bytes", "")
        assert levels(after)["cgroup_kills"] == "warning" and levels(after)["oom_kills"] == "critical"
        if not any(row["path"] == "/dev/kmsg" for row in after["missing"]):
            kill = next(kill for kill in after["kills"] if kill["pid"] == child.pid)
            assert kill["cgroup"] == own["name"] and kill["ago_ns"] < 60e9 and 20 * MIB < kill["anonymous"] < 128 * MIB
