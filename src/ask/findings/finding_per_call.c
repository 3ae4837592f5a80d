/*
 * per_call: functions that allocate the same buffer in every call and free it at the call's end,
 * with other allocations in between. What is freed before its thread allocates again is for
 * finding_churn.c.
 */
#include "findings/finding.h"

enum {
	SIZES_MAX = 4,		/* of one function */
	OTHER_SIZES_SHARE = 20, /* 5 % of its allocations may have further sizes */
	OVERLAPS_SHARE = 100,	/* 1 % may be allocated while another is alive */
	LANES_MAX = 64		/* threads apart from each other */
};

struct calls {
	uint32_t size_count;
	uint64_t sizes[SIZES_MAX];
	uint64_t other_sizes; /* allocations with none of them */
	uint64_t overlaps;    /* allocations while another of the thread was alive */
	uint64_t lived_ns;    /* all of them together */
	uint64_t freed_count;
	uint64_t until_ns[LANES_MAX]; /* by thread: when all before are freed */
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

static bool take_row(void *context, uint32_t index, const uint64_t values[][MODEL_BATCH], size_t i)
{
	struct calls *calls = (struct calls *)context + index;
	const uint64_t alloc_ns = values[MODEL_ALLOC_NS][i], free_ns = values[MODEL_FREE_NS][i];
	uint64_t *until_ns = &calls->until_ns[values[MODEL_THREAD][i] % LANES_MAX];

	take_size(calls, values[MODEL_SIZE][i]);
	calls->overlaps += *until_ns > alloc_ns;
	*until_ns = u64_max(*until_ns, free_ns);
	if (free_ns != MODEL_NEVER) {
		calls->lived_ns += free_ns - alloc_ns;
		calls->freed_count++;
	}
	return true;
}

/* What is churn as well is of the same cause: see struct finder's `better`. */
static bool is_candidate(const struct finding_search *search, uint32_t site)
{
	const struct model_stack_sums *sums = &search->sites.items[site].sums;
	const uint64_t count = sums->allocated.count;

	return finding_calls_are_worth(count, search->totals->allocated.count) &&
	       finding_rate(search, site, count) >= FINDING_RATE_MIN;
}

static bool is_same(const struct finding_search *search, uint32_t at, const struct calls *calls)
{
	const uint64_t count = search->sites.items[at].sums.allocated.count;

	return calls->overlaps <= count / OVERLAPS_SHARE &&
	       calls->other_sizes <= count / OTHER_SIZES_SHARE;
}

static struct err *calls_add(struct finding_search *search, const struct finder *finder,
			     uint32_t at, const struct calls *calls)
{
	const struct site *site = &search->sites.items[at];
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
	str_add_grouped(&evidence, finding_rate(search, at, sum->count));
	str_add(&evidence, " a second; ");
	str_add_percent(&evidence, sum->count - calls->overlaps, sum->count);
	str_add(&evidence, " were made when the thread had freed the one before; they lived ");
	str_add_duration(&evidence, calls->lived_ns / u64_max(calls->freed_count, 1));
	str_add(&evidence, " on average");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	size_t count;
	const uint32_t *index_of = sites_choose(search, is_candidate, &count);
	struct calls *calls = arena_array(search->arena, count, sizeof(*calls));
	struct err *err = NULL;

	if (!index_of || !calls)
		return err_nomem();
	if (count > 0)
		err = site_rows_each(search, index_of,
				     1u << MODEL_SIZE | 1u << MODEL_ALLOC_NS | 1u << MODEL_FREE_NS |
					     1u << MODEL_THREAD,
				     take_row, calls);
	for (uint32_t i = 0; !err && i < search->sites.count; i++)
		if (index_of[i] != UINT32_MAX && is_same(search, i, &calls[index_of[i]]))
			err = calls_add(search, finder, i, &calls[index_of[i]]);
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
