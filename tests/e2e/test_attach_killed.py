"""memtape is killed while it attaches, at each of its steps: the process goes on as if nothing had happened."""
import json
import signal
import subprocess
import time

import pytest

import recording
from recording import memtape as binary

# Runs a command and kills it at the Nth beginning or end of a system call by which it changes another process; prints how many
# there were if it ends before.
KILLER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long wanted = atol(argv[1]), count = 0;
	struct user_regs_struct registers;
	int status;
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[2], argv + 2);
		_exit(99);
	}
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (int number = 0;;) {
		ptrace(PTRACE_SYSCALL, child, 0, (long)number);
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status))
			break;
		number = WSTOPSIG(status);
		if (number != (SIGTRAP | 0x80)) {
			number = number == SIGTRAP ? 0 : number;
			continue;
		}
		number = 0;
		ptrace(PTRACE_GETREGS, child, 0, &registers);
		if (registers.orig_rax != SYS_ptrace && registers.orig_rax != SYS_pwrite64 && registers.orig_rax != SYS_process_vm_writev)
			continue;
		if (++count == wanted)
			kill(child, SIGKILL);
	}
	printf("%s %ld\n", WIFSIGNALED(status) ? "killed" : "ended", count);
	return 0;
}
"""

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t go;
static int bad, rounds;
static void on_signal(int number) { go = number; }

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Seconds in which somebody on this machine waited for a processor, since it was started; without PSI, too many to tell. */
static double waited(void)
{
	char text[256];
	int fd = open("/proc/pressure/cpu", O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *total;

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	total = strstr(text, "total=");
	return total ? strtoull(total + 6, NULL, 10) / 1e6 : now();
}

static void check(const char *what, int is_right)
{
	if (!is_right && !go)
		printf("%s, errno %d\n", what, errno), bad++;
}

static void *storm(void *seed)
{
	void *held[64] = { 0 };
	for (unsigned s = (unsigned)(size_t)seed; !go; s = s * 1103515245 + 12345) {
		unsigned at = s >> 20 & 63;
		check("a block", !held[at] || *(unsigned *)held[at] == at);
		free(held[at]);
		held[at] = malloc(16 + (s >> 16) % 400);
		*(unsigned *)held[at] = at;
	}
	return NULL;
}

static void *write_now_and_then(void *fds)
{
	for (;; usleep(300000))
		check("write", write(((int *)fds)[1], "x", 1) == 1);
	return NULL;
}

/* Registers of both kinds and the flags keep what they have. */
static void spin(void)
{
	unsigned long value = 0x123456789abcdef, a, b, c, carry = 0, left = 20000000;
	__asm__ volatile("movq %5, %%xmm0\n\tmovq %5, %%xmm1\n\tmovq %5, %%xmm2\n\t"
			 "1: stc\n\tnop\n\tnop\n\tadc $0, %3\n\tdec %4\n\tjnz 1b\n\t"
			 "movq %%xmm0, %0\n\tmovq %%xmm1, %1\n\tmovq %%xmm2, %2"
			 : "=&r"(a), "=&r"(b), "=&r"(c), "+&r"(carry), "+&r"(left)
			 : "r"(value)
			 : "cc", "xmm0", "xmm1", "xmm2");
	check("a register", a == value && b == value && c == value && carry == 20000000);
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	struct timespec half = { 0, 400000000 };
	struct epoll_event event;
	int poller = epoll_create1(0), fds[2];
	pthread_t threads[3];
	sigset_t before, after;
	signal(SIGUSR1, on_signal);
	if (pipe(fds) != 0)
		return 3;
	for (size_t i = 0; i < 3 && strcmp(mode, "storm") == 0; i++)
		pthread_create(&threads[i], NULL, storm, (void *)(i + 1));
	if (strcmp(mode, "read") == 0)
		pthread_create(&threads[0], NULL, write_now_and_then, fds);
	sigprocmask(SIG_BLOCK, NULL, &before);
	puts("ready"), fflush(stdout);
	for (; !go; rounds++) {
		double before_it = waited(), begin = now();
		char byte = 0;
		if (strcmp(mode, "nanosleep") == 0) {
			check("nanosleep", nanosleep(&half, NULL) == 0);
			/* Begun anew after a stop, it would be longer; so it is where it waits for a processor. */
			check("time", now() - begin >= 0.399 && now() - begin < 0.7 + waited() - before_it);
		} else if (strcmp(mode, "epoll_wait") == 0) {
			check("epoll_wait", epoll_wait(poller, &event, 1, 300) == 0);
			check("time", now() - begin >= 0.299);
		} else if (strcmp(mode, "read") == 0) {
			check("read", read(fds[0], &byte, 1) == 1 && byte == 'x');
		} else if (strcmp(mode, "spin") == 0) {
			spin();
		} else {
			storm((void *)9);
		}
		sigprocmask(SIG_BLOCK, NULL, &after);
		check("signals", memcmp(&before, &after, sizeof(before)) == 0);
	}
	printf("%d bad\n", bad);
	return rounds == 0;
}
"""

