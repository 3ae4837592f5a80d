/*
 * dominators: what would be unreachable without a block. Pointers of all kinds count. Lost memory
 * hangs on the blocks that were lost by themselves; pointers from it to what is alive do not count.
 */
#ifndef MEMTAPE_SCAN_DOMINATORS_H
#define MEMTAPE_SCAN_DOMINATORS_H

#include "scan/pointers.h"

/*
 * Fills dominator and retained_bytes of pointers->block_count blocks, whose classes, parents and
 * sizes are known, and retained_bytes of holders. order: of reach_fill().
 */
struct err *dominators_fill(const struct pointers *pointers, const uint32_t *order,
			    struct scan_image_block *blocks, struct scan_image_holder *holders);

#endif
