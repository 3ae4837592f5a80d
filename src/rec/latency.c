/*
 * latency: how long the real functions take, for those who ask (`latency=1`).
 *
 * A thread then never has a lane for the fast face of the hooks (rec_lane_leave() sees to it), so
 * the usual way has not an instruction more; the slow face reads the clock before and after the
 * call. The duration is a record behind the event, which for a free was written before the call.
 */
#include "rec/event.h"

#include "core/poison.h"

/* Not behind another event: one that could not be written, or was written by another lane. */
static bool event_is_here(const struct rec_lane *lane)
{
	return lane->chunk &&
	       lane->epoch == atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed);
}

void rec_latency_note(struct rec_lane *lane, uint64_t ticks)
{
	if (!event_is_here(lane))
		return;
	if (unlikely(lane->cursor > lane->limit) && !rec_chunk_next(lane))
		return;
	lane->cursor = tape_latency_encode(lane->cursor, ticks);
	atomic_store_explicit((_Atomic uint32_t *)&lane->chunk->used,
			      (uint32_t)(lane->cursor - lane->records), memory_order_release);
}
