/*
 * firsts: the first frame of the walk of each stack, for many stacks: what they have in common is
 * walked once. Not thread-safe.
 */
#ifndef MEMTAPE_SUMS_FIRSTS_H
#define MEMTAPE_SUMS_FIRSTS_H

#include "sums/walk.h"

struct firsts {
	const struct model *model;
	struct names *names;
	enum walk_mode mode;
	uint32_t *found; /* by stack: the one whose own frames have it, plus 1; 0: not walked yet */
};

/* Model and names must outlive it. False: out of memory. */
bool firsts_init(struct firsts *firsts, const struct model *model, struct names *names,
		 enum walk_mode mode);
void firsts_deinit(struct firsts *firsts);
CLEAN_DEFINE_DEINIT(firsts_deinit, struct firsts);

/* What the first walk_next() of walk_begin(model, names, stack, mode) returns; never NULL. */
const struct name_frame *firsts_get(struct firsts *firsts, uint32_t stack);

#endif
