#include "scan/stop.h"

#include <assert.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "scan/status.h"

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

enum {
	PATIENCE_NS = 1000 * 1000 * 1000,
	PAUSE_NS = 50 * 1000,
	ROUNDS_MAX = 64 /* of looking for new threads */
};

static uint64_t tracer_of(const struct status *status)
{
	return status_number(status, "TracerPid", 10, 0);
}

struct err *stop_traced(pid_t pid, const struct status *status)
{
	const uint64_t tracer = tracer_of(status);

	return tracer ? err_new(ERR_STATE,
				"process %d is traced by process %llu, a debugger, strace or "
				"`memtape record --leak-scan`; end that first: only one at a time "
				"may stop it",
				(int)pid, (unsigned long long)tracer)
		      : NULL;
}

struct err *stop_refusal(pid_t pid, int error)
{
	struct status status;
	struct err *err;

	if (!status_read(&status, pid, pid))
		return err_new(ERR_NOT_FOUND, "process %d is gone", (int)pid);
	err = stop_traced(pid, &status);
	if (err)
		return err;
	if (error == EPERM)
		return err_new(ERR_STATE,
			       "process %d may not be stopped: it runs as another user, has more "
			       "privileges, or is not dumpable (prctl PR_SET_DUMPABLE), or "
			       "/proc/sys/kernel/yama/ptrace_scope forbids it; root may",
			       (int)pid);
	return err_errno_new(error, "stop process %d", (int)pid);
}

/*
 * Of a thread that is not the first. NULL: it is gone, or about to be. One that somebody else
 * traces is none to be left alone: it would run on, and change what is looked at.
 */
static struct err *thread_refusal(pid_t pid, pid_t tid)
{
	struct status status;

	if (!status_read(&status, pid, tid) || status_is_dead(&status) || !tracer_of(&status) ||
	    tracer_of(&status) == (uint64_t)gettid())
		return NULL;
	return err_new(ERR_STATE,
		       "thread %d of process %d is traced by process %llu, a debugger or strace; "
		       "end that first: only one at a time may stop it",
		       (int)tid, (int)pid, (unsigned long long)tracer_of(&status));
}

/* --- stopping -------------------------------------------------------------------------------- */

static struct stop_thread *find(struct stop *stop, pid_t tid)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (stop->threads.items[i].tid == tid)
			return &stop->threads.items[i];
	return NULL;
}

static struct err *seize(struct stop *stop, pid_t tid, const struct stop_kept *kept)
{
	const bool is_kept = tid == kept->tid;
	struct stop_thread *thread;
	struct status status;

	if (tid == stop->pid && status_read(&status, tid, tid) && status_is_dead(&status))
		return NULL;

	if (!is_kept && ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		if (errno == ESRCH)
			return NULL;
		return tid == stop->pid ? stop_refusal(stop->pid, errno)
					: thread_refusal(stop->pid, tid);
	}
	thread = stop_threads_add(&stop->threads);
	if (!thread) {
		if (!is_kept)
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return err_nomem();
	}
	memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	thread->is_kept = is_kept;
	thread->is_held = is_kept && kept->is_stopped;
	thread->signal = thread->is_held ? kept->signal : 0;
	if (!thread->is_held)
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return NULL;
}

/* Threads that are not known yet; the first thread first: whether it may be stopped holds for all.
 */
static struct err *seize_new(struct stop *stop, const struct stop_kept *kept, size_t *new_count)
{
	char path[64];
	struct err *err = NULL;
	struct dirent *entry;

	*new_count = 0;
	CLEAN(closedir)
	DIR *directory = opendir(str_format(path, sizeof(path), "/proc/%d/task", (int)stop->pid));

	if (!directory)
		return stop_refusal(stop->pid, errno);
	while (!err && (entry = readdir(directory))) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		const size_t before = stop->threads.count;

		if (tid <= 0 || find(stop, tid))
			continue;
		err = seize(stop, tid, kept);
		*new_count += stop->threads.count - before;
	}
	return err;
}

