#include "trees/boxes.h"

#include <assert.h>

#include "base/big.h"
#include "base/sort.h"

struct layout {
	const struct tree *tree;
	uint64_t value_min;
	struct box *items;
	size_t count;
};

static uint64_t node_value(const struct tree *tree, uint32_t node)
{
	return metric_value(tree->metric, &tree->nodes[node].total);
}

/*
 * The smallest value that at most node_max nodes reach. Nodes outside `first` count too: they are
 * its ancestors or small.
 */
static struct err *value_min_find(const struct tree *tree, size_t node_max, uint64_t *value_ret)
{
	CLEAN(free) struct sort_pair *pairs = NULL;

	*value_ret = 1;
	if (tree->count <= node_max)
		return NULL;
	pairs = big_calloc(tree->count, sizeof(*pairs));
	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		pairs[i].key = node_value(tree, (uint32_t)i);
	if (!sort_pairs(pairs, tree->count))
		return err_nomem();
	*value_ret = pairs[tree->count - node_max - 1].key + 1; /* equal ones at the border: out */
	return NULL;
}

static void box_add(struct layout *layout, uint32_t node, uint32_t parent, uint64_t begin)
{
	const struct tree_node *at = &layout->tree->nodes[node];

	layout->items[layout->count++] = (struct box) {
		.node = node,
		.parent = parent,
		.depth = parent == UINT32_MAX ? 0 : layout->items[parent].depth + 1,
		.value = node_value(layout->tree, node),
		.begin = begin,
		.count = metric_calls(layout->tree->metric, &at->total),
	};
}

/* Adds the rest of a box: neither its own value nor the drawn children. */
static void rest_add(struct layout *layout, uint32_t parent, uint64_t begin, uint64_t value,
		     uint64_t subtree_count)
{
	layout->items[layout->count++] = (struct box) {
		.node = TREE_NONE,
		.parent = parent,
		.depth = layout->items[parent].depth + 1,
		.value = value,
		.self = value,
		.begin = begin,
		.count = subtree_count,
	};
}

/* Children are laid out from the parent's left edge; its own value is to the right. */
static void children_add(struct layout *layout, uint32_t parent)
{
	const struct tree *tree = layout->tree;
	const struct tree_node *at = &tree->nodes[layout->items[parent].node];
	uint64_t begin = layout->items[parent].begin, rest = layout->items[parent].value;
	uint64_t subtree_count = at->pruned_count;

	layout->items[parent].self = metric_value(tree->metric, &at->self);
	rest -= layout->items[parent].self;
	for (uint32_t child = at->first_child; child != TREE_NONE;
	     child = tree->nodes[child].next_sibling) {
		const uint64_t value = node_value(tree, child);

		if (value < layout->value_min) {
			subtree_count++;
			continue;
		}
		box_add(layout, child, parent, begin);
		begin += value;
		rest -= value;
	}
	if (rest > 0)
		rest_add(layout, parent, begin, rest, subtree_count);
}

struct err *boxes_make(const struct tree *tree, uint32_t first, size_t count_max,
		       struct arena *arena, struct boxes *boxes_ret)
{
	struct layout layout = { .tree = tree };
	/* Each box has at most one extra box for its small children. */
	const size_t room = 2 * u64_min(tree->count, u64_max(count_max / 2, 1));
	struct err *err = value_min_find(tree, room / 2, &layout.value_min);

	assert(first < tree->count);
	assert(count_max >= 1);
	assert((unsigned)tree->metric < METRICS_KEYED);
	if (err)
		return err;
	layout.items = arena_array(arena, room + 2, sizeof(*layout.items));
	if (!layout.items)
		return err_nomem();
	box_add(&layout, first, UINT32_MAX, 0);
	for (uint32_t i = 0; i < layout.count; i++) {
		if (layout.items[i].node != TREE_NONE)
			children_add(&layout, i);
	}
	assert(layout.count <= room + 2);
	assert(layout.items[0].parent == UINT32_MAX);
	*boxes_ret = (struct boxes) {
		.items = layout.items,
		.count = layout.count,
		.value_min = u64_max(layout.value_min, tree->value_min),
	};
	return NULL;
}
