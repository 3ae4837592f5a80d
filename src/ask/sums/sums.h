/*
 * sums: what a question is about, as a sum per stack and their total. The whole tape has them
 * ready; a moment, a span of time or a selection of allocations makes its own (select/sums_rows.h).
 * Whoever ranks, draws or compares takes these and does not care which.
 */
#ifndef MEMTAPE_SUMS_SUMS_H
#define MEMTAPE_SUMS_SUMS_H

#include "base/arena.h"
#include "sums/metric.h"

struct sums {
	const struct model *model;
	const struct model_stack_sums *stacks; /* by stack id, model_stack_count() of them */
	struct model_stack_sums total;	       /* over all stacks */
	/*
	 * By stack, with those that go on from it; NULL: not made. See model_stack_totals.
	 */
	const struct model_stack_sums *totals;
	struct model_stack_sums used; /* where there are totals */
};

struct sums sums_of_model(const struct model *model);

/* Makes the totals in the arena, where there are none. */
struct err *sums_total_up(struct sums *sums, struct arena *arena);

/*
 * A span of time (needs MODEL_FULL) of all allocations, as of a selection in select/sums_rows.h, into
 * stacks, zeroed, which are model_stack_count(); between, as many, gets all that happened in the
 * span. Takes the time of two moments, and a look at when each allocation of the span ended.
 */
struct err *sums_of_span(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			 struct model_stack_moment *between, struct model_stack_sums *stacks);

/*
 * The same of all allocations, but allocated alone, and the rest empty: takes the time of two
 * moments, whatever happened in between.
 */
struct err *sums_allocated_between(const struct model *model, uint64_t from_ns, uint64_t until_ns,
				   struct arena *arena, struct sums *sums_ret);

#endif
