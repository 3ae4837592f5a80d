#include "scan/inject.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scan/landing.h"
#include "scan/status.h"

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

enum {
	VECTOR_BYTES_MAX = 32 << 10,
	MASK_BYTES = 8, /* of the kernel's set of signals */
	SIGNALS_MAX = 64
};

/* Those that came meanwhile: before Linux 3.11 a tracer cannot block them. */
struct signals {
	siginfo_t items[SIGNALS_MAX];
	size_t count;
};

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

/* It is about to have a signal: it goes on without, and gets it at the end. */
static void signal_keep(const struct stop_thread *thread, int status, struct signals *signals)
{
	siginfo_t *info = &signals->items[signals->count];

	if (status >> 16 != 0 || is_call_stop(status) || signals->count == SIGNALS_MAX)
		return;
	if (ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, info) != 0)
		*info = (siginfo_t) { .si_signo = WSTOPSIG(status) };
	signals->count++;
}

/* Of those that the kernel itself has sent nobody else may say so. */
static void signals_send(pid_t pid, const struct stop_thread *thread, struct signals *signals)
{
	for (size_t i = 0; i < signals->count; i++) {
		const int number = signals->items[i].si_signo;

		if (syscall(SYS_rt_tgsigqueueinfo, pid, thread->tid, number, &signals->items[i]) !=
		    0)
			syscall(SYS_tgkill, pid, thread->tid, number);
	}
}

/* Runs the thread to the end of its call; *made_ret is the process that it made, if it did. */
static bool run_call(pid_t pid, struct stop_thread *thread, struct signals *signals,
		     pid_t *made_ret)
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
		} else
			signal_keep(thread, status, signals);
	}
	return true;
}

/*
 * Back to where it was stopped at first: the kernel makes an interrupted call again only on the way
 * out of such a stop.
 */
static bool stop_again(pid_t pid, struct stop_thread *thread, struct signals *signals)
{
	int status = 0;

	if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) != 0)
		return false;
	while (status >> 16 != PTRACE_EVENT_STOP) {
		if (ptrace(PTRACE_CONT, thread->tid, NULL, NULL) != 0 ||
		    !wait_stop(pid, thread, &status))
			return false;
		signal_keep(thread, status, signals);
	}
	return true;
}

/* It stands still, and dies when we do: it must never run. */
static void adopt(pid_t copy)
{
	int status;

	while (waitpid(copy, &status, __WALL) < 0 && errno == EINTR)
		;
	ptrace(PTRACE_SETOPTIONS, copy, NULL, PTRACE_O_EXITKILL);
}

/* What a landing restores. */
static void fill_words(const struct stop_thread *thread, uint64_t mask,
		       struct arch_landing_words *words)
{
	*words = (struct arch_landing_words) { .mask = mask };
	stop_rest(thread, words->registers);
}

static bool get_mask(pid_t pid, pid_t tid, uint64_t *mask)
{
	struct status status;

	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)MASK_BYTES, mask) == 0)
		return true;
	if (errno != EIO || !status_read(&status, pid, tid))
		return false;
	*mask = status_number(&status, "SigBlk", 16, 0);
	return true;
}

/* Where a tracer cannot, it is as it was, and what comes is kept. */
static bool set_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, (void *)(uintptr_t)MASK_BYTES, &mask) == 0 ||
	       errno == EIO;
}

/*
 * The thread's registers are as before, whatever happened. They are the first to be changed and the
 * last to be put back: in between the landing would do what we do not do any more.
 */
static bool run(pid_t pid, struct stop_thread *thread, const struct landing *landing,
		struct inject_call *call)
{
	const uint16_t place =
		call->number == SYS_clone ? arch_landing_places.copy : arch_landing_places.call;
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE;
	uint64_t registers[ARCH_REGSET_WORDS], mask;
	struct arch_landing_words words;
	struct signals signals = { .count = 0 };
	bool ok;

	if (!get_mask(pid, thread->tid, &mask))
		return false;
	fill_words(thread, mask, &words);
	memcpy(registers, thread->registers, sizeof(registers));
	arch_regset_call(registers, landing->at + place, call->number, call->arguments);
	if (!landing_set(landing, &words) ||
	    ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, options) < 0 ||
	    !set_registers(thread->tid, registers))
		return false;
	ok = set_mask(thread->tid, UINT64_MAX) && run_call(pid, thread, &signals, &call->made) &&
	     get_registers(thread->tid, registers);
	if (ok)
		call->result = (long)registers[ARCH_REGSET_RESULT];
	if (call->made > 0)
		adopt(call->made);
	stop_again(pid, thread, &signals);
	set_mask(thread->tid, mask);
	stop_restore(thread);
	signals_send(pid, thread, &signals);
	ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, 0);
	return ok;
}

/*
 * Signals for the thread stay pending meanwhile, and those for us, which could end us while its
 * registers are not its own.
 */
static bool run_undisturbed(pid_t pid, struct stop_thread *thread, const struct landing *landing,
			    struct inject_call *call)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = run(pid, thread, landing, call);
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
	struct landing landing;
	struct err *err = landing_place(&landing, stop, thread->tid, maps);
	bool ok;

	call->made = 0;
	if (err)
		return err;
	ok = run_undisturbed(stop->pid, thread, &landing, call);
	landing_remove(&landing);
	return ok ? NULL
		  : err_new(ERR_STATE, "a thread of process %d could not make a system call",
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

/*
 * One whose arrival means nothing to the process, and that nobody waits for, so that it may come
 * without us as well. 0: there is none.
 */
static int harmless_signal(pid_t pid, pid_t tid)
{
	static const int numbers[] = { SIGURG, SIGWINCH, SIGCHLD };
	struct status status;
	uint64_t taken, ignored;

	if (!status_read(&status, pid, tid))
		return 0;
	taken = status_number(&status, "SigCgt", 16, 0) | status_number(&status, "SigBlk", 16, 0);
	ignored = status_number(&status, "SigIgn", 16, 0) & ~taken;
	for (size_t i = 0; i < array_size(numbers); i++)
		if (!(taken >> (numbers[i] - 1) & 1))
			return numbers[i];
	return ignored ? __builtin_ctzll(ignored) + 1 : 0;
}

static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
	       number == SIGTRAP;
}

