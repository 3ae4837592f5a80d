/*
 * range_peak: when most was alive of what was allocated in a range of time. A range that lies
 * behind the peak of the whole run has a peak of its own; one of everything has that of the run.
 */
#ifndef MEMTAPE_SELECT_RANGE_PEAK_H
#define MEMTAPE_SELECT_RANGE_PEAK_H

#include "base/err.h"
#include "model/model.h"
#include "sums/sweep.h"

/*
 * The first moment, after all that happened then, at which the bytes of allocations from from_ns
 * until until_ns, both included, are highest; from_ns where there are none. Needs MODEL_FULL; takes
 * the time of all allocations and frees of the range. ERR_LIMIT, ERR_STATE: see sweep.h.
 */
struct err *range_peak_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			    const struct sweep_limits *limits, uint64_t *ns_ret);

#endif
