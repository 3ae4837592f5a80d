/*
 * tiny: functions with so many small blocks at the peak that the allocator's bookkeeping is more
 * than what they hold.
 */
#include "query/finding.h"

enum {
	HEADER_BYTES = 8, /* a word beside each block, in glibc and most others */
	BLOCKS_MIN = FINDING_CALLS_MIN,
	/*
	 * Of what they hold: in glibc, blocks of up to 14 bytes. A list node of 16 is as much again
	 * and quite usual.
	 */
	OVERHEAD_PERCENT = 125
};

static uint64_t overhead_of(const struct model_sum *peak, const struct site_facts *facts)
{
	const uint64_t slack =
		facts->peak_usable > peak->bytes ? facts->peak_usable - peak->bytes : 0;

	return slack + peak->count * HEADER_BYTES;
}

static struct err *tell(struct finding_search *search, const struct finder *finder,
			const struct site *site, uint64_t overhead)
{
	const struct model_sum *peak = &site->sums.peak;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = overhead,
		.count = peak->count,
		.stack = site->stacks[METRIC_PEAK],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, "at_peak"),
			  .metric = "peak",
			  .sort = "peak_count" },
	};

	if (!finding.link.filter)
		return err_nomem();
	finding_add_counted(&evidence, peak->count, "block");
	str_add(&evidence, " alive at the peak hold ");
	str_add_iec(&evidence, peak->bytes);
	str_add(&evidence, ", ");
	str_add_ratio(&evidence, peak->bytes, u64_max(peak->count, 1), 1);
	str_add(&evidence, " bytes each, and take ");
	str_add_iec(&evidence, overhead);
	str_printf(&evidence, " more: what the allocator rounds up, and a header of %d bytes each",
		   HEADER_BYTES);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct err *err = NULL;

	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site *site = &search->sites.items[i];
		const struct model_sum *peak = &site->sums.peak;
		const uint64_t overhead = overhead_of(peak, &search->facts[i]);

		if (peak->count >= BLOCKS_MIN &&
		    finding_is_share(overhead, peak->bytes, OVERHEAD_PERCENT) &&
		    finding_is_worth(search, overhead))
			err = tell(search, finder, site, overhead);
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
