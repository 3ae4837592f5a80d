#include "model/disorder.h"

#include <assert.h>
#include <stdlib.h>

#include "model/replay_block.h"

/* Adds to the frees of a function and of a thread, or subtracts. */
static void count_as(struct replay *replay, const struct seen_free *free,
		     const struct ended_block *block, bool is_its_free)
{
	const uint64_t sign = is_its_free ? 1 : UINT64_MAX; /* modulo 2^64 */

	if (replay->class_of[free->event.fn] == TAPE_CLASS_FREE)
		replay->functions[free->event.fn].bytes += sign * block->size;
	if (block->thread != free->thread)
		replay->threads.items[free->thread].foreign_free_count += sign;
}

/* Corrects the end of a block; the time stays. */
static void tell_end_as(struct replay *replay, const struct ended_block *block,
			const struct seen_free *free)
{
	struct capture_event then = free->event;

	count_as(replay, free, block, true);
	then.ticks = block->ticks;
	if (replay->rows)
		replay_keep(replay, rows_retell(replay->rows, block->serial, &then, free->thread,
						block->flags));
}

/* --- the address is taken ------------------------------------------------------------------- */

/*
 * Whether the block is being moved by a realloc whose outcome is not on the tape yet - its thread
 * may have been interrupted there for long. That the address is reused shows the outcome.
 */
static bool end_by_realloc(struct replay *replay, const struct capture_event *event,
			   struct block *block)
{
	for (size_t i = 0; i < replay->stream_count; i++) {
		struct replay_stream *stream = &replay->streams[i];
		struct capture_event out = stream->half.out;

		if (!stream->half.is_open || stream->out_ended || i == event->stream ||
		    out.address != event->address)
			continue;
		out.ticks = event->ticks;
		stream->out_ended = true;
		stream->out_serial = block->serial;
		replay_free_block(replay, &out, stream->thread, block,
				  replay_is_temporary(replay, block), MODEL_ALLOCATION_REALLOCED);
		return true;
	}
	return false;
}

/* The allocator returned an address that is in use: its block was freed unseen. */
static void lose_block(struct replay *replay, const struct capture_event *event, uint32_t thread,
		       struct block *block)
{
	struct disorder *disorder = &replay->disorder;
	const struct capture_event unseen = { .ticks = event->ticks,
					      .stack = CAPTURE_STACK_NONE,
					      .fn = TAPE_FN_EXTENDED };

	disorder->late[disorder->late_at++ % LATE_MAX] =
		(struct late_block) { event->address,
				      { block->size, event->ticks, block->serial, block->thread,
					MODEL_ALLOCATION_LOST_FREE },
				      thread };
	disorder->late_ticks = event->ticks;
	replay->totals.lost_free_count++;
	replay_sum_end(replay, block, false);
	if (replay->rows)
		replay_keep(replay, rows_free(replay->rows, block, &unseen, MODEL_NO_THREAD,
					      MODEL_ALLOCATION_LOST_FREE));
	blocks_end(&replay->blocks, block);
}

void disorder_replace(struct replay *replay, const struct capture_event *event, uint32_t thread,
		      struct block *block)
{
	assert(block->address == event->address);
	assert(thread < replay->threads.count);
	if (!end_by_realloc(replay, event, block))
		lose_block(replay, event, thread, block);
}

bool disorder_free_late(struct replay *replay, const struct capture_event *event, uint32_t thread)
{
	struct disorder *disorder = &replay->disorder;

	assert(event->address != 0);
	for (unsigned i = 0; i < LATE_MAX; i++) {
		struct late_block *late = &disorder->late[i];
		const struct seen_free free = { .event = *event, .thread = thread };

		if (late->address != event->address || late->thread == thread ||
		    event->ticks - late->block.ticks > disorder->late_window_ticks)
			continue;
		late->address = 0;
		late->block.flags = 0;
		replay->totals.lost_free_count--;
		replay->totals.freed.count++;
		replay->totals.freed.bytes += late->block.size;
		tell_end_as(replay, &late->block, &free);
		return true;
	}
	return false;
}

/* --- another free of the same block --------------------------------------------------------- */

/* This block was ended by `free`, not by `before`. */
static void tell_anew(struct replay *replay, const struct ended_block *block,
		      const struct seen_free *before, const struct seen_free *free)
{
	count_as(replay, before, block, false);
	tell_end_as(replay, block, free);
}

/* --- blocks with an early free ---------------------------------------------------------------- */

/* Dead like others, except that nothing more is known of it. */
static void forget(struct block *slot)
{
	slot->thread = (uint32_t)BLOCK_DEAD | BLOCK_THREAD;
}

