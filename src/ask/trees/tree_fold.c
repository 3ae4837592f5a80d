/*
 * Trees without recursion. A stack that returns to a function already on it continues from there:
 * main a b a b c becomes main a b c, and main a b a d becomes main a d. So no path has a function
 * twice, and a function's allocations count once for it.
 *
 * The folded path of a stack extends its parent's by a few frames, so from main inwards one pass
 * over all stacks finds them; outwards each is walked separately.
 */
#include <assert.h>

#include "base/big.h"
#include "base/map.h"
#include "trees/tree_parts.h"

struct fold_node {
	uint32_t parent; /* less than its own number */
	uint32_t first_child;
	uint32_t next_sibling;	 /* 0: none, as the root is not a child */
	struct name_frame frame; /* line and file are unset if there are several */
	struct model_stack_sums self, total;
};

VEC_DEFINE(fold_nodes, struct fold_node);
VEC_DEFINE(fold_frames, const struct name_frame *);

struct fold {
	struct builder *builder;
	struct fold_nodes nodes; /* 0 is the root */
	struct map children;	 /* (parent, name) -> node */
	struct fold_frames path; /* of one stack, outermost first */
};

static void fold_deinit(struct fold *fold)
{
	fold_nodes_deinit(&fold->nodes);
	fold_frames_deinit(&fold->path);
	map_deinit(&fold->children);
}

CLEAN_DEFINE_DEINIT(fold_deinit, struct fold);

/* Keeps the line and file that all calls of a node share. */
static void place_merge(struct name_frame *node, const struct name_frame *frame)
{
	if (!node->file)
		return;
	if (!frame->file || strcmp(node->file, frame->file) != 0) {
		node->file = NULL;
		node->line = 0;
	} else if (node->line != frame->line) {
		node->line = 0;
	}
}

/* The child for this frame; TREE_NONE: out of memory. */
static uint32_t child_put(struct fold *fold, uint32_t parent, const struct name_frame *frame)
{
	uint64_t *place = map_put(&fold->children, (uint64_t)parent << 32 | frame->name, NULL);
	const uint32_t number = (uint32_t)fold->nodes.count;
	struct fold_node node = { .parent = parent, .frame = *frame };

	if (!place)
		return TREE_NONE;
	if (*place) {
		place_merge(&fold->nodes.items[*place].frame, frame);
		return (uint32_t)*place;
	}
	node.next_sibling = fold->nodes.items[parent].first_child;
	if (!fold_nodes_push(&fold->nodes, node))
		return TREE_NONE;
	fold->nodes.items[parent].first_child = number;
	*place = number;
	return number;
}

/* The node itself or its ancestor with this function; TREE_ROOT: none. */
static uint32_t ancestor_find(const struct fold *fold, uint32_t node, uint32_t name)
{
	while (node != TREE_ROOT && fold->nodes.items[node].frame.name != name)
		node = fold->nodes.items[node].parent;
	return node;
}

static uint32_t node_enter(struct fold *fold, uint32_t node, const struct name_frame *frame)
{
	const uint32_t again = ancestor_find(fold, node, frame->name);

	return again != TREE_ROOT ? again : child_put(fold, node, frame);
}

/* From a node inwards, through the `left` outermost frames of a stack's address. */
static uint32_t frames_enter(struct fold *fold, uint32_t node, uint32_t stack, uint32_t left)
{
	const struct builder *builder = fold->builder;
	const struct name_frames frames = names_frames(builder->names, stack);

	while (left > 0 && node != TREE_NONE) {
		const struct name_frame *frame = &frames.frames[--left];

		if (!tree_hides(builder, stack, frame))
			node = node_enter(fold, node, frame);
	}
	return node;
}

/* --- from main inwards --------------------------------------------------------------------- */

enum { OUTSIDE = UINT32_MAX - 1 /* outside the focus */ };

static struct err *roots_enter(struct fold *fold, uint32_t *node_of)
{
	static const struct name_frame special[] = {
		[CAPTURE_STACK_TRUNCATED] = { .name = NAME_TRUNCATED },
		[CAPTURE_STACK_NONE] = { .name = NAME_NO_STACK },
	};

	for (uint32_t stack = 0; stack < CAPTURE_STACK_FIRST; stack++) {
		node_of[stack] = stack == CAPTURE_STACK_ROOT
					 ? TREE_ROOT
					 : child_put(fold, TREE_ROOT, &special[stack]);
		if (node_of[stack] == TREE_NONE)
			return err_nomem();
	}
	return NULL;
}

/* Makes the place's function a root, and continues with the rest of its address. */
static uint32_t place_enter(struct fold *fold, const struct focus_place *place)
{
	const uint32_t node = child_put(fold, TREE_ROOT, focus_frame(fold->builder->names, place));

	if (node == TREE_NONE || place->stack < CAPTURE_STACK_FIRST)
		return node;
	return frames_enter(fold, node, place->stack, place->frame);
}

static struct err *stacks_enter(struct fold *fold, uint32_t *node_of)
{
	const struct builder *builder = fold->builder;
	const struct focus *focus = builder->settings->focus;
	const struct capture_stack *stacks = model_stacks(builder->model);
	struct err *err = focus ? NULL : roots_enter(fold, node_of);
	size_t place = 0;

