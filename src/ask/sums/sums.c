#include "sums/sums.h"

#include <assert.h>

struct sums sums_of_model(const struct model *model)
{
	struct sums sums = {
		.model = model,
		.stacks = model_sums_by_stack(model),
		.total = metric_totals(model),
	};

	sums.totals = model_stack_totals(model, &sums.used);
	assert(sums.stacks.items);
	return sums;
}

struct err *sums_total_up(struct sums *sums, struct arena *arena)
{
	const size_t count = model_stack_count(sums->model);
	struct model_stack_sums *totals;

	assert(sums->model && sums->stacks.items);
	if (sums->totals)
		return NULL;
	totals = arena_array(arena, count, sizeof(*totals));
	if (!totals)
		return err_nomem();
	model_sums_spread(&sums->stacks, count, totals);
	model_stack_totals_make(model_stacks(sums->model), count, totals, &sums->used);
	sums->totals = totals;
	return NULL;
}
