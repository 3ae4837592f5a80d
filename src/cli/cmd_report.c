/*
 * report: the answers about a tape, as text, JSON or CSV.
 */
#include "report/report.h"

#include "cli/command.h"
#include "cli/list_fields.h"
#include "cli/reading.h"
#include "cli/report_html.h"
#include "cli/suppressing.h"

struct report_options {
	const char *sort; /* NULL: the report's own */
	uint64_t top;
	bool json;
	bool csv;
	bool bottom_up;
	bool shows_all;
	struct reading_symbol_options symbols;
	bool list;
	const char *function;
	uint64_t points;
	const char *filter;
	const char *from;
	const char *until;
	int by;
	uint64_t skip;
	bool list_fields;
	const char *at;
	bool sites;
	const char *columns;
	bool whole_file;
	struct suppressing_options suppressing;
	const char *output;
	struct report_html_options html;
};

static const struct option_row rows[] = {
	{ "sort", 's', "WHAT", OPTION_TEXT, offsetof(struct report_options, sort),
	  "by peak, leaked, allocated (bytes), count or temporary (calls); "
	  "between: survived, net, allocated, freed, count or temporary; allocations: any field of "
	  "--list-fields; groups: size, allocated_count, leaked_size, interval ..." },
	{ "top", 'n', "N", OPTION_U64, offsetof(struct report_options, top),
	  "show the first N entries" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct report_options, json),
	  "JSON with a stable schema" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct report_options, csv),
	  "CSV with a header row" },
	{ "bottom-up", 'b', NULL, OPTION_FLAG, offsetof(struct report_options, bottom_up),
	  "tree: begin with the functions that allocate" },
	{ "function", 'f', "NAME", OPTION_TEXT, offsetof(struct report_options, function),
	  "tree: what NAME called and who called it" },
	{ "filter", 0, "EXPR", OPTION_TEXT, offsetof(struct report_options, filter),
	  "only allocations of which EXPR is true, see memtape-filter(7)" },
	{ "from", 0, "T", OPTION_TEXT, offsetof(struct report_options, from),
	  "only what was allocated at T (1.5s, 20ms, 75%, peak, mark(NAME)) or later; timeline: "
	  "begin at T" },
	{ "until", 0, "T", OPTION_TEXT, offsetof(struct report_options, until),
	  "only what was allocated at T or earlier; timeline: end at T" },
	{ "by", 0, "WHAT", OPTION_CHOICE, offsetof(struct report_options, by),
	  "groups: by stack, function, source, module, thread, size, lifetime, mark, call or "
	  "process",
	  group_by_words },
	{ "skip", 0, "N", OPTION_U64, offsetof(struct report_options, skip),
	  "groups, allocations: leave out the first N" },
	{ "at", 0, "T", OPTION_TEXT, offsetof(struct report_options, at),
	  "mappings, fragmentation, space: as it was at T" },
	{ "points", 0, "N", OPTION_U64, offsetof(struct report_options, points),
	  "timeline: N equal spans of time" },
	{ "sites", 0, NULL, OPTION_FLAG, offsetof(struct report_options, sites),
	  "lifetimes: of each function too" },
	{ "columns", 0, "LIST", OPTION_TEXT, offsetof(struct report_options, columns),
	  "annotate: these, with commas: allocated, calls, peak, blocks, leaked, left, temporary, "
	  "freed, frees, self, selfcalls; or totB, totBk, curB, curBk, totFdB, totFdBk" },
	{ "whole-file", 0, NULL, OPTION_FLAG, offsetof(struct report_options, whole_file),
	  "annotate: lines without numbers too" },
	SUPPRESSING_OPTIONS(struct report_options, suppressing),
	{ "all-frames", 'a', NULL, OPTION_FLAG, offsetof(struct report_options, shows_all),
	  "show allocators and program start in stacks, which are folded away otherwise" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct report_options, output),
	  "write to FILE" },
	REPORT_HTML_OPTIONS(struct report_options, html),
	READING_SYMBOL_OPTIONS(struct report_options, symbols),
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct report_options, list),
	  "list the reports there are" },
	{ "list-fields", 0, NULL, OPTION_FLAG, offsetof(struct report_options, list_fields),
	  "list the fields of filters" },
};

static void reports_list(void)
{
	for (const struct report *const *at = report_table; *at; at++)
		printf("%-14s %s\n", (*at)->name, (*at)->summary);
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
		str_printf(&known, "%s%s", at == report_table ? "" : ", ", (*at)->name);
	return err_new(ERR_USAGE, "no report '%s'; there are %s", name, str_text(&known));
}

/* What was said about the report, without having looked at a tape. */
static struct err *settings_fill(const struct report *report, const struct report_options *options,
				 int operand_count, char **argv, struct report_settings *settings)
{
	struct err *err = reading_format(options->json, options->csv, &settings->format);

	if (!err)
		err = report_sort(report, options->sort, settings);
	if (err)
		return err;
	settings->top = options->top;
	settings->shows_all = options->shows_all;
	settings->is_bottom_up = options->bottom_up;
	settings->function = options->function;
	settings->points = options->points;
	settings->filter = options->filter;
	settings->by = (enum group_by)options->by;
	settings->skip = options->skip;
	settings->from = options->from;
	settings->until = options->until;
	settings->at = options->at;
	settings->shows_sites = options->sites;
	settings->columns = options->columns;
	settings->shows_whole_file = options->whole_file;
	settings->tape_path = argv[1];
	settings->operands = (const char *const *)argv + 3;
	settings->operand_count = operand_count > 2 ? (size_t)operand_count - 2 : 0;
	return report_check(report, settings);
}

/* All of the tape, so nothing that chooses. */
static struct err *html_run(const struct report_options *options, int operand_count, char **argv)
{
	if (operand_count != 1)
		return err_new(ERR_USAGE,
			       "--html: expected one tape and no report: the page has them all");
	if (options->json || options->csv || options->filter || options->from || options->until ||
	    options->at)
		return err_new(ERR_USAGE,
			       "--html: the file has the whole tape; --json, --csv, --filter, "
			       "--from, --until and --at do not go with it");
	return report_html(&options->html, &options->symbols, &options->suppressing, argv[1],
			   options->output);
}

static struct err *report_command_run(const struct command *command, int argc, char **argv,
				      int *exit_code)
{
	struct report_options options = { .by = GROUP_BY_FUNCTION };
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	struct report_settings settings = { .suppressions = &suppressing.rules };
	struct reading_output output;
	const struct report *report;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
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
	err = settings_fill(report, &options, operand_count, argv, &settings);
	if (!err)
		err = suppressing_load(&suppressing, &options.suppressing);
	if (err)
		return err;
	err = reading_symbols_init(&symbols, &options.symbols, argv[1]);
	if (err)
		return err;
	err = reading_output_open(&output, options.output, argv[1]);
	if (err)
		return err;
	settings.colour = reading_wants_colour(output.file);
	settings.width = reading_width(output.file);
	settings.symbols = &symbols.options;
	err = reading_model(argv[1], report_depth(report, &settings), NULL, &model);
	if (!err)
		err = report_run_model(report, model, &settings, output.file);
	return reading_output_close(&output, err);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "show what is on a tape",
	.options = {
		.usage = "memtape report TAPE [REPORT [WORDS]] [options]",
		.about = "Answers what was alive at the peak and who made it, what leaked, what was "
			 "temporary. REPORT is summary if none is named; --list tells of the "
			 "others.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = report_command_run,
};
