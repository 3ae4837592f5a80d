#include "export/events.h"

#include <assert.h>

struct events *events_create(const struct selection *selection)
{
	CLEAN(events_destroy) struct events *events = calloc(1, sizeof(*events));

	assert(selection->model);
	if (!events)
		return NULL;
	events->model = selection->model;
	events->playback = playback_create(selection->model, selection);
	return events->playback ? steal(events) : NULL;
}

void events_destroy(struct events *events)
{
	if (!events)
		return;
	playback_destroy(events->playback);
	free(events);
}

static void stacks_read(struct events *events)
{
	uint64_t stacks[MODEL_BATCH];

	events_read(events, MODEL_STACK, stacks);
	for (size_t i = 0; i < events->count; i++)
		events->items[i].stack = (uint32_t)stacks[i];
}

bool events_next(struct events *events)
{
	const struct playback_lane *lane;

	events->count = 0;
	while (events->count < MODEL_BATCH &&
	       (lane = playback_next(events->playback, MODEL_NEVER))) {
		const size_t i = playback_at(lane);

		events->rows[events->count] = lane->rows[i];
		events->items[events->count++] = (struct event) {
			.is_free = lane->is_frees,
			.row = lane->rows[i],
			.ns = lane->ns[i],
			.bytes = lane->bytes[i],
		};
	}
	if (events->count == 0)
		return false;
	stacks_read(events);
	return true;
}

void events_read(const struct events *events, enum model_column column, uint64_t *values)
{
	assert((unsigned)column < MODEL_COLUMNS);
	assert(events->count > 0 && events->count <= MODEL_BATCH);
	model_rows_gather(events->model, column, events->rows, events->count, values);
}
