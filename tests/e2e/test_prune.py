"""Retention: what `memtape prune`, `gather --keep` and `serve --keep` remove of a folder, and what they never do."""

import fcntl
import json
import os
import shutil
import subprocess

import pytest

import gathering
import recording
import serving

DAY = 24 * 3600


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tape, and a session of two processes."""
    folder = tmp_path_factory.mktemp("made")
    true = recording.which("true")
    run("record", "-q", "-o", folder / "one.mtape", "--", true)
    run("record", "-q", "--follow", "-o", folder / "session", "--", recording.which("sh"), "-c", f"{true}; {true}; exit 0")
    return folder


def run(*args, code=0, **more):
    done = subprocess.run([recording.memtape(), *map(str, args)], capture_output=True, text=True, check=False, timeout=60,
                          env=recording.clean_env(), **more)
    assert done.returncode == code, done.stderr
    return done


def prune(folder, *args, code=0):
    return json.loads(run("prune", folder, "--json", *args, code=code).stdout)


def age(path, days):
    stamp = path.stat().st_mtime - days * DAY
    os.utime(path, (stamp, stamp), follow_symlinks=False)


@pytest.fixture
def folder(made, tmp_path):
    """a is the oldest: written five days ago."""
    path = tmp_path / "tapes"
    path.mkdir()
    for i, name in enumerate("edcba"):
        shutil.copy(made / "one.mtape", path / f"{name}.mtape")
        age(path / f"{name}.mtape", i + 1)
    return path


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def gone(answer):
    return [row["file"] for row in answer["tapes"] if row["outcome"] == "removed"]


def test_the_oldest_go_by_number_age_and_size(folder):
    size = prune(folder, "--keep", "100")["kept_bytes"] // 5
    assert gone(prune(folder, "--keep", "4")) == ["a.mtape"]
    assert gone(prune(folder, "--keep", "84h")) == ["b.mtape"]
    answer = prune(folder, "--keep", f"{2 * size}b", "--keep", "50")
    assert gone(answer) == ["c.mtape"] and answer["tapes"][0]["rule"] == "size"
    assert names(folder) == ["d.mtape", "e.mtape"]
    assert (answer["removed_count"], answer["removed_bytes"], answer["kept_count"], answer["kept_bytes"]) == \
        (1, size, 2, 2 * size)


def test_the_last_tape_stays_whatever_the_rules_say(folder):
    assert prune(folder, "--keep", "0", "--keep", "1s", "--keep", "0b")["kept_count"] == 1
    assert names(folder) == ["e.mtape"]


def test_a_dry_run_removes_nothing_and_says_what_a_real_one_would(folder):
    before = names(folder)
    dry = prune(folder, "--keep", "2", "--dry-run")
    assert dry["dry_run"] and names(folder) == before
    assert gone(dry) == gone(prune(folder, "--keep", "2")) == ["a.mtape", "b.mtape", "c.mtape"]


def test_words_of_a_person(folder):
    text = run("prune", folder, "--keep", "4").stdout
    assert "a.mtape" in text and "1 tape removed" in text and "4 kept" in text
    assert run("prune", folder, "--keep", "3", "-q").stdout == ""


@pytest.mark.parametrize("rule, words", [
    ("500m", "--keep 500m: minutes or mebibytes? say 500min or 500MiB"),
    ("1.5M", "say 1.5min or 1.5MiB"),
    ("ten", "expected a size like 10GiB, an age like 30d, or a number"),
    ("-1", "expected a size"),
    ("30 d", "expected a size"),
])
def test_a_rule_that_is_none_or_two_is_refused(folder, rule, words):
    before = names(folder)
    assert words in run("prune", folder, "--keep", rule, code=2).stderr
    assert names(folder) == before


def test_a_folder_and_a_rule_must_be_named(folder):
    assert "expected one folder" in run("prune", "--keep", "1", code=2).stderr
    assert "--keep is missing" in run("prune", folder, code=2).stderr


def test_what_is_no_tape_is_not_touched(folder):
    (folder / "notes.mtape").write_text("not a tape")
    (folder / "notes.txt").write_text("notes")
    (folder / "other.index").write_text("of something else")
    (folder / "sub").mkdir()
    shutil.copy(folder / "a.mtape", folder / "sub" / "a.mtape")
    os.mkfifo(folder / "pipe.mtape")
    assert prune(folder, "--keep", "1")["kept_count"] == 1
    assert names(folder) == ["e.mtape", "notes.mtape", "notes.txt", "other.index", "pipe.mtape", "sub"]
    assert (folder / "sub" / "a.mtape").exists()


def test_its_index_and_spool_go_with_a_tape(folder):
    for side in ("a.mtape.index", "a.mtape.spool", "e.mtape.index"):
        (folder / side).write_bytes(b"x" * 4096)
    answer = prune(folder, "--keep", "4")
    assert answer["removed_bytes"] >= 2 * 4096
    assert names(folder) == ["b.mtape", "c.mtape", "d.mtape", "e.mtape", "e.mtape.index"]


def test_links_are_neither_removed_nor_counted_nor_the_last_tape(folder, tmp_path):
    shutil.copy(folder / "a.mtape", tmp_path / "elsewhere.mtape")
    (folder / "z.mtape").symlink_to(tmp_path / "elsewhere.mtape")
    age(folder / "z.mtape", -1)
    (folder / "y.mtape").symlink_to("gone.mtape")
    answer = prune(folder, "--keep", "1")
    assert answer["kept_count"] == 1 and names(folder) == ["e.mtape", "y.mtape", "z.mtape"]
    assert (tmp_path / "elsewhere.mtape").exists()


@pytest.mark.parametrize("side", ["", ".spool", ".index"])
@pytest.mark.parametrize("how", ["locked", "open"])
def test_a_tape_in_use_stays_and_the_next_one_goes(folder, side, how):
    path = folder / f"a.mtape{side}"
    with open(path, "ab") as file:
        if how == "locked":
            readable = open(path, "rb")  # noqa: SIM115
            file.close()
            fcntl.flock(readable, fcntl.LOCK_EX)
        answer = prune(folder, "--keep", "4")
        assert gone(answer) == ["b.mtape"]
        assert answer["in_use_count"] == 1 and answer["failed_count"] == 0 and answer["kept_count"] == 4
        assert "written" in answer["tapes"][0]["reason"]
        assert (folder / "a.mtape").exists() and path.exists()
        if how == "locked":
            readable.close()
    assert gone(prune(folder, "--keep", "3")) == ["a.mtape"]


def test_a_tape_that_is_being_recorded_stays(folder):
    cat = [recording.memtape(), "record", "-q", "-o", folder / "live.mtape", "--", recording.which("cat")]
    with subprocess.Popen(list(map(str, cat)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=recording.clean_env()) as process:
        process.stdin.write(b"x\n")
        process.stdin.flush()
        process.stdout.readline()  # it runs, and so it is recorded
        age(folder / "e.mtape", -9)  # the last one
        answer = prune(folder, "--keep", "1")
        assert {row["file"]: row["outcome"] for row in answer["tapes"]}["live.mtape"] == "in use", answer
        assert "live.mtape" in names(folder)
        process.stdin.close()
        assert process.wait(60) == 0
    assert run("verify", folder / "live.mtape")


def test_a_tape_that_cannot_be_removed_does_not_count_as_removed(folder):
    if os.geteuid() == 0:
        if shutil.which("chattr") is None or subprocess.run(["chattr", "+a", str(folder)], check=False,
                                                            capture_output=True).returncode != 0:
            pytest.skip("nothing keeps root from removing files here")
        undo = ["chattr", "-a", str(folder)]
    else:
        folder.chmod(0o500)
        undo = ["chmod", "700", str(folder)]
    try:
        answer = prune(folder, "--keep", "3", code=1)
        assert (answer["removed_count"], answer["failed_count"], answer["kept_count"]) == (0, 4, 5)
        assert all(row["outcome"] == "failed" and row["reason"] for row in answer["tapes"])
    finally:
        subprocess.run(undo, check=True)
    assert len(names(folder)) == 5


def test_a_session_goes_as_a_whole_or_stays(made, folder):
    session = folder / "session"
    shutil.copytree(made / "session", session)
    run("report", session, "summary")  # the merged tape
    (folder / "keep.txt").write_text("mine")
    for path in session.iterdir():
        age(path, 7)
    member = next(session.glob("*.mtape"))
    before = names(session)
    with open(member, "ab"):
        answer = prune(folder, "--keep", "5")
        assert gone(answer) == ["a.mtape"] and names(session) == before
    assert gone(prune(folder, "--keep", "4")) == ["session"]
    assert names(folder) == ["b.mtape", "c.mtape", "d.mtape", "e.mtape", "keep.txt"]


def test_files_of_others_in_a_session_stay_and_so_does_their_folder(made, folder):
    shutil.copytree(made / "session", folder / "session")
    (folder / "session" / "notes.txt").write_text("mine")
    for path in (folder / "session").iterdir():
        age(path, 7)
    assert gone(prune(folder, "--keep", "5")) == ["session"]
    assert names(folder / "session") == ["notes.txt"]


def test_a_session_is_not_pruned_from_within(made, tmp_path):
    shutil.copytree(made / "session", tmp_path / "session")
    before = names(tmp_path / "session")
    assert "all is kept or nothing" in run("prune", tmp_path / "session", "--keep", "1", code=2).stderr
    assert names(tmp_path / "session") == before


def test_a_gatherer_keeps_what_it_is_told(made, tmp_path):
    folder = tmp_path / "tapes"
    folder.mkdir()
    for name in ("old.mtape", "older.mtape"):
        shutil.copy(made / "one.mtape", folder / name)
        age(folder / name, 3 if name == "old.mtape" else 4)
    with gathering.gather(folder, options=["--keep", "2"]) as there:
        assert gathering.send(made / "one.mtape", there.where).returncode == 0
        gathering.until(lambda: "older.mtape" not in names(folder))
        gathering.until(lambda: there.has_said("older.mtape: removed"))
        assert len(names(folder)) == 2 and "old.mtape" in names(folder)


def test_a_server_keeps_what_it_is_told(folder):
    with serving.serve(folder, options=["--keep", "3"]):
        gathering.until(lambda: names(folder) == ["c.mtape", "d.mtape", "e.mtape"])
