/*
 * report: the answers about a tape, as text, JSON or CSV.
 */
#include "report/report.h"

#include "cli/command.h"
#include "cli/reading.h"

struct report_options {
	int sort; /* enum metric; -1: the report's own */
	uint64_t top;
	bool json;
	bool csv;
	bool bottom_up;
	bool shows_all;
	bool debuginfod;
	bool list;
	const char *output;
};

static const struct option_row rows[] = {
	{ "sort", 's', "WHAT", OPTION_CHOICE, offsetof(struct report_options, sort),
	  "by peak, leaked, allocated (bytes), count or temporary (calls)", metric_words },
	{ "top", 'n', "N", OPTION_U64, offsetof(struct report_options, top),
	  "show the first N entries" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct report_options, json),
	  "JSON, in shapes that stay" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct report_options, csv),
	  "CSV with a line of names" },
	{ "bottom-up", 'b', NULL, OPTION_FLAG, offsetof(struct report_options, bottom_up),
	  "tree: begin with the functions that allocate" },
	{ "all-frames", 'a', NULL, OPTION_FLAG, offsetof(struct report_options, shows_all),
	  "show allocators and program start in stacks, which are folded away otherwise" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct report_options, output),
	  "write to FILE" },
	READING_DEBUGINFOD_OPTION(struct report_options),
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct report_options, list),
	  "list the reports there are" },
};

static void reports_list(void)
{
	for (const struct report *const *at = report_table; *at; at++)
		printf("%-12s %s\n", (*at)->name, (*at)->summary);
}

static struct err *report_choose(int operand_count, char **argv, const struct report **report_ret)
{
	const char *name = operand_count > 1 ? argv[2] : "summary";
	CLEAN(str_deinit) struct str known = { 0 };

	if (operand_count < 1 || operand_count > 2)
		return err_new(ERR_USAGE, "one tape, and at most one report, are wanted");
	*report_ret = report_find(name);
	if (*report_ret)
		return NULL;
	for (const struct report *const *at = report_table; *at; at++)
		str_printf(&known, "%s%s", at == report_table ? "" : ", ", (*at)->name);
	return err_new(ERR_USAGE, "no report '%s'; there are %s", name, str_text(&known));
}

static struct err *report_command_run(const struct command *command, int argc, char **argv,
				      int *exit_code)
{
	struct report_options options = { .sort = -1 };
	CLEAN(debuginfod_destroy) struct debuginfod *debuginfod = NULL;
	struct report_settings settings = { 0 };
	struct symbol_options symbols;
	struct reading_output output;
	const struct report *report;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (options.list) {
		reports_list();
		return NULL;
	}
	err = report_choose(operand_count, argv, &report);
	if (err)
		return err;
	err = reading_format(options.json, options.csv, &settings.format);
	if (err)
		return err;
	err = reading_symbols(options.debuginfod, &symbols, &debuginfod);
	if (err)
		return err;
	err = reading_output_open(&output, options.output, argv[1]);
	if (err)
		return err;
	settings.colour = reading_wants_colour(output.file);
	settings.width = reading_width(output.file);
	settings.has_sort = options.sort >= 0;
	settings.sort = settings.has_sort ? (enum metric)options.sort : METRIC_PEAK;
	settings.top = options.top;
	settings.shows_all = options.shows_all;
	settings.is_bottom_up = options.bottom_up;
	settings.symbols = &symbols;
	settings.tape_path = argv[1];
	return reading_output_close(&output, report_run(report, argv[1], &settings, output.file));
}

const struct command cmd_report = {
	.name = "report",
	.summary = "show what is on a tape",
	.options = {
		.usage = "memtape report TAPE [REPORT] [options]",
		.about = "Answers what was alive at the peak and who made it, what leaked, what was "
			 "temporary. REPORT is summary (if none is named), top, leaks, temporary, "
			 "tree, sizes, threads, timeline or allocations.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = report_command_run,
};
