/*
 * mapped: the addresses that a program has mapped, as disjoint ranges. All zeros is an empty set.
 * Internal to model.
 */
#ifndef MEMTAPE_MODEL_MAPPED_H
#define MEMTAPE_MODEL_MAPPED_H

#include "base/vec.h"

struct mapped_range {
	uint64_t begin;
	uint64_t end; /* after begin */
};

VEC_DEFINE(mapped_ranges, struct mapped_range);

struct mapped {
	struct mapped_ranges ranges; /* by address */
};

void mapped_deinit(struct mapped *mapped);
CLEAN_DEFINE_DEINIT(mapped_deinit, struct mapped);

/* None of it may be mapped: remove first. Ranges past the end of memory are cut. */
bool mapped_add(struct mapped *mapped, uint64_t begin, uint64_t bytes); /* false: out of memory */

/* Removes whatever of these bytes is mapped; *removed_ret: how many. False: out of memory. */
bool mapped_remove(struct mapped *mapped, uint64_t begin, uint64_t bytes, uint64_t *removed_ret);

#endif
