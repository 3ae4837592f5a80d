/*
 * blocks: live blocks by address. They lie one after the other, in the order in which their addresses
 * were first filled, so that new ones need no memory but the next. A hash table has their numbers:
 * four bytes a slot, open addressing with linear probing. Removal only marks a block as dead; so
 * there are no tombstones, and the table is only as large as the live set needs. Internal to model.
 */
#ifndef MEMTAPE_MODEL_BLOCKS_H
#define MEMTAPE_MODEL_BLOCKS_H

#include "core/core.h"

struct block {
	uint64_t address; /* 0: there is none */
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
	struct block *items; /* used_count from 1 on; all others have address 0 */
	/* Number of a block, below the high bits of its address's hash; 0: the slot is empty. */
	uint32_t *index;
	size_t mask;  /* slots of the index - 1; numbers are smaller */
	size_t room;  /* items; a power of two */
	size_t limit; /* of used_count: with more, searches become long */
	size_t live_count;
	size_t used_count; /* live or dead */
};

bool blocks_init(struct blocks *blocks); /* false: out of memory */
void blocks_deinit(struct blocks *blocks);

/* Bytes of memory: of the index and of the blocks that were ever used. */
size_t blocks_bytes(const struct blocks *blocks);

/* Without dead blocks, and larger if needed. False: out of memory, and the table is unusable. */
bool blocks_rebuild(struct blocks *blocks);

/* Rebuilds a table that is too full; call before blocks_fill. False: as above. */
static inline bool blocks_make_room(struct blocks *blocks)
{
	return likely(blocks->used_count < blocks->limit) || blocks_rebuild(blocks);
}

/*
 * Multiplication spreads the bits that differ (4 and up) over those that are kept. The lower bits of
 * a hash are the slot where a search begins; the others are in the slot.
 */
static inline uint32_t blocks_hash(uint64_t address)
{
	return (uint32_t)((address >> 4 | address << 60) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Forced inline: gcc 12 treats a function that only prefetches as one without effect. */
__attribute__((always_inline)) static inline void blocks_prefetch(const struct blocks *blocks,
								  uint64_t address)
{
	__builtin_prefetch(&blocks->index[blocks_hash(address) & blocks->mask], 1);
}

/*
 * Most often the number of this address's block, if it has one; else any below room. Without
 * branches, and reads no block.
 */
static inline uint32_t blocks_guess(const struct blocks *blocks, uint64_t address)
{
	const uint32_t hash = blocks_hash(address);
	const size_t home = hash & blocks->mask;
	const size_t next = (blocks->index[home] ^ hash) > blocks->mask;

	return blocks->index[(home + next) & blocks->mask] & (uint32_t)blocks->mask;
}

/* The block itself, once its slot is there. Returns the guess. */
__attribute__((always_inline)) static inline uint32_t
blocks_prefetch_guess(const struct blocks *blocks, uint64_t address)
{
	const uint32_t guess = blocks_guess(blocks, address);

	__builtin_prefetch(&blocks->items[guess], 1);
	return guess;
}

/* The live or dead block of this address; else one with address 0, for blocks_fill. */
static inline struct block *blocks_find(const struct blocks *blocks, uint64_t address)
{
	const uint32_t hash = blocks_hash(address);
	size_t at = hash & blocks->mask;

	for (uint32_t entry; (entry = blocks->index[at]) != 0; at = (at + 1) & blocks->mask) {
		struct block *block = &blocks->items[entry & blocks->mask];

		if ((entry ^ hash) <= blocks->mask && block->address == address)
			return block;
	}
	return &blocks->items[blocks->used_count + 1];
}

/* The same; guess is any number below room, and the right one makes it fast. address is not 0. */
static inline struct block *blocks_find_near(const struct blocks *blocks, uint64_t address,
					     uint32_t guess)
{
	return likely(blocks->items[guess].address == address) ? &blocks->items[guess]
							       : blocks_find(blocks, address);
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

/* The number of this address's block, which is not in the index. */
static inline void blocks_enter(struct blocks *blocks, uint64_t address, uint32_t number)
{
	const uint32_t hash = blocks_hash(address);
	size_t at = hash & blocks->mask;

	while (blocks->index[at] != 0)
		at = (at + 1) & blocks->mask;
	blocks->index[at] = (hash & ~(uint32_t)blocks->mask) | number;
}

/* block is the result of blocks_find for value's address, and not live. */
static inline void blocks_fill(struct blocks *blocks, struct block *block, struct block value)
{
	if (block->address == 0)
		blocks_enter(blocks, value.address, (uint32_t)++blocks->used_count);
	blocks->live_count++;
	*block = value;
}

static inline void blocks_end(struct blocks *blocks, struct block *block)
{
	block->thread |= (uint32_t)BLOCK_DEAD;
	blocks->live_count--;
}

#endif
