/*
 * scan_image_format: what the writer and the reader of a scan image share. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_SCAN_IMAGE_FORMAT_H
#define MEMTAPE_CAPTURE_SCAN_IMAGE_FORMAT_H

#include "capture/scan_image.h"

enum {
	VERSION = 3,
	VERSION_WITHOUT_DEPTHS = 2,
	VERSION_WITHOUT_FRAMES = 1,
	NUMBER_BYTES_MAX = 10,
	HOLDER_BYTES_MIN = 6,
	FRAME_BYTES_MIN = 4, /* without a depth */
	FRAME_NUMBERS = 5,
	BLOCK_BYTES_MIN = 6,
	BLOCK_BYTES_MAX = 1 + 6 * NUMBER_BYTES_MAX,
	/* The first byte of a block. */
	CLASS_BITS = 7,
	HEURISTIC_SHIFT = 3, /* 0: none, else 1 + the number of the bit */
	INTERIOR_BIT = 1 << 6,
	PARENT_DOMINATES_BIT = 1 << 7
};

static_assert(TAPE_SCAN_CLASS_COUNT <= CLASS_BITS + 1, "format");

/* A block of size 0 has one byte. */
static inline uint64_t scan_image_block_end(const struct scan_image_block *block)
{
	return block->address + (block->size_bytes ? block->size_bytes : 1);
}

#endif
