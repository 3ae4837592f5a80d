/*
 * space_blocks: every block that is alive at a moment, one after the other.
 */
#ifndef MEMTAPE_SPACE_SPACE_BLOCKS_H
#define MEMTAPE_SPACE_SPACE_BLOCKS_H

#include "model/model.h"

struct space_block {
	uint64_t address;
	uint64_t bytes; /* requested */
	uint64_t usable;
	uint32_t stack;
	uint64_t extra; /* of the column that was asked for */
};

/*
 * Those allocated before before_ns and not freed before it, in the order of allocation. Reads what
 * happened until then in batches and passes over what is dead as a whole. False: no memory.
 */
bool space_blocks_each(const struct model *model, uint64_t before_ns, enum model_column extra,
		       void (*visit)(void *context, const struct space_block *block),
		       void *context);

#endif
