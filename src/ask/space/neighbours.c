#include "space/neighbours.h"

#include <assert.h>

/* The nearest blocks a worker found. */
struct worker {
	const struct model *model;
	uint64_t row;
	uint64_t address;
	uint64_t begin_ns; /* lifetime of the block */
	uint64_t end_ns;
	uint64_t row_end; /* later rows were allocated after its end */
	uint64_t before_address;
	uint64_t after_address;
	struct neighbours found;
};

static void look_at(struct worker *worker, uint64_t row, uint64_t address)
{
	if (row == worker->row)
		return;
	if (address < worker->address &&
	    (worker->found.before == MODEL_NO_ROW || address > worker->before_address)) {
		worker->found.before = row;
		worker->before_address = address;
	}
	if (address > worker->address &&
	    (worker->found.after == MODEL_NO_ROW || address < worker->after_address)) {
		worker->found.after = row;
		worker->after_address = address;
	}
}

/* Whether a block of this segment can overlap in time and be nearer than those found. */
static bool is_of_interest(const struct worker *worker, uint64_t segment)
{
	struct model_bounds bounds;

	if (model_segment_bounds(worker->model, MODEL_FREE_NS, segment, &bounds) &&
	    bounds.max <= worker->begin_ns)
		return false;
	if (!model_segment_bounds(worker->model, MODEL_ADDRESS, segment, &bounds))
		return true;
	return (bounds.min < worker->address &&
		(worker->found.before == MODEL_NO_ROW || bounds.max > worker->before_address)) ||
	       (bounds.max > worker->address &&
		(worker->found.after == MODEL_NO_ROW || bounds.min < worker->after_address));
}

static struct err *work(void *context, uint64_t segment)
{
	struct worker *worker = context;
	const uint64_t end = u64_min((segment + 1) * MODEL_SEGMENT, worker->row_end);
	uint64_t addresses[MODEL_BATCH], ends[MODEL_BATCH];

	if (!is_of_interest(worker, segment))
		return NULL;
	for (uint64_t first = segment * MODEL_SEGMENT; first < end; first += MODEL_BATCH) {
		const size_t count = u64_min(end - first, MODEL_BATCH);

		model_rows_read(worker->model, MODEL_FREE_NS, first, count, ends);
		model_rows_read(worker->model, MODEL_ADDRESS, first, count, addresses);
		for (size_t i = 0; i < count; i++) {
			if (ends[i] > worker->begin_ns)
				look_at(worker, first + i, addresses[i]);
		}
	}
	return NULL;
}

static void join(struct worker *to, const struct worker *from)
{
	if (from->found.before != MODEL_NO_ROW &&
	    (to->found.before == MODEL_NO_ROW || from->before_address > to->before_address ||
	     (from->before_address == to->before_address &&
	      from->found.before < to->found.before))) {
		to->found.before = from->found.before;
		to->before_address = from->before_address;
	}
	if (from->found.after != MODEL_NO_ROW &&
	    (to->found.after == MODEL_NO_ROW || from->after_address < to->after_address ||
	     (from->after_address == to->after_address && from->found.after < to->found.after))) {
		to->found.after = from->found.after;
		to->after_address = from->after_address;
	}
}

struct err *neighbours_find(const struct model *model, uint64_t row,
			    const struct sweep_limits *limits, struct neighbours *neighbours_ret)
{
	struct worker workers[SWEEP_WORKERS_MAX];
	const uint64_t end_ns = model_row_value(model, MODEL_FREE_NS, row);
	const uint64_t row_end = model_row_at(model, end_ns);
	const uint64_t segments = div_up(row_end, MODEL_SEGMENT);
	const size_t count = sweep_workers(limits, segments);
	struct err *err;

	assert(row < model_row_count(model));
	assert(count >= 1 && count <= SWEEP_WORKERS_MAX);
	for (size_t i = 0; i < count; i++)
		workers[i] = (struct worker) {
			.model = model,
			.row = row,
			.address = model_row_value(model, MODEL_ADDRESS, row),
			.begin_ns = model_row_value(model, MODEL_ALLOC_NS, row),
			.end_ns = end_ns,
			.row_end = row_end,
			.found = { MODEL_NO_ROW, MODEL_NO_ROW },
		};
	err = sweep_run(limits, segments, work, workers, sizeof(*workers), count);
	if (err)
		return err;
	for (size_t i = 1; i < count; i++)
		join(&workers[0], &workers[i]);
	*neighbours_ret = workers[0].found;
	return NULL;
}
