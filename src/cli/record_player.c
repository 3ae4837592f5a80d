#include "cli/record_player.h"

#include "model/building.h"

static struct err *create(const struct tape_header *header,
			  void (*release)(void *context, struct capture_growing *growing),
			  void *context, void **player_ret)
{
	struct model_building *building;
	struct err *err = model_building_create(header, release, context, &building);

	if (!err)
		*player_ret = building;
	return err;
}

static void destroy(void *player)
{
	model_building_destroy(player);
}

static struct capture_playing *playing(void *player)
{
	return model_building_playing(player);
}

static struct err *go(void *player, const uint32_t *stop)
{
	return model_building_go(player, stop);
}

static size_t bytes(const void *player)
{
	return model_building_bytes(player);
}

const struct companion_player record_player = {
	.create = create,
	.destroy = destroy,
	.playing = playing,
	.go = go,
	.bytes = bytes,
};

struct model *record_player_model(const struct collector_result *result, struct arena *arena,
				  const char **why_not_ret)
{
	void *player = result->companion ? companion_player_get(result->companion) : NULL;
	struct model *model = NULL;
	struct err *err;

	if (!player) {
		*why_not_ret = result->companion ? companion_dropped(result->companion)
						 : "it was not played while it was recorded";
		return NULL;
	}
	err = model_building_finish(player, result->path, &model);
	if (err)
		*why_not_ret = arena_strdup(arena, err_message(err));
	err_destroy(err);
	return model;
}
