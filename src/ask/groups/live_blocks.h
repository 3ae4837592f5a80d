/*
 * live_blocks: the blocks that are alive at a time, with the group of the stack that allocated them.
 */
#ifndef MEMTAPE_GROUPS_LIVE_BLOCKS_H
#define MEMTAPE_GROUPS_LIVE_BLOCKS_H

#include "select/selection.h"

struct live_blocks {
	const struct model *model;	   /* MODEL_FULL */
	const struct selection *selection; /* NULL: all blocks */
	uint64_t ns;			   /* allocated by then, and not freed by then */
	const uint32_t *group_of; /* by stack; UINT32_MAX: left out. NULL: each stack is one */
	const struct sweep_limits *limits; /* NULL: none */
};

/* One pass over the rows, in the order of allocation. bytes are those requested. */
struct err *live_blocks_each(const struct live_blocks *blocks,
			     void (*visit)(void *context, uint32_t group, uint64_t address,
					   uint64_t bytes),
			     void *context);

#endif
