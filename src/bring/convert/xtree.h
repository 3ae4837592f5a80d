/*
 * xtree: shared by the readers of the two formats of Valgrind's execution trees: sums of stacks.
 * Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_XTREE_H
#define MEMTAPE_CONVERT_XTREE_H

#include "base/map.h"
#include "base/vec.h"
#include "convert/compose.h"
#include "convert/source.h"

enum xtree_kind {
	XTREE_LIVE_BYTES,
	XTREE_LIVE_BLOCKS,
	XTREE_ALL_BYTES,
	XTREE_ALL_BLOCKS,
	XTREE_KINDS,
	XTREE_FREED /* by freeing stack: not read, follows from the others */
};

struct xtree_row {
	uint32_t stack;
	uint64_t sums[XTREE_KINDS];
};

VEC_DEFINE(xtree_row_vec, struct xtree_row);

/* All zeros is an empty one. */
struct xtree_rows {
	struct map index; /* stack -> index in rows */
	struct xtree_row_vec rows;
};

void xtree_rows_deinit(struct xtree_rows *rows);
CLEAN_DEFINE_DEINIT(xtree_rows_deinit, struct xtree_rows);

/* False: out of memory. */
bool xtree_rows_add(struct xtree_rows *rows, uint32_t stack, enum xtree_kind kind, uint64_t value);

void xtree_rows_write(const struct xtree_rows *rows, struct composer *composer);

/* has: which kinds were present, XTREE_FREED + 1 of them. */
void xtree_facts_write(struct composer *composer, const bool *has);

/* The file is in callgrind's format. (xtree_callgrind.c) */
struct err *xtree_callgrind_read(struct source *source, struct composer *composer);

#endif
