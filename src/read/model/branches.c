/* The stacks as a tree: children of each stack, and sums over subtrees. */
#include "model/model.h"

#include <assert.h>

void model_stack_links_make(const struct capture_stack *stacks, size_t count,
			    struct model_stack_link *links)
{
	assert(count >= CAPTURE_STACK_FIRST);
	memset(links, 0, count * sizeof(*links));
	for (size_t i = count; i-- > CAPTURE_STACK_FIRST;) {
		struct model_stack_link *parent = &links[stacks[i].parent];

		links[i].next_sibling = parent->first_child;
		parent->first_child = (uint32_t)i;
	}
}

static void add(struct model_sum *to, const struct model_sum *from, struct model_sum *used)
{
	to->count += from->count;
	to->bytes += from->bytes;
	used->count += from->count > 0;
	used->bytes += from->bytes > 0;
}

void model_sums_spread(const struct model_by_stack *sums, size_t count, struct model_stack_sums *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = *model_sums_of(sums, i);
}

void model_stack_totals_make(const struct capture_stack *stacks, size_t count,
			     struct model_stack_sums *totals, struct model_stack_sums *used_ret)
{
	struct model_stack_sums used = { 0 };

	assert(count >= CAPTURE_STACK_FIRST);
	/* children of a stack come after it */
	for (size_t i = count; i-- > CAPTURE_STACK_FIRST;) {
		const struct model_stack_sums *from = &totals[i];
		struct model_stack_sums *to = &totals[stacks[i].parent];

		/* most have few nonzero entries when the sums are of a part */
		if (from->allocated.count | from->allocated.bytes)
			add(&to->allocated, &from->allocated, &used.allocated);
		if (from->peak.count | from->peak.bytes)
			add(&to->peak, &from->peak, &used.peak);
		if (from->leaked.count | from->leaked.bytes)
			add(&to->leaked, &from->leaked, &used.leaked);
		if (from->temporary.count | from->temporary.bytes)
			add(&to->temporary, &from->temporary, &used.temporary);
	}
	*used_ret = used;
}
