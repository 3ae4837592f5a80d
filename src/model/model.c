#include "model/model.h"

#include <assert.h>

#include "base/big.h"
#include "model/parts.h"

enum { PREFETCH_AHEAD = 20 };

static struct err *on_events(void *context, const struct capture_event *events, size_t count)
{
	struct load *load = context;
	struct replay *replay = &load->replay;
	struct err *err = NULL;

	if (!replay_reserve_stacks(replay, load->model->stacks.nodes.count))
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++) {
		const struct capture_event *event = &events[i];

		if (i + PREFETCH_AHEAD < count)
			replay_prefetch(replay, event + PREFETCH_AHEAD);
		if (likely(event->fn != TAPE_FN_EXTENDED))
			err = replay_event(replay, event);
		else
			err = load_record(load, event);
	}
	return err;
}

static void begin_process(struct model *model, const struct capture *capture)
{
	static const char *const no_arguments[] = { NULL };
	const struct tape_header *header = capture_header(capture);
	struct model_process *process = &model->process;

	process->pid = header->pid;
	process->parent_pid = header->parent_pid;
	process->exe = process->cwd = "";
	process->argv = no_arguments;
	process->elf_machine = header->elf_machine;
	process->pointer_bytes = header->pointer_bytes;
	process->flags = header->flags;
	process->start_realtime_ns = header->start_realtime_ns;
	memcpy(process->uuid, header->uuid, sizeof(process->uuid));
	memcpy(process->parent_uuid, header->parent_uuid, sizeof(process->parent_uuid));
}

/* A raw tape says in its header page what a collector would have written at the end. */
static void begin_quality(struct model *model, const struct capture *capture)
{
	const struct capture_facts *facts = capture_facts(capture);
	const struct tape_live *live = capture_live(capture);
	struct model_quality *quality = &model->quality;

	memcpy(quality->lost, live->lost, sizeof(quality->lost));
	quality->fault = (enum tape_fault)live->fault;
	quality->fault_errno = live->fault_errno;
	quality->fault_text = "";
	quality->missing_chunk_count = facts->missing_chunk_count;
	quality->tape_bytes = facts->file_bytes;
	quality->chunk_count = facts->chunk_count;
}

/* Of the counters of a tape those that count events it does not have. */
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

/* Tallies have the layout of the sums they become, so no copy of a large table is made. */
static void finish_stacks(struct model *model, struct replay *replay)
{
	static_assert(_Alignof(struct tally) == _Alignof(struct model_stack_sums), "in place");
	struct model_stack_sums *sums = (struct model_stack_sums *)(void *)replay->stacks;

	model->stack_count = model->stacks.nodes.count;
	for (size_t i = 0; i < model->stack_count; i++) {
		struct tally tally;

		memcpy(&tally, &replay->stacks[i], sizeof(tally));
		sums[i] = (struct model_stack_sums) {
			.allocated = tally.allocated,
			.peak = tally.peak,
			.leaked = tally.live,
			.temporary = { tally.temporary_count, tally.temporary_bytes },
		};
	}
	model->stack_sums = sums;
	model->stack_sums_bytes = replay->stack_room * sizeof(*sums);
	replay->stacks = NULL;
}

/* Stacks that hang on TRUNCATED; ids of parents are lower, so one pass tells. */
static struct err *count_truncated(struct model *model)
{
	CLEAN(free) uint8_t *truncated = calloc(model->stack_count, 1);

	if (!truncated)
		return err_nomem();
	truncated[CAPTURE_STACK_TRUNCATED] = 1;
	for (size_t i = 0; i < model->stack_count; i++) {
		truncated[i] |= truncated[model->stacks.nodes.items[i].parent];
		if (truncated[i])
			model->totals.truncated_stack_count += model->stack_sums[i].allocated.count;
	}
	if (model->process.flags & TAPE_FLAG_ALLOC_STACKS)
		model->totals.no_stack_count =
			model->stack_sums[CAPTURE_STACK_NONE].allocated.count;
	return NULL;
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
			.name = from->name,
			.begin_ns = clock_ns(&model->clock, from->begin_ticks),
			.end_ns = from->end_ticks == MODEL_NEVER
					  ? MODEL_NEVER
					  : clock_ns(&model->clock, from->end_ticks),
			.allocated = from->tally.allocated,
			.leaked = from->tally.live,
			.peak = from->tally.peak,
			.temporary = { from->tally.temporary_count, from->tally.temporary_bytes },
			.free_count = from->free_count,
			.foreign_free_count = from->foreign_free_count,
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
			.leaked = tally->live,
			.temporary = { tally->temporary_count, tally->temporary_bytes },
		};
	}
}

static void finish_timeline(struct model *model, const struct replay *replay)
{
	const struct timeline *timeline = &replay->timeline;
	struct timeline_now before = { 0 };
	size_t hint = 0;

	model->timeline_count = timeline->at + 1;
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct timeline_mark *mark = &timeline->spans[i];
		uint64_t ticks = timeline->begin_ticks + i * timeline->span_ticks;

		model->timeline[i] = (struct model_timeline_span) {
			.begin_ns = clock_ns_hinted(&model->clock, ticks, &hint),
			.live_bytes_max = mark->live_bytes_max,
			.live_bytes_end = mark->end.live_bytes,
			.live_count_end = mark->end.live_count,
			.allocated = { mark->end.allocated_count - before.allocated_count,
				       mark->end.allocated_bytes - before.allocated_bytes },
			.free_count = mark->end.free_count - before.free_count,
		};
		before = mark->end;
	}
}

