#include "model/blocks.h"

#include <assert.h>
#include <string.h>

#include "base/big.h"

enum {
	SLOTS_FIRST = 1 << 12,
	AHEAD = 16 /* blocks whose slots are prefetched */
};

bool blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks) {
		.items = big_alloc(SLOTS_FIRST * sizeof(*blocks->items)),
		.index = big_alloc(SLOTS_FIRST * sizeof(*blocks->index)),
		.mask = SLOTS_FIRST - 1,
	};
	return blocks->items && blocks->index;
}

void blocks_deinit(struct blocks *blocks)
{
	big_free(blocks->items, (blocks->mask + 1) * sizeof(*blocks->items));
	big_free(blocks->index, (blocks->mask + 1) * sizeof(*blocks->index));
	*blocks = (struct blocks) { 0 };
}

size_t blocks_bytes(const struct blocks *blocks)
{
	return (blocks->mask + 1) * sizeof(*blocks->index) +
	       blocks_limit(blocks) * sizeof(*blocks->items);
}

static bool block_stays(const struct block *block)
{
	return block_is_live(block) || block_is_remembered(block);
}

/* Memory for twice the slots; the blocks stay, and the index is no longer valid. */
static bool blocks_double(struct blocks *blocks)
{
	const size_t slots = blocks->mask + 1;
	const size_t index_bytes = slots * sizeof(*blocks->index);
	const size_t item_bytes = slots * sizeof(*blocks->items);
	void *index, *items;

	if (slots > UINT32_MAX / 2) /* numbers have 32 bits */
		return false;
	index = big_resize(blocks->index, index_bytes, index_bytes * 2);
	if (!index)
		return false;
	blocks->index = index;
	items = big_resize(blocks->items, item_bytes, item_bytes * 2);
	if (!items) {
		index = big_resize(index, index_bytes * 2, index_bytes);
		blocks->index = index ? index : blocks->index;
		return false;
	}
	blocks->items = items;
	blocks->mask = slots * 2 - 1;
	return true;
}

/* Removes dead blocks; the others keep their order. The index is no longer valid. */
static void blocks_purge(struct blocks *blocks)
{
	size_t kept = 0;

	for (size_t i = 1; i <= blocks->used_count; i++)
		if (block_stays(&blocks->items[i]))
			blocks->items[++kept] = blocks->items[i];
	for (size_t i = kept + 1; i <= blocks->used_count; i++)
		blocks->items[i].address = 0;
	blocks->used_count = kept;
}

/* Makes the index anew. The slots from dirty_count on are empty. */
static void blocks_enter_all(struct blocks *blocks, size_t dirty_count)
{
	memset(blocks->index, 0, dirty_count * sizeof(*blocks->index));
	for (size_t i = 1; i <= blocks->used_count; i++) {
		/* there are unused ones behind the last */
		blocks_prefetch(blocks, blocks->items[i + AHEAD].address);
		blocks_enter(blocks, blocks->items[i].address, (uint32_t)i);
	}
}

bool blocks_rebuild(struct blocks *blocks)
{
	const size_t limit = blocks_limit(blocks), slots = blocks->mask + 1;

	assert((blocks->mask & slots) == 0);
	assert(blocks->live_count <= blocks->used_count);
	assert(blocks->used_count <= limit);
	blocks_purge(blocks);
	if ((blocks->live_count > limit / 4 * 3 || blocks->used_count > limit / 8 * 7) &&
	    !blocks_double(blocks)) /* few are dead, or too many are remembered */
		return false;
	blocks_enter_all(blocks, slots);
	return true;
}
