/* Facts about single allocations for finders: passes over all rows, on all processors. */
#include <assert.h>

#include "base/big.h"
#include "base/number.h"
#include "findings/finding.h"
#include "space/space.h"

/* Memory limit for all workers' sums. */
static const size_t WORKERS_BYTES_MAX = (size_t)256 << 20;

static uint64_t segment_count(const struct finding_search *search)
{
	return div_up(model_row_count(search->model), MODEL_SEGMENT);
}

static size_t workers_count(const struct finding_search *search, size_t bytes)
{
	const size_t count = sweep_workers(&search->limits, segment_count(search));

	return u64_max(u64_min(count, WORKERS_BYTES_MAX / (bytes + 1)), 1);
}

/* Calls visit with every batch of rows of a segment. */
static void segment_each(const struct finding_search *search, uint64_t segment, void *context,
			 void (*visit)(void *context, uint64_t first, size_t count))
{
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end = u64_min(first + MODEL_SEGMENT, model_row_count(search->model));

	for (uint64_t at = first; at < end; at += MODEL_BATCH)
		visit(context, at, u64_min(end - at, MODEL_BATCH));
}

/* --- facts of sites ------------------------------------------------------------------------ */

struct facts_worker {
	const struct finding_search *search;
	struct site_facts *facts;
	uint64_t size[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
	uint64_t thread[MODEL_BATCH];
	uint64_t freer[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
	uint64_t flags[MODEL_BATCH];
};

static void take_row(struct site_facts *facts, const struct facts_worker *worker, size_t i)
{
	const uint64_t size = worker->size[i];

	facts->first_ns = u64_min(facts->first_ns, worker->alloc_ns[i]);
	facts->last_ns = u64_max(facts->last_ns, worker->alloc_ns[i]);
	if (worker->freer[i] != MODEL_NO_THREAD) {
		facts->freed_count++;
		if (worker->freer[i] != worker->thread[i]) {
			facts->foreign.count++;
			facts->foreign.bytes += size;
		}
	}
	if (!(worker->flags[i] & MODEL_ALLOCATION_PEAK))
		return;
	facts->peak_usable += space_usable(size, worker->usable[i]);
	if (size > facts->largest) {
		facts->largest = size;
		facts->largest_stack = (uint32_t)worker->stack[i];
	}
}

static void facts_visit(void *context, uint64_t first, size_t count)
{
	struct facts_worker *worker = context;
	const struct model *model = worker->search->model;

	model_rows_read(model, MODEL_SIZE, first, count, worker->size);
	model_rows_read(model, MODEL_USABLE, first, count, worker->usable);
	model_rows_read(model, MODEL_ALLOC_NS, first, count, worker->alloc_ns);
	model_rows_read(model, MODEL_THREAD, first, count, worker->thread);
	model_rows_read(model, MODEL_FREE_THREAD, first, count, worker->freer);
	model_rows_read(model, MODEL_STACK, first, count, worker->stack);
	model_rows_read(model, MODEL_FLAGS, first, count, worker->flags);
	for (size_t i = 0; i < count; i++)
		take_row(&worker->facts[worker->search->sites.site_of[worker->stack[i]]], worker,
			 i);
}

static struct err *facts_segment(void *context, uint64_t segment)
{
	struct facts_worker *worker = context;

	segment_each(worker->search, segment, worker, facts_visit);
	return NULL;
}

/* Workers get segments in any order: of equally large blocks the lower stack number wins. */
static void facts_join(struct site_facts *to, const struct site_facts *from)
{
	to->first_ns = u64_min(to->first_ns, from->first_ns);
	to->last_ns = u64_max(to->last_ns, from->last_ns);
	to->peak_usable += from->peak_usable;
	to->freed_count += from->freed_count;
	to->foreign.count += from->foreign.count;
	to->foreign.bytes += from->foreign.bytes;
	if (from->largest > to->largest ||
	    (from->largest == to->largest && from->largest_stack < to->largest_stack)) {
		to->largest = from->largest;
		to->largest_stack = from->largest_stack;
	}
}

struct err *site_facts_find(const struct finding_search *search,
			    const struct site_facts **facts_ret)
{
	const size_t sites = search->sites.count;
	const size_t count = workers_count(search, sites * sizeof(struct site_facts));
	struct site_facts *facts = arena_array(search->arena, sites, sizeof(*facts));
	CLEAN(free) struct site_facts *own = big_calloc(count * sites + 1, sizeof(*own));
	CLEAN(free) struct facts_worker *workers = calloc(count, sizeof(*workers));
	struct err *err;

	if (!facts || !own || !workers)
		return err_nomem();
	for (size_t i = 0; i < count * sites; i++)
		own[i].first_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		workers[i].search = search;
		workers[i].facts = own + i * sites;
	}
	err = sweep_run(&search->limits, segment_count(search), facts_segment, workers,
			sizeof(*workers), count);
	if (err)
		return err;
	memcpy(facts, own, sites * sizeof(*facts));
	for (size_t i = sites; i < count * sites; i++)
		facts_join(&facts[i % sites], &own[i]);
	*facts_ret = facts;
	return NULL;
}

/* --- live bytes over time ------------------------------------------------------------------ */

static_assert(LIVE_COLUMNS == 1 << 7, "columns are found by shifting");

uint64_t live_column_end(uint64_t duration_ns, unsigned column)
{
	assert(column < LIVE_COLUMNS);
	return u64_mul_div(duration_ns, column + 1, LIVE_COLUMNS);
}

/* The first column that ends at ns or later: events at a column's end belong to it. */
unsigned live_column_of(uint64_t duration_ns, uint64_t ns)
{
	if (ns >= duration_ns)
		return LIVE_COLUMNS - 1;
	if (ns == 0)
		return 0;
	if (duration_ns >> 57 == 0)
		return (unsigned)((ns * LIVE_COLUMNS - 1) / duration_ns);
	return (unsigned)(u64_mul_div_up(ns, LIVE_COLUMNS, duration_ns) - 1);
}

/* Modulo 2^64: the final sums are not negative and do not overflow. */
struct change {
	uint64_t bytes;
	uint64_t count;
};

struct live_worker {
	const struct finding_search *search;
	const uint32_t *index_of;
	struct change *changes;
	uint64_t size[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

static void live_visit(void *context, uint64_t first, size_t count)
{
	struct live_worker *worker = context;
	const struct finding_search *search = worker->search;

	model_rows_read(search->model, MODEL_STACK, first, count, worker->stack);
	model_rows_read(search->model, MODEL_SIZE, first, count, worker->size);
	model_rows_read(search->model, MODEL_ALLOC_NS, first, count, worker->alloc_ns);
	model_rows_read(search->model, MODEL_FREE_NS, first, count, worker->free_ns);
	for (size_t i = 0; i < count; i++) {
		const uint32_t index = worker->index_of[search->sites.site_of[worker->stack[i]]];
		const uint64_t bytes = worker->size[i];
		struct change *changes, *at;

		if (index == UINT32_MAX)
			continue;
		changes = worker->changes + (size_t)index * LIVE_COLUMNS;
		at = &changes[live_column_of(search->duration_ns, worker->alloc_ns[i])];
		at->bytes += bytes;
		at->count++;
		if (worker->free_ns[i] == MODEL_NEVER)
			continue;
		at = &changes[live_column_of(search->duration_ns, worker->free_ns[i])];
		at->bytes -= bytes;
		at->count--;
	}
}

static struct err *live_segment(void *context, uint64_t segment)
{
	struct live_worker *worker = context;

	segment_each(worker->search, segment, worker, live_visit);
	return NULL;
}

/* Sums the workers' columns, and accumulates them over time. */
static void live_join(const struct change *changes, size_t worker_count, size_t item_count,
		      struct live_column *columns)
{
	const size_t total = item_count * LIVE_COLUMNS;
	struct change sum = { 0 };

	for (size_t i = 0; i < total; i++) {
		if (i % LIVE_COLUMNS == 0)
			sum = (struct change) { 0 };
		for (size_t worker = 0; worker < worker_count; worker++) {
			sum.bytes += changes[worker * total + i].bytes;
			sum.count += changes[worker * total + i].count;
		}
		columns[i] = (struct live_column) { sum.bytes, sum.count };
	}
}

struct err *live_columns_find(const struct finding_search *search, const uint32_t *index_of,
			      size_t count, struct live_column **columns_ret)
{
	const size_t total = count * LIVE_COLUMNS;
	const size_t worker_count = workers_count(search, total * sizeof(struct change));
	CLEAN(free) struct change *changes = big_calloc(worker_count * total + 1, sizeof(*changes));
	CLEAN(free) struct live_worker *workers = calloc(worker_count, sizeof(*workers));
	struct live_column *columns = arena_array(search->arena, total, sizeof(*columns));
	struct err *err;

	assert(index_of || count == 0);
	if (!changes || !workers || !columns)
		return err_nomem();
	for (size_t i = 0; i < worker_count; i++) {
		workers[i].search = search;
		workers[i].index_of = index_of;
		workers[i].changes = changes + i * total;
	}
	err = sweep_run(&search->limits, segment_count(search), live_segment, workers,
			sizeof(*workers), worker_count);
	if (err)
		return err;
	live_join(changes, worker_count, count, columns);
	*columns_ret = columns;
	return NULL;
}
