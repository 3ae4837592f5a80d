#include "model/blocks.h"

#include "base/big.h"

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

bool blocks_make_room(struct blocks *blocks)
{
	const struct blocks old = *blocks;
	const size_t limit = blocks->mask / 8 * 5;
	unsigned bits = 64 - blocks->shift;

	if (likely(blocks->used_count < limit))
		return true;
	if (!blocks_allocate(blocks, bits + (blocks->live_count > limit / 4 * 3)))
		return false;
	for (size_t i = 0; i <= old.mask; i++)
		if (block_is_live(&old.slots[i]))
			*blocks_find(blocks, old.slots[i].address) = old.slots[i];
	blocks->used_count = blocks->live_count;
	big_free(old.slots, (old.mask + 1) * sizeof(*old.slots));
	return true;
}
