#include "select/peaks.h"

#include <assert.h>

typedef void keys_fn(const void *context, struct batch *batch, uint32_t *keys);

/* Allocations or frees in the order of time, a batch at a time. */
struct stream {
	struct batch *batch;
	uint64_t rows[MODEL_BATCH]; /* frees: the rows they end */
	uint32_t keys[MODEL_BATCH];
	const uint64_t *ns; /* of the batch */
	const uint64_t *size;
	uint64_t next; /* to be read */
	uint64_t end;
	size_t at; /* in the batch */
	bool is_frees;
};

/* False: there are no more. */
static bool stream_fill(struct stream *stream, const struct facts *facts, keys_fn *keys,
			const void *context)
{
	const size_t count = u64_min(stream->end - stream->next, MODEL_BATCH);

	if (stream->at < stream->batch->count)
		return true;
	if (count == 0)
		return false;
	if (stream->is_frees) {
		model_frees_read(facts->model, stream->next, count, stream->rows);
		batch_list(stream->batch, facts, stream->rows, count);
	} else {
		batch_rows(stream->batch, facts, stream->next, count);
	}
	keys(context, stream->batch, stream->keys);
	stream->ns = batch_column(stream->batch, stream->is_frees ? MODEL_FREE_NS : MODEL_ALLOC_NS);
	stream->size = batch_column(stream->batch, MODEL_SIZE);
	stream->next += count;
	stream->at = 0;
	return true;
}

/* Whether the free comes before the allocation; a block's own free never does. */
static bool free_is_next(const struct stream *allocs, const struct stream *frees)
{
	const uint64_t alloc_ns = allocs->ns[allocs->at], free_ns = frees->ns[frees->at];

	if (free_ns != alloc_ns)
		return free_ns < alloc_ns;
	return batch_row(frees->batch, frees->at) < batch_row(allocs->batch, allocs->at);
}

static void play(struct stream *allocs, struct stream *frees, bool has_free, uint64_t *live,
		 struct peak *peaks)
{
	uint32_t key;

	if (has_free && free_is_next(allocs, frees)) {
		live[frees->keys[frees->at]] -= frees->size[frees->at];
		frees->at++;
		return;
	}
	key = allocs->keys[allocs->at];
	live[key] += allocs->size[allocs->at];
	if (live[key] > peaks[key].bytes || peaks[key].ns == UINT64_MAX)
		peaks[key] = (struct peak) { live[key], allocs->ns[allocs->at] };
	allocs->at++;
}

struct err *peaks_find(const struct facts *facts, keys_fn *keys, const void *context,
		       size_t group_count, struct peak *peaks)
{
	CLEAN(free) struct stream *streams = calloc(2, sizeof(*streams));
	CLEAN(free) struct batch *batches = calloc(2, sizeof(*batches));
	CLEAN(free) uint64_t *live = calloc(group_count + 1, sizeof(*live));
	struct stream *allocs = &streams[0], *frees = &streams[1];
	struct err *err = NULL;

	assert(keys);
	assert(peaks || group_count == 0);
	if (!streams || !batches || !live)
		return err_nomem();
	for (size_t i = 0; i < group_count; i++)
		peaks[i] = (struct peak) { 0, UINT64_MAX };
	allocs->batch = &batches[0];
	allocs->end = model_row_count(facts->model);
	frees->batch = &batches[1];
	frees->end = model_free_count(facts->model);
	frees->is_frees = true;
	/* After the last allocation there are no more peaks. */
	while (!err && stream_fill(allocs, facts, keys, context)) {
		play(allocs, frees, stream_fill(frees, facts, keys, context), live, peaks);
		if (allocs->at == allocs->batch->count)
			err = facts_check(facts, allocs->next);
	}
	return err;
}
