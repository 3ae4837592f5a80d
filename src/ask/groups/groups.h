/*
 * groups: a selection's allocations, grouped by a common property, with sums of the selected ones
 * (matched) and of all on the tape (all).
 */
#ifndef MEMTAPE_GROUPS_GROUPS_H
#define MEMTAPE_GROUPS_GROUPS_H

#include "base/str.h"
#include "select/peaks.h"
#include "select/selection.h"
#include "sums/walk.h"

enum group_by {
	GROUP_BY_STACK,	   /* key: a separate number; `stack` is the id */
	GROUP_BY_FUNCTION, /* key: name; the innermost function that is not machinery */
	GROUP_BY_SOURCE,   /* its file and line */
	GROUP_BY_MODULE,   /* its module */
	GROUP_BY_THREAD,   /* key: thread */
	GROUP_BY_SIZE,	   /* key: size bucket, as in model_size_buckets */
	GROUP_BY_MARK,	   /* the mark that was set last */
	GROUP_BY_TAG,	   /* key: number of the tag, FIELD_NONE: none */
	GROUP_BY_POOL,	   /* key: pool, of a model of pools; FIELD_NONE: the heap's */
	GROUP_BY_CALL,	   /* key: enum tape_fn, the first of those with the same name */
	GROUP_BY_LIFETIME, /* key: bucket of groups/lifetimes.h; LIFETIME_BUCKETS: never freed */
	GROUP_BY_PROCESS   /* key: of members.h */
};

enum { GROUP_BYS = GROUP_BY_PROCESS + 1 };

/* The words of --by, in enum order, NULL-terminated. */
extern const char *const group_by_words[];

/* Descriptions of the groups, in the same order. */
extern const char *const group_by_docs[];

struct group_sums {
	struct model_stack_sums sums;
	uint64_t usable;
	uint64_t leaked_usable;
	uint64_t size_min; /* sizes and times: undefined without allocations */
	uint64_t size_max;
	uint64_t first_ns; /* of allocations */
	uint64_t last_ns;
	uint64_t freed_count;
	uint64_t lifetime_sum_ns; /* of freed blocks */
	uint64_t lifetime_max_ns;
};

/*
 * Percentiles of lifetimes of freed blocks, from histograms of 16 steps per octave: at most 1/16
 * above the true value, never below it. FIELD_NONE: none was freed, or not requested.
 */
enum { GROUP_P50, GROUP_P90, GROUP_P99, GROUP_PERCENTILES };

struct group {
	uint64_t key;		       /* meaning by enum group_by, see there */
	const struct name_frame *site; /* by STACK .. MODULE: a frame for its name; else NULL */
	uint32_t stack;	      /* by STACK .. MODULE: its stack with the most matched bytes */
	uint32_t stack_count; /* by STACK .. MODULE: stacks with matched allocations */
	struct group_sums matched;
	struct group_sums all;
	uint64_t lifetimes[2][GROUP_PERCENTILES]; /* matched, all */
	uint64_t usage_max;    /* of all: maximum live bytes; FIELD_NONE: not requested */
	uint64_t usage_max_ns; /* first time it was reached */
	/* The program's peak without the matched allocations; FIELD_NONE: not requested, or nothing. */
	uint64_t saves; /* by how much it is lower */
	uint64_t peak_without;
	uint64_t peak_without_ns; /* first time it is reached */
	uint32_t number;	  /* private */
};

/*
 * Sort keys of groups. The first are metrics (metric_group_key); the words are memory-profiler's
 * where it has one.
 */
enum group_key {
	GROUP_SIZE,
	GROUP_COUNT,
	GROUP_LEAKED_SIZE,
	GROUP_LEAKED_COUNT,
	GROUP_TEMPORARY_SIZE,
	GROUP_TEMPORARY_COUNT,
	GROUP_PEAK_SIZE, /* alive at the peak of the program */
	GROUP_PEAK_COUNT,
	GROUP_USABLE_SIZE,
	GROUP_MIN_SIZE,
	GROUP_MAX_SIZE,
	GROUP_MIN_TIMESTAMP,
	GROUP_MAX_TIMESTAMP,
	GROUP_INTERVAL,
	GROUP_RATE, /* allocations per 1000 s of the interval; none for a single moment */
	GROUP_LIFETIME_P50,
	GROUP_LIFETIME_P90,
	GROUP_LIFETIME_P99,
	GROUP_LIFETIME_MAX,
	GROUP_USAGE_MAX,
	GROUP_USAGE_MAX_TIME,
	GROUP_SAVES, /* these three: of the matched, with either prefix */
	GROUP_PEAK_WITHOUT,
	GROUP_PEAK_WITHOUT_TIME
};

enum { GROUP_KEYS = GROUP_PEAK_WITHOUT_TIME + 1 };

enum group_unit { GROUP_UNIT_BYTES, GROUP_UNIT_COUNT, GROUP_UNIT_NS };

/* "size", "allocated_count" ... */
const char *group_key_word(enum group_key key);
enum group_unit group_key_unit(enum group_key key);
/* Of the peak without a group. */
bool group_key_is_saving(enum group_key key);

struct group_order {
	enum group_key key;
	bool is_of_all;
	bool is_ascending;
};

/*
 * "size", "only_matched.size", "all.leaked_count", "all.size:asc"; descending unless it ends in
 * :asc. direction (NULL: none): "asc", "desc" or "dsc", as in memory-profiler's `order`.
 */
struct err *group_order_parse(const char *text, const char *direction,
			      struct group_order *order_ret);

/* The value of a sort key; FIELD_NONE: none. */
uint64_t group_value(const struct group *group, enum group_key key, bool is_of_all);

struct group_settings {
	enum group_by by;
	enum walk_mode mode; /* which frames are machinery */
	struct group_order order;
	uint64_t skip;
	uint64_t count; /* 0: all */
	bool wants_lifetimes;
	bool wants_usage_max; /* needs all frees in time order */
	bool wants_savings;   /* so does this */
};

struct groups {
	struct group *items; /* sorted; skip and count applied */
	size_t count;
	size_t total_count; /* number of groups with matched allocations */
	enum group_by by;
	enum walk_mode mode; /* they were found with it */
};

/*
 * The list lives in the arena. May prepare more facts of the selection: one thread at a time per
 * selection.
 */
struct err *groups_find(const struct selection *selection, const struct group_settings *settings,
			struct arena *arena, struct groups *groups_ret);

/*
 * The peak of the program, and the peak that it would have had without the selected allocations.
 * One pass over all allocations and frees in time order.
 */
struct err *groups_savings(const struct selection *selection, struct peak *peak_ret,
			   struct peak *without_ret);

/*
 * Adds percentiles of lifetimes to groups found without them; one pass over the rows. mode is that
 * of the groups.
 */
struct err *groups_add_lifetimes(const struct selection *selection, struct groups *groups,
				 enum walk_mode mode, struct arena *arena);

/*
 * A page of already found groups, in another order: sorted, skip and count applied. Cannot sort by
 * values that were not requested when they were found. places: each group's index in `all`.
 */
struct err *groups_page(const struct groups *all, const struct group_settings *settings,
			struct arena *arena, struct groups *page_ret, const uint32_t **places_ret);

/*
 * The name of a group: function, "list.c:42", module, thread ... Texts from the tape may be
 * hostile.
 */
void group_title(const struct selection *selection, const struct groups *groups,
		 const struct group *group, struct str *out);

#endif
