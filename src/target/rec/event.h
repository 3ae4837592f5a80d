/*
 * event: from a hook to bytes in a chunk. Inlined into every hook with its function number.
 */
#ifndef MEMTAPE_REC_EVENT_H
#define MEMTAPE_REC_EVENT_H

#include "rec/calls.h"

#include <stdatomic.h>

/* Keeps the compiler's stores in order for a signal handler on the same thread. */
static inline void rec_barrier(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* False: this lane's state is stale (fork, stop) and could not be renewed. */
static inline bool rec_lane_ready(struct rec_lane *lane)
{
	return likely(lane->epoch ==
		      atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed)) ||
	       rec_lane_sync(lane);
}

/* fn is a constant where this is inlined. */
static inline __attribute__((always_inline)) void rec_event_count(struct rec_lane *lane,
								  unsigned fn, uint64_t address,
								  uint64_t size,
								  const struct rec_frame *caller)
{
	if (rec_calls_is_realloc(fn))
		rec_calls_realloc(lane, fn, address, size, caller);
	else if (tape_fn_sizeless(fn))
		rec_calls_free(lane, address, caller);
	else
		rec_calls_alloc(lane, fn, address, size, caller);
}

/* enum tape_pause. Only while the lane is ready: else the tape may be another process's. */
static inline uint32_t rec_paused(void)
{
	return atomic_load_explicit((_Atomic uint32_t *)&rec.live->paused, memory_order_relaxed);
}

/*
 * Whether an event is left out while recording is paused. What ends a block is written, and what
 * may continue one (the second half of a realloc): blocks from before the pause are known in it.
 */
static inline bool rec_pause_omits(unsigned fn, uint32_t paused)
{
	return paused == TAPE_PAUSE_EVENTS || tape_fn_allocates(fn);
}

/* False: left out. */
static inline __attribute__((always_inline)) bool
rec_event_write(struct rec_lane *lane, unsigned fn, uint64_t address, uint64_t size,
		uint64_t usable, bool stack, const struct rec_frame *caller)
{
	uint32_t node = TAPE_NODE_NONE;
	uint64_t ticks;

	if (unlikely(!stack && rec.options.counts)) {
		rec_event_count(lane, fn, address, size, caller);
		return true;
	}
	ticks = rec_ticks() >> rec.tick_shift;
	if (unlikely(!rec_lane_ready(lane))) {
		lane = rec_lane_renew(lane, caller);
		if (!lane)
			return false;
	}
	if (unlikely(rec_paused())) {
		if (rec_pause_omits(fn, rec_paused()))
			return false;
		stack &= !tape_fn_sizeless(fn);
	}
	if (likely(stack))
		node = rec_stack_take(lane, caller);
	else if (unlikely(rec.options.calls))
		node = rec_depth_take(lane, fn, ticks, caller);
	else
		rec_stack_use_seen(lane, caller->sp);
	if (unlikely(lane->cursor > lane->limit) && !rec_chunk_next(lane)) {
		rec_lost(TAPE_LOST_NO_SPACE);
		return false;
	}
	lane->cursor = tape_event_encode(&lane->codec, lane->cursor, fn, ticks, address, size,
					 usable, node);
	/* After the record's bytes: what `used` covers is complete, whenever the process dies. */
	atomic_store_explicit(ARCH_LITTLE_WORD(lane->chunk, used),
			      arch_little_u32((uint32_t)(lane->cursor - lane->records)),
			      memory_order_release);
	return true;
}

/*
 * Usable size of a block; ptr NULL: the call failed. Called in phase REAL, because the allocator
 * may allocate to answer (tcmalloc does at the first call), and that is internal to it.
 */
static inline __attribute__((always_inline)) uint64_t rec_event_usable(const void *ptr, size_t size)
{
	uint64_t usable = size;

	if (likely(ptr && rec_real.usable_size))
		usable = rec_real.usable_size((void *)ptr);
	if (unlikely(usable < size)) /* not yet known to it: tcmalloc's first blocks */
		usable = size;
	return usable;
}

static inline __attribute__((always_inline)) bool rec_event_alloc(struct rec_lane *lane,
								  unsigned fn, const void *ptr,
								  size_t size, uint64_t usable,
								  const struct rec_frame *caller)
{
	return rec_event_write(lane, fn, (uintptr_t)ptr, size, usable, rec.options.stacks, caller);
}

static inline __attribute__((always_inline)) bool
rec_event_free(struct rec_lane *lane, unsigned fn, const void *ptr, const struct rec_frame *caller)
{
	return rec_event_write(lane, fn, (uintptr_t)ptr, 0, 0, rec.options.free_stacks, caller);
}

#endif
