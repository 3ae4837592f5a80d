/*
 * realloc: blocks that grow in small steps, so that their contents are copied again and again. A
 * block that doubles copies its final size about once; one that grows by 1.125, eight times.
 */
#include "findings/finding.h"

enum {
	COPIED_SHARE = 50, /* 2 % of all copied bytes */
	COPIES_MIN = 9,	   /* times the final size: more than any growth factor in use */
	STEPS_MIN = 16	   /* in its longest chain */
};

static bool is_wasteful(const struct realloc_sums *sums, const struct realloc_sums *all)
{
	const struct realloc_chain *heaviest = &sums->heaviest;

	return sums->copied_bytes >= FINDING_LARGE_MIN &&
	       sums->copied_bytes >= all->copied_bytes / COPIED_SHARE &&
	       sums->longest >= STEPS_MIN &&
	       (sums->constant_chains > 0 ||
		heaviest->copied_bytes / COPIES_MIN >= heaviest->max_bytes);
}

static void add_step(struct str *out, const struct realloc_chain *chain)
{
	str_add_iec(out, chain->increment_min);
	if (chain->increment_max != chain->increment_min) {
		str_add(out, " to ");
		str_add_iec(out, chain->increment_max);
	}
	str_add(out, " at a time");
}

static void add_evidence(struct str *out, const struct realloc_sums *sums)
{
	const struct realloc_chain *chain = &sums->heaviest;

	str_add_iec(out, sums->copied_bytes);
	str_add(out, " copied (an estimate: by the steps that moved) in ");
	finding_add_counted(out, sums->steps, "realloc");
	str_add(out, " of ");
	finding_add_counted(out, sums->chains, "block");
	str_add(out, "; one grew from ");
	str_add_iec(out, chain->first_bytes);
	str_add(out, " to ");
	str_add_iec(out, chain->max_bytes);
	str_add(out, " in ");
	finding_add_counted(out, chain->steps, "step");
	if (chain->grown > 0) {
		str_add(out, ", ");
		add_step(out, chain);
	}
	str_add(out, ", ");
	str_add_ratio(out, chain->copied_bytes, u64_max(chain->max_bytes, 1), 1);
	str_add(out, " times its size was copied");
}

static struct err *realloc_add(struct finding_search *search, const struct finder *finder,
			       const struct site *site, const struct realloc_sums *sums)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = sums->copied_bytes,
		.count = sums->steps,
		.stack = sums->heaviest.stack,
		.link = { .page = "allocations",
			  .report = "reallocs",
			  .filter = finding_site_filter(search, site,
							"chain_length > 1 and not reallocated") },
	};

	if (!finding.link.filter)
		return err_nomem();
	add_evidence(&evidence, sums);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct sites *sites = &search->sites;
	struct realloc_sums *by_site = arena_array(search->arena, sites->count, sizeof(*by_site));
	const struct reallocs *reallocs = &search->reallocs;
	struct err *err = NULL;

	if (!by_site)
		return err_nomem();
	if (!reallocs->stacks) /* NULL if there are no rows */
		return NULL;
	for (size_t i = 0; i < model_stack_count(search->model); i++)
		if (reallocs->stacks[i].chains > 0 && sites->site_of[i] != UINT32_MAX)
			realloc_sums_add(&by_site[sites->site_of[i]], &reallocs->stacks[i]);
	for (size_t i = 0; i < sites->count && !err; i++)
		if (is_wasteful(&by_site[i], &reallocs->total))
			err = realloc_add(search, finder, &sites->items[i], &by_site[i]);
	return err;
}

const struct finder finder_realloc = {
	.type = "realloc",
	.title = "A block grows in many small steps and is copied again and again",
	.advice =
		"Let it grow by a factor, such as 1.5, or ask for the final size at once where it "
		"is known.",
	.what = "blocks that are copied while they grow",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.find = find,
};
