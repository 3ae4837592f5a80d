#include "collect/clock.h"

#include "arch/native.h"
#include "base/monotonic.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_raw_ticks(enum tape_clock clock)
{
	return clock == TAPE_CLOCK_TSC ? arch_ticks() : monotonic_ns();
}

struct tape_clock_pair clock_pair(enum tape_clock clock)
{
	return (struct tape_clock_pair) {
		.raw_ticks = clock_raw_ticks(clock),
		.monotonic_ns = read_ns(CLOCK_MONOTONIC),
		.realtime_ns = read_ns(CLOCK_REALTIME),
	};
}
