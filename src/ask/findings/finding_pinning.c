/*
 * pinning: few live blocks, far apart, keep heap pages resident that are otherwise empty. An
 * allocator's headers leave part of every page unused, but never twice the size of the blocks.
 */
#include "findings/finding.h"
#include "space/space_waste.h"

enum {
	HEAP_PERCENT = 10, /* of the resident heap */
	UNUSED_FACTOR = 2  /* times the blocks' bytes */
};

static bool is_pinning(const struct finding_search *search, const struct space_waste *waste,
		       const struct model_stack_sums *sums)
{
	const uint64_t unused = sums->peak.bytes;
	const uint64_t usable = sums->allocated.bytes + sums->temporary.bytes;

	return finding_is_worth(search, unused) && unused / UNUSED_FACTOR >= usable &&
	       finding_is_share(unused, waste->resident, HEAP_PERCENT);
}

static struct err *pinning_add(struct finding_search *search, const struct finder *finder,
			       const struct space_waste *waste, const struct site *site)
{
	const struct model_stack_sums *sums = &site->sums; /* with the meanings of space_waste.h */
	const char *at = finding_moment(search, waste->ns);
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = sums->peak.bytes,
		.count = sums->peak.count,
		.stack = site->stacks[METRIC_PEAK],
		.link = { .page = "space", .report = "fragmentation", .at = at, .sort = "unused" },
	};

	if (!at)
		return err_nomem();
	finding_add_counted(&evidence, sums->peak.count, "block");
	str_add(&evidence, " of together ");
	str_add_iec(&evidence, sums->allocated.bytes);
	str_add(&evidence, " kept pages of which ");
	str_add_iec(&evidence, sums->peak.bytes);
	str_add(&evidence, " were unused, ");
	str_add_percent(&evidence, sums->peak.bytes, waste->resident);
	str_add(&evidence, " of the resident heap after ");
	str_add_duration(&evidence, waste->ns);
	str_add(&evidence, "; ");
	finding_add_counted(&evidence, sums->leaked.count, "page");
	str_add(&evidence, sums->leaked.count == 1 ? " was" : " were");
	str_add(&evidence, " kept by one block alone");
	if (!waste->is_exact)
		str_add(&evidence, FINDING_INEXACT);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(space_waste_deinit) struct space_waste waste = { 0 };
	CLEAN(space_destroy) struct space *space = NULL;
	struct sites sites = { 0 };
	struct err *err;

	if (search->rss.samples.count == 0)
		return NULL;
	err = space_create(search->model, &space);
	if (!err)
		space_follow_marks(space, &search->rss.marks);
	if (!err)
		err = space_waste_find(search->model, space,
				       search->rss.samples.items[search->rss.most_free].ns,
				       search->arena, &waste);
	if (!err)
		err = sites_find(&waste.sums, search->names, search->mode, search->arena, &sites);
	for (size_t i = 0; !err && i < sites.count; i++)
		if (is_pinning(search, &waste, &sites.items[i].sums))
			err = pinning_add(search, finder, &waste, &sites.items[i]);
	return err;
}

const struct finder finder_pinning = {
	.type = "pinning",
	.title = "A few blocks keep pages that are otherwise empty",
	.advice =
		"Allocate what lives long before or apart from what lives short, in a pool of its "
		"own, so that it lies together.",
	.what = "blocks that pin pages",
	.needs = FINDER_SPACE,
	.find = find,
};
