#include "model/replay.h"

/*
 * Nearly every event changes sums. If a pair of numbers is read as a vector just after one of them
 * was written alone, store forwarding fails: gcc's vectors cost a quarter of a replay.
 */
#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include <assert.h>

#include "base/big.h"
#include "model/replay_block.h"

static void sum_allocation(struct replay *replay, const struct capture_event *event, uint32_t slack,
			   uint32_t thread)
{
	uint64_t size = event->size;

	tally_alloc(tallies_seat(&replay->stacks, event->stack), size, replay->epoch);
	tally_alloc(&replay->threads.items[thread].tally, size, replay->epoch);
	tally_alloc(&replay->sizes[size_bucket(size)], size, replay->epoch);
	replay->now.allocated_count++;
	replay->now.allocated_bytes += size;
	replay->now.live_count++;
	replay->now.live_bytes += size;
	replay->totals.usable_bytes += size + slack;
	if (replay->usables)
		replay->usables[event->stack].allocated += size + slack;
	timeline_risen(&replay->timeline, replay->now.live_bytes);
	if (replay->now.live_bytes > replay->totals.peak.bytes) {
		replay->totals.peak =
			(struct model_sum) { replay->now.live_count, replay->now.live_bytes };
		replay->peak_ticks = event->ticks;
		replay->serial_at_peak = (uint32_t)replay->now.allocated_count;
		replay->ended_at_peak = replay->now.allocated_count - replay->now.live_count;
		replay->epoch++;
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

/* All except what the table of blocks knows of it. */
static struct err *begin_block(struct replay *replay, const struct capture_event *event,
			       const struct block *block, uint32_t realloc_of)
{
	replay->totals.leaked_usable_bytes += block->size + block->slack;
	replay->threads.items[block->thread].last_serial = block->serial;
	sum_allocation(replay, event, block->slack, block->thread);
	return replay->rows ? rows_add(replay->rows, event,
				       unlikely(replay->is_of_pools) ? replay->pool : block->slack,
				       block->thread, realloc_of)
			    : NULL;
}

static inline bool has_early(const struct replay *replay, const struct capture_event *event)
{
	const struct disorder *disorder = &replay->disorder;

	return unlikely(event->ticks - disorder->early_ticks <= disorder->early_window_ticks);
}

static struct err *add_block(struct replay *replay, const struct capture_event *event,
			     uint32_t thread, uint32_t realloc_of, uint32_t guess)
{
	const struct block value = {
		.address = event->address,
		.size = event->size,
		.slack = (uint32_t)u64_min(event->usable - event->size, UINT32_MAX),
		.stack = event->stack,
		.thread = thread,
		.serial = (uint32_t)replay->now.allocated_count,
	};
	struct seen_free early;
	struct block *block;
	struct err *err;
	bool is_early;

	if (!blocks_make_room(&replay->blocks) || !tallies_make_room(&replay->stacks))
		return err_nomem();
	block = blocks_find_near(&replay->blocks, event->address, guess);
	is_early = has_early(replay, event) && disorder_find_early(replay, event, thread, &early);
	if (likely(!is_early)) {
		if (unlikely(block_is_live(block)))
			disorder_replace(replay, event, thread, block);
		blocks_fill(&replay->blocks, block, value);
	}
	err = begin_block(replay, event, &value, realloc_of);
	if (unlikely(is_early) && !err)
		disorder_end_early(replay, block, value, event->ticks, &early);
	replay->told_row = value.serial;
	return err;
}

static struct err *on_alloc(struct replay *replay, const struct capture_event *event,
			    uint32_t thread, uint32_t guess)
{
	struct model_function *function = &replay->functions[event->fn];

	function->calls++;
	if (unlikely(event->address == 0)) {
		function->failed++;
		replay->totals.failed_count++;
		return NULL;
	}
	function->bytes += event->size;
	return add_block(replay, event, thread, ROW_NONE, guess);
}

static void left_add(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

/* Its memory is gone, and nobody has freed it. */
static struct err *on_process_end(struct replay *replay, const struct capture_event *event,
				  uint32_t thread)
{
	struct replay_left *left = &replay->left;
	struct block *block = blocks_find(&replay->blocks, event->address);

	if (event->address == 0 || !block_is_live(block))
		return NULL;
	if (!left->stacks)
		left->stacks = big_alloc(replay->stacks.seat_room * sizeof(*left->stacks));
	if (!left->stacks)
		return err_nomem();
	left_add(&left->stacks[block->stack], block->size);
	left_add(&left->sizes[size_bucket(block->size)], block->size);
	left_add(&left->total, block->size);
	left_add(&replay->threads.items[block->thread].left, block->size);
	left->usable_bytes += block->size + block->slack;
	replay->functions[event->fn].calls++;
	replay_free_block(replay, event, thread, block, false, 0);
	replay->totals.freed.count--;
	replay->totals.freed.bytes -= block->size;
	return NULL;
}

static void on_free(struct replay *replay, const struct capture_event *event, uint32_t thread,
		    uint32_t guess)
{
	const struct disorder *disorder = &replay->disorder;
	struct replay_stream *stream = &replay->streams[event->stream];
	struct block *block;
	bool is_ended = false;

	replay->functions[event->fn].calls++;
	if (unlikely(realloc_half_is_free(event)) && realloc_half_close(&stream->half))
		is_ended = stream->out_ended;
	if (event->address == 0) {
		replay->totals.free_null_count++;
		return;
	}
	replay->threads.items[thread].free_count++;
	replay->now.free_count++;
	block = blocks_find_near(&replay->blocks, event->address, guess);
	if (unlikely(is_ended))
		; /* realloc(p, 0) whose outcome was known before */
	else if (unlikely(event->ticks - disorder->late_ticks <= disorder->late_window_ticks) &&
		 disorder->late_at > 0 && disorder_free_late(replay, event, thread))
		;
	else if (likely(block_is_live(block)))
		replay_free_block(replay, event, thread, block, replay_is_temporary(replay, block),
				  0);
	else
		disorder_free_unknown(replay, event, event, thread);
}

/*
 * The old block stays until the outcome is known: a realloc that fails leaves it alone. If another
 * thread gets its address before that, it has evidently succeeded: see disorder.c.
 */
static void on_realloc_out(struct replay *replay, const struct capture_event *event)
{
	struct replay_stream *stream = &replay->streams[event->stream];

	realloc_half_open(&stream->half, event);
	stream->out_ended = false;
}

/* The old block of a realloc that succeeded; its index, for the new one to continue. */
static uint32_t end_old_block(struct replay *replay, const struct capture_event *event,
			      uint32_t thread)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct capture_event out = stream->half.out;
	struct block *block = blocks_find(&replay->blocks, out.address);
	uint32_t serial = block->serial;

	out.ticks = event->ticks;
	replay->threads.items[thread].free_count++;
	replay->now.free_count++;
	replay->totals.realloc_count++;
	if (stream->out_ended)
		return stream->out_serial;
	if (replay->disorder.late_at > 0 && disorder_free_late(replay, &out, thread))
		return ROW_NONE;
	if (!block_is_live(block))
		return disorder_free_unknown(replay, &out, event, thread);
	replay_free_block(replay, &out, thread, block, replay_is_temporary(replay, block),
			  MODEL_ALLOCATION_REALLOCED);
	return serial;
}

static struct err *on_realloc_in(struct replay *replay, const struct capture_event *event,
				 uint32_t thread, uint32_t guess)
{
	struct replay_stream *stream = &replay->streams[event->stream];
	struct model_function *function = &replay->functions[event->fn];
	uint32_t realloc_of = ROW_NONE;

	function->calls++;
	function->bytes += event->size;
	if (realloc_half_close(&stream->half) && stream->half.out.address)
		realloc_of = end_old_block(replay, event, thread);
	if (event->address == 0 || (unlikely(replay->is_paused) && realloc_of == ROW_NONE))
		return NULL; /* of a block that was allocated in the pause */
	return add_block(replay, event, thread, realloc_of, guess);
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
	realloc_half_close(&stream->half);
}

/* guess: of the number of its block. */
static inline struct err *play_event(struct replay *replay, const struct capture_event *event,
				     uint32_t thread, uint32_t guess)
{
	switch ((enum tape_event_class)replay->class_of[event->fn & 63]) {
	case TAPE_CLASS_ALLOC:
		return on_alloc(replay, event, thread, guess);
	case TAPE_CLASS_FREE:
		if (unlikely(event->fn == TAPE_FN_PROCESS_END))
			return on_process_end(replay, event, thread);
		on_free(replay, event, thread, guess);
		return NULL;
	case TAPE_CLASS_REALLOC_OUT:
		on_realloc_out(replay, event);
		return NULL;
	case TAPE_CLASS_REALLOC_IN:
		return on_realloc_in(replay, event, thread, guess);
	case TAPE_CLASS_REALLOC_FAIL:
		on_realloc_fail(replay, event);
		return NULL;
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return NULL;
}

/* The same, and remembers what a latency that follows in its stream refers to. */
static struct err *play_timed(struct replay *replay, const struct capture_event *event,
			      uint32_t thread, uint32_t guess)
{
	struct latency_of *told = &replay->streams[event->stream].told;
	const enum tape_event_class class = (enum tape_event_class)replay->class_of[event->fn & 63];
	struct err *err;

	if (class == TAPE_CLASS_LATENCY) {
		const struct latency_of of = *told;

		told->fn = TAPE_FN_EXTENDED; /* one for each */
		return of.fn == TAPE_FN_EXTENDED
			       ? NULL
			       : latencies_add(replay->latencies, &of, event->size);
	}
	replay->told_row = ROW_NONE;
	err = play_event(replay, event, thread, guess);
	*told = (struct latency_of) {
		.row = class == TAPE_CLASS_REALLOC_OUT ? ROW_NONE : replay->told_row,
		.stack = event->stack,
		.fn = (uint8_t)event->fn,
		.is_free = class == TAPE_CLASS_FREE,
	};
	if (class == TAPE_CLASS_REALLOC_FAIL)
		told->fn--; /* counted as in on_realloc_fail() */
	return err;
}

static inline struct err *replay_event(struct replay *replay, const struct capture_event *event,
				       uint32_t guess)
{
	uint32_t thread = stream_thread(replay, event);
	struct capture_event then;

	if (unlikely(thread == UINT32_MAX))
		return err_nomem();
	assert(event->stack < replay->stacks.seat_room);
	if (unlikely(event->ticks < replay->last_ticks)) {
		then = *event; /* an invalid tape: rows must be in order in any case */
		then.ticks = replay->last_ticks;
		event = &then;
	}
	replay->last_ticks = event->ticks;
	timeline_see(&replay->timeline, event->ticks, &replay->now);
	return likely(!replay->latencies) ? play_event(replay, event, thread, guess)
					  : play_timed(replay, event, thread, guess);
}

size_t replay_pass(struct replay *replay, const struct capture_event *events, size_t count)
{
	size_t i = 0;

	while (i < count && events[i].fn != TAPE_FN_EXTENDED)
		i++;
	if (i > 0) {
		replay->last_ticks = u64_max(replay->last_ticks, events[i - 1].ticks);
		timeline_see(&replay->timeline, replay->last_ticks, &replay->now);
	}
	return i;
}

/*
 * Memory is slow: an event's slot in the index of blocks is prefetched early; once it is there, the
 * block itself; and once that is there, what it refers to: the tallies of its stack.
 */
enum { FAR = 32, MIDDLE = 20, NEAR = 9, GUESSES = 32 };

/* Branchless: whether an event is a free is unpredictable. */
static inline uint32_t choose(bool first, uint32_t a, uint32_t b)
{
	const uint32_t mask = (uint32_t) - (int32_t)first;

	return (a & mask) | (b & ~mask);
}

__attribute__((always_inline)) static inline void prefetch_far(const struct replay *replay,
							       const struct capture_event *event)
{
	blocks_prefetch(&replay->blocks, event->address);
}

__attribute__((always_inline)) static inline uint32_t
prefetch_middle(const struct replay *replay, const struct capture_event *event)
{
	return blocks_prefetch_guess(&replay->blocks, event->address);
}

__attribute__((always_inline)) static inline void
prefetch_near(const struct replay *replay, const struct capture_event *event, uint32_t guess)
{
	const uint32_t stack = choose(tape_fn_sizeless(event->fn),
				      replay->blocks.items[guess].stack, event->stack);

	tallies_prefetch(&replay->stacks, stack);
	if (replay->rows)
		__builtin_prefetch(&replay->usables[stack], 1);
}

/*
 * The last events played, for looking back from the first of the next ones. As many as are looked
 * at: what is found must not depend on how events are handed over.
 */
static void note_past(struct replay *replay, const struct capture_event *events, size_t count)
{
	const size_t fresh = u64_min(count, PAST_MAX);
	const size_t place = (replay->past_count + count - fresh) % PAST_MAX;
	const size_t first = u64_min(fresh, PAST_MAX - place);

	static_assert((PAST_MAX & (PAST_MAX - 1)) == 0, "past_count may wrap");
	memcpy(replay->past + place, events + count - fresh, first * sizeof(*events));
	memcpy(replay->past, events + count - fresh + first, (fresh - first) * sizeof(*events));
	replay->past_count += count;
}

struct err *replay_events(struct replay *replay, const struct capture_event *events, size_t count,
			  size_t *count_ret)
{
	const size_t far_count = count - u64_min(FAR, count);
	const size_t middle_count = count - u64_min(MIDDLE, count);
	const size_t near_count = count - u64_min(NEAR, count);
	uint32_t guesses[GUESSES]; /* of the numbers of the next events' blocks, in a ring */
	struct err *err = NULL;
	size_t i;

	static_assert(MIDDLE < GUESSES && (GUESSES & (GUESSES - 1)) == 0, "they fit");
	assert(events || count == 0);
	replay->batch = events;
	replay->batch_count = count;
	for (i = 0; i < u64_min(FAR, count); i++)
		prefetch_far(replay, &events[i]);
	for (i = 0; i < u64_min(MIDDLE, count); i++)
		guesses[i] = prefetch_middle(replay, &events[i]);
	for (i = 0; i < u64_min(NEAR, count); i++)
		prefetch_near(replay, &events[i], guesses[i]);
	for (i = 0; i < count && !err; i++) {
		if (i < far_count)
			prefetch_far(replay, &events[i + FAR]);
		if (i < middle_count)
			guesses[(i + MIDDLE) % GUESSES] =
				prefetch_middle(replay, &events[i + MIDDLE]);
		if (i < near_count)
			prefetch_near(replay, &events[i + NEAR], guesses[(i + NEAR) % GUESSES]);
		if (unlikely(events[i].fn == TAPE_FN_EXTENDED))
			break;
		err = replay_event(replay, &events[i], guesses[i % GUESSES]);
	}
	note_past(replay, events, i);
	*count_ret = i;
	return err ? err : steal(replay->err);
}
