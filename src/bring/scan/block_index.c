#include "scan/block_index.h"

#include <assert.h>

#include "base/big.h"

enum {
	GRANULE_SHIFT = 4,
	CELL_SHIFT = GRANULE_SHIFT + 6,
	WINDOW_SHIFT = 18,
	WINDOW_CELLS = 1 << (WINDOW_SHIFT - CELL_SHIFT)
};

static uint64_t window_number(uint64_t address)
{
	return (address >> WINDOW_SHIFT) + 1;
}

/* Whether a window in which no block begins has a part of this one. */
static bool is_large(const struct block_index *index, size_t block)
{
	const uint64_t first = window_number(index->blocks[block].address);

	if (window_number(block_index_end(index, block) - 1) == first)
		return false;
	return block + 1 == index->block_count ||
	       window_number(index->blocks[block + 1].address) > first + 1;
}

/* Where the window is, or the empty place where it belongs. */
static inline struct block_index_window *window_place(const struct block_index *index,
						      uint64_t number)
{
	size_t at = (number * UINT64_C(0x9e3779b97f4a7c15)) >> index->window_shift;

	while (index->windows[at].number != number && index->windows[at].number != 0)
		at = (at + 1) & (index->window_room - 1);
	return &index->windows[at];
}

static inline struct block_index_cell *cell_find(const struct block_index *index, uint64_t address)
{
	const struct block_index_window *window = window_place(index, window_number(address));

	if (window->number == 0)
		return NULL;
	return &index->cells[window->first_cell + (address >> CELL_SHIFT & (WINDOW_CELLS - 1))];
}

static bool windows_create(struct block_index *index, size_t count)
{
	unsigned bits = 4;

	while ((size_t)1 << bits < count * 2)
		bits++;
	index->window_room = (size_t)1 << bits;
	index->window_shift = 64 - bits;
	index->windows = calloc(index->window_room, sizeof(*index->windows));
	index->cell_count = count * WINDOW_CELLS;
	index->cells = big_alloc(index->cell_count * sizeof(*index->cells));
	return index->windows && index->cells;
}

/* What must be known before memory is taken. False: the blocks do not ascend. */
struct survey {
	size_t windows;
	size_t granules; /* in which a block begins */
	size_t larges;
};

static bool survey(struct block_index *index, struct survey *survey)
{
	uint64_t window = 0, granule = UINT64_MAX;

	index->is_aligned = true;
	for (size_t i = 0; i < index->block_count; i++) {
		const uint64_t address = index->blocks[i].address;

		if (i ? address <= index->blocks[i - 1].address : address == 0)
			return false;
		survey->windows += window_number(address) != window;
		survey->granules += address >> GRANULE_SHIFT != granule;
		survey->larges += is_large(index, i);
		index->is_aligned &= address % (1 << GRANULE_SHIFT) == 0;
		window = window_number(address);
		granule = address >> GRANULE_SHIFT;
	}
	return true;
}

static void mark_starts(struct block_index *index)
{
	size_t window_count = 0, large_count = 0;
	uint32_t bit_count = 0;

	for (uint32_t i = 0; i < index->block_count; i++) {
		const uint64_t address = index->blocks[i].address, number = window_number(address);
		struct block_index_window *window = window_place(index, number);
		struct block_index_cell *cell;
		uint64_t bit;

		if (window->number == 0)
			*window = (struct block_index_window) { number,
								window_count++ * WINDOW_CELLS };
		cell = &index->cells[window->first_cell +
				     (address >> CELL_SHIFT & (WINDOW_CELLS - 1))];
		bit = UINT64_C(1) << (address >> GRANULE_SHIFT & 63);
		if (!(cell->starts & bit) && index->firsts)
			index->firsts[bit_count++] = i;
		cell->starts |= bit;
		if (is_large(index, i))
			index->larges[large_count++] = i;
	}
	if (index->firsts)
		index->firsts[bit_count] = index->block_count;
}

/* Windows were given cells in order of address. */
static void count_starts(struct block_index *index)
{
	uint32_t before = 0;

	for (size_t i = 0; i < index->cell_count; i++) {
		index->cells[i].before = before;
		before += (uint32_t)__builtin_popcountll(index->cells[i].starts);
	}
}

