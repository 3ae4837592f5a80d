#include "select/peaks.h"

#include <assert.h>

#include "select/playback.h"

typedef void keys_fn(const void *context, struct batch *batch, uint32_t *keys);

struct player {
	const struct facts *facts;
	keys_fn *keys;
	const void *context;
	struct batch batch;
	uint32_t allocation_keys[MODEL_BATCH]; /* of the rows read ahead */
	uint32_t free_keys[MODEL_BATCH];
};

static void keys_read(void *context, const struct playback_lane *lane)
{
	struct player *player = context;

	if (lane->is_frees)
		batch_list(&player->batch, player->facts, lane->rows, lane->count);
	else
		batch_rows(&player->batch, player->facts, lane->rows[0], lane->count);
	player->keys(player->context, &player->batch,
		     lane->is_frees ? player->free_keys : player->allocation_keys);
}

static struct err *play(struct playback *playback, const struct player *player, uint64_t *live,
			struct peak *peaks)
{
	const struct playback_lane *lane;
	struct err *err = NULL;

	while (!err && (lane = playback_next(playback, MODEL_NEVER))) {
		const size_t i = playback_at(lane);
		const uint32_t key =
			lane->is_frees ? player->free_keys[i] : player->allocation_keys[i];

		if (lane->is_frees) {
			live[key] -= lane->bytes[i];
			continue;
		}
		live[key] += lane->bytes[i];
		if (live[key] > peaks[key].bytes || peaks[key].ns == UINT64_MAX)
			peaks[key] = (struct peak) { live[key], lane->ns[i] };
		if (lane->at == lane->count) {
			err = facts_check(player->facts, lane->rows[i] + 1);
			if (playback->pass.at == playback->pass.end)
				break; /* no more allocations, no more peaks */
		}
	}
	return err;
}

struct err *peaks_find(const struct facts *facts, keys_fn *keys, const void *context,
		       size_t group_count, struct peak *peaks)
{
	CLEAN(playback_destroy) struct playback *playback = playback_create(facts->model, NULL);
	CLEAN(free) struct player *player = calloc(1, sizeof(*player));
	CLEAN(free) uint64_t *live = calloc(group_count + 1, sizeof(*live));

	assert(keys);
	assert(peaks || group_count == 0);
	if (!playback || !player || !live)
		return err_nomem();
	for (size_t i = 0; i < group_count; i++)
		peaks[i] = (struct peak) { 0, UINT64_MAX };
	player->facts = facts;
	player->keys = keys;
	player->context = context;
	playback->filled = keys_read;
	playback->context = player;
	return play(playback, player, live, peaks);
}
