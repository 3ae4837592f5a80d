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
	blocks->count = 0;
	return blocks_allocate(blocks, FIRST_BITS);
}

void blocks_deinit(struct blocks *blocks)
{
	big_free(blocks->slots, (blocks->mask + 1) * sizeof(*blocks->slots));
	*blocks = (struct blocks) { 0 };
}

bool blocks_make_room(struct blocks *blocks)
{
	struct blocks old = *blocks;

	if (likely(blocks->count < blocks->mask / 8 * 5))
		return true;
	if (!blocks_allocate(blocks, 64 - blocks->shift + 1))
		return false;
	for (size_t i = 0; i <= old.mask; i++)
		if (old.slots[i].address)
			*blocks_find(blocks, old.slots[i].address) = old.slots[i];
	big_free(old.slots, (old.mask + 1) * sizeof(*old.slots));
	return true;
}

void blocks_remove(struct blocks *blocks, struct block *block)
{
	size_t mask = blocks->mask, gap = (size_t)(block - blocks->slots);

	for (size_t at = (gap + 1) & mask; blocks->slots[at].address; at = (at + 1) & mask) {
		size_t home = blocks_home(blocks, blocks->slots[at].address);

		/* A block that began its search after the gap must not move before its home. */
		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		blocks->slots[gap] = blocks->slots[at];
		gap = at;
	}
	blocks->slots[gap].address = 0;
	blocks->count--;
}
