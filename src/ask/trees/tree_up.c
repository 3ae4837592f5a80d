/* Bottom-up trees, from the allocating functions outwards. */
#include <assert.h>

#include "trees/tree_parts.h"

/* A stack on its way outwards: its walk is past the frame of its node. */
struct climber {
	struct walk walk;
	const struct name_frame *frame;
	const struct name_frame *first; /* if not NULL, comes before the walk's frames */
	const struct model_stack_sums *sums;
};

VEC_DEFINE(climbers, struct climber);

static struct err *climbers_fill(const struct builder *builder, struct climbers *climbers)
{
	for (uint32_t i = 0; i < model_stack_count(builder->model); i++) {
		struct climber climber = { .sums = sums_of_stack(&builder->sums, i) };

		if (metric_value(builder->settings->metric, climber.sums) == 0)
			continue;
		climber.walk = tree_walk_begin(builder, i);
		if (!climbers_push(climbers, climber))
			return err_nomem();
	}
	return NULL;
}

/* Starts a climber for each place's allocations. */
static struct err *climbers_focus(const struct builder *builder, struct climbers *climbers)
{
	const struct focus *focus = builder->settings->focus;

	for (size_t i = 0; i < focus->count; i++) {
		const struct focus_place *place = &focus->places[i];
		struct climber climber = { .first = focus_frame(builder->names, place),
					   .sums = &builder->sums.totals[place->stack] };

		if (metric_value(builder->settings->metric, climber.sums) == 0)
			continue;
		climber.walk = tree_walk_begin(builder, place->stack);
		climber.walk.at = place->frame + 1;
		climber.walk.has_shown = true;
		climber.walk.is_ended = place->stack < CAPTURE_STACK_FIRST; /* nothing is known */
		if (!climbers_push(climbers, climber))
			return err_nomem();
	}
	return NULL;
}

/* Makes a node of the climbers with the same function, sorted, from `begin` on. */
static struct err *climbers_place(struct builder *builder, const struct climbers *climbers,
				  const struct sort_pair *order, struct run run, struct runs *todo)
{
	const struct name_frame *frame = climbers->items[order[run.begin].index].frame;
	struct model_stack_sums total = { 0 };
	struct err *err;

	for (size_t i = run.begin; i < run.end; i++)
		metric_sums_add(&total, climbers->items[order[i].index].sums);
	err = tree_run_place(builder, &run, frame, &total);
	if (err || run.node == TREE_NONE)
		return err;
	for (size_t i = run.begin; i < run.end; i++)
		tree_node_place_merge(&builder->nodes.items[run.node],
				      climbers->items[order[i].index].frame);
	return runs_push(todo, run) ? NULL : err_nomem();
}

/* Moves a group's climbers one frame outwards, and groups those that meet. */
static struct err *climbers_split(struct builder *builder, struct climbers *climbers,
				  struct sort_pair *order, struct run group, struct runs *todo)
{
	size_t begin = group.begin;

	for (size_t i = group.begin; i < group.end; i++) {
		struct climber *climber = &climbers->items[order[i].index];

		climber->frame = climber->first ? climber->first : walk_next(&climber->walk);
		climber->first = NULL;
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
				climbers->items[order[begin].index].sums);
	return NULL;
}

struct err *tree_build_bottom_up(struct builder *builder)
{
	CLEAN(climbers_deinit) struct climbers climbers = { 0 };
	CLEAN(runs_deinit) struct runs todo = { 0 };
	CLEAN(free) struct sort_pair *order = NULL;
	struct err *err = builder->settings->focus ? climbers_focus(builder, &climbers)
						   : climbers_fill(builder, &climbers);

	assert(builder->nodes.count == 1);
	assert(builder->settings->direction == TREE_BOTTOM_UP);
	if (err)
		return err;
	order = calloc(climbers.count + 1, sizeof(*order));
	if (!order || !runs_push(&todo, (struct run) { TREE_ROOT, 0, climbers.count }))
		return err_nomem();
	for (size_t i = 0; i < climbers.count; i++)
		order[i].index = (uint32_t)i;
	while (todo.count > 0 && !err)
		err = climbers_split(builder, &climbers, order, todo.items[--todo.count], &todo);
	return err;
}
