/*
 * moments: live bytes of the selection at the ends of equal spans of the run, and at their peak:
 * for formats with curves. Memory for the spans; a selection needs a pass over its events. Internal
 * to export.
 */
#ifndef MEMTAPE_EXPORT_MOMENTS_H
#define MEMTAPE_EXPORT_MOMENTS_H

#include "export/export.h"

struct export_moment {
	uint64_t ns;
	uint64_t bytes; /* alive */
	uint64_t count; /* UINT64_MAX: unknown, for a selection's peak */
	bool is_peak;
};

struct moments {
	struct export_moment *items; /* in chronological order */
	size_t count;
	size_t peak; /* its index */
};

/* span_count + 2 of them: the beginning, the spans' ends, and the peak. Lives in the arena. */
struct err *moments_find(const struct export_context *context, size_t span_count,
			 struct arena *arena, struct moments *moments_ret);

#endif
