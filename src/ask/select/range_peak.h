/*
 * range_peak: when live bytes of allocations made in a time range were highest. A range after the
 * peak of the whole run has its own peak; a range of everything has the peak of the run.
 */
#ifndef MEMTAPE_SELECT_RANGE_PEAK_H
#define MEMTAPE_SELECT_RANGE_PEAK_H

#include "base/err.h"
#include "model/model.h"
#include "sums/sweep.h"

/*
 * The first moment, after all its events, at which live bytes of allocations from from_ns until
 * until_ns, both inclusive, are highest; from_ns if there are none. Needs MODEL_FULL; takes the
 * time of all allocations and frees of the range. ERR_LIMIT, ERR_STATE: see sweep.h.
 */
struct err *range_peak_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			    const struct sweep_limits *limits, uint64_t *ns_ret);

#endif
