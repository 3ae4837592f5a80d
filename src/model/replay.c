#include "model/replay.h"

#include <assert.h>

#include "base/big.h"

/*
 * Clocks of two processors differ a little, and a thread may be interrupted between the record and
 * the call. 2^18 cycles are about a tenth of a millisecond.
 */
enum { LATE_WINDOW_BITS = 18, STACKS_FIRST = 1 << 12 };

bool replay_init(struct replay *replay, const struct capture *capture, struct rows *rows)
{
	const struct tape_header *header = capture_header(capture);
	uint32_t shift = header->tick_shift;

	*replay = (struct replay) {
		.rows = rows,
		.stream_count = capture_stream_count(capture),
		.epoch = 1,
		.late_window_ticks =
			(shift < LATE_WINDOW_BITS ? UINT64_C(1) << (LATE_WINDOW_BITS - shift) : 1),
		.early_ticks = UINT64_MAX,
		.last_ticks = header->start_ticks,
		.peak_ticks = header->start_ticks,
	};
	timeline_init(&replay->timeline, header->start_ticks, shift);
	replay->streams = calloc(replay->stream_count + 1, sizeof(*replay->streams));
	if (!replay->streams || !blocks_init(&replay->blocks))
		return false;
	for (unsigned fn = 0; fn < array_size(replay->class_of); fn++)
		replay->class_of[fn] = (uint8_t)tape_fn_class((enum tape_fn)fn);
	for (size_t i = 0; i < replay->stream_count; i++)
		replay->streams[i].thread = MODEL_NO_THREAD;
	return true;
}

void replay_deinit(struct replay *replay)
{
	blocks_deinit(&replay->blocks);
	replay_threads_deinit(&replay->threads);
	big_free(replay->stacks, replay->stack_room * sizeof(*replay->stacks));
	free(replay->streams);
}

bool replay_reserve_stacks(struct replay *replay, size_t count)
{
	size_t room = u64_max(count, u64_max(replay->stack_room * 2, STACKS_FIRST));
	void *stacks;

	if (count <= replay->stack_room)
		return true;
	stacks = big_resize(replay->stacks, replay->stack_room * sizeof(*replay->stacks),
			    room * sizeof(*replay->stacks));
	if (!stacks)
		return false;
	replay->stacks = stacks;
	replay->stack_room = room;
	return true;
}

uint32_t replay_thread_add(struct replay *replay, uint32_t stream, uint32_t tid, const char *name,
			   uint64_t ticks)
{
	const struct replay_thread thread = {
		.begin_ticks = ticks, .end_ticks = MODEL_NEVER, .tid = tid, .name = name
	};

	if (!replay_threads_push(&replay->threads, thread))
		return UINT32_MAX;
	replay->streams[stream].thread = (uint32_t)replay->threads.count - 1;
	return replay->streams[stream].thread;
}

static inline void tally_touch(struct tally *tally, uint32_t epoch)
{
	if (tally->epoch != epoch) {
		tally->peak = tally->live;
		tally->epoch = epoch;
	}
}

static inline void tally_alloc(struct tally *tally, uint64_t size, uint32_t epoch)
{
	tally_touch(tally, epoch);
	tally->allocated.count++;
	tally->allocated.bytes += size;
	tally->live.count++;
	tally->live.bytes += size;
}

static inline void tally_free(struct tally *tally, uint64_t size, uint32_t epoch, bool is_temporary)
{
	tally_touch(tally, epoch);
	tally->live.count--;
	tally->live.bytes -= size;
	tally->temporary_count += is_temporary;
	tally->temporary_bytes += is_temporary ? size : 0;
}

