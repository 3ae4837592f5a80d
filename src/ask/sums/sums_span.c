/*
 * Sums of a span of time without reading each allocation: from the sums of two moments, and the few
 * rows that cross an end of the span.
 */
#include <assert.h>

#include "sums/sums.h"
#include "sums/sweep.h"

struct span {
	const struct model *model;
	uint64_t from_ns;
	uint64_t until_ns; /* inclusive */
	uint64_t end_ns;   /* exclusive, except UINT64_MAX */
	uint64_t row_from;
	struct model_stack_moment *between;
	struct model_stack_sums *stacks;
	uint64_t *newest_left; /* by thread: see newest_note */
	uint64_t *newest_finished;
};

static void add_leaked(const struct span *span, const uint64_t *rows, size_t count)
{
	uint64_t stack[MODEL_BATCH], size[MODEL_BATCH];

	model_rows_gather(span->model, MODEL_STACK, rows, count, stack);
	model_rows_gather(span->model, MODEL_SIZE, rows, count, size);
	for (size_t i = 0; i < count; i++) {
		span->stacks[stack[i]].leaked.count++;
		span->stacks[stack[i]].leaked.bytes += size[i];
	}
}

/* sign: 1, or -1 to subtract. */
static void add_temporary(const struct span *span, uint64_t row, uint64_t sign)
{
	const uint64_t stack = model_row_value(span->model, MODEL_STACK, row);
	const uint64_t size = model_row_value(span->model, MODEL_SIZE, row);

	span->stacks[stack].temporary.count += sign;
	span->stacks[stack].temporary.bytes += sign * size;
}

/*
 * Of the rows alive at one moment, at most one per thread may be temporary: its last allocation
 * before. newest: by thread, that row plus 1; 0: none.
 */
static void newest_note(const struct span *span, const uint64_t *rows, size_t count,
			uint64_t *newest)
{
	uint64_t thread[MODEL_BATCH];

	model_rows_gather(span->model, MODEL_THREAD, rows, count, thread);
	for (size_t i = 0; i < count; i++)
		newest[thread[i]] = u64_max(newest[thread[i]], rows[i] + 1);
}

static void newest_add(const struct span *span, const uint64_t *newest, uint64_t sign)
{
	for (size_t i = 0; i < model_thread_count(span->model); i++) {
		const uint64_t row = newest[i] - 1;
		uint64_t flags = 0;

		if (newest[i] > 0)
			flags = model_row_value(span->model, MODEL_FLAGS, row);
		if (flags & MODEL_ALLOCATION_TEMPORARY)
			add_temporary(span, row, sign);
	}
}

/* Allocated in the span and freed after it. */
static void left_find(const struct span *span)
{
	const uint64_t end = model_row_at(span->model, span->end_ns);
	uint64_t ends[MODEL_BATCH], rows[MODEL_BATCH];

	for (uint64_t at = span->row_from; at < end; at += MODEL_BATCH) {
		const size_t count = u64_min(end - at, MODEL_BATCH);
		size_t found = 0;

		model_rows_read(span->model, MODEL_FREE_NS, at, count, ends);
		for (size_t i = 0; i < count; i++) {
			rows[found] = at + i;
			found += ends[i] > span->until_ns;
		}
		newest_note(span, rows, found, span->newest_left);
		add_leaked(span, rows, found);
	}
}

/* Allocated before the span and freed in it. */
static void finished_find(const struct span *span)
{
	const uint64_t end = model_free_at(span->model, span->end_ns);
	uint64_t rows[MODEL_BATCH];

	for (uint64_t at = model_free_at(span->model, span->from_ns); at < end; at += MODEL_BATCH) {
		const size_t count = u64_min(end - at, MODEL_BATCH);
		size_t found = 0;

		model_frees_read(span->model, at, count, rows);
		for (size_t i = 0; i < count; i++) {
			rows[found] = rows[i];
			found += rows[i] < span->row_from;
		}
		newest_note(span, rows, found, span->newest_finished);
	}
}

enum { JOB_BETWEEN, JOB_LEFT, JOB_FINISHED, JOBS };

static struct err *job_do(void *context, uint64_t job)
{
	const struct span *span = *(const struct span **)context;

	if (job == JOB_BETWEEN)
		model_stack_moments_between(span->model, span->from_ns, span->end_ns,
					    span->between);
	else if (job == JOB_LEFT)
		left_find(span);
	else
		finished_find(span);
	return NULL;
}

/* Temporary blocks of the span: freed in it, without those allocated before; and freed after it. */
static void stacks_sum_up(const struct span *span)
{
	for (size_t i = 0; i < model_stack_count(span->model); i++) {
		span->stacks[i].allocated = span->between[i].allocated;
		span->stacks[i].temporary = span->between[i].temporary;
	}
	newest_add(span, span->newest_finished, UINT64_MAX);
	newest_add(span, span->newest_left, 1);
}

struct err *sums_of_span(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			 struct model_stack_moment *between, struct model_stack_sums *stacks)
{
	const struct sweep_limits limits = { 0 };
	CLEAN(free) uint64_t *newest = calloc(2 * model_thread_count(model) + 1, sizeof(*newest));
	const struct span span = {
		.model = model,
		.from_ns = from_ns,
		.until_ns = until_ns,
		.end_ns = until_ns == UINT64_MAX ? UINT64_MAX : until_ns + 1,
		.row_from = model_row_at(model, from_ns),
		.between = between,
		.stacks = stacks,
		.newest_left = newest,
		.newest_finished = newest + model_thread_count(model),
	};
	const struct span *workers[JOBS] = { &span, &span, &span };
	struct err *err;

	assert(from_ns <= until_ns);
	assert((void *)between != (void *)stacks);
	if (!newest)
		return err_nomem();
	err = sweep_run(&limits, JOBS, job_do, workers, sizeof(*workers),
			sweep_workers(&limits, JOBS));
	if (!err)
		stacks_sum_up(&span);
	return err;
}
