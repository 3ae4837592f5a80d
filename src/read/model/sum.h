/*
 * sum: calls and their bytes; those of a stack, and of all stacks. Values: safe in any thread.
 */
#ifndef MEMTAPE_MODEL_SUM_H
#define MEMTAPE_MODEL_SUM_H

#include "core/core.h"

struct model_sum {
	uint64_t count;
	uint64_t bytes;
};

/* Of one stack. */
struct model_stack_sums {
	struct model_sum allocated;
	struct model_sum peak;
	struct model_sum leaked;
	struct model_sum temporary;
};

/*
 * Sums by stack. Of a tape's stacks most are only on the way to others, so those that have sums have
 * a seat; what is computed for each stack has none. A view: both tables are the maker's.
 */
struct model_by_stack {
	const uint32_t *seats; /* by stack id: index into items; NULL: items are by stack id */
	/* With seats, the first is that of all stacks without any: zeros. */
	const struct model_stack_sums *items;
	size_t count; /* of items */
};

static inline const struct model_stack_sums *model_sums_of(const struct model_by_stack *sums,
							   size_t stack)
{
	return &sums->items[sums->seats ? sums->seats[stack] : stack];
}

/* Copies the sums of the first `count` stacks, each to its id. */
void model_sums_spread(const struct model_by_stack *sums, size_t count,
		       struct model_stack_sums *to);

#endif
