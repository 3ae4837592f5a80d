#include "compare/diff_boxes.h"

#include <assert.h>

#include "base/big.h"
#include "base/sort.h"

struct layout {
	const struct diff_tree *tree;
	uint32_t depth_max;
	double width_min;
	struct diff_box *items;
	size_t count;
};

/* Positive doubles sort like their bits. */
static uint64_t width_key(double width)
{
	uint64_t bits;

	memcpy(&bits, &width, sizeof(bits));
	return bits;
}

/* The smallest width that at most count_max nodes exceed. */
static struct err *width_min_find(const struct diff_tree *tree, size_t count_max, double *width_ret)
{
	CLEAN(free) struct sort_pair *pairs = NULL;

	if (tree->count <= count_max)
		return NULL;
	pairs = big_calloc(tree->count, sizeof(*pairs));
	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		pairs[i] = (struct sort_pair) { width_key(tree->nodes[i].width), (uint32_t)i };
	if (!sort_pairs(pairs, tree->count))
		return err_nomem();
	/* Ties at the boundary are left out. */
	*width_ret = tree->nodes[pairs[tree->count - count_max - 1].index].width;
	return NULL;
}

static void box_add(struct layout *layout, uint32_t node, uint32_t parent, double begin)
{
	const struct diff_node *at = &layout->tree->nodes[node];
	struct diff_box *box = &layout->items[layout->count++];

	*box = (struct diff_box) {
		.node = node,
		.parent = parent,
		.depth = parent == UINT32_MAX ? 0 : layout->items[parent].depth + 1,
		.width = at->width,
		.begin = begin,
		.self = at->width,
		.count = at->calls[DIFF_A] + at->calls[DIFF_B],
	};
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		box->values[side] = diff_tree_value(layout->tree, side, at->totals[side]);
	for (uint32_t child = at->first_child; child != DIFF_NONE;
	     child = layout->tree->nodes[child].next_sibling)
		box->self -= layout->tree->nodes[child].width;
	if (box->self < 0) /* due to rounding */
		box->self = 0;
}

static bool is_small(const struct layout *layout, uint32_t parent, const struct diff_node *node)
{
	return node->width <= layout->width_min ||
	       (layout->depth_max > 0 && layout->items[parent].depth >= layout->depth_max);
}

/* Children are laid out from the parent's left edge, with one box for the small ones at the end. */
static void children_add(struct layout *layout, uint32_t parent)
{
	const struct diff_tree *tree = layout->tree;
	const struct diff_node *at = &tree->nodes[layout->items[parent].node];
	double begin = layout->items[parent].begin;
	struct diff_box rest = {
		.node = DIFF_NONE,
		.parent = parent,
		.depth = layout->items[parent].depth + 1,
	};

	for (uint32_t child = at->first_child; child != DIFF_NONE;
	     child = tree->nodes[child].next_sibling) {
		const struct diff_node *node = &tree->nodes[child];

		if (!is_small(layout, parent, node)) {
			box_add(layout, child, parent, begin);
			begin += node->width;
			continue;
		}
		rest.count++;
		rest.width += node->width;
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			rest.values[side] += diff_tree_value(tree, side, node->totals[side]);
	}
	if (rest.count == 0)
		return;
	rest.begin = begin;
	rest.self = rest.width;
	layout->items[layout->count++] = rest;
}

struct err *diff_boxes_make(const struct diff_tree *tree,
			    const struct diff_boxes_settings *settings, struct arena *arena,
			    struct diff_boxes *boxes_ret)
{
	/* Each box has at most one extra box for its small children. */
	const size_t node_max = u64_max(settings->count_max / 2, 1);
	struct layout layout = { .tree = tree, .depth_max = settings->depth_max };
	struct err *err = width_min_find(tree, node_max, &layout.width_min);
	double share = 0;

	assert(settings->first < tree->count);
	assert(settings->count_max >= 1);
	if (err)
		return err;
	if (settings->share_min > 0)
		share = tree->nodes[settings->first].width / (double)settings->share_min;
	if (share > layout.width_min)
		layout.width_min = share;
	layout.items =
		arena_array(arena, 2 * u64_min(tree->count, node_max) + 2, sizeof(*layout.items));
	if (!layout.items)
		return err_nomem();
	box_add(&layout, settings->first, UINT32_MAX, 0);
	for (uint32_t i = 0; i < layout.count; i++) {
		if (layout.items[i].node != DIFF_NONE)
			children_add(&layout, i);
	}
	assert(layout.count <= 2 * u64_min(tree->count, node_max) + 2);
	*boxes_ret = (struct diff_boxes) { layout.items, layout.count, layout.width_min };
	return NULL;
}
