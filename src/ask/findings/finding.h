/*
 * finding: what finders share. Internal to findings; findings.h is the public interface.
 */
#ifndef MEMTAPE_FINDINGS_FINDING_H
#define MEMTAPE_FINDINGS_FINDING_H

#include <inttypes.h>

#include "base/str.h"
#include "findings/bad_frees.h"
#include "findings/findings.h"
#include "findings/pattern.h"
#include "groups/reallocs.h"
#include "select/fields.h"
#include "space/rss.h"
#include "sums/sites.h"

/* Thresholds shared by all finders; in bytes unless noted. */
enum {
	FINDING_BYTES_MIN = 1 << 20, /* less is not worth the effort */
	FINDING_LARGE_MIN = 8 << 20, /* negligible on any machine */
	FINDING_PEAK_SHARE = 50,     /* 2 % of the peak: less does not matter */
	FINDING_CALLS_MIN = 10000,   /* at 50 ns each they take half a millisecond */
	FINDING_CALLS_SHARE = 20,    /* 5 % of all calls */
	FINDING_RATE_MIN = 20000,    /* per second while active: some milliseconds of each */
	FINDING_CHURN_PERCENT = 50,  /* temporary: less is not typical of the function */
	FINDING_PASSED_WEIGHT = 16   /* see struct finder */
};

/* A shorter run only builds up its working set: nothing can be said about growth. */
static const uint64_t FINDING_GROWTH_NS_MIN = 2000000000;

/* Ranks from here on are of errors: above all findings that only cost memory. */
static const uint64_t FINDING_ERROR_RANK = UINT64_C(1) << 62;

static inline bool finding_is_error(const struct finding *finding)
{
	return finding->rank >= FINDING_ERROR_RANK;
}

/* For evidence from an address space snapshot without pages. */
#define FINDING_INEXACT " (an estimate: not of all pages it is known whether they were resident)"

/* Data that a finder needs on the tape. */
enum finder_need {
	FINDER_ROWS = 1 << 0,  /* single allocations */
	FINDER_SPACE = 1 << 1, /* snapshots of the address space */
	FINDER_SYSTEM = 1 << 2 /* samples of the machine's memory */
};

struct finding_search;

struct finder {
	const char *type;
	const char *title;
	const char *advice;
	const char *what; /* what it looks for, in the plural: "blocks that grow ..." */
	unsigned needs;	  /* enum finder_need */
	/*
	 * 0: bytes that stay. 1: bytes that only passed through (were copied, or freed soon): they
	 * cost time but no memory, and weigh FINDING_PASSED_WEIGHT times less.
	 */
	bool is_passing;
	bool is_leading; /* what it says is the cause of other waste at the same line */
	/*
	 * The type of findings that say the same in more detail: where one has the same cause, it
	 * stands before this one, whatever their ranks. NULL: none.
	 */
	const char *better;
	bool is_apart; /* its cause is the kernel or the allocator, not the line: stays alone */
	struct err *(*find)(struct finding_search *search, const struct finder *finder);
};

extern const struct finder *const finder_table[]; /* terminated by NULL */

/* Facts about one site's allocations, from their rows. */
struct site_facts {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t peak_usable; /* of blocks alive at the peak */
	uint64_t freed_count; /* of blocks whose freeing thread is known */
	struct model_sum foreign;
	uint64_t largest; /* largest block alive at the peak, and its stack */
	uint32_t largest_stack;
};

/* Where a finding is: the first frame of the user's. Two of the same place have the same cause. */
struct cause_place {
	uint32_t name; /* NAME_NO_STACK or less: nowhere */
	uint32_t line; /* 0: unknown */
};

/* What was found at a place; causes.h makes findings of them. */
struct cause_part {
	struct finding finding;
	struct cause_place place;
	const struct finder *finder;
};

VEC_DEFINE(part_vec, struct cause_part);

struct finding_search {
	const struct model *model;
	struct names *names;
	enum walk_mode mode; /* of sites */
	struct arena *arena;
	struct sweep_limits limits;
	const struct model_totals *totals;
	uint64_t duration_ns;
	const struct suppressed *suppressed; /* NULL: nothing is */
	struct sums sums;		     /* suppressed blocks are not leaked */
	struct sites sites;
	const struct site_facts *facts; /* by site; NULL: no rows */
	struct bad_frees bad_frees;	/* all zero without rows */
	struct rss rss;			/* with FINDER_SPACE */
	struct reallocs reallocs;	/* all zero without rows; no top */
	struct arena reallocs_arena;
	struct part_vec found;
};

