#include "scan/inject.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "scan/status.h"

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

enum {
	CODE_BYTES = 16 << 10,
	VECTOR_BYTES_MAX = 32 << 10,
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

/* Runs the thread to the end of its call; *made_ret is the process that it made, if it did. */
static bool run_call(pid_t pid, struct stop_thread *thread, pid_t *made_ret)
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
				*made_ret = (pid_t)message;
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

/* It stands still, and dies when we do: it must never run. */
static void adopt(pid_t copy)
{
	int status;

	while (waitpid(copy, &status, __WALL) < 0 && errno == EINTR)
		;
	ptrace(PTRACE_SETOPTIONS, copy, NULL, PTRACE_O_EXITKILL);
}

/* The thread's registers are as before, whatever happened. */
static bool run(pid_t pid, struct stop_thread *thread, uint64_t at, struct inject_call *call)
{
	uint64_t registers[ARCH_REGSET_WORDS];
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE;
	bool ok;

	memcpy(registers, thread->registers, sizeof(registers));
	arch_regset_call(registers, at, call->number, call->arguments);
	if (ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, options) < 0 ||
	    !set_registers(thread->tid, registers))
		return false;
	ok = run_call(pid, thread, &call->made) && get_registers(thread->tid, registers);
	if (ok)
		call->result = (long)registers[ARCH_REGSET_RESULT];
	if (call->made > 0)
		adopt(call->made);
	stop_again(pid, thread);
	set_registers(thread->tid, thread->registers);
	ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, 0);
	return ok;
}

/*
 * Signals for the thread stay pending meanwhile, and those for us, which could end us while its
 * registers are not its own.
 */
static bool run_undisturbed(pid_t pid, struct stop_thread *thread, uint64_t at,
			    struct inject_call *call)
{
	uint64_t all_blocked = UINT64_MAX, mask;
	sigset_t all, before;
	bool ok = false;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask) == 0 &&
	    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &all_blocked) ==
		    0) {
		ok = run(pid, thread, at, call);
		ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

/* One that stopped for us, not for a signal, and not in the middle of anything. */
bool inject_is_usable(const struct stop *stop, const struct stop_thread *thread)
{
	uint64_t now[ARCH_REGSET_WORDS];

	return thread->is_held && !thread->is_listening && !thread->signal &&
	       get_registers(thread->tid, now) && !has_filter(stop->pid, thread->tid);
}

struct err *inject_call_of(struct stop *stop, struct stop_thread *thread, const struct maps *maps,
			   struct inject_call *call)
{
	const uint64_t at = find_call(thread->tid, maps);

	call->made = 0;
	if (at && run_undisturbed(stop->pid, thread, at, call))
		return NULL;
	return err_new(ERR_STATE, "a thread of process %d could not make a system call",
		       (int)stop->pid);
}

struct err *inject_call(struct stop *stop, const struct maps *maps, struct inject_call *call)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (inject_is_usable(stop, &stop->threads.items[i]))
			return inject_call_of(stop, &stop->threads.items[i], maps, call);
	return err_new(
		ERR_STATE,
		"no thread of process %d can make a system call for memtape: it has a seccomp "
		"filter, or is stopped, or none is where it could",
		(int)stop->pid);
}

/* --- functions ---------------------------------------------------------------------------------- */

/* It returns to address 0, where nothing is: the kernel's signal for that is ours to see. */
static const uint64_t return_address;

static bool is_ignored(pid_t pid, pid_t tid, int number)
{
	struct status status;

	return !status_read(&status, pid, tid) ||
	       (status_number(&status, "SigIgn", 16, 0) >> (number - 1) & 1);
}

/* True: it has returned, and stands still. */
static bool run_function(pid_t pid, struct stop_thread *thread, struct inject_function *function)
{
	uint64_t registers[ARCH_REGSET_WORDS];
	int status;

	for (;;) {
		if (ptrace(PTRACE_CONT, thread->tid, NULL, NULL) < 0 ||
		    !wait_stop(pid, thread, &status))
			return false;
		if (WSTOPSIG(status) != SIGSEGV)
			continue; /* a stop of the whole process, which it does not take part in */
		if (!get_registers(thread->tid, registers))
			return false;
		function->result = registers[ARCH_REGSET_RESULT];
		return registers[ARCH_REGSET_PC] == return_address;
	}
}

/* All of them: more than a scan reads. */
struct vectors {
	uint8_t bytes[VECTOR_BYTES_MAX];
	struct iovec all;
};

static bool vectors_read(pid_t tid, struct vectors *vectors)
{
	vectors->all = (struct iovec) { vectors->bytes, sizeof(vectors->bytes) };
	return ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vectors->all) == 0 &&
	       vectors->all.iov_len < sizeof(vectors->bytes);
}

static void vectors_write(pid_t tid, struct vectors *vectors)
{
	ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &vectors->all);
}

/* All signals but the one that says that it has returned wait, and those for us. */
static bool call_undisturbed(pid_t pid, struct stop_thread *thread,
			     struct inject_function *function)
{
	const uint64_t almost_all = ~(UINT64_C(1) << (SIGSEGV - 1));
	uint64_t registers[ARCH_REGSET_WORDS], mask;
	struct vectors vectors;
	sigset_t all, before;
	bool ok;

	memcpy(registers, thread->registers, sizeof(registers));
	arch_regset_enter(registers, function->address, function->stack_end - sizeof(uint64_t),
			  function->arguments);
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask) < 0 ||
	    !vectors_read(thread->tid, &vectors))
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &almost_all) ==
		     0 &&
	     set_registers(thread->tid, registers) && run_function(pid, thread, function);
	stop_again(pid, thread);
	set_registers(thread->tid, thread->registers);
	vectors_write(thread->tid, &vectors);
	ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)(uintptr_t)MASK_BYTES, &mask);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

struct err *inject_function_of(struct stop *stop, struct stop_thread *thread,
			       struct inject_function *function)
{
	const uint64_t at = function->stack_end - sizeof(uint64_t);
	const struct iovec local = { (void *)&return_address, sizeof(return_address) };
	const struct iovec remote = { (void *)at, sizeof(return_address) };

	assert(thread->is_held);
	assert(function->stack_end % 16 == 0);
	if (is_ignored(stop->pid, thread->tid, SIGSEGV))
		return err_new(ERR_STATE,
			       "process %d ignores SIGSEGV: it cannot be made to call a function",
			       (int)stop->pid);
	if (process_vm_writev(thread->tid, &local, 1, &remote, 1, 0) != sizeof(return_address) ||
	    !call_undisturbed(stop->pid, thread, function))
		return err_new(ERR_STATE, "a thread of process %d could not call a function",
			       (int)stop->pid);
	return NULL;
}
