#include "time/curves.h"

#include <assert.h>

#include "base/big.h"
#include "groups/grouping.h"

/* Bytes allocated and freed in each span; live bytes follow from them in any row order. */
struct changes {
	const uint32_t *number_of; /* by group of the grouping: its curve; UINT32_MAX: none */
	uint64_t from_ns;
	uint64_t until_ns;
	double spans_per_ns;
	size_t point_count;
	uint64_t *values; /* modulo 2^64 until summed */
};

/* The span whose end is the first one after ns; point_count: none. */
static size_t span_of(const struct changes *changes, uint64_t ns)
{
	size_t span;

	if (ns < changes->from_ns)
		return 0;
	if (ns >= changes->until_ns)
		return changes->point_count;
	span = (size_t)((double)(ns - changes->from_ns) * changes->spans_per_ns);
	return u64_min(span, changes->point_count - 1);
}

static void visit(struct group_worker *worker, const uint32_t *keys, const uint64_t *bits)
{
	const struct changes *changes = worker->context;
	struct batch *batch = worker->batch;
	const uint64_t *size = batch_column(batch, MODEL_SIZE);
	const uint64_t *begin = batch_column(batch, MODEL_ALLOC_NS);
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);

	for (size_t i = 0; i < batch->count; i++) {
		const uint32_t number = changes->number_of[keys[i]];
		uint64_t *values;
		size_t first, last;

		if (number == UINT32_MAX || !(bits[i / 64] >> i % 64 & 1))
			continue;
		values = changes->values + (size_t)number * changes->point_count;
		first = span_of(changes, begin[i]);
		last = span_of(changes, end[i]);
		if (first < changes->point_count)
			values[first] += size[i];
		if (last < changes->point_count)
			values[last] -= size[i];
	}
}

/* Sums all workers' changes, and accumulates them over time. */
static void sum_up(const struct changes *changes, size_t worker_count, size_t curve_count,
		   uint64_t *values)
{
	const size_t point_count = changes[0].point_count;

	for (size_t curve = 0; curve < curve_count; curve++) {
		uint64_t live = 0;

		for (size_t i = curve * point_count; i < (curve + 1) * point_count; i++) {
			for (size_t worker = 0; worker < worker_count; worker++)
				live += changes[worker].values[i];
			values[i] = live;
		}
	}
}

struct err *curves_find(const struct selection *selection, const struct groups *groups,
			enum walk_mode mode, uint64_t from_ns, uint64_t until_ns,
			size_t point_count, struct arena *arena, uint64_t *values)
{
	const size_t size = groups->count * point_count;
	CLEAN(free) uint32_t *number_of = NULL;
	CLEAN(free) uint64_t *own = NULL;
	struct group_worker workers[SWEEP_WORKERS_MAX];
	struct changes changes[SWEEP_WORKERS_MAX];
	struct grouping grouping;
	struct err *err = grouping_init(&grouping, selection, groups->by, mode, arena);
	size_t count;

	assert(from_ns < until_ns);
	assert(point_count >= 1 && point_count <= CURVE_POINTS_MAX);
	assert(groups->count <= CURVES_MAX);
	assert(until_ns > from_ns);
	assert(groups->count <= CURVES_MAX && point_count <= CURVE_POINTS_MAX);
	if (err)
		return err;
	number_of = calloc(grouping.count + 1, sizeof(*number_of));
	count = group_workers_count(&grouping, size * sizeof(*own));
	own = big_calloc(count * size + 1, sizeof(*own));
	if (!number_of || !own)
		return err_nomem();
	err = grouping_numbers(&grouping, groups->items, groups->count, number_of);
	for (size_t i = 0; i < count; i++) {
		changes[i] = (struct changes) {
			.number_of = number_of,
			.from_ns = from_ns,
			.until_ns = until_ns,
			.spans_per_ns = (double)point_count / (double)(until_ns - from_ns),
			.point_count = point_count,
			.values = own + i * size,
		};
		workers[i] = (struct group_worker) { .grouping = &grouping,
						     .visit = visit,
						     .context = &changes[i] };
	}
	if (!err)
		err = group_workers_run(workers, count);
	if (!err)
		sum_up(changes, count, groups->count, values);
	return err;
}
