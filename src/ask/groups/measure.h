/*
 * measure: the sums that a metric is read from, also those of metrics that need a moment or more
 * than a stack's sums have.
 */
#ifndef MEMTAPE_GROUPS_MEASURE_H
#define MEMTAPE_GROUPS_MEASURE_H

#include "select/selection.h"

/* Whether its sums are those that the selection has. */
bool measure_is_of_selection(enum metric metric);

/*
 * Sums of the selection that the metric is read from; they are those of the selection but for
 * `temporary` of METRIC_LIVE and METRIC_WASTED. at_ns is the moment of METRIC_LIVE. Needs MODEL_FULL for these two. Lives in the arena.
 */
struct err *measure_sums(const struct selection *selection, enum metric metric, uint64_t at_ns,
			 struct arena *arena, struct sums *sums_ret);

/*
 * Every metric with a word at once, of each part of the selection: part_of[stack] is the number of the part
 * that the stack is in. values has room for METRICS_NAMED rows. In the memory of one moment at most,
 * while it runs. Needs MODEL_FULL; its limits end it.
 */
enum { MEASURE_PARTS = 3 };

struct err *measure_split(const struct selection *selection, uint64_t at_ns, const uint8_t *part_of,
			  uint64_t (*values)[MEASURE_PARTS]);

#endif
