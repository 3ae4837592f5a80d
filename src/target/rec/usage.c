/*
 * usage: the time and the memory use of the process. A collector samples from outside; without one
 * it is done here, on slow paths and at most ten times a second.
 */
#include "rec/rec.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/random.h>
#include <time.h>

#include "rec/path.h"

#include "core/poison.h"

enum { MODE_STRICT = 1 }; /* SECCOMP_MODE_STRICT of <linux/seccomp.h>, which musl lacks */

enum { CLOCK_PERIOD_NS = 20000000, USAGE_PERIOD_NS = 100000000 };

/* Monotonic nanoseconds of the last records; whoever advances them writes the next. */
static _Atomic uint64_t next_clock_ns;
static _Atomic uint64_t next_usage_ns;

/*
 * The cycle counter may be forbidden to a thread (PR_SET_TSC): reading it is SIGSEGV then, also in
 * the vDSO's clock_gettime(). So the kernel is asked, and if ticks were cycles so far they are
 * computed from nanoseconds: from a reading of both, by the rate since the start.
 */
static struct {
	uint64_t ticks, ns;	    /* the reading; ticks 0: ticks are nanoseconds */
	uint64_t ticks_per_ns_2_32; /* times 2^32 */
	uint64_t frozen_ns;	    /* not even the kernel may be asked; 0: it may */
	bool ask_kernel;
} clock_state;

static uint64_t clock_ns(int clock)
{
	struct timespec libc = { 0 };
	struct sys_time now = { 0 };

	if (unlikely(clock_state.frozen_ns))
		return clock_state.frozen_ns;
	if (unlikely(clock_state.ask_kernel && !rec_may_call()))
		return clock_state.ns;
	if (unlikely(clock_state.ask_kernel)) {
		sys_clock(clock, &now);
	} else {
		clock_gettime(clock, &libc);
		now = (struct sys_time) { libc.tv_sec, libc.tv_nsec };
	}
	return (uint64_t)now.seconds * UINT64_C(1000000000) + (uint64_t)now.nanoseconds;
}

uint64_t rec_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* a * b >> 32. (Some processors have no 128 bits.) */
static uint64_t fraction_of(uint64_t a, uint64_t b)
{
	const uint64_t low = (uint32_t)b;

	return a * (b >> 32) + (a >> 32) * low + ((uint32_t)a * low >> 32);
}

/* (a << 32) / b */
static uint64_t fraction_make(uint64_t a, uint64_t b)
{
	uint64_t rest = a % b, of = b;

	while (of >> 32) {
		rest >>= 1;
		of >>= 1;
	}
	return (a / b << 32) + (rest << 32) / of;
}

/* Ticks if there is no invariant counter, or it must not be read. */
uint64_t rec_clock_raw(void)
{
	const uint64_t ns = clock_ns(CLOCK_MONOTONIC);

	if (!clock_state.ticks)
		return ns;
	if (ns <= clock_state.ns)
		return clock_state.ticks;
	return clock_state.ticks + fraction_of(ns - clock_state.ns, clock_state.ticks_per_ns_2_32);
}

