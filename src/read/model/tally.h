/*
 * tally: sums over some of the allocations of a tape, while it is replayed. Internal to model.
 *
 * Live bytes at the peak are known per stack without a second pass and without storing allocations:
 * every tally keeps its live sum, and saves the value at the peak the first time the sum changes
 * after it. Peaks are numbered (epoch), so "after a new peak" is one comparison.
 */
#ifndef MEMTAPE_MODEL_TALLY_H
#define MEMTAPE_MODEL_TALLY_H

#include "model/model.h"

struct tally {
	struct model_sum allocated;
	struct model_sum live;
	struct model_sum peak; /* of the epoch in which it last changed */
	uint64_t temporary_bytes;
	uint32_t temporary_count;
	uint32_t epoch;
};

static_assert(sizeof(struct tally) == 64, "a cache line");

static inline void tally_touch(struct tally *tally, uint32_t epoch)
{
	if (tally->epoch != epoch) {
		tally->peak = tally->live;
		tally->epoch = epoch;
	}
}

static inline void tally_alloc(struct tally *tally, uint64_t size, uint32_t epoch)
{
	tally_touch(tally, epoch);
	tally->allocated.count++;
	tally->allocated.bytes += size;
	tally->live.count++;
	tally->live.bytes += size;
}

static inline void tally_free(struct tally *tally, uint64_t size, uint32_t epoch, bool is_temporary)
{
	tally_touch(tally, epoch);
	tally->live.count--;
	tally->live.bytes -= size;
	tally->temporary_count += is_temporary;
	tally->temporary_bytes += is_temporary ? size : 0;
}

/* Never freed, whether it is gone with its process (left; NULL: nothing is) or not. */
static inline struct model_sum tally_leaked(const struct model_sum *live,
					    const struct model_sum *left)
{
	return left ? (struct model_sum) { live->count + left->count, live->bytes + left->bytes }
		    : *live;
}

static inline unsigned size_bucket(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

#endif
