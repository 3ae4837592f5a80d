#include "compare/diff_tree.h"

#include <assert.h>

#include "base/big.h"
#include "base/map.h"
#include "base/sort.h"
#include "compare/diff_name.h"
#include "sums/name_hash.h"

VEC_DEFINE(diff_nodes, struct diff_node);

struct merge {
	const struct diff_side *sides;
	enum walk_mode mode;
	enum metric metric;
	struct diff_nodes nodes;
	struct map by_key; /* of parent and name -> node */
};

static void merge_deinit(struct merge *merge)
{
	diff_nodes_deinit(&merge->nodes);
	map_deinit(&merge->by_key);
}

CLEAN_DEFINE_DEINIT(merge_deinit, struct merge);

static bool root_add(struct merge *merge)
{
	return diff_nodes_push(&merge->nodes, (struct diff_node) {
						      .parent = DIFF_NONE,
						      .first_child = DIFF_NONE,
						      .next_sibling = DIFF_NONE,
						      .names = { DIFF_NONE, DIFF_NONE },
					      });
}

/* B's place replaces A's; a node reached from several lines has none. */
static void place_take(struct diff_node *node, unsigned side, const struct name_frame *frame)
{
	assert(side < DIFF_SIDES);
	if (node->names[side] == DIFF_NONE) {
		node->file = frame->file;
		node->line = frame->line;
	} else if (!frame->file || !node->file || strcmp(frame->file, node->file) != 0) {
		node->file = NULL;
		node->line = 0;
	} else if (node->line != frame->line) {
		node->line = 0;
	}
	node->names[side] = frame->name;
}

/* The node of a function below its caller; DIFF_NONE: out of memory. */
static uint32_t child_put(struct merge *merge, unsigned side, uint32_t parent,
			  const struct name_frame *frame)
{
	const struct diff_side *from = &merge->sides[side];
	const uint64_t key[] = {
		parent,
		diff_name_hash(from->sums->model, names_get(from->names, frame->name)),
	};
	bool is_new;
	uint64_t *place = map_put(&merge->by_key, hash_bytes(key, sizeof(key), 0), &is_new);

	if (!place)
		return DIFF_NONE;
	if (is_new) {
		*place = merge->nodes.count;
		if (!root_add(merge))
			return DIFF_NONE;
		merge->nodes.items[*place].parent = parent;
		merge->nodes.items[*place].depth = merge->nodes.items[parent].depth + 1;
	}
	place_take(&merge->nodes.items[*place], side, frame);
	return (uint32_t)*place;
}

/* From the caller's node inwards, through the visible frames of the stack's innermost address. */
static uint32_t stack_enter(struct merge *merge, unsigned side, uint32_t node, uint32_t stack)
{
	static const struct name_frame special[] = {
		[CAPTURE_STACK_TRUNCATED] = { .name = NAME_TRUNCATED },
		[CAPTURE_STACK_NONE] = { .name = NAME_NO_STACK },
	};
	struct names *names = merge->sides[side].names;
	struct name_frames frames;

	if (stack == CAPTURE_STACK_ROOT)
		return DIFF_ROOT;
	if (stack < CAPTURE_STACK_FIRST)
		return child_put(merge, side, DIFF_ROOT, &special[stack]);
	frames = names_frames(names, stack);
	for (size_t i = frames.count; i-- > 0 && node != DIFF_NONE;) {
		if (!walk_hides(merge->mode, names, stack, &frames.frames[i]))
			node = child_put(merge, side, node, &frames.frames[i]);
	}
	return node;
}

/* Stacks that have some of the metric, or lead to one that does. */
static void used_find(const struct sums *sums, enum metric metric, uint8_t *used)
{
	const struct capture_stack *stacks = model_stacks(sums->model);

	for (size_t i = model_stack_count(sums->model); i-- > 0;) {
		used[i] |= metric_value(metric, sums_of_stack(sums, i)) > 0;
		if (i >= CAPTURE_STACK_FIRST)
			used[stacks[i].parent] |= used[i];
	}
}

static struct err *side_merge(struct merge *merge, unsigned side)
{
	const struct sums *sums = merge->sides[side].sums;
	const struct capture_stack *stacks = model_stacks(sums->model);
	const size_t count = model_stack_count(sums->model);
	CLEAN(free) uint8_t *used = big_calloc(count + 1, sizeof(*used));
	CLEAN(free) uint32_t *node_of = big_calloc(count + 1, sizeof(*node_of));

	if (!used || !node_of)
		return err_nomem();
	used_find(sums, merge->metric, used);
	for (uint32_t i = 0; i < count; i++) { /* callers come before callees */
		const uint32_t parent = i >= CAPTURE_STACK_FIRST ? node_of[stacks[i].parent] : 0;
		struct diff_node *node;

		if (!used[i])
			continue;
		node_of[i] = stack_enter(merge, side, parent, i);
		if (node_of[i] == DIFF_NONE)
			return err_nomem();
		node = &merge->nodes.items[node_of[i]];
		node->selfs[side] += metric_value(merge->metric, sums_of_stack(sums, i));
		node->calls[side] += metric_calls(merge->metric, sums_of_stack(sums, i));
	}
	return NULL;
}

