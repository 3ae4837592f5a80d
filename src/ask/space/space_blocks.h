/*
 * space_blocks: iterates over all blocks alive at a moment.
 */
#ifndef MEMTAPE_SPACE_SPACE_BLOCKS_H
#define MEMTAPE_SPACE_SPACE_BLOCKS_H

#include "model/model.h"

struct space_block {
	uint64_t address;
	uint64_t bytes; /* requested */
	uint64_t usable;
	uint32_t stack;
	uint64_t extra; /* value of the requested column */
};

/*
 * Visits blocks allocated before before_ns and not freed before it, in allocation order. Reads
 * earlier rows in batches and skips dead segments. False: out of memory.
 */
bool space_blocks_each(const struct model *model, uint64_t before_ns, enum model_column extra,
		       void (*visit)(void *context, const struct space_block *block),
		       void *context);

#endif