STEP = {"nanosleep": 13, "epoll_wait": 20, "read": 20, "spin": 20, "storm": 61, "storm inline": 131}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    for name, text in (("killer", KILLER), ("program", PROGRAM)):
        (folder / f"{name}.c").write_text(text)
        subprocess.run(["gcc", "-O1", "-Wno-unused-result", "-o", folder / name, folder / f"{name}.c", "-pthread"], check=True)
    return folder


@pytest.fixture
def start(built):
    started = []

    def begin(mode):
        process = subprocess.Popen([built / "program", mode], stdout=subprocess.PIPE, text=True, env=recording.clean_env())
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process
    yield begin
    for process in started:
        process.kill()
        process.wait(timeout=30)
        process.stdout.close()


def kill_at(built, number, *words):
    done = subprocess.run([built / "killer", str(number), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=recording.clean_env(), timeout=60)
    return done.stdout.splitlines()[-1].split()


def goes_on(process, interrupted=0):
    """So often may epoll_wait() have failed."""
    assert process.poll() is None, process.stdout.read()
    process.send_signal(signal.SIGUSR1)
    lines = process.communicate(timeout=30)[0].splitlines()
    assert len([line for line in lines if line == "epoll_wait, errno 4"]) <= interrupted, lines
    assert [line for line in lines if interrupted == 0 or "errno 4" not in line][:-1] == []
    assert interrupted > 0 or lines == ["0 bad"]
    assert process.returncode == 0


@pytest.mark.parametrize("mode", STEP)
def test_killed_at_each_step(mode, built, start, tmp_path):
    program = start(mode.split()[0])
    command = [binary(), "attach", str(program.pid), "-q", "-f", "-o", str(tmp_path / "tape"), *(["--hook=inline"] if "inline" in mode else []), "-d", "1ms"]
    how, steps = kill_at(built, 0, *command)
    assert how == "ended" and int(steps) > 100
    killed = 0
    for number in range(1, int(steps), recording.times(1, STEP[mode])):
        how, _ = kill_at(built, number, *command)
        killed += how == "killed"
        assert program.poll() is None, number
        # What was left behind by the killed one is put away by the next; it is attached to, or not.
        subprocess.run([binary(), "detach", str(program.pid), "-q"], capture_output=True, env=recording.clean_env(), timeout=60)
    assert killed >= int(steps) // STEP[mode] // 2
    assert recording.run([binary(), *command[1:-1], "50ms"]).returncode == 0
    time.sleep(0.5)
    # That ends with EINTR at every stop. Until memtape has seen that it has stopped, nobody can make it again.
    goes_on(program, 2 + killed // 16 if mode == "epoll_wait" else 0)


@pytest.mark.parametrize("mode", ["nanosleep", "storm"])
def test_killed_at_any_time(mode, start, tmp_path):
    program = start(mode)
    for step in range(0, 40000, recording.times(200, 2000)):
        attached = subprocess.Popen([binary(), "attach", str(program.pid), "-q", "-f", "-o", tmp_path / "tape"], stderr=subprocess.DEVNULL,
                                    env=recording.clean_env())
        time.sleep(step / 1e6)
        attached.kill(), attached.wait()
        assert program.poll() is None, step
        recording.run([binary(), "detach", str(program.pid), "-q"])
    goes_on(program)


def verified(tape):
    done = recording.run([binary(), "verify", tape])
    assert done.returncode == 0, done.stderr
    killed = json.loads(recording.run([binary(), "verify", "--json", tape]).stdout)["killed"]
    assert killed in " ".join(done.stdout.decode().split())
    return killed


@pytest.mark.parametrize("end", ["let go", "killed"])
def test_what_is_known_of_the_program(end, start, tmp_path):
    tape = tmp_path / "tape"
    program = start("storm")
    attached = subprocess.Popen([binary(), "attach", str(program.pid), "-f", "-o", tape], stderr=subprocess.PIPE, env=recording.clean_env())
    assert b"recording" in attached.stderr.readline()
    attached.kill(), attached.communicate()
    assert verified(tape) == "memtape was killed while it recorded; the program still runs and is recorded, and this is what there is so far"
    if end == "let go":
        assert recording.run([binary(), "detach", str(program.pid)]).returncode == 0
        for _ in range(2):
            assert verified(tape) == "memtape was killed while it recorded; the program went on without being recorded"
            if program.poll() is None:
                goes_on(program)
    else:
        program.kill(), program.wait(timeout=30)
        assert verified(tape) == "memtape was killed while it recorded; the program is gone as well, killed perhaps, or cannot be seen from " \
                                 "here; everything up to its last event is here"
