#include "report/report.h"

#include "select/moment.h"
#include "report/answered.h"

const char *report_name(const struct report *report)
{
	return report->question ? report->question->name : report->name;
}

const char *report_summary_line(const struct report *report)
{
	return report->question ? report->question->summary : report->summary;
}

enum model_depth report_depth_of(const struct report *report)
{
	return report->question ? report->question->depth : report->depth;
}

bool report_selects(const struct report *report)
{
	return report->question ? report->question->selects : report->selects;
}

bool report_has_window(const struct report *report)
{
	return report->question ? report->question->has_window : report->has_window;
}

const char *report_operands(const struct report *report, struct str *words)
{
	if (!report->question)
		return report->operands;
	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const char *name = parameter_table[id].operand;

		if (name && question_takes(report->question) >> id & 1)
			str_printf(words, "%s%s", words->len ? " " : "", name);
	}
	return words->len ? str_text(words) : NULL;
}

static bool ignores_leaks(const struct report *report)
{
	return report->question ? report->question->ignores_leaks : report->ignores_leaks;
}

static const char *instead(const struct report *report)
{
	return report->question ? report->question->instead : report->instead;
}

const struct report *report_find(const char *name)
{
	for (const struct report *const *at = report_table; *at; at++) {
		if (strcmp(report_name(*at), name) == 0)
			return *at;
	}
	return NULL;
}

static size_t words_count(const char *text)
{
	size_t count = 0;

	for (; text && *text; text++)
		count += *text != ' ' && (text[1] == ' ' || text[1] == '\0');
	return count;
}

static struct err *moment_check(const char *option, const char *text)
{
	struct moment moment;

	return text ? err_wrap(moment_parse(text, &moment), "--%s", option) : NULL;
}

/* What the selection is to be; other reports have their own use for the moments. */
static struct selection_settings selection_asked(const struct report *report,
						 const struct report_settings *settings)
{
	if (report->question)
		return question_selection(report->question, &settings->with);
	if (!report_selects(report))
		return (struct selection_settings) { 0 };
	return (struct selection_settings) {
		.filter = settings->with.filter,
		.from = report_has_window(report) ? NULL : settings->with.from,
		.until = report_has_window(report) ? NULL : settings->with.until,
	};
}

static struct err *refused(const struct report *report, const char *option)
{
	return err_new(ERR_USAGE,
		       "'%s' is about the whole tape, not about single allocations: it has no "
		       "%s; %s",
		       report_name(report), option, instead(report));
}

static struct err *selection_asked_check(const struct report *report,
					 const struct report_settings *settings)
{
	const struct selection_settings asked = selection_asked(report, settings);
	struct err *err = moment_check("from", settings->with.from);

	if (!err)
		err = moment_check("until", settings->with.until);
	if (!err && settings->with.filter && !report_selects(report))
		err = refused(report, "--filter");
	if (!err && settings->with.from && !report_selects(report) && !report_has_window(report))
		err = refused(report, "--from");
	if (!err && settings->with.until && !report_selects(report) && !report_has_window(report))
		err = refused(report, "--until");
	return err ? err : selection_check(&asked);
}

/* What the error is about, as it is written on the command line. */
static struct err *question_asked_check(const struct report *report,
					const struct report_settings *settings)
{
	enum parameter_id wrong = PARAMETER_COUNT;
	struct err *err = question_check(report->question, &settings->with, &wrong);
	const struct parameter *parameter = &parameter_table[wrong % PARAMETER_COUNT];

	if (!err || wrong == PARAMETER_COUNT || wrong == PARAMETER_filter)
		return err;
	if (parameter->operand)
		return err_wrap(err, "%s", report_name(report));
	if (wrong == PARAMETER_sort)
		return err_wrap(err, "--sort %s", settings->with.sort);
	return err_wrap(err, "--%s", parameter->name);
}

struct err *report_check(const struct report *report, const struct report_settings *settings)
{
	struct err *err = report->question ? question_asked_check(report, settings)
					   : selection_asked_check(report, settings);

