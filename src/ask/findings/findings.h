/*
 * findings: problems on a tape, with evidence. Each kind of problem has a *finder*: one file
 * finding_NAME.c with one const object, whose name is one word in this room's meson.build.
 *
 * A finding links to the query that shows it: its numbers are from that query.
 */
#ifndef MEMTAPE_FINDINGS_FINDINGS_H
#define MEMTAPE_FINDINGS_FINDINGS_H

#include "base/arena.h"
#include "model/names.h"
#include "sums/suppress.h"
#include "sums/sweep.h"
#include "sums/walk.h"

enum { FINDINGS_MAX = 50 };

static const uint32_t FINDING_NO_STACK = UINT32_MAX; /* the finding is about the whole program */

/* Where to look: a page of the app, a report of `memtape report`. NULL: not needed. */
struct finding_link {
	const char *page;
	const char *report;
	const char *filter; /* memtape-filter(7) */
	const char *metric; /* of the page */
	const char *at;	    /* moments, "1234ns" */
	const char *from;
	const char *until;
	const char *sort; /* of the page and the report */
	const char *idle; /* of the report */
};

struct finding {
	const char *type;     /* the finder's name */
	const char *title;    /* what is wrong */
	uint64_t bytes;	      /* at stake, of this kind */
	uint64_t count;	      /* allocations, steps or pages, see evidence; FIELD_NONE: none */
	const char *evidence; /* one sentence with figures */
	const char *advice;   /* one sentence */
	uint32_t stack;	      /* of its function, the stack with most; or FINDING_NO_STACK */
	/* For bad frees, where `stack` is the free; 0: none. */
	uint32_t allocated_stack;
	uint32_t freed_before_stack;
	bool is_possible; /* the tape has too little data to be sure */
	bool is_serious;  /* an error, or memory that stays: not time alone */
	struct finding_link link;
	uint64_t rank; /* weighted bytes at stake; errors come before all others */
	/*
	 * What else was found at the same line of the user's code, the strongest first: the same
	 * cause. Findings of these have none.
	 */
	const struct finding *also;
	size_t also_count;
	uint64_t stake_bytes; /* the most that one of them says, as their blocks are the same */
};

struct findings {
	const struct finding *items; /* worst first, at most FINDINGS_MAX */
	size_t count;
	const char *const *missing; /* what could not be searched for, and how to record it */
	size_t missing_count;
	struct model_sum leaked; /* never freed and not suppressed, whatever was found */
};

/*
 * One finding a cause. Covers the whole tape. Functions that allocate are those of the mode, which is not WALK_ALL: no
 * filter could name allocators. Uses `names`: one thread at a time. suppressor: what is suppressed
 * is no leak, and its growth none either; NULL: nothing is. limits: NULL for none. Everything lives
 * in the arena.
 */
struct err *findings_find(const struct model *model, struct names *names, enum walk_mode mode,
			  struct suppressor *suppressor, const struct sweep_limits *limits,
			  struct arena *arena, struct findings *findings_ret);

/* The frame that names its function; NULL: the finding is about the whole program. */
const struct name_frame *finding_frame(const struct finding *finding, const struct model *model,
				       struct names *names, enum walk_mode mode);

#endif
