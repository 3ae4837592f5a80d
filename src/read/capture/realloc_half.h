/*
 * realloc_half: which two events of a stream are one realloc. The first half, of class REALLOC_OUT,
 * names the old block. The outcome of the call is the stream's next second half:
 *
 *	REALLOC_IN	  the old block is gone, the new one exists;
 *	REALLOC_FAIL	  the old block stays;
 *	REALLOC_FREE	  realloc(p, 0) freed the old block (a function of class FREE).
 *
 * A second half without a first is of an unknown block: the stream has a gap. A first half without
 * a second is a call in progress: the block stays. See enum tape_event_class.
 */
#ifndef MEMTAPE_CAPTURE_REALLOC_HALF_H
#define MEMTAPE_CAPTURE_REALLOC_HALF_H

#include "capture/capture.h"

/* State of a stream between the two events. Starts as zeros. */
struct realloc_half {
	struct capture_event out; /* while a realloc is open: the first half */
	bool is_open;
};

static inline void realloc_half_open(struct realloc_half *half, const struct capture_event *out)
{
	half->out = *out;
	half->is_open = true;
}

/* At a second half: whether there was a first one. It is in half->out until the next. */
static inline bool realloc_half_close(struct realloc_half *half)
{
	const bool was_open = half->is_open;

	half->is_open = false;
	return was_open;
}

/* Whether a free is a second half. */
static inline bool realloc_half_is_free(const struct capture_event *event)
{
	return event->fn == TAPE_FN_REALLOC_FREE;
}

#endif
