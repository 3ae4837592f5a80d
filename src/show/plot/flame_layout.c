#include "plot/flame_layout.h"

#include <assert.h>

#include "base/sort.h"

static uint64_t node_value(const struct tree *tree, uint32_t node)
{
	return metric_value(tree->metric, &tree->nodes[node].total);
}

/* The smallest value such that at most frames_max nodes have at least this much. */
static struct err *value_min_find(const struct tree *tree, size_t frames_max, uint64_t *value_ret)
{
	CLEAN(free) struct sort_pair *pairs = NULL;
	uint64_t value;

	*value_ret = 1;
	if (tree->count <= frames_max)
		return NULL;
	pairs = calloc(tree->count, sizeof(*pairs));
	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		pairs[i].key = node_value(tree, (uint32_t)i);
	if (!sort_pairs(pairs, tree->count))
		return err_nomem();
	/* Equal ones at the limit: all are left out. */
	value = pairs[tree->count - frames_max - 1].key;
	*value_ret = value + 1;
	return NULL;
}

struct err *flame_layout(const struct tree *tree, size_t frames_max, uint32_t depth_max,
			 struct arena *arena, struct flame_layout *layout_ret)
{
	struct flame_layout layout = { 0 };
	CLEAN(free) uint32_t *frame_of = calloc(tree->count, sizeof(*frame_of));
	CLEAN(free) uint64_t *filled = calloc(tree->count, sizeof(*filled)); /* by children */
	struct err *err = value_min_find(tree, frames_max, &layout.value_min);
	uint32_t node = TREE_ROOT;

	assert(tree->count >= 1);
	assert(frames_max >= 1);
	if (err)
		return err;
	layout.frames = arena_array(arena, tree->count, sizeof(*layout.frames));
	if (!frame_of || !filled || !layout.frames)
		return err_nomem();
	while (node != TREE_NONE) {
		const struct tree_node *at = &tree->nodes[node];
		const bool is_drawn =
			node == TREE_ROOT ||
			(node_value(tree, node) >= layout.value_min && at->depth <= depth_max);

		if (is_drawn) {
			struct flame_frame *frame = &layout.frames[layout.count];

			*frame = (struct flame_frame) { node, UINT32_MAX, at->depth, 0,
							node_value(tree, node) };
			if (node != TREE_ROOT) {
				frame->parent = frame_of[at->parent];
				frame->begin =
					layout.frames[frame->parent].begin + filled[at->parent];
				filled[at->parent] += frame->value;
			}
			frame_of[node] = (uint32_t)layout.count++;
			if (at->depth > layout.depth_max)
				layout.depth_max = at->depth;
		}
		layout.is_cut |= at->depth > depth_max;
		node = tree_next(tree, node, is_drawn);
	}
	assert(layout.count >= 1);
	assert(layout.depth_max <= depth_max);
	*layout_ret = layout;
	return NULL;
}