	if (err || report->question)
		return err;
	if (!err)
		err = moment_check("at", settings->with.at);
	if (err)
		return err;
	if (settings->operand_count != words_count(report->operands))
		return err_new(ERR_USAGE, "'%s' %s %s behind it", report_name(report),
			       report->operands ? "wants" : "takes",
			       report->operands ? report->operands : "nothing");
	return report->check ? report->check(settings) : NULL;
}

/* Words behind the report's name, in the order of the table. */
static struct err *operands_take(const struct report *report, struct report_settings *settings)
{
	const uint64_t takes = question_takes(report->question);
	CLEAN(str_deinit) struct str words = { 0 };
	const char *names = report_operands(report, &words);
	size_t count = 0;

	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const struct parameter *parameter = &parameter_table[id];
		void *place = (char *)&settings->with + parameter->place;

		if (!parameter->operand || !(takes >> id & 1))
			continue;
		if (count < settings->operand_count)
			*(const char **)place = settings->operands[count];
		count++;
	}
	if (count == settings->operand_count)
		return NULL;
	return err_new(ERR_USAGE, "'%s' %s %s behind it", report_name(report),
		       names ? "wants" : "takes", names ? names : "nothing");
}

struct err *report_settle(const struct report *report, struct report_settings *settings)
{
	const char *const *words = report->sorts ? report->sorts : metric_words;
	const char *word = settings->with.sort;
	CLEAN(str_deinit) struct str known = { 0 };

	if (report->question)
		return operands_take(report, settings);
	if (!word || report->sorts_itself)
		return NULL;
	for (unsigned i = 0; words[i]; i++) {
		settings->has_sort |= strcmp(words[i], word) == 0;
		if (settings->has_sort) {
			settings->sort = i;
			return NULL;
		}
		str_printf(&known, "%s%s", i ? ", " : "", words[i]);
	}
	return err_new(ERR_USAGE, "--sort %s: not one of %s", word, str_text(&known));
}

enum model_depth report_depth(const struct report *report, const struct report_settings *settings)
{
	const struct selection_settings asked = selection_asked(report, settings);
	const bool needs_rows = report->needs_rows && report->needs_rows(settings);

	if (report->question && report->question->recounts_leaks && settings->suppressions &&
	    settings->suppressions->count > 0)
		return MODEL_FULL;
	if (report->question)
		return question_depth(report->question, &settings->with);
	return needs_rows || selection_needs_rows(&asked) ? MODEL_FULL : report_depth_of(report);
}

static struct err *select_and_run(const struct report *report, struct suppressor *suppressor,
				  struct names *names, const struct report_settings *settings,
				  FILE *out)
{
	const struct model *model = suppressor->model;
	CLEAN(arena_deinit) struct arena arena = { .budget = settings->budget };
	struct selection_settings asked = selection_asked(report, settings);
	const struct selection *selection = NULL;
	struct report_context context = {
		.model = model,
		.names = names,
		.settings = settings,
		.mode = settings->with.all_frames ? WALK_ALL : WALK_FOLD,
		.arena = &arena,
	};
	struct err *err;

	asked.suppressor = suppressor;
	asked.ignores_leaks = !report_selects(report) || ignores_leaks(report);
	asked.time_limit_ns = settings->time_limit_ns;
	asked.cancel = settings->cancel;
	err = selection_make(model, names, &asked, &arena, &selection);
	if (err)
		return err;
	names_show_anew(names); /* what a filter looked at is not shown by that */
	context.selection = selection;
	context.tells_leaks = !asked.ignores_leaks;
	context.has_window = report_has_window(report) && selection_is_all(selection) &&
			     !report_selects(report) &&
			     (settings->with.from || settings->with.until);
	context.sums = selection->sums;
	return report->question ? answered_report_run(report, &context, out)
				: report->run(&context, out);
}

struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out)
{
	CLEAN(names_destroy)
	struct names *own_names = settings->names ? NULL : names_create(model, settings->symbols);
	struct names *names = settings->names ? settings->names : own_names;
	CLEAN(suppressor_deinit) struct suppressor own = { 0 };

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
	struct err *err = model_load(tape_path, report_depth(report, settings), &model);

	if (err)
		return err;
	return report_run_model(report, model, settings, out);
}