/* findings_rows.c: one pass over all rows. */
struct err *site_facts_find(const struct finding_search *search,
			    const struct site_facts **facts_ret);

/*
 * Live bytes and blocks of `count` sites at the end of each of LIVE_COLUMNS equal parts of the run.
 * index_of: by site, its index or UINT32_MAX. columns_ret[index * LIVE_COLUMNS + column].
 */
enum { LIVE_COLUMNS = COURSE_POINTS };

struct live_column {
	uint64_t bytes;
	uint64_t count;
};

struct err *live_columns_find(const struct finding_search *search, const uint32_t *index_of,
			      size_t count, struct live_column **columns_ret);

/*
 * site_rows.c: the sites that a finder looks at, numbered from 0: by site its index, or UINT32_MAX; in
 * the arena; NULL: no memory.
 */
typedef bool site_choice_fn(const struct finding_search *search, uint32_t site);
uint32_t *sites_choose(const struct finding_search *search, site_choice_fn *is_chosen,
		       size_t *count_ret);

/*
 * Visits the rows of chosen sites in their order, in one thread. columns: of values[COLUMN][i] those
 * (1 << enum model_column) that are read, and MODEL_STACK. visit returns false: no memory.
 */
typedef bool site_row_fn(void *context, uint32_t index, const uint64_t values[][MODEL_BATCH],
			 size_t i);
struct err *site_rows_each(const struct finding_search *search, const uint32_t *index_of,
			   unsigned columns, site_row_fn *visit, void *context);

/* The last nanosecond of a column, and the column of a time. */
uint64_t live_column_end(uint64_t duration_ns, unsigned column);
unsigned live_column_of(uint64_t duration_ns, uint64_t ns);

/*
 * Adds a finding; its texts are in the arena. Fills in type, and title, advice and rank if not
 * set. evidence is a str of the caller, without the full stop.
 */
struct err *finding_add(struct finding_search *search, const struct finder *finder,
			struct finding finding, const struct str *evidence);

/*
 * findings_bad_frees.c: adds findings of these kinds (1 << enum bad_free_kind); possible_title is
 * used if the tape does not prove them.
 */
struct err *finding_tell_bad_frees(struct finding_search *search, const struct finder *finder,
				   unsigned kinds, const char *possible_title);

/* What is not known about bad frees, or ""; NULL: out of memory. */
const char *finding_bad_frees_missing(const struct finding_search *search);

/* The filter that selects exactly the site's allocations; `more` (NULL: none) is appended. */
char *finding_site_filter(const struct finding_search *search, const struct site *site,
			  const char *more);

/* Usable minus requested bytes of the site's blocks at the peak. */
uint64_t finding_slack_at_peak(const struct finding_search *search, const struct site *site);

/* A finding about the site's blocks at the peak; its link lists the groups. */
struct err *finding_add_at_peak(struct finding_search *search, const struct finder *finder,
				const struct site *site, uint64_t bytes, const char *metric,
				const char *sort, const struct str *evidence);

/* "1234ns"; NULL: no memory. */
char *finding_moment(const struct finding_search *search, uint64_t ns);

/* Whether bytes that stay are worth reporting. */
bool finding_is_worth(const struct finding_search *search, uint64_t bytes);

/* Whether calls are many, and a large share of `all`. */
bool finding_calls_are_worth(uint64_t calls, uint64_t all);

/* `count` of the site's allocations, per second between its first and its last one. */
uint64_t finding_rate(const struct finding_search *search, size_t site, uint64_t count);

/* A program that was killed, became another or goes on had no chance to free. */
bool finding_has_ended(const struct finding_search *search);

static inline bool finding_is_share(uint64_t part, uint64_t whole, unsigned percent)
{
	return (double)part * 100 >= (double)whole * percent;
}

/* "1 block", "2,000 blocks" */
void finding_add_counted(struct str *out, uint64_t count, const char *thing);

#endif
