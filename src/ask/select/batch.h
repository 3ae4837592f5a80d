/*
 * batch: up to MODEL_BATCH rows of a model, and the columns that were requested. Large (over 100
 * KiB): not for the stack. Used by one thread.
 */
#ifndef MEMTAPE_SELECT_BATCH_H
#define MEMTAPE_SELECT_BATCH_H

#include "model/model.h"

struct facts;

struct batch {
	const struct facts *facts;
	const uint64_t *rows; /* NULL: consecutive rows from `first` on */
	uint64_t first;
	size_t count;
	size_t span;	       /* last of rows[] - first + 1; 0: rows[] are not ascending */
	uint32_t columns_read; /* bits by enum model_column */
	uint64_t columns[MODEL_COLUMNS][MODEL_BATCH];
};

/* Begins a batch of rows first .. first + count - 1; count is at most MODEL_BATCH. */
void batch_rows(struct batch *batch, const struct facts *facts, uint64_t first, size_t count);

/* The same for a list of rows in any order; borrowed. Ascending rows are read faster. */
void batch_list(struct batch *batch, const struct facts *facts, const uint64_t *rows, size_t count);

/* The number of the i-th row. */
static inline uint64_t batch_row(const struct batch *batch, size_t i)
{
	return batch->rows ? batch->rows[i] : batch->first + i;
}

/* count values, read on first use; valid until the next batch. */
const uint64_t *batch_column(struct batch *batch, enum model_column column);

#endif
