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

struct err *load_events(void *context, const struct capture_event *events, size_t count)
{
	struct load *load = context;
	struct replay *replay = &load->replay;
	struct err *err = NULL;

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

/* Those of a tape's counters that count events missing from it. */
static bool is_loss_of_events(enum tape_loss loss)
{
	return loss == TAPE_LOST_NO_SPACE || loss == TAPE_LOST_NESTED ||
	       loss == TAPE_LOST_NO_THREAD || loss == TAPE_LOST_STARTUP ||
	       loss == TAPE_LOST_STOPPED;
}

static struct err *finish_quality(struct model *model, const struct capture *capture,
				  const struct capture_played *played)
{
	struct model_quality *quality = &model->quality;

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
	quality->damage_count = model->damage.count;
	for (size_t i = 0; i < array_size(quality->lost); i++)
		if (is_loss_of_events((enum tape_loss)i))
			quality->lost_events += quality->lost[i];
	return NULL;
}

/* Tallies have the layout of the sums they become, so large tables are not copied. */
static void finish_stacks(struct model *model, struct replay *replay)
{
	static_assert(_Alignof(struct tally) == _Alignof(struct model_stack_sums), "in place");
	const struct capture_stacks *stacks = &model->built_stacks;
	struct model_stack_sums *sums = (struct model_stack_sums *)(void *)replay->stacks;

	model->stack_count = stacks->nodes.count;
	model->stacks = stacks->nodes.items;
	model->sightings = stacks->sightings.items;
	model->sighting_count = stacks->sightings.count;
	model->modules = stacks->modules.items;
	model->module_count = stacks->modules.count;
	for (size_t i = 0; i < model->stack_count; i++) {
		struct tally tally;

		memcpy(&tally, &replay->stacks[i], sizeof(tally));
		sums[i] = (struct model_stack_sums) {
			.allocated = tally.allocated,
			.peak = tally.peak,
			.leaked = tally_leaked(
				&tally.live, replay->left.stacks ? &replay->left.stacks[i] : NULL),
			.temporary = { tally.temporary_count, tally.temporary_bytes },
		};
	}
	model->stack_sums = sums;
	model->built_tallies = steal(replay->stacks);
	model->built_tallies_bytes = replay->stack_room * sizeof(*sums);
}

/* Stacks below TRUNCATED; parents have lower ids, so one pass suffices. */
static struct err *count_truncated(struct model *model)
{
	CLEAN(free) uint8_t *truncated = calloc(model->stack_count, 1);

	if (!truncated)
		return err_nomem();
	truncated[CAPTURE_STACK_TRUNCATED] = 1;
	for (size_t i = 0; i < model->stack_count; i++) {
		truncated[i] |= truncated[model->stacks[i].parent];
		if (truncated[i])
			model->totals.truncated_stack_count += model->stack_sums[i].allocated.count;
	}
	if (model->process.flags & TAPE_FLAG_ALLOC_STACKS)
		model->totals.no_stack_count =
			model->stack_sums[CAPTURE_STACK_NONE].allocated.count;
	return NULL;
}

/*
 * Pages that others may have touched before the thread say nothing about it. Values before it ended
 * are lower bounds.
 */
static struct model_stack_use stack_use_of(const struct tape_stack_use *told)
{
	const bool has_pages =
		told->touched_bytes != UINT64_MAX && told->touched_bytes > told->before_bytes;
	struct model_stack_use use = { told->reserved_bytes, told->seen_bytes, MODEL_STACK_EVENTS };

	if (has_pages &&
	    (told->seen_bytes == UINT64_MAX || told->touched_bytes >= told->seen_bytes)) {
		use.used_bytes = told->touched_bytes;
		if (told->flags & TAPE_STACK_USE_FINAL)
			use.known = MODEL_STACK_PAGES;
	}
	if (use.used_bytes == MODEL_BYTES_UNKNOWN)
		use.known = MODEL_STACK_UNKNOWN;
	return use;
}

static struct err *finish_threads(struct model *model, const struct replay *replay)
{
	model->thread_count = replay->threads.count;
	model->threads = calloc(model->thread_count + 1, sizeof(*model->threads));
	if (!model->threads)
		return err_nomem();
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct replay_thread *from = &replay->threads.items[i];

