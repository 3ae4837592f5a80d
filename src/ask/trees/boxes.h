/*
 * boxes: a tree as flame graph boxes, with positions.
 *
 * Nodes too small to draw are not lost: under each box they are joined in one extra box, the last
 * of its siblings, so that the children and a function's own value always add up to its value.
 */
#ifndef MEMTAPE_TREES_BOXES_H
#define MEMTAPE_TREES_BOXES_H

#include "trees/tree.h"

struct box {
	uint32_t node;	 /* of the tree; TREE_NONE: the joined small nodes */
	uint32_t parent; /* index of an earlier box; UINT32_MAX for the first */
	uint32_t depth;	 /* below the first */
	uint64_t value;	 /* of the tree's metric */
	uint64_t self;	 /* part of value not in its children */
	uint64_t begin;	 /* left edge, in units of the metric; of the first: 0 */
	uint64_t count;	 /* allocations; for joined nodes: number of subtrees */
};

struct boxes {
	struct box *items; /* parents first, siblings from left to right, the largest first */
	size_t count;
	uint64_t value_min; /* every subtree with at least this value has a box */
};

/*
 * Boxes of the node `first` and its descendants. At most count_max (at least 1) boxes: the smallest
 * are joined first. Lives in the arena.
 */
struct err *boxes_make(const struct tree *tree, uint32_t first, size_t count_max,
		       struct arena *arena, struct boxes *boxes_ret);

#endif
