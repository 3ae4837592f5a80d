/*
 * pool: the program's own pools in a model of their objects (MODEL_OF_POOLS). Such a model is always
 * MODEL_FULL, and has no index that is kept, no leak scans and no latencies. Its peak, its leaks and
 * all that model.h has are those of objects.
 */
#ifndef MEMTAPE_MODEL_POOL_H
#define MEMTAPE_MODEL_POOL_H

#include "model/model.h"

static const uint64_t MODEL_NO_POOL = UINT64_MAX; /* MODEL_POOL of a block of the heap */

/* All pools of a name. */
struct model_pool {
	const char *name;
	uint64_t created_count;
	uint64_t destroyed_count;
	uint64_t cleared_count;
	struct model_sum allocated; /* a realloc is an allocation, and a free of its old object */
	struct model_sum freed;	    /* one by one, */
	struct model_sum emptied;   /* and with all that was in their pool: cleared, destroyed */
	struct model_sum live;	    /* at the end */
	struct model_sum peak;
	uint64_t peak_ns;
	uint64_t unknown_free_count; /* of objects that were never seen allocated */
};

bool model_is_of_pools(const struct model *model);
size_t model_pool_count(const struct model *model);
const struct model_pool *model_pools(const struct model *model); /* in the order of first use */

#endif
