/*
 * freed: ends of blocks in order of time, packed like rows in blocks of 65,536, with the data that
 * sums over time need, so that sums do not access rows at random. Internal to model.
 */
#ifndef MEMTAPE_MODEL_FREED_H
#define MEMTAPE_MODEL_FREED_H

#include "model/segment.h"

enum { FREED_BLOCK = 1 << 16 /* entries of a packed block */ };

struct freed_entry {
	uint64_t time; /* ticks, then ns */
	uint64_t size;
	uint32_t row;
	uint32_t stack; /* of the allocation */
	uint32_t slack;
	uint32_t free_stack;
	uint32_t free_thread;
	uint8_t free_fn;
	uint8_t flags;
	uint8_t reserved[10]; /* where a word of 64 bits is aligned to 4 bytes, too */
};

static_assert(sizeof(struct freed_entry) == 48, "three quarters of a cache line");

enum freed_column {
	FREED_ROW,
	FREED_TIME,
	FREED_STACK,
	FREED_SIZE,
	FREED_SLACK, /* twice the slack, plus 1 if it was temporary */
	FREED_COLUMNS
};

struct freed_block {
	struct segment_column columns[FREED_COLUMNS];
	uint64_t count;
};

size_t freed_room(uint32_t count);

/* Like segment_pack; times are ns. */
size_t freed_pack(const struct freed_entry *entries, uint32_t count, uint8_t *out,
		  struct freed_block *block_ret);
void freed_move(struct freed_block *block, uint64_t offset);
bool freed_is_sound(const struct freed_block *block, uint64_t file_bytes);

/* Entries first .. first + count - 1 of the block. */
void freed_read(const struct freed_block *block, const uint8_t *file, enum freed_column column,
		uint32_t first, size_t count, uint64_t *values);

#endif
