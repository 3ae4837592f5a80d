/*
 * mapped_blocks: functions whose blocks are mapped one by one, because they are above the threshold
 * of the allocator, and are unmapped soon.
 */
#include "findings/kernel_sites.h"

enum {
	COUNT_MIN = 1000,   /* with unmapping, and a page fault at least: some milliseconds */
	RATE_MIN = 100,	    /* a second */
	FREED_PERCENT = 90, /* of what the function allocated */
	SHARE_PERCENT = 50  /* of its allocations are mapped: else it is not typical */
};

static uint64_t unmapped_count(const struct model *model)
{
	uint64_t count = 0;

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		count += note->type == TAPE_EXT_KERNEL && note->kernel.kind == TAPE_KERNEL_MUNMAP;
	}
	return count;
}

static bool is_mapped_anew(const struct kernel_site *mapped, const struct site *site)
{
	const struct model_stack_sums *sums = &site->sums;

	return mapped->count >= COUNT_MIN && kernel_site_rate(mapped) >= RATE_MIN &&
	       finding_is_share(mapped->count, sums->allocated.count, SHARE_PERCENT) &&
	       finding_is_share(sums->allocated.count - sums->leaked.count, sums->allocated.count,
				FREED_PERCENT);
}

static struct err *mapped_add(struct finding_search *search, const struct finder *finder,
			      const struct kernel_site *mapped, const struct site *site,
			      uint64_t unmapped)
{
	const struct model_sum *allocated = &site->sums.allocated;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = mapped->bytes,
		.count = mapped->count,
		.stack = mapped->stack,
		.link = { .page = "flame", .report = "trace", .metric = "mmap" },
	};

	str_add_grouped(&evidence, mapped->count);
	str_add(&evidence, " of its ");
	finding_add_counted(&evidence, allocated->count, "allocation");
	str_add(&evidence, ", of ");
	str_add_iec(&evidence, allocated->bytes / u64_max(allocated->count, 1));
	str_add(&evidence, " on average, each took an mmap of its own, ");
	kernel_site_add_rate(&evidence, mapped);
	str_add(&evidence, ", and ");
	str_add(&evidence, site->sums.leaked.count > 0 ? "all but " : "all");
	if (site->sums.leaked.count > 0)
		str_add_grouped(&evidence, site->sums.leaked.count);
	str_add(&evidence, " were freed");
	if (unmapped > 0) {
		str_add(&evidence, "; there were ");
		finding_add_counted(&evidence, unmapped, "munmap");
	}
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const uint64_t unmapped = unmapped_count(search->model);
	struct kernel_sites sites;
	struct err *err = kernel_sites_find(search, TAPE_KERNEL_MMAP, &sites);

	for (size_t i = 0; !err && i < sites.count; i++) {
		const struct site *site = &search->sites.items[i];

		if (is_mapped_anew(&sites.items[i], site))
			err = mapped_add(search, finder, &sites.items[i], site, unmapped);
	}
	return err;
}

const struct finder finder_mapped_blocks = {
	.type = "mapped_blocks",
	.title = "Large blocks are mapped and unmapped each time",
	.advice = "Keep one buffer and use it again; or have the allocator keep the memory: with "
		  "glibc M_MMAP_THRESHOLD and M_TRIM_THRESHOLD above their size (mallopt, "
		  "MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_).",
	.what = "large blocks that are mapped and unmapped",
	.is_passing = true,
	.is_apart = true,
	.find = find,
};
