#include "report/rank.h"

/* What is known and meant is counted, and not shown. */
static struct err *run(const struct report_context *whole, FILE *out)
{
	const struct report_settings *settings = whole->settings;
	struct report_context context;
	struct err *err = rank_without_known(whole, &context);

	if (err)
		return err;
	return rank_report(&context,
			   settings->has_sort ? (enum metric)settings->sort : METRIC_LEAKED, out);
}

/* A list of rules is looked at before the tape is. */
static struct err *check(const struct report_settings *settings)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct suppressions rules;

	return settings->suppressions || settings->suppression_text
		       ? report_suppressions(settings, &arena, &rules)
		       : NULL;
}

const struct report report_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with stacks",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.check = check,
	.run = run,
};
