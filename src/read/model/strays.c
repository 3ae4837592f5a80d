#include "model/strays.h"

#include <assert.h>

void strays_add(struct strays *strays, const struct capture_event *event, uint32_t thread,
		uint64_t row_count, uint64_t calls)
{
	const struct stray stray = {
		.free = { .ns = event->ticks,
			  .address = event->address,
			  .row_count = row_count,
			  .stack = event->stack,
			  .thread = thread,
			  .fn = event->fn },
		.calls = calls,
	};

	assert(strays->all.count <= MODEL_STRAY_FREES_MAX);
	struct stray_vec *all = &strays->all;
	size_t at = all->count;

	while (at > 0 && all->items[at - 1].free.ns > event->ticks)
		at--;
	if (at == MODEL_STRAY_FREES_MAX)
		return;
	if (all->count == MODEL_STRAY_FREES_MAX) {
		all->count--; /* the last is none of the first any more */
	} else if (!stray_vec_reserve(all, all->count + 1)) {
		strays->failed = true;
		return;
	}
	memmove(&all->items[at + 1], &all->items[at], (all->count - at) * sizeof(*all->items));
	all->items[at] = stray;
	all->count++;
}

void strays_drop(struct strays *strays, const struct capture_event *event, uint32_t thread)
{
	struct stray_vec *all = &strays->all;

	for (size_t i = all->count; i > 0 && all->items[i - 1].free.ns >= event->ticks; i--) {
		const struct model_stray_free *stray = &all->items[i - 1].free;

		if (stray->ns != event->ticks || stray->address != event->address ||
		    stray->thread != thread)
			continue;
		memmove(&all->items[i - 1], &all->items[i], (all->count - i) * sizeof(*all->items));
		all->count--;
		return;
	}
}

bool strays_are_sound(const struct model *model)
{
	const size_t count = model_stray_free_count(model);
	bool sound = count <= MODEL_STRAY_FREES_MAX;

	for (size_t i = 0; i < count && sound; i++) {
		const struct model_stray_free *stray = &model_stray_frees(model)[i];

		sound = stray->stack < model_stack_count(model) &&
			stray->thread < model_thread_count(model) && stray->fn < TAPE_FN_COUNT;
	}
	return sound;
}