static bool is_group_stop(int status)
{
	const int number = WSTOPSIG(status);

	return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static void take_status(struct stop_thread *thread, int status)
{
	const int event = status >> 16;

	thread->is_held = true;
	if (event == 0)
		thread->signal = WSTOPSIG(status);
	else if (event == PTRACE_EVENT_STOP)
		thread->is_listening = is_group_stop(status);
}

static bool is_first(const struct stop *stop, const struct stop_thread *thread)
{
	return thread->tid == stop->pid;
}

/* False: it has not stopped yet. The end of a process is for its parent to see. */
static bool is_settled(const struct stop *stop, struct stop_thread *thread)
{
	siginfo_t info = { 0 };
	int status = 0;

	assert(thread->tid > 0); /* 0 would be any child */
	if (waitid(P_PID, (id_t)thread->tid, &info,
		   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	    info.si_pid == 0)
		return false;
	if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
		waitpid(thread->tid, &status, __WALL | WNOHANG);
	if (WIFSTOPPED(status)) {
		take_status(thread, status);
		return true;
	}
	if (!is_first(stop, thread)) /* as its tracer we must see its end */
		waitpid(thread->tid, &status, __WALL | WNOHANG);
	thread->tid = 0; /* gone */
	return true;
}

/*
 * Calls that a stop ends with EINTR though there is no signal: signal(7), "Interruption of system
 * calls by stop signals"; those on sockets where they have a timeout. What they have begun does not
 * change what they do when they are made again.
 */
static bool is_repeatable(uint64_t number)
{
	static const uint64_t numbers[] = {
		SYS_epoll_pwait,   SYS_semop,	 SYS_semtimedop, SYS_rt_sigtimedwait,
		SYS_io_getevents,  SYS_recvfrom, SYS_recvmsg,	 SYS_recvmmsg,
		SYS_sendto,	   SYS_sendmsg,	 SYS_read,	 SYS_readv,
		SYS_write,	   SYS_writev,	 SYS_accept,	 SYS_accept4,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
#ifdef SYS_io_pgetevents
		SYS_io_pgetevents,
#endif
	};

	for (size_t i = 0; i < array_size(numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* It would fail, and without need. The kernel itself makes the others again. */
static bool is_ended(const struct stop_thread *thread)
{
	return thread->is_stopped && is_repeatable(thread->registers[ARCH_REGSET_NUMBER]) &&
	       (int64_t)thread->registers[ARCH_REGSET_RESULT] == -EINTR;
}

static void rewind_call(uint64_t *registers)
{
	registers[ARCH_REGSET_RESULT] = registers[ARCH_REGSET_NUMBER];
	registers[ARCH_REGSET_PC] -= ARCH_CALL_BYTES;
	registers[ARCH_REGSET_NUMBER] = UINT64_MAX;
}

bool stop_restore(struct stop_thread *thread)
{
	uint64_t registers[ARCH_REGSET_WORDS];
	struct iovec general = { registers, sizeof(registers) };

	memcpy(registers, thread->registers, sizeof(registers));
	if (thread->is_rewound)
		rewind_call(registers);
	return ptrace(PTRACE_SETREGSET, thread->tid, NT_PRSTATUS, &general) == 0;
}

void stop_rest(const struct stop_thread *thread, uint64_t registers[ARCH_REGSET_WORDS])
{
	memcpy(registers, thread->registers, sizeof(thread->registers));
	if (is_ended(thread))
		rewind_call(registers);
	else
		arch_regset_rest(registers);
}

/* From now on it would go on as if nothing had happened, if we died. */
static void make_ready(struct stop_thread *thread)
{
	if (thread->is_listening || thread->signal || !is_ended(thread))
		return;
	thread->is_rewound = true;
	stop_restore(thread);
}

static void take_registers(struct stop_thread *thread)
{
	struct iovec general = { thread->registers, sizeof(thread->registers) };
	struct iovec vectors = { thread->vectors, sizeof(thread->vectors) };

	thread->is_stopped = ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &general) == 0;
	if (thread->is_stopped)
		make_ready(thread);
	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_X86_XSTATE, &vectors) == 0 ||
	    ptrace(PTRACE_GETREGSET, thread->tid, NT_PRFPREG, &vectors) == 0)
		thread->vector_bytes = vectors.iov_len;
}

static void await(struct stop *stop, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stop_thread *thread = &stop->threads.items[i];

		while (thread->tid && !thread->is_held && !is_settled(stop, thread) &&
		       monotonic_ns() < until_ns)
			nanosleep(&pause, NULL);
		if (thread->tid && thread->is_held && !thread->is_stopped)
			take_registers(thread);
	}
}

/* Forgets those that are gone. */
static void settle(struct stop *stop)
{
	size_t kept = 0;

	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stop_thread *thread = &stop->threads.items[i];

		stop->missed_count += thread->tid && !thread->is_stopped;
		if (thread->tid)
			stop->threads.items[kept++] = *thread;
	}
	stop->threads.count = kept;
}

