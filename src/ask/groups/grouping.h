/*
 * grouping: maps each row to its group. Internal to groups.
 */
#ifndef MEMTAPE_GROUPS_GROUPING_H
#define MEMTAPE_GROUPS_GROUPING_H

#include "groups/groups.h"
#include "select/without.h"

struct grouping {
	enum group_by by;
	const struct selection *selection;
	size_t count;	    /* groups 0 .. count - 1; some may be empty */
	uint32_t *of_stack; /* by STACK .. MODULE: by stack id; UINT32_MAX: stack without rows */
	const struct name_frame **sites; /* by group; NULL: by THREAD .. PROCESS */
	uint32_t *of_mark;		 /* by MARK: by mark */
	uint32_t *of_call;		 /* by CALL: by enum tape_fn */
};

struct err *grouping_init(struct grouping *grouping, const struct selection *selection,
			  enum group_by by, enum walk_mode mode, struct arena *arena);

/* The group of every row of the batch. */
void grouping_keys(const struct grouping *grouping, struct batch *batch, uint32_t *keys);

/* The key in struct group. */
uint64_t grouping_key(const struct grouping *grouping, uint32_t group);

/* By group: its index in items, by key; UINT32_MAX: none. */
struct err *grouping_numbers(const struct grouping *grouping, const struct group *items,
			     size_t count, uint32_t *number_of);

/* Compares by an order (context): no value sorts last, ties in allocation order. */
int group_compare(const void *context, const void *left, const void *right);

/*
 * Sums of all groups, for the selection and for all rows; the second may be the same array if
 * everything is selected. In the arena.
 */
struct err *group_sums_find(const struct grouping *grouping, struct arena *arena,
			    struct group_sums **matched_ret, struct group_sums **all_ret);

/*
 * Percentiles of lifetimes of some groups. number_of: by group, its index in items[], or
 * UINT32_MAX.
 */
struct err *group_lifetimes_find(const struct grouping *grouping, const uint32_t *number_of,
				 struct group *items, size_t item_count);

/*
 * The program's peak without the selected rows of each group; without->groups has room for all.
 * ERR_LIMIT, ERR_STATE: see select/facts.h.
 */
struct err *savings_find(const struct grouping *grouping, struct without *without);

/* Calls visit with each batch of rows and a bit mask of the selected ones, on several threads. */
struct group_worker {
	const struct grouping *grouping;
	struct batch *batch;
	void (*visit)(struct group_worker *worker, const uint32_t *keys, const uint64_t *bits);
	void *context;
};

/* bytes: memory per worker, which limits their number. At least 1. */
size_t group_workers_count(const struct grouping *grouping, size_t bytes);
struct err *group_workers_run(struct group_worker *workers, size_t count);

#endif
