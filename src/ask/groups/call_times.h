/*
 * call_times: duration of allocator calls, for tapes recorded with --latency: by function, by
 * calling stack, by site, and the slowest calls.
 */
#ifndef MEMTAPE_GROUPS_CALL_TIMES_H
#define MEMTAPE_GROUPS_CALL_TIMES_H

#include "select/selection.h"
#include "sums/sites.h"

/* A call that created or ended a row. */
struct slow_call {
	uint64_t ns;
	uint64_t event_ns; /* when the allocation returned, or when the free was called */
	uint64_t row;
	uint64_t size;
	uint32_t stack;
	uint32_t thread; /* MODEL_NO_THREAD: not known */
	uint8_t fn;
	bool is_free;
};

/* Sum over all stacks of one calling function. */
struct call_site {
	struct model_stack_latency sum;
	uint32_t stack; /* the one with the longest total time */
};

/*
 * Of all calls, or of those that allocated and freed the selection. Only the whole tape includes
 * failed calls and frees of blocks whose allocation was not seen.
 */
struct call_times {
	struct model_latency total;
	const struct model_latency *functions; /* by enum tape_fn; equal names: the first */
	const struct model_stack_latency *stacks;
	const struct call_site *sites; /* sorted */
	size_t site_count;
	const struct slow_call *slowest; /* slowest first; of allocations that have rows */
	size_t slowest_count;
};

/* Sort orders of sites; the words of --sort in this order, NULL-terminated. */
enum call_times_order { CALL_TIMES_BY_TOTAL, CALL_TIMES_BY_MAX, CALL_TIMES_BY_CALLS };
extern const char *const call_times_order_words[];

struct call_times_settings {
	enum call_times_order order;
	enum walk_mode mode;
	size_t slowest_max;
};

/* Needs MODEL_FULL. ERR_NOT_FOUND: the tape has no latencies. Lives in the arena. */
struct err *call_times_find(const struct selection *selection, struct names *names,
			    const struct call_times_settings *settings, struct arena *arena,
			    struct call_times *times_ret);

/*
 * By calling stack, as struct sums: `allocated` counts calls, and its bytes are nanoseconds, so
 * that code that draws or ranks sums works for calls too. Any depth, if everything is selected.
 */
struct err *call_times_sums(const struct selection *selection, struct arena *arena,
			    struct sums *sums_ret);

/* Of the whole tape, at any depth: all functions together. The tape must have latencies. */
void call_times_total(const struct model *model, struct model_latency *total_ret);

#endif
