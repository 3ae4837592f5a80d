#include "scan/snapshot.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "scan/status.h"

enum {
	CODE_BYTES = 16 << 10,
	MASK_BYTES = 8 /* of the kernel's set of signals */
};

/* Where an instruction for system calls is: in the vDSO, which every process has. 0: nowhere. */
static uint64_t find_call(pid_t pid, const struct maps *maps)
{
	static const uint8_t call[] = ARCH_CALL_CODE;
	uint8_t code[CODE_BYTES];

	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		const struct iovec local = { code,
					     u64_min(sizeof(code), entry->end - entry->begin) };
		const struct iovec remote = { (void *)entry->begin, local.iov_len };
		const uint8_t *found;
		ssize_t got;

		if (!entry->is_executable || strcmp(maps_name(maps, entry), "[vdso]") != 0)
			continue;
		got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
		found = got > 0 ? memmem(code, (size_t)got, call, sizeof(call)) : NULL;
		if (found)
			return entry->begin + (uint64_t)(found - code);
	}
	return 0;
}

/* A filter could end the program for a call that it does not know. */
static bool has_filter(pid_t pid, pid_t tid)
{
	struct status status;

	return !status_read(&status, pid, tid) || status_number(&status, "Seccomp", 10, 1) != 0;
}

static bool set_registers(pid_t tid, const uint64_t *registers)
{
	struct iovec general = { (void *)registers, ARCH_REGSET_WORDS * sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &general) == 0;
}

static bool get_registers(pid_t tid, uint64_t *registers)
{
	struct iovec general = { registers, ARCH_REGSET_WORDS * sizeof(*registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &general) == 0;
}

/* Whether it has ended, or is about to: then it does not stop any more. */
static bool is_dead(pid_t pid, pid_t tid)
{
	struct status status;

	return !status_read(&status, pid, tid) || status_is_dead(&status);
}

/*
 * Waits for a thread to stop, but not for its end: that of a first thread is not to be had before
 * the others' have been seen, which is up to us as well.
 */
static bool wait_stop(pid_t pid, const struct stop_thread *thread, int *status_ret)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 };

	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL) < 0)
			return false;
		if (info.si_pid == thread->tid) {
			*status_ret = info.si_status << 8 | 0x7f; /* as from waitpid() */
			return true;
		}
		if (is_dead(pid, thread->tid))
			return false;
		nanosleep(&pause, NULL);
	}
}

static bool is_call_stop(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Runs the thread to the end of its call; *copy_ret is the process that it made, if it did. */
static bool run_call(pid_t pid, struct stop_thread *thread, pid_t *copy_ret)
{
	unsigned long message;
	int status, call_stops = 0;

	while (call_stops < 2) {
		if (ptrace(PTRACE_SYSCALL, thread->tid, NULL, NULL) < 0 ||
		    !wait_stop(pid, thread, &status))
			return false;
		if (is_call_stop(status))
			call_stops++;
		else if (status >> 16 == PTRACE_EVENT_FORK || status >> 16 == PTRACE_EVENT_CLONE) {
			if (ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &message) == 0)
				*copy_ret = (pid_t)message;
		}
	}
	return true;
}

/*
 * Back to where it was stopped at first: the kernel makes an interrupted call again only on the way
 * out of such a stop.
 */
static bool stop_again(pid_t pid, struct stop_thread *thread)
{
	int status;

	return ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 &&
	       ptrace(PTRACE_CONT, thread->tid, NULL, NULL) == 0 && wait_stop(pid, thread, &status);
}

static void adopt(pid_t copy)
{
	int status;

	while (waitpid(copy, &status, __WALL) < 0 && errno == EINTR)
		;
	ptrace(PTRACE_SETOPTIONS, copy, NULL, PTRACE_O_EXITKILL);
}

/* The thread's registers are as before, whatever happened. */
static pid_t run_copy(pid_t pid, struct stop_thread *thread, uint64_t call)
{
	uint64_t registers[ARCH_REGSET_WORDS];
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE;
	pid_t copy = 0;

	memcpy(registers, thread->registers, sizeof(registers));
	arch_regset_call(registers, call, SYS_clone, CLONE_PARENT | SIGCHLD);
	if (ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, options) < 0 ||
	    !set_registers(thread->tid, registers))
		return 0;
	if (run_call(pid, thread, &copy) && copy > 0)
		adopt(copy);
	stop_again(pid, thread);
	set_registers(thread->tid, thread->registers);
	ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, 0);
	return copy;
}

/*
 * Signals for the thread stay pending meanwhile, and those for us, which could end us while its
 * registers are not its own.
 */
static pid_t make_copy(pid_t pid, struct stop_thread *thread, uint64_t call)
{
	uint64_t all_blocked = UINT64_MAX, mask;
	sigset_t all, before;
	pid_t copy = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask) == 0 &&
	    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &all_blocked) ==
		    0) {
		copy = run_copy(pid, thread, call);
		ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return copy;
}

/* One that stopped for us, not for a signal, and not in the middle of anything. */
static bool is_usable(const struct stop *stop, const struct stop_thread *thread)
{
	uint64_t now[ARCH_REGSET_WORDS];

	return thread->is_held && !thread->is_listening && !thread->signal &&
	       get_registers(thread->tid, now) && !has_filter(stop->pid, thread->tid);
}

struct err *snapshot_take(struct stop *stop, const struct maps *maps, pid_t *copy_ret)
{
	const uint64_t call = find_call(stop_living(stop), maps);

	assert(copy_ret);
	for (size_t i = 0; call && i < stop->threads.count; i++) {
		struct stop_thread *thread = &stop->threads.items[i];
		pid_t copy;

		if (!is_usable(stop, thread))
			continue;
		copy = make_copy(stop->pid, thread, call);
		if (copy > 0) {
			*copy_ret = copy;
			return NULL;
		}
		return err_new(ERR_STATE,
			       "process %d cannot be copied: too little memory, or too many "
			       "processes",
			       (int)stop->pid);
	}
	return err_new(ERR_STATE,
		       "process %d cannot be copied: it has a seccomp filter, or is stopped, or no "
		       "thread of it is where it could make the call",
		       (int)stop->pid);
}

void snapshot_end(pid_t copy)
{
	assert(copy > 0);
	kill(copy, SIGKILL);
	while (waitpid(copy, NULL, __WALL) < 0 && errno == EINTR)
		;
}
