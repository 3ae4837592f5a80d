/*
 * latency: duration of allocator calls, for tapes recorded with --latency: by function, the slowest
 * calls, and the calling functions.
 */
#ifndef MEMTAPE_QUESTIONS_LATENCY_H
#define MEMTAPE_QUESTIONS_LATENCY_H

#include "answer/about.h"
#include "answer/frame.h"

struct call_time {
	uint64_t calls, total_ns, mean_ns, max_ns;
};

struct call_spread {
	struct call_time time;
	uint64_t p50_ns, p90_ns, p99_ns;
};

struct timed_function {
	const char *call;
	struct call_spread spread;
	struct shape_rows histogram;
};

struct slowest_call {
	uint64_t latency_ns, time_ns;
	const char *call;
	bool is_free;
	uint64_t allocation; /* row of the block */
	uint64_t size;
	uint64_t thread; /* tid; SHAPE_NONE: not known */
	uint32_t stack;
};

struct timed_site {
	struct place place;
	struct call_time time;
	struct shape_share share;
	uint32_t stack;
};

struct latency_answer {
	struct call_spread total;
	struct shape_rows functions; /* of struct timed_function */
	struct shape_rows slowest;   /* of struct slowest_call */
	const char *sort;
	struct shape_rows sites; /* of struct timed_site */
	struct quality quality;
};

#endif
