/*
 * latency: durations of the real functions, on request (`latency=1`).
 *
 * A thread then never has a lane for the fast face of the hooks (rec_lane_leave() sees to it), and
 * the slow face calls functions before and after the real one anyway, which read the clock: the
 * usual path has not one instruction more. The duration is a record after the event.
 */
#include "rec/event.h"

#include "core/poison.h"

/* Not after another event: one that could not be written, or was written by another lane. */
static bool event_is_here(const struct rec_lane *lane)
{
	return lane->chunk &&
	       lane->epoch == atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed);
}

void rec_latency_note(struct rec_lane *lane, uint64_t ticks)
{
	if (!rec.options.latency || !event_is_here(lane))
		return;
	if (unlikely(lane->cursor > lane->limit) && !rec_chunk_next(lane))
		return;
	lane->cursor = tape_latency_encode(lane->cursor, ticks);
	atomic_store_explicit(ARCH_LITTLE_WORD(lane->chunk, used),
			      arch_little_u32((uint32_t)(lane->cursor - lane->records)),
			      memory_order_release);
}
