/*
 * blocks: what is alive, by address. Open addressing with linear probing; removal closes the gap,
 * so there are no tombstones and the table is as large as the program's live set asks for. Internal
 * to model.
 */
#ifndef MEMTAPE_MODEL_BLOCKS_H
#define MEMTAPE_MODEL_BLOCKS_H

#include "core/core.h"

struct block {
	uint64_t address; /* 0: the slot is empty */
	uint64_t size;
	uint32_t slack; /* usable - size; saturated, for UINT32_MAX see the columns */
	uint32_t stack;
	uint32_t thread;
	uint32_t serial; /* index of the allocation, modulo 2^32 */
};

static_assert(sizeof(struct block) == 32, "two in a cache line");

struct blocks {
	struct block *slots;
	size_t mask;
	unsigned shift;
	size_t count;
};

bool blocks_init(struct blocks *blocks); /* false: out of memory */
void blocks_deinit(struct blocks *blocks);

/* Doubles the table when it is fuller than it should be; call before inserting. */
bool blocks_make_room(struct blocks *blocks);

/* Multiplication spreads what differs (bits 4 and up) over the bits that are kept. */
static inline size_t blocks_home(const struct blocks *blocks, uint64_t address)
{
	return (size_t)((address >> 4 | address << 60) * UINT64_C(0x9e3779b97f4a7c15) >>
			blocks->shift);
}

/* Forced inline: gcc 12 takes a function that only prefetches for one that does nothing. */
__attribute__((always_inline)) static inline void blocks_prefetch(const struct blocks *blocks,
								  uint64_t address)
{
	const struct block *home = &blocks->slots[blocks_home(blocks, address)];

	__builtin_prefetch(home, 1);
	__builtin_prefetch(home + 1, 1); /* the end of the search, or of closing a gap */
}

/* The block of this address, or the empty slot where it would be. address is not 0. */
static inline struct block *blocks_find(const struct blocks *blocks, uint64_t address)
{
	size_t at = blocks_home(blocks, address);

	while (blocks->slots[at].address != address && blocks->slots[at].address != 0)
		at = (at + 1) & blocks->mask;
	return &blocks->slots[at];
}

/* block is one that is there; others may move. */
void blocks_remove(struct blocks *blocks, struct block *block);

#endif
