/*
 * modules: allocations of each loaded object. An allocation belongs to the module of its innermost
 * function that is not allocation machinery.
 */
#ifndef MEMTAPE_SUMS_MODULES_H
#define MEMTAPE_SUMS_MODULES_H

#include "sums/sums.h"
#include "sums/walk.h"

struct modules {
	/* By module of the model, then outside all objects, then without a stack. */
	struct model_stack_sums *sums;
	size_t count; /* model_module_count() + 2 */
};

/* Lives in the arena. */
struct err *modules_find(const struct sums *sums, struct names *names, enum walk_mode mode,
			 struct arena *arena, struct modules *modules_ret);

/* Index into modules.sums for this stack's allocations. */
size_t modules_of_stack(const struct model *model, struct names *names, enum walk_mode mode,
			uint32_t stack);

#endif