	for (uint32_t i = 0; i < model_stack_count(builder->model) && !err; i++) {
		if (focus && place < focus->count && focus->places[place].stack == i)
			node_of[i] = place_enter(fold, &focus->places[place++]);
		else if (i < CAPTURE_STACK_FIRST)
			node_of[i] = focus ? OUTSIDE : node_of[i];
		else if (node_of[stacks[i].parent] == OUTSIDE)
			node_of[i] = OUTSIDE;
		else
			node_of[i] = frames_enter(fold, node_of[stacks[i].parent], i,
						  (uint32_t)names_frames(builder->names, i).count);
		if (node_of[i] == TREE_NONE)
			err = err_nomem();
		else if (node_of[i] != OUTSIDE)
			metric_sums_add(&fold->nodes.items[node_of[i]].self,
					sums_of_stack(&builder->sums, i));
	}
	return err;
}

/* --- from those who allocate outwards ------------------------------------------------------ */

/* Reverses the frames of an outward walk and removes cycles. */
static struct err *path_find(struct fold *fold, struct walk *walk, const struct name_frame *first)
{
	struct fold_frames *path = &fold->path;
	const struct name_frame *frame = first ? first : walk_next(walk);
	size_t kept = 0;

	path->count = 0;
	for (; frame; frame = walk_next(walk)) {
		if (!fold_frames_push(path, frame))
			return err_nomem();
	}
	for (size_t i = 0; i < path->count / 2; i++) {
		const struct name_frame *other = path->items[path->count - 1 - i];

		path->items[path->count - 1 - i] = path->items[i];
		path->items[i] = other;
	}
	for (size_t i = 0; i < path->count; i++) {
		size_t again = 0;

		while (again < kept && path->items[again]->name != path->items[i]->name)
			again++;
		path->items[again] = path->items[i];
		kept = again + 1;
	}
	path->count = kept;
	return NULL;
}

static struct err *path_climb(struct fold *fold, const struct model_stack_sums *sums)
{
	uint32_t node = TREE_ROOT;

	for (size_t i = fold->path.count; i-- > 0 && node != TREE_NONE;)
		node = child_put(fold, node, fold->path.items[i]);
	if (node == TREE_NONE)
		return err_nomem();
	metric_sums_add(&fold->nodes.items[node].self, sums);
	return NULL;
}

static struct err *place_climb(struct fold *fold, const struct focus_place *place)
{
	const struct builder *builder = fold->builder;
	struct walk walk = tree_walk_begin(builder, place->stack);
	struct err *err;

	walk.at = place->frame + 1;
	walk.has_shown = true;
	walk.is_ended = place->stack < CAPTURE_STACK_FIRST;
	err = path_find(fold, &walk, focus_frame(builder->names, place));
	return err ? err : path_climb(fold, &builder->sums.totals[place->stack]);
}

static struct err *stacks_climb(struct fold *fold)
{
	const struct builder *builder = fold->builder;
	const struct focus *focus = builder->settings->focus;
	struct err *err = NULL;

	for (size_t i = 0; focus && i < focus->count && !err; i++)
		err = place_climb(fold, &focus->places[i]);
	for (uint32_t i = 0; !focus && i < model_stack_count(builder->model) && !err; i++) {
		struct walk walk = tree_walk_begin(builder, i);

		if (metric_value(builder->settings->metric, sums_of_stack(&builder->sums, i)) == 0)
			continue;
		err = path_find(fold, &walk, NULL);
		if (!err)
			err = path_climb(fold, sums_of_stack(&builder->sums, i));
	}
	return err;
}

/* --- */

/* Makes tree nodes of those that are large enough. */
static struct err *nodes_place(struct fold *fold)
{
	struct builder *builder = fold->builder;
	CLEAN(runs_deinit) struct runs todo = { 0 };
	struct err *err = NULL;

	/* A run's node is in the tree; its `begin` is the folded node. */
	if (!runs_push(&todo, (struct run) { TREE_ROOT, TREE_ROOT, 0 }))
		return err_nomem();
	while (todo.count > 0 && !err) {
		const struct run at = todo.items[--todo.count];
		const struct fold_node *node = &fold->nodes.items[at.begin];

		builder->nodes.items[at.node].self = node->self;
		for (uint32_t child = node->first_child; child && !err;
		     child = fold->nodes.items[child].next_sibling) {
			struct run run = { at.node, child, 0 };

			err = tree_run_place(builder, &run, &fold->nodes.items[child].frame,
					     &fold->nodes.items[child].total);
			if (!err && run.node != TREE_NONE && !runs_push(&todo, run))
				err = err_nomem();
		}
	}
	return err;
}

struct err *tree_build_folded(struct builder *builder)
{
	CLEAN(fold_deinit) struct fold fold = { .builder = builder };
	CLEAN(free)
	uint32_t *node_of = big_calloc(model_stack_count(builder->model) + 1, sizeof(*node_of));
	struct err *err;

	assert(builder->nodes.count == 1);
	assert(builder->settings->merges_recursion);
	if (!node_of || !fold_nodes_push(&fold.nodes, (struct fold_node) { 0 }))
		return err_nomem();
	err = builder->settings->direction == TREE_TOP_DOWN ? stacks_enter(&fold, node_of)
							    : stacks_climb(&fold);
	if (err)
		return err;
	for (size_t i = fold.nodes.count; i-- > 0;) {
		struct fold_node *node = &fold.nodes.items[i];

		metric_sums_add(&node->total, &node->self);
		if (i > TREE_ROOT)
			metric_sums_add(&fold.nodes.items[node->parent].total, &node->total);
	}
	return nodes_place(&fold);
}
