/*
 * peaks: the maximum of live bytes of each of several groups of allocations, and when it was first
 * reached. Processes all allocations and frees in time order; at equal times frees come first.
 */
#ifndef MEMTAPE_SELECT_PEAKS_H
#define MEMTAPE_SELECT_PEAKS_H

#include "select/keyed.h"

struct peak {
	uint64_t bytes;
	uint64_t ns; /* UINT64_MAX: nothing was allocated */
};

/*
 * keys writes the group of every row in a batch, below group_count. peaks has room for group_count.
 */
struct err *peaks_find(const struct facts *facts, keyed_keys *keys, const void *context,
		       size_t group_count, struct peak *peaks);

#endif
