/*
 * neighbours: the blocks next to one in memory that were alive together with it, at some time.
 */
#ifndef MEMTAPE_SPACE_NEIGHBOURS_H
#define MEMTAPE_SPACE_NEIGHBOURS_H

#include "model/model.h"
#include "sums/sweep.h"

struct neighbours {
	uint64_t before; /* row with the next lower address; MODEL_NO_ROW: none */
	uint64_t after;	 /* with the next higher */
};

/* Of several at one address, one after the other, the first. Up to a pass over all rows. */
struct err *neighbours_find(const struct model *model, uint64_t row,
			    const struct sweep_limits *limits, struct neighbours *neighbours_ret);

#endif
