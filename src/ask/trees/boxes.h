/*
 * boxes: a tree as a flame graph: what lies beside and below what, for those who draw it.
 *
 * What is too small to be drawn is not lost: under each box all of it is one box more, the last of
 * its siblings, so that children and what a function has by itself add up to its value, always.
 */
#ifndef MEMTAPE_TREES_BOXES_H
#define MEMTAPE_TREES_BOXES_H

#include "trees/tree.h"

struct box {
	uint32_t node;	 /* of the tree; TREE_NONE: what was too small, together */
	uint32_t parent; /* index of a box before it; UINT32_MAX of the first */
	uint32_t depth;	 /* below the first */
	uint64_t value;	 /* of the tree's metric */
	uint64_t self;	 /* of that: not of its children */
	uint64_t begin;	 /* left edge, in units of the metric; of the first: 0 */
	uint64_t count;	 /* allocations; of small ones together: how many subtrees they are */
};

struct boxes {
	struct box *items; /* parents first, siblings from left to right, the largest first */
	size_t count;
	uint64_t value_min; /* every subtree that has at least this much has a box */
};

/*
 * Of the node `first` and what is below it. At most count_max (at least 1) boxes: the smallest are
 * joined first. Lives in the arena.
 */
struct err *boxes_make(const struct tree *tree, uint32_t first, size_t count_max,
		       struct arena *arena, struct boxes *boxes_ret);

#endif
