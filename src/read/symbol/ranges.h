/* ranges: finds the unit or function that covers an address. */
#ifndef MEMTAPE_SYMBOL_RANGES_H
#define MEMTAPE_SYMBOL_RANGES_H

#include "base/vec.h"

struct range {
	uint64_t low;
	uint64_t high;	     /* one past the end */
	uint64_t die_offset; /* of the unit or function */
};

VEC_DEFINE(ranges, struct range);

/* Call once, after the last add. */
void ranges_sort(struct ranges *ranges);

/* The innermost range that covers address; ranges nest rarely and not deep. NULL: none. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

#endif
