"""Recording inside what a container is: process 1, no /proc, read-only files, another user, a filter, little memory."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

import recording
import seccomp

CGROUPS = pathlib.Path("/sys/fs/cgroup/memory")


def namespaces_work():
    return bool(shutil.which("unshare")) and \
        subprocess.run(["unshare", "-mpf", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not namespaces_work(), reason="no namespaces for us here")

FIRST = ["unshare", "-pf", "--kill-child", "--mount-proc"]


def record(tape, *args):
    return [recording.memtape(), "record", "-q", "-o", tape, "--", *args]


def without(script):
    """What runs in a mount namespace of its own, once the script has changed it."""
    return ["unshare", "-m", "/bin/sh", "-c", f"mount --make-rprivate / && {script} && exec \"$@\"", "-"]


# --- process 1 -----------------------------------------------------------------------------------

WAITS = """import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print(os.getpid(), flush=True)
while True: signal.pause()
"""


def first_process(unshare):
    children = pathlib.Path(f"/proc/{unshare}/task/{unshare}/children").read_text(encoding="ascii").split()
    assert len(children) == 1
    return int(children[0])


def test_signals_and_exit_codes_pass_through_process_1(tape):
    with subprocess.Popen([str(arg) for arg in FIRST + record(tape, "/usr/bin/python3", "-c", WAITS)], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as container:
        try:
            assert int(container.stdout.readline()) > 1
            os.kill(first_process(container.pid), signal.SIGTERM)  # as `docker stop` does
            assert container.wait(60) == 7
        finally:
            container.kill()
    summary = recording.report(tape, "summary")
    assert summary["lost_events"] == 0 and summary["allocations"]["count"] > 0
    done = recording.run(FIRST + record(tape.with_suffix(".2"), "/bin/sh", "-c", "kill -9 $$"))
    assert done.returncode == 128 + 9


def test_process_1_waits_for_orphans(tape):
    script = """import os, time
def zombies():
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"]
for _ in range(20):
    if os.fork() == 0:  # whose own child loses it at once
        if os.fork() == 0: time.sleep(0.1)
        os._exit(0)
    os.wait()
end = time.monotonic() + 30
while len([pid for pid in os.listdir("/proc") if pid.isdigit()]) > 3 and time.monotonic() < end: time.sleep(0.02)
print(len(zombies()), sorted(int(pid) for pid in os.listdir("/proc") if pid.isdigit())[0])
"""
    done = recording.run(FIRST + record(tape, "/usr/bin/python3", "-c", script))
    assert done.stdout == b"0 1\n", (done.stdout, done.stderr)


# --- files ---------------------------------------------------------------------------------------

def counted(tape):
    return recording.report(tape, "summary")["allocations"]["count"]


def test_without_proc(tmp_path):
    plain, bare, recorded = (tmp_path / name for name in ("plain", "bare", "recorded"))
    assert recording.run(record(plain, recording.target("hoard"), "2000")).returncode == 0
    done = recording.run(without("umount -l /proc") + record(recorded, recording.target("hoard"), "2000"))
    assert done.returncode == 0, done.stderr
    done = recording.run(without("umount -l /proc") + ["env", f"LD_PRELOAD={recording.library()}", f"MEMTAPE_OUTPUT={bare}.%e",
                                                       recording.target("hoard"), "2000"])
    assert done.returncode == 0, done.stderr
    bare = tmp_path / "bare.hoard"
    assert abs(counted(recorded) - counted(plain)) < 10 and abs(counted(bare) - counted(plain)) < 10
    for tape in (bare, recorded):
        info = json.loads(recording.run([recording.memtape(), "info", tape, "--json"]).stdout)
        assert info["process"]["exe"] == str(recording.target("hoard"))
        assert recording.report(tape, "summary")["lost_events"] == 0
        assert "main" in json.dumps(recording.report(tape, "top"))  # from its file, whose name is known


def test_a_read_only_root(tmp_path):
    folder, volume = tmp_path / "root", tmp_path / "root" / "volume"
    volume.mkdir(parents=True)
    readonly = f"mount --bind {folder} {folder} && mount --bind {volume} {volume} && mount -o remount,ro,bind {folder} && cd {folder}"
    tape = volume / "tape"
    done = recording.run(without(readonly) + record(tape, recording.target("hoard"), "2000"))
    assert done.returncode == 0 and counted(tape) > 2000
    done = recording.run(without(readonly) + [recording.memtape(), "record", "-q", "/bin/echo", "must not run"])
    assert done.returncode == 125 and done.stdout == b""
    assert b"Read-only file system; -o names a place that can be written to" in done.stderr
    assert os.listdir(folder) == ["volume"] and os.listdir(volume) == ["tape"]


@pytest.fixture
def open_folder():
    """Which everybody may enter; pytest's own are private."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_another_user(open_folder):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if not recording.anybody_may_enter(recording.memtape()):
        pytest.skip("nobody may not enter the folder of the build")
    done = recording.run([*nobody, recording.memtape(), "record", "-q", "/bin/echo", "must not run"], cwd=open_folder)
    assert done.returncode == 125 and b"-o names a place" in done.stderr and done.stdout == b""
    (open_folder / "theirs").mkdir()
    os.chown(open_folder / "theirs", 65534, 65534)
    done = recording.run(nobody + record(open_folder / "theirs" / "tape", "/bin/sh", "-c", "exit 3"), cwd=open_folder)
    assert done.returncode == 3 and counted(open_folder / "theirs" / "tape") > 0


