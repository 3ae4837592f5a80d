/*
 * bad_frees: blocks that were freed twice, frees of invalid pointers, and blocks freed by a
 * function of another kind than allocated them. Frees with the same stack, of blocks with the same
 * stack, are one entry.
 *
 * A tape does not see everything, so only provable cases are reported. Freeing an address that was
 * never seen allocated is not a finding, unless the program died of it.
 */
#ifndef MEMTAPE_FINDINGS_BAD_FREES_H
#define MEMTAPE_FINDINGS_BAD_FREES_H

#include "base/arena.h"
#include "model/names.h"
#include "sums/sweep.h"

enum bad_free_kind {
	BAD_FREE_DOUBLE,
	BAD_FREE_INSIDE,  /* a pointer into a live block */
	BAD_FREE_REFUSED, /* not in any known block, and the program's last call */
	BAD_FREE_MISMATCHED
};

enum { BAD_FREE_GROUPS_MAX = 1 << 14 }; /* maximum number of distinct mismatched pairs */

struct bad_free {
	enum bad_free_kind kind;
	bool is_certain;
	uint64_t count;
	uint64_t bytes; /* of the blocks, once for each free */
	/* Of the first of these frees. */
	uint64_t address;
	uint64_t offset; /* BAD_FREE_INSIDE: offset in the block */
	uint64_t ns;
	uint64_t row;	      /* the block; MODEL_NO_ROW: none */
	uint32_t stack;	      /* of the bad free */
	uint32_t alloc_stack; /* CAPTURE_STACK_NONE: not known, for the next too */
	uint32_t first_stack; /* BAD_FREE_DOUBLE: of the earlier free */
	uint32_t fn;	      /* enum tape_fn */
	uint32_t alloc_fn;
	uint32_t first_fn;
};

struct bad_frees {
	const struct bad_free *items; /* the most frequent first */
	size_t count;
	uint64_t unknown_count;	 /* frees of unknown addresses */
	uint64_t unread_count;	 /* on the tape, but dropped by the model */
	uint64_t unlisted_count; /* mismatched, beyond BAD_FREE_GROUPS_MAX pairs */
	bool has_died;		 /* by a signal, in a free */
};

/* Needs a model with rows. names: to recognize operators. limits as in a sweep. */
struct err *bad_frees_find(const struct model *model, struct names *names,
			   const struct sweep_limits *limits, struct arena *arena,
			   struct bad_frees *bad_frees_ret);

#endif