		model->threads[i] = (struct model_thread) {
			.tid = from->tid,
			.handle = from->handle,
			.creator = from->creator,
			.create_stack = from->create_stack,
			.name = from->name,
			.begin_ns = clock_ns(&model->clock, from->begin_ticks),
			.end_ns = from->end_ticks == MODEL_NEVER
					  ? MODEL_NEVER
					  : clock_ns(&model->clock, from->end_ticks),
			.allocated = from->tally.allocated,
			.leaked = tally_leaked(&from->tally.live, &from->left),
			.peak = from->tally.peak,
			.temporary = { from->tally.temporary_count, from->tally.temporary_bytes },
			.free_count = from->free_count,
			.foreign_free_count = from->foreign_free_count,
			.stack_use = stack_use_of(&from->stack_use),
		};
	}
	return NULL;
}

static void finish_sizes(struct model *model, const struct replay *replay)
{
	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const struct tally *tally = &replay->sizes[i];

		model->sizes[i] = (struct model_size_bucket) {
			.allocated = tally->allocated,
			.peak = tally->peak,
			.leaked = tally_leaked(&tally->live, &replay->left.sizes[i]),
			.temporary = { tally->temporary_count, tally->temporary_bytes },
		};
	}
}

static bool finish_timeline(struct model *model, struct replay *replay)
{
	struct timeline *timeline = &replay->timeline;

	model->fine_count = timeline->at + 1;
	model->fine_begin_ticks = timeline->begin_ticks;
	model->fine_span_ticks = timeline->span_ticks;
	model->fine = model->built_fine = steal(timeline->spans);
	return model_timeline_join(model);
}

/* In order of time, whatever the tape says. */
static bool finish_strays(struct model *model, const struct strays *strays)
{
	const size_t count = strays->all.count;

	model->built_strays = calloc(count + 1, sizeof(*model->built_strays));
	if (!model->built_strays || strays->failed)
		return false;
	for (size_t i = 0; i < count; i++) {
		model->built_strays[i] = strays->all.items[i].free;
		model->built_strays[i].ns = clock_ns(&model->clock, strays->all.items[i].free.ns);
		if (model->is_of_pools)
			model->built_strays[i].address &= POOLS_ADDRESS_MASK;
	}
	model->strays = model->built_strays;
	model->stray_count = count;
	return true;
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

/*
 * A process that execs another program writes no end, because the call may fail: then the program
 * continues, and writes an end later. For a recording still in progress the outcome is unknown.
 */
static void finish_end(struct load *load)
{
	struct model_process *process = &load->model->process;

	if (process->end_kind == TAPE_END_UNKNOWN && load->exec_ticks > 0 &&
	    load->exec_ticks >= load->replay.last_ticks &&
	    !(load->header->flags & TAPE_FLAG_RECORDING))
		process->end_kind = TAPE_END_EXEC;
}

static void finish_times(struct load *load)
{
	struct model *model = load->model;
	const uint64_t end_ticks = u64_max(load->end_ticks, load->replay.last_ticks);

	for (size_t i = 0; i < model->usages.count; i++)
		model->usages.items[i].ns = clock_ns(&model->clock, model->usages.items[i].ns);
	for (size_t i = 0; i < model->systems.count; i++)
		model->systems.items[i].ns = clock_ns(&model->clock, model->systems.items[i].ns);
	for (size_t i = 0; i < model->notes.count; i++)
		model->notes.items[i].ns = clock_ns(&model->clock, model->notes.items[i].ns);
	model->totals.peak_ns = clock_ns(&model->clock, load->replay.peak_ticks);
	model->process.duration_ns = clock_ns(&model->clock, end_ticks);
	model->process.clock_is_estimated = model->clock.is_estimated;
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
	struct replay *replay = &load->replay;
	struct err *err;

	assert(load->capture);
	note_facts(model, load->capture);
	if (!replay_reserve_stacks(replay, model->built_stacks.nodes.count))
		return err_nomem();
	clock_seal(&model->clock, load->header);
	replay_seal(replay, model->built_stacks.nodes.count);
	model->totals = replay->totals;
	model->totals.event_count =
		model->is_of_pools ? load->pools.event_count : played->event_count;
	memcpy(model->functions, replay->functions, sizeof(model->functions));
	finish_stacks(model, replay);
	finish_sizes(model, replay);
	finish_end(load);
	finish_times(load);
	model->pools = model->own_pools = pools_copy(&load->pools, &model->clock);
	model->pool_count = load->pools.all.count;
	if (!model->pools || !finish_timeline(model, replay) ||
	    !finish_strays(model, &replay->strays))
		return err_nomem();
	err = count_truncated(model);
	if (!err)
		err = finish_scans(model);
	if (!err)
		err = finish_threads(model, replay);
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
