/*
 * flame_layout: which nodes of a tree are drawn, and where. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_FLAME_LAYOUT_H
#define MEMTAPE_PLOT_FLAME_LAYOUT_H

#include "base/err.h"
#include "trees/tree.h"

struct flame_frame {
	uint32_t node;
	uint32_t parent; /* index of an earlier frame; UINT32_MAX for the first */
	uint32_t depth;
	uint64_t begin; /* left edge, in units of the metric */
	uint64_t value;
};

struct flame_layout {
	struct flame_frame *frames; /* parents first, siblings from left to right */
	size_t count;
	uint32_t depth_max;
	uint64_t value_min; /* every frame that has at least this much is drawn */
	bool is_cut;	    /* there are frames below the deepest one drawn */
};

/* Lives in the arena. */
struct err *flame_layout(const struct tree *tree, size_t frames_max, uint32_t depth_max,
			 struct arena *arena, struct flame_layout *layout_ret);

#endif
