/*
 * timeline: the run in at most TIMELINE_SPANS equal spans, without knowing its length in advance:
 * spans begin short and are merged in pairs whenever there are too many. Internal to model.
 */
#ifndef MEMTAPE_MODEL_TIMELINE_H
#define MEMTAPE_MODEL_TIMELINE_H

#include "model/model.h"

/* Running totals, as of now. */
struct timeline_now {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t allocated_count;
	uint64_t allocated_bytes;
	uint64_t free_count;
};

enum { TIMELINE_SPANS = 1 << 16 };

struct timeline_mark {
	uint64_t live_bytes_max;
	struct timeline_now end; /* totals at the span's end */
};

struct timeline {
	struct timeline_mark *spans; /* TIMELINE_SPANS */
	size_t at;		     /* the current span */
	uint64_t begin_ticks;
	uint64_t span_ticks;
	uint64_t end_ticks; /* of the current span */
};

/* False: out of memory. */
bool timeline_init(struct timeline *timeline, uint64_t begin_ticks, unsigned tick_shift);
void timeline_deinit(struct timeline *timeline);

/* now: totals before anything happens at ticks >= timeline->end_ticks. */
void timeline_advance(struct timeline *timeline, uint64_t ticks, const struct timeline_now *now);

static inline void timeline_see(struct timeline *timeline, uint64_t ticks,
				const struct timeline_now *now)
{
	if (unlikely(ticks >= timeline->end_ticks))
		timeline_advance(timeline, ticks, now);
}

/* Live bytes have risen. */
static inline void timeline_risen(struct timeline *timeline, uint64_t live_bytes)
{
	uint64_t *max = &timeline->spans[timeline->at].live_bytes_max;

	*max = u64_max(*max, live_bytes);
}

#endif
