/*
 * latency: durations of allocator calls, as sums and a histogram. Used by everything that
 * aggregates them, the model of a tape or a report of some rows.
 */
#ifndef MEMTAPE_MODEL_LATENCY_H
#define MEMTAPE_MODEL_LATENCY_H

#include "core/core.h"

/* Buckets: one for each value below 16, then 16 for each power of two; the last takes the rest. */
enum { LATENCY_PARTS = 16, LATENCY_POWERS = 40 };
enum { MODEL_LATENCY_BUCKETS = LATENCY_PARTS * (LATENCY_POWERS + 1) };

/* Nanoseconds; the cost of reading the clock is included. */
struct model_latency {
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns;
	uint64_t buckets[MODEL_LATENCY_BUCKETS];
};

struct model_stack_latency {
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns;
};

static inline size_t latency_bucket(uint64_t value)
{
	unsigned power;

	if (value < LATENCY_PARTS)
		return (size_t)value;
	power = 63 - (unsigned)__builtin_clzll(value); /* 4 at least */
	if (power >= 4 + LATENCY_POWERS)
		return MODEL_LATENCY_BUCKETS - 1;
	return (size_t)LATENCY_PARTS * (power - 3) + (value >> (power - 4) & (LATENCY_PARTS - 1));
}

/* The least value of a bucket, which may be the one after the last. */
static inline uint64_t latency_bucket_begin(size_t bucket)
{
	const size_t power = bucket / LATENCY_PARTS;

	if (bucket < LATENCY_PARTS)
		return bucket;
	return (uint64_t)(LATENCY_PARTS + bucket % LATENCY_PARTS) << (power - 1);
}

static inline void latency_add(struct model_latency *latency, uint64_t ns)
{
	latency->count++;
	latency->total_ns += ns;
	latency->max_ns = u64_max(latency->max_ns, ns);
	latency->buckets[latency_bucket(ns)]++;
}

static inline void latency_merge(struct model_latency *to, const struct model_latency *from)
{
	to->count += from->count;
	to->total_ns += from->total_ns;
	to->max_ns = u64_max(to->max_ns, from->max_ns);
	for (size_t i = 0; i < MODEL_LATENCY_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

static inline void stack_latency_add(struct model_stack_latency *stack, uint64_t ns)
{
	stack->count++;
	stack->total_ns += ns;
	stack->max_ns = u64_max(stack->max_ns, ns);
}

/*
 * Percentile: the duration that this many percent of the calls did not exceed, to a sixteenth; the
 * middle of its bucket. 0 if there are none.
 */
static inline uint64_t latency_percentile(const struct model_latency *latency, unsigned percent)
{
	/* the call of this rank, counted from 1; without an overflow */
	const uint64_t wanted =
		latency->count / 100 * percent + (latency->count % 100 * percent + 99) / 100;
	uint64_t seen = 0;

	for (size_t i = 0; i < MODEL_LATENCY_BUCKETS && latency->count > 0; i++) {
		const uint64_t begin = latency_bucket_begin(i);

		seen += latency->buckets[i];
		if (seen >= wanted && seen > 0)
			return u64_min(begin + (latency_bucket_begin(i + 1) - begin) / 2,
				       latency->max_ns);
	}
	return latency->max_ns;
}

#endif