static inline unsigned size_bucket(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* Takes a block out of every sum of what is live. */
static void block_end(struct replay *replay, const struct block *block, bool is_temporary)
{
	tally_free(&replay->stacks[block->stack], block->size, replay->epoch, is_temporary);
	tally_free(&replay->threads.items[block->thread].tally, block->size, replay->epoch,
		   is_temporary);
	tally_free(&replay->sizes[size_bucket(block->size)], block->size, replay->epoch,
		   is_temporary);
	replay->now.live_bytes -= block->size;
	replay->now.live_count--;
	replay->totals.leaked_usable_bytes -= block->size + block->slack;
	if (is_temporary) {
		replay->totals.temporary.count++;
		replay->totals.temporary.bytes += block->size;
	}
}

static void sum_allocation(struct replay *replay, const struct capture_event *event,
			   uint32_t thread)
{
	uint64_t size = event->size;

	tally_alloc(&replay->stacks[event->stack], size, replay->epoch);
	tally_alloc(&replay->threads.items[thread].tally, size, replay->epoch);
	tally_alloc(&replay->sizes[size_bucket(size)], size, replay->epoch);
	replay->now.allocated_count++;
	replay->now.allocated_bytes += size;
	replay->now.live_count++;
	replay->now.live_bytes += size;
	replay->totals.usable_bytes += event->usable;
	timeline_risen(&replay->timeline, replay->now.live_bytes);
	if (replay->now.live_bytes > replay->totals.peak.bytes) {
		replay->totals.peak =
			(struct model_sum) { replay->now.live_count, replay->now.live_bytes };
		replay->peak_ticks = event->ticks;
		replay->serial_at_peak = (uint32_t)replay->now.allocated_count;
		replay->epoch++;
	}
}

/* A free that was seen: of a block with a row. */
static void count_free(struct replay *replay, const struct capture_event *event, uint32_t thread,
		       const struct block *block)
{
	struct replay_thread *freer = &replay->threads.items[thread];

	replay->totals.freed.count++;
	replay->totals.freed.bytes += block->size;
	/* the first half of a realloc is not a call: its row tells of the second */
	if (replay->class_of[event->fn] == TAPE_CLASS_FREE)
		replay->functions[event->fn].bytes += block->size;
	freer->foreign_free_count += block->thread != thread;
}

static bool is_temporary(const struct replay_stream *stream, const struct block *block)
{
	return stream->has_last && stream->last_serial == block->serial;
}

static void free_block(struct replay *replay, const struct capture_event *event, uint32_t thread,
		       struct block *block, bool is_temporary, unsigned flag)
{
	count_free(replay, event, thread, block);
	block_end(replay, block, is_temporary);
	if (replay->rows)
		rows_free(replay->rows, block->serial, event, thread, replay->epoch,
			  flag | (is_temporary ? MODEL_ALLOCATION_TEMPORARY : 0));
	blocks_end(&replay->blocks, block);
}

/*
 * Whether the block is being moved by a realloc whose outcome is not on the tape yet - its thread
 * may have been interrupted there for long. That the address is given out tells the outcome.
 */
static bool end_by_realloc(struct replay *replay, const struct capture_event *event,
			   struct block *block)
{
	for (size_t i = 0; i < replay->stream_count; i++) {
		struct replay_stream *stream = &replay->streams[i];
		struct capture_event out = stream->out;

		if (!stream->is_reallocating || stream->out_ended || i == event->stream ||
		    out.address != event->address)
			continue;
		out.ticks = event->ticks;
		stream->out_ended = true;
		stream->out_serial = block->serial;
		free_block(replay, &out, stream->thread, block, is_temporary(stream, block),
			   MODEL_ALLOCATION_REALLOCED);
		return true;
	}
	return false;
}

/* The allocator gave out an address that is taken: its block was freed, though nobody told us. */
static void lose_block(struct replay *replay, const struct capture_event *event, uint32_t thread,
		       struct block *block)
{
	const struct capture_event unseen = { .ticks = event->ticks,
					      .stack = CAPTURE_STACK_NONE,
					      .fn = TAPE_FN_EXTENDED };

	replay->late[replay->late_at++ % LATE_MAX] =
		(struct late_block) { event->address, block->size, event->ticks, block->serial,
				      thread };
	replay->late_ticks = event->ticks;
	replay->totals.lost_free_count++;
	block_end(replay, block, false);
	if (replay->rows)
		rows_free(replay->rows, block->serial, &unseen, MODEL_NO_THREAD, replay->epoch,
			  MODEL_ALLOCATION_LOST_FREE);
	blocks_end(&replay->blocks, block);
}

/* Whether this free belongs to a block that was lost a moment ago; then it is taken as its free. */
static bool free_late(struct replay *replay, const struct capture_event *event, uint32_t thread)
{
	for (unsigned i = 0; i < LATE_MAX; i++) {
		struct late_block *late = &replay->late[i];

		if (late->address != event->address || late->thread == thread ||
		    event->ticks - late->ticks > replay->late_window_ticks)
			continue;
		late->address = 0;
		replay->totals.lost_free_count--;
		replay->totals.freed.count++;
		replay->totals.freed.bytes += late->size;
		if (replay->rows) {
			struct rows *rows = replay->rows;
			uint64_t freed_at = rows->free_time[late->serial];

			rows_free(rows, late->serial, event, thread, rows->free_epoch[late->serial],
				  0);
			rows->free_time[late->serial] = freed_at;
			rows->flags[late->serial] &= (uint8_t)~MODEL_ALLOCATION_LOST_FREE;
		}
		return true;
	}
	return false;
}

static void free_unknown(struct replay *replay, const struct capture_event *event, uint32_t thread)
{
	replay->totals.unknown_free_count++;
	replay->early[replay->early_at++ % EARLY_MAX] = (struct early_free) { *event, thread };
	replay->early_ticks = event->ticks;
}

/* The free of this block came first, at the same tick, from another thread. */
static void free_early(struct replay *replay, const struct capture_event *event, uint32_t thread)
{
	for (unsigned i = 0; i < EARLY_MAX; i++) {
		struct early_free *early = &replay->early[i];

		if (early->event.address != event->address || early->event.ticks != event->ticks ||
		    early->thread == thread)
			continue;
		early->event.address = 0;
		replay->totals.unknown_free_count--;
		free_block(replay, &early->event, early->thread,
			   blocks_find(&replay->blocks, event->address), false, 0);
		return;
	}
}

/* Thread of a stream that has not introduced itself. */
static inline uint32_t stream_thread(struct replay *replay, const struct capture_event *event)
{
	uint32_t thread = replay->streams[event->stream].thread;

	if (unlikely(thread == MODEL_NO_THREAD))
		thread = replay_thread_add(replay, event->stream, 0, "", event->ticks);
	return thread;
}

static struct err *add_block(struct replay *replay, const struct capture_event *event,
			     uint32_t thread, uint32_t realloc_of)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	uint32_t serial = (uint32_t)replay->now.allocated_count;
	struct block *block, value;

	if (!blocks_make_room(&replay->blocks))
		return err_nomem();
	block = blocks_find(&replay->blocks, event->address);
	if (unlikely(block_is_live(block))) {
		if (!end_by_realloc(replay, event, block))
			lose_block(replay, event, thread, block);
	}
	value = (struct block) {
		.address = event->address,
		.size = event->size,
		.slack = (uint32_t)u64_min(event->usable - event->size, UINT32_MAX),
		.stack = event->stack,
		.thread = thread,
		.serial = serial,
	};
	blocks_fill(&replay->blocks, block, value);
	replay->totals.leaked_usable_bytes += event->size + block->slack;
	stream->last_serial = serial;
	stream->has_last = true;
	sum_allocation(replay, event, thread);
	if (replay->rows) {
		struct err *err = rows_add(replay->rows, event, thread, realloc_of);

		if (err)
			return err;
	}
	if (unlikely(replay->early_ticks == event->ticks))
		free_early(replay, event, thread);
	return NULL;
}

