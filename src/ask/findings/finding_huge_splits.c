/*
 * huge_splits: functions whose huge pages (THP) are split into small ones: by the kernel's own events
 * (memtape trace thp-splits), or else as estimated from looks at the mappings.
 */
#include "findings/kernel_sites.h"
#include "space/fault_owners.h"
#include "space/huge_losses.h"
#include "sums/kernel_events.h"

enum {
	SPLITS_MIN = 32,   /* 64 MiB of memory, of huge pages of 2 MiB */
	LOST_PERCENT = 25, /* of an estimate: of what the mapping had in huge pages */
	SHARE_PERCENT = 5  /* of all splits */
};

/* --- the kernel's events --------------------------------------------------------------------- */

/* What is in blocks counts for these; the rest for who had it split. */
static struct err *splits_count(const struct finding_search *search,
				const struct fault_owners *owners, struct kernel_sites *sites)
{
	struct err *err = kernel_sites_create(search, sites);

	for (size_t i = 0; i < owners->count && !err; i++) {
		const struct owned_fault *split = &owners->faults[i];

		kernel_sites_add(search, sites,
				 split->row != MODEL_NO_ROW ? split->owner : split->stack,
				 split->ns, owners->event_bytes);
	}
	return err;
}

static struct err *splits_add(struct finding_search *search, const struct finder *finder,
			      const struct kernel_site *site, bool is_owned,
			      const struct fault_owners *owners)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = site->bytes,
		.count = site->count,
		.stack = site->stack,
		.link = { .page = "maps", .report = "trace" },
	};

	finding_add_counted(&evidence, site->count, "huge page");
	str_add(&evidence, is_owned ? " of its blocks (" : " that are in no block (");
	str_add_percent(&evidence, site->count, owners->count);
	str_add(&evidence, " of all that were split) became small ones, ");
	str_add_iec(&evidence, site->bytes);
	str_add(&evidence, ", by the kernel's count");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find_events(struct finding_search *search, const struct finder *finder)
{
	struct fault_owners owners;
	struct kernel_sites sites;
	struct err *err = fault_owners_find(search->model, TAPE_KERNEL_HUGE_SPLIT, 0, UINT64_MAX,
					    &search->limits, search->arena, &owners);

	if (!err)
		err = splits_count(search, &owners, &sites);
	for (size_t i = 0; !err && i <= sites.count; i++)
		if (sites.items[i].count >= SPLITS_MIN &&
		    finding_is_share(sites.items[i].count, owners.count, SHARE_PERCENT))
			err = splits_add(search, finder, &sites.items[i], i < sites.count, &owners);
	return err;
}

/* --- the estimate ---------------------------------------------------------------------------- */

static struct err *loss_add(struct finding_search *search, const struct finder *finder,
			    const struct huge_loss *loss)
{
	const struct range_owner *owner = &loss->owner;
	const uint32_t stack = range_owner_stack(owner);
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = loss->count * loss->page_bytes,
		.count = loss->count,
		.stack = stack != CAPTURE_STACK_NONE ? stack : FINDING_NO_STACK,
		.is_possible = true,
		.link = { .page = "maps", .report = "trace" },
	};

	str_add(&evidence, "at least ");
	finding_add_counted(&evidence, loss->count, "huge page");
	str_add(&evidence, " of a mapping ");
	if (owner->blocks > 0) {
		str_add(&evidence, "with ");
		finding_add_counted(&evidence, owner->blocks, "block");
		str_add(&evidence, " of it ");
	}
	str_add(&evidence, "that had ");
	str_add_iec(&evidence, loss->before_bytes);
	str_add(&evidence, " in huge pages became small ones between two looks (an estimate: the "
			   "kernel's own events were not traced)");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find_losses(struct finding_search *search, const struct finder *finder)
{
	struct huge_losses losses;
	struct err *err = huge_losses_find(search->model, 0, UINT64_MAX, search->arena, &losses);

	for (size_t i = 0; !err && i < losses.count; i++) {
		const struct huge_loss *loss = &losses.items[i];

		if (loss->count >= SPLITS_MIN && finding_is_share(loss->count * loss->page_bytes,
								  loss->before_bytes, LOST_PERCENT))
			err = loss_add(search, finder, loss);
	}
	return err;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	return kernel_events_exist(search->model, TAPE_KERNEL_HUGE_SPLIT)
		       ? find_events(search, finder)
		       : find_losses(search, finder);
}

const struct finder finder_huge_splits = {
	.type = "huge_splits",
	.title = "Huge pages are split",
	.advice =
		"Unmap, protect, advise (MADV_DONTNEED, MADV_FREE) and lock only whole huge "
		"pages, at addresses that are multiples of their size; keep memory that is given "
		"back in parts out of huge pages (MADV_NOHUGEPAGE). An allocator that purges: a "
		"longer decay, or its setting for huge pages (jemalloc: thp, metadata_thp; glibc: "
		"glibc.malloc.hugetlb).",
	.what = "huge pages that are split",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.is_apart = true,
	.find = find,
};
