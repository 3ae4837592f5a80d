/*
 * sandbox: programs that forbid themselves system calls (seccomp). A filter may kill a process that
 * makes a call not on its list, and the list was written without us. So from the moment a program
 * is about to lock itself in, the recorder makes none:
 *
 *	memory	       comes from a reserve mapped in advance
 *	slots	       with a collector are all mapped anyway; without one some are appended before,
 *		       and when they are full recording ends
 *	sleeping       is spinning, within bounds; the collector polls now and then
 *	threads	       are distinguished by libc's data about them
 *	stacks	       are read where libc says they are, without asking the kernel
 *	clocks	       usage.c: in strict mode time stands still
 *	the rest       is not asked: names of threads, touched pages, resident memory. A
 *		       collector asks that from outside
 *
 * Detected are prctl() and syscall(), which libseccomp calls. A system call that the program makes
 * itself can be detected only by a collector, a moment later (board.c). So with a collector the
 * recorder makes next to none in the first place, once it has started. A filter from before the
 * program's start let it start, with the calls that every program makes then; of that filter only
 * calls that no libc ever makes (mincore) are assumed not to be on its list.
 */
#include "rec/rec.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "rec/log.h"
#include "rec/other.h"
#include "rec/total.h"

#include "core/poison.h"

enum {
	PR_SET_NAME_OPTION = 15,
	PR_GET_NAME_OPTION = 16,
	PR_SET_SECCOMP_OPTION = 22,
	SET_MODE_STRICT = 0,
	SET_MODE_FILTER = 1,
	MODE_FILTER = 2, /* of prctl() */
	MODE_STRICT = 1,
	RESERVE_BYTES = 64 << 20,
	RESERVE_BYTES_FEW = 1 << 20, /* where the address space is limited */
	TID_WORDS = 512,	     /* of a control block that are searched */
	TID_UNKNOWN = 1 << 30	     /* and more: no thread's number is this large */
};

/* --- memory ---------------------------------------------------------------------------------- */

static uint8_t *reserve;
static size_t reserve_bytes;
static _Atomic size_t reserve_used;

void rec_reserve_map(void)
{
	uint64_t limit[2] = { 0 }; /* the kernel's: now, and at most; all ones: none */

	if (reserve)
		return;
	SYS_CALL4(SYS_prlimit64, 0, RLIMIT_AS, NULL, limit);
	reserve_bytes = limit[0] == UINT64_MAX ? RESERVE_BYTES : RESERVE_BYTES_FEW;
	reserve = sys_map_private(reserve_bytes);
}

/* In whole pages: some are advised about. */
static void *reserve_take(size_t bytes)
{
	const size_t begin = atomic_fetch_add(
		&reserve_used, (size_t)align_up(bytes, u64_max(rec.page_bytes, 4096)));

	CHECK(bytes > 0);
	if (!reserve || begin > reserve_bytes || bytes > reserve_bytes - begin)
		return NULL;
	return reserve + begin;
}

/* With a collector the reserve is used before it is needed, except for one half. */
void *rec_map(size_t bytes)
{
	void *memory = NULL;

	CHECK(bytes > 0);
	if (!rec_may_call() || (reserve && reserve_used < reserve_bytes / 2))
		memory = reserve_take(bytes);
	return memory || !rec_may_call() ? memory : sys_map_private(bytes);
}

static bool is_reserved(const void *memory)
{
	return reserve && (uint64_t)((const uint8_t *)memory - reserve) < reserve_bytes;
}

void rec_unmap(void *memory, size_t bytes)
{
	CHECK(memory && bytes > 0);
	if (!is_reserved(memory) && rec_may_call())
		sys_munmap(memory, bytes);
}

/* --- threads --------------------------------------------------------------------------------- */

static bool is_tid_at(uint32_t place, uint32_t tid)
{
	return ((const uint32_t *)pthread_self())[place] == tid;
}

/* Where libc keeps a thread's number, which it has from the kernel. */
static void tid_learn(_Atomic uint32_t *place, uint32_t tid)
{
	uint32_t at = 1;

	if (*place && is_tid_at(*place, tid))
		return;
	while (at < TID_WORDS && !is_tid_at(at, tid))
		at++;
	*place = at < TID_WORDS ? at : 0;
}

uint32_t rec_tid(uint32_t lane_index)
{
	static _Atomic uint32_t place; /* 0: not known */
	uint32_t tid;

	CHECK(lane_index < REC_LANES_MAX);
	if (rec_board_is_read() || !rec_may_call()) {
		tid = place ? ((const uint32_t *)pthread_self())[place] : 0;
		if (tid || !rec_may_call())
			return tid ? tid : (uint32_t)TID_UNKNOWN + lane_index;
	}
	tid = (uint32_t)sys_gettid();
	if (rec_libc_is_glibc())
		tid_learn(&place, tid);
	return tid;
}

bool rec_thread_name(char name[16])
{
	name[0] = '\0';
	if (rec_thread_name_inherited(name))
		return true;
	return rec_may_call() && SYS_CALL2(SYS_prctl, PR_GET_NAME_OPTION, name) == 0;
}

