"""The system's memory on a tape: its figures are those of the kernel, its verdicts those of memtape triage, and what is
not known is null."""
import json
import pathlib
import subprocess
import sys

import pytest

import recording
from looks import GIB, MIB, machine, meminfo, pressure, v2_cgroup, vmstat, write_recording
from tape_writer import TapeWriter
from test_triage import Cgroup

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

PAGE = 4096
CALM = {"memory": 16 * GIB, "available": 12 * GIB, "swap": 2 * GIB, "swap_free": 2 * GIB, "swapped_in": 0, "swapped_out": 0,
        "major_faults": 50, "oom_kills": 3, "some_avg10": 0, "full_avg10": 0, "some_us": 1000, "full_us": 500}
OWN = {"cgroup": 50 * MIB, "cgroup_inactive": 0, "cgroup_limit": 100 * MIB, "cgroup_limit_hits": 5, "cgroup_high_hits": 0,
       "cgroup_ooms": 1, "cgroup_oom_kills": 1, "cgroup_some_avg10": 0, "cgroup_full_avg10": 0, "cgroup_some_us": 0,
       "cgroup_full_us": 0}


def made(path, *samples, seconds=1, cgroups=None):
    """A tape with a sample of the system a second; cgroups: number of the sample -> name."""
    tape = TapeWriter()
    collector, main = tape.collector(), tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    for number, values in enumerate(samples):
        tape.at(number * seconds * 1000)
        if number in (cgroups or {0: "/app/web"}):
            tape.cgroup(collector, (cgroups or {0: "/app/web"})[number])
        tape.usage(collector, (number + 1) * MIB)
        tape.system(collector, **values)
    tape.clock(main)
    main.event(0, 1 << 20, 100)
    tape.write(path)
    return path


def usage(tape, *options):
    return recording.report(tape, "usage", *options)


def verdicts(answer):
    return {verdict["name"]: verdict for verdict in answer["verdicts"]}


# --- made-up tapes -------------------------------------------------------------------------------------

