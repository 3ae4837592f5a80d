/*
 * shortage: the system was short of memory while it was recorded, by the verdicts of `memtape triage`:
 * no fault of a function, but it explains others' numbers, and a kill.
 */
#include "findings/finding.h"
#include "verdict/shortage.h"

/* What could have been taken from the program. */
static uint64_t most_resident(const struct model *model)
{
	uint64_t most = 0;

	for (size_t i = 0; i < model_usage_count(model); i++)
		if (model_usages(model)[i].usage.rss_bytes != UINT64_MAX)
			most = u64_max(most, model_usages(model)[i].usage.rss_bytes);
	return most;
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	struct finding finding = {
		.bytes = most_resident(search->model),
		.count = FIELD_NONE,
		.stack = FINDING_NO_STACK,
		.link = { .page = "maps", .report = "usage" },
	};
	struct shortages shortages;
	struct err *err = shortages_find(search->model, search->arena, &shortages);

	if (err || shortages.level < VERDICT_WARNING)
		return err;
	/* A warning comes last: it is about others' memory, too. */
	finding.rank = shortages.level == VERDICT_CRITICAL ? UINT64_MAX >> 1 : 1;
	finding.title = arena_printf(search->arena, "%s was short of memory",
				     shortages_subject(&shortages));
	if (!finding.title)
		return err_nomem();
	shortages_add_words(&shortages, &evidence);
	return finding_add(search, finder, finding, &evidence);
}

const struct finder finder_shortage = {
	.type = "shortage",
	.title = "The system was short of memory",
	.advice =
		"What is resident can be less than what the program uses, for pages may have been "
		"swapped out or dropped. Look at the machine with `memtape triage`, give it or the "
		"cgroup more memory, or let the program use less.",
	.what = "times in which the system was short of memory",
	.needs = FINDER_SYSTEM,
	.find = find,
};
