/*
 * modules: what each loaded object allocated. An allocation is its whose function it is: the
 * innermost one that is not machinery of allocation.
 */
#ifndef MEMTAPE_SUMS_MODULES_H
#define MEMTAPE_SUMS_MODULES_H

#include "sums/sums.h"
#include "sums/walk.h"

struct modules {
	/* By module of the model, then what is outside of every object, then what has no stack. */
	struct model_stack_sums *sums;
	size_t count; /* model_module_count() + 2 */
};

/* Lives in the arena. */
struct err *modules_find(const struct sums *sums, struct names *names, enum walk_mode mode,
			 struct arena *arena, struct modules *modules_ret);

/* Index into modules.sums of what this stack allocates. */
size_t modules_of_stack(const struct model *model, struct names *names, enum walk_mode mode,
			uint32_t stack);

#endif
