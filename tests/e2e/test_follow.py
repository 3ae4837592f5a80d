"""Children that are recorded, by name, and the table of all processes."""
import json
import os
import subprocess

import pytest

import recording
from test_exec import before, counted, info, program_of

BECOMES = recording.target("becomes")


def record(args, tape, *options, **more):
    return recording.run_recorded(args, tape, options, **more)


def others(tape):
    return sorted(path for path in tape.parent.glob(tape.name + ".*"))


def overview(*tapes):
    done = recording.run([recording.memtape(), "info", *tapes, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tapes"]


NESTED = f"/bin/sh -c 'env perl -e 1; {BECOMES} end; true'; env true; true"


def test_only_programs_of_that_name_are_recorded_whoever_starts_them(tape):
    done = record(["/bin/sh", "-c", NESTED], tape, "--no-summary", "--follow=becomes")
    assert (done.returncode, before(done)) == (0, [])
    assert b"tapes of 1 child process\n" in done.stderr
    (child,) = others(tape)
    assert program_of(tape) == "sh" and program_of(child) == "becomes"
    assert counted(child, 2213) == 10
    assert info(child)["tape"]["kind"] == "packed"


@pytest.mark.parametrize("names, found", [
    ("bec*", {"becomes"}),
    ("no,b?comes", {"becomes"}),
    ("env,[b-c]ecomes", {"becomes", "env"}),
    ("nobody", set()),
    ("*", {"becomes", "env", "sh", "perl", "true"}),
])
def test_names_may_be_patterns(names, found, tape):
    done = record(["/bin/sh", "-c", NESTED], tape, "--no-summary", f"--follow={names}")
    assert done.returncode == 0
    assert {program_of(path) for path in others(tape)} >= found
    if "sh" not in found:
        assert {program_of(path) for path in others(tape)} == found


@pytest.mark.parametrize("how", ("link", "script"))
def test_the_name_it_was_started_by_counts_too(how, tmp_path, tape):
    other = tmp_path / "another"
    if how == "link":
        other.symlink_to(BECOMES)
    else:
        other.write_text(f"#!{BECOMES}\n")
        other.chmod(0o755)
    done = record(["/bin/sh", "-c", f"{other} end; true"], tape, "--no-summary", "--follow=anoth*")
    assert done.returncode == 0
    assert len(others(tape)) == 1


@pytest.mark.parametrize("name, count", [("afterfork", 1), ("other", 0)])
def test_a_forked_child_has_the_name_of_its_program(name, count, tape):
    done = record([recording.target("afterfork"), "fork"], tape, "--no-summary", f"--follow={name}")
    assert done.returncode == 0, done.stderr
    assert len(others(tape)) == count


def test_the_program_that_was_started_is_recorded_and_followed_under_any_name(tape):
    done = record(["env", BECOMES, "end"], tape, "--no-summary", "--follow=other")
    assert done.returncode == 0 and before(done) == ["env"]
    assert program_of(tape) == "becomes" and counted(tape, 2213) == 10


@pytest.mark.parametrize("words", [["ls", "-l", "/proc/self/fd"], ["sh", "-c", "exit 7"], ["sh", "-c", "kill -9 $$"],
                                   ["cat", "/proc/self/comm"]])
def test_a_program_in_between_runs_as_it_would_otherwise(words, tape):
    def of(done):
        # the numbers of pipes and times differ
        return done.returncode, [line.split(b" -> ")[0][-3:] for line in done.stdout.splitlines()]
    args = ["/bin/sh", "-c", f'"$@"; echo $?', "sh", *words]
    assert of(record(args, tape, "-q", "--follow=nobody")) == of(recording.run_plain(args))


def test_names_work_with_the_bare_library(tmp_path):
    env = {"MEMTAPE_OPTIONS": "follow=1", "MEMTAPE_FOLLOW": "becomes"}
    done = recording.run_bare(["/bin/sh", "-c", NESTED], tmp_path / "%e.%p", env=env)
    assert done.returncode == 0
    assert [path.name.split(".")[0] for path in tmp_path.iterdir()] == ["becomes"]


def test_an_inherited_list_of_names_is_not_ours(tape):
    done = record(["/bin/sh", "-c", f"{BECOMES} end; true"], tape, "--no-summary", "--follow",
                  env={"MEMTAPE_FOLLOW": "nobody"})
    assert done.returncode == 0
    assert "becomes" in {program_of(path) for path in others(tape)}


@pytest.mark.parametrize("names, error", [("", b"--follow=: needs"), ("a" * 1001, b"at most 1000 bytes")])
def test_names_that_make_no_sense_are_refused(names, error, tmp_path):
    done = recording.run([recording.memtape(), "record", f"--follow={names}", "-o", tmp_path / "a", "true"])
    assert done.returncode == 2 or done.returncode >= 125
    assert error in done.stderr and not os.listdir(tmp_path)


def test_what_is_left_of_an_earlier_recording_of_the_name_is_not_taken_for_ours(tape):
    killed = record(["/bin/sh", "-c", f"kill -9 $PPID; {BECOMES} end; true"], tape, "-q", "--follow=becomes")
    assert killed.returncode == -9
    (left,) = [path for path in others(tape) if not path.name.endswith(".spool")]
    done = record(["/bin/sh", "-c", "true"], tape, "--no-summary", "--follow=nobody", "-f")
    assert done.returncode == 0 and b"child process" not in done.stderr
    assert info(left)["tape"]["kind"] == "raw"


def test_the_table_has_each_process_with_what_its_report_says(tape):
    done = record(["/bin/sh", "-c", f"{BECOMES} end; exit 3"], tape, "--follow=becomes")
    assert done.returncode == 3
    rows = overview(tape, *others(tape))
    assert [row["peak_bytes"] for row in rows] == sorted((row["peak_bytes"] for row in rows), reverse=True)
    by_program = {row["program"]: row for row in rows}
    assert by_program.keys() == {"sh", "becomes"}
    for row in rows:
        summary = recording.report(row["tape"], "summary")
        assert row["peak_bytes"] == summary["peak"]["bytes"]
        assert row["live_bytes"] == summary["leaked"]["bytes"] + summary["suppressed"]["bytes"]
        assert row["allocations"] == summary["allocations"]["count"]
    assert (by_program["sh"]["end"], by_program["sh"]["end_status"]) == ("exit", 3)
    assert by_program["becomes"]["parent_pid"] == by_program["sh"]["pid"]
    assert by_program["becomes"]["command"] == "becomes end"
    # shown after the recording, too
    table = done.stderr[done.stderr.index(b"\nProcesses\n"):]
    for row in rows:
        assert f" {row['tape']}\n".encode() in table
    assert b"exit 3" in table


def test_of_very_many_processes_the_largest_are_shown(tape):
    script = f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do {BECOMES} end; done; true"
    done = record(["/bin/sh", "-c", script], tape, "--follow=becomes")
    assert done.returncode == 0
    table = done.stderr[done.stderr.index(b"\nProcesses\n"):].decode()
    assert table.count("becomes end") + table.count("sh -c") == 15
    assert "\n6 more, with a peak of" in table
    assert len(overview(tape, *others(tape))) == 21
    text = recording.run([recording.memtape(), "info", tape, *others(tape)]).stdout.decode()
    assert text.count("becomes end  ") == 20 and "more" not in text


@pytest.mark.parametrize("options", [["-q"], ["--no-summary"]])
def test_who_wants_no_summary_gets_no_table(options, tape):
    done = record(["/bin/sh", "-c", f"{BECOMES} end; true"], tape, "--follow", *options)
    assert done.returncode == 0 and b"Processes" not in done.stderr


def test_a_tape_that_cannot_be_read_is_named(tape, tmp_path):
    record([BECOMES, "end"], tape, "-q")
    (tmp_path / "no").write_text("no tape")
    done = recording.run([recording.memtape(), "info", tape, tmp_path / "no"])
    assert done.returncode == 1 and str(tmp_path / "no").encode() in done.stderr


def test_lines_of_a_script_are_one_line_of_the_table(tape):
    done = record(["/bin/sh", "-c", f"true\n{BECOMES} end\ntrue"], tape, "--follow=becomes")
    assert done.returncode == 0
    assert f"sh -c true {str(BECOMES)[:20]}".encode() in done.stderr


def test_a_child_forked_while_others_run_commands_runs_its_own(tape):
    done = recording.run_recorded([recording.target("shells")], tape, ["--follow", "--no-summary"])
    assert (done.returncode, done.stdout) == (0, b"80\n"), done.stderr
