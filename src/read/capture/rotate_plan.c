#include "capture/rotate_plan.h"

#include <assert.h>

#include "capture/rotate_blocks.h"

/* --- events ---------------------------------------------------------------------------------- */

/* The second half is on the tape as it is, so the first half stays before it. */
static struct err *outgoing_keep(struct planner *planner, struct outgoing *out)
{
	struct err *err;

	if (!out->event.is_old)
		return NULL;
	planner->plan->streams[out->event.stream].open_out = out->event.ordinal;
	err = rotate_keep(planner, &out->event);
	if (!err && rotate_block_find(planner, out->half.out.address))
		err = rotate_keep(planner, rotate_block_find(planner, out->half.out.address));
	return err;
}

static struct err *on_free(struct planner *planner, const struct capture_event *event,
			   uint64_t ordinal)
{
	struct outgoing *out = &planner->outgoing[event->stream];
	struct known end = rotate_known(planner, event, ordinal);
	bool was_known, has_ended = false;
	struct err *err = NULL;

	if (realloc_half_is_free(event) && realloc_half_close(&out->half)) {
		has_ended = out->has_ended;
		if (!end.is_old)
			err = outgoing_keep(planner, out);
	}
	if (err || event->address == 0 || has_ended)
		return err;
	return rotate_block_end(planner, event, &end, &was_known);
}

static void on_realloc_out(struct planner *planner, const struct capture_event *event,
			   uint64_t ordinal)
{
	struct outgoing *out = &planner->outgoing[event->stream];

	realloc_half_open(&out->half, event);
	out->event = rotate_known(planner, event, ordinal);
	out->has_ended = false;
}

static struct err *on_realloc_in(struct planner *planner, const struct capture_event *event,
				 uint64_t ordinal)
{
	struct outgoing *out = &planner->outgoing[event->stream];
	const struct known in = rotate_known(planner, event, ordinal);
	struct capture_event then = out->half.out;
	bool was_known = false;
	struct err *err = NULL;

	if (realloc_half_close(&out->half) && then.address) {
		then.ticks = event->ticks;
		planner->plan->sums.realloc_count += in.is_old;
		if (!in.is_old)
			err = outgoing_keep(planner, out);
		if (out->has_ended)
			was_known = true;
		else if (!err)
			err = rotate_block_end(planner, &then, &out->event, &was_known);
	}
	if (err || event->address == 0 || (planner->records.is_paused && !was_known))
		return err;
	return rotate_block_begin(planner, event, ordinal);
}

static struct err *on_realloc_fail(struct planner *planner, const struct capture_event *event,
				   uint64_t ordinal)
{
	struct outgoing *out = &planner->outgoing[event->stream];
	const bool is_old = rotate_known(planner, event, ordinal).is_old;

	planner->plan->sums.failed_count += is_old;
	return realloc_half_close(&out->half) && !is_old ? outgoing_keep(planner, out) : NULL;
}

static struct err *on_alloc(struct planner *planner, const struct capture_event *event,
			    uint64_t ordinal)
{
	if (event->address != 0)
		return rotate_block_begin(planner, event, ordinal);
	planner->plan->sums.failed_count += rotate_known(planner, event, ordinal).is_old;
	return NULL;
}

/* Nothing is missing after the last old event. */
static void see_old(struct planner *planner, uint64_t ticks)
{
	struct tape_rotated *sums = &planner->plan->sums;

	sums->from_ticks = u64_max(sums->from_ticks, ticks);
	sums->peak_count = planner->peak_count;
	sums->peak_bytes = planner->peak_bytes;
	sums->peak_ticks = planner->peak_ticks;
}

static struct err *on_event(struct planner *planner, const struct capture_event *event)
{
	const uint64_t ordinal = planner->records.event_counts[event->stream]++;
	struct err *err = NULL;

	switch (tape_fn_class((enum tape_fn)event->fn)) {
	case TAPE_CLASS_ALLOC:
		err = on_alloc(planner, event, ordinal);
		break;
	case TAPE_CLASS_FREE:
		err = on_free(planner, event, ordinal);
		break;
	case TAPE_CLASS_REALLOC_OUT:
		on_realloc_out(planner, event, ordinal);
		break;
	case TAPE_CLASS_REALLOC_IN:
		err = on_realloc_in(planner, event, ordinal);
		break;
	case TAPE_CLASS_REALLOC_FAIL:
		err = on_realloc_fail(planner, event, ordinal);
		break;
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	if (ordinal < planner->plan->streams[event->stream].old_count)
		see_old(planner, event->ticks);
	return err;
}

static struct err *on_events(void *context, const struct capture_event *events, size_t count)
{
	struct planner *planner = context;
	struct err *err = rotate_stopped(planner->plan->stop);

