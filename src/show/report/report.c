#include "report/report.h"

#include <assert.h>

#include "report/answered.h"

const char *report_operands(const struct report *report, struct str *words)
{
	assert(words->len == 0);
	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const char *name = parameter_table[id].operand;

		if (name && question_takes(report->question) >> id & 1)
			str_printf(words, "%s%s", words->len ? " " : "", name);
	}
	return words->len ? str_text(words) : NULL;
}

const struct report *report_find(const char *name)
{
	for (const struct report *const *at = report_table; *at; at++) {
		if (strcmp((*at)->question->name, name) == 0)
			return *at;
	}
	return NULL;
}

enum { FORMATS = 3 };

const char *const report_format_words[] = { "json", "csv",	    "text",  "memcheck",
					    "lsan", "suppressions", "xtree", NULL };

void report_format_choose(struct report_settings *settings, unsigned word)
{
	static const enum emit_format formats[FORMATS] = { EMIT_JSON, EMIT_CSV, EMIT_TEXT };

	settings->format = word < FORMATS ? formats[word] : EMIT_TEXT;
	settings->style = word < FORMATS ? REPORT_OWN : (enum report_style)(word - FORMATS + 1);
}

/* Errors name the setting as written on the command line. */
struct err *report_check(const struct report *report, const struct report_settings *settings)
{
	enum parameter_id wrong = PARAMETER_COUNT;
	struct err *err = question_check(report->question, &settings->with, &wrong);
	const struct parameter *parameter = &parameter_table[wrong % PARAMETER_COUNT];

	assert(report->question && settings);
	if (!err && settings->style != REPORT_OWN && !report->has_styles)
		return err_new(ERR_USAGE, "'%s' cannot be written as %s: only leak-classes can",
			       report->question->name,
			       report_format_words[FORMATS - 1 + settings->style]);
	if (!err && settings->fail_on && !report->fails)
		return err_new(ERR_USAGE,
			       "'%s' has no --fail-on: it is for leak-classes and growth",
			       report->question->name);
	if (!err && settings->fail_on & ~report->fail_kinds)
		return err_new(ERR_USAGE,
			       "--fail-on: '%s' has no such leaks: `growing` is for growth, the "
			       "others for leak-classes",
			       report->question->name);
	if (!err || wrong == PARAMETER_COUNT || wrong == PARAMETER_filter)
		return err;
	if (parameter->operand)
		return err_wrap(err, "%s", report->question->name);
	if (wrong == PARAMETER_sort)
		return err_wrap(err, "--sort %s", settings->with.sort);
	return err_wrap(err, "--%s", parameter->name);
}

/* In the order of the table. */
struct err *report_settle(const struct report *report, struct report_settings *settings)
{
	const uint64_t takes = question_takes(report->question);
	CLEAN(str_deinit) struct str words = { 0 };
	const char *names = report_operands(report, &words);
	size_t count = 0;

	assert(report->question && settings);
	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const struct parameter *parameter = &parameter_table[id];
		void *place = (char *)&settings->with + parameter->place;

		if (!parameter->operand || !(takes >> id & 1))
			continue;
		if (count < settings->operand_count)
			*(const char **)place = settings->operands[count];
		else if (report->question->optional >> id & 1)
			continue;
		count++;
	}
	if (count == settings->operand_count)
		return NULL;
	return err_new(ERR_USAGE, "'%s' %s %s behind it", report->question->name,
		       names ? "wants" : "takes", names ? names : "nothing");
}

enum model_subject report_subject(const struct report *report,
				  const struct report_settings *settings)
{
	return question_subject(report->question, &settings->with);
}

enum model_depth report_depth(const struct report *report, const struct report_settings *settings)
{
	if (report->question->recounts_leaks && settings->suppressions &&
	    settings->suppressions->count > 0)
		return MODEL_FULL;
	return question_depth(report->question, &settings->with);
}

static struct err *select_and_run(const struct report *report, struct suppressor *suppressor,
				  struct names *names, const struct report_settings *settings,
				  FILE *out)
{
	const struct model *model = suppressor->model;
	CLEAN(arena_deinit) struct arena arena = { .budget = settings->budget };
	struct selection_settings asked = question_selection(report->question, &settings->with);
	const struct selection *selection = NULL;
	struct report_context context = {
		.model = model,
		.names = names,
		.settings = settings,
		.mode = report->question->shows_all ? WALK_ALL
						    : (enum walk_mode)settings->with.frames,
		.tells_leaks = !asked.ignores_leaks,
		.arena = &arena,
	};
	struct err *err;

	asked.suppressor = suppressor;
	asked.time_limit_ns = settings->time_limit_ns;
	asked.cancel = settings->cancel;
	err = selection_make(model, names, &asked, &arena, &selection);
	if (err)
		return err;
	names_show_anew(names); /* names used only by a filter do not count as displayed */
	context.selection = selection;
	context.has_window = report->question->has_window && !report->question->selects &&
			     (settings->with.from || settings->with.until);
	context.sums = selection->sums;
	return report->run ? report->run(&context, out)
			   : answered_report_run(report, &context, out);
}

struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out)
{
	CLEAN(names_destroy)
	struct names *own_names = settings->names ? NULL : names_create(model, settings->symbols);
	struct names *names = settings->names ? settings->names : own_names;
	CLEAN(suppressor_deinit) struct suppressor own = { 0 };

	assert(model);
	assert(settings->format == EMIT_TEXT || settings->format == EMIT_JSON ||
	       settings->format == EMIT_CSV);
	if (!names)
		return err_nomem();
	if (settings->suppressor)
		return select_and_run(report, settings->suppressor, names, settings, out);
	suppressor_init(&own, model, names, settings->suppressions);
	own.arena.budget = settings->budget;
	return select_and_run(report, &own, names, settings, out);
}

struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	const struct model_settings how = { .subject = report_subject(report, settings) };
	struct err *err = model_load_with(tape_path, report_depth(report, settings), &how, &model);

	if (err)
		return err;
	return report_run_model(report, model, settings, out);
}
