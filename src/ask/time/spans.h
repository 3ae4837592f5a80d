/*
 * spans: live bytes of a selection over time. (For all allocations the model is faster.)
 */
#ifndef MEMTAPE_TIME_SPANS_H
#define MEMTAPE_TIME_SPANS_H

#include "base/arena.h"
#include "base/err.h"
#include "select/selection.h"

/*
 * `count` (> 0) equal spans, except for rounding, from from_ns to before until_ns, which is later.
 * Exact, from the rows (MODEL_FULL); at equal times frees come before allocations, but never before
 * their own. Takes the time of everything selected or freed.
 */
struct err *spans_find(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
		       size_t count, struct model_timeline_span *spans);

#endif