static struct err *on_alloc(struct replay *replay, const struct capture_event *event,
			    uint32_t thread)
{
	struct model_function *function = &replay->functions[event->fn];

	function->calls++;
	if (unlikely(event->address == 0)) {
		function->failed++;
		replay->totals.failed_count++;
		replay->streams[event->stream].has_last = false;
		return NULL;
	}
	function->bytes += event->size;
	return add_block(replay, event, thread, MODEL_NO_ALLOCATION);
}

static void on_free(struct replay *replay, const struct capture_event *event, uint32_t thread)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct block *block;

	replay->functions[event->fn].calls++;
	if (event->address == 0) {
		replay->totals.free_null_count++;
		return;
	}
	replay->threads.items[thread].free_count++;
	replay->now.free_count++;
	block = blocks_find(&replay->blocks, event->address);
	if (unlikely(stream->is_reallocating && stream->out_ended))
		; /* realloc(p, 0), and what became of it was known before */
	else if (unlikely(event->ticks - replay->late_ticks <= replay->late_window_ticks) &&
		 replay->late_at > 0 && free_late(replay, event, thread))
		;
	else if (likely(block_is_live(block)))
		free_block(replay, event, thread, block, is_temporary(stream, block), 0);
	else
		free_unknown(replay, event, thread);
	stream->has_last = false;
	stream->is_reallocating = false; /* realloc(p, 0) that freed: OUT, then this */
}

