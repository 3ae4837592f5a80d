"""How much of their stacks threads used, against what tests/targets/stack_use.c says of itself."""

import resource
import signal
import struct
import subprocess

import pytest

import recording
from tape_reader import Tape

PAGE = 4096
BESIDE = 3 * PAGE  # what printf, malloc and the recorder need below, and a page that is counted whole
STACK_USE = 34
TARGETS = ["stack_use", "stack_use-O0", "stack_use-fp", "stack_use-clang"]


def told(outcome):
    """By tid: (name, bytes of the stack, bytes used) as the threads printed them."""
    rows = [line.split() for line in outcome.stdout.decode().splitlines()]
    return {int(tid): (name, int(reserved), int(used)) for name, tid, reserved, used in
            (row for row in rows if len(row) == 4)}


def threads(tape, *options):
    return {row["tid"]: row for row in recording.report(tape, "threads", *options)["threads"]}


def records(tape):
    names = ("tid", "flags", "top", "reserved_bytes", "seen", "touched", "before")
    return [dict(zip(names, struct.unpack("<IIQQQQQ", payload)))
            for _, _, kind, payload in Tape(tape).extended if kind == STACK_USE]


def target(name):
    path = recording.target(name)
    return path if path.exists() else pytest.skip(f"{name} is not built here")


def run(tmp_path, how, name="stack_use", **more):
    tape = tmp_path / "tape.mtape"
    return told(recording.run_bare([target(name), how, "say"], tape, **more)), threads(tape), tape


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    tape = tmp_path_factory.mktemp("stacks") / "tape.mtape"
    outcome = recording.run_recorded([target("stack_use"), "threads", "say"], tape)
    return told(outcome), threads(tape), tape


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_touched_is_known_within_pages(tmp_path, name):
    truth, rows, _ = run(tmp_path, "threads", name)
    exact = {"plain", "late", "sized", "given", "gap", "alive", "main"}
    assert exact <= {what for what, _, _ in truth.values()}
    for tid, (what, reserved, used) in truth.items():
        row = rows[tid]
        if what not in exact:
            continue
        assert row["stack_known"] == "pages", what
        assert used <= row["stack_used_bytes"] <= used + BESIDE, what
        if what != "main":  # whose the C library rounds
            assert row["stack_bytes"] == reserved, what


@pytest.mark.parametrize("name", TARGETS)
def test_where_pages_were_touched_before_it_is_a_lower_bound(tmp_path, name):
    truth, rows, _ = run(tmp_path, "threads", name)
    seen = 0
    for tid, (what, _, used) in truth.items():
        if what in ("dirty", "after", "coroutine", "handler"):
            assert rows[tid]["stack_known"] == "events", what
            assert 0 < rows[tid]["stack_used_bytes"] <= used + PAGE, what
            seen += 1
    assert seen == 4


def test_an_event_at_the_bottom_is_seen_within_a_page(tmp_path):
    truth, _, tape = run(tmp_path, "threads")
    tid, used = next((tid, used) for tid, (what, _, used) in truth.items() if what == "sized")
    seen = [record["seen"] for record in records(tape) if record["tid"] == tid]
    assert seen[0] < 2 * PAGE  # when it began
    assert used - PAGE <= seen[-1] <= used + PAGE


def test_a_collector_changes_nothing(recorded):
    truth, rows, _ = recorded
    for tid, (what, _, used) in truth.items():
        if rows[tid]["stack_known"] == "pages":
            assert used <= rows[tid]["stack_used_bytes"] <= used + BESIDE, what
        else:
            assert rows[tid]["stack_used_bytes"] <= used + PAGE, what


def test_the_first_thread_has_what_the_limit_says(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    want = 3 << 20
    if hard != resource.RLIM_INFINITY and hard < want:
        pytest.skip("no such limit can be set")
    truth, rows, tape = run(tmp_path, "threads", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_STACK, (want, hard)))
    tid = next(tid for tid, (what, _, _) in truth.items() if what == "main")
    assert rows[tid]["stack_bytes"] == want


def test_without_a_limit_nothing_is_said_of_what_is_reserved(tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard != resource.RLIM_INFINITY:
        pytest.skip("the limit cannot be lifted")
    truth, rows, tape = run(tmp_path, "threads", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_STACK, (hard, hard)))
    tid, used = next((tid, used) for tid, (what, _, used) in truth.items() if what == "main")
    assert rows[tid]["stack_bytes"] is None
    assert rows[tid]["stack_known"] == "pages"
    text = recording.run([recording.memtape(), "report", tape, "threads"]).stdout.decode()
    assert "no limit" in text


def test_many_short_threads_are_told_each(tmp_path):
    _, rows, tape = run(tmp_path, "crowd")
    short = [row for row in rows.values() if row["creator"] is not None]
    assert len(short) == 1500
    for row in short:
        assert row["stack_bytes"] == short[0]["stack_bytes"] >= 64 << 10
        assert row["stack_known"] and row["stack_used_bytes"] < 64 << 10
    assert len(records(tape)) <= 2 * 1500 + 8


