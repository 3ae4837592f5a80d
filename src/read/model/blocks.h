/*
 * blocks: live blocks by address. Open addressing with linear probing; removal closes the gap, so
 * there are no tombstones and the table is only as large as the live set needs. Internal to model.
 */
#ifndef MEMTAPE_MODEL_BLOCKS_H
#define MEMTAPE_MODEL_BLOCKS_H

#include "core/core.h"

struct block {
	uint64_t address; /* 0: the slot is empty */
	uint64_t size;
	uint32_t slack; /* usable - size; saturated, for UINT32_MAX see the columns */
	uint32_t stack;
	uint32_t thread; /* and bits of enum block_state, once it has ended */
	uint32_t serial; /* index of the allocation, modulo 2^32 */
};

static_assert(sizeof(struct block) == 32, "two in a cache line");

/*
 * A dead block keeps its size, thread and serial for a while, until the table is rebuilt; a block
 * that must be remembered, until its address is reused.
 */
enum block_state {
	BLOCK_TEMPORARY = 1 << 29,
	BLOCK_REMEMBERED = 1 << 30,
	BLOCK_DEAD = INT32_MIN,
	BLOCK_THREAD = BLOCK_TEMPORARY - 1 /* the other bits; all set: no longer known */
};

struct blocks {
	struct block *slots;
	size_t mask;
	unsigned shift;
	size_t live_count;
	size_t used_count; /* slots with a block, live or dead */
};

bool blocks_init(struct blocks *blocks); /* false: out of memory */
void blocks_deinit(struct blocks *blocks);

/* Used slots beyond which searches become long. */
static inline size_t blocks_limit(const struct blocks *blocks)
{
	return blocks->mask / 8 * 5;
}

/* Without dead blocks, and larger if needed. False: out of memory, and the table is unusable. */
bool blocks_rebuild(struct blocks *blocks);

/* Rebuilds a table that is too full; call before blocks_fill. False: as above. */
static inline bool blocks_make_room(struct blocks *blocks)
{
	return likely(blocks->used_count < blocks_limit(blocks)) || blocks_rebuild(blocks);
}

/* Multiplication spreads the bits that differ (4 and up) over those that are kept. */
static inline size_t blocks_home(const struct blocks *blocks, uint64_t address)
{
	return (size_t)((address >> 4 | address << 60) * UINT64_C(0x9e3779b97f4a7c15) >>
			blocks->shift);
}

/* Forced inline: gcc 12 treats a function that only prefetches as one without effect. */
__attribute__((always_inline)) static inline void blocks_prefetch(const struct blocks *blocks,
								  uint64_t address)
{
	__builtin_prefetch(&blocks->slots[blocks_home(blocks, address)], 1);
}

/* The slot of this address: holds a live or dead block, or is empty. address is not 0. */
static inline struct block *blocks_find(const struct blocks *blocks, uint64_t address)
{
	size_t at = blocks_home(blocks, address);

	while (blocks->slots[at].address != address && blocks->slots[at].address != 0)
		at = (at + 1) & blocks->mask;
	return &blocks->slots[at];
}

static inline bool block_is_live(const struct block *block)
{
	return block->address != 0 && (int32_t)block->thread >= 0;
}

/* Dead, and must be remembered. */
static inline bool block_is_remembered(const struct block *block)
{
	const uint32_t state = (uint32_t)BLOCK_DEAD | BLOCK_REMEMBERED;

	return block->address != 0 && (block->thread & state) == state;
}

/* slot is the result of blocks_find for value's address, and not live. */
static inline void blocks_fill(struct blocks *blocks, struct block *slot, struct block value)
{
	blocks->used_count += slot->address == 0;
	blocks->live_count++;
	*slot = value;
}

static inline void blocks_end(struct blocks *blocks, struct block *block)
{
	block->thread |= (uint32_t)BLOCK_DEAD;
	blocks->live_count--;
}

#endif
