#include "groups/call_times.h"

#include <assert.h>

#include "base/sort.h"
#include "select/passes.h"

const char *const call_times_order_words[] = { "total", "max", "calls", NULL };

/* One side of a row: the allocating or the freeing call. */
struct side {
	enum model_column latency, stack, fn, thread, time;
	const char *field;
};

static const struct side SIDES[] = {
	{ MODEL_LATENCY, MODEL_STACK, MODEL_FN, MODEL_THREAD, MODEL_ALLOC_NS, "latency" },
	{ MODEL_FREE_LATENCY, MODEL_FREE_STACK, MODEL_FREE_FN, MODEL_FREE_THREAD, MODEL_FREE_NS,
	  "free_latency" },
};

/* Several tape numbers are one function for users: realloc(NULL, n), realloc(p, n) ... */
static unsigned first_of_name(unsigned fn)
{
	const char *name = tape_fn_name((enum tape_fn)fn);
	unsigned first = 0;

	while (strcmp(tape_fn_name((enum tape_fn)first), name) != 0)
		first++;
	return first;
}

void call_times_total(const struct model *model, struct model_latency *total_ret)
{
	assert(model_latencies(model));
	*total_ret = (struct model_latency) { 0 };
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++)
		latency_merge(total_ret, &model_latencies(model)[fn]);
}

static struct err *times_of_model(const struct model *model, struct arena *arena,
				  struct call_times *times)
{
	struct model_latency *functions = arena_array(arena, TAPE_FN_COUNT, sizeof(*functions));

	if (!functions)
		return err_nomem();
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++)
		latency_merge(&functions[first_of_name(fn)], &model_latencies(model)[fn]);
	times->functions = functions;
	times->stacks = model_stack_latencies(model);
	call_times_total(model, &times->total);
	return NULL;
}

/* --- of rows --------------------------------------------------------------------------------- */

struct counter {
	struct model_latency *total;
	struct model_latency *functions;
	struct model_stack_latency *stacks;
	uint64_t latency[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
	uint64_t fn[MODEL_BATCH];
};

static void count_side(struct counter *counter, const struct pass *pass, const struct side *side)
{
	pass_read(pass, side->latency, counter->latency);
	pass_read(pass, side->stack, counter->stack);
	pass_read(pass, side->fn, counter->fn);
	for (size_t i = 0; i < pass->count; i++) {
		const uint64_t ns = counter->latency[i];

		if (ns == MODEL_NEVER || counter->fn[i] >= TAPE_FN_COUNT)
			continue;
		latency_add(counter->total, ns);
		latency_add(&counter->functions[first_of_name((unsigned)counter->fn[i])], ns);
		stack_latency_add(&counter->stacks[counter->stack[i]], ns);
	}
}

static struct err *times_of_rows(const struct selection *selection, struct arena *arena,
				 struct call_times *times)
{
	CLEAN(free) struct counter *counter = calloc(1, sizeof(*counter));
	struct pass pass = pass_begin(selection->model, selection);

	if (!counter)
		return err_nomem();
	counter->total = &times->total;
	times->functions = counter->functions =
		arena_array(arena, TAPE_FN_COUNT, sizeof(*counter->functions));
	times->stacks = counter->stacks =
		arena_array(arena, model_stack_count(selection->model), sizeof(*counter->stacks));
	if (!counter->functions || !counter->stacks)
		return err_nomem();
	while (pass_next(&pass))
		for (size_t i = 0; i < array_size(SIDES); i++)
			count_side(counter, &pass, &SIDES[i]);
	return NULL;
}

/* --- the slowest ----------------------------------------------------------------------------- */

static struct slow_call slow_call_make(const struct model *model, const struct side *side,
				       uint64_t row)
{
	return (struct slow_call) {
		.ns = model_row_value(model, side->latency, row),
		.event_ns = model_row_value(model, side->time, row),
		.row = row,
		.size = model_row_value(model, MODEL_SIZE, row),
		.stack = (uint32_t)model_row_value(model, side->stack, row),
		.thread = (uint32_t)model_row_value(model, side->thread, row),
		.fn = (uint8_t)model_row_value(model, side->fn, row),
		.is_free = side->latency == MODEL_FREE_LATENCY,
	};
}

static int slower_first(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct slow_call *)b)->ns,
				((const struct slow_call *)a)->ns);
}

/* The slowest calls of each side, and of both. */
static struct err *slowest_find(const struct selection *selection, size_t max, struct arena *arena,
				struct call_times *times)
{
	struct slow_call *calls = NULL;
	size_t count = 0;

