/*
 * measure: the sums from which a metric is read, including metrics that need a moment or more than
 * a stack's sums.
 */
#ifndef MEMTAPE_GROUPS_MEASURE_H
#define MEMTAPE_GROUPS_MEASURE_H

#include "select/selection.h"

struct measure {
	enum metric metric;
	uint64_t at_ns; /* the moment of METRIC_LIVE */
	uint64_t scan;	/* number of METRIC_RETAINED's leak scan; 0: the last one with a result */
};

/* Whether the metric needs MODEL_FULL, whatever is selected. */
bool measure_needs_rows(enum metric metric);

/*
 * The sums for a metric: the selection's, except `temporary` for METRIC_LIVE, METRIC_WASTED,
 * METRIC_RETAINED, METRIC_STALE and those of the kernel. Lives in the arena. ERR_NOT_FOUND: METRIC_RETAINED without such
 * a scan, METRIC_STALE without looks (groups/stale.h: at the one of stale_look(), not touched since
 * the look before; the count is of whole blocks), one of the kernel of which nothing was traced.
 * ERR_USAGE: one of these, and a filter.
 *
 * Retained sizes of single blocks do not add up: a block inside another is in both. So that those
 * of stacks do, a selected block counts only where no other selected block dominates it: its
 * retained bytes, and 1 in the count. The total is the minimum retained size of the selection (what
 * only several of its blocks together hold is not in it), and that of one stack by itself is what
 * `holders` says of it (holding.h).
 */
struct err *measure_sums(const struct selection *selection, const struct measure *measure,
			 struct arena *arena, struct sums *sums_ret);

/*
 * Every metric with a word, for each part of the selection: part_of[stack] is the part of the
 * stack. values has room for METRICS_NAMED rows; that of METRIC_RETAINED is 0 if there is no such
 * scan, that of METRIC_STALE if there are no looks. Of measure, the moment and the scan are used.
 * Uses at most the memory of one moment or scan. Needs MODEL_FULL; stops at its limits.
 */
enum { MEASURE_PARTS = 3 };

struct err *measure_split(const struct selection *selection, const struct measure *measure,
			  const uint8_t *part_of, uint64_t (*values)[MEASURE_PARTS]);

#endif
