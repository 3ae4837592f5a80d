/* heap_parts: what the files of heap_walk.h share: how glibc's malloc lays out memory. */
#ifndef MEMTAPE_SCAN_HEAP_PARTS_H
#define MEMTAPE_SCAN_HEAP_PARTS_H

#include "scan/heap_walk.h"

enum {
	HEAP_WORD = 8,
	HEAP_UNIT = 16,	      /* chunks begin and end at multiples */
	HEAP_HEAD_BYTES = 16, /* of a chunk: the size of the one before, if that is free; its own */
	HEAP_CHUNK_MIN = 32,
	/* Bits of a chunk's size. */
	HEAP_PREVIOUS_IN_USE = 1,
	HEAP_MAPPED = 2,
	HEAP_NOT_MAIN = 4,
	HEAP_BITS = 7,
	/* struct malloc_state: fastbins, top, last remainder, bins, their map, next arena ... */
	HEAP_FAST_COUNT = 10,
	HEAP_BIN_COUNT = 127,
	HEAP_FAST_BEFORE = (2 + HEAP_FAST_COUNT) * HEAP_WORD, /* bins begin that much later */
	HEAP_TOP_BEFORE = 2 * HEAP_WORD,
	HEAP_BINS_BYTES = 2 * HEAP_BIN_COUNT * HEAP_WORD,
	HEAP_NEXT_BEHIND = HEAP_BINS_BYTES + 16,
	HEAP_SYSTEM_BEHIND = HEAP_NEXT_BEHIND + 3 * HEAP_WORD,
	HEAP_STATE_BEHIND = HEAP_NEXT_BEHIND + 5 * HEAP_WORD,
	HEAP_PAGE = 4096,
	HEAP_WINDOW_BYTES = 64 << 20 /* other arenas have memory in windows of this */
};

struct heap_arena {
	uint64_t address; /* of its struct malloc_state; the main arena's is not known exactly */
	uint64_t bins;	  /* address of its bins */
	uint64_t top, system_bytes;
	bool is_main;
};

VEC_DEFINE(heap_arenas, struct heap_arena);

struct heap_walker {
	const struct heap_request *request;
	struct heap *heap;
	struct heap_arenas arenas; /* the main arena first */
	uint8_t *window;	   /* memory from window_begin on, for chunks in order */
	uint64_t window_begin, window_bytes;
	bool failed; /* out of memory */
};

bool heap_word(const struct heap_walker *walker, uint64_t address, uint64_t *word_ret);

static inline uint64_t heap_size(uint64_t head)
{
	return head & ~(uint64_t)HEAP_BITS;
}

/* heap_arenas.c: ERR_NOT_FOUND: none. */
struct err *heap_arenas_find(struct heap_walker *walker);

/* heap_cached.c: moves what waits in lists, and the caches themselves, out of the blocks. */
void heap_cached_drop(struct heap_walker *walker);

/*
 * heap_mapped.c: how many chunks have mappings of their own, as malloc counts, which is found by
 * where its first heap begins; 0: not known. Returns where it begins; 0: not found.
 */
uint64_t heap_count_find(const struct heap_walker *walker, uint64_t first_heap);

/* Chunks that have mappings of their own. */
void heap_mapped_find(struct heap_walker *walker);

#endif