/* Adds each node's own values to all its ancestors. */
static void totals_make(struct merge *merge)
{
	for (size_t i = merge->nodes.count; i-- > 0;) {
		struct diff_node *node = &merge->nodes.items[i];
		double selfs[DIFF_SIDES];

		for (unsigned side = 0; side < DIFF_SIDES; side++) {
			node->totals[side] += node->selfs[side];
			selfs[side] = (double)node->selfs[side] / (double)merge->sides[side].units;
		}
		node->width += selfs[DIFF_A] > selfs[DIFF_B] ? selfs[DIFF_A] : selfs[DIFF_B];
		if (node->parent == DIFF_NONE)
			continue;
		merge->nodes.items[node->parent].width += node->width;
		for (unsigned side = 0; side < DIFF_SIDES; side++) {
			merge->nodes.items[node->parent].totals[side] += node->totals[side];
			merge->nodes.items[node->parent].calls[side] += node->calls[side];
		}
	}
}

static int width_compare(const void *context, const void *a, const void *b)
{
	const struct diff_node *nodes = context;
	const double left = nodes[*(const uint32_t *)a].width;
	const double right = nodes[*(const uint32_t *)b].width;

	return (left > right) - (left < right);
}

/* Links each node's children, widest first. */
static struct err *children_link(struct diff_tree *tree)
{
	CLEAN(free) uint32_t *order = calloc(tree->count, sizeof(*order));

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		order[i] = (uint32_t)(tree->count - 1 - i);
	if (!sort_stable(order, tree->count, sizeof(*order), width_compare, tree->nodes))
		return err_nomem();
	/* Pushing the narrowest first to the front of each list puts the widest first. */
	for (size_t i = 0; i < tree->count; i++) {
		struct diff_node *node = &tree->nodes[order[i]];

		if (node->parent == DIFF_NONE)
			continue;
		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = order[i];
	}
	return NULL;
}

struct err *diff_tree_build(const struct diff_side *sides, enum walk_mode mode, enum metric metric,
			    struct arena *arena, struct diff_tree *tree_ret)
{
	CLEAN(merge_deinit)
	struct merge merge = { .sides = sides, .mode = mode, .metric = metric };
	struct diff_tree tree = { .sides = sides, .metric = metric };
	struct err *err = root_add(&merge) ? NULL : err_nomem();

	assert((unsigned)metric < METRICS_KEYED);
	assert(sides[DIFF_A].units >= 1 && sides[DIFF_B].units >= 1);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = side_merge(&merge, side);
	if (err)
		return err;
	totals_make(&merge);
	assert(merge.nodes.items[DIFF_ROOT].parent == DIFF_NONE);
	tree.count = merge.nodes.count;
	tree.nodes = arena_array(arena, tree.count, sizeof(*tree.nodes));
	if (!tree.nodes)
		return err_nomem();
	memcpy(tree.nodes, merge.nodes.items, tree.count * sizeof(*tree.nodes));
	err = children_link(&tree);
	if (!err)
		*tree_ret = tree;
	return err;
}

/* --- questions about it -------------------------------------------------------------------- */

static unsigned known_side(const struct diff_node *node)
{
	return node->names[DIFF_B] == DIFF_NONE ? DIFF_A : DIFF_B;
}

const struct name *diff_tree_name(const struct diff_tree *tree, uint32_t node)
{
	const struct diff_node *at = &tree->nodes[node];
	const unsigned side = known_side(at);

	assert(node != DIFF_ROOT && node < tree->count);
	assert(at->names[side] != DIFF_NONE);
	return names_get(tree->sides[side].names, at->names[side]);
}

uint64_t diff_tree_hash(const struct diff_tree *tree, uint32_t node)
{
	const unsigned side = known_side(&tree->nodes[node]);

	assert(node != DIFF_ROOT && node < tree->count);
	return name_hash(tree->sides[side].sums->model, diff_tree_name(tree, node));
}

double diff_tree_value(const struct diff_tree *tree, unsigned side, uint64_t value)
{
	assert(side < DIFF_SIDES);
	assert(tree->sides[side].units >= 1);
	return (double)value / (double)tree->sides[side].units;
}

enum diff_status diff_tree_status(const struct diff_tree *tree, uint32_t node)
{
	const struct diff_node *at = &tree->nodes[node];
	const double before = diff_tree_value(tree, DIFF_A, at->totals[DIFF_A]);
	const double after = diff_tree_value(tree, DIFF_B, at->totals[DIFF_B]);

	assert(node < tree->count);
	if (node != DIFF_ROOT && at->names[DIFF_A] == DIFF_NONE)
		return DIFF_NEW;
	if (node != DIFF_ROOT && at->names[DIFF_B] == DIFF_NONE)
		return DIFF_GONE;
	return after > before ? DIFF_GROWN : after < before ? DIFF_SHRUNK : DIFF_SAME;
}

uint32_t diff_tree_next(const struct diff_tree *tree, uint32_t node, bool into)
{
	assert(node < tree->count);
	if (into && tree->nodes[node].first_child != DIFF_NONE)
		return tree->nodes[node].first_child;
	while (node != DIFF_ROOT && tree->nodes[node].next_sibling == DIFF_NONE)
		node = tree->nodes[node].parent;
	return node == DIFF_ROOT ? DIFF_NONE : tree->nodes[node].next_sibling;
}

uint32_t diff_tree_find(const struct diff_tree *tree, const uint64_t *path, size_t path_count)
{
	uint32_t node = DIFF_ROOT;

	assert(path_count == 0 || path);
	for (size_t i = 0; i < path_count; i++) {
		uint32_t child = tree->nodes[node].first_child;

		while (child != DIFF_NONE && diff_tree_hash(tree, child) != path[i])
			child = tree->nodes[child].next_sibling;
		if (child == DIFF_NONE)
			break;
		node = child;
	}
	return node;
}
