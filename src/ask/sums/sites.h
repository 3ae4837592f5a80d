/*
 * sites: the allocating functions. Each stack's sums go to its innermost function that is not
 * allocation machinery, and the functions are ranked.
 */
#ifndef MEMTAPE_SUMS_SITES_H
#define MEMTAPE_SUMS_SITES_H

#include "sums/sums.h"
#include "sums/walk.h"

struct site {
	uint32_t name;
	struct model_stack_sums sums;
	uint32_t stack_count;
	uint32_t stacks[METRICS_NAMED]; /* by metric: the stack with the most */
};

struct sites {
	const struct sums *sums; /* the sums they were computed from; owned by the caller */
	struct site *items;
	size_t count;
	uint32_t *site_of; /* by stack; UINT32_MAX if nothing was allocated */
};

/* All sites, unordered. Lives in the arena; sums must outlive it. */
struct err *sites_find(const struct sums *sums, struct names *names, enum walk_mode mode,
		       struct arena *arena, struct sites *sites_ret);

/* The `top` (0: all) sites with any of the metric, largest first; the one without stacks last. */
struct err *sites_rank(const struct sites *sites, enum metric metric, size_t top,
		       struct arena *arena, const struct site *const **ranked_ret,
		       size_t *count_ret);

/*
 * Adds to each module of the model, of which there are as many as `modules` has, what of the metric is
 * in functions of files without a name for them, which appear as addresses. All of it.
 */
uint64_t sites_unnamed(const struct sites *sites, struct names *names, enum metric metric,
		       uint64_t *modules);

/* Stacks of one site, by the metric, largest first. */
struct err *sites_stacks(const struct sites *sites, const struct site *site, enum metric metric,
			 size_t top, struct arena *arena, const uint32_t **stacks_ret,
			 size_t *count_ret);

#endif
