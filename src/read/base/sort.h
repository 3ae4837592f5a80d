/*
 * sort: stable and without globals.
 */
#ifndef MEMTAPE_BASE_SORT_H
#define MEMTAPE_BASE_SORT_H

#include "core/core.h"

/*
 * Merge sort of count items of item_bytes each; compare(context, a, b) is < 0, 0 or > 0. Equal
 * items keep their order. False when out of memory (items then keep their old order).
 */
bool sort_stable(void *items, size_t count, size_t item_bytes,
		 int (*compare)(const void *context, const void *a, const void *b),
		 const void *context);

struct sort_pair {
	uint64_t key;
	uint32_t index;
};

/* Radix sort by key, ascending, stable. False when out of memory. */
bool sort_pairs(struct sort_pair *pairs, size_t count);

/* The same of any items that have a uint64_t as their key at key_offset, aligned. */
bool sort_by_u64(void *items, size_t count, size_t item_bytes, size_t key_offset);

static inline int sort_compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
