/* huge: a single block that is a large part of the peak. */
#include "findings/finding.h"

enum { PEAK_PERCENT = 25 /* of the peak: without the block there would be another peak */ };

static struct err *huge_add(struct finding_search *search, const struct finder *finder,
			    const struct site *site, const struct site_facts *facts)
{
	const struct model_totals *totals = search->totals;
	char *which = arena_printf(search->arena, "size = %" PRIu64 " and at_peak", facts->largest);
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = facts->largest,
		.count = 1,
		.stack = facts->largest_stack,
		.link = { .page = "allocations",
			  .report = "allocations",
			  .filter = which ? finding_site_filter(search, site, which) : NULL,
			  .sort = "size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	str_add(&evidence, "One block of ");
	str_add_iec(&evidence, facts->largest);
	str_add(&evidence, " is ");
	str_add_percent(&evidence, facts->largest, totals->peak.bytes);
	str_add(&evidence, " of the peak of ");
	str_add_iec(&evidence, totals->peak.bytes);
	str_add(&evidence, " after ");
	str_add_duration(&evidence, totals->peak_ns);
	str_add(&evidence, ", which has ");
	finding_add_counted(&evidence, totals->peak.count, "block");
	return finding_add(search, finder, finding, &evidence);
}

/* Whether a spike finding already reports the block. */
static bool is_told(const struct finding_search *search, const struct site *site, uint64_t bytes)
{
	for (size_t i = 0; i < search->found.count; i++) {
		const struct finding *finding = &search->found.items[i].finding;

		if (strcmp(finding->type, "spike") == 0 && finding->bytes == bytes &&
		    finding->stack != FINDING_NO_STACK &&
		    &search->sites.items[search->sites.site_of[finding->stack]] == site)
			return true;
	}
	return false;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct err *err = NULL;

	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site_facts *facts = &search->facts[i];
		const struct site *site = &search->sites.items[i];

		if (facts->largest >= FINDING_LARGE_MIN &&
		    finding_is_share(facts->largest, search->totals->peak.bytes, PEAK_PERCENT) &&
		    !is_told(search, site, facts->largest))
			err = huge_add(search, finder, site, facts);
	}
	return err;
}

const struct finder finder_huge = {
	.type = "huge",
	.title = "One block is a large part of the peak",
	.advice =
		"Look whether all of it is needed at once: work on parts of it, map the file it is "
		"read from, or free it before others are made.",
	.what = "huge blocks",
	.needs = FINDER_ROWS,
	.find = find,
};
