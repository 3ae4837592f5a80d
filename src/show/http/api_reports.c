/*
 * /api/v1/reports: the list of reports.
 */
#include "http/call.h"
#include "report/report.h"

struct report_row {
	const char *name, *summary, *depth;
	bool selects;
	const char *operands;
	struct shape_texts sorts;
};

struct reports {
	struct shape_rows reports;
};

static const char *const depth_words[] = { "sums", "rows", NULL };

static const struct member report_members[] = {
	MEMBER(struct report_row, name, TEXT, NULL),
	MEMBER(struct report_row, summary, TEXT, "one line"),
	MEMBER(struct report_row, depth, TEXT, "whether it needs every allocation",
	       .words = depth_words),
	MEMBER(struct report_row, selects, FLAG, "whether it takes filter, from and until"),
	MEMBER(struct report_row, operands, TEXT, "what stands behind its name", .nullable = true),
	MEMBER(struct report_row, sorts, TEXTS, "words of `sort`", .nullable = true),
};
static const struct shape shape_report = SHAPE("Report", struct report_row, report_members);

static const struct member reports_members[] = {
	MEMBER(struct reports, reports, ROWS, NULL, .shape = &shape_report),
};
static const struct shape shape_reports = SHAPE("Reports", struct reports, reports_members);

static struct err *row_fill(const struct report *report, struct arena *arena,
			    struct report_row *row)
{
	const struct question *question = report->question;
	CLEAN(str_deinit) struct str words = { 0 };
	const char *operands = report_operands(report, &words);

	*row = (struct report_row) {
		.name = question->name,
		.summary = question->summary,
		.depth = depth_words[question->depth == MODEL_FULL],
		.selects = question->selects,
		.operands = operands ? arena_strdup(arena, operands) : NULL,
		.sorts = { question->sorts, 0 },
	};
	while (question->sorts && question->sorts[row->sorts.count])
		row->sorts.count++;
	return operands && !row->operands ? err_nomem() : NULL;
}

static struct err *find(struct call *call, void *answer)
{
	struct reports *reports = answer;
	struct report_row *rows;
	struct err *err = NULL;
	size_t count = 0;

	while (report_table[count])
		count++;
	rows = arena_array(call->arena, count, sizeof(*rows));
	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++)
		err = row_fill(report_table[i], call->arena, &rows[i]);
	reports->reports = (struct shape_rows) { .items = rows, .count = count };
	return err;
}

const struct route route_api_reports = {
	.path = "/api/v1/reports",
	.summary = "which reports there are",
	.shape = &shape_reports,
	.find = find,
};
