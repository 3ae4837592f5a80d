/*
 * churn: functions that allocate blocks and free them before their thread's next allocation, often
 * enough to cost time.
 */
#include "findings/finding.h"
#include "groups/lifetimes.h"
#include "select/selection.h"

struct churn {
	uint32_t *index_of; /* by site */
	uint32_t sites[FINDINGS_MAX];
	size_t count;
};

static bool is_churn(const struct finding_search *search, const struct site *site)
{
	const struct model_stack_sums *sums = &site->sums;

	return finding_calls_are_worth(sums->temporary.count, search->totals->allocated.count) &&
	       finding_is_share(sums->temporary.count, sums->allocated.count,
				FINDING_CHURN_PERCENT) &&
	       finding_rate(search, (size_t)(site - search->sites.items), sums->temporary.count) >=
		       FINDING_RATE_MIN;
}

static struct err *choose(const struct finding_search *search, struct churn *churn)
{
	const struct site *const *ranked;
	size_t count;
	struct err *err = sites_rank(&search->sites, METRIC_TEMPORARY, FINDINGS_MAX, search->arena,
				     &ranked, &count);

	churn->index_of = arena_array(search->arena, search->sites.count, sizeof(uint32_t));
	if (err || !churn->index_of)
		return err ? err : err_nomem();
	memset(churn->index_of, 0xff, search->sites.count * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		const uint32_t site = (uint32_t)(ranked[i] - search->sites.items);

		if (!is_churn(search, ranked[i]))
			continue;
		churn->index_of[site] = (uint32_t)churn->count;
		churn->sites[churn->count++] = site;
	}
	return NULL;
}

/* Lifetimes of the temporary ones. */
static struct err *find_lifetimes(const struct finding_search *search, const struct churn *churn,
				  struct lifetimes **lifetimes_ret)
{
	const struct selection_settings settings = { .filter = "temporary",
						     .thread_count = search->limits.thread_count,
						     .cancel = search->limits.cancel };
	const struct selection *selection;
	struct err *err =
		selection_make(search->model, search->names, &settings, search->arena, &selection);

	return err ? err
		   : lifetimes_by_site(&search->sites, churn->index_of, churn->count, selection,
				       search->arena, lifetimes_ret);
}

static struct err *churn_add(struct finding_search *search, const struct finder *finder,
			     uint32_t at, const struct lifetimes *lifetimes)
{
	const struct site *site = &search->sites.items[at];
	const struct model_stack_sums *sums = &site->sums;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = sums->temporary.bytes,
		.count = sums->temporary.count,
		.stack = site->stacks[METRIC_TEMPORARY],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, "temporary"),
			  .metric = "temporary",
			  .sort = "temporary_count" },
	};

	if (!finding.link.filter)
		return err_nomem();
	str_add_grouped(&evidence, sums->temporary.count);
	str_add(&evidence, " of its ");
	finding_add_counted(&evidence, sums->allocated.count, "allocation");
	str_add(&evidence, " (");
	str_add_percent(&evidence, sums->temporary.count, search->totals->allocated.count);
	str_add(&evidence,
		" of all there are) were freed before the same thread allocated again, ");
	str_add_grouped(&evidence, finding_rate(search, at, sums->temporary.count));
	str_add(&evidence, " a second; half of them lived at most ");
	str_add_duration(&evidence, spread_percentile(&lifetimes->spread, 500));
	str_add(&evidence, ", ");
	str_add_iec(&evidence, sums->temporary.bytes / u64_max(sums->temporary.count, 1));
	str_add(&evidence, " each on average");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct churn churn = { 0 };
	struct lifetimes *lifetimes = NULL;
	struct err *err = choose(search, &churn);

	if (!err && churn.count > 0)
		err = find_lifetimes(search, &churn, &lifetimes);
	for (size_t i = 0; !err && i < churn.count; i++)
		err = churn_add(search, finder, churn.sites[i], &lifetimes[i]);
	return err;
}

const struct finder finder_churn = {
	.type = "churn",
	.title = "Short-lived allocations (churn)",
	.advice =
		"Keep one buffer and use it again, or a variable on the stack where the size has a "
		"small limit.",
	.what = "blocks that are freed at once",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.better = "per_call",
	.find = find,
};