	for (size_t i = 0; i < array_size(SIDES) && max > 0; i++) {
		struct selection_order order;
		const uint64_t *rows;
		uint64_t row_count;
		struct err *err = selection_order_parse(SIDES[i].field, &order);

		if (!err)
			err = selection_sorted(selection, &order, 0, max, arena, &rows, &row_count);
		if (err)
			return err;
		if (!calls)
			calls = arena_array(arena, 2 * row_count, sizeof(*calls));
		if (!calls)
			return err_nomem();
		for (size_t k = 0; k < row_count; k++) {
			calls[count] = slow_call_make(selection->model, &SIDES[i], rows[k]);
			count += calls[count].ns != MODEL_NEVER;
		}
	}
	if (count > 0 && !sort_stable(calls, count, sizeof(*calls), slower_first, NULL))
		return err_nomem();
	times->slowest = calls;
	times->slowest_count = u64_min(count, max);
	return NULL;
}

/* --- sites ----------------------------------------------------------------------------------- */

static uint64_t site_value(const struct call_site *site, enum call_times_order order)
{
	switch (order) {
	case CALL_TIMES_BY_TOTAL:
		return site->sum.total_ns;
	case CALL_TIMES_BY_MAX:
		return site->sum.max_ns;
	case CALL_TIMES_BY_CALLS:
		return site->sum.count;
	}
	return 0;
}

static int site_compare(const void *context, const void *a, const void *b)
{
	const enum call_times_order order = *(const enum call_times_order *)context;

	return sort_compare_u64(site_value(b, order), site_value(a, order));
}

static void site_add(struct call_site *site, const struct model_stack_latency *stacks,
		     uint32_t stack)
{
	if (site->sum.count == 0 || stacks[stack].total_ns > stacks[site->stack].total_ns)
		site->stack = stack;
	site->sum.count += stacks[stack].count;
	site->sum.total_ns += stacks[stack].total_ns;
	site->sum.max_ns = u64_max(site->sum.max_ns, stacks[stack].max_ns);
}

static struct err *sums_make(const struct model *model, const struct call_times *times,
			     struct arena *arena, struct sums *sums_ret)
{
	const size_t count = model_stack_count(model);
	struct model_stack_sums *stacks = arena_array(arena, count, sizeof(*stacks));
	struct sums sums = { .model = model, .stacks = sums_by_id(model, stacks) };

	if (!stacks)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		stacks[i].allocated =
			(struct model_sum) { times->stacks[i].count, times->stacks[i].total_ns };
		metric_sums_add(&sums.total, &stacks[i]);
	}
	*sums_ret = sums;
	return NULL;
}

static struct err *sites_of_calls(const struct model *model, struct names *names,
				  const struct call_times_settings *settings, struct arena *arena,
				  struct call_times *times)
{
	const size_t stack_count = model_stack_count(model);
	struct call_site *items;
	struct sites sites;
	struct sums sums;
	struct err *err = sums_make(model, times, arena, &sums);

	if (!err)
		err = sites_find(&sums, names, settings->mode, arena, &sites);
	if (err)
		return err;
	items = arena_array(arena, sites.count, sizeof(*items));
	if (!items)
		return err_nomem();
	for (uint32_t stack = 0; stack < stack_count; stack++)
		if (sites.site_of[stack] != UINT32_MAX)
			site_add(&items[sites.site_of[stack]], times->stacks, stack);
	if (!sort_stable(items, sites.count, sizeof(*items), site_compare,
			 (void *)(uintptr_t)&settings->order))
		return err_nomem();
	times->sites = items;
	times->site_count = sites.count;
	return NULL;
}

/* By function and by stack. */
static struct err *times_of(const struct selection *selection, struct arena *arena,
			    struct call_times *times)
{
	if (!model_latencies(selection->model))
		return facts_no_latencies();
	return selection_is_all(selection) ? times_of_model(selection->model, arena, times)
					   : times_of_rows(selection, arena, times);
}

struct err *call_times_sums(const struct selection *selection, struct arena *arena,
			    struct sums *sums_ret)
{
	struct call_times times = { 0 };
	struct err *err = times_of(selection, arena, &times);

	assert(selection->sums.model == selection->model);
	return err ? err : sums_make(selection->model, &times, arena, sums_ret);
}

struct err *call_times_find(const struct selection *selection, struct names *names,
			    const struct call_times_settings *settings, struct arena *arena,
			    struct call_times *times_ret)
{
	const struct model *model = selection->model;
	struct call_times times = { 0 };
	struct err *err = times_of(selection, arena, &times);

	assert(settings->order <= CALL_TIMES_BY_CALLS);
	assert(settings->mode <= WALK_ALL);
	if (!err)
		err = slowest_find(selection, settings->slowest_max, arena, &times);
	if (!err)
		err = sites_of_calls(model, names, settings, arena, &times);
	if (!err)
		*times_ret = times;
	return err;
}
