/* monotonic: CLOCK_MONOTONIC in nanoseconds, for limits and intervals. Thread-safe; cannot fail. */
#ifndef MEMTAPE_BASE_MONOTONIC_H
#define MEMTAPE_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