struct err *stop_begin(struct stop *stop, pid_t pid, const struct stop_kept *kept)
{
	const uint64_t begin_ns = monotonic_ns();
	struct err *err = NULL;
	size_t new_count = 1;

	assert(pid > 0);
	assert(kept);
	*stop = (struct stop) { .pid = pid, .begin_ns = begin_ns };
	for (int round = 0; round < ROUNDS_MAX && new_count > 0 && !err; round++) {
		err = seize_new(stop, kept, &new_count);
		if (!err)
			await(stop, begin_ns + PATIENCE_NS);
	}
	settle(stop);
	if (!err && stop->threads.count == 0)
		err = stop_refusal(pid, ESRCH);
	if (err)
		stop_end(stop);
	return err;
}

/* --- going on -------------------------------------------------------------------------------- */

/* A signal that is about to arrive would have ended the call in any case. */
static bool has_signal(const struct stop *stop, const struct stop_thread *thread)
{
	struct status status;

	return thread->signal || !status_read(&status, stop->pid, thread->tid) ||
	       ((status_number(&status, "SigPnd", 16, 0) |
		 status_number(&status, "ShdPnd", 16, 0)) &
		~status_number(&status, "SigBlk", 16, 0));
}

/* A signal must end the call that would have been ended by it. */
static void decide_call(const struct stop *stop, struct stop_thread *thread)
{
	const bool is_again = is_ended(thread) && !has_signal(stop, thread);

	if (is_again == thread->is_rewound)
		return;
	thread->is_rewound = is_again;
	stop_restore(thread);
}

/* A thread that is about to die does not go on: its end is seen later. */
static void detach(struct stop_thread *thread)
{
	if (ptrace(PTRACE_DETACH, thread->tid, NULL, (long)thread->signal) < 0)
		thread->is_dying = true;
}

static void go_on(const struct stop *stop, struct stop_thread *thread)
{
	assert(thread->is_held);
	thread->is_held = false;
	if (!thread->is_listening && !thread->signal)
		decide_call(stop, thread);
	if (!thread->is_kept)
		detach(thread);
	else if (thread->is_listening)
		ptrace(PTRACE_LISTEN, thread->tid, NULL, NULL);
	else
		ptrace(PTRACE_CONT, thread->tid, NULL, (long)thread->signal);
}

/* Whoever stays traced goes on last: it may be about to end the process. */
static void go_on_all(struct stop *stop, bool is_kept)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (stop->threads.items[i].is_held && stop->threads.items[i].is_kept == is_kept)
			go_on(stop, &stop->threads.items[i]);
}

void stop_keep_one(struct stop *stop, const struct stop_thread *kept)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (stop->threads.items[i].is_held && &stop->threads.items[i] != kept)
			go_on(stop, &stop->threads.items[i]);
}

uint64_t stop_end(struct stop *stop)
{
	const uint64_t pause_ns = monotonic_ns() - stop->begin_ns;

	go_on_all(stop, false);
	go_on_all(stop, true);
	return pause_ns;
}

/* True: it is left to be waited for. */
static bool wait_for(const struct stop *stop, struct stop_thread *thread)
{
	if (!thread->tid || (thread->is_stopped && !thread->is_dying))
		return false;
	if (!is_settled(stop, thread))
		return true;
	if (!thread->tid)
		return false;
	thread->is_dying = false;
	take_registers(thread);
	go_on(stop, thread);
	return thread->is_dying;
}

bool stop_late(struct stop *stop)
{
	bool has_more = false;

	for (size_t i = 0; i < stop->threads.count; i++)
		has_more |= wait_for(stop, &stop->threads.items[i]);
	return has_more;
}

pid_t stop_living(const struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (stop->threads.items[i].is_stopped)
			return stop->threads.items[i].tid;
	return stop->pid;
}

bool stop_is_theirs(const struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++)
		if (stop->threads.items[i].is_listening)
			return true;
	return false;
}

struct err *stop_copy(const struct stop *stop, struct stop *copy)
{
	const size_t count = stop->threads.count;

	*copy = *stop;
	copy->threads = (struct stop_threads) { 0 };
	if (!stop_threads_reserve(&copy->threads, count + 1))
		return err_nomem();
	if (count > 0)
		memcpy(copy->threads.items, stop->threads.items,
		       count * sizeof(*copy->threads.items));
	copy->threads.count = count;
	return NULL;
}

void stop_deinit(struct stop *stop)
{
	stop_threads_deinit(&stop->threads);
}
