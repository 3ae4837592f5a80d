/*
 * Both directions work the same way, like a radix sort: what has come to a node - stacks on their
 * way outwards, or branches of the tree of stacks on their way inwards - is grouped by the next
 * function, and only groups that are big enough become nodes and are looked into. So nothing is
 * symbolized that is not near to something shown, and what is shown is exact.
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
	uint64_t pruned_count;
};

static void builder_deinit(struct builder *builder)
{
	tree_nodes_deinit(&builder->nodes);
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

/* What has come to one function below a node. */
struct run {
	uint32_t node; /* the parent, then the node that was made; TREE_NONE: too small, or too deep
			*/
	size_t begin;  /* of those who came */
	size_t end;
};

VEC_DEFINE(runs, struct run);

static struct err *run_place(struct builder *builder, struct run *run,
			     const struct name_frame *frame, const struct model_stack_sums *total)
{
	if (is_too_small(builder, total) || is_too_deep(builder, run->node)) {
		builder->pruned_count += metric_value(builder->settings->metric, total) > 0;
		run->node = TREE_NONE;
		return NULL;
	}
	run->node = node_add(builder, run->node, frame);
	if (run->node == TREE_NONE)
		return err_nomem();
	builder->nodes.items[run->node].total = *total;
	return NULL;
}

/* --- top-down ------------------------------------------------------------------------------ */

/* A branch of the tree of stacks on its way inwards: `left` frames of its address are to come. */
struct branch {
	const struct name_frame *frame; /* where it has come to */
	uint32_t stack;
	uint32_t left;
};

VEC_DEFINE(branches, struct branch);

struct descent {
	struct builder *builder;
	struct model_stack_sums *totals; /* by stack: its own and those that go on from it */
	uint32_t *first_child;		 /* by stack; 0: none */
	uint32_t *next_sibling;
	struct branches branches; /* of the groups that are still to do, those of the last last */
	struct vec_u32 entered;	  /* stacks to be entered at their outermost frame */
	struct runs todo;
};

static void descent_deinit(struct descent *descent)
{
	free(descent->totals);
	free(descent->first_child);
	free(descent->next_sibling);
	branches_deinit(&descent->branches);
	vec_u32_deinit(&descent->entered);
	runs_deinit(&descent->todo);
}

CLEAN_DEFINE_DEINIT(descent_deinit, struct descent);

static bool descent_init(struct descent *descent)
{
	const struct builder *builder = descent->builder;
	const struct capture_stack *stacks = model_stacks(builder->model);
	const size_t count = model_stack_count(builder->model);

	descent->totals = calloc(count, sizeof(*descent->totals));
	descent->first_child = calloc(count, sizeof(*descent->first_child));
	descent->next_sibling = calloc(count, sizeof(*descent->next_sibling));
	if (!descent->totals || !descent->first_child || !descent->next_sibling)
		return false;
	for (size_t i = count; i-- > 0;) { /* children come after their parents */
		const uint32_t parent = stacks[i].parent;

		metric_sums_add(&descent->totals[i], &builder->sums[i]);
		if (i < CAPTURE_STACK_FIRST)
			continue;
		metric_sums_add(&descent->totals[parent], &descent->totals[i]);
		descent->next_sibling[i] = descent->first_child[parent];
		descent->first_child[parent] = (uint32_t)i;
	}
	return true;
}

/* Goes on from behind a stack's innermost frame: what it has is the node's own, and its children.
 */
static bool stack_leave(struct descent *descent, uint32_t node, uint32_t stack)
{
	const enum metric metric = descent->builder->settings->metric;

	metric_sums_add(&descent->builder->nodes.items[node].self, &descent->builder->sums[stack]);
	for (uint32_t child = descent->first_child[stack]; child;
	     child = descent->next_sibling[child]) {
		if (metric_value(metric, &descent->totals[child]) > 0 &&
		    !vec_u32_push(&descent->entered, child))
			return false;
	}
	return true;
}

