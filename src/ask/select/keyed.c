#include "select/keyed.h"

#include <assert.h>

static void keys_read(void *context, const struct playback_lane *lane)
{
	struct keyed *keyed = context;

	if (lane->is_frees)
		batch_list(&keyed->batch, keyed->facts, lane->rows, lane->count);
	else
		batch_rows(&keyed->batch, keyed->facts, lane->rows[0], lane->count);
	keyed->keys(keyed->context, &keyed->batch,
		    lane->is_frees ? keyed->free_keys : keyed->allocation_keys);
}

struct keyed *keyed_create(const struct facts *facts, keyed_keys *keys, const void *context)
{
	struct keyed *keyed = calloc(1, sizeof(*keyed));

	assert(keys);
	if (!keyed)
		return NULL;
	keyed->playback = playback_create(facts->model, NULL);
	if (!keyed->playback) {
		free(keyed);
		return NULL;
	}
	keyed->facts = facts;
	keyed->keys = keys;
	keyed->context = context;
	keyed->playback->filled = keys_read;
	keyed->playback->context = keyed;
	return keyed;
}

void keyed_destroy(struct keyed *keyed)
{
	if (keyed)
		playback_destroy(keyed->playback);
	free(keyed);
}

static bool has_allocations(const struct playback *playback)
{
	return playback->allocations.at < playback->allocations.count ||
	       playback->pass.at < playback->pass.end;
}

bool keyed_next(struct keyed *keyed, struct keyed_event *event)
{
	struct playback *playback = keyed->playback;
	const struct playback_lane *lane;
	size_t i;

	if (keyed->err || !has_allocations(playback))
		return false;
	lane = playback_next(playback, MODEL_NEVER);
	if (!lane)
		return false;
	i = playback_at(lane);
	if (!lane->is_frees && lane->at == lane->count)
		keyed->err = facts_check(keyed->facts, lane->rows[i] + 1);
	*event = (struct keyed_event) {
		.ns = lane->ns[i],
		.bytes = lane->bytes[i],
		.key = lane->is_frees ? keyed->free_keys[i] : keyed->allocation_keys[i],
		.is_free = lane->is_frees,
	};
	return !keyed->err;
}
