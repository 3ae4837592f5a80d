#include "groups/spread.h"

#include <assert.h>

#include "base/number.h"

enum { PART_BITS = 5 };

static_assert(1 << PART_BITS == SPREAD_PARTS, "parts of a power of two");

/* Values below SPREAD_PARTS are exact; then SPREAD_PARTS slots per power of two. */
static size_t slot_of(uint64_t value)
{
	unsigned bits;

	if (value < SPREAD_PARTS)
		return value;
	bits = 63 - (unsigned)__builtin_clzll(value);
	return (size_t)(bits - PART_BITS + 1) * SPREAD_PARTS +
	       (value >> (bits - PART_BITS) & (SPREAD_PARTS - 1));
}

static uint64_t slot_last(size_t slot)
{
	const size_t power = slot / SPREAD_PARTS;
	const uint64_t part = slot % SPREAD_PARTS + SPREAD_PARTS;

	return power == 0 ? slot : ((part + 1) << (power - 1)) - 1;
}

void spread_init(struct spread *spread)
{
	memset(spread, 0, sizeof(*spread));
	spread->min = UINT64_MAX;
}

void spread_add(struct spread *spread, uint64_t value)
{
	spread->count++;
	spread->min = u64_min(spread->min, value);
	spread->max = u64_max(spread->max, value);
	spread->counts[slot_of(value)]++;
}

void spread_join(struct spread *to, const struct spread *from)
{
	assert(to != from);
	assert(from->count == 0 || from->min <= from->max);
	to->count += from->count;
	to->min = u64_min(to->min, from->min);
	to->max = u64_max(to->max, from->max);
	for (size_t slot = 0; slot < SPREAD_SLOTS; slot++)
		to->counts[slot] += from->counts[slot];
}

uint64_t spread_at(const struct spread *spread, uint64_t rank)
{
	uint64_t seen = 0;

	assert(rank >= 1 && rank <= spread->count);
	for (size_t slot = 0; slot < SPREAD_SLOTS; slot++) {
		seen += spread->counts[slot];
		if (seen >= rank)
			return u64_min(slot_last(slot), spread->max);
	}
	return spread->max;
}

uint64_t spread_percentile(const struct spread *spread, unsigned thousandths)
{
	/* Nearest rank, rounded up. */
	const uint64_t rank = u64_mul_div_up(spread->count, thousandths, 1000);

	assert(thousandths <= 1000);
	if (spread->count == 0)
		return 0;
	return rank == 0 ? spread->min : spread_at(spread, rank);
}
