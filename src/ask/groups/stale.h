/*
 * stale: which bytes of live blocks the program has not touched for a while, by call site or stack,
 * at a look (space/touches.h).
 */
#ifndef MEMTAPE_GROUPS_STALE_H
#define MEMTAPE_GROUPS_STALE_H

#include "base/arena.h"
#include "select/selection.h"
#include "space/touches.h"

/* In bytes of live blocks, but for the blocks themselves; stale to unknown add up to bytes. */
struct stale_sums {
	uint64_t stale;	    /* in pages not touched for idle_ns */
	uint64_t recent;    /* touched since */
	uint64_t untouched; /* no memory behind them: never touched, or given back */
	uint64_t unknown;   /* not watched, or not for so long */
	uint64_t blocks, bytes;
	uint64_t stale_blocks; /* all bytes are stale */
};

struct stale_group {
	struct stale_sums sums;
	uint64_t oldest_ns; /* for how long the page longest untouched was not; 0: none is stale */
};

/* Bounds of the ages told apart; the last has no upper one. */
enum { STALE_AGES = 7 };
extern const uint64_t stale_ages_ns[STALE_AGES];

struct stale_wanted {
	const struct selection *selection; /* NULL: all blocks */
	const uint32_t *group_of; /* by stack; UINT32_MAX: not looked at. NULL: each stack is one */
	size_t group_count;
	const struct touches *touches;
	const struct touches_state *state; /* at the look */
	uint64_t ns;			   /* of the look */
	uint64_t idle_ns;
	const struct sweep_limits *limits; /* NULL: none */
};

struct stale_found {
	struct stale_group *groups; /* by number */
	uint64_t ages[STALE_AGES];  /* bytes */
};

/*
 * The last look that says most: the program did not end within the time between two looks, if there
 * is one.
 */
size_t stale_look(const struct touches *touches);

/* One pass over the rows (MODEL_FULL). Lives in the arena. */
struct err *stale_find(const struct stale_wanted *wanted, const struct model *model,
		       struct arena *arena, struct stale_found *found_ret);

/* The same for each stack, at the look of stale_look(). ERR_NOT_FOUND: the tape has none. */
struct err *stale_stacks(const struct selection *selection, struct arena *arena,
			 struct stale_found *found_ret);

#endif
