/*
 * span: what happened between two moments, per stack that allocated.
 */
#ifndef MEMTAPE_TIME_SPAN_H
#define MEMTAPE_TIME_SPAN_H

#include "select/selection.h"
#include "sums/sites.h"

struct span_sums {
	struct model_sum allocated; /* from from_ns until until_ns, both included */
	struct model_sum survived;  /* of those: alive at its end */
	struct model_sum temporary; /* of those: temporary */
	struct model_sum freed;	    /* in that time, whenever it was allocated */
	struct model_sum before;    /* alive just before it */
	struct model_sum after;	    /* alive at its end */
};

struct span {
	uint64_t from_ns;
	uint64_t until_ns;
	struct span_sums total;
	const struct span_sums *stacks; /* by stack id */
	struct sums sums; /* allocated: all that took part; peak: alive at its end; leaked: what
			   * survived; temporary */
};

/*
 * Needs MODEL_FULL. Of all allocations (selection NULL): the time of two moments and of what was
 * allocated in between; else of all that is selected. Lives in the arena.
 */
struct err *span_find(const struct model *model, const struct selection *selection,
		      uint64_t from_ns, uint64_t until_ns, struct arena *arena,
		      struct span *span_ret);

/* What the span's stacks have together, by site; sites are of span->sums. */
struct err *span_by_site(const struct span *span, const struct sites *sites, struct arena *arena,
			 struct span_sums **by_site_ret);

/* after - before, in bytes. */
static inline int64_t span_net(const struct span_sums *sums)
{
	return (int64_t)(sums->after.bytes - sums->before.bytes);
}

#endif
