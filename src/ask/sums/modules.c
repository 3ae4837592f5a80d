#include "sums/modules.h"

#include <assert.h>

static size_t module_index(const struct model *model, uint32_t stack)
{
	const uint32_t module = model_stacks(model)[stack].module;

	return module == CAPTURE_MODULE_NONE ? model_module_count(model) : module;
}

size_t modules_of_stack(const struct model *model, struct names *names, enum walk_mode mode,
			uint32_t stack)
{
	/* The user's code calls libraries; which of them allocate is the question here. */
	struct walk walk = walk_begin(model, names, stack, mode == WALK_MY ? WALK_EXACT : mode);

	assert(stack < model_stack_count(model));
	assert(mode <= WALK_ALL);
	if (stack < CAPTURE_STACK_FIRST)
		return model_module_count(model) + 1;
	walk_next(&walk);
	/* A stack of only machinery belongs to its own module. */
	return module_index(model, walk.stack >= CAPTURE_STACK_FIRST ? walk.stack : stack);
}

struct err *modules_find(const struct sums *sums, struct names *names, enum walk_mode mode,
			 struct arena *arena, struct modules *modules_ret)
{
	const size_t count = model_module_count(sums->model) + 2;
	struct model_stack_sums *all = arena_array(arena, count, sizeof(*all));

	assert(sums->stacks.items);
	assert(mode <= WALK_ALL);
	if (!all)
		return err_nomem();
	for (uint32_t stack = 0; stack < model_stack_count(sums->model); stack++) {
		if (!metric_sums_any(sums_of_stack(sums, stack)))
			continue;
		metric_sums_add(&all[modules_of_stack(sums->model, names, mode, stack)],
				sums_of_stack(sums, stack));
	}
	*modules_ret = (struct modules) { all, count };
	return NULL;
}
