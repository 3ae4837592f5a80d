/*
 * facts: what fields need besides the columns of a row, found once for a model: the depth of
 * stacks, sums over each stack's allocations, where a block stands in its realloc chain, marks.
 *
 * Preparing belongs to one thread (it asks `names`); afterwards any number may read.
 */
#ifndef MEMTAPE_SELECT_FACTS_H
#define MEMTAPE_SELECT_FACTS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/names.h"
#include "sums/sweep.h"

enum fact {
	FACT_DEPTHS = 1 << 0, /* frames of each stack */
	FACT_GROUPS = 1 << 1, /* times and sizes of each stack's allocations: reads all rows */
	FACT_PEAKS = 1 << 2,  /* each stack's own peak: reads all rows and frees in order of time */
	FACT_CHAINS = 1 << 3, /* position in realloc chains: reads one column of all rows */
	FACT_SITES = 1 << 4,  /* the function each stack's allocations belong to: finds names */
	FACT_LATENCIES = 1 << 5, /* that the tape says how long calls took */
	FACT_LEAKS = 1 << 6	 /* which leaks are suppressed: finds names of those there are */
};

/* Of all allocations of one stack; meaningless where there are none. */
struct fact_group {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t size_min;
	uint64_t size_max;
	uint64_t usable;
};

struct peak;
struct suppressed;
struct suppressor;

struct facts {
	const struct model *model;
	struct names *names;
	struct arena *arena;
	/* The range that the user looks at; the whole recording: 0 .. UINT64_MAX. */
	uint64_t from_ns;
	uint64_t until_ns; /* inclusive */
	/* While something is prepared: how long that may take; NULL: as long as it does. */
	const struct sweep_limits *limits;
	unsigned prepared; /* enum fact bits */
	/* By stack id; NULL until prepared. */
	uint32_t *depths;
	struct fact_group *groups;
	struct peak *peaks;
	const struct name_frame **sites;
	struct suppressor *suppressor; /* borrowed, set by who made the facts; NULL: nothing is */
	const struct suppressed *suppressed; /* NULL: nothing is, or not prepared */
	/* Which rows are in chains, how many of them come before each MODEL_BATCH, and their
	 * places. */
	uint64_t *chain_bits;
	uint64_t *chain_ranks;
	uint32_t *chain_positions;
	/* Marks in the order of time: when, and their notes. */
	const struct model_note **marks;
	size_t mark_count;
};

/* names may be NULL if nothing is asked that needs them. Everything lives in the arena. */
struct err *facts_init(struct facts *facts, const struct model *model, struct names *names,
		       struct arena *arena);

/*
 * Finds what is not known yet. ERR_LIMIT, ERR_STATE: see sweep.h. ERR_NOT_FOUND: the tape does not
 * have it.
 */
struct err *facts_prepare(struct facts *facts, unsigned wanted);

/* What is said of a tape that was recorded without them. */
struct err *facts_no_latencies(void);

/* Whether the limits allow to go on; asked once in many batches. */
struct err *facts_check(const struct facts *facts, uint64_t first_row);

/* Place of a row in its realloc chain, from 0; needs FACT_CHAINS. */
uint32_t facts_chain_position(const struct facts *facts, uint64_t row);

/* The mark that was the last one at a time; its index, or UINT64_MAX before the first. */
uint64_t facts_mark_at(const struct facts *facts, uint64_t ns);

/* When the first mark of this text was set; false: there is none. */
bool facts_mark_find(const struct facts *facts, const char *text, uint64_t *ns_ret);

#endif
