#include "model/blocks.h"

#include <assert.h>
#include <string.h>

#include "base/big.h"

enum {
	ROOM_FIRST = 1 << 12,
	ROOM_SPARSE = 1 << 19, /* up to that, the index is small enough to be half empty */
	AHEAD = 16	       /* blocks whose slots are prefetched */
};

/* Slots of the index: with more of them, a search more often ends where it began. */
static size_t slots_for(size_t room)
{
	return room <= ROOM_SPARSE ? room * 2 : room;
}

static void blocks_measure(struct blocks *blocks, size_t room)
{
	blocks->room = room;
	blocks->mask = slots_for(room) - 1;
	blocks->limit = (room - 1) / 8 * 5;
}

bool blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks) {
		.items = big_alloc(ROOM_FIRST * sizeof(*blocks->items)),
		.index = big_alloc(slots_for(ROOM_FIRST) * sizeof(*blocks->index)),
	};
	blocks_measure(blocks, ROOM_FIRST);
	return blocks->items && blocks->index;
}

void blocks_deinit(struct blocks *blocks)
{
	big_free(blocks->items, blocks->room * sizeof(*blocks->items));
	big_free(blocks->index, (blocks->mask + 1) * sizeof(*blocks->index));
	*blocks = (struct blocks) { 0 };
}

size_t blocks_bytes(const struct blocks *blocks)
{
	return (blocks->mask + 1) * sizeof(*blocks->index) +
	       (blocks->used_count + 1) * sizeof(*blocks->items);
}

static bool block_stays(const struct block *block)
{
	return block_is_live(block) || block_is_remembered(block);
}

/* Twice the room; the blocks stay, and the index is no longer valid. */
static bool blocks_double(struct blocks *blocks)
{
	const size_t room = blocks->room, index_bytes = (blocks->mask + 1) * sizeof(*blocks->index);
	const size_t new_index_bytes = slots_for(room * 2) * sizeof(*blocks->index);
	void *index, *items;

	if (room > UINT32_MAX / 2) /* numbers have 32 bits */
		return false;
	index = big_resize(blocks->index, index_bytes, new_index_bytes);
	if (!index)
		return false;
	blocks->index = index;
	items = big_resize(blocks->items, room * sizeof(*blocks->items),
			   room * 2 * sizeof(*blocks->items));
	if (!items) {
		index = big_resize(index, new_index_bytes, index_bytes);
		blocks->index = index ? index : blocks->index;
		return false;
	}
	blocks->items = items;
	blocks_measure(blocks, room * 2);
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
	const size_t limit = blocks->limit, slots = blocks->mask + 1;

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
