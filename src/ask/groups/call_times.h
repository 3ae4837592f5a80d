/*
 * call_times: how long calls of the allocator took, of a tape that was recorded with --latency: by
 * function, by the stack of the call, by site, and the slowest of them.
 */
#ifndef MEMTAPE_GROUPS_CALL_TIMES_H
#define MEMTAPE_GROUPS_CALL_TIMES_H

#include "select/selection.h"
#include "sums/sites.h"

/* A call that made or ended a row. */
struct slow_call {
	uint64_t ns;
	uint64_t event_ns; /* when it returned a block, or was called to free one */
	uint64_t row;
	uint64_t size;
	uint32_t stack;
	uint32_t thread; /* MODEL_NO_THREAD: not known */
	uint8_t fn;
	bool is_free;
};

/* By a function that calls: what is spent below it, by all of its stacks. */
struct call_site {
	struct model_stack_latency sum;
	uint32_t stack; /* the one with most time */
};

/*
 * Of all calls, or of those that made and ended the allocations of a selection. Only the whole tape
 * counts calls that failed and frees of blocks whose allocation was not seen.
 */
struct call_times {
	struct model_latency total;
	const struct model_latency *functions; /* by enum tape_fn; of equal names the first */
	const struct model_stack_latency *stacks;
	const struct call_site *sites; /* sorted */
	size_t site_count;
	const struct slow_call *slowest; /* the slowest first; of allocations that have rows */
	size_t slowest_count;
};

/* What sites are sorted by; the words of --sort in this order, NULL at the end. */
enum call_times_order { CALL_TIMES_BY_TOTAL, CALL_TIMES_BY_MAX, CALL_TIMES_BY_CALLS };
extern const char *const call_times_order_words[];

struct call_times_settings {
	enum call_times_order order;
	enum walk_mode mode;
	size_t slowest_max;
};

/* MODEL_FULL. ERR_NOT_FOUND: the tape does not say. Lives in the arena. */
struct err *call_times_find(const struct selection *selection, struct names *names,
			    const struct call_times_settings *settings, struct arena *arena,
			    struct call_times *times_ret);

/*
 * By the stack of the call, in the shape of sums: `allocated` counts calls, and its bytes are
 * nanoseconds. So who draws or ranks sums does so with calls. At any depth, if all is selected.
 */
struct err *call_times_sums(const struct selection *selection, struct arena *arena,
			    struct sums *sums_ret);

/* Of the whole tape, at any depth: all functions together. There are latencies. */
void call_times_total(const struct model *model, struct model_latency *total_ret);

#endif
