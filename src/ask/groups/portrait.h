/*
 * portrait: sizes and lifetimes of a selection's allocations. Needs MODEL_FULL.
 */
#ifndef MEMTAPE_GROUPS_PORTRAIT_H
#define MEMTAPE_GROUPS_PORTRAIT_H

#include "groups/spread.h"
#include "select/selection.h"

struct portrait {
	struct spread lifetimes;		    /* of freed blocks, in ns */
	struct model_sum sizes[MODEL_SIZE_BUCKETS]; /* as model_size_buckets */
};

/* One pass over the rows; the selection's limits set the threads and can stop it. */
struct err *portrait_find(const struct selection *selection, struct portrait *portrait);

#endif
