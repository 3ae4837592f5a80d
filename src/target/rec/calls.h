/*
 * calls: counting in the target, if the events themselves are not needed (`counts=1`): calls, bytes
 * and failures by function, sizes, and the peaks of heap and stack.
 *
 * Each lane counts into records of its own chunk, CALLS and CALL_SIZES, in place: no event is
 * written, no clock is read, threads share nothing (total.h explains how the peak is found
 * nevertheless), and the counts are on the tape whenever the process dies. The counts of a full
 * chunk are final; those of the next begin at 0, and a reader adds them up.
 */
#ifndef MEMTAPE_REC_CALLS_H
#define MEMTAPE_REC_CALLS_H

#include "rec/rec.h"

/* Before the first event of a process, and again in a forked child. False: failed. */
bool rec_calls_init(void);

/* The heap of all threads has reached a new maximum. */
void rec_calls_peak(struct rec_lane *lane, uint64_t bytes);

/*
 * What a hook reports, and when; address 0: the call failed. A realloc of a live block is two calls
 * of the last, as it is two events otherwise.
 */
void rec_calls_alloc(struct rec_lane *lane, unsigned fn, uint64_t address, uint64_t size,
		     const struct rec_frame *caller);
void rec_calls_free(struct rec_lane *lane, uint64_t address, const struct rec_frame *caller);
void rec_calls_realloc(struct rec_lane *lane, unsigned fn, uint64_t address, uint64_t size,
		       const struct rec_frame *caller);

/* MMAP and MREMAP after the call, MUNMAP before it; if they are counted. */
void rec_calls_map(struct rec_lane *lane, enum tape_extended type, const struct tape_map *map,
		   const struct rec_frame *caller);

/* At the process's end: a thread without any calls has a stack, too. */
void rec_calls_end(struct rec_lane *lane, const struct rec_frame *caller);

static inline bool rec_calls_is_realloc(unsigned fn)
{
	return fn >= TAPE_FN_REALLOC_OUT && fn <= TAPE_FN_REALLOC_FREE && fn != TAPE_FN_REALLOC &&
	       fn != TAPE_FN_REALLOCARRAY;
}

/* malloc and free, the hooks' fast faces when calls are counted. lane is what rec_calls_lane() said. */
void *rec_calls_malloc(size_t size, struct rec_lane *lane);
void rec_calls_free_block(void *ptr, struct rec_lane *lane);

/*
 * The thread's lane, if it is available and counts; else NULL. It is asked once a call: a signal handler
 * that forks takes it from the thread in the child, and the lane it was is found out to be stale.
 */
static inline struct rec_lane *rec_calls_lane(void)
{
	return unlikely(rec.options.counts) ? rec_tls.lane : NULL;
}

#endif
