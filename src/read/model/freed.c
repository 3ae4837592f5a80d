#include "model/freed.h"

/* Loops over the rows of a column are so short that counting them is a third of the work. */
#ifndef __clang__
#pragma GCC optimize("unroll-loops")
#endif

#include <assert.h>

size_t freed_room(uint32_t count)
{
	assert(count <= FREED_BLOCK);
	return count * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t) + sizeof(uint64_t)) +
	       (size_t)FREED_COLUMNS * SEGMENT_ALIGN;
}

__attribute__((always_inline)) static inline uint64_t value_of(const struct freed_entry *entry,
							       enum freed_column column)
{
	switch (column) {
	case FREED_ROW:
		return entry->row;
	case FREED_TIME:
		return entry->time;
	case FREED_STACK:
		return entry->stack;
	case FREED_SIZE:
		return entry->size;
	case FREED_SLACK:
		return (uint64_t)entry->slack << 1 |
		       (entry->flags & MODEL_ALLOCATION_TEMPORARY) / MODEL_ALLOCATION_TEMPORARY;
	case FREED_COLUMNS:
		break;
	}
	return 0;
}

enum { BLOCK = 256 /* entries that stay in the first-level cache from pass to pass */ };

__attribute__((always_inline)) static inline void range_add(struct model_bounds *range,
							    const struct freed_entry *entries,
							    size_t count, enum freed_column column)
{
	struct model_bounds sum = *range;

	for (size_t i = 0; i < count; i++) {
		const uint64_t value = value_of(&entries[i], column);

		sum.min = value < sum.min ? value : sum.min;
		sum.max = value > sum.max ? value : sum.max;
	}
	*range = sum;
}

static void plan(const struct freed_entry *entries, uint32_t count, struct freed_block *block)
{
	struct model_bounds ranges[FREED_COLUMNS];

	for (int column = 0; column < FREED_COLUMNS; column++)
		ranges[column] = (struct model_bounds) { UINT64_MAX, 0 };
	for (uint32_t first = 0; first < count; first += BLOCK) {
		const struct freed_entry *part = entries + first;
		const size_t part_count = u64_min(BLOCK, count - first);

		range_add(&ranges[FREED_ROW], part, part_count, FREED_ROW);
		range_add(&ranges[FREED_TIME], part, part_count, FREED_TIME);
		range_add(&ranges[FREED_STACK], part, part_count, FREED_STACK);
		range_add(&ranges[FREED_SIZE], part, part_count, FREED_SIZE);
		range_add(&ranges[FREED_SLACK], part, part_count, FREED_SLACK);
	}
	for (int column = 0; column < FREED_COLUMNS; column++)
		block->columns[column] = (struct segment_column) {
			.bias = count ? ranges[column].min : 0,
			.width = count ? segment_width(ranges[column].max - ranges[column].min) : 0,
		};
}

#define STORE(type, column)                                                                        \
	{                                                                                          \
		type *to_ = (type *)(void *)out;                                                   \
		for (uint32_t i = 0; i < count; i++)                                               \
			to_[i] = (type)(value_of(&entries[i], column) - bias);                     \
	}                                                                                          \
	break

#define STORE_WIDTH(column)                                                                        \
	switch (width) {                                                                           \
	case 1:                                                                                    \
		STORE(uint8_t, column);                                                            \
	case 2:                                                                                    \
		STORE(uint16_t, column);                                                           \
	case 4:                                                                                    \
		STORE(uint32_t, column);                                                           \
	case 8:                                                                                    \
		STORE(uint64_t, column);                                                           \
	default:                                                                                   \
		break;                                                                             \
	}                                                                                          \
	break

static void store(const struct freed_entry *entries, uint32_t count, enum freed_column column,
		  uint64_t bias, unsigned width, uint8_t *out)
{
	switch (column) {
	case FREED_ROW:
		STORE_WIDTH(FREED_ROW);
	case FREED_TIME:
		STORE_WIDTH(FREED_TIME);
	case FREED_STACK:
		STORE_WIDTH(FREED_STACK);
	case FREED_SIZE:
		STORE_WIDTH(FREED_SIZE);
	case FREED_SLACK:
		STORE_WIDTH(FREED_SLACK);
	case FREED_COLUMNS:
		break;
	}
}

size_t freed_pack(const struct freed_entry *entries, uint32_t count, uint8_t *out,
		  struct freed_block *block_ret)
{
	struct freed_block block = { .count = count };
	size_t at = 0;

	assert(count > 0);
	assert(count <= FREED_BLOCK);
	plan(entries, count, &block);
	for (int i = 0; i < FREED_COLUMNS; i++) {
		struct segment_column *column = &block.columns[i];

		column->offset = at;
		store(entries, count, (enum freed_column)i, column->bias, column->width, out + at);
		at += (size_t)count * column->width;
		at = (at + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
	}
	assert(at <= freed_room(count));
	*block_ret = block;
	return at;
}

void freed_move(struct freed_block *block, uint64_t offset)
{
	assert(offset % SEGMENT_ALIGN == 0);
	for (int i = 0; i < FREED_COLUMNS; i++)
		block->columns[i].offset += offset;
}

bool freed_is_sound(const struct freed_block *block, uint64_t file_bytes)
{
	bool sound = block->count <= FREED_BLOCK;

	for (int i = 0; i < FREED_COLUMNS && sound; i++)
		sound = segment_column_is_sound(&block->columns[i], block->count, file_bytes);
	return sound;
}

void freed_read(const struct freed_block *block, const uint8_t *file, enum freed_column column,
		uint32_t first, size_t count, uint64_t *values)
{
	assert(column < FREED_COLUMNS);
	assert(first + count <= block->count);
	segment_column_read(&block->columns[column], file, first, count, values);
}
