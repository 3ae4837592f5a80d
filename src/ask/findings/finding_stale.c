/*
 * stale: large amounts of live memory that were not touched during the second half of the time in
 * which they were watched, and longer than a few looks.
 */
#include "findings/finding.h"
#include "groups/stale.h"

enum { PERCENT_MIN = 50 /* of the site's live bytes */, LOOKS_MIN = 3 };

static struct err *stale_add(struct finding_search *search, const struct finder *finder,
			     const struct stale_wanted *wanted, const struct site *site,
			     const struct stale_group *found)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = found->sums.stale,
		.count = found->sums.stale_blocks,
		.stack = site->stacks[METRIC_PEAK],
		.link = { .page = "sites",
			  .report = "stale",
			  .filter = finding_site_filter(search, site, NULL),
			  .at = finding_moment(search, wanted->ns),
			  .idle = finding_moment(search, wanted->idle_ns) },
	};

	if (!finding.link.filter || !finding.link.at || !finding.link.idle)
		return err_nomem();
	str_add_iec(&evidence, found->sums.stale);
	str_add(&evidence, " of the ");
	str_add_iec(&evidence, found->sums.bytes);
	str_add(&evidence, " in ");
	finding_add_counted(&evidence, found->sums.blocks, "block");
	str_add(&evidence, " that were alive after ");
	str_add_duration(&evidence, wanted->ns);
	str_printf(&evidence, " had not been %s for ", wanted->touches->words->done);
	str_add_duration(&evidence, wanted->idle_ns);
	str_printf(&evidence, " or longer; %s", wanted->touches->words->precision);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *look_at(struct finding_search *search, const struct finder *finder,
			   const struct stale_wanted *wanted)
{
	struct stale_found found;
	struct err *err = stale_find(wanted, search->model, search->arena, &found);

	for (size_t i = 0; !err && i < search->sites.count; i++) {
		const struct stale_sums *sums = &found.groups[i].sums;

		if (sums->stale >= FINDING_LARGE_MIN && finding_is_worth(search, sums->stale) &&
		    finding_is_share(sums->stale, sums->bytes, PERCENT_MIN))
			err = stale_add(search, finder, wanted, &search->sites.items[i],
					&found.groups[i]);
	}
	return err;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(touches_deinit) struct touches touches = { 0 };
	CLEAN(touches_state_deinit) struct touches_state state = { 0 };
	struct stale_wanted wanted = { .group_of = search->sites.site_of,
				       .group_count = search->sites.count,
				       .touches = &touches,
				       .state = &state,
				       .limits = &search->limits };
	struct err *err = touches_find(search->model, &touches);
	size_t look;

	if (err || touches.looks.count == 0)
		return err;
	look = stale_look(&touches);
	wanted.ns = touches.looks.items[look].ns;
	wanted.idle_ns = (wanted.ns - u64_min(touches.first_ns, wanted.ns)) / 2;
	if (look < LOOKS_MIN || wanted.idle_ns / LOOKS_MIN < touches.period_ns)
		return NULL;
	err = touches_advance(&touches, look, &state);
	return err ? err : look_at(search, finder, &wanted);
}

const struct finder finder_stale = {
	.type = "stale",
	.title = "Memory is alive and not used",
	.advice =
		"Nobody has used it for half of the time: free it earlier, or build it when it is "
		"needed. If only writes were seen, a table or a cache may be right as it is.",
	.what = "memory that is alive and not used",
	.needs = FINDER_ROWS,
	.find = find,
};