/* The slot's slack becomes the number of the pair. */
static void remember(struct replay *replay, struct block *slot, const struct early_pair *pair)
{
	struct disorder *disorder = &replay->disorder;
	const uint32_t index = disorder->pair_at++ % PAIRS_MAX;
	struct early_pair *place;
	struct block *oldest;

	forget(slot);
	if (!disorder->pairs)
		disorder->pairs = calloc(PAIRS_MAX, sizeof(*disorder->pairs));
	if (!disorder->pairs)
		return;
	place = &disorder->pairs[index];
	if (place->free.event.address != 0) {
		oldest = blocks_find(&replay->blocks, place->free.event.address);
		if (block_is_remembered(oldest) && oldest->slack == index)
			forget(oldest);
	}
	*place = *pair;
	slot->slack = index;
	slot->thread |= BLOCK_REMEMBERED;
}

/* The block of an early free is freed again: the early one was of no block. The two are swapped. */
static uint32_t take_back(struct replay *replay, struct block *slot, struct early_free *early)
{
	struct early_pair *pair = &replay->disorder.pairs[slot->slack];
	const struct seen_free later = early->free;

	assert(pair->free.event.address == slot->address);
	early->free = pair->free;
	early->block = pair->block;
	pair->free.event.address = 0;
	forget(slot);
	if (replay->class_of[later.event.fn] == TAPE_CLASS_FREE)
		early->rival = later;
	else
		early->block.flags = MODEL_ALLOCATION_REALLOCED;
	tell_anew(replay, &early->block, &early->free, &later);
	replay->told_row = early->block.serial;
	return early->block.serial;
}

/* --- frees of no block ------------------------------------------------------------------------ */

/* Whether to look back beyond this event for the one that ended the slot's block. */
static bool is_passed_over(const struct replay *replay, const struct capture_event *event,
			   const struct block *slot)
{
	return event->fn >= TAPE_FN_COUNT || event->address != slot->address ||
	       replay->class_of[event->fn] == TAPE_CLASS_REALLOC_OUT;
}

/* The event this many before the one at this place of the batch; NULL: too long ago. */
static const struct capture_event *event_before(const struct replay *replay, size_t place,
						size_t back)
{
	if (back <= place)
		return &replay->batch[place - back];
	back -= place;
	if (back > u64_min(replay->past_count, PAST_MAX))
		return NULL;
	return &replay->past[(replay->past_count - back) % PAST_MAX];
}

/* The latest event of the slot's address before this place of the batch; NULL: there is none. */
static const struct capture_event *look_back(const struct replay *replay, size_t place,
					     uint64_t ticks, const struct block *slot)
{
	for (size_t back = 1; back <= PAST_MAX; back++) {
		const struct capture_event *event = event_before(replay, place, back);

		if (!event || ticks - event->ticks > replay->disorder.early_window_ticks)
			return NULL;
		if (!is_passed_over(replay, event, slot))
			return event;
	}
	return NULL;
}

static void find_rival(const struct replay *replay, const struct block *slot,
		       const struct capture_event *at, struct early_free *early)
{
	const struct capture_event *event = NULL;
	uint32_t thread;

	if (at >= replay->batch && at < replay->batch + replay->batch_count)
		event = look_back(replay, (size_t)(at - replay->batch), early->free.event.ticks,
				  slot);
	if (!event || replay->class_of[event->fn] != TAPE_CLASS_FREE ||
	    replay_free_mark(event) != slot->slack)
		return;
	thread = replay->streams[event->stream].thread;
	if (thread == early->free.thread || thread == MODEL_NO_THREAD)
		return;
	early->rival = (struct seen_free) {
		.event = *event,
		.row_count = early->free.row_count,
		.calls = UINT64_MAX,
		.thread = thread,
		.had_block = true,
	};
	early->block = (struct ended_block) {
		.size = slot->size,
		.ticks = event->ticks,
		.serial = slot->serial,
		.thread = slot->thread & BLOCK_THREAD,
		.flags = slot->thread & BLOCK_TEMPORARY ? MODEL_ALLOCATION_TEMPORARY : 0,
	};
}

static void count_unknown(struct replay *replay, const struct early_free *early)
{
	struct disorder *disorder = &replay->disorder;
	const unsigned place = disorder->early_at++ % EARLY_MAX;
	const struct seen_free *free = &early->free;

	replay->totals.unknown_free_count++;
	strays_add(&replay->strays, &free->event, free->thread, free->row_count, free->calls);
	disorder->early[place] = *early;
	disorder->early_addresses[place] = free->event.address;
	disorder->early_ticks = replay->last_ticks;
}

