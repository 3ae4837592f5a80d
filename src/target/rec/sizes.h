/*
 * sizes: the requested bytes of every live block, if calls are counted and no events are kept: a
 * free must be subtracted with the size its allocation was counted with. Nothing is added to
 * blocks: the sizes are in a separate table by address, two bytes for each 16 bytes of address
 * space in which a block begins, of which only pages in use exist.
 *
 *	0		no known block begins here
 *	1 .. 0xefff	size + 1
 *	0xf000		the size is in the next four, which are the block's, too
 *	0xffBA		two blocks of up to 14 bytes, as some allocators have them: A is the size
 *			+ 1 of the one that begins here, B of the one eight bytes on; 0: there is
 *			none
 *
 * The kernel wipes the table in forked children: blocks of the parent are unknown there.
 */
#ifndef MEMTAPE_REC_SIZES_H
#define MEMTAPE_REC_SIZES_H

#include "rec/rec.h"

#include <stdatomic.h>

enum {
	SIZES_ADDRESS_BITS = ARCH_ADDRESS_BITS,
	SIZES_LEAF_SHIFT = 26, /* of addresses that share a leaf */
	SIZES_GRAIN_SHIFT = 4,
	SIZES_ROOT_COUNT = 1 << (SIZES_ADDRESS_BITS - SIZES_LEAF_SHIFT),
	SIZES_LEAF_COUNT = 1 << (SIZES_LEAF_SHIFT - SIZES_GRAIN_SHIFT),
	SIZES_PLAIN_MAX = 0xeffe,
	SIZES_LONG = 0xf000,
	SIZES_HALVES = 0xff00,
	SIZES_HALF_MAX = 14,
	SIZES_HALF_BYTES = 8
};

/* Written once, by rec_sizes_init(). */
extern uint16_t *_Atomic *rec_sizes_root;

/* False: no address space. */
bool rec_sizes_init(void);

/* In a forked child, where the kernel has not done so. */
void rec_sizes_wipe(void);

/* The slow paths. */
void rec_sizes_put_rare(uint64_t address, uint64_t size);
uint64_t rec_sizes_take_rare(uint64_t address);

static inline uint16_t *rec_sizes_grain(uint64_t address)
{
	uint16_t *leaf;

	if (unlikely(address >> SIZES_ADDRESS_BITS))
		return NULL;
	leaf = atomic_load_explicit(&rec_sizes_root[address >> SIZES_LEAF_SHIFT],
				    memory_order_relaxed);
	return likely(leaf) ? leaf + (address >> SIZES_GRAIN_SHIFT & (SIZES_LEAF_COUNT - 1)) : NULL;
}

/* After the allocation. */
static inline void rec_sizes_put(uint64_t address, uint64_t size)
{
	uint16_t *grain = rec_sizes_grain(address);

	if (likely(grain && size - SIZES_HALF_BYTES - 1 < SIZES_PLAIN_MAX - SIZES_HALF_BYTES &&
		   !(address & 15)))
		*grain = (uint16_t)(size + 1);
	else
		rec_sizes_put_rare(address, size);
}

#define SIZES_UNKNOWN UINT64_MAX

/* Before the free; SIZES_UNKNOWN for an unknown block. The block is unknown from now on. */
static inline uint64_t rec_sizes_take(uint64_t address)
{
	uint16_t *grain = rec_sizes_grain(address);
	uint64_t code;

	if (unlikely(!grain))
		return SIZES_UNKNOWN;
	code = *grain;
	if (unlikely(code - 1 > SIZES_PLAIN_MAX))
		return rec_sizes_take_rare(address);
	*grain = 0;
	return code - 1;
}

#endif
