/* replay_block: the end of a block, in sums and rows. Internal to model. */
#ifndef MEMTAPE_MODEL_REPLAY_BLOCK_H
#define MEMTAPE_MODEL_REPLAY_BLOCK_H

#include "model/replay.h"

/* An error in keeping rows is returned by replay_events. */
static inline void replay_keep(struct replay *replay, struct err *err)
{
	if (unlikely(err)) {
		if (replay->err)
			err_destroy(err);
		else
			replay->err = err;
	}
}

/* Removes a block from every sum of live blocks. */
static inline void replay_sum_end(struct replay *replay, const struct block *block,
				  bool is_temporary)
{
	tally_free(tallies_of(&replay->stacks, block->stack), block->size, replay->epoch,
		   is_temporary);
	tally_free(&replay->threads.items[block->thread].tally, block->size, replay->epoch,
		   is_temporary);
	tally_free(&replay->sizes[size_bucket(block->size)], block->size, replay->epoch,
		   is_temporary);
	replay->now.live_bytes -= block->size;
	replay->now.live_count--;
	replay->totals.leaked_usable_bytes -= block->size + block->slack;
	if (replay->usables)
		replay->usables[block->stack].freed += block->size + block->slack;
	if (is_temporary) {
		replay->totals.temporary.count++;
		replay->totals.temporary.bytes += block->size;
	}
}

/* A free of a known block: one with a row. */
static inline void replay_count_free(struct replay *replay, const struct capture_event *event,
				     uint32_t thread, const struct block *block)
{
	struct replay_thread *freer = &replay->threads.items[thread];

	replay->totals.freed.count++;
	replay->totals.freed.bytes += block->size;
	/* the first half of a realloc is not counted: its row is the second's */
	if (replay->class_of[event->fn] == TAPE_CLASS_FREE)
		replay->functions[event->fn].bytes += block->size;
	freer->foreign_free_count += block->thread != thread;
}

/* Whether its thread has made no other block since. Unknown where blocks are averages. */
static inline bool replay_is_temporary(const struct replay *replay, const struct block *block)
{
	return !replay->has_averages &&
	       replay->threads.items[block->thread].last_serial == block->serial;
}

/* All except what the table of blocks knows of it. */
static inline void replay_tell_end(struct replay *replay, const struct capture_event *event,
				   uint32_t thread, const struct block *block, bool is_temporary,
				   unsigned flag)
{
	replay_count_free(replay, event, thread, block);
	replay->told_row = block->serial;
	replay_sum_end(replay, block, is_temporary);
	if (replay->rows)
		replay_keep(replay,
			    rows_free(replay->rows, block, event, thread,
				      flag | (is_temporary ? MODEL_ALLOCATION_TEMPORARY : 0)));
}

/* Identifies the free that ended a dead block. */
static inline uint32_t replay_free_mark(const struct capture_event *event)
{
	return (uint32_t)event->ticks * 0x9e3779b1 + event->stream;
}

/* From then on its slack identifies its free. */
static inline void replay_free_block(struct replay *replay, const struct capture_event *event,
				     uint32_t thread, struct block *block, bool is_temporary,
				     unsigned flag)
{
	replay_tell_end(replay, event, thread, block, is_temporary, flag);
	block->slack = replay_free_mark(event);
	block->thread |= is_temporary ? BLOCK_TEMPORARY : 0;
	blocks_end(&replay->blocks, block);
}

#endif
