"""Leak scans: of a program that ends, that is killed, that runs; what it notices of them, and what stops them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <signal.h>
static char *volatile held;
__attribute__((noinline)) static void lose(size_t bytes) { char *volatile block = malloc(bytes); block = NULL; }
__attribute__((noinline)) static void clear(void) { volatile char room[8192]; memset((void *)room, 0, sizeof(room)); }
static char *volatile leftover;
static void leave_on_stack(void)
{
	char *volatile room[512];
	for (int i = 0; i < 512; i++)
		room[i] = leftover;
	leftover = NULL;
}
static void *storm(void *seed)
{
	void *keep[64] = { 0 };
	for (unsigned s = (unsigned)(size_t)seed;; s = s * 1103515245 + 12345) {
		unsigned at = s >> 16 & 63;
		free(keep[at]);
		keep[at] = malloc(16 + (s >> 20) % 200);
	}
	return NULL;
}
static void *wait_for_events(void *unused)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	(void)unused;
	for (;;)
		if (epoll_wait(fd, &event, 1, -1) < 0)
			puts("epoll_wait was interrupted"), fflush(stdout);
	return NULL;
}
int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, storm, (void *)(size_t)(i + 1));
	if (threads)
		pthread_create(&thread, NULL, wait_for_events, NULL);
	held = malloc(1000);
	lose(77);
	clear();
	if (argc > 1 && strcmp(argv[1], "leave") == 0)
		leftover = malloc(33), atexit(leave_on_stack);
	puts("ready"), fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "abort") == 0)
		abort();
	if (argc > 1 && strcmp(argv[1], "_exit") == 0)
		_exit(3);
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		for (int i = 0; i < 600; i++) {
			struct timespec rest = { 0, 100000000 };
			if (nanosleep(&rest, NULL))
				puts("nanosleep was interrupted"), fflush(stdout);
		}
	return 7;
}
"""


SIGNALLED = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
enum { COUNT = 3000 };
static volatile sig_atomic_t seen;
static void on_signal(int number) { (void)number; __atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST); } /* on either thread */
static void *sender(void *unused)
{
	for (int i = 0; i < COUNT; i++, usleep(200))
		while (sigqueue(getpid(), SIGRTMIN, (union sigval) { .sival_int = i }) < 0)
			usleep(100);
	return unused;
}
int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;
	sigaction(SIGRTMIN, &action, NULL);
	pthread_create(&thread, NULL, sender, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 50 && seen < COUNT; i++)
		usleep(20000);
	printf("%d of %d\n", (int)seen, COUNT);
	return seen != COUNT;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    (folder / "scanned.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "-o", folder / "scanned", folder / "scanned.c"], check=True)
    return folder / "scanned"


def classes(tape, *more):
    done = recording.run([binary(), "report", tape, "leak-classes", "--json", *more])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start(program, tape, *options, words=("run",)):
    process = subprocess.Popen([binary(), "record", "-q", "-o", tape, *options, program, *words],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def pid_of(process):
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(children) as file:
        return int(file.read().split()[0])


def stop(process):
    os.kill(pid_of(process), signal.SIGKILL)
    rest = process.stdout.read()
    process.wait(60)
    return rest


@pytest.mark.parametrize("words, code", [((), 7), (("_exit",), 3), (("abort",), -signal.SIGABRT)])
def test_the_end_of_a_program_is_scanned_and_its_status_stays(program, tmp_path, words, code):
    tape = tmp_path / "tape"
    done = recording.run([binary(), "record", "-q", "--leak-scan", "-o", tape, program, *words], timeout=60)
    assert done.returncode == code
    found = classes(tape)
    assert found["definitely_lost"] == {"bytes": 77, "blocks": 1}
    assert found["still_reachable"]["bytes"] >= 1000 and found["possibly_lost"]["blocks"] == 0
    assert found["not_scanned"]["blocks"] == 0


def test_what_exit_handlers_left_on_the_stack_holds_nothing(program, tmp_path):
    done = recording.run([binary(), "record", "-q", "--leak-scan", "-o", tmp_path / "tape", program, "leave"])
    assert done.returncode == 7
    assert classes(tmp_path / "tape")["definitely_lost"] == {"bytes": 77 + 33, "blocks": 2}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_a_signal_ends_is_scanned_before(program, tmp_path, number):
    tape = tmp_path / "tape"
    process = start(program, tape, "--leak-scan")
    os.kill(pid_of(process), number)
    assert process.wait(60) == -number
    assert classes(tape)["definitely_lost"] == {"bytes": 77, "blocks": 1}


@pytest.mark.parametrize("rest_ms", [50, 120, 190, 260, 330])
def test_killing_a_program_leaves_no_process_behind(program, tmp_path, rest_ms):
    process = start(program, tmp_path / "tape", "--leak-scan=every:2ms", words=("run", "8"))
    pid = pid_of(process)
    time.sleep(rest_ms / 1000)
    assert stop(process) == ""
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("_", range(3))
def test_a_program_that_ends_while_its_threads_run_ends(program, tmp_path, _):
    done = recording.run([binary(), "record", "-q", "--leak-scan", "-o", tmp_path / "tape", program, "end", "6"],
                         timeout=60)
    assert done.returncode == 7
    assert classes(tmp_path / "tape")["definitely_lost"]["bytes"] >= 77


def test_signals_that_come_during_scans_are_all_delivered(tmp_path):
    (tmp_path / "signalled.c").write_text(SIGNALLED)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "signalled", tmp_path / "signalled.c"], check=True)
    done = recording.run([binary(), "record", "-q", "--leak-scan=every:10ms", "-o", tmp_path / "tape",
                          tmp_path / "signalled"], timeout=60)
    assert done.returncode == 0, done.stdout
    for scan in range(1, 30):  # each has a result: a thread that a signal has stopped is not waited for
        classes(tmp_path / "tape", "--scan", str(scan))


