/*
 * /api/v1/report: any report, as `memtape report TAPE NAME --json` prints it.
 */
#include "http/answered.h"
#include "http/server.h"
#include "report/report.h"

enum { SUPPRESSIONS_BYTES_MAX = 32 << 10, SUPPRESSIONS_LINES_MAX = 500 };

#define PLACE(member) .has_place = true, .place = offsetof(struct report_settings, member)

static const struct param params[] = {
	{ .name = "name",
	  .kind = PARAM_TEXT,
	  .doc = "the report, one of /api/v1/reports",
	  .missing = "summary" },
	{ .name = "operand", .kind = PARAM_TEXTS, .doc = "what stands behind its name, in order" },
	{ .name = "format",
	  .kind = PARAM_CHOICE,
	  .words = report_format_words,
	  .doc = REPORT_FORMAT_DOC,
	  .missing = "json" },
	{ .name = "q", .kind = PARAM_FILTER, .doc = "the same as filter", PLACE(with.filter) },
#define PARAMETER(field, option, letter, arg, param, questions, text, choices, most, usual)        \
	{ .name = option,                                                                          \
	  .kind = PARAM_##param,                                                                   \
	  .doc = questions text,                                                                   \
	  .words = choices,                                                                        \
	  .max = most,                                                                             \
	  PLACE(with.field) },
#define OPERAND(field, name, arg, kind, doc)
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
	{ .name = "suppressions",
	  .kind = PARAM_TEXT,
	  .doc = "leaks: omit those that match these rules, one a line: the text of a file of "
		 "--suppressions" },
	{ .name = "no-suppressions",
	  .kind = PARAM_FLAG,
	  .doc = "leaks: omit none, not even those built in" },
};

static struct err *report_choose(struct call *call, const struct report **report_ret)
{
	const char *name = call_text(call, "name");
	CLEAN(str_deinit) struct str known = { 0 };

	*report_ret = report_find(name ? name : "summary");
	if (*report_ret)
		return NULL;
	for (const struct report *const *at = report_table; *at; at++)
		str_printf(&known, "%s%s", at == report_table ? "" : ", ", (*at)->question->name);
	return call_blame(call, "name",
			  err_new(ERR_USAGE, "unknown report '%.64s'; expected one of %s", name,
				  str_text(&known)));
}

/*
 * The server's suppressions, unless the request has its own: of limited length, because each rule
 * is matched against every function.
 */
static struct err *suppressions_take(struct call *call, struct report_settings *settings)
{
	const char *text = call_text(call, "suppressions");
	struct suppressions *rules = arena_new(call->arena, struct suppressions);
	size_t line_count = 0;

	for (const char *at = text; at && *at; at += *at == '\n')
		at += strcspn(at, "\n"), line_count++;
	if (text && (strlen(text) > SUPPRESSIONS_BYTES_MAX || line_count > SUPPRESSIONS_LINES_MAX))
		return call_blame(call, "suppressions",
				  err_new(ERR_USAGE, "at most %d KiB and %d lines of suppressions",
					  SUPPRESSIONS_BYTES_MAX >> 10, SUPPRESSIONS_LINES_MAX));
	if (!rules)
		return err_nomem();
	settings->suppressions = rules;
	if (!text && !call_flag(call, "no-suppressions"))
		settings->suppressor = &call->loaded->suppressor;
	if (!text)
		return NULL;
	return call_blame(call, "suppressions",
			  suppressions_parse(text, "suppressions", call->arena, rules));
}

/* The operand is the id of one of the tape's own files: replaces it by the path. */
static struct err *source_choose(struct call *call, const struct report *report,
				 struct report_settings *settings)
{
	const char **path = arena_new(call->arena, const char *);

	settings->source_opener = answered_source_opener(call);
	if (!(question_takes(report->question) & TAKES(file)) || settings->operand_count != 1)
		return NULL;
	if (!path)
		return err_nomem();
	*path = settings->operands[0];
	settings->operands = path;
	return call_blame(call, "operand", answered_source_choose(call, settings->names, path));
}

static struct err *settings_fill(struct call *call, const struct report *report,
				 struct report_settings *settings)
{
	struct err *err;

	call_fill(call, settings);
	if (call_has(call, "q") && call_has(call, "filter"))
		return call_blame(call, "q", err_new(ERR_USAGE, "q and filter exclude each other"));
	report_format_choose(settings, call_choice(call, "format"));
	settings->operands = call_texts(call, "operand", &settings->operand_count);
	settings->tape_path = call->tape->source->path;
	settings->time_limit_ns = call_time_left_ns(call);
	settings->cancel = call->limits.cancel;
	settings->budget = call->arena->budget;
	err = settings->operands ? suppressions_take(call, settings) : err_nomem();
	if (!err)
		err = source_choose(call, report, settings);
	if (!err)
		err = report_settle(report, settings);
	return err ? err : answered_check(call, report->question, &settings->with);
}

static struct err *run(struct call *call)
{
	static const char *const types[] = { [EMIT_JSON] = NULL,
					     [EMIT_CSV] = "text/csv; charset=utf-8",
					     [EMIT_TEXT] = "text/plain; charset=utf-8" };
	CLEAN(names_destroy) struct names *names = NULL;
	struct report_settings settings = { .with = parameters_usual() };
	const struct report *report = NULL;
	struct err *err = report_choose(call, &report);

	if (!err)
		err = call_names_view(call, &names);
	settings.names = names;
	if (!err)
		err = settings_fill(call, report, &settings);
	if (err)
		return err;
	if (types[settings.format])
		call->type = types[settings.format];
	return report_run_model(report, call->model, &settings, call->out);
}

const struct route route_api_report = {
	.path = "/api/v1/report",
	.summary = "any report, as `memtape report TAPE NAME --json` prints it",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_MAY_POST,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
