/*
 * sweep: going through all rows of a model on all processors, a segment at a time, within limits.
 */
#ifndef MEMTAPE_SUMS_SWEEP_H
#define MEMTAPE_SUMS_SWEEP_H

#include "base/err.h"

enum { SWEEP_WORKERS_MAX = 64 };

struct sweep_limits {
	unsigned thread_count; /* 0: as many as there are processors */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	const bool *cancel;    /* set by another thread to give up; NULL: never. Read atomically */
	/* Asked now and then, by the thread that sweeps alone; true: give up. NULL: never. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* ERR_LIMIT when the deadline is over, ERR_STATE when cancelled or interrupted. */
struct err *sweep_check(const struct sweep_limits *limits);

/* How many workers are good for so many segments: 1 .. SWEEP_WORKERS_MAX. */
size_t sweep_workers(const struct sweep_limits *limits, uint64_t segment_count);

/*
 * Calls work(worker, segment) once for every segment, each on some thread; calls with the same of
 * the worker_count workers (worker_bytes apart) are one after the other, in ascending order of
 * segments. Ends early with the first error.
 */
struct err *sweep_run(const struct sweep_limits *limits, uint64_t segment_count,
		      struct err *(*work)(void *worker, uint64_t segment), void *workers,
		      size_t worker_bytes, size_t worker_count);

#endif
