/*
 * ahead: chunks decoded by other threads before they are needed. Chunks are asked for strictly in
 * the order given at the beginning; a bounded number is decoded in advance. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_AHEAD_H
#define MEMTAPE_CAPTURE_AHEAD_H

#include "capture/chunk.h"

struct ahead_chunk {
	uint32_t chunk;	 /* index in the capture */
	uint32_t stream; /* index */
	uint64_t ticks;	 /* nothing in it is earlier */
};

struct ahead;

/* order is borrowed. thread_count 0: everything is decoded by the thread that takes. */
struct err *ahead_create(const struct capture *capture, const struct ahead_chunk *order,
			 size_t count, unsigned thread_count, struct ahead **ahead_ret);
void ahead_destroy(struct ahead *ahead); /* NULL is fine; ends the threads */
CLEAN_DEFINE(ahead_destroy, struct ahead *);

/* The next chunk of the order; waits for it, or decodes it here. NULL: out of memory. */
struct decoded *ahead_take(struct ahead *ahead);

/* Gives one back to be used again. */
void ahead_give(struct ahead *ahead, struct decoded *decoded);

#endif
