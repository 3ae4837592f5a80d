/* Plays a tape once and makes a model of it: sums alone, or an index with the rows as well. */
#include <assert.h>

#include "base/big.h"
#include "model/index.h"
#include "model/packer.h"

enum { PROGRESS_EVENTS = 1 << 18 };

static void tell_progress(struct load *load, size_t count)
{
	const struct model_settings *settings = load->settings;

	load->done_count += count;
	if (!settings || !settings->progress ||
	    load->done_count - load->told_count < PROGRESS_EVENTS)
		return;
	load->told_count = load->done_count;
	settings->progress(
		settings->progress_context, load->done_count,
		u64_max(capture_facts(load->capture)->sealed_event_count, load->done_count));
}

static struct err *cancel_check(const struct load *load)
{
	const bool *cancel = load->settings ? load->settings->cancel : NULL;

	return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) ? err_new(ERR_STATE, "cancelled")
								   : NULL;
}

struct err *load_events(void *context, const struct capture_event *events, size_t count)
{
	struct load *load = context;
	struct replay *replay = &load->replay;
	struct err *err = cancel_check(load);

	if (err)
		return err;
	if (!replay_reserve_stacks(replay, load->model->built_stacks.nodes.count))
		return err_nomem();
	if (load->image && unlikely(checkpoints_is_due(&load->checkpoints, replay)))
		err = checkpoints_take(&load->checkpoints, replay,
				       load->model->built_stacks.nodes.count, load->image);
	for (size_t i = 0; i < count && !err; i++) {
		size_t played = 0;

		if (replay->is_of_pools)
			played = replay_pass(replay, events + i, count - i);
		else
			err = replay_events(replay, events + i, count - i, &played);
		i += played;
		if (!err && i < count)
			err = load_record(load, &events[i]);
	}
	tell_progress(load, count);
	return err;
}

static void begin_process(struct model *model, const struct tape_header *header)
{
	static const char *const no_arguments[] = { NULL };
	struct model_process *process = &model->process;

	process->pid = header->pid;
	process->parent_pid = header->parent_pid;
	process->exe = process->cwd = "";
	process->argv = no_arguments;
	process->elf_machine = header->elf_machine;
	process->pointer_bytes = header->pointer_bytes;
	process->flags = header->flags;
	process->start_realtime_ns = header->start_realtime_ns;
	process->start_monotonic_ns = header->start_monotonic_ns;
	memcpy(process->uuid, header->uuid, sizeof(process->uuid));
	memcpy(process->parent_uuid, header->parent_uuid, sizeof(process->parent_uuid));
}

/* A raw tape has in its header page what a collector would have written at the end. */
static void begin_quality(struct model *model, const struct capture *capture)
{
	const struct tape_live *live = capture_live(capture);
	struct model_quality *quality = &model->quality;

	memcpy(quality->lost, live->lost, sizeof(quality->lost));
	quality->fault = (enum tape_fault)live->fault;
	quality->fault_errno = live->fault_errno;
	quality->fault_text = capture_killed_text(capture) ? capture_killed_text(capture) : "";
	if (capture_killed_text(capture) && quality->fault == TAPE_FAULT_NONE)
		quality->fault = TAPE_FAULT_KILLED;
}

static void note_facts(struct model *model, const struct capture *capture)
{
	const struct capture_facts *facts = capture_facts(capture);
	struct model_quality *quality = &model->quality;

	quality->missing_chunk_count = facts->missing_chunk_count;
	quality->tape_bytes = facts->file_bytes;
	quality->chunk_count = facts->chunk_count;
}

static struct err *finish_quality(struct model *model, const struct capture *capture,
				  const struct capture_played *played)
{
	for (size_t i = 0; i < capture_damage_count(capture); i++)
		if (!model_damage_vec_push(&model->damage, *capture_damage_get(capture, i)))
			return err_nomem();
	if (played->damage_count > 0 &&
	    !model_damage_vec_push(&model->damage,
				   (struct capture_damage) { played->damage_offset,
							     "records that cannot be decoded" }))
		return err_nomem();
	for (size_t i = 0; i < model->damage.count; i++) {
		struct capture_damage *damage = &model->damage.items[i];

		damage->text = arena_strdup(&model->arena, damage->text);
		if (!damage->text)
			return err_nomem();
	}
	model->quality.damage_count = model->damage.count;
	return NULL;
}

static struct err *finish_scans(struct model *model)
{
	struct scans *scans = &model->built_scans;
	struct err *err = scans_seal(scans, &model->built_stacks.modules);

	model->own_scans = calloc(scans->built.count + 1, sizeof(*model->own_scans));
	if (err || !model->own_scans)
		return err ? err : err_nomem();
	for (size_t i = 0; i < scans->built.count; i++) {
		model->own_scans[i] = scans->built.items[i].scan;
		model->own_scans[i].ns = clock_ns(&model->clock, scans->built.items[i].scan.ns);
	}
	model->scans = model->own_scans;
	model->scan_count = scans->built.count;
	return NULL;
}

static void finish_samples(struct model *model)
{
	for (size_t i = 0; i < model->usages.count; i++)
		model->usages.items[i].ns = clock_ns(&model->clock, model->usages.items[i].ns);
	for (size_t i = 0; i < model->systems.count; i++)
		model->systems.items[i].ns = clock_ns(&model->clock, model->systems.items[i].ns);
	for (size_t i = 0; i < model->notes.count; i++)
		model->notes.items[i].ns = clock_ns(&model->clock, model->notes.items[i].ns);
}

