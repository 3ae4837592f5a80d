/*
 * measure: the sums from which a metric is read, including metrics that need a moment or more than
 * a stack's sums.
 */
#ifndef MEMTAPE_GROUPS_MEASURE_H
#define MEMTAPE_GROUPS_MEASURE_H

#include "select/selection.h"

/* Whether the metric uses the selection's own sums. */
bool measure_is_of_selection(enum metric metric);

/*
 * The sums for a metric: the selection's, except `temporary` for METRIC_LIVE and METRIC_WASTED.
 * at_ns is the moment of METRIC_LIVE. These two need MODEL_FULL. Lives in the arena.
 */
struct err *measure_sums(const struct selection *selection, enum metric metric, uint64_t at_ns,
			 struct arena *arena, struct sums *sums_ret);

/*
 * Every metric with a word, for each part of the selection: part_of[stack] is the part of the
 * stack. values has room for METRICS_NAMED rows. Uses at most the memory of one moment. Needs
 * MODEL_FULL; stops at its limits.
 */
enum { MEASURE_PARTS = 3 };

struct err *measure_split(const struct selection *selection, uint64_t at_ns, const uint8_t *part_of,
			  uint64_t (*values)[MEASURE_PARTS]);

#endif
