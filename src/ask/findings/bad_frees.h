/*
 * bad_frees: blocks that were freed twice, pointers that were no block's, and blocks that another
 * kind of function freed than had allocated them. Frees with the same stack, of blocks with the
 * same stack, are one.
 *
 * A tape does not see everything: what it does not rule out is not said. An address that was never
 * seen given out is unknown, and no finding, unless the program died of freeing it.
 */
#ifndef MEMTAPE_FINDINGS_BAD_FREES_H
#define MEMTAPE_FINDINGS_BAD_FREES_H

#include "base/arena.h"
#include "model/names.h"
#include "sums/sweep.h"

enum bad_free_kind {
	BAD_FREE_DOUBLE,
	BAD_FREE_INSIDE,  /* a pointer into a block that was alive */
	BAD_FREE_REFUSED, /* of no block that was ever seen, and the program's last call */
	BAD_FREE_MISMATCHED
};

enum { BAD_FREE_GROUPS_MAX = 1 << 14 }; /* mismatched pairs of stacks that are told apart */

struct bad_free {
	enum bad_free_kind kind;
	bool is_certain;
	uint64_t count;
	uint64_t bytes; /* of the blocks, as often as they were freed */
	/* Of the first of them. */
	uint64_t address;
	uint64_t offset; /* BAD_FREE_INSIDE: in the block */
	uint64_t ns;
	uint64_t row;	      /* the block; MODEL_NO_ROW: none */
	uint32_t stack;	      /* that freed */
	uint32_t alloc_stack; /* CAPTURE_STACK_NONE: not known, also of the next */
	uint32_t first_stack; /* BAD_FREE_DOUBLE: that had freed before */
	uint32_t fn;	      /* enum tape_fn */
	uint32_t alloc_fn;
	uint32_t first_fn;
};

struct bad_frees {
	const struct bad_free *items; /* the most frequent first */
	size_t count;
	uint64_t unknown_count;	 /* frees of which nothing can be said */
	uint64_t unread_count;	 /* the tape has, and the model did not keep */
	uint64_t unlisted_count; /* mismatched, of more than BAD_FREE_GROUPS_MAX pairs */
	bool has_died;		 /* by a signal, in a free */
};

/* Of a model with rows. names: of functions that are operators themselves. limits as in a sweep. */
struct err *bad_frees_find(const struct model *model, struct names *names,
			   const struct sweep_limits *limits, struct arena *arena,
			   struct bad_frees *bad_frees_ret);

#endif
