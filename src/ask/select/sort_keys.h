/*
 * sort_keys: values of a field as numbers whose ascending order is the one asked for, whatever the
 * field's type and the direction; what has no value comes last. Internal to select.
 */
#ifndef MEMTAPE_SELECT_SORT_KEYS_H
#define MEMTAPE_SELECT_SORT_KEYS_H

#include "base/map.h"
#include "select/batch.h"
#include "select/selection.h"

struct sort_keys {
	const struct selection *selection;
	const struct selection_order *order; /* with a field */
	struct map ranks;		     /* of a text field: value -> place of its text */
};

/* Finds the facts that the field needs. Then any thread may read keys. */
struct err *sort_keys_init(struct sort_keys *keys, const struct selection *selection,
			   const struct selection_order *order);
void sort_keys_deinit(struct sort_keys *keys);
CLEAN_DEFINE_DEINIT(sort_keys_deinit, struct sort_keys);

/* Rows and their keys. Big: not for the stack. */
struct sort_reading {
	const struct sort_keys *keys;
	struct batch batch;
	uint64_t rows[MODEL_BATCH];
	uint64_t values[MODEL_BATCH]; /* keys */
	size_t count;
};

/* The selected ones of the batch that begins at row `first`, a multiple of MODEL_BATCH. */
void sort_reading_read(struct sort_reading *reading, uint64_t first);

/* Any rows, at most MODEL_BATCH; they are in reading->rows. */
void sort_reading_list(struct sort_reading *reading, size_t count);

#endif
