/*
 * sums: the subject of a question, as a sum per stack and their total. The whole tape has them
 * precomputed; a moment, a span of time or a selection computes its own (select/sums_rows.h). Code
 * that ranks, draws or compares works the same for all.
 */
#ifndef MEMTAPE_SUMS_SUMS_H
#define MEMTAPE_SUMS_SUMS_H

#include "base/arena.h"
#include "sums/metric.h"

struct sums {
	const struct model *model;
	struct model_by_stack stacks;
	struct model_stack_sums total; /* over all stacks */
	/*
	 * By stack, including its descendants; NULL: not computed. See model_stack_totals.
	 */
	const struct model_stack_sums *totals;
	struct model_stack_sums used; /* set if there are totals */
};

/* Of exactly one stack, without those below it. */
static inline const struct model_stack_sums *sums_of_stack(const struct sums *sums, size_t stack)
{
	return model_sums_of(&sums->stacks, stack);
}

/* Sums computed for each stack: model_stack_count() items by stack id, borrowed. */
static inline struct model_by_stack sums_by_id(const struct model *model,
					       const struct model_stack_sums *items)
{
	return (struct model_by_stack) { .items = items, .count = model_stack_count(model) };
}

struct sums sums_of_model(const struct model *model);

/* Computes the totals in the arena if missing. */
struct err *sums_total_up(struct sums *sums, struct arena *arena);

/*
 * A span of time (needs MODEL_FULL) over all allocations, as in select/sums_rows.h, into stacks:
 * zeroed, model_stack_count() items; between, of the same size, gets everything that happened in
 * the span. Takes the time of two moments, and reads the end of each allocation of the span.
 */
struct err *sums_of_span(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			 struct model_stack_moment *between, struct model_stack_sums *stacks);

/*
 * The same with allocated only, the rest empty: takes the time of two moments, whatever happened in
 * between.
 */
struct err *sums_allocated_between(const struct model *model, uint64_t from_ns, uint64_t until_ns,
				   struct arena *arena, struct sums *sums_ret);

#endif
