/*
 * per_call: functions that allocate the same buffer in every call and free it at the call's end,
 * with other allocations in between. What is freed before its thread allocates again is for
 * finding_churn.c.
 */
#include "base/number.h"
#include "findings/finding.h"

enum {
	SIZES_MAX = 4,		/* of one function */
	OTHER_SIZES_SHARE = 20, /* 5 % of its allocations may have further sizes */
	OVERLAPS_SHARE = 100,	/* 1 % may be allocated while another is alive */
	TEMPORARY_PERCENT = 50, /* from here on it is churn */
	RATE_MIN = 20000,	/* per second while active, as for churn */
	LANES_MAX = 64		/* threads apart from each other */
};

struct calls {
	uint32_t site;
	uint32_t size_count;
	uint64_t sizes[SIZES_MAX];
	uint64_t other_sizes; /* allocations with none of them */
	uint64_t overlaps;    /* allocations while another of the thread was alive */
	uint64_t lived_ns;    /* all of them together */
	uint64_t freed_count;
	uint64_t until_ns[LANES_MAX]; /* by thread: when all before are freed */
};

struct rows {
	const struct finding_search *search;
	uint32_t *index_of; /* by site; UINT32_MAX: not a candidate */
	struct calls *calls;
	size_t count;
	uint64_t stack[MODEL_BATCH];
	uint64_t size[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t thread[MODEL_BATCH];
};

static void take_size(struct calls *calls, uint64_t size)
{
	for (uint32_t i = 0; i < calls->size_count; i++)
		if (calls->sizes[i] == size)
			return;
	if (calls->size_count < SIZES_MAX)
		calls->sizes[calls->size_count++] = size;
	else
		calls->other_sizes++;
}

static void take_row(struct calls *calls, const struct rows *rows, size_t i)
{
	uint64_t *until_ns = &calls->until_ns[rows->thread[i] % LANES_MAX];

	take_size(calls, rows->size[i]);
	calls->overlaps += *until_ns > rows->alloc_ns[i];
	*until_ns = u64_max(*until_ns, rows->free_ns[i]);
	if (rows->free_ns[i] != MODEL_NEVER) {
		calls->lived_ns += rows->free_ns[i] - rows->alloc_ns[i];
		calls->freed_count++;
	}
}

/* Batches without any row of a candidate cost one column. */
static void take_batch(struct rows *rows, uint64_t first, size_t count)
{
	const struct model *model = rows->search->model;
	const uint32_t *site_of = rows->search->sites.site_of;
	size_t at = 0;

	model_rows_read(model, MODEL_STACK, first, count, rows->stack);
	while (at < count && rows->index_of[site_of[rows->stack[at]]] == UINT32_MAX)
		at++;
	if (at == count)
		return;
	model_rows_read(model, MODEL_SIZE, first, count, rows->size);
	model_rows_read(model, MODEL_ALLOC_NS, first, count, rows->alloc_ns);
	model_rows_read(model, MODEL_FREE_NS, first, count, rows->free_ns);
	model_rows_read(model, MODEL_THREAD, first, count, rows->thread);
	for (; at < count; at++) {
		const uint32_t index = rows->index_of[site_of[rows->stack[at]]];

		if (index != UINT32_MAX)
			take_row(&rows->calls[index], rows, at);
	}
}

static struct err *take_all(struct rows *rows)
{
	const uint64_t row_count = model_row_count(rows->search->model);
	struct err *err = NULL;

	for (uint64_t first = 0; first < row_count && !err; first += MODEL_BATCH) {
		take_batch(rows, first, u64_min(row_count - first, MODEL_BATCH));
		if (first % MODEL_SEGMENT == 0)
			err = sweep_check(&rows->search->limits);
	}
	return err;
}

/* Allocations per second between the first and the last one. */
static uint64_t rate(const struct finding_search *search, uint32_t site)
{
	const struct site_facts *facts = &search->facts[site];
	const double seconds = (double)(facts->last_ns - facts->first_ns) / 1e9;
	const uint64_t count = search->sites.items[site].sums.allocated.count;

	return seconds > 1e-9 ? u64_of_double((double)count / seconds) : count;
}

static bool is_candidate(const struct finding_search *search, uint32_t site)
{
	const struct model_stack_sums *sums = &search->sites.items[site].sums;

	return finding_calls_are_worth(sums->allocated.count, search->totals->allocated.count) &&
	       !finding_is_share(sums->temporary.count, sums->allocated.count, TEMPORARY_PERCENT) &&
	       rate(search, site) >= RATE_MIN;
}

static struct err *choose(struct rows *rows)
{
	const struct finding_search *search = rows->search;
	const size_t site_count = search->sites.count;

	rows->index_of = arena_array(search->arena, site_count, sizeof(uint32_t));
	if (!rows->index_of)
		return err_nomem();
	for (uint32_t i = 0; i < site_count; i++)
		rows->index_of[i] = is_candidate(search, i) ? (uint32_t)rows->count++ : UINT32_MAX;
	rows->calls = arena_array(search->arena, rows->count, sizeof(*rows->calls));
	if (!rows->calls)
		return err_nomem();
	for (uint32_t i = 0; i < site_count; i++)
		if (rows->index_of[i] != UINT32_MAX)
			rows->calls[rows->index_of[i]].site = i;
	return NULL;
}

static struct err *calls_add(struct finding_search *search, const struct finder *finder,
			     const struct calls *calls)
{
	const struct site *site = &search->sites.items[calls->site];
	const struct model_sum *sum = &site->sums.allocated;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = sum->bytes,
		.count = sum->count,
		.stack = site->stacks[METRIC_ALLOCATED],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, NULL),
			  .metric = "allocated",
			  .sort = "size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	finding_add_counted(&evidence, sum->count, "allocation");
	str_add(&evidence, " (");
	str_add_percent(&evidence, sum->count, search->totals->allocated.count);
	str_add(&evidence, " of all there are), of ");
	str_add_iec(&evidence, sum->bytes / u64_max(sum->count, 1));
	str_add(&evidence, " on average, ");
	str_add_grouped(&evidence, rate(search, calls->site));
	str_add(&evidence, " a second; ");
	str_add_percent(&evidence, sum->count - calls->overlaps, sum->count);
	str_add(&evidence, " were made when the thread had freed the one before; they lived ");
	str_add_duration(&evidence, calls->lived_ns / u64_max(calls->freed_count, 1));
	str_add(&evidence, " on average");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(free) struct rows *rows = calloc(1, sizeof(*rows));
	struct err *err;

	if (!rows)
		return err_nomem();
	rows->search = search;
	err = choose(rows);
	if (!err && rows->count > 0)
		err = take_all(rows);
	for (size_t i = 0; !err && i < rows->count; i++) {
		const struct calls *calls = &rows->calls[i];
		const uint64_t count = search->sites.items[calls->site].sums.allocated.count;

		if (calls->overlaps <= count / OVERLAPS_SHARE &&
		    calls->other_sizes <= count / OTHER_SIZES_SHARE)
			err = calls_add(search, finder, calls);
	}
	return err;
}

const struct finder finder_per_call = {
	.type = "per_call",
	.title = "The same buffer is allocated and freed in every call",
	.advice = "Keep the buffer and use it again: allocate it once, outside of the loop.",
	.what = "buffers that are allocated in every call",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.find = find,
};
