/* Sums of groups: one pass over all rows, on all processors. */
#include <assert.h>

#include "base/big.h"
#include "groups/grouping.h"

static void sum_add(struct model_sum *sum, bool is_in, uint64_t bytes)
{
	sum->count += is_in;
	sum->bytes += is_in ? bytes : 0;
}

struct columns {
	const struct selection *selection;
	const uint64_t *size, *usable, *begin, *end, *flags, *stack;
};

static void row_add(struct group_sums *sums, const struct columns *columns, size_t i,
		    bool is_at_peak)
{
	const uint64_t size = columns->size[i], begin = columns->begin[i], end = columns->end[i];
	const bool is_leaked =
		selection_is_leaked(columns->selection, end, columns->flags[i], columns->stack[i]);

	if (sums->sums.allocated.count == 0) {
		sums->size_min = UINT64_MAX;
		sums->first_ns = UINT64_MAX;
	}
	sum_add(&sums->sums.allocated, true, size);
	sum_add(&sums->sums.leaked, is_leaked, size);
	sum_add(&sums->sums.temporary, columns->flags[i] & MODEL_ALLOCATION_TEMPORARY, size);
	sum_add(&sums->sums.peak, is_at_peak, size);
	sums->usable += columns->usable[i];
	sums->leaked_usable += is_leaked ? columns->usable[i] : 0;
	sums->size_min = u64_min(sums->size_min, size);
	sums->size_max = u64_max(sums->size_max, size);
	sums->first_ns = u64_min(sums->first_ns, begin);
	sums->last_ns = u64_max(sums->last_ns, begin);
	if (end != MODEL_NEVER) {
		sums->freed_count++;
		sums->lifetime_sum_ns += end - begin;
		sums->lifetime_max_ns = u64_max(sums->lifetime_max_ns, end - begin);
	}
}

/* A worker has two consecutive arrays: for all rows, then for the selected ones. */
static void visit(struct group_worker *worker, const uint32_t *keys, const uint64_t *bits)
{
	struct batch *batch = worker->batch;
	struct group_sums *all = worker->context;
	struct group_sums *matched = all + worker->grouping->count;
	const struct selection *selection = worker->grouping->selection;
	const bool is_all = selection_is_all(selection);
	const struct columns columns = {
		.selection = selection,
		.size = batch_column(batch, MODEL_SIZE),
		.usable = batch_column(batch, MODEL_USABLE),
		.begin = batch_column(batch, MODEL_ALLOC_NS),
		.end = batch_column(batch, MODEL_FREE_NS),
		.flags = batch_column(batch, MODEL_FLAGS),
		.stack = batch_column(batch, MODEL_STACK),
	};

	for (size_t i = 0; i < batch->count; i++) {
		row_add(&all[keys[i]], &columns, i, columns.flags[i] & MODEL_ALLOCATION_PEAK);
		if (!is_all && bits[i / 64] >> i % 64 & 1)
			row_add(&matched[keys[i]], &columns, i,
				selection_at_peak(selection, columns.begin[i], columns.end[i],
						  columns.flags[i]));
	}
}

static void sums_join(struct group_sums *to, const struct group_sums *from)
{
	if (from->sums.allocated.count == 0)
		return;
	if (to->sums.allocated.count == 0) {
		*to = *from;
		return;
	}
	metric_sums_add(&to->sums, &from->sums);
	to->usable += from->usable;
	to->leaked_usable += from->leaked_usable;
	to->size_min = u64_min(to->size_min, from->size_min);
	to->size_max = u64_max(to->size_max, from->size_max);
	to->first_ns = u64_min(to->first_ns, from->first_ns);
	to->last_ns = u64_max(to->last_ns, from->last_ns);
	to->freed_count += from->freed_count;
	to->lifetime_sum_ns += from->lifetime_sum_ns;
	to->lifetime_max_ns = u64_max(to->lifetime_max_ns, from->lifetime_max_ns);
}

struct err *group_sums_find(const struct grouping *grouping, struct arena *arena,
			    struct group_sums **matched_ret, struct group_sums **all_ret)
{
	const size_t both = 2 * grouping->count;
	const size_t count = group_workers_count(grouping, both * sizeof(struct group_sums));
	struct group_sums *sums = arena_array(arena, both, sizeof(*sums));
	CLEAN(free) struct group_sums *own = big_calloc(count * both + 1, sizeof(*own));
	struct group_worker workers[SWEEP_WORKERS_MAX];
	struct err *err;

	assert(count >= 1 && count <= SWEEP_WORKERS_MAX);
	if (!sums || !own)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		workers[i] = (struct group_worker) { .grouping = grouping,
						     .visit = visit,
						     .context = own + i * both };
	err = group_workers_run(workers, count);
	if (err)
		return err;
	for (size_t i = 0; i < count * both; i++)
		sums_join(&sums[i % both], &own[i]);
	*all_ret = sums;
	*matched_ret = selection_is_all(grouping->selection) ? sums : sums + grouping->count;
	return NULL;
}
