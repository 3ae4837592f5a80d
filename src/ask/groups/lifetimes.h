/*
 * lifetimes: distribution of block lifetimes.
 */
#ifndef MEMTAPE_GROUPS_LIFETIMES_H
#define MEMTAPE_GROUPS_LIFETIMES_H

#include "groups/spread.h"
#include "select/passes.h"
#include "sums/sites.h"

/* Bucket 0 is under 100 ns, bucket i is 10^(i+1) .. 10^(i+2) - 1 ns; the last is unbounded. */
enum { LIFETIME_BUCKETS = 14 };

struct lifetimes {
	struct model_sum buckets[LIFETIME_BUCKETS];
	struct model_sum freed; /* over all buckets */
	struct model_sum never; /* alive at the end */
	struct model_sum lost;	/* freed unseen: lifetime unknown */
	struct spread spread;	/* of the freed blocks, in nanoseconds */
};

/* The lowest and highest nanosecond value of a bucket. */
uint64_t lifetimes_bucket_min(unsigned bucket);
uint64_t lifetimes_bucket_max(unsigned bucket);
unsigned lifetimes_bucket(uint64_t ns);

/* One pass over the rows (MODEL_FULL). Lives in the arena. */
struct err *lifetimes_find(const struct model *model, const struct selection *selection,
			   struct arena *arena, struct lifetimes **lifetimes_ret);

/*
 * The same for some sites, in one pass: by_site[index_of[site]]; UINT32_MAX in index_of: not
 * wanted.
 */
struct err *lifetimes_by_site(const struct sites *sites, const uint32_t *index_of, size_t count,
			      const struct selection *selection, struct arena *arena,
			      struct lifetimes **by_site_ret);

#endif
