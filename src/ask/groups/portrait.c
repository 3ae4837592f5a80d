#include "groups/portrait.h"

#include <assert.h>

#include "select/batch.h"

struct worker {
	const struct selection *selection;
	struct portrait portrait;
	struct batch batch;
	uint64_t rows[MODEL_BATCH];
};

static void rows_take(struct worker *worker, size_t count)
{
	struct portrait *portrait = &worker->portrait;
	const uint64_t *size, *begin, *end;

	batch_list(&worker->batch, worker->selection->facts, worker->rows, count);
	size = batch_column(&worker->batch, MODEL_SIZE);
	begin = batch_column(&worker->batch, MODEL_ALLOC_NS);
	end = batch_column(&worker->batch, MODEL_FREE_NS);
	for (size_t i = 0; i < count; i++) {
		const size_t bucket = size[i] ? 64 - (size_t)__builtin_clzll(size[i]) : 0;

		portrait->sizes[bucket].count++;
		portrait->sizes[bucket].bytes += size[i];
		if (end[i] != MODEL_NEVER)
			spread_add(&portrait->lifetimes, end[i] - begin[i]);
	}
}

static struct err *segment_take(void *context, uint64_t segment)
{
	struct worker *worker = *(struct worker **)context;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end =
		u64_min(first + MODEL_SEGMENT, model_row_count(worker->selection->model));

	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		const size_t count = selection_batch(worker->selection, at, worker->rows);

		if (count > 0)
			rows_take(worker, count);
	}
	return NULL;
}

static void portrait_add(struct portrait *to, const struct portrait *from)
{
	spread_join(&to->lifetimes, &from->lifetimes);
	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		to->sizes[i].count += from->sizes[i].count;
		to->sizes[i].bytes += from->sizes[i].bytes;
	}
}

struct err *portrait_find(const struct selection *selection, struct portrait *portrait)
{
	const uint64_t segments = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const size_t count = sweep_workers(&selection->limits, segments);
	CLEAN(free) struct worker *workers = calloc(count, sizeof(*workers));
	struct worker *pointers[SWEEP_WORKERS_MAX];
	struct err *err;

	assert(count >= 1 && count <= SWEEP_WORKERS_MAX);
	*portrait = (struct portrait) { 0 };
	spread_init(&portrait->lifetimes);
	if (!workers)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		workers[i].selection = selection;
		spread_init(&workers[i].portrait.lifetimes);
		pointers[i] = &workers[i];
	}
	err = sweep_run(&selection->limits, segments, segment_take, pointers, sizeof(*pointers),
			count);
	for (size_t i = 0; i < count && !err; i++)
		portrait_add(portrait, &workers[i].portrait);
	return err;
}
