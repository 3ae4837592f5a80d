#include "sums/firsts.h"

#include <assert.h>

#include "base/big.h"

bool firsts_init(struct firsts *firsts, const struct model *model, struct names *names,
		 enum walk_mode mode)
{
	const size_t count = model_stack_count(model);

	assert(mode <= WALK_ALL);
	*firsts = (struct firsts) { model, names, mode, big_calloc(count, sizeof(uint32_t)) };
	return firsts->found;
}

void firsts_deinit(struct firsts *firsts)
{
	free(firsts->found);
}

/* The first frame of the stack's own that is shown; NULL: none. */
static const struct name_frame *own_first(const struct firsts *firsts, uint32_t stack)
{
	const struct name_frames own = names_frames(firsts->names, stack);

	for (size_t i = 0; i < own.count; i++)
		if (!walk_hides(firsts->mode, firsts->names, stack, &own.frames[i]))
			return &own.frames[i];
	return NULL;
}

/*
 * Outwards to a stack that was walked before or has the frame itself. Where all frames of a complete
 * stack are hidden, its outermost one has it.
 */
static uint32_t find(struct firsts *firsts, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(firsts->model);
	uint32_t at = stack, outermost = stack, found;

	while (at >= CAPTURE_STACK_FIRST && !firsts->found[at] && !own_first(firsts, at)) {
		outermost = at;
		at = stacks[at].parent;
	}
	if (at >= CAPTURE_STACK_FIRST)
		found = firsts->found[at] = firsts->found[at] ? firsts->found[at] : at + 1;
	else
		found = (at == CAPTURE_STACK_ROOT ? outermost : at) + 1;
	for (; stack != at; stack = stacks[stack].parent)
		firsts->found[stack] = found;
	return found;
}

const struct name_frame *firsts_get(struct firsts *firsts, uint32_t stack)
{
	const struct name_frame *first;
	struct name_frames own;
	uint32_t found;

	assert(stack < model_stack_count(firsts->model));
	found = firsts->found[stack] ? firsts->found[stack] - 1 : find(firsts, stack) - 1;
	if (found < CAPTURE_STACK_FIRST) {
		struct walk walk = walk_begin(firsts->model, firsts->names, found, firsts->mode);

		return walk_next(&walk);
	}
	own = names_frames(firsts->names, found);
	first = own_first(firsts, found);
	return first ? first : &own.frames[own.count - 1];
}