static uint64_t bit_of(int number)
{
	return UINT64_C(1) << (number - 1);
}

/* True: it has returned, and stands still. */
static bool run_function(pid_t pid, struct stop_thread *thread, uint64_t returned, int number,
			 struct signals *signals, struct inject_function *function)
{
	uint64_t registers[ARCH_REGSET_WORDS];
	int status;

	for (;;) {
		if (ptrace(PTRACE_CONT, thread->tid, NULL, NULL) < 0 ||
		    !wait_stop(pid, thread, &status) || is_fault(WSTOPSIG(status)))
			return false;
		if (WSTOPSIG(status) != number) {
			/* or a stop of the whole process, which it does not take part in */
			signal_keep(thread, status, signals);
			continue;
		}
		if (!get_registers(thread->tid, registers))
			return false;
		if (registers[ARCH_REGSET_PC] != returned)
			continue; /* somebody else's signal, which does nothing */
		function->result = registers[ARCH_LANDING_RESULT];
		return true;
	}
}

/* What a function returns to, at the end of its stack. All vector registers: a scan reads less. */
struct way_back {
	uint64_t address;
	struct arch_landing_words words;
	uint8_t vectors[VECTOR_BYTES_MAX];
};

static_assert(offsetof(struct way_back, vectors) % 64 == sizeof(uint64_t), "as the landing says");

static bool vectors_read(pid_t tid, void *vectors, size_t *bytes)
{
	struct iovec all = { vectors, VECTOR_BYTES_MAX };
	const bool ok = ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &all) == 0;

	*bytes = all.iov_len;
	return ok && all.iov_len < VECTOR_BYTES_MAX;
}

static void vectors_write(pid_t tid, void *vectors, size_t bytes)
{
	struct iovec all = { vectors, bytes };

	ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &all);
}

static uint64_t stack_of(const struct inject_function *function)
{
	const size_t bytes = sizeof(struct way_back) - sizeof(uint64_t);

	return ((function->stack_end - bytes) & -(uint64_t)64) - sizeof(uint64_t);
}

static bool write_way_back(pid_t tid, uint64_t at, const struct way_back *way, size_t bytes)
{
	const struct iovec local = { (void *)way, offsetof(struct way_back, vectors) + bytes };
	const struct iovec remote = { (void *)at, local.iov_len };

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)local.iov_len;
}

/* In the order that run() says: the landing is responsible as soon as the registers are set. */
static bool call_function(pid_t pid, struct stop_thread *thread, const struct landing *landing,
			  int number, struct inject_function *function)
{
	const uint64_t faults = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) | bit_of(SIGFPE) |
				bit_of(SIGTRAP);
	const uint64_t at = stack_of(function);
	uint64_t registers[ARCH_REGSET_WORDS], mask;
	struct way_back way = { .address = landing->at };
	struct signals signals = { .count = 0 };
	size_t bytes;
	bool ok;

	if (!get_mask(pid, thread->tid, &mask) || !vectors_read(thread->tid, way.vectors, &bytes))
		return false;
	fill_words(thread, mask, &way.words);
	way.words.signal = (uint64_t)number;
	memcpy(registers, thread->registers, sizeof(registers));
	arch_regset_enter(registers, function->address, at, function->arguments);
	if (!write_way_back(thread->tid, at, &way, bytes) || !set_registers(thread->tid, registers))
		return false;
	ok = set_mask(thread->tid, ~(faults | bit_of(number))) &&
	     run_function(pid, thread, landing->at + arch_landing_places.returned, number, &signals,
			  function);
	stop_again(pid, thread, &signals);
	vectors_write(thread->tid, way.vectors, bytes);
	set_mask(thread->tid, mask);
	stop_restore(thread);
	signals_send(pid, thread, &signals);
	return ok;
}

/* Signals for us could end us, too. */
static bool call_undisturbed(pid_t pid, struct stop_thread *thread, const struct landing *landing,
			     int number, struct inject_function *function)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = call_function(pid, thread, landing, number, function);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

struct err *inject_function_of(struct stop *stop, struct stop_thread *thread,
			       const struct maps *maps, struct inject_function *function)
{
	const int number = harmless_signal(stop->pid, thread->tid);
	struct landing landing;
	struct err *err;
	bool ok;

	assert(thread->is_held);
	assert(function->stack_end % 16 == 0);
	if (!number)
		return err_new(ERR_STATE,
			       "process %d handles SIGURG, SIGWINCH and SIGCHLD, and ignores no "
			       "signal: it cannot be made to call a function",
			       (int)stop->pid);
	err = landing_place(&landing, stop, thread->tid, maps);
	if (err)
		return err;
	ok = call_undisturbed(stop->pid, thread, &landing, number, function);
	landing_remove(&landing);
	return ok ? NULL
		  : err_new(ERR_STATE, "a thread of process %d could not call a function",
			    (int)stop->pid);
}
