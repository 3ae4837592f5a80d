/*
 * block_index: which block an address is in. Nearly all of a scan's time goes into this question,
 * asked of every word that could be a pointer, and that time is spent waiting for memory: so
 * addresses come in batches, and what one needs is fetched while others are looked at.
 *
 * Memory that has blocks is cut into windows of 256 KiB. Each has a bit for every 16 bytes, set
 * where a block begins, and beside 64 of them the number of bits that are set before: the block is
 * found by counting. Windows are found by a small hash table, so it does not matter how far apart
 * they are. A window in which no block begins can only have part of one that is large, or beside
 * memory without blocks; these few are searched.
 *
 * Where blocks overlap, the first ends before the second. Blocks are borrowed.
 */
#ifndef MEMTAPE_SCAN_BLOCK_INDEX_H
#define MEMTAPE_SCAN_BLOCK_INDEX_H

#include "base/err.h"
#include "base/vec.h"
#include "scan/graph.h"

#define BLOCK_NONE UINT32_MAX

struct block_index_window {
	uint64_t number; /* address / 256 KiB, plus 1; 0: empty */
	size_t first_cell;
};

struct block_index_cell {
	uint64_t starts; /* bit i: a block begins in these 16 bytes */
	uint32_t before; /* bits set in all cells before */
};

struct block_index {
	const struct graph_block *blocks;
	uint32_t block_count;
	uint64_t begin, span_bytes; /* from the first block to the end of the last */
	struct block_index_window *windows;
	size_t window_room; /* a power of two */
	unsigned window_shift;
	struct block_index_cell *cells;
	size_t cell_count;
	bool is_aligned;  /* all blocks begin at multiples of 16 */
	uint32_t *firsts; /* by bit: first block in the 16 bytes; NULL: none has two */
	uint32_t *larges; /* blocks that reach into a window in which none begins */
	size_t large_count;
};

/* A word that may point to a block. */
struct pointer_word {
	uint64_t address;
	uint64_t word;	 /* for who asks: its place in the row */
	uint32_t row;	 /* and the row */
	uint32_t block;	 /* found; BLOCK_NONE: it points to no block */
	uint64_t inside; /* bytes from the block's beginning */
};

enum { POINTER_BATCH = 256 };

/* Errors: out of memory, or blocks that do not ascend. The caller deinits it on success. */
struct err *block_index_init(struct block_index *index, const struct graph_block *blocks,
			     size_t count);
void block_index_deinit(struct block_index *index);
CLEAN_DEFINE_DEINIT(block_index_deinit, struct block_index);

/* Fills block and inside of at most POINTER_BATCH words. */
void block_index_find(const struct block_index *index, struct pointer_word *words, size_t count);

/* The number of blocks that begin before the address. */
size_t block_index_before(const struct block_index *index, uint64_t address);

/* One past the last byte that counts as the block's; it has at least one. */
static inline uint64_t block_index_end(const struct block_index *index, size_t block)
{
	const struct graph_block *at = &index->blocks[block];
	const uint64_t next = block + 1 < index->block_count ? at[1].address : UINT64_MAX;
	const uint64_t size_bytes = at->size_bytes ? at->size_bytes : 1;

	return size_bytes < next - at->address ? at->address + size_bytes : next;
}

/* Its size, less what the next block overlaps. */
static inline uint64_t block_index_size(const struct block_index *index, size_t block)
{
	const struct graph_block *at = &index->blocks[block];

	return at->size_bytes ? block_index_end(index, block) - at->address : 0;
}

#endif
