/*
 * events: allocations and frees of the selection in chronological order, in batches, with the row
 * columns that a format needs. Memory for a batch. Internal to export.
 *
 *	CLEAN(events_destroy) struct events *events = events_create(selection);
 *	while (events_next(events)) {
 *		events_read(events, MODEL_ADDRESS, addresses);
 *		for (size_t i = 0; i < events->count; i++) ... events->items[i] ... addresses[i]
 */
#ifndef MEMTAPE_EXPORT_EVENTS_H
#define MEMTAPE_EXPORT_EVENTS_H

#include "select/playback.h"

struct event {
	bool is_free;
	uint64_t row; /* the allocation that is made or freed */
	uint64_t ns;
	uint64_t bytes; /* requested */
	uint32_t stack; /* of the allocation, also for frees */
};

struct events {
	struct playback *playback;
	const struct model *model;
	size_t count; /* of this batch */
	struct event items[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH];
};

/* Needs MODEL_FULL. NULL: out of memory. */
struct events *events_create(const struct selection *selection);
void events_destroy(struct events *events); /* NULL is fine */
CLEAN_DEFINE(events_destroy, struct events *);

bool events_next(struct events *events); /* false: end */

/* Reads a column's values for the batch's rows, count of them. */
void events_read(const struct events *events, enum model_column column, uint64_t *values);

#endif