struct err *block_index_init(struct block_index *index_ret, const struct graph_block *blocks,
			     size_t count)
{
	CLEAN(block_index_deinit)
	struct block_index index = { .blocks = blocks, .block_count = (uint32_t)count };
	struct survey found = { 0 };

	assert(count < INT32_MAX);
	if (!survey(&index, &found))
		return err_new(ERR_STATE, "blocks are not in order of address");
	if (!windows_create(&index, found.windows + !found.windows))
		return err_nomem();
	index.larges = calloc(found.larges + 1, sizeof(*index.larges));
	index.large_count = found.larges;
	if (!index.larges)
		return err_nomem();
	if (found.granules < count) {
		index.firsts = calloc(found.granules + 1, sizeof(*index.firsts));
		if (!index.firsts)
			return err_nomem();
	}
	if (count > 0) {
		index.begin = blocks[0].address;
		index.span_bytes = block_index_end(&index, count - 1) - index.begin;
	}
	mark_starts(&index);
	count_starts(&index);
	*index_ret = index;
	index = (struct block_index) { 0 };
	return NULL;
}

void block_index_deinit(struct block_index *index)
{
	free(index->windows);
	if (index->cells)
		big_free(index->cells, index->cell_count * sizeof(*index->cells));
	free(index->firsts);
	free(index->larges);
	*index = (struct block_index) { 0 };
}

/* The last of the large blocks that begin at or before the address. */
static uint32_t large_find(const struct block_index *index, uint64_t address)
{
	size_t low = 0, high = index->large_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (index->blocks[index->larges[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? index->larges[low - 1] : BLOCK_NONE;
}

/* The last block that begins in the address's 16 bytes or before them. */
static inline uint32_t counted(const struct block_index *index, const struct block_index_cell *cell,
			       uint64_t address)
{
	const unsigned granule = address >> GRANULE_SHIFT & 63;
	const uint64_t until = cell->starts & UINT64_MAX >> (63 - granule);
	const uint32_t bits = cell->before + (uint32_t)__builtin_popcountll(until);

	return (index->firsts ? index->firsts[bits] : bits) - 1; /* 0 - 1 is BLOCK_NONE */
}

/* word->block is the last that may have the address, or one of a few that begin behind it. */
static void settle(const struct block_index *index, struct pointer_word *word)
{
	uint32_t block = word->block;

	while (block != BLOCK_NONE && index->blocks[block].address > word->address)
		block--;
	word->block = BLOCK_NONE;
	if (block == BLOCK_NONE || word->address >= block_index_end(index, block))
		return;
	word->block = block;
	word->inside = word->address - index->blocks[block].address;
}

void block_index_find(const struct block_index *index, struct pointer_word *words, size_t count)
{
	const struct block_index_cell *cells[POINTER_BATCH];
	uint16_t doubtful[POINTER_BATCH];
	size_t doubtful_count = 0;

	assert(count <= POINTER_BATCH);
	for (size_t i = 0; i < count; i++) {
		cells[i] = cell_find(index, words[i].address);
		__builtin_prefetch(cells[i]);
	}
	for (size_t i = 0; i < count; i++) {
		const uint64_t address = words[i].address;
		const struct block_index_cell *cell = cells[i];

		words[i].inside = 0;
		words[i].block = cell ? counted(index, cell, address) : large_find(index, address);
		/* A pointer to a beginning needs no look at the block. */
		if (cell && index->is_aligned && address % (1 << GRANULE_SHIFT) == 0 &&
		    cell->starts >> (address >> GRANULE_SHIFT & 63) & 1)
			continue;
		doubtful[doubtful_count++] = (uint16_t)i;
		if (words[i].block != BLOCK_NONE)
			__builtin_prefetch(&index->blocks[words[i].block]);
	}
	for (size_t i = 0; i < doubtful_count; i++)
		settle(index, &words[doubtful[i]]);
}

size_t block_index_before(const struct block_index *index, uint64_t address)
{
	size_t low = 0, high = index->block_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (index->blocks[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
