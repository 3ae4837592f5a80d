/*
 * report: answers about a tape, as text, JSON or CSV.
 */
#include "base/str.h"
#include "report/report.h"

#include "questions/leaks.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list_fields.h"
#include "cli/reading.h"
#include "cli/report_html.h"
#include "cli/session_operand.h"
#include "cli/suppressing.h"

struct report_options {
	struct report_settings settings;
	const char *process; /* of a session; NULL: all */
	bool json;
	bool csv;
	const char *fail_on;
	uint64_t error_exitcode; /* 0: not given */
	struct suppressing_options suppressing;
	int format; /* index of report_format_words; -1: not given */
	const char *xtree;
	const char *output;
	bool force;
	struct report_html_options html;
	struct reading_symbol_options symbols;
	bool no_index;
	bool list;
	bool list_fields;
};

enum {
	OPTION_NUMBER = OPTION_U64,
	OPTION_FILTER = OPTION_TEXT, /* the report validates these two */
	OPTION_MOMENT = OPTION_TEXT
};

static const struct option_row rows[] = {
/* clang-format off */
#define PARAMETER(field, name, letter, arg, kind, questions, doc, words, max, usual)               \
	{ name, letter, arg, (enum option_kind)OPTION_##kind,                                      \
	  offsetof(struct report_options, settings.with.field), questions doc, words },
#define OPERAND(field, name, arg, kind, doc)
/* clang-format on */
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
	SESSION_PROCESS_OPTION(struct report_options, process),
	SUPPRESSING_OPTIONS(struct report_options, suppressing),
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct report_options, json),
	  "JSON with a stable schema" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct report_options, csv),
	  "CSV with a header row" },
	{ "format", 0, "WHAT", OPTION_CHOICE, offsetof(struct report_options, format),
	  REPORT_FORMAT_DOC, report_format_words },
	{ "xtree", 0, "FILE", OPTION_TEXT, offsetof(struct report_options, xtree),
	  "leak-classes: also write FILE for callgrind_annotate" },
	{ "fail-on", 0, "CLASSES", OPTION_TEXT, offsetof(struct report_options, fail_on),
	  "leak-classes: exit with 1 if there are leaks of these classes: definite, possible, "
	  "indirect, reachable, all; growth: growing" },
	{ "error-exitcode", 0, "N", OPTION_U64, offsetof(struct report_options, error_exitcode),
	  "leak-classes, growth: the exit code of --fail-on (default: 1)" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct report_options, output),
	  "write to FILE" },
	OUTPUT_FORCE_OPTION_AS(0, struct report_options, force),
	REPORT_HTML_OPTIONS(struct report_options, html),
	READING_INDEX_OPTION(struct report_options, no_index),
	READING_SYMBOL_OPTIONS(struct report_options, symbols),
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct report_options, list), "list the reports" },
	{ "list-fields", 0, NULL, OPTION_FLAG, offsetof(struct report_options, list_fields),
	  "list the fields of filters" },
};

static void reports_list(void)
{
	CLEAN(str_deinit) struct str words = { 0 };
	CLEAN(str_deinit) struct str folded = { 0 };

	for (const struct report *const *at = report_table; *at; at++)
		str_printf(&words, "%-13s  %s\n", (*at)->question->name, (*at)->question->summary);
	str_add_wrapped(&folded, str_text(&words), reading_width(stdout));
	fputs(str_text(&folded), stdout);
}

static struct err *fields_list(const struct report_options *options)
{
	enum emit_format format;
	struct err *err = reading_format(options->json, options->csv, &format);

	return err ? err : list_fields(format, reading_width(stdout), stdout);
}

static struct err *report_choose(int operand_count, char **argv, const struct report **report_ret)
{
	const char *name = operand_count > 1 ? argv[2] : "summary";
	CLEAN(str_deinit) struct str known = { 0 };

	if (operand_count < 1)
		return err_new(ERR_USAGE, "expected one tape and at most one report");
	*report_ret = report_find(name);
	if (*report_ret)
		return NULL;
	for (const struct report *const *at = report_table; *at; at++)
		str_printf(&known, "%s%s", at == report_table ? "" : ", ", (*at)->question->name);
	return err_new(ERR_USAGE, "unknown report '%s'; expected one of %s", name,
		       str_text(&known));
}

static struct err *failing_parse(const struct report *report, struct report_options *options)
{
	const char *fail_on = options->fail_on;

	if (options->error_exitcode > UINT8_MAX)
		return err_new(ERR_USAGE, "--error-exitcode: at most %d", UINT8_MAX);
	if (!fail_on && options->error_exitcode > 0) /* as Memcheck */
		fail_on = report->fail_kinds >> LOSS_GROWING & 1 ? "growing" : "definite,possible";
	return fail_on ? err_wrap(loss_kinds_parse(fail_on, &options->settings.fail_on),
				  "--fail-on")
		       : NULL;
}

