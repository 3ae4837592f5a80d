/* The sums of what a replay has played so far become those of a model. */
#include <assert.h>

#include "base/big.h"
#include "model/parts.h"

/* Those of a tape's counters that count events missing from it. */
static bool is_loss_of_events(enum tape_loss loss)
{
	return loss == TAPE_LOST_NO_SPACE || loss == TAPE_LOST_NESTED ||
	       loss == TAPE_LOST_NO_THREAD || loss == TAPE_LOST_STARTUP ||
	       loss == TAPE_LOST_STOPPED;
}

static void sum_lost(struct model_quality *quality)
{
	for (size_t i = 0; i < array_size(quality->lost); i++)
		if (is_loss_of_events((enum tape_loss)i))
			quality->lost_events += quality->lost[i];
}

/* Those of a tally, of the stack that has it. */
static struct model_stack_sums sums_of(const struct tally *tally, const struct model_sum *left)
{
	return (struct model_stack_sums) {
		.allocated = tally->allocated,
		.peak = tally->peak,
		.leaked = tally_leaked(&tally->live, left),
		.temporary = { tally->temporary_count, tally->temporary_bytes },
	};
}

/* The first is of no stack, and all zeros. */
static bool finish_sums(struct model *model, const struct replay *replay)
{
	const struct tallies *tallies = &replay->stacks;
	const struct model_sum *left = replay->left.stacks;
	uint32_t *seats = big_alloc(model->stack_count * sizeof(*seats));
	struct model_stack_sums *sums = big_alloc(tallies->count * sizeof(*sums));

	model->built_seats = seats;
	model->built_sums = sums;
	model->stack_sums = (struct model_by_stack) { seats, sums, tallies->count };
	if (!seats || !sums)
		return false;
	for (size_t i = 0; i < model->stack_count; i++) {
		const uint32_t seat = seats[i] = tallies->seats[i];

		if (seat > 0)
			sums[seat] = sums_of(&tallies->items[seat], left ? &left[i] : NULL);
	}
	return true;
}

static bool finish_stacks(struct model *model, const struct replay *replay)
{
	const struct capture_stacks *stacks = &model->built_stacks;

	model->stack_count = stacks->nodes.count;
	model->stacks = stacks->nodes.items;
	model->sightings = stacks->sightings.items;
	model->sighting_count = stacks->sightings.count;
	model->modules = stacks->modules.items;
	model->module_count = stacks->modules.count;
	return finish_sums(model, replay);
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
			model->totals.truncated_stack_count +=
				model_sums_of(&model->stack_sums, i)->allocated.count;
	}
	if (model->process.flags & TAPE_FLAG_ALLOC_STACKS)
		model->totals.no_stack_count =
			model_sums_of(&model->stack_sums, CAPTURE_STACK_NONE)->allocated.count;
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

	model->totals.peak_ns = clock_ns(&model->clock, load->replay.peak_ticks);
	model->process.duration_ns = clock_ns(&model->clock, end_ticks);
	model->process.clock_is_estimated = model->clock.is_estimated;
}

struct err *load_sum_up(struct load *load, const struct capture_played *played)
{
	struct model *model = load->model;
	struct replay *replay = &load->replay;
	struct err *err;

	if (!replay_reserve_stacks(replay, model->built_stacks.nodes.count))
		return err_nomem();
	clock_seal(&model->clock, load->header);
	replay_seal(replay, model->built_stacks.nodes.count);
	model->totals = replay->totals;
	model->totals.event_count =
		model->is_of_pools ? load->pools.event_count : played->event_count;
	memcpy(model->functions, replay->functions, sizeof(model->functions));
	if (!finish_stacks(model, replay))
		return err_nomem();
	finish_sizes(model, replay);
	finish_end(load);
	finish_times(load);
	sum_lost(&model->quality);
	if (!finish_timeline(model, replay) || !finish_strays(model, &replay->strays))
		return err_nomem();
	err = count_truncated(model);
	return err ? err : finish_threads(model, replay);
}
