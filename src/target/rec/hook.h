/*
 * hook: the two faces that every hook of an allocation function has.
 *
 * The fast one: the thread's lane is available - take it, call, record, put it back. The slow one
 * is for the first call of a thread, for calls from inside the allocator or from a signal handler
 * that interrupted the recorder (lane.c distinguishes these), when nothing is recorded, and for
 * every call whose duration is measured.
 *
 * A free is recorded before it happens: a moment later another thread may own this address, and
 * its allocation would reach the tape first. An allocation is recorded after it happened.
 */
#ifndef MEMTAPE_REC_HOOK_H
#define MEMTAPE_REC_HOOK_H

#include "rec/event.h"

/* Writes an event in the phase that rec_lane_enter() chose. */
void rec_hook_event_slow(struct rec_tls *tls, struct rec_lane *lane, unsigned fn, const void *ptr,
			 size_t size, const struct rec_frame *caller);
/*
 * With options.zero, in phase REAL: fills the usable bytes of a block with zeros, those from `from` on.
 * ptr may be NULL.
 */
void rec_hook_zero(void *ptr, size_t from);
/* A free of NULL does nothing and is counted if calls are. */
void rec_hook_free_null(struct rec_tls *tls, unsigned fn, const struct rec_frame *caller);
/* The real free, or nothing while it is unknown. */
void rec_hook_free_plain(void *ptr);

/* Begins a fast face; the lane is out of reach of everything the real function calls. */
static inline void hook_begin(struct rec_tls *tls, const struct rec_frame *caller, uint32_t phase)
{
	tls->lane = NULL;
	tls->caller.sp = caller->sp;
	tls->caller.pc = caller->pc;
	tls->caller.ret = caller->ret;
	tls->phase = phase;
	rec_barrier();
	tls->lane = NULL; /* again: a handler that came before the phase was set has put it back */
	rec_barrier();
}

static inline void hook_phase(struct rec_tls *tls, uint32_t phase)
{
	rec_barrier();
	tls->phase = phase;
	rec_barrier();
}

/* The thread's own lane, which may be another one now: a fork happened inside. */
static inline void hook_end(struct rec_tls *tls)
{
	rec_barrier();
	tls->lane = tls->own;
}

/*
 * The body of a hook that allocates, after `caller` was taken: CALL is the allocating expression,
 * REQUEST the requested size. PLAIN is evaluated if there is nothing to record.
 */
#define HOOK_BODY_ALLOC(FN, REQUEST, CALL, PLAIN)                                                  \
	struct rec_tls *tls = &rec_tls;                                                            \
	struct rec_lane *lane = tls->lane;                                                         \
	uint64_t usable;                                                                           \
	uint32_t phase;                                                                            \
	void *ptr;                                                                                 \
                                                                                                   \
	if (likely(lane)) {                                                                        \
		hook_begin(tls, &caller, REC_PHASE_REAL);                                          \
		ptr = CALL;                                                                        \
		usable = rec_event_usable(ptr, REQUEST);                                           \
		hook_phase(tls, REC_PHASE_RECORD);                                                 \
		rec_event_alloc(lane, FN, ptr, REQUEST, usable, &caller);                          \
		hook_end(tls);                                                                     \
		return ptr;                                                                        \
	}                                                                                          \
	lane = rec_lane_enter(tls, &caller, &phase);                                               \
	if (!lane)                                                                                 \
		return PLAIN;                                                                      \
	ptr = CALL;                                                                                \
	rec_hook_zero(ptr, 0);                                                                     \
	rec_hook_event_slow(tls, lane, FN, ptr, REQUEST, &caller);                                 \
	rec_lane_leave(tls, lane, phase);                                                          \
	return ptr

#define HOOK_BODY_FREE(FN, PTR, CALL, PLAIN)                                                       \
	struct rec_tls *tls = &rec_tls;                                                            \
	struct rec_lane *lane = tls->lane;                                                         \
	uint32_t phase;                                                                            \
                                                                                                   \
	if (unlikely(!(PTR))) {                                                                    \
		if (unlikely(rec.options.calls))                                                   \
			rec_hook_free_null(tls, FN, &caller);                                      \
		return;                                                                            \
	}                                                                                          \
	if (likely(lane && !rec_pool_owns(PTR))) {                                                 \
		hook_begin(tls, &caller, REC_PHASE_RECORD);                                        \
		rec_event_free(lane, FN, PTR, &caller);                                            \
		hook_phase(tls, REC_PHASE_REAL);                                                   \
		CALL;                                                                              \
		hook_end(tls);                                                                     \
		return;                                                                            \
	}                                                                                          \
	if (unlikely(rec_pool_owns(PTR)))                                                          \
		return;                                                                            \
	lane = rec_lane_enter(tls, &caller, &phase);                                               \
	if (!lane) {                                                                               \
		PLAIN;                                                                             \
		return;                                                                            \
	}                                                                                          \
	rec_hook_zero(PTR, 0);                                                                     \
	rec_hook_event_slow(tls, lane, FN, PTR, 0, &caller);                                       \
	hook_phase(tls, REC_PHASE_REAL);                                                           \
	CALL;                                                                                      \
	rec_lane_leave(tls, lane, phase)

#endif
