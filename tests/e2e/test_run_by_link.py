"""A program that is run by a link has the link's name everywhere; its file, which has another, is still found."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import recording

# One program of two names, as busybox: each allocates in a function of its own.
APPLETS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void *pack(void) { void *volatile block = malloc(7000); return block; }
__attribute__((noinline)) static void *unpack(void) { void *volatile block = malloc(9000); return block; }

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	void *volatile block = strcmp(slash ? slash + 1 : argv[0], "unpack") == 0 ? unpack() : pack();

	if (argc > 1 && strcmp(argv[1], "then") == 0)
		execv(argv[2], argv + 2);
	if (argc > 1 && strcmp(argv[1], "by-descriptor") == 0) {
		const int fd = open(argv[2], O_RDONLY);

		argv[1] = NULL;
		fexecve(fd, argv, environ);
		return 3;
	}
	return block ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    source = folder / "applets.c"
    source.write_text(APPLETS)
    subprocess.run(["cc", "-g", "-O2", "-D_GNU_SOURCE", "-o", folder / "applets", source], check=True)
    return folder / "applets"


@pytest.fixture
def applets(built, tmp_path):
    """bin/pack and bin/unpack lead to lib/applets, which is the file."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    program = tmp_path / "lib" / "applets"
    shutil.copy(built, program)
    for name in ("pack", "unpack"):
        (tmp_path / "bin" / name).symlink_to("../lib/applets")
    return program.resolve()


def program_row(tape):
    (row,) = [row for row in recording.report(tape, "modules")["modules"] if row["allocated_bytes"] in (7000, 9000)]
    return row


def check(tape, link, function="pack"):
    """The program's path is link, whose functions have their names."""
    link = str(link)
    assert recording.report(tape, "recording")["process"]["exe"] == link
    row = program_row(tape)
    assert row["module"] == link and row["symbols"] == "lines"
    (leak,) = recording.report(tape, "leaks")["sites"]
    assert leak["stack"][0]["function"] == function
    text = recording.run([recording.memtape(), "report", tape, "leaks"]).stdout.decode()
    folded = recording.run([recording.memtape(), "export", tape, "--to", "folded", "--metric", "allocated"]).stdout.decode()
    assert f"  {os.path.basename(link)}" in text and "applets" not in text.replace("applets.c", "")
    assert function in folded and "applets" not in folded


def record(args, tape, **more):
    done = recording.run_recorded(args, tape, **more)
    assert done.returncode == 0, done.stderr


def test_whole_path(applets, tape, tmp_path):
    link = tmp_path / "bin" / "pack"
    record([link], tape)
    check(tape, link)


def test_path_from_the_working_directory(applets, tape, tmp_path):
    done = recording.run_bare(["./bin/pack"], tape, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check(tape, tmp_path / "bin" / "pack")


def test_search_of_path(applets, tape, tmp_path):
    record(["unpack"], tape, env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    check(tape, tmp_path / "bin" / "unpack", "unpack")


def test_each_name_of_one_program(applets, tmp_path):
    bin = tmp_path / "bin"
    for name in ("pack", "unpack"):
        done = recording.run_bare([bin / name], tmp_path / "%e.mtape")
        assert done.returncode == 0
        check(tmp_path / f"{name}.mtape", bin / name, name)


def test_another_argument_zero_is_no_name(applets, tape, tmp_path):
    link = tmp_path / "bin" / "pack"
    done = recording.run_bare(["disguised"], tape, executable=link)
    assert done.returncode == 0, done.stderr
    check(tape, link)


def test_a_link_of_the_same_name_is_its_file(applets, tape, tmp_path):
    """What a link "current" leads to at the time stays known."""
    link = tmp_path / "bin" / "applets"
    link.symlink_to(applets)
    record([link], tape)
    check_file(tape, applets)


def check_file(tape, program, function="pack"):
    assert recording.report(tape, "recording")["process"]["exe"] == str(program)
    assert program_row(tape)["module"] == str(program)
    (leak,) = recording.report(tape, "leaks")["sites"]
    assert leak["stack"][0]["function"] == function


def test_a_script_is_its_interpreter(applets, tape, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{applets}\n")
    script.chmod(0o755)
    record([script], tape)
    check_file(tape, applets)


def test_a_descriptor_is_no_name(applets, tmp_path):
    """fexecve() runs /dev/fd/N: the second program is its file."""
    pattern = tmp_path / "%n.mtape"
    done = recording.run_bare([applets, "by-descriptor", applets], pattern, env={"MEMTAPE_OPTIONS": "follow=1"})
    assert done.returncode == 0, done.stderr
    tapes = sorted(tmp_path.glob("*.mtape"))
    assert len(tapes) == 2
    for tape in tapes:
        check_file(tape, applets)


def test_what_a_process_becomes(applets, tmp_path):
    bin = tmp_path / "bin"
    done = recording.run_bare([bin / "pack", "then", bin / "unpack"], tmp_path / "%e.mtape", env={"MEMTAPE_OPTIONS": "follow=1"})
    assert done.returncode == 0, done.stderr
    check(tmp_path / "pack.mtape", bin / "pack")
    check(tmp_path / "unpack.mtape", bin / "unpack", "unpack")


def test_a_link_that_has_gone_elsewhere(applets, tape, tmp_path):
    """The names are those of the file that ran."""
    link = tmp_path / "bin" / "pack"
    record([link], tape)
    link.unlink()
    link.symlink_to(recording.target("frames"))
    check(tape, link)


def test_from_a_saved_index_and_after_editing(applets, tape, tmp_path):
    link = tmp_path / "bin" / "pack"
    record([link], tape)
    assert recording.run([recording.memtape(), "index", tape]).returncode == 0
    check(tape, link)
    out = tmp_path / "repacked.mtape"
    assert recording.run([recording.memtape(), "repack", tape, "-o", out]).returncode == 0
    check(out, link)
    out = tmp_path / "nameless.mtape"
    assert recording.run([recording.memtape(), "anonymise", tape, "-o", out]).returncode == 0
    data = subprocess.run([recording.memtape(), "export", out, "--to", "json"], capture_output=True, check=True).stdout
    json.loads(data)
    for word in (b"applets", b"pack", bytes(tmp_path)):
        assert word not in data


def test_tapes_of_two_names_of_one_program_are_compared(applets, tmp_path):
    bin = tmp_path / "bin"
    record([bin / "pack"], tmp_path / "a.mtape")
    record([applets], tmp_path / "b.mtape")
    done = recording.run([recording.memtape(), "diff", tmp_path / "a.mtape", tmp_path / "b.mtape", "--json"])
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert rows and all(row["status"] == "same" for row in rows)


def test_filters_take_either_name(applets, tape, tmp_path):
    record([tmp_path / "bin" / "pack"], tape)

    def found(expression):
        return sum(row["leaked_bytes"] for row in recording.report(tape, "leaks", "--filter", expression)["sites"])

    for field in ("module", "site_module"):
        for name in ("pack", "applets", tmp_path / "bin" / "pack", applets):
            assert found(f'{field} = "{name}"') == 7000
            assert found(f'{field} != "{name}"') == 0
        assert found(f'{field} ~ "/lib/applets$"') == found(f'{field} ~ "bin/pack$"') == 7000
        assert found(f'{field} = "unpack"') == found(f'{field} ~ "unpack"') == 0
