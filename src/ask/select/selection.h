/*
 * selection: the allocations that a filter lets through; what every report is about.
 *
 *	struct selection_settings settings = { .filter = "size >= 1MiB and leaked", .from = "10%" };
 *	const struct selection *selection;
 *	err = selection_make(model, names, &settings, &arena, &selection);
 *
 * Without any setting the selection is everything: it costs nothing, works on a model without rows
 * (MODEL_SUMMARY), and its sums are the model's own. Else the model must be MODEL_FULL, the rows
 * are gone through once, and what is kept is one bit a row.
 *
 * Immutable but for its facts: any number of threads may read it, one may sort or group. It lives
 * in the arena, with a reference to model and names.
 */
#ifndef MEMTAPE_SELECT_SELECTION_H
#define MEMTAPE_SELECT_SELECTION_H

#include "model/scans.h"
#include "select/filter.h"
#include "sums/suppress.h"

struct selection_settings {
	const char *filter; /* an expression; NULL or "": everything */
	const char *from;   /* a moment, "10s", "25%"; NULL: the beginning */
	const char *until;  /* inclusive; NULL: the end */
	/* Leak suppressions (borrowed); NULL: none, all are leaks. */
	struct suppressor *suppressor;
	/* Leaks are not needed: names are looked up only if the filter needs them. */
	bool ignores_leaks;
	uint64_t time_limit_ns; /* 0: none */
	unsigned thread_count;	/* 0: number of processors */
	const bool *cancel;	/* set by another thread to cancel; NULL: never. Read atomically */
	bool (*is_interrupted)(void *context); /* see sweep.h; NULL: never */
	void *context;
};

struct selection {
	const struct model *model;
	struct names *names;
	uint64_t *bits;		/* by row; NULL: all rows */
	uint64_t *segment_ends; /* by segment: selected rows up to its end; NULL: all rows */
	uint64_t count;		/* rows selected */
	uint64_t from_ns;	/* the requested range; 0 .. UINT64_MAX if none */
	uint64_t until_ns;
	/*
	 * When live bytes of allocations in that range were highest, whatever the filter: the
	 * meaning of `peak` in its sums. Without a range, the peak of the run.
	 */
	uint64_t peak_ns;
	bool has_range;
	bool has_filter; /* an expression, besides */
	/*
	 * For reports; suppressed leaks do not count as leaked. `suppressed`: by stack, what is
	 * suppressed; NULL: none, or leaks are not needed.
	 */
	struct sums sums;
	const struct suppressed *suppressed;
	struct suppressed_leaks suppressed_leaks;
	struct facts *facts;	    /* prepared further only while one thread uses the selection */
	struct sweep_limits limits; /* from the settings: for sorting and grouping too */
};

/*
 * Checks that need no tape, so that errors are found before anything is read or written. ERR_USAGE.
 */
struct err *selection_check(const struct selection_settings *settings);

/* Whether the settings need rows: then the model has to be MODEL_FULL. */
bool selection_needs_rows(const struct selection_settings *settings);

/*
 * What the filter is about: the objects of pools if it reads the field `pool`, else the heap. The
 * model has to be of that; to a model of pools any filter may be applied.
 */
enum model_subject selection_subject(const char *filter);

struct err *selection_make(const struct model *model, struct names *names,
			   const struct selection_settings *settings, struct arena *arena,
			   const struct selection **selection_ret);

/*
 * The allocations of some stacks: those with stacks[id] != 0. Same range, facts and limits; of the
 * sums only the total is set, without suppressed leaks.
 */
struct err *selection_narrow(const struct selection *selection, const uint8_t *stacks,
			     struct arena *arena, const struct selection **selection_ret);

bool selection_is_all(const struct selection *selection);

static inline bool selection_has(const struct selection *selection, uint64_t row)
{
	return !selection->bits || (selection->bits[row / 64] >> row % 64 & 1);
}

/* Whether a block of a leak scan is on the tape and selected. */
bool selection_has_block(const struct selection *selection, const struct model_scan_block *block);

/*
 * Whether an allocation is part of the peak. For the peak of the run the model has exact flags,
 * even if much happened at that time.
 */
static inline bool selection_at_peak(const struct selection *selection, uint64_t alloc_ns,
				     uint64_t free_ns, uint64_t flags)
{
	if (!selection->has_range)
		return flags & MODEL_ALLOCATION_PEAK;
	return alloc_ns <= selection->peak_ns && free_ns > selection->peak_ns;
}

/* Whether an allocation leaked: never freed, and not suppressed. */
static inline bool selection_is_leaked(const struct selection *selection, uint64_t free_ns,
				       uint64_t flags, uint64_t stack)
{
	return model_never_freed(free_ns, flags) && !suppressed_has(selection->suppressed, stack);
}

/* All totals for the whole tape; for a part those that are defined, the rest is 0. */
struct model_totals selection_totals(const struct selection *selection);

/*
 * The selected rows in order, in batches of at most MODEL_BATCH: writes the next row numbers to
 * rows[] and advances *at, which starts at 0. 0: no more rows.
 */
size_t selection_next(const struct selection *selection, uint64_t *at, uint64_t *rows);

/* The selected rows of the batch that starts at row `first`, a multiple of MODEL_BATCH. */
size_t selection_batch(const struct selection *selection, uint64_t first, uint64_t *rows);

/* The selected row with index `index`, below count. */
uint64_t selection_row(const struct selection *selection, uint64_t index);

/* The index of a selected row: how many are selected before it. */
uint64_t selection_index(const struct selection *selection, uint64_t row);

/* Order by a field; rows without a value come last. Ties stay in time order. */
struct selection_order {
	const struct field *field; /* NULL: time order. Not of type FIELD_TEXTS */
	bool is_descending;
};

/*
 * "size", "-size", "size:asc", "size:desc", "size:dsc"; the default is descending, except for
 * times, addresses and ids.
 */
struct err *selection_order_parse(const char *text, struct selection_order *order_ret);

/*
 * The rows at positions skip .. skip + count - 1 of the order. count 0: all from skip on. Memory
 * for skip + count rows. The list lives in the arena. May prepare more facts of the selection: one
 * thread at a time per selection.
 */
struct err *selection_sorted(const struct selection *selection, const struct selection_order *order,
			     uint64_t skip, uint64_t count, struct arena *arena,
			     const uint64_t **rows_ret, uint64_t *count_ret);

/*
 * The same for one page of count rows (1 .. SELECTION_PAGE_MAX): memory for the page only, at any
 * position, in the time of a few passes over the field. Time order takes no pass.
 */
enum { SELECTION_PAGE_MAX = 1 << 16 };

struct err *selection_page(const struct selection *selection, const struct selection_order *order,
			   uint64_t skip, uint64_t count, struct arena *arena,
			   const uint64_t **rows_ret, uint64_t *count_ret);

/*
 * All selected rows ordered by a field, for callers that need many pages: 4 bytes per row in the
 * arena, and 2 more while it runs. ERR_LIMIT: more rows than 32 bits can index.
 */
struct err *selection_permute(const struct selection *selection,
			      const struct selection_order *order, struct arena *arena,
			      const uint32_t **rows_ret);

#endif
