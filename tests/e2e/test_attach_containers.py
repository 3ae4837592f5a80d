"""Attaching to processes that see other files: other mount, PID and user namespaces, another root."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

PROGRAM = r"""
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t go;
static void on_signal(int number) { go = number; }
__attribute__((noipa)) static void lose(size_t bytes) { void *volatile block = malloc(bytes); block = NULL; }

/* Which descriptors there are. */
static void descriptors(void)
{
	for (int fd = 0; fd < 64; fd++)
		if (lseek(fd, 0, SEEK_CUR) >= 0 || dup2(fd, fd) == fd)
			printf("%d ", fd);
	puts(""), fflush(stdout);
}

int main(void)
{
	signal(SIGUSR1, on_signal);
	printf("pid %d\n", (int)getpid());
	for (int i = 0; i < 4; i++, go = 0) {
		descriptors();
		while (!go)
			usleep(1000), lose(111 + i);
	}
	return 0;
}
"""


def is_root():
    return os.geteuid() == 0


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contained")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "p", folder / "p.c"], check=True)
    return folder / "p"


@pytest.fixture
def root(program, tmp_path):
    """A root with the program, its libraries, and a /proc that is empty."""
    top = tmp_path / "root"
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.search(r"(/\S+)", line)
        if found:
            copy = top / found.group(1)[1:]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(found.group(1)), copy)
    (top / "proc").mkdir()
    shutil.copy(program, top / "p")
    return top


@pytest.fixture
def start():
    started = []

    def begin(args, name):
        """The process itself, of that name, and the one that started it."""
        first = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, text=True, env=recording.clean_env(), start_new_session=True)
        started.append(first)
        line = first.stdout.readline()
        assert line.startswith("pid "), line
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(folder.name)) == first.pid and (folder / "comm").read_text().strip() == name:
                    return int(folder.name), first, int(line.split()[1])
            except OSError:
                pass
        raise AssertionError(name)
    yield begin
    for process in started:
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(folder.name)) == process.pid:
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                pass
        process.kill(), process.wait(timeout=30)
        process.stdout.close()


def ways(program, root):
    namespaces = ["unshare", "-m", "-p", "-f", "--mount-proc"]
    bound = f"mount --bind /proc {root}/proc"
    return {
        "mount and PID namespace": [*namespaces, "sh", "-c", f"mount -t tmpfs none /opt && cp {program} /opt/p && mount -t tmpfs none /root "
                                    f"&& mount -t tmpfs none {recording.memtape().parent.parent} && /opt/p; true"],
        "another root": ["unshare", "-m", "sh", "-c", f"{bound} && exec chroot {root} /p"],
        "another root and PID namespace": ["unshare", "-m", "-p", "-f", "sh", "-c", f"mount -t proc none {root}/proc && chroot {root} /p; true"],
        "a user namespace": ["unshare", "-U", "-r", *namespaces[1:], "sh", "-c", f"mount -t proc none {root}/proc && exec chroot {root} /p"],
    }


def need_namespaces(*options):
    """In a chroot, and where user namespaces are forbidden, there are none to be had."""
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"unshare {' '.join(options)} is not possible here")


@pytest.mark.skipif(not is_root(), reason="only root makes these namespaces")
@pytest.mark.parametrize("way", ["mount and PID namespace", "another root", "another root and PID namespace", "a user namespace"])
def test_what_sees_other_files_is_attached_to(way, program, root, start, tmp_path):
    need_namespaces(*(["-U", "-r"] if way == "a user namespace" else []), "-m", "-p", "-f")
    pid, first, inner = start(ways(program, root)[way], "p")
    if way != "another root":
        assert inner != pid
    before = first.stdout.readline()
    for i in range(3):
        tape = tmp_path / f"tape{i}"
        attached = subprocess.Popen([binary(), "attach", str(pid), "-o", tape], stderr=subprocess.PIPE, text=True, env=recording.clean_env())
        line = attached.stderr.readline()
        assert "memtape: recording" in line, line
        assert [entry for entry in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if "memtape-attach" in entry]
        os.kill(pid, signal.SIGUSR1)
        assert first.stdout.readline() == before  # no descriptor is left while it is recorded
        time.sleep(0.1)
        done = recording.run([binary(), "detach", str(pid), "-q"])
        assert done.returncode == 0, done.stderr
        assert attached.wait(timeout=30) == 0
        assert "lose" in attached.stderr.read()  # names are found where the program's files are
        attached.stderr.close()
        info = json.loads(recording.run([binary(), "info", tape, "--json"]).stdout)
        assert info["process"]["pid"] == pid and info["losses"]["lost_events"] == 0 and info["process"]["end"] == "running"
        before_it = info["attached"]["before"]
        assert before_it["is_complete"] if inner != 1 else "the first of its PID namespace" in before_it["trouble"], before_it
        assert 112 + i in {int(row["size"]) for row in recording.rows(tape)}
    os.kill(pid, signal.SIGUSR1)
    assert first.wait(timeout=30) == 0


@pytest.mark.skipif(not is_root(), reason="only root may change the root")
def test_a_root_without_proc(program, root, start, tmp_path):
    pid, first, _ = start(["chroot", root, "/p"], "p")
    done = recording.run([binary(), "attach", str(pid), "-o", tmp_path / "tape"])
    assert done.returncode == 1 and b"in which /proc is not mounted" in done.stderr, done.stderr
    assert first.poll() is None


@pytest.mark.skipif(not is_root(), reason="only root makes these namespaces")
def test_a_collector_that_is_killed(program, root, start, tmp_path):
    """The process cannot see that it has died, and goes on; its spool is put on the tape."""
    need_namespaces("-m", "-p", "-f")
    pid, first, _ = start(ways(program, root)["another root and PID namespace"], "p")
    attached = subprocess.Popen([binary(), "attach", str(pid), "-o", tmp_path / "tape"], stderr=subprocess.PIPE, env=recording.clean_env())
    assert b"recording" in attached.stderr.readline()
    time.sleep(0.1)
    attached.kill(), attached.wait(), attached.stderr.close()
    assert first.poll() is None
    done = recording.run([binary(), "detach", str(pid)])
    assert done.returncode == 0 and b"recorded no more" in done.stderr, done.stderr
    assert 111 in {int(row["size"]) for row in recording.rows(tmp_path / "tape")}
    done = recording.run([binary(), "attach", str(pid), "-q", "-d", "50ms", "-o", tmp_path / "again"])
    assert done.returncode == 0, done.stderr
    for _ in range(4):
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.05)
    assert first.wait(timeout=30) == 0