void rec_yield(void)
{
	if (rec_may_call())
		SYS_CALL0(SYS_sched_yield);
	else
		arch_pause();
}

/* --- when it begins -------------------------------------------------------------------------- */

static uint32_t filters_at_start;

uint32_t rec_sandbox_filter_count(void)
{
	return filters_at_start;
}

/* The number after it; 0: absent. */
static uint32_t number_in(const char *text, const char *name)
{
	const size_t bytes = strlen(name);
	uint32_t number = 0;

	while (*text && strncmp(text, name, bytes) != 0)
		text++;
	if (*text)
		text += bytes;
	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint32_t)(*text - '0');
	return number;
}

/* The program has just read its libraries: so it may do this, too. */
void rec_sandbox_init(void)
{
	static char text[4096];
	const int fd = sys_open("/proc/self/status", 0, 0);
	uint32_t mode;
	long len;

	if (fd < 0)
		return;
	len = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (len <= 0)
		return;
	text[len] = '\0';
	mode = number_in(text, "\nSeccomp:\t");
	filters_at_start = (uint32_t)u64_max(mode != 0, number_in(text, "\nSeccomp_filters:\t"));
	if (mode)
		atomic_store(&rec.sandbox, REC_SANDBOX_INHERITED);
}

/* By now threads that were about to make a system call have made it. */
static void wait_for_others(void)
{
	const struct sys_timeout a_moment = { .nanoseconds = 2000000 };

	if (atomic_load(&rec.lane_count) > 1)
		SYS_CALL2(SYS_nanosleep, &a_moment, NULL);
}

/* Returns what was before. */
static uint32_t sandbox_enter(const struct rec_frame *caller)
{
	uint32_t before = atomic_load(&rec.sandbox);
	struct other other;

	if (before == REC_SANDBOX_OWN || atomic_load(&rec.state) != REC_ON)
		return atomic_exchange(&rec.sandbox, REC_SANDBOX_OWN);
	REC_LOG(REC_LOG_INFO,
		"the program locks itself in by a filter of its own: no system calls from here on, "
		"and no lines here");
	rec_reserve_map();
	rec_total_settle_all();
	rec_slots_reserve();
	other = other_begin(caller);
	if (other.lane) {
		rec_stack_use_note(other.lane, false);
		rec_usage_end(other.lane);
	}
	other_end(&other);
	before = atomic_exchange(&rec.sandbox, REC_SANDBOX_OWN);
	rec_collector_poll();
	wait_for_others();
	return before;
}

static void sandbox_leave(uint32_t before)
{
	atomic_store(&rec.sandbox, before);
}

typedef int prctl_fn(int option, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d);

prctl_fn prctl;

/* Like libc's it takes whatever registers hold if fewer arguments are given. */
static int prctl_plain(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d)
{
	const long result = sys_call6(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);

	if (!sys_failed(result))
		return (int)result;
	errno = (int)-result;
	return -1;
}

REC_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	prctl_fn *known = REAL(prctl);
	prctl_fn *real = likely(known) ? known : prctl_plain;
	struct rec_frame caller;
	uint32_t before;
	int result;

	if (likely(option != PR_SET_SECCOMP_OPTION || (a == MODE_FILTER && !b))) {
		rec_clock_prctl(option, a);
		result = real(option, a, b, c, d);
		caller = (struct rec_frame)REC_CALLER();
		if (option == PR_SET_NAME_OPTION && result == 0)
			rec_thread_name_taken((const char *)a, &caller);
		return result;
	}
	caller = (struct rec_frame)REC_CALLER();
	before = sandbox_enter(&caller);
	rec_clock_prctl(option, a);
	result = real(option, a, b, c, d);
	if (result < 0)
		sandbox_leave(before);
	return result;
}

/* fork.c: seccomp() and prctl() by syscall(). */
long rec_syscall_sandbox(long number, long a, long b, long c, long d, long e, long f)
{
	const struct rec_frame caller = REC_CALLER();
	const bool is_filter =
		number == SYS_seccomp ? a == SET_MODE_FILTER && c : b == MODE_FILTER && c;
	const bool is_strict = number == SYS_seccomp ? a == SET_MODE_STRICT : b != MODE_FILTER;
	uint32_t before;
	long result;

	if ((number == SYS_prctl && a != PR_SET_SECCOMP_OPTION) || (!is_filter && !is_strict)) {
		if (number == SYS_prctl)
			rec_clock_prctl((int)a, (unsigned long)b);
		result = rec_syscall_real(number, a, b, c, d, e, f);
		if (number == SYS_prctl && a == PR_SET_NAME_OPTION && result == 0)
			rec_thread_name_taken((const char *)b, &caller);
		return result;
	}
	before = sandbox_enter(&caller);
	if (is_strict)
		rec_clock_prctl(PR_SET_SECCOMP_OPTION, MODE_STRICT);
	result = rec_syscall_real(number, a, b, c, d, e, f);
	if (result < 0)
		sandbox_leave(before);
	return result;
}
