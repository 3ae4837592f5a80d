/*
 * diff_boxes: a tree of two sums as flame graph boxes, like boxes.h but for diff_tree.h. Nodes too
 * small to draw are joined in one extra box under their caller, the last one.
 */
#ifndef MEMTAPE_COMPARE_DIFF_BOXES_H
#define MEMTAPE_COMPARE_DIFF_BOXES_H

#include "compare/diff_tree.h"

struct diff_box {
	uint32_t node;	 /* of the tree; DIFF_NONE: the joined small nodes */
	uint32_t parent; /* index of an earlier box; UINT32_MAX for the first */
	uint32_t depth;	 /* below the first */
	uint64_t count;	 /* allocations of both sides; for joined nodes: subtrees */
	/* Per unit of work. */
	double width;
	double begin;		   /* left edge; of the first: 0 */
	double values[DIFF_SIDES]; /* of the metric */
	double self;		   /* part of the width not in its children */
};

struct diff_boxes {
	struct diff_box *items; /* parents first, siblings from left to right, the widest first */
	size_t count;
	double width_min; /* every subtree at least this wide has a box */
};

/*
 * Boxes of the node `first` and below, without those under one in share_min (0: all) of its width;
 * at most count_max (at least 1) boxes, depth_max (0: all) levels. Lives in the arena.
 */
struct diff_boxes_settings {
	uint32_t first;
	uint64_t share_min;
	size_t count_max;
	uint32_t depth_max;
};

struct err *diff_boxes_make(const struct diff_tree *tree,
			    const struct diff_boxes_settings *settings, struct arena *arena,
			    struct diff_boxes *boxes_ret);

#endif