/* Takes a branch to its next frame that is shown; or behind its last, and its children on. */
static bool branch_step(struct descent *descent, uint32_t node, struct branch branch)
{
	const struct builder *builder = descent->builder;

	if (branch.stack >= CAPTURE_STACK_FIRST) {
		const struct name_frames frames = names_frames(builder->names, branch.stack);

		while (branch.left > 0) {
			branch.frame = &frames.frames[--branch.left];
			if (!walk_hides(builder->settings->mode, builder->names, branch.frame))
				return branches_push(&descent->branches, branch);
		}
	}
	return stack_leave(descent, node, branch.stack);
}

static bool branches_step(struct descent *descent, struct run run)
{
	const struct builder *builder = descent->builder;

	for (size_t i = run.begin; i < run.end; i++) {
		if (!branch_step(descent, run.node, descent->branches.items[i]))
			return false;
		while (descent->entered.count > 0) {
			const uint32_t stack = descent->entered.items[--descent->entered.count];
			const struct name_frames frames = names_frames(builder->names, stack);
			const struct branch branch = { .stack = stack,
						       .left = (uint32_t)frames.count };

			if (!branch_step(descent, run.node, branch))
				return false;
		}
	}
	return true;
}

static int branch_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct branch *)a)->frame->name,
				((const struct branch *)b)->frame->name);
}

/* Makes a node of the branches from `begin` on that came to the same function. */
static struct err *branches_place(struct descent *descent, uint32_t parent, size_t begin,
				  size_t *end_ret)
{
	const struct branch *items = descent->branches.items;
	const struct name_frame *frame = items[begin].frame;
	struct run run = { parent, begin, begin };
	struct model_stack_sums total = { 0 };
	struct err *err;

	for (; run.end < descent->branches.count && items[run.end].frame->name == frame->name;
	     run.end++)
		metric_sums_add(&total, &descent->totals[items[run.end].stack]);
	*end_ret = run.end;
	err = run_place(descent->builder, &run, frame, &total);
	if (err || run.node == TREE_NONE)
		return err;
	for (size_t i = begin; i < run.end; i++)
		node_place_merge(&descent->builder->nodes.items[run.node], items[i].frame);
	return runs_push(&descent->todo, run) ? NULL : err_nomem();
}

static struct err *descent_split(struct descent *descent, struct run run)
{
	struct branches *branches = &descent->branches;
	struct err *err = NULL;

	/* What lay behind this group's branches belonged to groups that are done. */
	branches->count = run.end;
	if (!branches_step(descent, run))
		return err_nomem();
	if (!sort_stable(branches->items + run.end, branches->count - run.end,
			 sizeof(*branches->items), branch_compare, NULL))
		return err_nomem();
	for (size_t begin = run.end; begin < branches->count && !err;)
		err = branches_place(descent, run.node, begin, &begin);
	return err;
}

static struct err *build_top_down(struct builder *builder)
{
	static const struct name_frame special[] = {
		[CAPTURE_STACK_ROOT] = { .name = NAME_NO_STACK },
		[CAPTURE_STACK_TRUNCATED] = { .name = NAME_TRUNCATED },
		[CAPTURE_STACK_NONE] = { .name = NAME_NO_STACK },
	};
	CLEAN(descent_deinit) struct descent descent = { .builder = builder };
	struct err *err = NULL;

	if (!descent_init(&descent))
		return err_nomem();
	builder->nodes.items[TREE_ROOT].total = metric_totals(builder->model);
	for (uint32_t stack = CAPTURE_STACK_TRUNCATED; stack < CAPTURE_STACK_FIRST && !err;
	     stack++) {
		const struct branch branch = { &special[stack], stack, 0 };
		size_t begin = descent.branches.count;

		if (!branches_push(&descent.branches, branch))
			return err_nomem();
		err = branches_place(&descent, TREE_ROOT, begin, &begin);
	}
	if (err)
		return err;
	if (!branches_push(&descent.branches, (struct branch) { .stack = CAPTURE_STACK_ROOT }) ||
	    !runs_push(&descent.todo, (struct run) { TREE_ROOT, descent.branches.count - 1,
						     descent.branches.count }))
		return err_nomem();
	while (descent.todo.count > 0 && !err)
		err = descent_split(&descent, descent.todo.items[--descent.todo.count]);
	return err;
}