MACHINES = {
    "healthy": {},
    "little is available": {"available": GIB},
    "next to nothing is available": {"available": GIB // 4},
    "swap is nearly full": {"swap_free": GIB // 8},
    "no swap": {"swap": 0, "swap_free": 0},
    "swapping out": {"swapped_out": 9000 * PAGE},
    "thrashing": {"swapped_in": 300 * PAGE, "swapped_out": 300 * PAGE},
    "something waits": {"some_avg10": 1200, "full_avg10": 10},
    "everything waits": {"some_avg10": 3000, "full_avg10": 900},
    "a leak under its limit": {"cgroup": 85 * MIB},
    "at the limit": {"cgroup": 99 * MIB, "cgroup_limit_hits": 12},
    "cache does not count": {"cgroup": 99 * MIB, "cgroup_inactive": 90 * MIB},
    "at the lower limit": {"cgroup": 85 * MIB, "cgroup_high": 88 * MIB, "cgroup_high_hits": 7},
    "the cgroup waits": {"cgroup_some_avg10": 2000, "cgroup_full_avg10": 700},
    "killed in the cgroup": {"cgroup_oom_kills": 2, "oom_kills": 4},
}


def files_of(values):
    """The files in which a machine says so."""
    cgroup = v2_cgroup("/sys/fs/cgroup/app/web", values["cgroup"], values["cgroup_limit"],
                       events={"max": values["cgroup_limit_hits"], "high": values["cgroup_high_hits"], "oom": values["cgroup_ooms"],
                               "oom_kill": values["cgroup_oom_kills"]}, stat={"inactive_file": values["cgroup_inactive"]})
    cgroup["/sys/fs/cgroup/app/web/memory.high"] = f"{values.get('cgroup_high', 'max')}\n"
    cgroup["/sys/fs/cgroup/app/web/memory.pressure"] = pressure(values["cgroup_some_avg10"] / 100, values["cgroup_full_avg10"] / 100)
    return machine({
        "/proc/meminfo": meminfo(values["memory"], values["available"], values["swap"], values["swap"] - values["swap_free"]),
        "/proc/vmstat": vmstat(pswpin=values["swapped_in"] // PAGE, pswpout=values["swapped_out"] // PAGE,
                               pgmajfault=values["major_faults"], oom_kill=values["oom_kills"]),
        "/proc/pressure/memory": pressure(values["some_avg10"] / 100, values["full_avg10"] / 100),
        "/proc/100/cgroup": "0::/app/web\n", **cgroup})


@pytest.mark.parametrize("name", MACHINES)
def test_the_verdicts_are_those_of_triage(tmp_path, name):
    first, last = {**CALM, **OWN}, {**CALM, **OWN, **MACHINES[name]}
    ours = verdicts(usage(made(tmp_path / "x.mtape", first, last)))
    looks = write_recording(tmp_path / "looks.txt", [files_of(first), files_of(last)], subject=100)
    theirs = verdicts(json.loads(recording.run([recording.memtape(), "triage", looks, "--json"]).stdout))
    for question in ("memory", "swap", "cgroup", "swapping", "pressure", "waiting"):
        assert ours[question]["level"] == theirs[question]["level"], question
        assert ours[question]["answer"] == theirs[question]["answer"] or theirs[question]["level"] == "ok", question
    assert ours["limit_hits"]["level"] == theirs["limit_hits"]["level"]
    is_killed = theirs["cgroup_kills"]["level"] == "critical"  # triage warns of kills of before, too
    assert ours["cgroup_kills"]["level"] == ("critical" if is_killed else "ok")


@pytest.mark.parametrize("name, named", [
    ("healthy", None), ("little is available", "memory"), ("swapping out", "swapping"), ("thrashing", "swapping"),
    ("something waits", None), ("everything waits", None), ("at the limit", "cgroup"), ("killed in the cgroup", "cgroup_kills")])
def test_where_it_matters_every_report_says_so(tmp_path, name, named):
    """A neighbour's pressure does not: this machine, and this cgroup, have enough."""
    tape = made(tmp_path / "x.mtape", {**CALM, **OWN}, *[{**CALM, **OWN, **MACHINES[name]}] * 3)
    answer, summary = usage(tape), recording.report(tape, "summary")
    found = [finding for finding in recording.report(tape, "findings")["findings"] if finding["type"] == "shortage"]
    text = recording.run([recording.memtape(), "report", tape]).stdout.decode()
    words = recording.report(tape, "rss")["explanation"]
    if not named:
        assert "shortage" not in summary and not found and " system " not in text and "short of memory" not in words
        return
    verdict = verdicts(answer)[named]
    assert summary["shortage"] == {"name": named, "level": answer["level"], "answer": verdict["answer"], "time_ns": verdict["time_ns"]}
    assert verdict["answer"] in found[0]["evidence"] and found[0]["command"] == "usage"
    assert verdict["answer"] in words and "was short of memory meanwhile" in words
    assert f"{answer['level']}   {verdict['answer']}, after" in next(line for line in text.splitlines() if " system " in line)
    assert " usage " in text
    assert f"{verdict['level']:<10}{verdict['answer']}" in recording.run([recording.memtape(), "report", tape, "usage"]).stdout.decode()


def test_a_kill_on_the_machine_counts_where_it_has_little_memory(tmp_path):
    enough = [{**CALM, "oom_kills": 3}, {**CALM, "oom_kills": 4}]
    little = [{**CALM, "available": GIB, "oom_kills": 3}, {**CALM, "available": GIB, "oom_kills": 4}]
    for samples, matters in ((enough, False), (little, True)):
        verdict = verdicts(usage(made(tmp_path / "x.mtape", *samples)))["oom_kills"]
        assert (verdict["level"], verdict["matters"]) == ("critical", matters)
        assert verdict["answer"] == "1 process was killed for want of memory, on the whole machine"


def test_a_warning_for_a_moment_is_no_finding_and_time_is_counted(tmp_path):
    tape = made(tmp_path / "x.mtape", *[{**CALM, "available": GIB if i == 7 else 12 * GIB} for i in range(21)])
    verdict = verdicts(usage(tape))["memory"]
    assert (verdict["level"], verdict["matters"]) == ("warning", False)
    assert (verdict["time_ns"], verdict["short_ns"]) == (7 * 10**9, 10**9)


def test_what_is_not_known_is_null(tmp_path):
    tape = made(tmp_path / "x.mtape", {}, {"available": 5}, cgroups={9: ""})
    answer = usage(tape)
    assert answer["level"] == "unknown" and {verdict["level"] for verdict in answer["verdicts"]} == {"unknown"}
    assert answer["cgroup"] is None
    for row in answer["usage"]:
        assert row.pop("ns") >= 0 and row.pop("rss") > 0
        assert row.pop("available") in (None, 5) and set(row.values()) == {None}
    done = recording.run([recording.memtape(), "sql", tape, "select * from system", "--json"])
    assert all(value is None for row in json.loads(done.stdout) for key, value in row.items() if key not in ("id", "ns", "available_bytes"))
    none = TapeWriter()
    main = none.stream(1, "main")
    none.process(main, "/bin/x", "x")
    none.write(tmp_path / "none.mtape")
    answer = usage(tmp_path / "none.mtape")
    assert answer["level"] is None and answer["verdicts"] == answer["usage"] == []
    assert any("no samples of the system" in text for text in recording.report(tmp_path / "none.mtape", "findings")["missing"])


def test_counts_grow_from_row_to_row_and_only_of_one_cgroup(tmp_path):
    tape = made(tmp_path / "x.mtape", {**CALM, "major_faults": 50, **OWN}, {**CALM, "major_faults": 57, **OWN, "cgroup_limit_hits": 9},
                {**CALM, "major_faults": 40, **OWN, "cgroup_limit_hits": 2}, {**CALM, "major_faults": 41, **OWN, "cgroup_limit_hits": 8},
                cgroups={0: "/a", 3: "/b"})
    rows = usage(tape)["usage"]
    assert [row["system_major_faults"] for row in rows] == [None, 7, None, 1]
    assert [row["cgroup_limit_hits"] for row in rows] == [None, 4, None, None] and usage(tape)["cgroup"] == "/b"
    later = usage(tape, "--from", "1s")["usage"]
    assert later[0]["system_major_faults"] == 7
    one = usage(tape, "--points", "1")["usage"]
    assert [(row["system_major_faults"], row["rss"], row["available"]) for row in one] == [(8, 4 * MIB, 12 * GIB)]


def test_records_that_are_cut_or_of_strange_times_are_survived(tmp_path):
    tape = TapeWriter()
    collector, main = tape.collector(), tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    collector.extended(53, bytes(40))
    collector.extended(54, bytes(4))
    for at in (2000, 1000, 3000):
        tape.at(at)
        tape.system(collector, **CALM)
    tape.clock(main)
    main.event(0, 1 << 20, 100)
    tape.write(tmp_path / "x.mtape")
    assert len(usage(tmp_path / "x.mtape")["usage"]) > 0


def test_anonymised_the_cgroup_has_another_name_and_the_same_figures(tmp_path):
    tape = made(tmp_path / "x.mtape", {**CALM, **OWN}, {**CALM, **OWN, "cgroup": 99 * MIB}, cgroups={0: "/customer-17"})
    done = recording.run([recording.memtape(), "anonymise", tape, "-o", tmp_path / "y.mtape"])
    assert done.returncode == 0, done.stderr
    ours, theirs = usage(tape), usage(tmp_path / "y.mtape")
    assert theirs["usage"] == ours["usage"] and theirs["cgroup"] and "customer" not in json.dumps(theirs)
    assert b"customer" not in (tmp_path / "y.mtape").read_bytes()


# --- recordings ----------------------------------------------------------------------------------------

def kernel():
    """What the kernel says now, under the names of SQL."""
    info = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
            if line.endswith("kB")}
    counts = {line.split()[0]: int(line.split()[1]) for line in pathlib.Path("/proc/vmstat").read_text().splitlines()}
    values = {"memory_bytes": info["MemTotal"], "swap_bytes": info["SwapTotal"], "major_faults": counts["pgmajfault"],
              "swapped_in_bytes": counts["pswpin"] * PAGE, "swapped_out_bytes": counts["pswpout"] * PAGE, "oom_kills": counts["oom_kill"]}
    psi = pathlib.Path("/proc/pressure/memory")
    if psi.exists():
        for line in psi.read_text().splitlines():
            values[line.split()[0] + "_us"] = int(line.rpartition("total=")[2])
    return values


def samples(tape):
    return json.loads(recording.run([recording.memtape(), "sql", tape, "select * from system", "--json"]).stdout)


def test_the_samples_are_what_the_kernel_says(tape):
    before = kernel()
    done = recording.run_recorded([sys.executable, "-c", "import time; time.sleep(0.3)"], tape)
    after = kernel()
    assert done.returncode == 0
    rows = samples(tape)
    assert len(rows) >= 2
    for row in rows:
        for name, value in before.items():
            assert value <= row[name] <= after[name], name
        assert 0 < row["available_bytes"] < row["memory_bytes"] and row["swap_free_bytes"] <= row["swap_bytes"]
    assert [row["ns"] for row in rows] == sorted(row["ns"] for row in rows)
    assert usage(tape)["usage"][-1]["memory"] == before["memory_bytes"]


EATER = """
import os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
time.sleep(0.2)  # so that a sample sees it here, before anything happens
held = []
while True:
    held.append(bytearray(2 << 20)); time.sleep(0.005)
"""


def test_a_program_that_its_cgroup_kills(tape):
    """It is moved there while it is recorded; the last sample is from after the kill."""
    with Cgroup(96 * MIB) as cgroup:
        done = recording.run_recorded([sys.executable, "-c", EATER, cgroup.path], tape)
        hits = cgroup.number("memory.failcnt", "") if cgroup.is_v1 else None
    assert done.returncode != 0
    answer, summary = usage(tape), recording.report(tape, "summary")
    assert summary["process"]["signal"] == 9 and summary["shortage"]["name"] == "cgroup_kills"
    assert answer["cgroup"] == "/" + cgroup.path.name and answer["level"] == "critical"
    last = samples(tape)[-1]
    assert last["cgroup_oom_kills"] == 1 and last["cgroup_limit_bytes"] == 96 * MIB
    if hits is not None:
        assert last["cgroup_limit_hits"] == hits > 0
    assert sum(row["cgroup_oom_kills"] or 0 for row in answer["usage"]) == 1
    first = recording.report(tape, "findings")["findings"][0]
    assert first["type"] == "shortage" and cgroup.path.name in first["evidence"] and first["title"] == "The program's cgroup was short of memory"


def test_a_process_that_is_attached_to_has_its_cgroup(tape, tmp_path):
    with Cgroup(512 * MIB) as cgroup:
        program = subprocess.Popen([sys.executable, "-c", f"open('{cgroup.path}/cgroup.procs', 'w').write(str(__import__('os').getpid()))\n"
                                    "print('ready', flush=True)\nimport time\nwhile True: held = bytearray(5000); time.sleep(0.01)"],
                                   stdout=subprocess.PIPE)
        try:
            assert program.stdout.readline() == b"ready\n"
            done = recording.run([recording.memtape(), "attach", str(program.pid), "--duration", "500ms", "-o", tape])
            if done.returncode != 0 and b"permitted" in done.stderr:
                pytest.skip("no process may be attached to here")
            assert done.returncode == 0, done.stderr
        finally:
            program.kill()
            program.communicate()
        answer = usage(tape)
        assert answer["cgroup"] == "/" + cgroup.path.name
        assert {row["cgroup_limit"] for row in answer["usage"]} - {None} == {512 * MIB}
        assert answer["level"] != "unknown" and any(row["cgroup"] for row in answer["usage"])
