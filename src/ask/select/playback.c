#include "select/playback.h"

#include <assert.h>

struct playback *playback_create(const struct model *model, const struct selection *selection)
{
	struct playback *playback = calloc(1, sizeof(*playback));

	assert(model);
	if (!playback)
		return NULL;
	playback->frees.is_frees = true;
	playback->pass = pass_begin(model, selection);
	playback->free_end = model_free_count(model);
	return playback;
}

void playback_destroy(struct playback *playback)
{
	free(playback);
}

void playback_between(struct playback *playback, uint64_t from_ns, uint64_t end_ns)
{
	const struct model *model = playback->pass.model;

	assert(from_ns <= end_ns);
	playback->pass = pass_begin_between(model, playback->pass.selection, from_ns, end_ns);
	if (end_ns < MODEL_NEVER) /* events at end_ns are included */
		playback->pass.end = model_row_at(model, end_ns);
	playback->free_next = model_free_at(model, from_ns);
	playback->free_end =
		end_ns == MODEL_NEVER ? model_free_count(model) : model_free_at(model, end_ns);
	playback->allocations.at = playback->allocations.count = 0;
	playback->frees.at = playback->frees.count = 0;
}

static void allocations_fill(struct playback *playback)
{
	struct playback_lane *lane = &playback->allocations;
	struct pass *pass = &playback->pass;

	if (!pass_next(pass))
		return;
	lane->count = pass->count;
	memcpy(lane->rows, pass->rows, lane->count * sizeof(*lane->rows));
	pass_read(pass, MODEL_ALLOC_NS, lane->ns);
	pass_read(pass, MODEL_SIZE, lane->bytes);
}

/* Drops frees of rows that are not selected. */
static void frees_narrow(struct playback_lane *lane, const struct selection *selection)
{
	const size_t count = lane->count;

	lane->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!selection_has(selection, lane->rows[i]))
			continue;
		lane->rows[lane->count] = lane->rows[i];
		lane->ns[lane->count] = lane->ns[i];
		lane->bytes[lane->count++] = lane->bytes[i];
	}
}

static void frees_fill(struct playback *playback)
{
	const struct model *model = playback->pass.model;
	struct playback_lane *lane = &playback->frees;

	while (lane->count == 0 && playback->free_next < playback->free_end) {
		lane->count = u64_min(playback->free_end - playback->free_next, MODEL_BATCH);
		model_frees_read(model, playback->free_next, lane->count, lane->rows);
		model_frees_read_events(model, playback->free_next, lane->count, lane->ns,
					lane->bytes);
		playback->free_next += lane->count;
		if (playback->pass.selection)
			frees_narrow(lane, playback->pass.selection);
	}
}

void playback_fill(struct playback *playback, struct playback_lane *lane)
{
	assert(lane->at == lane->count);
	lane->at = lane->count = 0;
	if (lane->is_frees)
		frees_fill(playback);
	else
		allocations_fill(playback);
	if (lane->count > 0 && playback->filled)
		playback->filled(playback->context, lane);
}
