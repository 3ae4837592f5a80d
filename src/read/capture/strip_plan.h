/* strip_plan: which events of a tape are dropped. Internal to capture. */
#ifndef MEMTAPE_CAPTURE_STRIP_PLAN_H
#define MEMTAPE_CAPTURE_STRIP_PLAN_H

#include "capture/strip.h"

VEC_DEFINE(strip_bits, uint64_t);

/* One bit for each event of a stream, in its order; beyond the end no bit is set. */
struct strip_plan {
	struct strip_bits *dropped; /* by stream */
	size_t stream_count;
	uint64_t from_ticks; /* of the settings */
	uint64_t until_ticks;
};

struct err *strip_plan_make(const struct capture *capture, const struct strip_settings *settings,
			    struct strip_plan *plan);
void strip_plan_deinit(struct strip_plan *plan); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(strip_plan_deinit, struct strip_plan);

static inline bool strip_plan_drops(const struct strip_plan *plan, size_t stream, uint64_t ordinal)
{
	const struct strip_bits *bits = &plan->dropped[stream];

	return ordinal / 64 < bits->count && (bits->items[ordinal / 64] >> ordinal % 64 & 1);
}

#endif
