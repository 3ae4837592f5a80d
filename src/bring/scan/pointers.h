/*
 * pointers: all pointers to blocks that memory holds, as rows: one of each block, then one of each
 * holder, node by node. Memory is read once, from low addresses to high ones, which is many times
 * faster than to follow pointers through it; what follows them later reads 8 bytes a pointer.
 */
#ifndef MEMTAPE_SCAN_POINTERS_H
#define MEMTAPE_SCAN_POINTERS_H

#include "scan/block_index.h"

enum pointer_kind {
	POINTER_START,
	POINTER_INTERIOR,
	/* Interior pointers that count as start pointers. While memory is being read they are
	   pointers to places where that is possible; see pointer_place. */
	POINTER_STDSTRING,
	POINTER_LENGTH64,
	POINTER_NEWARRAY,
	POINTER_INHERITANCE
};

enum {
	POINTER_BLOCK_BITS = 31,
	POINTER_KIND_BITS = 3,
	POINTER_STEP_SHIFT = POINTER_BLOCK_BITS + POINTER_KIND_BITS
};

/* Points to nothing: there are too many words between two pointers for one step. */
#define POINTER_GAP ((1u << POINTER_BLOCK_BITS) - 1)

struct pointers {
	/* block | kind << 31 | words since the pointer before in the row << 34 */
	uint64_t *items;
	size_t item_count, item_room;
	uint64_t *row_begins; /* of row_count + 1: indices of items */
	uint8_t *row_offsets; /* of row_count: where in the block or holder its first word is */
	uint32_t row_count;
	uint32_t block_count;
	uint32_t pointer_bytes;
	uint64_t root_bytes, block_bytes, unread_bytes;
};

static inline uint32_t pointer_block(uint64_t item)
{
	return (uint32_t)item & POINTER_GAP;
}

static inline enum pointer_kind pointer_kind(uint64_t item)
{
	return item >> POINTER_BLOCK_BITS & 7;
}

static inline uint64_t pointer_step(uint64_t item)
{
	return item >> POINTER_STEP_SHIFT;
}

/* Whether it is, or counts as, a pointer to the beginning. */
static inline bool pointer_is_start(uint64_t item)
{
	return pointer_kind(item) != POINTER_INTERIOR;
}

/* enum tape_scan_heuristic, or 0. */
static inline uint8_t pointer_heuristic(uint64_t item)
{
	return (uint8_t)(1 << pointer_kind(item) >> POINTER_STDSTRING);
}

/* The caller deinits it on success. */
struct err *pointers_init(struct pointers *pointers, const struct graph *graph,
			  const struct block_index *index);
void pointers_deinit(struct pointers *pointers);
CLEAN_DEFINE_DEINIT(pointers_deinit, struct pointers);

#endif
