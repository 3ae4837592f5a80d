/*
 * /api/v1/reports: which reports there are.
 */
#include "http/call.h"
#include "report/report.h"

static void emit_sorts(struct emit *emit, const struct report *report)
{
	const char *const *words = report->question->sorts;

	if (!words) {
		emit_null(emit, "sorts");
		return;
	}
	emit_list(emit, "sorts");
	for (; *words; words++)
		emit_text(emit, NULL, *words);
	emit_end(emit);
}

static struct err *run(struct call *call)
{
	struct emit *emit = call->emit;

	emit_list(emit, "reports");
	for (const struct report *const *at = report_table; *at; at++) {
		const struct question *question = (*at)->question;
		CLEAN(str_deinit) struct str words = { 0 };
		const char *operands = report_operands(*at, &words);

		emit_object(emit, NULL);
		emit_text(emit, "name", question->name);
		emit_text(emit, "summary", question->summary);
		emit_text(emit, "depth", question->depth == MODEL_FULL ? "rows" : "sums");
		emit_bool(emit, "selects", question->selects);
		emit_text(emit, "operands", operands);
		emit_sorts(emit, *at);
		emit_end(emit);
	}
	emit_end(emit);
	return NULL;
}

const struct route route_api_reports = {
	.path = "/api/v1/reports",
	.summary = "which reports there are",
	.answer = "Reports",
	.run = run,
};
