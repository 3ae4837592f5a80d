#include "report/rank.h"

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;

	return rank_report(
		context, settings->has_sort ? (enum metric)settings->sort : METRIC_TEMPORARY, out);
}

const struct report report_temporary = {
	.name = "temporary",
	.summary = "what was freed at once, with stacks",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.run = run,
};
