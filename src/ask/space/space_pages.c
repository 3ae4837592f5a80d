#include "space/space_pages.h"

#include <assert.h>

#include "base/sort.h"

void space_pages_deinit(struct space_pages *pages)
{
	for (size_t i = 0; i < pages->chunks.count; i++)
		free(pages->chunks.items[i].bytes);
	space_chunk_vec_deinit(&pages->chunks);
	map_deinit(&pages->by_number);
}

static struct space_chunk *chunk_find(const struct space_pages *pages, uint64_t address)
{
	const uint64_t *index = map_find(&pages->by_number, address >> SPACE_CHUNK_SHIFT);

	return index ? &pages->chunks.items[*index] : NULL;
}

/* Allocates page counters if the block does not cover the whole chunk. */
static struct space_chunk *chunk_put(struct space_pages *pages, uint64_t address, bool is_whole)
{
	const uint64_t number = address >> SPACE_CHUNK_SHIFT;
	struct space_chunk *chunk = chunk_find(pages, address);
	uint64_t *index;

	if (!chunk) {
		if (!space_chunk_vec_push(&pages->chunks,
					  (struct space_chunk) { .number = number }))
			return NULL;
		index = map_put(&pages->by_number, number, NULL);
		if (!index) {
			pages->chunks.count--;
			return NULL;
		}
		*index = pages->chunks.count - 1;
		chunk = &pages->chunks.items[*index];
	}
	if (!is_whole && !chunk->bytes)
		chunk->bytes = calloc(SPACE_CHUNK_PAGES, sizeof(*chunk->bytes));
	return is_whole || chunk->bytes ? chunk : NULL;
}

static uint64_t chunk_begin(uint64_t address)
{
	return address >> SPACE_CHUNK_SHIFT << SPACE_CHUNK_SHIFT;
}

/* The address space's last chunk ends a little early, so that its end does not overflow. */
static uint64_t chunk_end(uint64_t address)
{
	const uint64_t begin = chunk_begin(address);

	return begin + u64_min(UINT64_C(1) << SPACE_CHUNK_SHIFT, UINT64_MAX - begin);
}

/* sign is 1 or -1 in 16-bit arithmetic: adding and removing a block cancel out. */
static void count_pages(struct space_chunk *chunk, uint64_t begin, uint64_t end, uint16_t sign)
{
	while (begin < end) {
		const uint64_t page_end =
			u64_min(end, ((begin >> SPACE_PAGE_SHIFT) + 1) << SPACE_PAGE_SHIFT);
		const size_t page = begin >> SPACE_PAGE_SHIFT & (SPACE_CHUNK_PAGES - 1);

		chunk->bytes[page] =
			(uint16_t)(chunk->bytes[page] + sign * (uint16_t)(page_end - begin));
		begin = page_end;
	}
}

static bool is_plausible(uint64_t address, uint64_t bytes)
{
	return bytes > 0 && bytes <= SPACE_BLOCK_MAX && address <= (UINT64_MAX >> 8) - bytes;
}

static bool covers_chunk(uint64_t begin, uint64_t end)
{
	return begin == chunk_begin(begin) && end >= chunk_end(begin);
}

void space_pages_remove(struct space_pages *pages, uint64_t address, uint64_t bytes)
{
	const uint64_t end = address + bytes;

	if (!is_plausible(address, bytes))
		return;
	for (uint64_t at = address; at < end; at = chunk_end(at)) {
		struct space_chunk *chunk = chunk_find(pages, at);

		if (!chunk || chunk->blocks == 0)
			continue;
		chunk->blocks--;
		if (covers_chunk(at, end))
			chunk->whole -= chunk->whole > 0;
		else if (chunk->bytes)
			count_pages(chunk, at, u64_min(end, chunk_end(at)), (uint16_t)-1);
	}
}

bool space_pages_add(struct space_pages *pages, uint64_t address, uint64_t bytes)
{
	const uint64_t end = address + bytes;

	if (!is_plausible(address, bytes) ||
	    pages->chunks.count + (bytes >> SPACE_CHUNK_SHIFT) + 2 > SPACE_CHUNKS_MAX)
		return true;
	for (uint64_t at = address; at < end; at = chunk_end(at)) {
		const bool is_whole = covers_chunk(at, end);
		struct space_chunk *chunk = chunk_put(pages, at, is_whole);

		if (!chunk) {
			if (at > address)
				space_pages_remove(pages, address, at - address);
			return false;
		}
		chunk->blocks++;
		if (is_whole)
			chunk->whole++;
		else
			count_pages(chunk, at, u64_min(end, chunk_end(at)), 1);
	}
	return true;
}

