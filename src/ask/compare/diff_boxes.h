/*
 * diff_boxes: a tree of two sums as a flame graph, for those who draw it: boxes.h of diff_tree.h.
 * What is too small to be drawn is one box more under its caller, the last.
 */
#ifndef MEMTAPE_COMPARE_DIFF_BOXES_H
#define MEMTAPE_COMPARE_DIFF_BOXES_H

#include "compare/diff_tree.h"

struct diff_box {
	uint32_t node;	 /* of the tree; DIFF_NONE: what was too small, together */
	uint32_t parent; /* index of a box before it; UINT32_MAX of the first */
	uint32_t depth;	 /* below the first */
	uint64_t count;	 /* allocations of both sides; of small ones together: subtrees */
	/* All for one unit of work. */
	double width;
	double begin;		   /* left edge; of the first: 0 */
	double values[DIFF_SIDES]; /* of the metric */
	double self;		   /* of the width: not of its children */
};

struct diff_boxes {
	struct diff_box *items; /* parents first, siblings from left to right, the widest first */
	size_t count;
	double width_min; /* every subtree that has at least this width has a box */
};

/*
 * Of the node `first` and what is below it, but what is under one in share_min (0: all) of its
 * width; at most count_max (at least 1) boxes and depth_max (0: all) below it. Lives in the arena.
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
