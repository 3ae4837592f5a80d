/*
 * Percentiles of lifetimes from histograms with 16 equal steps per power of two: bounded memory,
 * and at most 1/16 above the true value (as in HdrHistogram).
 */
#include "groups/grouping.h"

#include <assert.h>

#include "base/big.h"

enum { STEP_BITS = 4, STEPS = 1 << STEP_BITS, BUCKETS = (64 - STEP_BITS + 1) << STEP_BITS };

static size_t bucket_of(uint64_t value)
{
	unsigned octave;

	if (value < STEPS)
		return (size_t)value;
	octave = 63 - (unsigned)__builtin_clzll(value) - STEP_BITS;
	return ((size_t)octave << STEP_BITS) + (size_t)(value >> octave);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	const size_t octave = bucket < STEPS ? 0 : (bucket >> STEP_BITS) - 1;
	const uint64_t step = bucket - (octave << STEP_BITS);

	return ((step + 1) << octave) - 1;
}

struct tally {
	const uint32_t *number_of;
	uint32_t *buckets; /* two histograms per item: matched, all */
};

static void visit(struct group_worker *worker, const uint32_t *keys, const uint64_t *bits)
{
	const struct tally *tally = worker->context;
	struct batch *batch = worker->batch;
	const uint64_t *begin = batch_column(batch, MODEL_ALLOC_NS);
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);

	for (size_t i = 0; i < batch->count; i++) {
		const uint32_t number = tally->number_of[keys[i]];
		uint32_t *histograms;
		size_t bucket;

		if (number == UINT32_MAX || end[i] == MODEL_NEVER)
			continue;
		histograms = tally->buckets + (size_t)number * 2 * BUCKETS;
		bucket = bucket_of(end[i] - begin[i]);
		histograms[BUCKETS + bucket]++;
		histograms[bucket] += bits[i / 64] >> i % 64 & 1;
	}
}

/* The value that this percentage of values does not exceed. */
static uint64_t percentile(const uint32_t *buckets, uint64_t percent, uint64_t max)
{
	uint64_t total = 0, seen = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		total += buckets[i];
	for (size_t i = 0; i < BUCKETS; i++) {
		seen += buckets[i];
		if (seen > 0 && seen >= div_up(total * percent, 100))
			return u64_min(bucket_end(i), max);
	}
	return FIELD_NONE;
}

static void item_fill(struct group *item, const uint32_t *histograms)
{
	static const uint64_t percents[GROUP_PERCENTILES] = { 50, 90, 99 };

	for (int is_all = 0; is_all < 2; is_all++) {
		const uint64_t max =
			is_all ? item->all.lifetime_max_ns : item->matched.lifetime_max_ns;

		for (int i = 0; i < GROUP_PERCENTILES; i++)
			item->lifetimes[is_all][i] =
				percentile(histograms + is_all * BUCKETS, percents[i], max);
	}
}

struct err *group_lifetimes_find(const struct grouping *grouping, const uint32_t *number_of,
				 struct group *items, size_t item_count)
{
	enum { ITEMS_MAX = 1 << 17 }; /* a gigabyte */
	const size_t size = item_count * 2 * BUCKETS;
	const size_t count = group_workers_count(grouping, size * sizeof(uint32_t));
	CLEAN(free) uint32_t *buckets = big_calloc(count * size + 1, sizeof(*buckets));
	struct group_worker workers[SWEEP_WORKERS_MAX];
	struct tally tallies[SWEEP_WORKERS_MAX];
	struct err *err;

	assert(item_count == 0 || items);
	assert(count >= 1 && count <= SWEEP_WORKERS_MAX);
	if (item_count > ITEMS_MAX)
		return err_new(ERR_LIMIT, "percentiles of more than %u groups", ITEMS_MAX);
	if (!buckets)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		tallies[i] = (struct tally) { number_of, buckets + i * size };
		workers[i] = (struct group_worker) { .grouping = grouping,
						     .visit = visit,
						     .context = &tallies[i] };
	}
	err = group_workers_run(workers, count);
	if (err)
		return err;
	for (size_t i = size; i < count * size; i++)
		buckets[i % size] += buckets[i];
	for (size_t i = 0; i < item_count; i++)
		item_fill(&items[i], buckets + i * 2 * BUCKETS);
	return NULL;
}
