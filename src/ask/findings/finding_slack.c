/*
 * slack: functions whose blocks are much larger than requested, because the allocator rounds up.
 * Blocks of a few bytes are for finding_tiny.c.
 */
#include "findings/finding.h"

enum {
	SLACK_PERCENT = 20, /* of the requested bytes; size classes are designed to stay below */
	SIZE_MIN = 64	    /* bytes, on average */
};

static struct err *slack_add(struct finding_search *search, const struct finder *finder,
			     const struct site *site, uint64_t slack)
{
	const struct model_sum *peak = &site->sums.peak;
	CLEAN(str_deinit) struct str evidence = { 0 };

	finding_add_counted(&evidence, peak->count, "block");
	str_add(&evidence, " alive at the peak requested ");
	str_add_iec(&evidence, peak->bytes);
	str_add(&evidence, " and have ");
	str_add_iec(&evidence, peak->bytes + slack);
	str_add(&evidence, ", ");
	str_add_percent(&evidence, slack, peak->bytes);
	str_add(&evidence, " more: ");
	str_add_iec(&evidence, slack / u64_max(peak->count, 1));
	str_add(&evidence, " of each block of ");
	str_add_iec(&evidence, peak->bytes / u64_max(peak->count, 1));
	str_add(&evidence, " on average");
	return finding_add_at_peak(search, finder, site, slack, "wasted", "usable_size", &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct err *err = NULL;

	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site *site = &search->sites.items[i];
		const struct model_sum *peak = &site->sums.peak;
		const uint64_t slack = finding_slack_at_peak(search, site);

		if (finding_is_worth(search, slack) && peak->bytes / SIZE_MIN >= peak->count &&
		    finding_is_share(slack, peak->bytes, SLACK_PERCENT))
			err = slack_add(search, finder, site, slack);
	}
	return err;
}

const struct finder finder_slack = {
	.type = "slack",
	.title = "Blocks are much larger than requested",
	.advice =
		"Ask for sizes that the allocator has - a power of two less its header, a multiple "
		"of a page -, or take many of them from one larger block.",
	.what = "blocks that are larger than requested",
	.needs = FINDER_ROWS,
	.find = find,
};
