/*
 * moments: how live bytes of the selection went, at the ends of equal spans of the run, and at
 * their peak: for formats that are curves. Memory for the spans; of a selection it takes a pass
 * over its events. Internal to export.
 */
#ifndef MEMTAPE_EXPORT_MOMENTS_H
#define MEMTAPE_EXPORT_MOMENTS_H

#include "export/export.h"

struct export_moment {
	uint64_t ns;
	uint64_t bytes; /* alive */
	uint64_t count; /* UINT64_MAX: not known, of a selection's peak */
	bool is_peak;
};

struct moments {
	struct export_moment *items; /* by time */
	size_t count;
	size_t peak; /* which of them */
};

/* span_count + 2 of them: the beginning, the spans' ends, and the peak. Lives in the arena. */
struct err *moments_find(const struct export_context *context, size_t span_count,
			 struct arena *arena, struct moments *moments_ret);

#endif
