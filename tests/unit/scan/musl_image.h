/*
 * musl_image: memory as musl's malloc leaves it: its variables in DATA, one area in MAIN, groups in
 * MAPPED.
 */
#ifndef MEMTAPE_TESTS_UNIT_SCAN_MUSL_IMAGE_H
#define MEMTAPE_TESTS_UNIT_SCAN_MUSL_IMAGE_H

#include "heap_image.h"

enum {
	MUSL_CONTEXT = DATA + 0x1400,
	MUSL_AREA = MAIN,
	MUSL_METAS = MUSL_AREA + 24,
	MUSL_UNIT = 16
};

static const uint64_t musl_secret = 0x1f2e3d4c5b6a7988;

static inline void put_byte(struct heap_image *image, uint64_t address, unsigned byte)
{
	size_t room;
	uint8_t *at = image_at(image, address, &room);

	if (at)
		*at = (uint8_t)byte;
}

static inline void put_half(struct heap_image *image, uint64_t address, unsigned half)
{
	put_byte(image, address, half & 255);
	put_byte(image, address + 1, half >> 8);
}

static inline void put_used(struct heap_image *image, unsigned size_class, uint64_t slots)
{
	put(image, MUSL_CONTEXT + (58 + size_class) * 8, slots);
}

/* An area with so many descriptions of groups, none of which is there yet. */
static inline void put_musl(struct heap_image *image, unsigned count)
{
	put(image, MUSL_CONTEXT, musl_secret);
	put(image, MUSL_CONTEXT + 7 * 8, MUSL_AREA);
	put(image, MUSL_CONTEXT + 8 * 8, MUSL_AREA);
	put(image, MUSL_AREA, musl_secret);
	put(image, MUSL_AREA + 8, 0);
	put(image, MUSL_AREA + 16, count);
}

struct musl_group {
	uint64_t at;
	unsigned available, freed, last, size_class, pages;
};

static inline void put_group(struct heap_image *image, unsigned index,
			     const struct musl_group *group)
{
	const uint64_t meta = MUSL_METAS + index * 40;

	put(image, meta + 16, group->at);
	put(image, meta + 24, group->available | (uint64_t)group->freed << 32);
	put(image, meta + 32,
	    group->last | 1u << 5 | group->size_class << 6 | (uint64_t)group->pages << 12);
	put(image, group->at, meta);
}

/* A block of this size in a slot, which begins so many units behind the slot's beginning. */
static inline uint64_t put_block(struct heap_image *image, uint64_t group, uint64_t stride,
				 unsigned index, unsigned moved, uint64_t size)
{
	const uint64_t storage = group + MUSL_UNIT, slot = storage + index * stride;
	const uint64_t block = slot + moved * MUSL_UNIT, end = slot + stride - 4;
	const uint64_t rest = end - block - size;

	if (moved) {
		put_byte(image, slot - 3, 7 << 5);
		put_half(image, slot - 2, moved);
	}
	put_byte(image, block - 4, 0);
	put_byte(image, block - 3, index | (unsigned)(rest < 5 ? rest : 5) << 5);
	put_half(image, block - 2, (unsigned)((block - storage) / MUSL_UNIT));
	if (rest >= 5) {
		put_half(image, end - 4, (unsigned)rest);
		put_half(image, end - 2, (unsigned)(rest >> 16));
	}
	return block;
}

#endif
