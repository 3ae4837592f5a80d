/*
 * pattern: how the live bytes of a call site went over the time. The one judgement behind the
 * Leaks page, the report growth with its --fail-on, the tiles of the Overview and the finding of
 * growth. Pure arithmetic.
 */
#ifndef MEMTAPE_FINDINGS_PATTERN_H
#define MEMTAPE_FINDINGS_PATTERN_H

#include <stdbool.h>

#include "findings/fit.h"

/* The worst first. */
enum growth_pattern {
	PATTERN_GROWING,      /* a line up to the end */
	PATTERN_UNSTEADY,     /* neither of the others */
	PATTERN_LEVELLED_OFF, /* grew, then stayed */
	PATTERN_BURST,	      /* very many blocks within a moment, or early */
	PATTERN_ONE_OFF,      /* a few blocks within a moment, or early */
	PATTERN_UNKNOWN,      /* without times */
	PATTERNS
};

extern const char *const growth_pattern_words[];  /* "growing" ...; NULL at the end */
extern const char *const growth_pattern_titles[]; /* "Growing to the end" ... */

enum {
	COURSE_POINTS = 128,
	COURSE_TEARDOWN = 4,	 /* points at the end, 3 %: many programs free everything then */
	COURSE_TEARDOWN_MAX = 24 /* 19 %: so long it may take, if only frees are seen then */
};

struct course {
	const uint64_t *values;	    /* COURSE_POINTS: live bytes at the end of equal spans */
	uint64_t begin_ns, end_ns;  /* of all spans; the end is later */
	uint64_t first_ns, last_ns; /* of its allocations */
	uint64_t allocated_count;   /* blocks */
	uint64_t kept_count;	    /* of these, blocks that were never freed */
	bool has_ended;		    /* the program: it may have freed everything before */
};

struct course_judged {
	enum growth_pattern pattern; /* never PATTERN_UNKNOWN */
	struct growth growth;	     /* of 0 and the values from `first` on, without teardown */
	size_t first;		     /* the span with its first allocation */
	size_t last;		     /* the last one before teardown */
	bool is_at_once;	     /* all allocated within a short part of the time */
};

struct course_judged course_judge(const struct course *course);

#endif
