/*
 * sweep: processes all rows of a model on all processors, a segment at a time, within limits.
 */
#ifndef MEMTAPE_SUMS_SWEEP_H
#define MEMTAPE_SUMS_SWEEP_H

#include "base/err.h"

enum { SWEEP_WORKERS_MAX = 64 };

struct sweep_limits {
	unsigned thread_count; /* 0: number of processors */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	const bool *cancel;    /* set by another thread to cancel; NULL: never. Read atomically */
	/* Called regularly, only on the calling thread; true: stop. NULL: never. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* ERR_LIMIT if the deadline has passed, ERR_STATE if cancelled or interrupted. */
struct err *sweep_check(const struct sweep_limits *limits);

/* Number of workers for this many segments: 1 .. SWEEP_WORKERS_MAX. */
size_t sweep_workers(const struct sweep_limits *limits, uint64_t segment_count);

/*
 * Calls work(worker, segment) once for every segment, on any thread; calls for the same of the
 * worker_count workers (worker_bytes apart) are sequential, in ascending order of segments. Stops
 * at the first error.
 */
struct err *sweep_run(const struct sweep_limits *limits, uint64_t segment_count,
		      struct err *(*work)(void *worker, uint64_t segment), void *workers,
		      size_t worker_bytes, size_t worker_count);

#endif
