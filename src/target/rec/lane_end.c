/*
 * lane_end: how a lane is left: its thread ends, or was not its own; and what is noted of a thread
 * now and then, for it may never come to its end.
 */
#include "rec/attach.h"

#include <stdatomic.h>

#include "core/poison.h"

enum { THREAD_ROUNDS = 3 };

static void thread_name_note(struct rec_lane *lane)
{
	struct tape_thread thread = { .tid = lane->tid };
	char name[sizeof(lane->name)] = "";

	if (rec_board_is_read() || !rec_thread_name(name) ||
	    memcmp(name, lane->name, sizeof(name)) == 0)
		return;
	memcpy(lane->name, name, sizeof(name));
	rec_note(lane, TAPE_EXT_THREAD_NAME, &thread, sizeof(thread), name,
		 strnlen(name, sizeof(name)));
}

/* For processes killed later, and for observers. */
void rec_lane_now_and_then(struct rec_lane *lane)
{
	enum { PERIOD_NS = 250 * 1000 * 1000 };
	uint64_t now_ns;

	if (lane != rec_tls.own || !rec.options.stack_use || rec_board_is_read() || !rec_may_call())
		return;
	now_ns = rec_monotonic_ns();
	if (now_ns < lane->due_ns)
		return;
	lane->due_ns = now_ns + PERIOD_NS;
	thread_name_note(lane);
	rec_stack_use_note(lane, false);
}

static void lane_end(struct rec_tls *tls, struct rec_lane *lane)
{
	atomic_fetch_sub(&rec.lanes_owned, 1);
	rec_lane_release(lane);
	if (tls->nested)
		rec_lane_release(tls->nested);
}

/* Runs in the last rounds of thread-specific destructors, so that those of others are recorded. */
void rec_thread_end(void *value)
{
	struct rec_tls *tls = value;
	struct rec_lane *lane = tls->own;
	struct tape_thread thread;

	if (!lane || tls != &rec_tls)
		return;
	if (++tls->rounds < THREAD_ROUNDS && rec_thread_key_set(tls))
		return;
	tls->lane = NULL;
	tls->phase = REC_PHASE_BORROW;
	atomic_signal_fence(memory_order_seq_cst);
	if (rec_lane_sync(lane)) {
		rec_touched_end(lane);
		rec_stack_use_note(lane, true);
		thread_name_note(lane);
		thread = (struct tape_thread) { .tid = lane->tid };
		rec_note(lane, TAPE_EXT_THREAD_END, &thread, sizeof(thread), NULL, 0);
		rec_stack_use_forget(lane);
		lane->tid = 0; /* thread numbers may be reused */
		lane_end(tls, lane);
	} else if (rec_is_attach && lane->epoch != REC_EPOCH_DEAD && rec_is_own_process()) {
		lane->tid = 0; /* detached: who comes after the next attach takes it */
		lane_end(tls, lane);
	}
	tls->own = tls->nested = NULL;
}

void rec_lane_give_back(void)
{
	struct rec_tls *tls = &rec_tls;
	struct rec_lane *lane = tls->own;

	if (!lane || tls->phase != REC_PHASE_IDLE)
		return;
	tls->lane = tls->own = NULL;
	tls->phase = REC_PHASE_NEW;
	rec_board_put(lane, 0);
	rec_stack_use_forget(lane);
	lane->tid = 0;
	atomic_fetch_sub(&rec.lanes_owned, 1);
	rec_lane_release(lane);
}
