/*
 * playback: the allocations and frees of a selection, in the order in which they happened: for
 * those who write them down one after the other.
 *
 *	CLEAN(playback_destroy) struct playback *playback = playback_create(selection);
 *	while (playback_next(playback, &event)) ...
 *
 * Of equal times frees come before allocations, but never before their own. A realloc is the free
 * of the old block and then the allocation of the new one. Takes the memory of two batches.
 */
#ifndef MEMTAPE_TIME_PLAYBACK_H
#define MEMTAPE_TIME_PLAYBACK_H

#include "base/clean.h"
#include "select/selection.h"

struct playback_event {
	bool is_free;
	uint64_t row; /* the allocation that is made or freed */
	uint64_t ns;
	uint64_t bytes; /* requested */
	uint32_t stack; /* that allocated it, also of a free */
};

struct playback;

/* Needs a MODEL_FULL model; the selection must live as long. NULL: out of memory. */
struct playback *playback_create(const struct selection *selection);
void playback_destroy(struct playback *playback); /* NULL is fine */
CLEAN_DEFINE(playback_destroy, struct playback *);

bool playback_next(struct playback *playback,
		   struct playback_event *event_ret); /* false: the end */

#endif