	for (size_t i = 0; i < count && !err; i++) {
		if (events[i].fn < TAPE_FN_COUNT)
			err = on_event(planner, &events[i]);
		else if (events[i].fn == TAPE_FN_EXTENDED)
			err = rotate_records_take(&planner->records, &events[i]);
	}
	return err;
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool keep_living(void *context, uint64_t address, uint64_t *index)
{
	struct planner *planner = context;

	(void)address;
	planner->err = rotate_keep(planner, &planner->blocks.items[*index]);
	return !planner->err;
}

static struct err *finish(struct planner *planner)
{
	struct err *err = NULL;

	map_each(&planner->by_address, keep_living, planner);
	err = steal(planner->err);
	for (size_t i = 0; i < planner->plan->stream_count && !err; i++)
		if (planner->outgoing[i].half.is_open)
			err = outgoing_keep(planner, &planner->outgoing[i]);
	if (planner->records.before.peak_bytes >= planner->plan->sums.peak_bytes) {
		planner->plan->sums.peak_count = planner->records.before.peak_count;
		planner->plan->sums.peak_bytes = planner->records.before.peak_bytes;
		planner->plan->sums.peak_ticks = planner->records.before.peak_ticks;
	}
	planner->plan->sums.rotation_count++;
	return err ? err : rotate_records_finish(&planner->records);
}

static struct err *play(struct planner *planner, const struct capture *capture)
{
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	const struct capture_player player = { .events = on_events,
					       .context = planner,
					       .thread_count = 1 };
	struct capture_played played;
	struct err *err;

	if (!capture_stacks_init(&stacks))
		return err_nomem();
	err = capture_play(capture, &stacks, &player, &played);
	if (!err && played.damage_count > 0)
		err = err_new(ERR_FORMAT, "what was recorded before cannot be read");
	return err ? err : finish(planner);
}

/* The number of each stream's old events, and a time when they were over. */
static void old_count(const struct capture *capture,
		      bool (*is_old)(const void *context, const struct capture_chunk *chunk),
		      const void *context, struct rotate_plan *plan)
{
	const size_t stream_count = capture_stream_count(capture);

	for (size_t i = 0; i < capture_chunk_count(capture); i++) {
		const struct capture_chunk *chunk = capture_chunk_get(capture, i);
		size_t stream = 0, end = stream_count;

		while (end - stream > 1) {
			const size_t middle = stream + (end - stream) / 2;

			if (capture_stream_id(capture, middle) <= chunk->stream)
				stream = middle;
			else
				end = middle;
		}
		if (!is_old(context, chunk))
			continue;
		plan->streams[stream].old_count += chunk->event_count;
		if (chunk->stream != TAPE_COLLECTOR_STREAM)
			plan->old_ticks = u64_max(plan->old_ticks, chunk->begin_ticks);
	}
}

static uint64_t ticks_of(const struct tape_header *header, uint64_t ns)
{
	/* a cycle counter is rarely faster than 8 GHz: a wider window does no harm */
	return (header->clock == TAPE_CLOCK_TSC ? ns * 8 : ns) >> header->tick_shift;
}

struct err *rotate_plan_make(const struct capture *capture,
			     bool (*is_old)(const void *context, const struct capture_chunk *chunk),
			     const void *context, struct rotate_plan *plan)
{
	const size_t stream_count = capture_stream_count(capture);
	struct planner planner = { .plan = plan,
				   .outgoing = calloc(stream_count + 1, sizeof(struct outgoing)),
				   .free_blocks = NO_BLOCK,
				   .has_older_blocks = capture_header(capture)->flags &
						       (TAPE_FLAG_FORKED | TAPE_FLAG_ATTACHED),
				   .window_ticks = ticks_of(capture_header(capture), DISORDER_NS) };
	struct err *err = NULL;

	assert(!plan->streams);
	plan->stream_count = stream_count;
	plan->streams = calloc(stream_count + 1, sizeof(*plan->streams));
	if (!planner.outgoing || !plan->streams)
		err = err_nomem();
	plan->collector = stream_count > 0 && capture_stream_id(capture, 0) == TAPE_COLLECTOR_STREAM
				  ? 0
				  : UINT32_MAX;
	for (size_t i = 0; i < stream_count && !err; i++)
		plan->streams[i].open_out = UINT64_MAX;
	if (!err) {
		old_count(capture, is_old, context, plan);
		err = rotate_records_init(&planner.records, plan);
	}
	if (!err)
		err = play(&planner, capture);
	rotate_records_deinit(&planner.records);
	free(planner.outgoing);
	map_deinit(&planner.by_address);
	known_vec_deinit(&planner.blocks);
	return err;
}

void rotate_plan_deinit(struct rotate_plan *plan)
{
	for (size_t i = 0; plan->streams && i < plan->stream_count; i++) {
		rotate_bits_deinit(&plan->streams[i].events);
		rotate_bits_deinit(&plan->streams[i].records);
	}
	free(plan->streams);
	*plan = (struct rotate_plan) { 0 };
}
