/*
 * Sorts events of bytehound by time. Its threads hand over their events in batches, so a free may
 * come after the allocation that reused its address. As many events as the heap holds may be out of
 * order.
 */
#include "convert/bytehound.h"

#include <assert.h>

enum { WAITING_MAX = 1 << 16 }; /* 5 MiB */

static bool is_before(const struct bytehound_event *a, const struct bytehound_event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static void hand_on(struct bytehound *bytehound, const struct bytehound_event *event)
{
	struct composer *composer = bytehound->composer;
	const struct compose_block block = {
		.fn = event->fn,
		.address = event->address,
		.size = event->size,
		.usable = event->usable,
		.stack = event->stack,
	};

	composer_time(composer, event->ns);
	composer_thread(composer, event->thread, NULL);
	switch (event->what) {
	case BYTEHOUND_ALLOC:
		composer_allocated(composer, &block);
		break;
	case BYTEHOUND_REALLOC:
		composer_reallocated(composer, event->old_address, &block);
		break;
	case BYTEHOUND_FREE:
		composer_freed(composer, event->fn, event->address, event->stack);
		break;
	}
}

/* Removes the earliest; `last` takes its place and sinks to its position. */
static void take_first(struct bytehound *bytehound)
{
	struct bytehound_event *heap = bytehound->waiting.items;
	const size_t count = --bytehound->waiting.count;
	const struct bytehound_event first = heap[0], last = heap[count];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	hand_on(bytehound, &first);
}

void bytehound_put(struct bytehound *bytehound, const struct bytehound_event *event)
{
	struct bytehound_event *heap;
	size_t at;

	assert(bytehound->waiting.count <= WAITING_MAX);
	assert(event->what <= BYTEHOUND_FREE);
	if (bytehound->waiting.count == WAITING_MAX)
		take_first(bytehound);
	if (!bytehound_events_push(&bytehound->waiting, *event)) {
		bytehound_flush(bytehound);
		hand_on(bytehound, event);
		return;
	}
	heap = bytehound->waiting.items;
	at = bytehound->waiting.count - 1;
	heap[at].order = bytehound->event_count++;
	for (struct bytehound_event moved = heap[at];
	     at > 0 && is_before(&moved, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
		heap[(at - 1) / 2] = moved;
	}
}

void bytehound_flush(struct bytehound *bytehound)
{
	while (bytehound->waiting.count > 0)
		take_first(bytehound);
}
