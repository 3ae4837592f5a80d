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

#include "select/filter.h"
#include "sums/suppress.h"

struct selection_settings {
	const char *filter; /* an expression; NULL or "": all */
	const char *from;   /* a moment as in expressions, "10s", "25%"; NULL: the beginning */
	const char *until;  /* inclusive; NULL: the end */
	/* What of the leaks is known and meant (borrowed); NULL: nothing, all are leaks. */
	struct suppressor *suppressor;
	/* Nobody asks what leaked: only where the filter does are names looked for. */
	bool ignores_leaks;
	uint64_t time_limit_ns; /* 0: none */
	unsigned thread_count;	/* 0: as many as there are processors */
	const bool *cancel;	/* set by another thread to give up; NULL: never. Read atomically */
	bool (*is_interrupted)(void *context); /* see sweep.h; NULL: never */
	void *context;
};

struct selection {
	const struct model *model;
	struct names *names;
	uint64_t *bits;		/* by row; NULL: all rows */
	uint64_t *segment_ends; /* by segment: selected rows up to its end; NULL: all rows */
	uint64_t count;		/* rows selected */
	uint64_t from_ns;	/* the range asked for; 0 .. UINT64_MAX when none was */
	uint64_t until_ns;
	/*
	 * When most was alive of what was allocated in that range, whatever the filter says: what
	 * `peak` means in its sums. Without a range that is the peak of the run.
	 */
	uint64_t peak_ns;
	bool has_range;
	/*
	 * What reports take; what is suppressed has not leaked in it. Suppressed are leaks of the
	 * stacks that `suppressed` has; NULL: none, or leaks are not needed.
	 */
	struct sums sums;
	const struct suppressed *suppressed;
	struct suppressed_leaks suppressed_leaks;
	struct facts *facts;	    /* more may be prepared while one thread has the selection */
	struct sweep_limits limits; /* of the settings: for sorting and grouping as well */
};

/*
 * Checks what can be checked without a tape, so that nonsense is refused before anything is read or
 * written. ERR_USAGE.
 */
struct err *selection_check(const struct selection_settings *settings);

/* Whether anything is asked for that needs rows: then the model has to be MODEL_FULL. */
bool selection_needs_rows(const struct selection_settings *settings);

struct err *selection_make(const struct model *model, struct names *names,
			   const struct selection_settings *settings, struct arena *arena,
			   const struct selection **selection_ret);

/*
 * Those of its allocations whose stack is one of some: stacks[id] is not 0. With the same range,
 * facts and limits; of its sums there is the total alone, and nothing is said of what is suppressed.
 */
struct err *selection_narrow(const struct selection *selection, const uint8_t *stacks,
			     struct arena *arena, const struct selection **selection_ret);

bool selection_is_all(const struct selection *selection);

static inline bool selection_has(const struct selection *selection, uint64_t row)
{
	return !selection->bits || (selection->bits[row / 64] >> row % 64 & 1);
}

/* Whether an allocation is part of the peak. Of the run's own the model knows it exactly, even
 * where much happened at the same time. */
static inline bool selection_at_peak(const struct selection *selection, uint64_t alloc_ns,
				     uint64_t free_ns, uint64_t flags)
{
	if (!selection->has_range)
		return flags & MODEL_ALLOCATION_PEAK;
	return alloc_ns <= selection->peak_ns && free_ns > selection->peak_ns;
}

/* Whether an allocation leaked: it was never freed, and that is not suppressed. */
static inline bool selection_is_leaked(const struct selection *selection, uint64_t free_ns,
				       uint64_t stack)
{
	return free_ns == MODEL_NEVER && !suppressed_has(selection->suppressed, stack);
}

/* Of the whole tape all there is; of a part what can be said of a part, and the rest is 0. */
struct model_totals selection_totals(const struct selection *selection);

/*
 * The selected rows in their order, in batches of at most MODEL_BATCH: writes the numbers of the
 * next ones to rows[] and moves *at, which begins at 0, past them. 0: that were all.
 */
size_t selection_next(const struct selection *selection, uint64_t *at, uint64_t *rows);

/* Those of the batch that begins at row `first`, a multiple of MODEL_BATCH. */
size_t selection_batch(const struct selection *selection, uint64_t first, uint64_t *rows);

/* The number of the selected row that has `index` selected rows before it; index < count. */
uint64_t selection_row(const struct selection *selection, uint64_t index);

/* By a field's value; rows without one come last. Equal ones stay in the order of time. */
struct selection_order {
	const struct field *field; /* NULL: the order of time. Not of type FIELD_TEXTS */
	bool is_descending;
};

/*
 * "size", "-size", "size:asc", "size:desc", "size:dsc"; a plain name is descending for everything
 * but times, addresses and ids, of which one wants to see the first.
 */
struct err *selection_order_parse(const char *text, struct selection_order *order_ret);

/*
 * The rows at positions skip .. skip + count - 1 of that order. count 0: all from skip on. Memory
 * for skip + count rows. The list lives in the arena. It may find facts that the selection does not
 * have yet: one thread at a time for a selection.
 */
struct err *selection_sorted(const struct selection *selection, const struct selection_order *order,
			     uint64_t skip, uint64_t count, struct arena *arena,
			     const uint64_t **rows_ret, uint64_t *count_ret);

/*
 * The same for a page of a list, count (not 0) of at most SELECTION_PAGE_MAX rows: in memory for
 * the page, wherever in the list it is, and in the time of a few passes over the field. The order
 * of time takes no pass.
 */
enum { SELECTION_PAGE_MAX = 1 << 16 };

struct err *selection_page(const struct selection *selection, const struct selection_order *order,
			   uint64_t skip, uint64_t count, struct arena *arena,
			   const uint64_t **rows_ret, uint64_t *count_ret);

/*
 * All selected rows in an order by a field, for those who need many pages of it: 4 bytes a row in
 * the arena, and 2 more until it is done. ERR_LIMIT: more rows than 32 bits can number.
 */
struct err *selection_permute(const struct selection *selection,
			      const struct selection_order *order, struct arena *arena,
			      const uint32_t **rows_ret);

#endif
