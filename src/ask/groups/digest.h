/*
 * digest: data for summary figures that a selection's sums lack, in one pass over its rows
 * (MODEL_FULL): slack, reallocs, the median size, and the development over time.
 */
#ifndef MEMTAPE_GROUPS_DIGEST_H
#define MEMTAPE_GROUPS_DIGEST_H

#include "groups/spread.h"
#include "select/selection.h"

enum { DIGEST_SPANS = 24, DIGEST_EXACT = 1 << 14 /* smaller sizes are counted exactly */ };

/* Blocks allocated in one span. */
struct digest_span {
	struct model_sum allocated;
	struct model_sum leaked;
	struct model_sum temporary;
};

struct digest {
	uint64_t count;
	uint64_t usable_bytes;
	uint64_t realloc_count; /* reallocs of an older block */
	struct digest_span spans[DIGEST_SPANS];
	uint64_t sizes[DIGEST_EXACT];
	struct spread larger; /* sizes from there on */
};

/* Equal spans from from_ns to until_ns, which is later; events outside go to the nearest span. */
struct err *digest_find(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
			struct arena *arena, const struct digest **digest_ret);

/* The median size (half of all are at most this large); is_exact is false if approximate. */
uint64_t digest_median(const struct digest *digest, bool *is_exact_ret);

#endif