static unsigned page_bytes(const struct space_chunk *chunk, uint64_t address)
{
	if (chunk->whole > 0)
		return SPACE_PAGE;
	if (!chunk->bytes)
		return 0;
	return (unsigned)u64_min(
		chunk->bytes[address >> SPACE_PAGE_SHIFT & (SPACE_CHUNK_PAGES - 1)], SPACE_PAGE);
}

unsigned space_pages_at(const struct space_pages *pages, uint64_t address)
{
	const struct space_chunk *chunk = chunk_find(pages, address);

	return chunk && chunk->blocks > 0 ? page_bytes(chunk, address) : 0;
}

/* Live bytes of the chunk's pages in [begin, end); stops_early: only up to the first live page. */
static uint64_t chunk_sum(const struct space_chunk *chunk, uint64_t begin, uint64_t end,
			  bool stops_early)
{
	const uint64_t first = chunk->number << SPACE_CHUNK_SHIFT;
	uint64_t sum = 0;

	if (chunk->blocks == 0)
		return 0;
	begin = u64_max(begin, first);
	end = u64_min(end, chunk_end(first));
	for (uint64_t at = begin; at < end && !(stops_early && sum); at += SPACE_PAGE)
		sum += page_bytes(chunk, at);
	return sum;
}

/* The range may exceed everything ever allocated: then iterate over chunks instead. */
static uint64_t range_sum(const struct space_pages *pages, uint64_t begin, uint64_t end,
			  bool stops_early)
{
	uint64_t sum = 0;

	if ((end - begin) >> SPACE_CHUNK_SHIFT >= pages->chunks.count) {
		for (size_t i = 0; i < pages->chunks.count && !(stops_early && sum); i++)
			sum += chunk_sum(&pages->chunks.items[i], begin, end, stops_early);
		return sum;
	}
	while (begin < end && !(stops_early && sum)) {
		const struct space_chunk *chunk = chunk_find(pages, begin);

		if (chunk)
			sum += chunk_sum(chunk, begin, end, stops_early);
		begin = chunk_end(begin);
	}
	return sum;
}

uint64_t space_pages_sum(const struct space_pages *pages, uint64_t begin, uint64_t end)
{
	assert(begin <= end);
	return range_sum(pages, begin, end, false);
}

bool space_pages_any(const struct space_pages *pages, uint64_t begin, uint64_t end)
{
	assert(begin <= end);
	return range_sum(pages, begin, end, true) > 0;
}

static int compare_numbers(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

bool space_pages_numbers(const struct space_pages *pages, struct vec_u64 *numbers)
{
	numbers->count = 0;
	for (size_t i = 0; i < pages->chunks.count; i++)
		if (pages->chunks.items[i].blocks > 0 &&
		    !vec_u64_push(numbers, pages->chunks.items[i].number))
			return false;
	return sort_stable(numbers->items, numbers->count, sizeof(*numbers->items), compare_numbers,
			   NULL);
}

/* The first number that is at least this one; UINT64_MAX: none. */
static uint64_t next_number(const struct vec_u64 *numbers, uint64_t number)
{
	size_t low = 0, high = numbers->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (numbers->items[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < numbers->count ? numbers->items[low] : UINT64_MAX;
}

uint64_t space_pages_stretch(const struct space_pages *pages, const struct vec_u64 *numbers,
			     uint64_t address, uint64_t end, unsigned *live_ret)
{
	const uint64_t number = address >> SPACE_CHUNK_SHIFT;
	const uint64_t next = next_number(numbers, number);
	const struct space_chunk *chunk;

	assert(address < end);
	*live_ret = 0;
	if (next != number)
		return next == UINT64_MAX ? end : u64_min(end, next << SPACE_CHUNK_SHIFT);
	chunk = chunk_find(pages, address);
	if (!chunk || chunk->whole == 0)
		return address;
	*live_ret = SPACE_PAGE;
	return u64_min(end, chunk_end(address));
}
