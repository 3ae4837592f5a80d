/*
 * info: describes a tape with the report `recording`; several tapes become a table (overview.h).
 */
#include "cli/command.h"
#include "cli/foreign.h"
#include "cli/overview.h"
#include "cli/reading.h"
#include "report/report.h"

struct info_options {
	bool json;
};

static const struct option_row rows[] = {
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct info_options, json), "print JSON" },
};

static struct err *info_write_all(char **paths, size_t count, const struct info_options *options)
{
	CLEAN(overview_vec_deinit) struct overview_vec processes = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct emit_settings settings = {
		.format = options->json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = overview_add(&processes, paths[i], &arena);
	return err ? err : overview_write(&processes, 0, &settings, stdout);
}

static struct err *info_write(const char *path, const struct info_options *options)
{
	const struct report_settings settings = {
		.format = options->json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
		.tape_path = path,
		.with = parameters_usual(),
	};

	return foreign_explain(report_run(report_find("recording"), path, &settings, stdout), path);
}

static struct err *info_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct info_options options = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count == 0)
		return err_new(ERR_USAGE, "expected a tape");
	return operand_count > 1 ? info_write_all(argv + 1, (size_t)operand_count, &options)
				 : info_write(argv[1], &options);
}

const struct command cmd_info = {
	.name = "info",
	.summary = "show what a tape is: process, modules, threads, losses, overhead",
	.options = {
		.usage = "memtape info TAPE ... [--json]",
		.about = "Shows information about the tape itself: how it was written, the process, modules, threads, losses, and the overhead of recording. For several tapes: one table, sorted by peak.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = info_run,
};
