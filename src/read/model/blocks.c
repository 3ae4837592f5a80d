#include "model/blocks.h"

#include <assert.h>

#include "base/big.h"
#include "base/vec.h"

enum { FIRST_BITS = 12 };

static bool blocks_allocate(struct blocks *blocks, unsigned bits)
{
	struct block *slots = big_alloc(sizeof(*slots) << bits);

	if (!slots)
		return false;
	blocks->slots = slots;
	blocks->mask = ((size_t)1 << bits) - 1;
	blocks->shift = 64 - bits;
	return true;
}

bool blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks) { 0 };
	return blocks_allocate(blocks, FIRST_BITS);
}

void blocks_deinit(struct blocks *blocks)
{
	big_free(blocks->slots, (blocks->mask + 1) * sizeof(*blocks->slots));
	*blocks = (struct blocks) { 0 };
}

VEC_DEFINE(block_vec, struct block);

static bool block_stays(const struct block *block)
{
	return block_is_live(block) || block_is_remembered(block);
}

/* Index in the table of twice the size, whose lower half is this one. */
static bool blocks_double(struct blocks *blocks)
{
	size_t bytes = (blocks->mask + 1) * sizeof(*blocks->slots);
	struct block *slots = big_resize(blocks->slots, bytes, bytes * 2);

	if (!slots)
		return false;
	blocks->slots = slots;
	blocks->mask = blocks->mask * 2 + 1;
	blocks->shift--;
	return true;
}

/*
 * Spreads the blocks of the lower half over the whole table, in place: touching new memory costs
 * more than moving. A block's new home is about twice its old one, so going down from the middle
 * nearly all move up, to slots already processed; the few others wait in `aside`.
 */
static bool blocks_spread(struct blocks *blocks, struct block_vec *aside)
{
	blocks->used_count = 0;
	for (size_t i = (blocks->mask >> 1) + 1; i-- > 0;) {
		struct block block = blocks->slots[i];
		size_t to = blocks_home(blocks, block.address);

		if (!block_stays(&block)) {
			blocks->slots[i].address = 0;
			continue;
		}
		blocks->used_count++;
		while (to > i && to <= blocks->mask && blocks->slots[to].address)
			to++;
		if (to <= i || to > blocks->mask) {
			if (!block_vec_push(aside, block))
				return false;
		} else {
			blocks->slots[to] = block;
		}
		blocks->slots[i].address = 0;
	}
	for (size_t i = 0; i < aside->count; i++)
		*blocks_find(blocks, aside->items[i].address) = aside->items[i];
	return true;
}

/*
 * Removes dead blocks, in place. Starting after an empty slot, so that no probe sequence crosses
 * it, every block is reinserted where a search for it ends: at its slot or nearer its home.
 */
static void blocks_purge(struct blocks *blocks)
{
	size_t begin = 0;

	blocks->used_count = 0;
	while (blocks->slots[begin].address)
		begin++;
	for (size_t i = 1; i <= blocks->mask; i++) {
		struct block *slot = &blocks->slots[(begin + i) & blocks->mask];
		struct block block = *slot;

		slot->address = 0;
		if (block_stays(&block)) {
			*blocks_find(blocks, block.address) = block;
			blocks->used_count++;
		}
	}
}

bool blocks_rebuild(struct blocks *blocks)
{
	CLEAN(block_vec_deinit) struct block_vec aside = { 0 };
	const size_t limit = blocks_limit(blocks);

	assert((blocks->mask & (blocks->mask + 1)) == 0);
	assert(blocks->live_count <= blocks->used_count);
	assert(blocks->used_count <= blocks->mask);
	if (blocks->live_count <= limit / 4 * 3) {
		blocks_purge(blocks);
		if (likely(blocks->used_count <= limit / 8 * 7))
			return true; /* else too many are remembered */
	}
	return blocks_double(blocks) && blocks_spread(blocks, &aside);
}