static bool counter_is_forbidden(void)
{
	int mode = PR_TSC_ENABLE;

	return SYS_CALL2(SYS_prctl, PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE;
}

/* The counter's rate from here on; waits if too little time has passed since the start. */
static void clock_calibrate(void)
{
	enum { LEAST_NS = 2000000, AHEAD_TICKS = 20000 /* another thread may just have read it */ };
	const uint64_t begin_ns = rec.header->start_monotonic_ns;
	const uint64_t begin_ticks = rec.header->start_ticks << rec.tick_shift;
	uint64_t ns, ticks;

	do {
		ns = clock_ns(CLOCK_MONOTONIC);
		ticks = rec_ticks();
	} while (ns - begin_ns < LEAST_NS);
	clock_state.ticks_per_ns_2_32 = fraction_make(ticks - begin_ticks, ns - begin_ns);
	clock_state.ns = ns;
	clock_state.ticks = ticks + AHEAD_TICKS;
}

/*
 * Before the program's prctl(). It is for one thread and its children, but applied to all: others
 * still read the counter for a moment. What they write is not later than the reading, and ahead.
 */
void rec_clock_prctl(int option, unsigned long value)
{
	const bool is_strict = option == PR_SET_SECCOMP && value == MODE_STRICT;

	if (!is_strict && (option != PR_SET_TSC || value == PR_TSC_ENABLE))
		return;
	if (atomic_load(&rec.state) == REC_ON && rec.use_tsc && rec_lock(&rec.file_lock)) {
		if (rec.use_tsc && rec.header)
			clock_calibrate();
		rec_unlock(&rec.file_lock);
	}
	if (is_strict)
		clock_state.frozen_ns = clock_ns(CLOCK_MONOTONIC);
	clock_state.ask_kernel = true;
	atomic_thread_fence(memory_order_seq_cst);
	rec.use_tsc = false;
}

void rec_clock_init(void)
{
	clock_state.ticks = 0;
	clock_state.ask_kernel |= counter_is_forbidden();
	rec.use_tsc = !clock_state.ask_kernel && arch_ticks_are_steady();
	rec.tick_shift = rec.use_tsc ? arch_ticks_shift() : REC_TICK_SHIFT;
	rec.header->clock = rec.use_tsc ? TAPE_CLOCK_TSC : TAPE_CLOCK_MONOTONIC;
	rec.header->tick_shift = rec.tick_shift;
	rec.header->start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	rec.header->start_ticks = rec_ticks() >> rec.tick_shift;
	rec.header->start_realtime_ns = clock_ns(CLOCK_REALTIME);
}

static void clock_note(struct rec_lane *lane)
{
	struct tape_clock_pair pair = { .monotonic_ns = clock_ns(CLOCK_MONOTONIC),
					.raw_ticks = rec_ticks() };

	pair.realtime_ns = clock_ns(CLOCK_REALTIME);
	rec_note(lane, TAPE_EXT_CLOCK, &pair, sizeof(pair), NULL, 0);
}

static const char *number_parse(const char *text, uint64_t *value_ret)
{
	uint64_t value = 0;

	while (*text == ' ')
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	*value_ret = value;
	return text;
}

static void statm_read(struct tape_usage *usage)
{
	char text[128] = "";
	const char *ptr = text;
	uint64_t pages[3] = { 0 };
	int fd = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	long len;

	if (fd < 0)
		return;
	len = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (len <= 0)
		return;
	for (size_t i = 0; i < array_size(pages); i++)
		ptr = number_parse(ptr, &pages[i]);
	usage->virtual_bytes = pages[0] * rec.page_bytes;
	usage->rss_bytes = pages[1] * rec.page_bytes;
	usage->shared_bytes = pages[2] * rec.page_bytes;
}

static void usage_note(struct rec_lane *lane)
{
	struct tape_usage usage;
	struct rusage spent;

	memset(&usage, 0xff, sizeof(usage)); /* all unknown */
	statm_read(&usage);
	if (SYS_CALL2(SYS_getrusage, RUSAGE_SELF, &spent) == 0) {
		usage.minor_faults = (uint64_t)spent.ru_minflt;
		usage.major_faults = (uint64_t)spent.ru_majflt;
	}
	rec_note(lane, TAPE_EXT_USAGE, &usage, sizeof(usage), NULL, 0);
}

/* Nobody samples from outside. */
static bool samples_itself(void)
{
	return rec.options.sample && (!rec.slots || rec.is_alone || rec.is_streamed);
}

/* True for the one caller whose turn it is. */
static bool due(_Atomic uint64_t *next_ns, uint64_t now_ns, uint64_t period_ns)
{
	uint64_t next = atomic_load_explicit(next_ns, memory_order_relaxed);

	return now_ns >= next && atomic_compare_exchange_strong(next_ns, &next, now_ns + period_ns);
}

void rec_usage_note(struct rec_lane *lane)
{
	uint64_t now_ns;

	if (!rec_may_call()) /* clocks may be a system call, too */
		return;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (due(&next_clock_ns, now_ns, CLOCK_PERIOD_NS))
		clock_note(lane);
	if (samples_itself() && due(&next_usage_ns, now_ns, USAGE_PERIOD_NS))
		usage_note(lane);
}

void rec_usage_end(struct rec_lane *lane)
{
	if (!rec_may_call())
		return;
	clock_note(lane);
	if (samples_itself())
		usage_note(lane);
}

/* exe, cwd and argv, each NUL-terminated; whatever does not fit is left out. */
static size_t process_strings(char *out, size_t room, uint32_t *argc_ret)
{
	const char *run = rec_path_run();
	size_t used = *run ? strlen(run) : rec_path_exe(out, room / 4);
	long len;
	int fd;

	if (*run)
		memcpy(out, run, used);
	out[used++] = '\0';
	len = SYS_CALL2(SYS_getcwd, out + used, room / 4);
	used += len > 0 ? (size_t)len : 0;
	if (len <= 0)
		out[used++] = '\0';
	fd = sys_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	len = fd < 0 ? 0 : sys_read(fd, out + used, room - used - 1);
	if (fd >= 0)
		sys_close(fd);
	if (len > 0 && out[used + (size_t)len - 1] != '\0')
		out[used + (size_t)len++] = '\0';
	for (long i = 0; i < len; i++)
		*argc_ret += out[used + (size_t)i] == '\0';
	return used + (size_t)(len > 0 ? len : 0);
}

void rec_process_note(struct rec_lane *lane)
{
	static char strings[6000]; /* once in a process, on one thread; not on its stack */
	struct tape_process process = { .pid = rec.pid,
					.parent_pid = rec.header->parent_pid,
					.page_bytes = (uint32_t)rec.page_bytes };
	uint32_t argc = 0;
	const size_t bytes = process_strings(strings, sizeof(strings), &argc);

	process.argc = argc;
	CHECK(rec.header);
	rec_note(lane, TAPE_EXT_PROCESS, &process, sizeof(process), strings, bytes);
}
