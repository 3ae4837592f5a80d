"""Children that start with an environment of their own, and those that cannot be recorded: they are counted."""
import shutil
import subprocess

import pytest

import recording
from recording import memtape

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="built without the command")

SOURCE = r"""#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *none[] = { NULL }, *one[] = { "A=b", NULL };
static int run(const char *how, char **argv)
{
	char **envp = strstr(how, "none") ? none : strstr(how, "one") ? one : strstr(how, "null") ? NULL : environ;
	int pid = -1;
	if (strstr(how, "clear"))
		clearenv(), envp = environ;
	if (strstr(how, "many")) {
		envp = calloc(4001, sizeof(*envp));
		for (int i = 0; i < 4000; i++)
			envp[i] = "A=b";
	}
	if (strstr(how, "system"))
		return system(argv[0]);
	if (strstr(how, "spawnp"))
		return posix_spawnp(&pid, argv[0], NULL, NULL, argv, envp) ? -1 : pid;
	if (strstr(how, "spawn"))
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, envp) ? -1 : pid;
	if (strstr(how, "vfork"))
		pid = vfork();
	else
		pid = fork();
	if (pid == 0) {
		errno = 77;
		if (strstr(how, "fd"))
			fexecve(open(argv[0], O_RDONLY), argv, envp);
		else
			execve(argv[0], argv, envp);
		_exit(9);
	}
	return pid;
}
int main(int argc, char **argv)
{
	int status = 0;
	if (!strcmp(argv[1], "end")) {
		for (int i = 0; i < 10; i++)
			free(malloc(2214));
		for (char **entry = environ; *entry; entry++)
			if (strncmp(*entry, "MEMTAPE_", 8) && strncmp(*entry, "LD_PRELOAD=", 11))
				puts(*entry);
		return 5;
	}
	if (run(argv[1], argv + 2) > 0)
		wait(&status);
	printf("%d\n", status >> 8);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left")
    (folder / "left.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-w", "-o", folder / "left", folder / "left.c"], check=True)
    return folder / "left"


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    folder = tmp_path_factory.mktemp("static")
    (folder / "still.c").write_text("int main(void) { return 7; }\n")
    done = subprocess.run(["gcc", "-static", "-o", folder / "still", folder / "still.c"], capture_output=True)
    if done.returncode != 0:
        pytest.skip("no static libc")
    return folder / "still"


def record(folder, *args, follow="--follow", **more):
    done = recording.run([memtape(), "record", "--no-summary", follow, "-o", folder, "--", *args],
                         env=recording.clean_env(), timeout=120, **more)
    assert done.returncode == 0, done.stderr
    return done, [line for line in done.stderr.decode().splitlines() if "not recorded" in line]


@pytest.mark.parametrize("before", ["", "sh"])
def test_static_children_are_counted(before, program, static, tmp_path):
    words = ["sh", "-c", f"{static}; {static}; true"] if before else [program, "spawn", static]
    _, lines = record(tmp_path / "s", *words)
    number = "2 programs" if before else "1 program"
    assert lines == [f"memtape: not recorded: {number} linked statically (memtape-record(1), STATIC PROGRAMS)"]


@pytest.mark.parametrize("how", ["vfork", "fork", "spawn", "vfork fd"])
def test_static_children_are_counted_however_they_are_made(how, program, static, tmp_path):
    _, lines = record(tmp_path / "s", program, how, static)
    assert len(lines) == 1 and " 1 program linked statically" in lines[0]


@pytest.mark.parametrize("names, count", [("still", 1), ("st*", 1), ("other", 0)])
def test_only_those_that_would_be_recorded_are_counted(names, count, program, static, tmp_path):
    _, lines = record(tmp_path / "s", program, "vfork", static, follow=f"--follow={names}")
    assert len(lines) == count


@pytest.mark.parametrize("how", ["spawn", "vfork", "fork"])
def test_a_static_program_that_cannot_be_started_is_not_counted(how, program, static, tmp_path):
    refused = tmp_path / "still"
    shutil.copy(static, refused)
    refused.chmod(0o444)
    _, lines = record(tmp_path / "s", program, how, refused)
    assert lines == []


@pytest.mark.parametrize("own", ["", "none"])
def test_a_static_program_with_the_recorder_in_it_is_recorded_and_not_counted(own, program, tmp_path):
    linked = recording.target("endings-static")
    if not linked.exists():
        pytest.skip("not built")
    done, lines = record(tmp_path / "s", program, f"spawn {own}", linked, "exit")
    assert lines == []
    assert len(list((tmp_path / "s").glob("*.mtape"))) == 2


OWN = ["none", "one", "null", "clear"]


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("made", ["fork", "vfork", "vfork fd", "spawn", "spawnp"])
def test_a_child_with_an_environment_of_its_own_is_recorded(made, own, program, tmp_path):
    args = [program, f"{made} {own}", program, "end"]
    plain = recording.run(args, env=recording.clean_env())
    done, lines = record(tmp_path / "s", *args)
    assert (done.stdout, lines) == (plain.stdout, [])
    if done.stdout == b"9\n":  # fexecve() wants one
        return
    assert done.stdout.endswith(b"5\n")
    tapes = list((tmp_path / "s").glob("*.mtape"))
    sizes = [[row["size"] for row in recording.rows(tape)].count(2214) for tape in tapes]
    assert max(sizes) == 10 and 2 <= len(tapes) <= 3  # a forked child has a tape before exec, too


@pytest.mark.parametrize("names, count", [("left", 2), ("other", 1)])
def test_names_hold_for_those_too(names, count, program, tmp_path):
    record(tmp_path / "s", program, "vfork one", program, "end", follow=f"--follow={names}")
    assert len(list((tmp_path / "s").glob("*.mtape"))) == count


def test_a_program_that_is_not_named_hands_it_on(program, tmp_path):
    other = tmp_path / "between"
    shutil.copy(program, other)
    record(tmp_path / "s", "sh", "-c", f"{other} 'spawn one' {program} end; true", follow="--follow=left")
    assert len(list((tmp_path / "s").glob("*.mtape"))) == 2


@pytest.mark.parametrize("how", ["spawn many", "vfork many", "clear system"])
def test_one_that_cannot_be_given_the_recorder_is_counted(how, program, tmp_path):
    words = [f"{program} end"] if "system" in how else [program, "end"]
    done, lines = record(tmp_path / "s", program, how, *words)
    assert lines == ["memtape: not recorded: 1 program that the recorder could not be given to "
                     "(memtape-record(1), --follow)"]
    assert len(list((tmp_path / "s").glob("*.mtape"))) == 1
