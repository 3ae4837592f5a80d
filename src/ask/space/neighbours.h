/*
 * neighbours: the blocks adjacent to a block in memory while it was alive.
 */
#ifndef MEMTAPE_SPACE_NEIGHBOURS_H
#define MEMTAPE_SPACE_NEIGHBOURS_H

#include "model/model.h"
#include "sums/sweep.h"

struct neighbours {
	uint64_t before; /* row with the next lower address; MODEL_NO_ROW: none */
	uint64_t after;	 /* row with the next higher address */
};

/* If several blocks had one address in turn, the first. Up to one pass over all rows. */
struct err *neighbours_find(const struct model *model, uint64_t row,
			    const struct sweep_limits *limits, struct neighbours *neighbours_ret);

#endif
