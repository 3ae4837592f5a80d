/*
 * foreign_free: functions whose blocks another thread frees, often enough to defeat the allocator's
 * per-thread caches and contend for its locks.
 */
#include "findings/finding.h"

enum { FOREIGN_PERCENT = 50 /* of its frees: else it is not typical of the blocks */ };

static uint64_t freed_count(const struct finding_search *search)
{
	uint64_t count = 0;

	for (size_t i = 0; i < search->sites.count; i++)
		count += search->facts[i].freed_count;
	return count;
}

static struct err *foreign_free_add(struct finding_search *search, const struct finder *finder,
				    size_t at, uint64_t all)
{
	const struct site *site = &search->sites.items[at];
	const struct site_facts *facts = &search->facts[at];
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = facts->foreign.bytes,
		.count = facts->foreign.count,
		.stack = site->stacks[METRIC_COUNT],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, "foreign_free"),
			  .metric = "count",
			  .sort = "allocated_count" },
	};

	if (!finding.link.filter)
		return err_nomem();
	str_add_grouped(&evidence, facts->foreign.count);
	str_add(&evidence, " of the ");
	finding_add_counted(&evidence, facts->freed_count, "block");
	str_add(&evidence, " that were freed (");
	str_add_percent(&evidence, facts->foreign.count, facts->freed_count);
	str_add(&evidence, ") were freed by another thread than had allocated them, ");
	str_add_percent(&evidence, facts->foreign.count, all);
	str_add(&evidence, " of all frees of the program");
	return finding_add(search, finder, finding, &evidence);
}

/* From before the process was attached to: nobody knows which thread had allocated them. */
static bool is_nobodys(const struct finding_search *search, const struct site *site)
{
	return site->name == NAME_NO_STACK &&
	       model_process(search->model)->flags & TAPE_FLAG_ATTACHED;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const uint64_t all = freed_count(search);
	struct err *err = NULL;

	for (size_t i = 0; i < search->sites.count && !err; i++) {
		const struct site_facts *facts = &search->facts[i];

		if (!is_nobodys(search, &search->sites.items[i]) &&
		    finding_calls_are_worth(facts->foreign.count, all) &&
		    finding_is_share(facts->foreign.count, facts->freed_count, FOREIGN_PERCENT))
			err = foreign_free_add(search, finder, i, all);
	}
	return err;
}

const struct finder finder_foreign_free = {
	.type = "foreign_free",
	.title = "Blocks are freed by another thread than allocated them",
	.advice = "Hand the blocks back to the thread that made them, or pass them on in batches; "
		  "`memtape report TAPE threads` says who frees whose.",
	.what = "blocks that another thread frees",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.find = find,
};
