/* reach: the class of every block, and the pointer by which it is held; see graph.h. */
#ifndef MEMTAPE_SCAN_REACH_H
#define MEMTAPE_SCAN_REACH_H

#include "scan/pointers.h"

/*
 * Fills class, parent, offset, heuristic and is_interior of pointers->block_count blocks, and order:
 * every block once, each before all blocks that are on every way to it.
 */
struct err *reach_fill(const struct pointers *pointers, struct scan_image_block *blocks,
		       uint32_t *order);

#endif
