/*
 * total: the heap bytes held by all threads together, and their exact peak, if calls are counted
 * and no events are kept.
 *
 * Each lane knows what it holds: its allocations minus its frees, which may be of others' blocks.
 * The peak of the sum is needed, without adding to shared memory at each call. So a lane *claims*
 * more than it holds, as long as the sum of all claims is not above the peak: then there is no new
 * peak, whatever the lanes do within their claims, and they need not synchronise. A lane that needs
 * more than it has claimed when nothing is left revokes the others' unused claims; then the sum of
 * claims is what is held, and if that is above the peak it is the new one. From then on every lane
 * adds to the sum at each call until there has been no need for a while.
 *
 * A claim is revoked like this: the lane's room is set to 0, so that its next event takes the slow
 * path and waits; membarrier(2) makes sure that what passed before can be seen; then what it holds
 * is read and is its claim. The events that wait have not returned to the program, so they may be
 * added in any order, and the sum is that of a moment.
 */
#ifndef MEMTAPE_REC_TOTAL_H
#define MEMTAPE_REC_TOTAL_H

#include "rec/rec.h"

#include <stdatomic.h>

/* Before the first event of a process, and again in a forked child. */
void rec_total_init(void);

/* Before the program forbids system calls: no lane claims from here on. */
void rec_total_settle_all(void);

/* lane->total needs settling: settles it. */
void rec_total_settle(struct rec_lane *lane);

/* The lane's thread holds this many bytes more, or less. False: it must be settled now. */
static inline bool rec_total_moved(struct rec_lane *lane, int64_t bytes)
{
	struct rec_total *total = &lane->total;
	const int64_t held = atomic_load_explicit(&total->held, memory_order_relaxed) + bytes;

	atomic_store_explicit(&total->held, held, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* first seen, then asked */
	return likely((uint64_t)(atomic_load_explicit(&total->claim, memory_order_relaxed) - held) <
		      atomic_load_explicit(&total->room, memory_order_relaxed));
}

static inline void rec_total_move(struct rec_lane *lane, int64_t bytes)
{
	if (unlikely(!rec_total_moved(lane, bytes)))
		rec_total_settle(lane);
}

#endif
