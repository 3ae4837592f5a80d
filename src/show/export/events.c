#include "export/events.h"

#include <assert.h>

struct events *events_create(const struct selection *selection)
{
	CLEAN(events_destroy) struct events *events = calloc(1, sizeof(*events));

	assert(selection->model);
	if (!events)
		return NULL;
	events->model = selection->model;
	events->playback = playback_create(selection);
	return events->playback ? steal(events) : NULL;
}

void events_destroy(struct events *events)
{
	if (!events)
		return;
	playback_destroy(events->playback);
	free(events);
}

bool events_next(struct events *events)
{
	events->count = 0;
	while (events->count < MODEL_BATCH &&
	       playback_next(events->playback, &events->items[events->count])) {
		events->rows[events->count] = events->items[events->count].row;
		events->count++;
	}
	assert(events->count <= MODEL_BATCH);
	return events->count > 0;
}

void events_read(const struct events *events, enum model_column column, uint64_t *values)
{
	assert((unsigned)column < MODEL_COLUMNS);
	assert(events->count > 0 && events->count <= MODEL_BATCH);
	model_rows_gather(events->model, column, events->rows, events->count, values);
}
