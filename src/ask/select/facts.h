/*
 * facts: data of fields beyond a row's columns, computed once per model: stack depths, sums over
 * each stack's allocations, positions in realloc chains, marks,
 * tags of threads.
 *
 * Preparing is not thread-safe (it uses `names`); afterwards any number of threads may read.
 */
#ifndef MEMTAPE_SELECT_FACTS_H
#define MEMTAPE_SELECT_FACTS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/names.h"
#include "model/pool.h"
#include "select/members.h"
#include "select/tags.h"
#include "sums/sweep.h"

enum fact {
	FACT_DEPTHS = 1 << 0, /* frames of each stack */
	FACT_GROUPS = 1 << 1, /* times and sizes of each stack's allocations: reads all rows */
	FACT_PEAKS = 1 << 2,  /* each stack's own peak: reads all rows and frees in order of time */
	FACT_CHAINS = 1 << 3, /* position in realloc chains: reads one column of all rows */
	FACT_SITES = 1 << 4,  /* the function each stack's allocations belong to: finds names */
	FACT_LATENCIES = 1 << 5,  /* checks that the tape has latencies */
	FACT_LEAKS = 1 << 6,	  /* which leaks are suppressed: finds names of leaking stacks */
	FACT_EXACT_SITES = 1 << 7 /* as FACT_SITES, with functions of libraries */
};

/* Over all allocations of one stack; undefined if there are none. */
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
	/* The requested range; the whole recording: 0 .. UINT64_MAX. */
	uint64_t from_ns;
	uint64_t until_ns; /* inclusive */
	/* Limits while something is prepared; NULL: none. */
	const struct sweep_limits *limits;
	unsigned prepared; /* enum fact bits */
	/* By stack id; NULL until prepared. */
	uint32_t *depths;
	struct fact_group *groups;
	struct peak *peaks;
	const struct name_frame **sites; /* WALK_MY */
	const struct name_frame **exact_sites;
	struct suppressor *suppressor; /* borrowed, set by the creator of the facts; NULL: none */
	const struct suppressed *suppressed; /* NULL: none, or not prepared */
	/* Bits of rows in chains; set bits before each MODEL_BATCH; positions of these rows. */
	uint64_t *chain_bits;
	uint64_t *chain_ranks;
	uint32_t *chain_positions;
	/* Marks in time order: their times and notes. */
	const struct model_note **marks;
	size_t mark_count;
	struct tags tags;
	struct members members; /* processes */
};

/* names may be NULL if no fact needs them. Everything lives in the arena. */
struct err *facts_init(struct facts *facts, const struct model *model, struct names *names,
		       struct arena *arena);

/*
 * Computes facts that are missing. ERR_LIMIT, ERR_STATE: see sweep.h. ERR_NOT_FOUND: the tape lacks
 * the data.
 */
struct err *facts_prepare(struct facts *facts, unsigned wanted);

/* The error for a tape recorded without latencies. */
struct err *facts_no_latencies(void);

/* Whether the limits allow to continue; call it once per several batches. */
struct err *facts_check(const struct facts *facts, uint64_t first_row);

/* A row's position in its realloc chain, from 0; needs FACT_CHAINS. */
uint32_t facts_chain_position(const struct facts *facts, uint64_t row);

/* Index of the last mark at or before a time; UINT64_MAX before the first. */
uint64_t facts_mark_at(const struct facts *facts, uint64_t ns);

/* Time of a mark, as mark(...) says it (select/mark.h); false: none. */
bool facts_mark_find(const struct facts *facts, const char *text, uint64_t *ns_ret);

#endif
