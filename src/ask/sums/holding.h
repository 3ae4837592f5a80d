/*
 * holding: what the graph of a leak scan says beyond single blocks: where chains begin, and what
 * call sites and holders keep alive. Time and memory are linear in the blocks.
 *
 * Parents and dominators come from a file: a chain that leads back into itself begins nowhere.
 */
#ifndef MEMTAPE_SUMS_HOLDING_H
#define MEMTAPE_SUMS_HOLDING_H

#include "base/arena.h"
#include "base/err.h"
#include "model/scans.h"

enum holding_link { HOLDING_PARENT, HOLDING_DOMINATOR };

static inline uint32_t holding_next(const struct model_scan_block *block, enum holding_link link)
{
	return link == HOLDING_PARENT ? block->parent : block->dominator;
}

/*
 * By block, the node at which its chain begins: a holder, or a block without a parent (which may be
 * itself); MODEL_NODE_NONE: nowhere. depths_ret (may be NULL): how many nodes are before it. Both
 * live in the arena.
 */
struct err *holding_roots(const struct model_scan *scan, enum holding_link link,
			  struct arena *arena, const uint32_t **roots_ret,
			  const uint32_t **depths_ret);

/*
 * What each site keeps alive: groups[block] is the site's number below group_count, UINT32_MAX:
 * none. retained[site] gets the sum of retained bytes of its blocks that no other block of the
 * site dominates: what both hold counts once. counted (may be NULL) gets 1 for these blocks.
 * False: out of memory.
 */
bool holding_retained(const struct model_scan *scan, const uint32_t *groups, size_t group_count,
		      uint64_t *retained, uint8_t *counted);

#endif
