/*
 * ahead: chunks decoded by other threads before they are needed. Chunks are requested strictly in
 * the order given at creation; a bounded number is decoded in advance. Internal to capture.
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

/* order is borrowed. thread_count 0: the consuming thread decodes everything. */
struct err *ahead_create(const struct capture *capture, const struct ahead_chunk *order,
			 size_t count, unsigned thread_count, struct ahead **ahead_ret);
void ahead_destroy(struct ahead *ahead); /* NULL is fine; ends the threads */
CLEAN_DEFINE(ahead_destroy, struct ahead *);

/* The next chunk of the order; waits for it, or decodes it here. NULL: out of memory. */
struct decoded *ahead_take(struct ahead *ahead);

/* Returns a chunk for reuse. */
void ahead_give(struct ahead *ahead, struct decoded *decoded);

#endif
