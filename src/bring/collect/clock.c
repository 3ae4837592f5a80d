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

struct clock_moment clock_moment(void)
{
	enum { TRIES = 5 };
	struct clock_moment best = { 0 };
	uint64_t best_ticks = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		const uint64_t before = arch_ticks(), ns = monotonic_ns();
		const uint64_t took = arch_ticks() - before;

		if (took < best_ticks) {
			best_ticks = took;
			best = (struct clock_moment) { before + took / 2, ns };
		}
	}
	return best;
}