/* About as many as there may be. */
static uint64_t event_count(const struct load *load)
{
	const struct capture_facts *facts = capture_facts(load->capture);

	return load->model->is_of_pools
		       ? facts->record_bytes / (TAPE_EXTENDED_BYTES + sizeof(struct tape_pool))
		       : facts->sealed_event_count;
}

static struct err *begin_rows(struct load *load)
{
	static const uint64_t default_bytes = UINT64_C(1) << 30;
	const struct model_settings *settings = load->settings;
	uint64_t bytes =
		settings && settings->memory_bytes ? settings->memory_bytes : default_bytes;
	struct err *err;

	checkpoints_init(&load->checkpoints, event_count(load));
	err = rows_init(&load->rows, load->image, &load->model->clock, bytes);
	if (load->model->is_of_pools)
		load->rows.address_mask = POOLS_ADDRESS_MASK;
	return err;
}

/* The clock is used unshifted. */
static double tick_ns(const struct load *load)
{
	return load->model->clock.slope / (double)(UINT64_C(1) << load->header->tick_shift);
}

static struct err *begin_latencies(struct load *load)
{
	static const uint64_t few_events = 1 << 20;
	struct model *model = load->model;
	const bool is_small =
		load->capture && capture_facts(load->capture)->sealed_event_count < few_events;
	struct err *err;

	if (!(load->header->flags & TAPE_FLAG_LATENCY) || model->is_of_pools)
		return NULL;
	err = latencies_create(load->image != NULL, is_small, &model->built_latencies);
	load->replay.latencies = model->built_latencies;
	return err;
}

/* All rows are packed. */
static struct err *finish_latencies(struct load *load)
{
	struct model *model = load->model;
	struct latencies *latencies = model->built_latencies;
	struct err *err = NULL;

	if (!latencies)
		return NULL;
	if (load->image)
		err = latencies_store(latencies, load->rows.segments.items,
				      load->rows.segments.count, tick_ns(load), load->image);
	latencies_seal(latencies, tick_ns(load));
	model->latencies = latencies->functions;
	model->stack_latencies = latencies->stacks;
	return err;
}

struct err *load_finish(struct load *load, const struct capture_played *played)
{
	struct model *model = load->model;
	struct err *err;

	assert(load->capture);
	note_facts(model, load->capture);
	err = load_sum_up(load, played);
	if (err)
		return err;
	finish_samples(model);
	model->pools = model->own_pools = pools_copy(&load->pools, &model->clock);
	model->pool_count = load->pools.all.count;
	err = model->pools ? finish_scans(model) : err_nomem();
	if (!err)
		err = finish_quality(model, load->capture, played);
	if (!err && load->image)
		err = rows_seal(&load->rows);
	return err ? err : finish_latencies(load);
}

struct err *load_begin(struct load *load)
{
	struct model *model = load->model;
	struct err *err = NULL;

	if (!capture_stacks_init(&model->built_stacks) ||
	    !replay_init(&load->replay, load->header, load->image ? &load->rows : NULL) ||
	    !clock_init(&model->clock, load->header))
		return err_nomem();
	model->is_of_pools = load->replay.is_of_pools =
		load->settings && load->settings->subject == MODEL_OF_POOLS;
	pools_init(&load->pools, &load->replay, &model->arena);
	load_window(load);
	model->built_scans.arena = &model->arena;
	if (load->image)
		err = begin_rows(load);
	if (!err)
		err = begin_latencies(load);
	if (err)
		return err;
	begin_process(model, load->header);
	model->quality.fault_text = "";
	if (load->capture)
		begin_quality(model, load->capture);
	return NULL;
}

static struct err *load_all(struct load *load)
{
	const struct capture_player player = { .events = load_events, .context = load };
	struct capture_played played;
	struct err *err = load_begin(load);

	if (!err && !replay_reserve_streams(&load->replay, capture_stream_count(load->capture)))
		err = err_nomem();
	if (!err)
		err = capture_play(load->capture, &load->model->built_stacks, &player, &played);
	return err ? err : load_finish(load, &played);
}

void load_deinit(struct load *load)
{
	pools_deinit(&load->pools);
	replay_deinit(&load->replay);
	map_deinit(&load->threads_by_tid);
	map_deinit(&load->threads_by_handle);
	map_deinit(&load->creations);
	if (load->image) {
		rows_deinit(&load->rows);
		checkpoints_deinit(&load->checkpoints);
	}
}

struct err *model_build(const struct capture *capture, const struct model_settings *settings,
			struct image *image, const struct index_identity *identity,
			struct model **model_ret)
{
	CLEAN(model_destroy) struct model *model = calloc(1, sizeof(*model));
	struct load *load = calloc(1, sizeof(*load)); /* too large for a stack */
	struct err *err = err_nomem();

	assert(image ? identity != NULL : model_ret != NULL);
	if (model && load) {
		*load = (struct load) { .model = model,
					.header = capture_header(capture),
					.capture = capture,
					.settings = settings,
					.image = image };
		packer_init(&load->rows.packer, 0);
		patches_init(&load->rows.patches, 0);
		err = load_all(load);
		if (!err && image)
			err = index_write(model, &load->rows, &load->checkpoints, &load->replay,
					  identity, image);
		load_deinit(load);
	}
	free(load);
	if (!err && !image)
		*model_ret = steal(model);
	return err;
}
