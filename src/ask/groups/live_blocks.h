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

struct live_block {
	uint32_t group;
	uint64_t address;
	uint64_t bytes; /* requested */
	uint64_t alloc_ns;
};

/* One pass over the rows, in the order of allocation. */
struct err *live_blocks_each(const struct live_blocks *blocks,
			     void (*visit)(void *context, const struct live_block *block),
			     void *context);

#endif
