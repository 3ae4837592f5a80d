/*
 * growth: functions whose live bytes grow to the end, as findings/pattern.h judges, if it is much
 * and took long. A container that grows by realloc is one block and not a finding here.
 */
#include "base/number.h"
#include "base/sort.h"
#include "findings/finding.h"
#include "model/import.h"
#include "sums/scans.h"

enum {
	PEAK_SHARE = 200,		       /* 0.5 % of the peak: steady growth becomes large */
	CANDIDATES_MAX = 256,		       /* those with the most bytes */
	BLOCKS_MIN = 16,		       /* more than some containers */
	WINDOW_COLUMNS_MIN = LIVE_COLUMNS / 2, /* grown for half of the run */
	LEAK_PERCENT = 90,		       /* of its allocations are never freed */
	CACHE_PERCENT = 10		       /* the same: fewer are what an end leaves */
};

static bool is_worth(const struct finding_search *search, uint64_t bytes)
{
	return bytes >= FINDING_BYTES_MIN && bytes >= search->totals->peak.bytes / PEAK_SHARE;
}

/* The sites with the most bytes at the peak or at the end, and their column indices. */
static struct err *choose(const struct finding_search *search, uint32_t **index_ret,
			  uint32_t *sites, size_t *count_ret)
{
	uint32_t *index_of = arena_array(search->arena, search->sites.count, sizeof(*index_of));
	CLEAN(free) struct sort_pair *order = calloc(search->sites.count + 1, sizeof(*order));
	size_t count = 0;

	if (!index_of || !order)
		return err_nomem();
	for (size_t i = 0; i < search->sites.count; i++) {
		const struct model_stack_sums *sums = &search->sites.items[i].sums;
		const uint64_t most = u64_max(sums->peak.bytes, sums->leaked.bytes);

		index_of[i] = UINT32_MAX;
		if (is_worth(search, most) && sums->allocated.count >= BLOCKS_MIN)
			order[count++] = (struct sort_pair) { ~most, (uint32_t)i };
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	count = u64_min(count, CANDIDATES_MAX);
	for (size_t i = 0; i < count; i++) {
		sites[i] = order[i].index;
		index_of[order[i].index] = (uint32_t)i;
	}
	*index_ret = index_of;
	*count_ret = count;
	return NULL;
}

struct course_found {
	struct growth growth;
	struct live_column first; /* where growth starts: nothing, or what was built up before */
	struct live_column last;
	uint64_t first_ns;
	uint64_t last_ns;
};

static struct course_judged judge(const struct finding_search *search, size_t site,
				  const struct live_column *columns)
{
	const struct model_stack_sums *sums = &search->sites.items[site].sums;
	uint64_t values[LIVE_COLUMNS];
	const struct course course = {
		.values = values,
		.end_ns = search->duration_ns,
		.first_ns = search->facts[site].first_ns,
		.last_ns = search->facts[site].last_ns,
		.allocated_count = sums->allocated.count,
		.kept_count = sums->leaked.count,
		.has_ended = !model_goes_on(search->model),
	};

	for (unsigned i = 0; i < LIVE_COLUMNS; i++)
		values[i] = columns[i].bytes;
	return course_judge(&course);
}

/* Whether what stays of the site is meant to: its largest stack is suppressed. */
static bool is_suppressed(const struct finding_search *search, size_t site)
{
	return suppressed_has(search->suppressed, search->sites.items[site].stacks[METRIC_PEAK]);
}

static bool follow(const struct finding_search *search, size_t site,
		   const struct live_column *columns, struct course_found *found_ret)
{
	const struct course_judged judged = judge(search, site, columns);
	const unsigned last = (unsigned)judged.last;

	if (judged.pattern != PATTERN_GROWING || judged.first + WINDOW_COLUMNS_MIN > last + 1 ||
	    is_suppressed(search, site))
		return false;
	*found_ret = (struct course_found) {
		.growth = judged.growth,
		.last = columns[last],
		.first_ns = search->facts[site].first_ns,
		.last_ns = live_column_end(search->duration_ns, last),
	};
	if (judged.growth.begin > 0) { /* its values begin with one before the first column */
		const unsigned begin = (unsigned)(judged.first + judged.growth.begin - 1);

		found_ret->first = columns[begin];
		found_ret->first_ns = live_column_end(search->duration_ns, begin);
	}
	return found_ret->last.count >= found_ret->first.count + BLOCKS_MIN &&
	       is_worth(search, found_ret->growth.grown);
}

static void add_evidence(struct str *out, const struct finding_search *search,
			 const struct site *site, const struct course_found *found)
{
	const double seconds = (double)search->duration_ns / LIVE_COLUMNS / 1e9;
	const struct model_stack_sums *sums = &site->sums;

	str_add_iec(out, found->last.bytes);
	str_add(out, " in ");
	finding_add_counted(out, found->last.count, "block");
	str_add(out, " alive after ");
	str_add_duration(out, found->last_ns);
	if (found->first.bytes > 0) {
		str_add(out, ", and ");
		str_add_iec(out, found->first.bytes);
		str_add(out, " after ");
		str_add_duration(out, found->first_ns);
		str_add(out, ": ");
	} else {
		str_add(out, ", ");
	}
	str_add_iec(out, u64_of_double(found->growth.fit.slope / seconds));
	str_add(out, " more every second from ");
	str_add_duration(out, found->first_ns);
	str_add(out, " on (R² ");
	str_add_double(out, found->growth.fit.r2, 3);
	str_add(out, "); ");
	if (sums->leaked.count == 0 && !model_goes_on(search->model)) {
		str_add(out, "all of its ");
		finding_add_counted(out, sums->allocated.count, "allocation");
		str_add(out, " were freed in the end");
		return;
	}
	str_add_percent(out, sums->leaked.count, sums->allocated.count);
	str_add(out, " of its ");
	finding_add_counted(out, sums->allocated.count, "allocation");
	str_add(out, model_goes_on(search->model) ? " are not freed yet" : " were never freed");
}

/* What a program frees when it ends was kept by something until then. NULL: it is not known. */
static const char *advice_of(const struct finding_search *search, const struct site *site)
{
	const struct model_stack_sums *sums = &site->sums;

	if (!finding_has_ended(search))
		return NULL;
	if (finding_is_share(sums->leaked.count, sums->allocated.count, LEAK_PERCENT))
		return scan_last(search->model)
			       ? "Nothing freed them to the end: almost certainly a leak. `memtape "
				 "report` has leak-classes and holders, which tell what still "
				 "points "
				 "to them."
			       : "Nothing freed them to the end: almost certainly a leak. `memtape "
				 "record --leak-scan` tells what still points to them, or that "
				 "nothing does.";
	if (!finding_is_share(sums->leaked.count, sums->allocated.count, CACHE_PERCENT))
		return "They were freed, but late: a cache, a table or a queue kept them. Give it "
		       "a limit, or take out what is no longer needed.";
	return NULL;
}

static struct err *growth_add(struct finding_search *search, const struct finder *finder,
			      const struct site *site, const struct course_found *found)
{
	const char *at = finding_moment(search, found->last_ns);
	char *alive = at ? arena_printf(search->arena, "alive_at %s", at) : NULL;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = found->growth.grown,
		.count = found->last.count - found->first.count,
		.advice = advice_of(search, site),
		.stack = site->stacks[site->sums.leaked.bytes > 0 ? METRIC_LEAKED : METRIC_PEAK],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = alive ? finding_site_filter(search, site, alive) : NULL,
			  .metric = "live",
			  .at = at,
			  .sort = "size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	add_evidence(&evidence, search, site, found);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	uint32_t sites[CANDIDATES_MAX], *index_of = NULL;
	struct live_column *columns = NULL;
	size_t count = 0;
	struct err *err;

	if (search->duration_ns < FINDING_GROWTH_NS_MIN)
		return NULL;
	err = choose(search, &index_of, sites, &count);
	if (!err && count > 0)
		err = live_columns_find(search, index_of, count, &columns);
	for (size_t i = 0; !err && i < count; i++) {
		struct course_found found;

		if (follow(search, sites[i], columns + i * LIVE_COLUMNS, &found))
			err = growth_add(search, finder, &search->sites.items[sites[i]], &found);
	}
	return err;
}

const struct finder finder_growth = {
	.type = "growth",
	.title = "Live bytes grow all the time",
	.advice = "If nothing is to keep these blocks, free them where they are no longer needed; "
		  "if a table or a queue keeps them, give it a limit.",
	.what = "functions that grow all the time",
	.needs = FINDER_ROWS,
	.is_leading = true,
	.find = find,
};
