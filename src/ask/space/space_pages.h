/*
 * space_pages: how many bytes of every page belong to live blocks. Two bytes a page that ever had
 * any, so memory grows with the heap's extent and not with the number of blocks. All zeros is an
 * empty one. Not thread-safe while written. Internal to space.
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
	uint32_t whole;	 /* blocks that cover all of it */
	uint32_t blocks; /* that touch it */
	uint16_t *bytes; /* by page; NULL: no block ends or begins in it */
};

VEC_DEFINE(space_chunk_vec, struct space_chunk);

struct space_pages {
	struct space_chunk_vec chunks; /* in the order of first use */
	struct map by_number;	       /* chunk number -> index */
};

void space_pages_deinit(struct space_pages *pages);
CLEAN_DEFINE_DEINIT(space_pages_deinit, struct space_pages);

/*
 * A block comes or goes; what comes must go in the same shape. Blocks that overlap (on a damaged
 * tape) add up. False: no memory, nothing is changed. What is larger than SPACE_BLOCK_MAX, or
 * would end beyond the address space, is left out: no allocator gave it. So is what comes when
 * blocks are in SPACE_CHUNKS_MAX chunks already, 64 TiB.
 */
static const uint64_t SPACE_BLOCK_MAX = UINT64_C(1) << 40;
enum { SPACE_CHUNKS_MAX = 1 << 22 };

bool space_pages_add(struct space_pages *pages, uint64_t address, uint64_t bytes);
void space_pages_remove(struct space_pages *pages, uint64_t address, uint64_t bytes);

/* Live bytes of the page that the address is in, at most SPACE_PAGE. */
unsigned space_pages_at(const struct space_pages *pages, uint64_t address);

/*
 * For going over the pages of a range that may be vast. numbers: of all chunks that have blocks,
 * ascending; false: no memory.
 */
bool space_pages_numbers(const struct space_pages *pages, struct vec_u64 *numbers);

/*
 * The end, at most `end`, of the stretch from address on of which every page is as empty or as
 * full: *live_ret is 0 or SPACE_PAGE. The address itself: the page has to be looked at. Both are
 * pages.
 */
uint64_t space_pages_stretch(const struct space_pages *pages, const struct vec_u64 *numbers,
			     uint64_t address, uint64_t end, unsigned *live_ret);

/* Sum over the pages of [begin, end), which are whole. */
uint64_t space_pages_sum(const struct space_pages *pages, uint64_t begin, uint64_t end);

/* Whether any live block touches the pages of [begin, end). */
bool space_pages_any(const struct space_pages *pages, uint64_t begin, uint64_t end);

#endif
