#include "report/rank.h"

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;

	return rank_report(context,
			   settings->has_sort ? (enum metric)settings->sort : METRIC_LEAKED, out);
}

const struct report report_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with stacks",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.run = run,
};
