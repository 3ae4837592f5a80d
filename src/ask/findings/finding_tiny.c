/*
 * tiny: functions with so many small blocks at the peak that the allocator's bookkeeping exceeds
 * their contents.
 */
#include "findings/finding.h"

enum {
	HEADER_BYTES = 8, /* a word beside each block, in glibc and most others */
	BLOCKS_MIN = FINDING_CALLS_MIN,
	/*
	 * Of the contents: in glibc, blocks up to 14 bytes. A 16-byte list node has 100 % overhead
	 * and is common.
	 */
	OVERHEAD_PERCENT = 125
};

static uint64_t overhead_of(const struct finding_search *search, const struct site *site)
{
	return finding_slack_at_peak(search, site) + site->sums.peak.count * HEADER_BYTES;
}

static struct err *tiny_add(struct finding_search *search, const struct finder *finder,
			    const struct site *site, uint64_t overhead)
{
	const struct model_sum *peak = &site->sums.peak;
	CLEAN(str_deinit) struct str evidence = { 0 };

	finding_add_counted(&evidence, peak->count, "block");
	str_add(&evidence, " alive at the peak hold ");
	str_add_iec(&evidence, peak->bytes);
	str_add(&evidence, ", ");
	str_add_ratio(&evidence, peak->bytes, u64_max(peak->count, 1), 1);
	str_add(&evidence, " bytes each, and take ");
	str_add_iec(&evidence, overhead);
	str_printf(&evidence, " more: what the allocator rounds up, and a header of %d bytes each",
		   HEADER_BYTES);
	return finding_add_at_peak(search, finder, site, overhead, "peak", "peak_count", &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct err *err = NULL;

	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site *site = &search->sites.items[i];
		const struct model_sum *peak = &site->sums.peak;
		const uint64_t overhead = overhead_of(search, site);

		if (peak->count >= BLOCKS_MIN &&
		    finding_is_share(overhead, peak->bytes, OVERHEAD_PERCENT) &&
		    finding_is_worth(search, overhead))
			err = tiny_add(search, finder, site, overhead);
	}
	return err;
}

const struct finder finder_tiny = {
	.type = "tiny",
	.title = "Many tiny blocks cost more than they hold",
	.advice = "Keep such values inside of what points to them, or many of them in one array.",
	.what = "tiny blocks",
	.needs = FINDER_ROWS,
	.find = find,
};
