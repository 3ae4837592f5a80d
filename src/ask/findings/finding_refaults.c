/*
 * refaults: functions in whose blocks the same pages fault again and again: mostly because the memory
 * is given back to the kernel in between.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "findings/kernel_sites.h"
#include "space/fault_owners.h"

enum {
	USUAL = 2,	   /* faults of a page that stays: it was read first, and written to then */
	SHARE_PERCENT = 5, /* of all faults */
	RATE_MIN = 100	   /* a second */
};

/* After each the pages of the parent fault once more, when they are written to. */
static uint64_t fork_count(const struct model *model)
{
	uint64_t count = 0;

	for (size_t i = 0; i < model_note_count(model); i++)
		count += model_notes(model)[i].type == TAPE_EXT_FORK;
	return count;
}

/* Faults by page and, of a page, in the order of time: those beyond the usual ones are counted. */
static struct err *refaults_count(const struct finding_search *search,
				  const struct fault_owners *owners, struct kernel_sites *sites)
{
	const uint64_t page_bytes = u64_max(model_process(search->model)->page_bytes, 1);
	CLEAN(free) struct sort_pair *pages = malloc((owners->count + 1) * sizeof(*pages));
	CLEAN(free) uint8_t *is_again = calloc(owners->count + 1, 1);
	const uint64_t usual = USUAL + fork_count(search->model);
	uint64_t seen = 0;

	if (!pages || !is_again)
		return err_nomem();
	for (size_t i = 0; i < owners->count; i++)
		pages[i] =
			(struct sort_pair) { owners->faults[i].address / page_bytes, (uint32_t)i };
	if (!sort_pairs(pages, owners->count))
		return err_nomem();
	for (size_t i = 0; i < owners->count; i++) {
		seen = i > 0 && pages[i].key == pages[i - 1].key ? seen + 1 : 1;
		is_again[pages[i].index] = seen > usual;
	}
	for (size_t i = 0; i < owners->count; i++) {
		const struct owned_fault *fault = &owners->faults[i];

		if (is_again[i] && fault->row != MODEL_NO_ROW)
			kernel_sites_add(search, sites, fault->owner, fault->ns, page_bytes);
	}
	return NULL;
}

static struct err *refaults_add(struct finding_search *search, const struct finder *finder,
				const struct kernel_site *site, uint64_t fault_count)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = site->bytes,
		.count = site->count,
		.stack = site->stack,
		.link = { .page = "flame", .report = "trace", .metric = "owned_faults" },
	};

	finding_add_counted(&evidence, site->count, "page fault");
	str_add(&evidence, " in its blocks (");
	str_add_percent(&evidence, site->count, fault_count);
	str_add(&evidence, " of all there are) were of pages that had faulted twice before, ");
	kernel_site_add_rate(&evidence, site);
	str_add(&evidence, ": ");
	str_add_iec(&evidence, site->bytes);
	str_add(&evidence, " that the kernel handed out again");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	struct kernel_sites sites;
	struct fault_owners owners;
	struct err *err;

	if (!fault_owners_exist(search->model, TAPE_KERNEL_FAULT))
		return NULL;
	err = fault_owners_find(search->model, TAPE_KERNEL_FAULT, 0, UINT64_MAX, &search->limits,
				search->arena, &owners);
	if (!err)
		err = kernel_sites_create(search, &sites);
	if (!err)
		err = refaults_count(search, &owners, &sites);
	for (size_t i = 0; !err && i < sites.count; i++) {
		const struct kernel_site *site = &sites.items[i];

		if (site->count >= FINDING_CALLS_MIN &&
		    finding_is_share(site->count, owners.count, SHARE_PERCENT) &&
		    kernel_site_rate(site) >= RATE_MIN)
			err = refaults_add(search, finder, site, owners.count);
	}
	return err;
}

const struct finder finder_refaults = {
	.type = "refaults",
	.title = "The same pages fault again and again",
	.advice = "If the memory is given back to the kernel in between, keep it: use the buffer "
		  "again, or have the allocator keep it (glibc: "
		  "M_TRIM_THRESHOLD and M_MMAP_THRESHOLD above what goes back and forth; others: a "
		  "longer decay).",
	.what = "pages that fault again and again",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.is_apart = true,
	.find = find,
};