# --- a filter as container runtimes have it --------------------------------------------------------

REFUSED = {"ptrace": 101, "perf_event_open": 298, "bpf": 321, "process_vm_readv": 310, "process_vm_writev": 311, "userfaultfd": 323,
           "mount": 165, "unshare": 272, "kcmp": 312, "pidfd_getfd": 438, "io_uring_setup": 425}


def refuse_all():
    rows = []
    for number in REFUSED.values():
        rows += [(seccomp.LOAD, 0, 0, seccomp.NUMBER), (seccomp.EQUAL, 0, 1, number), (seccomp.RETURN, 0, 0, seccomp.ERRNO | 1)]
    return rows


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of system calls")
@pytest.mark.parametrize("options", [[], ["--leak-scan"], ["--staleness"], ["--follow"]], ids=" ".join)
def test_a_runtimes_filter(options, tmp_path):
    tape = tmp_path / "tape"
    plain = recording.run([recording.target("lost")])
    done = recording.run([recording.memtape(), "record", "-q", *options, "-o", tape, recording.target("lost")],
                         preexec_fn=seccomp.install(refuse_all()))
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done.stderr
    summary = recording.report(tape, "summary")
    assert summary["lost_events"] == 0 and summary["allocations"]["count"] > 0


# --- memory --------------------------------------------------------------------------------------

@contextlib.contextmanager
def cgroup(limit):
    folder = CGROUPS / f"memtape-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(limit), encoding="ascii")
    except OSError:
        pytest.skip("no cgroup of memory for us here")
    try:
        yield folder
    finally:
        folder.rmdir()


def test_a_limit_of_memory(tape):
    """Page cache of the tape does not count against the program: its kernel can drop it."""
    script = "for _ in range(8): a = [str(j) for j in range(200000)]\nprint(len(a))"
    with cgroup(56 << 20) as folder:
        def enter():
            (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        done = recording.run(record(tape, "/usr/bin/python3", "-c", script), env=recording.clean_env(PYTHONMALLOC="malloc"), preexec_fn=enter)
        assert (done.returncode, done.stdout) == (0, b"200000\n"), done.stderr
        assert "oom_kill 0" in (folder / "memory.oom_control").read_text(encoding="ascii")
    summary = recording.report(tape, "summary")
    assert summary["lost_events"] == 0 and summary["allocations"]["count"] > 1600000
