/*
 * heap_damage: of the heaps of heap_image.h: what an attacker writes over them, and what holds of their
 * blocks nevertheless.
 */
#ifndef MEMTAPE_TESTS_FUZZ_HEAP_DAMAGE_H
#define MEMTAPE_TESTS_FUZZ_HEAP_DAMAGE_H

#include "../unit/scan/heap_image.h"

/* The first byte says where: a place, the next two the word in it. */
static inline void scribble(struct heap_image *image, const uint8_t *data, size_t size)
{
	enum { STEP = 3 + sizeof(uint64_t) };

	for (size_t at = 0; at + STEP <= size; at += STEP) {
		const struct heap_place *place = &image->places[data[at] % PLACES];
		const uint64_t offset = load_u16(data + at + 1) * UINT64_C(8);

		put(image, place->begin + offset % place->bytes, load_u64(data + at + 3));
	}
}

static inline void check(bool holds)
{
	if (!holds)
		abort();
}

static inline void check_blocks(const struct heap_image *image)
{
	const struct heap_blocks *blocks = &image->heap.blocks;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct heap_block *block = &blocks->items[i];

		check(maps_find(&image->maps, block->address) != NULL);
		check(block->usable_bytes <= MAPPED_BYTES);
		check(i == 0 || block[-1].address + block[-1].usable_bytes <= block->address);
	}
}

#endif