/* --- bottom-up ----------------------------------------------------------------------------- */

/* A stack on its way outwards: the walk stands behind the frame of the node it is in. */
struct climber {
	struct walk walk;
	const struct name_frame *frame;
	uint32_t stack;
};

VEC_DEFINE(climbers, struct climber);

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

/* Makes a node of climbers that came to the same function, in their order from `begin` on. */
static struct err *climbers_place(struct builder *builder, const struct climbers *climbers,
				  const struct sort_pair *order, struct run run, struct runs *todo)
{
	const struct name_frame *frame = climbers->items[order[run.begin].index].frame;
	struct model_stack_sums total = { 0 };
	struct err *err;

	for (size_t i = run.begin; i < run.end; i++)
		metric_sums_add(&total, &builder->sums[climbers->items[order[i].index].stack]);
	err = run_place(builder, &run, frame, &total);
	if (err || run.node == TREE_NONE)
		return err;
	for (size_t i = run.begin; i < run.end; i++)
		node_place_merge(&builder->nodes.items[run.node],
				 climbers->items[order[i].index].frame);
	return runs_push(todo, run) ? NULL : err_nomem();
}

/* Sends the climbers of a group one frame outwards, and makes groups of those that meet. */
static struct err *climbers_split(struct builder *builder, struct climbers *climbers,
				  struct sort_pair *order, struct run group, struct runs *todo)
{
	size_t begin = group.begin;

	for (size_t i = group.begin; i < group.end; i++) {
		struct climber *climber = &climbers->items[order[i].index];

		climber->frame = walk_next(&climber->walk);
		order[i].key = climber->frame ? climber->frame->name : UINT64_MAX;
	}
	if (!sort_pairs(order + group.begin, group.end - group.begin))
		return err_nomem();
	while (begin < group.end && order[begin].key != UINT64_MAX) {
		struct run run = { group.node, begin, begin };
		struct err *err;

		while (run.end < group.end && order[run.end].key == order[begin].key)
			run.end++;
		err = climbers_place(builder, climbers, order, run, todo);
		if (err)
			return err;
		begin = run.end;
	}
	for (; begin < group.end; begin++) /* stacks that end here */
		metric_sums_add(&builder->nodes.items[group.node].self,
				&builder->sums[climbers->items[order[begin].index].stack]);
	return NULL;
}

static struct err *build_bottom_up(struct builder *builder)
{
	CLEAN(climbers_deinit) struct climbers climbers = { 0 };
	CLEAN(runs_deinit) struct runs todo = { 0 };
	CLEAN(free) struct sort_pair *order = NULL;
	struct err *err = climbers_fill(builder, &climbers);

	if (err)
		return err;
	order = calloc(climbers.count + 1, sizeof(*order));
	if (!order || !runs_push(&todo, (struct run) { TREE_ROOT, 0, climbers.count }))
		return err_nomem();
	for (size_t i = 0; i < climbers.count; i++)
		order[i].index = (uint32_t)i;
	builder->nodes.items[TREE_ROOT].total = metric_totals(builder->model);
	while (todo.count > 0 && !err)
		err = climbers_split(builder, &climbers, order, todo.items[--todo.count], &todo);
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

uint32_t tree_next(const struct tree *tree, uint32_t node, bool into)
{
	if (into && tree->nodes[node].first_child != TREE_NONE)
		return tree->nodes[node].first_child;
	while (node != TREE_ROOT && tree->nodes[node].next_sibling == TREE_NONE)
		node = tree->nodes[node].parent;
	return node == TREE_ROOT ? TREE_NONE : tree->nodes[node].next_sibling;
}
