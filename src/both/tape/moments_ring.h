/*
 * moments_ring: what the recorder has not yet written of a data file of memusage (rec/moments.h),
 * in that file's blocks far behind its end; for those who read it after the process was killed.
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

/* A place without a time is empty. */
struct moments_ring {
	_Atomic uint64_t numbers[MOMENTS_WINDOWS]; /* of the file's windows that lie here */
	_Atomic uint32_t done[MOMENTS_WINDOWS];	   /* places that have been filled */
	uint8_t padding[MOMENTS_RING_HEADER_BYTES - 12 * MOMENTS_WINDOWS];
	uint8_t windows[MOMENTS_WINDOWS][MOMENTS_WINDOW_RECORDS * MOMENTS_RECORD_BYTES];
};

#endif
