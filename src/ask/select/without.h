/*
 * without: the peak that the program would have had without the allocations of a group, for all
 * groups in one pass over the allocations and frees in time order.
 *
 * Between two events of a group its live bytes do not change, so the others' maximum there is the
 * maximum of all live bytes less the group's. Those maxima are read from a stack of the values that
 * nothing later exceeds, found by bisection; it is kept as short as the number of groups asks for.
 */
#ifndef MEMTAPE_SELECT_WITHOUT_H
#define MEMTAPE_SELECT_WITHOUT_H

#include "select/peaks.h"

enum { WITHOUT_NO_GROUP = UINT32_MAX }; /* as a key: belongs to no group, and is never left out */

struct without {
	struct peak peak;    /* of everything, by the same order of events */
	struct peak *groups; /* without each group; bytes are at most those of `peak` */
};

/*
 * keys writes the group of every row in a batch, below group_count, or WITHOUT_NO_GROUP. without:
 * `groups` has room for group_count. Needs MODEL_FULL. A peak's ns is the first time it is reached,
 * UINT64_MAX if there is nothing else. ERR_LIMIT, ERR_STATE: see facts.h.
 */
struct err *without_find(const struct facts *facts, keyed_keys *keys, const void *context,
			 size_t group_count, struct without *without);

#endif