/* Checks the report's options before a tape is opened. */
static struct err *settings_fill(const struct report *report, struct report_options *options,
				 int operand_count, char **argv)
{
	struct report_settings *settings = &options->settings;
	struct err *err = reading_format(options->json, options->csv, &settings->format);

	if (!err && options->format >= 0 && settings->format != EMIT_TEXT)
		err = err_new(ERR_USAGE, "--format excludes --json and --csv");
	if (!err && options->format >= 0)
		report_format_choose(settings, (unsigned)options->format);
	if (!err)
		err = failing_parse(report, options);
	if (err)
		return err;
	settings->tape_path = argv[1];
	settings->operands = (const char *const *)argv + 3;
	settings->operand_count = operand_count > 2 ? (size_t)operand_count - 2 : 0;
	err = report_settle(report, settings);
	return err ? err : report_check(report, settings);
}

/* The same answer, in a file of its own. */
static struct err *xtree_file_write(const struct report *report, const struct model *model,
				    const struct report_options *options, const char *tape_path)
{
	struct report_settings settings = options->settings;
	struct reading_output output;
	struct err *err;

	settings.format = EMIT_TEXT;
	settings.style = REPORT_XTREE;
	settings.fails_ret = NULL;
	err = report_check(report, &settings);
	if (!err)
		err = reading_output_open(&output, options->xtree, options->force, tape_path);
	if (err)
		return err;
	return reading_output_close(&output,
				    report_run_model(report, model, &settings, output.file));
}

/* The page covers the whole tape, so selection options are refused. */
static struct err *html_run(const struct report_options *options, int operand_count, char **argv)
{
	const struct report_settings *settings = &options->settings;

	if (operand_count != 1)
		return err_new(ERR_USAGE,
			       "--html: expected one tape and no report: the page has them all");
	if (options->json || options->csv || settings->with.filter || settings->with.from ||
	    settings->with.until || settings->with.at)
		return err_new(ERR_USAGE,
			       "--html: the file has the whole tape; --json, --csv, --filter, "
			       "--from, --until and --at do not go with it");
	return report_html(&options->html, &options->symbols, &options->suppressing, argv[1],
			   options->output, options->force);
}

/* Of a session the tape is that of all its processes, or of one. */
static struct err *session_settle(const struct report *report, struct report_options *options,
				  struct arena *arena)
{
	const char *refused =
		report->question->one_process
			? arena_printf(arena, "'%s' is about one process", report->question->name)
			: NULL;

	return session_operand(&options->settings.tape_path, options->process, refused, arena);
}

static struct err *report_command_run(const struct command *command, int argc, char **argv,
				      int *exit_code)
{
	struct report_options options = { .settings.with = parameters_usual(), .format = -1 };
	struct report_settings *settings = &options.settings;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct model_settings how = { 0 };
	struct reading_output output;
	const struct report *report;
	int operand_count = 0;
	bool fails = false;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = report_html_check(&options.html);
	if (err)
		return err;
	if (options.html.html)
		return html_run(&options, operand_count, argv);
	if (options.list) {
		reports_list();
		return NULL;
	}
	if (options.list_fields)
		return fields_list(&options);
	err = report_choose(operand_count, argv, &report);
	if (err)
		return err;
	err = settings_fill(report, &options, operand_count, argv);
	if (!err)
		err = session_settle(report, &options, &arena);
	if (!err)
		err = suppressing_load(&suppressing, &options.suppressing);
	if (err)
		return err;
	err = reading_symbols_init(&symbols, &options.symbols, settings->tape_path);
	if (err)
		return err;
	err = reading_output_open(&output, options.output, options.force, settings->tape_path);
	if (err)
		return err;
	settings->colour = reading_wants_colour(output.file);
	settings->width = reading_width(output.file);
	settings->symbols = &symbols.options;
	settings->suppressions = &suppressing.rules;
	settings->fails_ret = &fails;
	how.subject = report_subject(report, settings);
	how.index = reading_index(options.no_index);
	how.announce_context = READING_INDEX_AVOIDED;
	err = reading_model(settings->tape_path, report_depth(report, settings), &how, &model);
	if (!err && options.xtree)
		err = xtree_file_write(report, model, &options, settings->tape_path);
	if (!err)
		err = report_run_model(report, model, settings, output.file);
	err = reading_output_close(&output, err);
	if (!err && fails)
		*exit_code = options.error_exitcode ? (int)options.error_exitcode : EXIT_FINDINGS;
	return err;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "show what is on a tape",
	.options = {
		.usage = "memtape report TAPE|SESSION [REPORT [WORDS]] [options]",
		.about = "Shows what was alive at the peak and who allocated it, what leaked, and what was temporary. The default REPORT is summary; --list shows the others.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = report_command_run,
};
