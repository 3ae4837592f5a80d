#include "unwind/memo.h"

#include "core/poison.h"

/* Makes its frames findable, those that are not yet. */
static void joins_tell(struct unwind_memo *memo)
{
	const struct memo_stack *stack = &memo->now;

	for (uint32_t i = stack->top; i < stack->known; i++) {
		const uint64_t hash = memo_join_hash(stack->meta[i].sp, stack->pair[i].value);

		if (stack->meta[i].flags & MEMO_FRAME)
			memo->joins[hash >> (64 - MEMO_JOIN_BITS)] =
				(struct memo_join) { (uint32_t)hash, i, memo->here };
	}
}

/*
 * The benefit of leaving a stack behind: a stack that was met well inside of where it was left has
 * saved a walk, any other was kept for nothing.
 */
static void trial_end(struct unwind_memo *memo, struct memo_stack *stack, bool is_good)
{
	if (stack->met != 0)
		memo_trial_end(&memo->trials[stack->trial], is_good);
	stack->met = 0;
}

/* Its arrays are those of its index, whatever a handler has interrupted and left for good. */
static void now_put_back(struct unwind_memo *memo)
{
	struct memo_stack *place = &memo->stacks[memo->here];

	CHECK(place->pair == memo->now.pair);
	joins_tell(memo);
	place->top = place->known = memo->now.top;
	place->left = ++memo->clock;
	place->met = memo->now.met;
	place->trial = memo->now.trial;
	memo->has_others = true;
}

void unwind_memo_switch(struct unwind_memo *memo, uint32_t index, uint32_t met)
{
	CHECK(index < memo->count);
	CHECK(index != memo->here);
	now_put_back(memo);
	memo->here = index;
	memo->now = memo->stacks[index];
	trial_end(memo, &memo->now, met + MEMO_LEAVE_MIN <= memo->now.met);
}

uint32_t unwind_memo_seen(struct unwind_memo *memo, uint32_t index, uint32_t met)
{
	struct memo_stack *stack = &memo->stacks[index];

	CHECK(index < memo->count && index != memo->here);
	CHECK(met >= stack->top && met < stack->capacity);
	stack->left = ++memo->clock;
	trial_end(memo, stack, met + MEMO_LEAVE_MIN <= stack->met);
	return stack->meta[met].node;
}

/* The one left longest ago. */
static uint32_t stack_oldest(const struct unwind_memo *memo)
{
	uint32_t oldest = memo->here == 0;

	for (uint32_t i = oldest + 1; i < memo->count; i++)
		if (i != memo->here &&
		    memo->clock - memo->stacks[i].left > memo->clock - memo->stacks[oldest].left)
			oldest = i;
	return oldest;
}

void unwind_memo_leave(struct unwind_memo *memo, uint32_t met)
{
	const uint32_t given_up = met - memo->now.top, shared = memo->now.capacity - met;
	const struct memo_stack *left = &memo->stacks[memo->here];
	const uint64_t hash = memo_join_hash(memo->now.meta[met].sp, memo->now.pair[met].value);
	const uint8_t trial = (uint8_t)(hash >> (64 - MEMO_TRIAL_BITS));

	CHECK(met >= memo->now.top && met <= memo->now.capacity);
	if (given_up < MEMO_LEAVE_MIN || memo->count == 1 || shared > 2 * given_up + 16 ||
	    !memo_trial_begin(memo, memo->trials[trial]))
		return;
	memo->now.met = met;
	memo->now.trial = trial;
	unwind_memo_switch(memo, stack_oldest(memo), memo->now.capacity);
	memcpy(memo->now.pair + met, left->pair + met, shared * sizeof(*left->pair));
	memcpy(memo->now.meta + met, left->meta + met, shared * sizeof(*left->meta));
	memo->now.top = met;
	memo->now.known = memo->now.capacity;
}
