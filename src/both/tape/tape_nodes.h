/*
 * tape_nodes: the record TAPE_EXT_NODE_USE (tape.h), a part of a look at the NUMA nodes on which a
 * program's memory is and its threads ran. The collector writes it where there is more than one node.
 */
#ifndef MEMTAPE_TAPE_TAPE_NODES_H
#define MEMTAPE_TAPE_TAPE_NODES_H

#include "core/core.h"

enum tape_node_use_flag {
	TAPE_NODE_USE_LAST = 1 << 0 /* the look is complete with this part */
};

/* Lines of text follow, the first of which, "0 0 ...", has sums: docs/tape-format.md. */
struct tape_node_use {
	uint64_t begin_ticks; /* shifted: before the kernel was asked */
	uint32_t part;	      /* from 0 */
	uint32_t flags;	      /* enum tape_node_use_flag */
};

static_assert(sizeof(struct tape_node_use) == 16, "format");

#endif