static void finish_times(struct load *load)
{
	struct model *model = load->model;
	const struct replay *replay = &load->replay;
	uint64_t end_ticks = u64_max(load->end_ticks, replay->last_ticks);

	for (size_t i = 0; i < model->usages.count; i++)
		model->usages.items[i].ns = clock_ns(&model->clock, model->usages.items[i].ns);
	for (size_t i = 0; i < model->notes.count; i++)
		model->notes.items[i].ns = clock_ns(&model->clock, model->notes.items[i].ns);
	model->totals.peak_ns = clock_ns(&model->clock, replay->peak_ticks);
	model->process.duration_ns = clock_ns(&model->clock, end_ticks);
	model->process.clock_is_estimated = model->clock.is_estimated;
}

static struct err *finish(struct load *load, const struct capture_played *played)
{
	struct model *model = load->model;
	struct replay *replay = &load->replay;
	struct err *err;

	if (!replay_reserve_stacks(replay, model->stacks.nodes.count) ||
	    !clock_seal(&model->clock, capture_header(load->capture)))
		return err_nomem();
	replay_seal(replay, model->stacks.nodes.count);
	model->totals = replay->totals;
	model->totals.event_count = played->event_count;
	memcpy(model->functions, replay->functions, sizeof(model->functions));
	finish_stacks(model, replay);
	finish_sizes(model, replay);
	finish_timeline(model, replay);
	finish_times(load);
	if (replay->rows) {
		rows_seal(&model->rows, &model->clock, replay->serial_at_peak, replay->epoch);
		model->allocations = rows_columns(&model->rows);
	}
	err = count_truncated(model);
	if (!err)
		err = finish_threads(model, replay);
	return err ? err : finish_quality(model, load->capture, played);
}

static struct err *load_all(struct load *load, enum model_depth depth)
{
	struct model *model = load->model;
	const struct capture_player player = { .events = on_events, .context = load };
	struct capture_played played;
	struct err *err;

	if (!capture_stacks_init(&model->stacks) ||
	    !replay_init(&load->replay, load->capture, depth == MODEL_FULL ? &model->rows : NULL))
		return err_nomem();
	clock_init(&model->clock, capture_header(load->capture));
	begin_process(model, load->capture);
	begin_quality(model, load->capture);
	err = capture_play(load->capture, &model->stacks, &player, &played);
	return err ? err : finish(load, &played);
}

struct err *model_load_capture(const struct capture *capture, enum model_depth depth,
			       struct model **model_ret)
{
	CLEAN(model_destroy) struct model *model = calloc(1, sizeof(*model));
	struct load *load = calloc(1, sizeof(*load)); /* too large for a stack */
	struct err *err = err_nomem();

	if (model && load) {
		load->model = model;
		load->capture = capture;
		err = load_all(load, depth);
		replay_deinit(&load->replay);
		map_deinit(&load->threads_by_tid);
	}
	free(load);
	if (!err)
		*model_ret = steal(model);
	return err;
}

struct err *model_load(const char *path, enum model_depth depth, struct model **model_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open(path, &capture);

	if (err)
		return err;
	return err_wrap(model_load_capture(capture, depth, model_ret), "%s", path);
}

void model_destroy(struct model *model)
{
	if (!model)
		return;
	arena_deinit(&model->arena);
	capture_stacks_deinit(&model->stacks);
	big_free(model->stack_sums, model->stack_sums_bytes);
	free(model->threads);
	rows_deinit(&model->rows);
	model_usages_vec_deinit(&model->usages);
	model_notes_vec_deinit(&model->notes);
	model_damage_vec_deinit(&model->damage);
	clock_deinit(&model->clock);
	free(model);
}

const struct model_process *model_process(const struct model *model)
{
	return &model->process;
}

const struct model_totals *model_totals(const struct model *model)
{
	return &model->totals;
}

const struct model_function *model_functions(const struct model *model)
{
	return model->functions;
}

const struct model_size_bucket *model_size_buckets(const struct model *model)
{
	return model->sizes;
}

size_t model_stack_count(const struct model *model)
{
	return model->stack_count;
}

const struct capture_stack *model_stacks(const struct model *model)
{
	return model->stacks.nodes.items;
}

const struct model_stack_sums *model_stack_sums(const struct model *model)
{
	return model->stack_sums;
}

size_t model_module_count(const struct model *model)
{
	return model->stacks.modules.count;
}

const struct capture_module *model_module(const struct model *model, size_t module)
{
	assert(module < model->stacks.modules.count);
	return &model->stacks.modules.items[module];
}

size_t model_thread_count(const struct model *model)
{
	return model->thread_count;
}

const struct model_thread *model_thread(const struct model *model, size_t thread)
{
	assert(thread < model->thread_count);
	return &model->threads[thread];
}

const struct model_allocations *model_allocations(const struct model *model)
{
	return &model->allocations;
}

size_t model_timeline_count(const struct model *model)
{
	return model->timeline_count;
}

const struct model_timeline_span *model_timeline(const struct model *model)
{
	return model->timeline;
}

size_t model_usage_count(const struct model *model)
{
	return model->usages.count;
}

const struct model_usage *model_usages(const struct model *model)
{
	return model->usages.items;
}

size_t model_note_count(const struct model *model)
{
	return model->notes.count;
}

const struct model_note *model_notes(const struct model *model)
{
	return model->notes.items;
}

const struct model_quality *model_quality(const struct model *model)
{
	return &model->quality;
}

size_t model_damage_count(const struct model *model)
{
	return model->damage.count;
}

const struct capture_damage *model_damage(const struct model *model, size_t index)
{
	assert(index < model->damage.count);
	return &model->damage.items[index];
}

uint64_t model_ns(const struct model *model, uint64_t ticks)
{
	return clock_ns(&model->clock, ticks);
}
