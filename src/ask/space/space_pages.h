/*
 * space_pages: bytes of live blocks in each page. Two bytes per page that ever had any, so memory
 * grows with the heap's extent and not with the number of blocks. All zeros is empty. Not
 * thread-safe while written. Internal to space.
 */
#ifndef MEMTAPE_SPACE_SPACE_PAGES_H
#define MEMTAPE_SPACE_SPACE_PAGES_H

#include "base/map.h"
#include "base/vec.h"

enum {
	SPACE_PAGE_SHIFT = 12,
	SPACE_PAGE = 1 << SPACE_PAGE_SHIFT,
	SPACE_CHUNK_SHIFT = 24,
	SPACE_CHUNK_PAGES = 1 << (SPACE_CHUNK_SHIFT - SPACE_PAGE_SHIFT)
};

struct space_chunk {
	uint64_t number; /* address >> SPACE_CHUNK_SHIFT */
	uint32_t whole;	 /* blocks that cover it entirely */
	uint32_t blocks; /* that touch it */
	uint16_t *bytes; /* by page; NULL: no block starts or ends in it */
};

VEC_DEFINE(space_chunk_vec, struct space_chunk);

struct space_pages {
	struct space_chunk_vec chunks; /* in the order of first use */
	struct map by_number;	       /* chunk number -> index */
};

void space_pages_deinit(struct space_pages *pages);
CLEAN_DEFINE_DEINIT(space_pages_deinit, struct space_pages);

/*
 * Adds or removes a block; it must be removed with the same address and size. Overlapping blocks
 * (on a damaged tape) add up. False: out of memory, nothing changed. Ignored: blocks larger than
 * SPACE_BLOCK_MAX or past the end of the address space, which no allocator returns, and new blocks
 * when SPACE_CHUNKS_MAX chunks (64 TiB) already have blocks.
 */
static const uint64_t SPACE_BLOCK_MAX = UINT64_C(1) << 40;
enum { SPACE_CHUNKS_MAX = 1 << 22 };

bool space_pages_add(struct space_pages *pages, uint64_t address, uint64_t bytes);
void space_pages_remove(struct space_pages *pages, uint64_t address, uint64_t bytes);

/* Live bytes of the page that contains the address, at most SPACE_PAGE. */
unsigned space_pages_at(const struct space_pages *pages, uint64_t address);

/*
 * For iterating over a very large range. numbers: all chunks with blocks, ascending; false: out of
 * memory.
 */
bool space_pages_numbers(const struct space_pages *pages, struct vec_u64 *numbers);

/*
 * The end, at most `end`, of the run of pages from address on that are all empty or all full:
 * *live_ret is 0 or SPACE_PAGE. Returns the address itself if that page must be examined. Both are
 * page-aligned.
 */
uint64_t space_pages_stretch(const struct space_pages *pages, const struct vec_u64 *numbers,
			     uint64_t address, uint64_t end, unsigned *live_ret);

/* Sum over the pages of [begin, end), page-aligned. */
uint64_t space_pages_sum(const struct space_pages *pages, uint64_t begin, uint64_t end);

/* Whether any live block touches the pages of [begin, end). */
bool space_pages_any(const struct space_pages *pages, uint64_t begin, uint64_t end);

#endif
