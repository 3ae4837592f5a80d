/*
 * portrait: how large the allocations of a selection are, and how long they live. Needs MODEL_FULL.
 */
#ifndef MEMTAPE_GROUPS_PORTRAIT_H
#define MEMTAPE_GROUPS_PORTRAIT_H

#include "groups/spread.h"
#include "select/selection.h"

struct portrait {
	struct spread lifetimes;		    /* of those that were freed, in ns */
	struct model_sum sizes[MODEL_SIZE_BUCKETS]; /* as model_size_buckets */
};

/* One pass over the rows, on as many threads as the selection's limits say, which end it. */
struct err *portrait_find(const struct selection *selection, struct portrait *portrait);

#endif
