#include "model/timeline.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_SPAN_BITS = 14 }; /* of the raw clock: some microseconds */

bool timeline_init(struct timeline *timeline, uint64_t begin_ticks, unsigned tick_shift)
{
	unsigned bits = tick_shift < FIRST_SPAN_BITS ? FIRST_SPAN_BITS - tick_shift : 0;

	assert(tick_shift < 64);
	*timeline = (struct timeline) {
		.spans = calloc(TIMELINE_SPANS, sizeof(*timeline->spans)),
		.begin_ticks = begin_ticks,
		.span_ticks = UINT64_C(1) << bits,
	};
	timeline->end_ticks = begin_ticks + timeline->span_ticks;
	return timeline->spans != NULL;
}

void timeline_deinit(struct timeline *timeline)
{
	free(timeline->spans);
	timeline->spans = NULL;
}

/* Merges spans in pairs; the current one becomes half of a span. */
static void halve(struct timeline *timeline)
{
	for (size_t i = 0; i <= timeline->at; i += 2) {
		struct timeline_mark *joined = &timeline->spans[i / 2];
		const struct timeline_mark *left = &timeline->spans[i], *right = left + 1;
		uint64_t max = left->live_bytes_max;

		if (i < timeline->at) {
			max = u64_max(max, right->live_bytes_max);
			joined->end = right->end;
		} else {
			joined->end = left->end;
		}
		joined->live_bytes_max = max;
	}
	timeline->at /= 2;
	timeline->span_ticks *= 2;
}

void timeline_advance(struct timeline *timeline, uint64_t ticks, const struct timeline_now *now)
{
	uint64_t since = ticks - timeline->begin_ticks;
	size_t target;

	assert(ticks >= timeline->end_ticks);
	assert(timeline->at < TIMELINE_SPANS);
	timeline->spans[timeline->at].end = *now;
	while (since / timeline->span_ticks >= TIMELINE_SPANS &&
	       timeline->span_ticks <= UINT64_MAX / 4)
		halve(timeline);
	target = u64_min(since / timeline->span_ticks, TIMELINE_SPANS - 1);
	while (timeline->at < target) {
		struct timeline_mark *span = &timeline->spans[timeline->at++];

		/* Nothing happens in a skipped span. */
		span->end = *now;
		timeline->spans[timeline->at].live_bytes_max = now->live_bytes;
	}
	if (__builtin_add_overflow(timeline->begin_ticks, (timeline->at + 1) * timeline->span_ticks,
				   &timeline->end_ticks))
		timeline->end_ticks = UINT64_MAX;
}