uint32_t disorder_free_unknown(struct replay *replay, const struct capture_event *event,
			       const struct capture_event *at, uint32_t thread)
{
	const struct replay_thread *freer = &replay->threads.items[thread];
	struct block *slot = blocks_find(&replay->blocks, event->address);
	struct early_free early = {
		.free = { .event = *event,
			  .row_count = replay->now.allocated_count,
			  .calls = freer->free_count + freer->tally.allocated.count,
			  .thread = thread,
			  .had_block = slot->address != 0 },
	};
	uint32_t row = ROW_NONE;

	assert(event->address != 0);
	assert(thread < replay->threads.count);
	if (block_is_remembered(slot))
		row = take_back(replay, slot, &early);
	else if (slot->address != 0 && (slot->thread & BLOCK_THREAD) != BLOCK_THREAD)
		find_rival(replay, slot, at, &early);
	count_unknown(replay, &early);
	return row;
}

/* --- the allocation that comes after its free ------------------------------------------------- */

/* Blocks from before the tape usually end by frees of no block at addresses not seen before. */
static bool may_be_early(const struct disorder *disorder, const struct seen_free *free,
			 const struct capture_event *event, uint32_t thread)
{
	const uint64_t ahead = event->ticks - free->event.ticks;

	return free->event.address != 0 && free->thread != thread &&
	       ahead <= disorder->early_window_ticks &&
	       (ahead == 0 || free->had_block || !disorder->has_older_blocks);
}

/* The later of the two, if both are possible: a free is early only by little. */
static const struct seen_free *choose(const struct disorder *disorder,
				      const struct early_free *early,
				      const struct capture_event *event, uint32_t thread)
{
	const struct seen_free *a = &early->free, *b = &early->rival;

	if (!may_be_early(disorder, a, event, thread))
		return may_be_early(disorder, b, event, thread) ? b : NULL;
	if (!may_be_early(disorder, b, event, thread))
		return a;
	return a->event.ticks >= b->event.ticks ? a : b;
}

/* The end of this block was corrected: the event that ended it before is no longer a rival. */
static void forget_rivals(struct disorder *disorder, uint32_t serial)
{
	for (unsigned i = 0; i < EARLY_MAX; i++)
		if (disorder->early[i].block.serial == serial)
			disorder->early[i].rival.event.address = 0;
}

static void early_take(struct replay *replay, unsigned place, const struct seen_free *chosen,
		       struct seen_free *free_ret)
{
	struct disorder *disorder = &replay->disorder;
	struct early_free *early = &disorder->early[place];

	*free_ret = *chosen;
	replay->totals.unknown_free_count--;
	strays_drop(&replay->strays, &early->free.event, early->free.thread);
	disorder->early_addresses[place] = 0;
	if (chosen == &early->rival) {
		tell_anew(replay, &early->block, &early->rival, &early->free);
		forget_rivals(disorder, early->block.serial);
	}
}

bool disorder_find_early(struct replay *replay, const struct capture_event *event, uint32_t thread,
			 struct seen_free *free_ret)
{
	const struct disorder *disorder = &replay->disorder;

	for (unsigned i = 0; i < EARLY_MAX; i++) { /* newest first */
		const unsigned place = (disorder->early_at - 1 - i) % EARLY_MAX;
		const struct seen_free *chosen;

		if (likely(disorder->early_addresses[place] != event->address))
			continue;
		chosen = choose(disorder, &disorder->early[place], event, thread);
		if (!chosen)
			continue;
		early_take(replay, place, chosen, free_ret);
		return true;
	}
	return false;
}

void disorder_end_early(struct replay *replay, struct block *slot, struct block block,
			uint64_t ticks, const struct seen_free *free)
{
	const struct early_pair pair = {
		.free = *free,
		.block = { .size = block.size,
			   .ticks = ticks,
			   .serial = block.serial,
			   .thread = block.thread },
	};
	struct capture_event then = free->event;

	assert(slot->address == 0 || slot->address == block.address);
	assert(free->event.address == block.address);
	then.ticks = ticks;
	if (block_is_live(slot)) { /* its free, and its address's next block, were before it */
		replay_tell_end(replay, &then, free->thread, &block, false, 0);
		return;
	}
	blocks_fill(&replay->blocks, slot, block);
	replay_free_block(replay, &then, free->thread, slot, false, 0);
	remember(replay, slot, &pair);
}

void disorder_deinit(struct disorder *disorder)
{
	free(disorder->pairs);
}
