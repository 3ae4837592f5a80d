/*
 * ranges: which unit or function covers an address.
 */
#ifndef MEMTAPE_SYMBOL_RANGES_H
#define MEMTAPE_SYMBOL_RANGES_H

#include "base/vec.h"

struct range {
	uint64_t low;
	uint64_t high;	     /* one past the end */
	uint64_t die_offset; /* of the unit or function */
};

VEC_DEFINE(ranges, struct range);

/* Once, after the last was added. */
void ranges_sort(struct ranges *ranges);

/* The innermost of the ranges that cover address; they nest rarely and not deep. NULL: none. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

#endif
