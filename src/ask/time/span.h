/*
 * span: activity between two moments, per allocating stack.
 */
#ifndef MEMTAPE_TIME_SPAN_H
#define MEMTAPE_TIME_SPAN_H

#include "select/selection.h"
#include "sums/sites.h"

struct span_sums {
	struct model_sum allocated; /* from from_ns until until_ns, both inclusive */
	struct model_sum survived;  /* part of it: alive at the end */
	struct model_sum temporary; /* part of it: temporary */
	struct model_sum freed;	    /* during the span, whenever allocated */
	struct model_sum before;    /* alive just before the span */
	struct model_sum after;	    /* alive at the end of the span */
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
 * Needs MODEL_FULL, or a followed model: then all allocations, until its end, and from a moment of
 * model_window_begin(); what survived is not known. For all allocations (selection NULL) it takes the time of two moments and of
 * the allocations in between; else that of the whole selection. Lives in the arena.
 */
struct err *span_find(const struct model *model, const struct selection *selection,
		      uint64_t from_ns, uint64_t until_ns, struct arena *arena,
		      struct span *span_ret);

/* Sums of the span's stacks by site; sites were made from span->sums. */
struct err *span_by_site(const struct span *span, const struct sites *sites, struct arena *arena,
			 struct span_sums **by_site_ret);

/* after - before, in bytes. */
static inline int64_t span_net(const struct span_sums *sums)
{
	return (int64_t)(sums->after.bytes - sums->before.bytes);
}

#endif
