#include "report/rank.h"

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;

	return rank_report(context, settings->has_sort ? settings->sort : METRIC_TEMPORARY, out);
}

const struct report report_temporary = { "temporary", "what was freed at once, with stacks",
					 MODEL_SUMMARY, run };
