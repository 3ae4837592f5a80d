/*
 * moments_ring: entries of a memusage data file not yet written (rec/moments.h), kept in blocks far
 * beyond the file's end, for readers after the process was killed.
 */
#ifndef MEMTAPE_TAPE_MOMENTS_RING_H
#define MEMTAPE_TAPE_MOMENTS_RING_H

#include <stdint.h>

enum {
	MOMENTS_RECORD_BYTES = 24,
	MOMENTS_WINDOW_RECORDS = 4096, /* of 24 bytes: a multiple of a page */
	MOMENTS_WINDOWS = 8,
	MOMENTS_RING_HEADER_BYTES = 4096
};

#define MOMENTS_RING_OFFSET (UINT64_C(1) << 40)

/* An entry without a time is empty. */
struct moments_ring {
	_Atomic uint64_t numbers[MOMENTS_WINDOWS]; /* of the file's windows that are kept here */
	_Atomic uint32_t done[MOMENTS_WINDOWS];	   /* entries that have been filled */
	uint8_t padding[MOMENTS_RING_HEADER_BYTES - 12 * MOMENTS_WINDOWS];
	uint8_t windows[MOMENTS_WINDOWS][MOMENTS_WINDOW_RECORDS * MOMENTS_RECORD_BYTES];
};

#endif