def test_scans_of_a_busy_program_are_not_noticed_by_it(program, tmp_path):
    process = start(program, tmp_path / "tape", "--leak-scan=every:100ms", words=("run", "4"))
    time.sleep(3)
    assert stop(process) == "", "a system call was interrupted"
    found = classes(tmp_path / "tape")
    assert found["definitely_lost"]["bytes"] >= 77


def test_sigusr1_to_memtape_asks_for_a_scan_and_is_not_passed_on(program, tmp_path):
    process = start(program, tmp_path / "tape", "--leak-scan=signal")
    process.send_signal(signal.SIGUSR1)
    time.sleep(1)
    assert process.poll() is None
    stop(process)
    assert classes(tmp_path / "tape")["definitely_lost"] == {"bytes": 77, "blocks": 1}


def test_a_running_program_is_scanned_from_outside(program, tmp_path):
    process = start(program, tmp_path / "tape", words=("run", "2"))
    pid = pid_of(process)
    done = [recording.run([binary(), "leaks", "--json", "-o", tmp_path / f"now{i}", str(pid)], timeout=60)
            for i in range(3)]
    assert stop(process) == "", "a system call was interrupted"
    for i, one in enumerate(done):
        assert one.returncode == 0, one.stderr
        found = json.loads(one.stdout)
        assert found["definitely_lost"]["blocks"] >= 1 and found["not_scanned"]["blocks"] == 0
        assert classes(tmp_path / f"now{i}") == found
    assert recording.run([binary(), "verify", tmp_path / "now0"]).returncode == 0


def without_clock(found):
    """Two tapes with other clock readings give the same moment, give or take a few microseconds."""
    return {**found, "scan": {**found["scan"], "time_ns": 0}}


def tracer_of(pid):
    return next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                if line.startswith("TracerPid"))


@pytest.mark.parametrize("options", [("--leak-scan",), ("--leak-scan=signal", "--live"), ("--leak-scan=every:50ms",)],
                         ids=lambda options: options[0].partition("=")[2] or "exit")
def test_a_program_that_its_collector_scans_is_scanned_from_outside(program, tmp_path, options):
    """The collector traces it, so that it makes the scan: what is printed is what its tape has, too."""
    process = start(program, tmp_path / "tape", *options)
    pid = pid_of(process)
    done = [recording.run([binary(), "leaks", "--json", "-o", tmp_path / f"now{i}", str(pid)], timeout=60)
            for i in range(3)]
    assert tracer_of(pid) == process.pid
    assert stop(process) == "", "a system call was interrupted"
    numbers = []
    for i, one in enumerate(done):
        assert one.returncode == 0, one.stderr
        found = json.loads(one.stdout)
        numbers.append(found["scan"]["id"])
        assert found["scan"]["reason"] == "request" and f"is number {numbers[-1]} on its tape".encode() in one.stderr
        assert found["definitely_lost"] == {"bytes": 77, "blocks": 1} and found["not_scanned"]["blocks"] == 0
        assert classes(tmp_path / f"now{i}") == found
        own = classes(tmp_path / "tape", "--scan", str(numbers[-1]))
        assert without_clock(own) == without_clock(found)
        assert abs(own["scan"]["time_ns"] - found["scan"]["time_ns"]) < 1e6
    assert numbers == sorted(set(numbers))
    assert recording.run([binary(), "verify", tmp_path / "now0"]).returncode == 0


@pytest.mark.parametrize("live", [(), ("--live",)], ids=["", "live"])
def test_the_tape_of_a_scan_by_the_collector_ends_when_the_program_stood_still(program, tmp_path, live):
    """All threads' events up to then, and none of later: a part of them would be a moment that never was."""
    process = start(program, tmp_path / "tape", "--leak-scan", *live, words=("run", "2"))
    for attempt in range(20):  # until both threads had a processor just before it
        now = tmp_path / f"now{attempt}"
        done = recording.run([binary(), "leaks", "-q", "--json", "-o", now, str(pid_of(process))], timeout=120)
        moment = json.loads(done.stdout)["scan"]["time_ns"]
        rows = json.loads(recording.run([
            binary(), "sql", "--json", now, "select max(alloc_ns) as alloc, max(free_ns) as free, count(*) as count"
            " from allocations group by thread order by count desc limit 2"]).stdout)
        assert all(max(row["alloc"], row["free"]) < moment + 1e6 for row in rows)
        if all(row["count"] > 1000 and min(row["alloc"], row["free"]) > moment - 1e8 for row in rows):
            break
    else:
        raise AssertionError(rows)
    assert stop(process) == ""


