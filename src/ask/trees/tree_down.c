/* Top-down trees, from main inwards. */
#include <assert.h>

#include "base/big.h"
#include "trees/tree_parts.h"
/* A branch of the stack tree, followed inwards; `left`: remaining frames of its address. */
struct branch {
	const struct name_frame *frame; /* the current frame */
	uint32_t stack;
	uint32_t left;
};

VEC_DEFINE(branches, struct branch);

struct descent {
	struct builder *builder;
	const struct capture_stack *stacks;
	size_t stack_count;
	const struct model_stack_link *links; /* by stack */
	struct model_stack_link *own_links;   /* if the model has none */
	struct branches branches; /* of the groups still to process, the last group's last */
	struct vec_u32 entered;	  /* stacks to enter at their outermost frame */
	struct runs todo;
};

static void descent_deinit(struct descent *descent)
{
	free(descent->own_links);
	branches_deinit(&descent->branches);
	vec_u32_deinit(&descent->entered);
	runs_deinit(&descent->todo);
}

CLEAN_DEFINE_DEINIT(descent_deinit, struct descent);

static bool descent_init(struct descent *descent)
{
	const struct model *model = descent->builder->model;

	descent->stacks = model_stacks(model);
	descent->stack_count = model_stack_count(model);
	descent->links = model_stack_links(model);
	if (descent->links)
		return true;
	descent->links = descent->own_links =
		big_calloc(descent->stack_count, sizeof(*descent->own_links));
	if (!descent->own_links)
		return false;
	model_stack_links_make(descent->stacks, descent->stack_count, descent->own_links);
	return true;
}

static uint32_t child_after(const struct descent *descent, uint32_t stack, uint32_t child)
{
	return model_stack_child(descent->stacks, descent->stack_count, descent->links, stack,
				 child);
}

/*
 * Leaves a stack at its innermost frame: its own sums go to the node, and its children are entered.
 */
static bool stack_leave(struct descent *descent, uint32_t node, uint32_t stack)
{
	const enum metric metric = descent->builder->settings->metric;

	metric_sums_add(&descent->builder->nodes.items[node].self,
			sums_of_stack(&descent->builder->sums, stack));
	for (uint32_t child = child_after(descent, stack, 0); child;
	     child = child_after(descent, stack, child)) {
		if (metric_value(metric, &descent->builder->sums.totals[child]) > 0 &&
		    !vec_u32_push(&descent->entered, child))
			return false;
	}
	return true;
}

/* Moves a branch to its next visible frame; or past the last one, and enters its children. */
static bool branch_step(struct descent *descent, uint32_t node, struct branch branch)
{
	const struct builder *builder = descent->builder;

	if (branch.stack >= CAPTURE_STACK_FIRST) {
		const struct name_frames frames = names_frames(builder->names, branch.stack);

		while (branch.left > 0) {
			branch.frame = &frames.frames[--branch.left];
			if (!tree_hides(builder, branch.stack, branch.frame))
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

/* Makes a node of the branches from `begin` on with the same function. */
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
		metric_sums_add(&total, &descent->builder->sums.totals[items[run.end].stack]);
	*end_ret = run.end;
	err = tree_run_place(descent->builder, &run, frame, &total);
	if (err || run.node == TREE_NONE)
		return err;
	for (size_t i = begin; i < run.end; i++)
		tree_node_place_merge(&descent->builder->nodes.items[run.node], items[i].frame);
	return runs_push(&descent->todo, run) ? NULL : err_nomem();
}

static struct err *descent_split(struct descent *descent, struct run run)
{
	struct branches *branches = &descent->branches;
	struct err *err = NULL;

	/* later branches belonged to finished groups */
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

/* Truncated and missing stacks are roots beside the others. */
static struct err *roots_place(struct descent *descent)
{
	static const struct name_frame special[] = {
		[CAPTURE_STACK_ROOT] = { .name = NAME_NO_STACK },
		[CAPTURE_STACK_TRUNCATED] = { .name = NAME_TRUNCATED },
		[CAPTURE_STACK_NONE] = { .name = NAME_NO_STACK },
	};
	struct err *err = NULL;

	for (uint32_t stack = CAPTURE_STACK_TRUNCATED; stack < CAPTURE_STACK_FIRST && !err;
	     stack++) {
		const struct branch branch = { &special[stack], stack, 0 };
		size_t begin = descent->branches.count;

		if (!branches_push(&descent->branches, branch))
			return err_nomem();
		err = branches_place(descent, TREE_ROOT, begin, &begin);
	}
	if (err)
		return err;
	if (!branches_push(&descent->branches, (struct branch) { .stack = CAPTURE_STACK_ROOT }) ||
	    !runs_push(&descent->todo, (struct run) { TREE_ROOT, descent->branches.count - 1,
						      descent->branches.count }))
		return err_nomem();
	return NULL;
}

static struct err *focus_place(struct descent *descent, const struct focus *focus)
{
	struct err *err = NULL;

	for (size_t i = 0; i < focus->count; i++) {
		const struct focus_place *place = &focus->places[i];
		const struct branch branch = { focus_frame(descent->builder->names, place),
					       place->stack, place->frame };

		if (!branches_push(&descent->branches, branch))
			return err_nomem();
	}
	if (!sort_stable(descent->branches.items, descent->branches.count,
			 sizeof(*descent->branches.items), branch_compare, NULL))
		return err_nomem();
	for (size_t begin = 0; begin < descent->branches.count && !err;)
		err = branches_place(descent, TREE_ROOT, begin, &begin);
	return err;
}

struct err *tree_build_top_down(struct builder *builder)
{
	const struct focus *focus = builder->settings->focus;
	CLEAN(descent_deinit) struct descent descent = { .builder = builder };
	struct err *err;

	assert(builder->nodes.count == 1);
	assert(builder->sums.totals);
	assert(builder->settings->direction == TREE_TOP_DOWN);
	if (!descent_init(&descent))
		return err_nomem();
	err = focus ? focus_place(&descent, focus) : roots_place(&descent);
	while (descent.todo.count > 0 && !err)
		err = descent_split(&descent, descent.todo.items[--descent.todo.count]);
	return err;
}
