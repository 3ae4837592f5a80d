/*
 * Top-down is one pass over the tree of stacks that the model has anyway: parents come first, so
 * a stack's node is found below its parent's. Bottom-up would be every stack against every other;
 * it is done like a radix sort instead: the stacks of a node are grouped by their next caller, and
 * only groups that are big enough are looked into.
 */
#include "query/tree.h"

#include "base/map.h"
#include "base/sort.h"

VEC_DEFINE(tree_nodes, struct tree_node);

struct builder {
	const struct model *model;
	struct names *names;
	const struct tree_settings *settings;
	const struct model_stack_sums *sums; /* of each stack alone */
	struct tree_nodes nodes;
	struct map children; /* parent and name -> node */
	uint64_t pruned_count;
};

static void builder_deinit(struct builder *builder)
{
	tree_nodes_deinit(&builder->nodes);
	map_deinit(&builder->children);
}

CLEAN_DEFINE_DEINIT(builder_deinit, struct builder);

static bool is_too_small(const struct builder *builder, const struct model_stack_sums *sums)
{
	const uint64_t value = metric_value(builder->settings->metric, sums);

	return value == 0 || value < builder->settings->value_min;
}

static bool is_too_deep(const struct builder *builder, uint32_t node)
{
	const uint32_t depth_max = builder->settings->depth_max;

	return depth_max > 0 && builder->nodes.items[node].depth >= depth_max;
}

static uint32_t node_add(struct builder *builder, uint32_t parent, const struct name_frame *frame)
{
	struct tree_node *node = tree_nodes_add(&builder->nodes);

	if (!node)
		return TREE_NONE;
	*node = (struct tree_node) {
		.parent = parent,
		.first_child = TREE_NONE,
		.next_sibling = TREE_NONE,
		.depth = parent == TREE_NONE ? 0 : builder->nodes.items[parent].depth + 1,
		.name = frame->name,
		.line = frame->line,
		.file = frame->file,
	};
	return (uint32_t)(builder->nodes.count - 1);
}

/* A node that is reached from several lines has none. */
static void node_place_merge(struct tree_node *node, const struct name_frame *frame)
{
	if (!node->file)
		return;
	if (!frame->file || (node->file != frame->file && strcmp(node->file, frame->file) != 0)) {
		node->file = NULL;
		node->line = 0;
	} else if (node->line != frame->line) {
		node->line = 0;
	}
}

/* The child of this function, made if need be; TREE_NONE: no memory. */
static uint32_t child_put(struct builder *builder, uint32_t parent, const struct name_frame *frame)
{
	bool is_new;
	uint64_t *place =
		map_put(&builder->children, (uint64_t)parent << 32 | frame->name, &is_new);

	if (!place)
		return TREE_NONE;
	if (is_new)
		*place = node_add(builder, parent, frame);
	else
		node_place_merge(&builder->nodes.items[*place], frame);
	return (uint32_t)*place;
}

/* --- top-down ------------------------------------------------------------------------------ */

/* By stack: its own sums and those of every stack that goes on from it. For free(). */
static struct model_stack_sums *subtree_sums(const struct builder *builder)
{
	const struct capture_stack *stacks = model_stacks(builder->model);
	const size_t count = model_stack_count(builder->model);
	struct model_stack_sums *totals = calloc(count, sizeof(*totals));

	if (!totals)
		return NULL;
	for (size_t i = count; i-- > 0;) {
		metric_sums_add(&totals[i], &builder->sums[i]);
		if (i >= CAPTURE_STACK_FIRST)
			metric_sums_add(&totals[stacks[i].parent], &totals[i]);
	}
	return totals;
}

static bool special_place(struct builder *builder, uint32_t *places, uint32_t stack, uint32_t name,
			  const struct model_stack_sums *total)
{
	const struct name_frame frame = { .name = name };

	places[stack] = TREE_NONE;
	if (is_too_small(builder, total))
		return true;
	places[stack] = child_put(builder, TREE_ROOT, &frame);
	return places[stack] != TREE_NONE;
}

