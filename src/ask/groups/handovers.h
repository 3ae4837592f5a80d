/*
 * handovers: blocks by allocating and freeing thread.
 */
#ifndef MEMTAPE_GROUPS_HANDOVERS_H
#define MEMTAPE_GROUPS_HANDOVERS_H

#include "base/arena.h"
#include "sums/sums.h"

struct selection;

struct handover {
	uint32_t allocator; /* thread ids of the model */
	uint32_t freer;	    /* MODEL_NO_THREAD: never freed, or freeing thread unknown */
	struct model_sum sum;
};

struct handovers {
	struct handover *items; /* most bytes first */
	size_t count;
	struct model_stack_sums *threads; /* by thread: its selected allocations */
	uint64_t *free_counts;		  /* by thread: how many of those blocks it freed */
	uint64_t *foreign_free_counts;	  /* of those: allocated by another thread */
};

/* Needs MODEL_FULL; one pass. Lives in the arena. */
struct err *handovers_find(const struct model *model, const struct selection *selection,
			   struct arena *arena, struct handovers *handovers_ret);

#endif