def test_a_forked_child_is_not_charged_for_its_parent(tmp_path):
    pattern = tmp_path / "%p.mtape"
    outcome = recording.run_bare([target("stack_use"), "fork", "say"], pattern,
                                 env={"MEMTAPE_OPTIONS": "follow=1"})
    truth = told(outcome)
    found = {}
    for tape in tmp_path.glob("*.mtape"):
        rows = threads(tape)
        found |= {truth[tid][0]: (rows[tid], truth[tid][2]) for tid in rows if tid in truth}
    row, used = found["child"]
    assert (row["stack_known"], row["stack_used_bytes"] <= used + PAGE) == ("events", True)
    row, used = found["deeper"]
    assert row["stack_known"] == "pages" and used <= row["stack_used_bytes"] <= used + BESIDE
    row, used = found["forking"]
    assert row["stack_known"] == "pages" and used <= row["stack_used_bytes"] <= used + BESIDE


def test_of_a_killed_program_the_least_is_known(tmp_path):
    truth, rows, _ = run(tmp_path, "killed")
    (tid, (_, _, used)), = truth.items()
    assert rows[tid]["stack_known"] == "events"
    assert 0 < rows[tid]["stack_used_bytes"] <= used


@pytest.mark.parametrize("name", TARGETS)
def test_who_died_of_its_stack_was_near_its_end(tmp_path, name):
    tape = tmp_path / "tape.mtape"
    outcome = recording.run_bare([target(name), "overflow"], tape)
    assert outcome.returncode == -signal.SIGSEGV
    endless, = (row for row in threads(tape).values() if row["name"] == "endless")
    assert endless["stack_known"] == "events"
    assert .85 * endless["stack_bytes"] < endless["stack_used_bytes"] <= endless["stack_bytes"]
    assert "stack" in {finding["type"] for finding in recording.report(tape, "findings")["findings"]}
    told = [record["seen"] for record in records(tape) if record["tid"] == endless["tid"]]
    assert told == sorted(told) and len(told) < 100  # and not each page


def test_a_killed_program_has_the_name_it_had_last(tmp_path):
    tape = tmp_path / "tape.mtape"
    outcome = recording.run_bare([target("stack_use"), "renamed"], tape)
    assert outcome.returncode == -signal.SIGKILL
    assert [row["name"] for row in threads(tape).values()] == ["later"]


def test_what_is_done_with_a_tape_keeps_it(recorded, tmp_path):
    _, rows, tape = recorded
    columns = ("stack_bytes", "stack_used_bytes", "stack_known")
    want = sorted(tuple(row[column] for column in columns) for row in rows.values())
    for verb, *options in (["strip", "--no-free-stacks"], ["anonymise"], ["repack"]):
        out = tmp_path / f"{verb}.mtape"
        done = recording.run([recording.memtape(), verb, *options, tape, "-o", out])
        assert done.returncode == 0, (verb, done.stderr)
        now = sorted(tuple(row[column] for column in columns) for row in threads(out).values())
        assert now == want, verb


def test_who_came_near_the_end_is_a_finding(tmp_path, recorded):
    _, rows, tape = run(tmp_path, "near")
    near, = (row for row in rows.values() if row["name"] == "near")
    assert near["stack_bytes"] == 1 << 20 and near["stack_used_bytes"] > 900 << 10
    finding, = (finding for finding in recording.report(tape, "findings")["findings"]
                if finding["type"] == "stack")
    assert finding["bytes"] == near["stack_used_bytes"] and finding["count"] == 1
    assert f"near ({near['tid']})" in finding["evidence"] and "1.0 MiB" in finding["evidence"]
    others = recording.report(recorded[2], "findings")["findings"]  # 60 % at most
    assert not [finding for finding in others if finding["type"] == "stack"]


def test_sql_says_the_same(recorded):
    _, rows, tape = recorded
    done = recording.run([recording.memtape(), "sql", tape, "--csv",
                          "SELECT tid, stack_bytes, stack_used_bytes, stack_known FROM threads"])
    assert done.returncode == 0, done.stderr
    got = [line.split(",") for line in done.stdout.decode().split()[1:]]
    assert {int(tid): (int(reserved), int(used), known) for tid, reserved, used, known in got} == {
        tid: (row["stack_bytes"], row["stack_used_bytes"], row["stack_known"])
        for tid, row in rows.items()}


def test_the_recorder_allocates_nothing_for_it(tmp_path):
    """The program's own blocks, and none beside: the recorder has no heap."""
    _, _, tape = run(tmp_path, "crowd")
    sizes = {}
    for row in recording.rows(tape):
        sizes[row["size"]] = sizes.get(row["size"], 0) + 1
    plain = {size for size, count in sizes.items() if count >= 1500}
    assert 2712 in plain and len(plain) <= 2  # and at most one of libc's, for each thread


SANDBOX = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static void *run(void *unused) { free(malloc(1000)); return unused; }
int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	pthread_t thread;
	free(malloc(1));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}
"""


def test_a_sandbox_that_kills_at_mincore_can_be_recorded_without(tmp_path):
    (tmp_path / "sandbox.c").write_text(SANDBOX)
    program, tape = tmp_path / "sandbox", tmp_path / "tape.mtape"
    subprocess.run(["gcc", "-O0", "-pthread", "-o", program, tmp_path / "sandbox.c"], check=True)
    if recording.run([program]).returncode == 77:
        pytest.skip("no filters here")
    for record in (recording.run_bare, recording.run_recorded):
        assert record([program], tape, env={"MEMTAPE_OPTIONS": "stack_use=0"}).returncode == 0
        rows = threads(tape).values()
        assert len(rows) == 4 and all(row["stack_bytes"] is None and row["stack_known"] is None for row in rows)
        assert record is recording.run_recorded or not records(tape)  # which reads raw tapes
        tape.unlink()
