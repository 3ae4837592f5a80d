#include "query/metric.h"

const char *const metric_words[] = { "peak", "leaked", "allocated", "count", "temporary", NULL };

static const struct metric_row {
	const char *title;
	size_t offset; /* of the struct model_sum */
	bool is_bytes;
} rows[] = {
	[METRIC_PEAK] = { "alive at the peak", offsetof(struct model_stack_sums, peak), true },
	[METRIC_LEAKED] = { "leaked", offsetof(struct model_stack_sums, leaked), true },
	[METRIC_ALLOCATED] = { "allocated", offsetof(struct model_stack_sums, allocated), true },
	[METRIC_COUNT] = { "allocations", offsetof(struct model_stack_sums, allocated), false },
	[METRIC_TEMPORARY] = { "temporary allocations",
			       offsetof(struct model_stack_sums, temporary), false },
	[METRIC_LEAKED_COUNT] = { "blocks leaked", offsetof(struct model_stack_sums, leaked),
				  false },
	[METRIC_TEMPORARY_BYTES] = { "temporary", offsetof(struct model_stack_sums, temporary),
				     true },
};

const char *metric_title(enum metric metric)
{
	return rows[metric].title;
}

bool metric_is_bytes(enum metric metric)
{
	return rows[metric].is_bytes;
}

static const struct model_sum *sum_of(enum metric metric, const struct model_stack_sums *sums)
{
	return (const struct model_sum *)((const char *)sums + rows[metric].offset);
}

uint64_t metric_value(enum metric metric, const struct model_stack_sums *sums)
{
	const struct model_sum *sum = sum_of(metric, sums);

	return rows[metric].is_bytes ? sum->bytes : sum->count;
}

uint64_t metric_calls(enum metric metric, const struct model_stack_sums *sums)
{
	return sum_of(metric, sums)->count;
}

uint64_t metric_bytes(enum metric metric, const struct model_stack_sums *sums)
{
	return sum_of(metric, sums)->bytes;
}

static void sum_add(struct model_sum *to, const struct model_sum *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
}

void metric_sums_add(struct model_stack_sums *to, const struct model_stack_sums *from)
{
	sum_add(&to->allocated, &from->allocated);
	sum_add(&to->peak, &from->peak);
	sum_add(&to->leaked, &from->leaked);
	sum_add(&to->temporary, &from->temporary);
}

struct model_stack_sums metric_totals(const struct model *model)
{
	const struct model_totals *totals = model_totals(model);

	return (struct model_stack_sums) {
		.allocated = totals->allocated,
		.peak = totals->peak,
		.leaked = totals->leaked,
		.temporary = totals->temporary,
	};
}
