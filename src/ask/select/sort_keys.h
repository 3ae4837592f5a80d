/*
 * sort_keys: values of a field as numbers whose ascending order is the requested one, for every
 * field type and direction; no value sorts last. Internal to select.
 */
#ifndef MEMTAPE_SELECT_SORT_KEYS_H
#define MEMTAPE_SELECT_SORT_KEYS_H

#include "base/map.h"
#include "select/batch.h"
#include "select/selection.h"

struct sort_keys {
	const struct selection *selection;
	const struct selection_order *order; /* with a field */
	struct map ranks;		     /* of a text field: value -> rank of its text */
};

/* Prepares the facts that the field needs. Then any thread may read keys. */
struct err *sort_keys_init(struct sort_keys *keys, const struct selection *selection,
			   const struct selection_order *order);
void sort_keys_deinit(struct sort_keys *keys);
CLEAN_DEFINE_DEINIT(sort_keys_deinit, struct sort_keys);

/* Rows and their keys. Large: not for the stack. */
struct sort_reading {
	const struct sort_keys *keys;
	struct batch batch;
	uint64_t rows[MODEL_BATCH];
	uint64_t values[MODEL_BATCH]; /* keys */
	size_t count;
};

/* The selected rows of the batch that starts at row `first`, a multiple of MODEL_BATCH. */
void sort_reading_read(struct sort_reading *reading, uint64_t first);

/* Keys for the given rows in reading->rows, at most MODEL_BATCH. */
void sort_reading_list(struct sort_reading *reading, size_t count);

#endif