/*
 * The old block stays until the outcome is known: a realloc that fails leaves it alone. Should
 * another thread get its address before that, it has evidently succeeded: see end_by_realloc.
 */
static void on_realloc_out(struct replay *replay, const struct capture_event *event)
{
	struct replay_stream *stream = &replay->streams[event->stream];

	stream->is_reallocating = true;
	stream->out_ended = false;
	stream->out = *event;
}

/* The old block of a realloc that succeeded; its index, for the new one to continue. */
static uint32_t end_old_block(struct replay *replay, const struct capture_event *event,
			      uint32_t thread)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct capture_event out = stream->out;
	struct block *block = blocks_find(&replay->blocks, out.address);
	uint32_t serial = block->serial;

	out.ticks = event->ticks;
	replay->threads.items[thread].free_count++;
	replay->now.free_count++;
	replay->totals.realloc_count++;
	if (stream->out_ended)
		return stream->out_serial;
	if (replay->late_at > 0 && free_late(replay, &out, thread))
		return MODEL_NO_ALLOCATION;
	if (!block_is_live(block)) {
		free_unknown(replay, &out, thread);
		return MODEL_NO_ALLOCATION;
	}
	free_block(replay, &out, thread, block, is_temporary(stream, block),
		   MODEL_ALLOCATION_REALLOCED);
	return serial;
}

static struct err *on_realloc_in(struct replay *replay, const struct capture_event *event,
				 uint32_t thread)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct model_function *function = &replay->functions[event->fn];
	uint32_t realloc_of = MODEL_NO_ALLOCATION;

	function->calls++;
	function->bytes += event->size;
	if (stream->is_reallocating && stream->out.address)
		realloc_of = end_old_block(replay, event, thread);
	stream->is_reallocating = false;
	stream->has_last = false;
	if (event->address == 0)
		return NULL;
	return add_block(replay, event, thread, realloc_of);
}

static void on_realloc_fail(struct replay *replay, const struct capture_event *event)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct model_function *function = &replay->functions[event->fn - 1];

	/* summed at the _IN number, which is the one before _FAIL */
	static_assert(TAPE_FN_REALLOC_FAIL == TAPE_FN_REALLOC_IN + 1, "see above");
	static_assert(TAPE_FN_REALLOCARRAY_FAIL == TAPE_FN_REALLOCARRAY_IN + 1, "see above");
	function->calls++;
	function->failed++;
	replay->totals.failed_count++;
	stream->is_reallocating = false;
	stream->has_last = false;
}

struct err *replay_event(struct replay *replay, const struct capture_event *event)
{
	uint32_t thread = stream_thread(replay, event);

	if (unlikely(thread == UINT32_MAX))
		return err_nomem();
	assert(event->stack < replay->stack_room);
	replay->last_ticks = u64_max(replay->last_ticks, event->ticks);
	timeline_see(&replay->timeline, event->ticks, &replay->now);
	switch ((enum tape_event_class)replay->class_of[event->fn & 63]) {
	case TAPE_CLASS_ALLOC:
		return on_alloc(replay, event, thread);
	case TAPE_CLASS_FREE:
		on_free(replay, event, thread);
		return NULL;
	case TAPE_CLASS_REALLOC_OUT:
		on_realloc_out(replay, event);
		return NULL;
	case TAPE_CLASS_REALLOC_IN:
		return on_realloc_in(replay, event, thread);
	case TAPE_CLASS_REALLOC_FAIL:
		on_realloc_fail(replay, event);
		return NULL;
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return NULL;
}

static void tally_seal(struct tally *tally, uint32_t epoch)
{
	tally_touch(tally, epoch);
}

void replay_seal(struct replay *replay, size_t stack_count)
{
	for (size_t i = 0; i < stack_count; i++)
		tally_seal(&replay->stacks[i], replay->epoch);
	for (size_t i = 0; i < replay->threads.count; i++)
		tally_seal(&replay->threads.items[i].tally, replay->epoch);
	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++)
		tally_seal(&replay->sizes[i], replay->epoch);
	replay->timeline.spans[replay->timeline.at].end = replay->now;
	replay->totals.allocated =
		(struct model_sum) { replay->now.allocated_count, replay->now.allocated_bytes };
	replay->totals.leaked =
		(struct model_sum) { replay->now.live_count, replay->now.live_bytes };
}
