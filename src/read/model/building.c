#include "model/building.h"

#include <assert.h>

#include "model/parts.h"

struct model_building {
	struct model *model;
	struct load load;
	struct tape_header header;
	struct capture_player player;
	struct capture_playing *playing;
	bool is_begun; /* load is to be undone */
};

static struct err *begin(struct model_building *building,
			 void (*release)(void *context, struct capture_growing *growing),
			 void *context)
{
	struct load *load = &building->load;
	struct err *err;

	building->model = calloc(1, sizeof(*building->model));
	if (!building->model)
		return err_nomem();
	*load = (struct load) { .model = building->model, .header = &building->header };
	building->is_begun = true;
	err = load_begin(load);
	building->player =
		(struct capture_player) { .events = load_events, .context = &building->load };
	return err ? err
		   : capture_playing_create(&building->header, &building->model->built_stacks,
					    &building->player, release, context,
					    &building->playing);
}

struct err *model_building_create(const struct tape_header *header,
				  void (*release)(void *context, struct capture_growing *growing),
				  void *context, struct model_building **building_ret)
{
	CLEAN(model_building_destroy)
	struct model_building *building = calloc(1, sizeof(*building));
	struct err *err;

	if (!building)
		return err_nomem();
	building->header = *header;
	err = begin(building, release, context);
	if (err)
		return err;
	*building_ret = steal(building);
	return NULL;
}

void model_building_destroy(struct model_building *building)
{
	if (!building)
		return;
	capture_playing_destroy(building->playing);
	if (building->is_begun)
		load_deinit(&building->load);
	model_destroy(building->model);
	free(building);
}

struct capture_playing *model_building_playing(struct model_building *building)
{
	return building->playing;
}

static struct err *streams_reserve(struct model_building *building)
{
	const size_t count = capture_playing_stream_count(building->playing);

	return replay_reserve_streams(&building->load.replay, count) ? NULL : err_nomem();
}

struct err *model_building_go(struct model_building *building, const uint32_t *stop)
{
	struct err *err = streams_reserve(building);

	return err ? err : capture_playing_go(building->playing, stop);
}

/* A table of blocks that may soon double counts as doubled. */
static size_t table_bytes(const struct blocks *blocks)
{
	return blocks_bytes(blocks) << (blocks->live_count > blocks->room / 16 * 7);
}

/* What is only reserved of arrays that grow is not touched, and not counted. */
size_t load_bytes(const struct load *load)
{
	const struct replay *replay = &load->replay;
	const struct model *model = load->model;
	const struct capture_stacks *stacks = &model->built_stacks;

	return table_bytes(&replay->blocks) + tallies_bytes(&replay->stacks, stacks->nodes.count) +
	       stacks->nodes.count * sizeof(*stacks->nodes.items) +
	       stacks->slot_count * sizeof(*stacks->slots) +
	       model->usages.capacity * sizeof(*model->usages.items) +
	       model->systems.capacity * sizeof(*model->systems.items) +
	       model->notes.capacity * sizeof(*model->notes.items) +
	       (replay->timeline.at + 1) * sizeof(*replay->timeline.spans) +
	       scans_bytes(&model->built_scans);
}

size_t model_building_bytes(const struct model_building *building)
{
	return sizeof(*building) + load_bytes(&building->load) +
	       capture_playing_bytes(building->playing);
}

struct err *model_building_finish(struct model_building *building, const char *tape_path,
				  struct model **model_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct load *load = &building->load;
	struct capture_played played;
	struct err *err = capture_open(tape_path, &capture);

	assert(building->model);
	if (!err)
		err = streams_reserve(building);
	if (!err)
		err = capture_playing_finish(building->playing, capture, &played);
	if (err)
		return err;
	load->capture = capture;
	load->header = capture_header(capture);
	building->model->process.flags = load->header->flags;
	err = load_finish(load, &played);
	if (!err)
		*model_ret = steal(building->model);
	load->capture = NULL;
	load->header = &building->header;
	return err;
}
