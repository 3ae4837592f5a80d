/* A part of a selection: the allocations of some stacks. */
#include <assert.h>

#include "select/selection.h"

enum { SEGMENT_WORDS = MODEL_SEGMENT / 64 };

struct worker {
	const struct selection *from;
	const uint8_t *stacks;
	uint64_t *bits;
};

static void narrow_batch(const struct worker *worker, uint64_t first)
{
	const struct model *model = worker->from->model;
	const uint64_t end = u64_min(first + MODEL_BATCH, model_row_count(model));
	uint64_t values[MODEL_BATCH], rows[MODEL_BATCH];
	const size_t count = selection_batch(worker->from, first, rows);

	if (count == 0)
		return;
	model_rows_read(model, MODEL_STACK, first, end - first, values);
	for (size_t i = 0; i < count; i++) {
		if (worker->stacks[values[rows[i] - first]])
			worker->bits[rows[i] / 64] |= UINT64_C(1) << rows[i] % 64;
	}
}

static struct err *work(void *context, uint64_t segment)
{
	const struct worker *worker = context;
	const uint64_t end =
		u64_min((segment + 1) * MODEL_SEGMENT, model_row_count(worker->from->model));

	for (uint64_t at = segment * MODEL_SEGMENT; at < end; at += MODEL_BATCH)
		narrow_batch(worker, at);
	return NULL;
}

static void count_rows(struct selection *part, uint64_t segment_count)
{
	part->count = 0;
	for (uint64_t segment = 0; segment < segment_count; segment++) {
		for (uint64_t i = 0; i < SEGMENT_WORDS; i++)
			part->count += (uint64_t)__builtin_popcountll(
				part->bits[segment * SEGMENT_WORDS + i]);
		part->segment_ends[segment] = part->count;
	}
}

/* Each stack is included or excluded as a whole. */
static void total_take(struct selection *part, const uint8_t *stacks)
{
	const struct model_by_stack from = part->sums.stacks;

	part->sums = (struct sums) { .model = part->model };
	part->suppressed_leaks = (struct suppressed_leaks) { 0 };
	for (size_t i = 0; i < model_stack_count(part->model); i++) {
		if (stacks[i])
			metric_sums_add(&part->sums.total, model_sums_of(&from, i));
	}
}

struct err *selection_narrow(const struct selection *selection, const uint8_t *stacks,
			     struct arena *arena, const struct selection **selection_ret)
{
	const uint64_t segment_count = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const size_t worker_count = sweep_workers(&selection->limits, segment_count);
	struct selection *part = arena_new(arena, struct selection);
	struct worker workers[SWEEP_WORKERS_MAX];
	struct err *err;

	assert(stacks);
	if (!part)
		return err_nomem();
	*part = *selection;
	part->bits = arena_array(arena, segment_count + 1, SEGMENT_WORDS * sizeof(*part->bits));
	part->segment_ends = arena_array(arena, segment_count, sizeof(*part->segment_ends));
	if (!part->bits || !part->segment_ends)
		return err_nomem();
	for (size_t i = 0; i < worker_count; i++)
		workers[i] = (struct worker) { selection, stacks, part->bits };
	err = sweep_run(&selection->limits, segment_count, work, workers, sizeof(*workers),
			worker_count);
	if (err)
		return err;
	count_rows(part, segment_count);
	total_take(part, stacks);
	assert(part->count <= selection->count);
	*selection_ret = part;
	return NULL;
}