def test_several_may_want_scans_at_once_each_with_its_own_heuristics(program, tmp_path):
    process = start(program, tmp_path / "tape", "--leak-scan", words=("run", "2"))
    pid = pid_of(process)
    sets = ["stdstring,length64,newarray,multipleinheritance", "none", "stdstring", "length64,newarray"]
    asking = [subprocess.Popen([binary(), "leaks", "--json", "--leak-heuristics", one, str(pid)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE) for one in sets]
    found = [one.communicate(timeout=120) for one in asking]
    assert stop(process) == ""
    for one, answer in zip(sets, found):
        assert (",".join(json.loads(answer[0])["scan"]["heuristics"]) or "none") == one


def test_a_program_that_ends_while_a_scan_is_wanted_is_not_waited_for(program, tmp_path):
    """Its collector does not answer: it is stopped, and then dies with the program."""
    process = start(program, tmp_path / "tape", "--leak-scan")
    pid = pid_of(process)
    process.send_signal(signal.SIGSTOP)
    asking = subprocess.Popen([binary(), "leaks", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.3)
    assert asking.poll() is None
    os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait(60)
    assert b"ended before the scan was done" in asking.communicate(timeout=60)[1] and asking.returncode == 1


def test_a_program_that_its_collector_watches_is_scanned_from_outside(program, tmp_path):
    """It looks at pages, for which it has stopped the program once, and would not be asked."""
    process = start(program, tmp_path / "tape", "--staleness=100ms", words=("run", "2"))
    done = [recording.run([binary(), "leaks", "-q", "--json", str(pid_of(process))], timeout=60) for _ in range(3)]
    assert stop(process) == ""
    assert {one.returncode for one in done} == {0}, done
    assert all(json.loads(one.stdout)["definitely_lost"]["blocks"] >= 1 for one in done)


def test_a_program_that_writes_its_own_tape_is_scanned_from_outside(program, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(recording.library()), "MEMTAPE_OUTPUT": str(tmp_path / "own.mtape")}
    process = subprocess.Popen([program, "run"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        done = recording.run([binary(), "leaks", "--json", str(process.pid)], timeout=60)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["definitely_lost"] == {"bytes": 77, "blocks": 1}
    finally:
        process.kill()
        process.wait()


def test_a_process_that_does_not_exist_is_refused():
    done = recording.run([binary(), "leaks", "4194303"])
    assert done.returncode == 1 and b"is gone" in done.stderr


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_traced_process_is_refused_and_goes_on(program, tmp_path):
    process = start(program, tmp_path / "tape")
    pid = pid_of(process)
    tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(pid)], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        done = recording.run([binary(), "leaks", str(pid)])
        assert done.returncode == 1 and b"is traced by process" in done.stderr
    finally:
        tracer.terminate()
        tracer.wait()
    assert stop(process) == ""


@pytest.mark.parametrize("words", [("--leak-scan=never",), ("--leak-scan=every:0s",), ("--leak-scan=every:x",),
                                   ("--leak-heuristics=some",)])
def test_options_that_mean_nothing_are_refused(tmp_path, words):
    done = recording.run([binary(), "record", *words, "-o", tmp_path / "tape", "true"])
    assert done.returncode == 2 and b"--leak-" in done.stderr
    assert not (tmp_path / "tape").exists()


def test_without_a_scan_the_report_says_how_to_get_one(program, tmp_path):
    recording.run([binary(), "record", "-q", "-o", tmp_path / "tape", program])
    done = recording.run([binary(), "report", tmp_path / "tape", "leak-classes"])
    assert done.returncode == 1 and b"--leak-scan" in done.stderr


ALLOCATORS = ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_what_an_allocator_notes_of_its_blocks_holds_nothing(allocator, tmp_path):
    """Its lists and maps, in memory that it has mapped, point to all blocks."""
    library = next(pathlib.Path("/usr/lib").glob(f"*/{allocator}"), None)
    if not library:
        pytest.skip(f"{allocator} is not installed")
    source = pathlib.Path(__file__).resolve().parents[1] / "web" / "scanned.c"
    subprocess.run(["gcc", "-g", "-O1", "-o", tmp_path / "scanned", source], check=True)
    done = recording.run_recorded([tmp_path / "scanned"], tmp_path / "tape", ["-q", "--leak-scan"], env={"LD_PRELOAD": library})
    assert done.returncode == 0, done.stderr
    found = {(r["class"], r["function"]): r["blocks"] for r in classes(tmp_path / "tape")["records"]
             if r["module"] == str(tmp_path / "scanned")}
    assert found == {("definitely_lost", "lose"): 40, ("indirectly_lost", "hang"): 40, ("possibly_lost", "middle"): 1,
                     ("still_reachable", "keep"): 30}
    site = next(s for s in recording.report(tmp_path / "tape", "holders")["sites"] if s["function"] == "keep")
    assert [step["name"] or step["function"] for step in site["chain"]] == ["the_list", "keep"]
