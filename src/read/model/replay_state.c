/* Start and end of a replay; the rest is in replay.c. */
#include <assert.h>

#include "base/big.h"
#include "model/replay.h"

/*
 * Clocks of two processors differ a little, and a thread may be interrupted between the record and
 * the call. 2^18 cycles are about a tenth of a millisecond.
 */
enum { LATE_WINDOW_BITS = 18, STACKS_FIRST = 1 << 12 };

bool replay_init(struct replay *replay, const struct tape_header *header, struct rows *rows)
{
	uint32_t shift = header->tick_shift;

	*replay = (struct replay) {
		.rows = rows,
		.epoch = 1,
		.has_averages = header->flags & TAPE_FLAG_AVERAGES,
		.disorder = { .late_window_ticks =
				      (shift < LATE_WINDOW_BITS
					       ? UINT64_C(1) << (LATE_WINDOW_BITS - shift)
					       : 1),
			      .has_older_blocks =
				      header->flags & (TAPE_FLAG_FORKED | TAPE_FLAG_ATTACHED) },
		.last_ticks = header->start_ticks,
		.peak_ticks = header->start_ticks,
	};
	if (!blocks_init(&replay->blocks) ||
	    !timeline_init(&replay->timeline, header->start_ticks, shift))
		return false;
	for (unsigned fn = 0; fn < array_size(replay->class_of); fn++)
		replay->class_of[fn] = (uint8_t)tape_fn_class((enum tape_fn)fn);
	return true;
}

bool replay_reserve_streams(struct replay *replay, size_t count)
{
	const size_t room = u64_max(count, replay->stream_room * 2);

	if (count > replay->stream_room) {
		struct replay_stream *streams =
			realloc(replay->streams, room * sizeof(*replay->streams));

		if (!streams)
			return false;
		replay->streams = streams;
		replay->stream_room = room;
	}
	while (replay->stream_count < count)
		replay->streams[replay->stream_count++] = (struct replay_stream) {
			.thread = MODEL_NO_THREAD,
			.told.fn = TAPE_FN_EXTENDED,
		};
	return true;
}

void replay_deinit(struct replay *replay)
{
	blocks_deinit(&replay->blocks);
	disorder_deinit(&replay->disorder);
	stray_vec_deinit(&replay->strays.all);
	replay_threads_deinit(&replay->threads);
	big_free(replay->usables, replay->stacks.seat_room * sizeof(*replay->usables));
	big_free(replay->left.stacks, replay->stacks.seat_room * sizeof(*replay->left.stacks));
	tallies_deinit(&replay->stacks);
	timeline_deinit(&replay->timeline);
	err_destroy(replay->err);
	free(replay->streams);
}

bool replay_reserve_stacks(struct replay *replay, size_t count)
{
	size_t room = u64_max(count, u64_max(replay->stacks.seat_room * 2, STACKS_FIRST));

	if (likely(count <= replay->stacks.seat_room))
		return true;
	if (replay->latencies && !latencies_reserve_stacks(replay->latencies, room))
		return false;
	if (replay->rows) {
		void *usables = big_resize(replay->usables,
					   replay->stacks.seat_room * sizeof(*replay->usables),
					   room * sizeof(*replay->usables));

		if (!usables)
			return false;
		replay->usables = usables;
	}
	if (replay->left.stacks) {
		void *left = big_resize(replay->left.stacks,
					replay->stacks.seat_room * sizeof(*replay->left.stacks),
					room * sizeof(*replay->left.stacks));

		if (!left)
			return false;
		replay->left.stacks = left;
	}
	return tallies_reserve(&replay->stacks, room);
}

uint32_t replay_thread_add(struct replay *replay, uint32_t stream, uint32_t tid, const char *name,
			   uint64_t ticks)
{
	const struct replay_thread thread = {
		.begin_ticks = ticks,
		.end_ticks = MODEL_NEVER,
		.tid = tid,
		.last_serial = UINT32_MAX,
		.creator = MODEL_NO_THREAD,
		.create_stack = CAPTURE_STACK_NONE,
		.name = name,
		.stack_use = { .reserved_bytes = UINT64_MAX,
			       .seen_bytes = UINT64_MAX,
			       .touched_bytes = UINT64_MAX },
	};

	assert(stream < replay->stream_count);
	if (!replay_threads_push(&replay->threads, thread))
		return UINT32_MAX;
	replay->streams[stream].thread = (uint32_t)replay->threads.count - 1;
	return replay->streams[stream].thread;
}

static void tally_seal(struct tally *tally, uint32_t epoch)
{
	tally_touch(tally, epoch);
}

/* A realloc of no known block without an outcome on the tape: usually the program died in it. */
static void end_reallocs(struct replay *replay)
{
	for (size_t i = 0; i < replay->stream_count; i++) {
		const struct replay_stream *stream = &replay->streams[i];
		const struct replay_thread *thread;

		if (!stream->half.is_open || stream->out_ended || stream->half.out.address == 0 ||
		    stream->thread == MODEL_NO_THREAD ||
		    block_is_live(blocks_find(&replay->blocks, stream->half.out.address)))
			continue;
		thread = &replay->threads.items[stream->thread];
		replay->totals.unknown_free_count++;
		strays_add(&replay->strays, &stream->half.out, stream->thread,
			   replay->now.allocated_count,
			   thread->free_count + thread->tally.allocated.count);
	}
}

static void seal_strays(struct replay *replay)
{
	for (size_t i = 0; i < replay->strays.all.count; i++) {
		struct stray *stray = &replay->strays.all.items[i];
		const struct replay_thread *thread = &replay->threads.items[stray->free.thread];

		stray->free.is_last =
			thread->free_count + thread->tally.allocated.count == stray->calls;
	}
}

void replay_seal(struct replay *replay, size_t stack_count)
{
	assert(stack_count <= replay->stacks.seat_room);
	if (blocks_make_room(&replay->blocks))
		end_reallocs(replay);
	seal_strays(replay);
	for (uint32_t i = 1; i < replay->stacks.count; i++)
		tally_seal(&replay->stacks.items[i], replay->epoch);
	for (size_t i = 0; i < replay->threads.count; i++)
		tally_seal(&replay->threads.items[i].tally, replay->epoch);
	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++)
		tally_seal(&replay->sizes[i], replay->epoch);
	replay->timeline.spans[replay->timeline.at].end = replay->now;
	replay->totals.allocated =
		(struct model_sum) { replay->now.allocated_count, replay->now.allocated_bytes };
	replay->totals.leaked = (struct model_sum) {
		replay->now.live_count + replay->left.total.count,
		replay->now.live_bytes + replay->left.total.bytes,
	};
	replay->totals.leaked_usable_bytes += replay->left.usable_bytes;
}
