/*
 * never_freed: functions that kept many blocks until the program ended by itself: those that are lost
 * according to a leak scan; without one, of a run that is too short to tell growth from a cache, all.
 */
#include <string.h>

#include "base/number.h"
#include "findings/finding.h"
#include "model/import.h"
#include "sums/scans.h"

enum {
	BLOCKS_MIN = 16, /* more than some containers, as of growth */
	PEAK_PERCENT = 10,
	KEPT_PERCENT = 10, /* of its allocations: less is what an end leaves of many */
	WEIGHT = 4	   /* many programs end without freeing what they need to the end */
};

/* What grows says so itself. */
static bool is_growing(const struct finding_search *search, size_t site)
{
	for (size_t i = 0; i < search->found.count; i++) {
		const struct cause_part *part = &search->found.items[i];

		if (strcmp(part->finder->type, "growth") == 0 &&
		    part->finding.stack != FINDING_NO_STACK &&
		    search->sites.site_of[part->finding.stack] == site)
			return true;
	}
	return false;
}

static bool is_found(const struct finding_search *search, size_t site, const struct model_sum *kept)
{
	const struct model_stack_sums *sums = &search->sites.items[site].sums;

	return kept->count >= BLOCKS_MIN && finding_is_worth(search, kept->bytes) &&
	       finding_is_share(kept->bytes, search->totals->peak.bytes, PEAK_PERCENT) &&
	       finding_is_share(kept->count, sums->allocated.count, KEPT_PERCENT) &&
	       !is_growing(search, site);
}

/* What a scan found no pointer to, by site; NULL: no memory. */
static struct model_sum *lost_by_site(const struct finding_search *search,
				      const struct model_scan *scan)
{
	struct model_sum *lost = arena_array(search->arena, search->sites.count + 1, sizeof(*lost));

	for (uint64_t i = 0; lost && i < scan->block_count; i++) {
		const struct model_scan_block *block = &scan->blocks[i];
		const uint32_t site = search->sites.site_of[block->stack];

		if ((block->class != TAPE_SCAN_DEFINITE && block->class != TAPE_SCAN_INDIRECT) ||
		    site == UINT32_MAX || suppressed_has(search->suppressed, block->stack))
			continue;
		lost[site].bytes += block->size_bytes;
		lost[site].count++;
	}
	return lost;
}

static struct err *add(struct finding_search *search, const struct finder *finder,
		       const struct site *site, const struct model_sum *kept, bool is_lost)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.title = is_lost ? "Blocks were lost: nothing points to them" : NULL,
		.advice = is_lost ? "Free them before the last pointer to them goes." : NULL,
		.bytes = kept->bytes,
		.count = kept->count,
		.rank = is_lost ? kept->bytes : kept->bytes / WEIGHT,
		.stack = site->stacks[METRIC_LEAKED],
		.link = { .page = is_lost ? "leaks" : "sites",
			  .report = is_lost ? "leak-classes" : "groups",
			  .filter = finding_site_filter(search, site, "leaked"),
			  .metric = "leaked",
			  .sort = is_lost ? NULL : "leaked_size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	str_add_iec(&evidence, kept->bytes);
	str_add(&evidence, " in ");
	finding_add_counted(&evidence, kept->count, "block");
	if (is_lost)
		str_add(&evidence, " to which no pointer was left");
	str_add(&evidence, ", ");
	str_add_percent(&evidence, kept->bytes, search->totals->peak.bytes);
	str_add(&evidence, " of the peak: ");
	str_add_percent(&evidence, kept->count, site->sums.allocated.count);
	str_add(&evidence, " of its ");
	finding_add_counted(&evidence, site->sums.allocated.count, "allocation");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct model_scan *scan = scan_last(search->model);
	const bool is_scanned = scan && !scan->trouble[0];
	const struct model_sum *lost = is_scanned ? lost_by_site(search, scan) : NULL;
	struct err *err = is_scanned && !lost ? err_nomem() : NULL;

	if (err || !finding_has_ended(search) ||
	    (!lost && search->duration_ns >= FINDING_GROWTH_NS_MIN))
		return err;
	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site *site = &search->sites.items[i];
		const struct model_sum *kept = lost ? &lost[i] : &site->sums.leaked;

		if (is_found(search, i, kept))
			err = add(search, finder, site, kept, lost);
	}
	return err;
}

const struct finder finder_never_freed = {
	.type = "never_freed",
	.title = "Blocks were never freed",
	.advice =
		"Free them where they are no longer needed, or suppress what is needed to the end "
		"(--suppressions FILE). `memtape record --leak-scan` tells what no pointer leads "
		"to.",
	.what = "blocks that were never freed",
	.needs = FINDER_ROWS,
	.find = find,
};
