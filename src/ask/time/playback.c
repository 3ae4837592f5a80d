#include "time/playback.h"

#include <assert.h>

/* One of the two streams, read ahead. */
struct lane {
	uint64_t next; /* to be read */
	size_t at;
	size_t count;
	uint64_t rows[MODEL_BATCH];
	uint64_t ns[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
	uint64_t stacks[MODEL_BATCH];
};

struct playback {
	const struct selection *selection;
	struct lane allocations;
	struct lane frees;
};

struct playback *playback_create(const struct selection *selection)
{
	struct playback *playback = calloc(1, sizeof(*playback));

	assert(selection->model);
	if (playback)
		playback->selection = selection;
	return playback;
}

void playback_destroy(struct playback *playback)
{
	free(playback);
}

static void gather(const struct playback *playback, struct lane *lane, enum model_column times)
{
	const struct model *model = playback->selection->model;

	model_rows_gather(model, times, lane->rows, lane->count, lane->ns);
	model_rows_gather(model, MODEL_SIZE, lane->rows, lane->count, lane->bytes);
	model_rows_gather(model, MODEL_STACK, lane->rows, lane->count, lane->stacks);
}

static void allocations_fill(struct playback *playback)
{
	struct lane *lane = &playback->allocations;

	lane->at = 0;
	lane->count = selection_next(playback->selection, &lane->next, lane->rows);
	gather(playback, lane, MODEL_ALLOC_NS);
}

static void frees_fill(struct playback *playback)
{
	struct lane *lane = &playback->frees;
	const struct model *model = playback->selection->model;
	const uint64_t end = model_free_count(model);

	lane->at = 0;
	for (lane->count = 0; lane->count == 0 && lane->next < end;) {
		const size_t count = u64_min(end - lane->next, MODEL_BATCH);

		model_frees_read(model, lane->next, count, lane->rows);
		lane->next += count;
		for (size_t i = 0; i < count; i++) {
			if (selection_has(playback->selection, lane->rows[i]))
				lane->rows[lane->count++] = lane->rows[i];
		}
	}
	gather(playback, lane, MODEL_FREE_NS);
}

/* Whether the next free comes before the next allocation; one of them is there. */
static bool free_is_next(const struct lane *in, const struct lane *out)
{
	if (in->at == in->count || out->at == out->count)
		return in->at == in->count;
	if (out->ns[out->at] != in->ns[in->at])
		return out->ns[out->at] < in->ns[in->at];
	return out->rows[out->at] < in->rows[in->at];
}

bool playback_next(struct playback *playback, struct playback_event *event_ret)
{
	struct lane *in = &playback->allocations, *out = &playback->frees, *lane;
	bool is_free;

	if (in->at == in->count)
		allocations_fill(playback);
	if (out->at == out->count)
		frees_fill(playback);
	if (in->at == in->count && out->at == out->count)
		return false;
	is_free = free_is_next(in, out);
	lane = is_free ? out : in;
	*event_ret = (struct playback_event) {
		.is_free = is_free,
		.row = lane->rows[lane->at],
		.ns = lane->ns[lane->at],
		.bytes = lane->bytes[lane->at],
		.stack = (uint32_t)lane->stacks[lane->at],
	};
	lane->at++;
	return true;
}