/* The node of a stack below its parent's node, made of the frames of its innermost address. */
static uint32_t stack_place(struct builder *builder, uint32_t node, uint32_t stack)
{
	const struct name_frames frames = names_frames(builder->names, stack);

	for (size_t i = frames.count; i-- > 0 && node != TREE_NONE;) {
		if (!walk_hides(builder->settings->mode, builder->names, &frames.frames[i]))
			node = child_put(builder, node, &frames.frames[i]);
	}
	return node;
}

static void self_add(struct builder *builder, uint32_t node, uint32_t stack)
{
	if (node == TREE_NONE)
		return;
	metric_sums_add(&builder->nodes.items[node].self, &builder->sums[stack]);
	metric_sums_add(&builder->nodes.items[node].total, &builder->sums[stack]);
}

static bool stacks_place(struct builder *builder, uint32_t *places,
			 const struct model_stack_sums *totals)
{
	const struct capture_stack *stacks = model_stacks(builder->model);

	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(builder->model); i++) {
		const uint32_t parent = places[stacks[i].parent];

		places[i] = TREE_NONE;
		if (parent == TREE_NONE)
			continue; /* pruned further out, and counted there */
		if (is_too_small(builder, &totals[i]) || is_too_deep(builder, parent)) {
			metric_sums_add(&builder->nodes.items[parent].total, &totals[i]);
			builder->pruned_count +=
				metric_value(builder->settings->metric, &totals[i]) > 0;
			continue;
		}
		places[i] = stack_place(builder, parent, i);
		if (places[i] == TREE_NONE)
			return false;
		self_add(builder, places[i], i);
	}
	return true;
}

static struct err *build_top_down(struct builder *builder)
{
	CLEAN(free) struct model_stack_sums *totals = subtree_sums(builder);
	CLEAN(free) uint32_t *places = calloc(model_stack_count(builder->model), sizeof(*places));

	if (!totals || !places)
		return err_nomem();
	places[CAPTURE_STACK_ROOT] = TREE_ROOT;
	if (!special_place(builder, places, CAPTURE_STACK_TRUNCATED, NAME_TRUNCATED,
			   &totals[CAPTURE_STACK_TRUNCATED]) ||
	    !special_place(builder, places, CAPTURE_STACK_NONE, NAME_NO_STACK,
			   &totals[CAPTURE_STACK_NONE]))
		return err_nomem();
	for (uint32_t i = 0; i < CAPTURE_STACK_FIRST; i++)
		self_add(builder, places[i], i);
	if (!stacks_place(builder, places, totals))
		return err_nomem();
	for (size_t i = builder->nodes.count; i-- > 1;) {
		struct tree_node *node = &builder->nodes.items[i];

		metric_sums_add(&builder->nodes.items[node->parent].total, &node->total);
	}
	return NULL;
}

/* --- bottom-up ----------------------------------------------------------------------------- */

/* A stack on its way outwards: the walk stands behind the frame of the node it is in. */
struct climber {
	struct walk walk;
	const struct name_frame *frame;
	uint32_t stack;
};

VEC_DEFINE(climbers, struct climber);

struct group { /* climbers that are in one node */
	uint32_t node;
	size_t begin; /* of their numbers in the order */
	size_t end;
};

VEC_DEFINE(groups, struct group);

static struct err *climbers_fill(const struct builder *builder, struct climbers *climbers)
{
	for (uint32_t i = 0; i < model_stack_count(builder->model); i++) {
		struct climber climber = { .stack = i };

		if (metric_value(builder->settings->metric, &builder->sums[i]) == 0)
			continue;
		climber.walk =
			walk_begin(builder->model, builder->names, i, builder->settings->mode);
		if (!climbers_push(climbers, climber))
			return err_nomem();
	}
	return NULL;
}

/* One node for climbers that all came to one function. */
static struct err *run_place(struct builder *builder, const struct climbers *climbers,
			     const struct sort_pair *order, struct group run, struct groups *todo)
{
	const uint32_t parent = run.node;
	struct model_stack_sums total = { 0 };
	struct tree_node *node;

	for (size_t i = run.begin; i < run.end; i++)
		metric_sums_add(&total, &builder->sums[climbers->items[order[i].index].stack]);
	if (is_too_small(builder, &total) || is_too_deep(builder, parent)) {
		builder->pruned_count++;
		return NULL;
	}
	run.node = node_add(builder, parent, climbers->items[order[run.begin].index].frame);
	if (run.node == TREE_NONE || !groups_push(todo, run))
		return err_nomem();
	node = &builder->nodes.items[run.node];
	node->total = total;
	for (size_t i = run.begin + 1; i < run.end; i++)
		node_place_merge(node, climbers->items[order[i].index].frame);
	return NULL;
}

/* Sends the climbers of a group one frame outwards, and makes groups of those that meet. */
static struct err *group_split(struct builder *builder, struct climbers *climbers,
			       struct sort_pair *order, struct group group, struct groups *todo)
{
	size_t begin;

	for (size_t i = group.begin; i < group.end; i++) {
		struct climber *climber = &climbers->items[order[i].index];

		climber->frame = walk_next(&climber->walk);
		order[i].key = climber->frame ? climber->frame->name : UINT64_MAX;
	}
	if (!sort_pairs(order + group.begin, group.end - group.begin))
		return err_nomem();
	for (begin = group.begin; begin < group.end && order[begin].key != UINT64_MAX;) {
		struct group run = { group.node, begin, begin };
		struct err *err;

		while (run.end < group.end && order[run.end].key == order[begin].key)
			run.end++;
		err = run_place(builder, climbers, order, run, todo);
		if (err)
			return err;
		begin = run.end;
	}
	for (size_t i = begin; i < group.end; i++) /* stacks that end here */
		metric_sums_add(&builder->nodes.items[group.node].self,
				&builder->sums[climbers->items[order[i].index].stack]);
	return NULL;
}

static struct err *build_bottom_up(struct builder *builder)
{
	CLEAN(climbers_deinit) struct climbers climbers = { 0 };
	CLEAN(groups_deinit) struct groups todo = { 0 };
	CLEAN(free) struct sort_pair *order = NULL;
	struct err *err = climbers_fill(builder, &climbers);

	if (err)
		return err;
	order = calloc(climbers.count + 1, sizeof(*order));
	if (!order || !groups_push(&todo, (struct group) { TREE_ROOT, 0, climbers.count }))
		return err_nomem();
	for (size_t i = 0; i < climbers.count; i++)
		order[i].index = (uint32_t)i;
	builder->nodes.items[TREE_ROOT].total = metric_totals(builder->model);
	while (todo.count > 0 && !err)
		err = group_split(builder, &climbers, order, todo.items[--todo.count], &todo);
	return err;
}

/* --- both ---------------------------------------------------------------------------------- */

/* Links every node's children, those with most of the metric first. */
static struct err *children_link(struct tree *tree)
{
	CLEAN(free) struct sort_pair *pairs = calloc(tree->count, sizeof(*pairs));

	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		pairs[i] = (struct sort_pair) { metric_value(tree->metric, &tree->nodes[i].total),
						(uint32_t)i };
	if (!sort_pairs(pairs, tree->count))
		return err_nomem();
	/* Pushing the least first to the front of each list leaves the most in front. */
	for (size_t i = 0; i < tree->count; i++) {
		struct tree_node *node = &tree->nodes[pairs[i].index];

		if (node->parent == TREE_NONE)
			continue;
		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = pairs[i].index;
	}
	return NULL;
}

struct err *tree_build(const struct model *model, struct names *names,
		       const struct tree_settings *settings, struct arena *arena,
		       struct tree *tree_ret)
{
	CLEAN(builder_deinit)
	struct builder builder = {
		.model = model,
		.names = names,
		.settings = settings,
		.sums = model_stack_sums(model),
	};
	struct tree tree = { .metric = settings->metric };
	struct err *err;

	if (node_add(&builder, TREE_NONE, &(struct name_frame) { 0 }) == TREE_NONE)
		return err_nomem();
	err = settings->direction == TREE_TOP_DOWN ? build_top_down(&builder)
						   : build_bottom_up(&builder);
	if (err)
		return err;
	tree.count = builder.nodes.count;
	tree.pruned_count = builder.pruned_count;
	tree.nodes = arena_array(arena, tree.count, sizeof(*tree.nodes));
	if (!tree.nodes)
		return err_nomem();
	memcpy(tree.nodes, builder.nodes.items, tree.count * sizeof(*tree.nodes));
	err = children_link(&tree);
	if (err)
		return err;
	*tree_ret = tree;
	return NULL;
}
