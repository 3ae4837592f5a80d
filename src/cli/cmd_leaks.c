/*
 * leaks: which blocks of a running program are lost, and what holds the others.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/leak_heuristics.h"
#include "cli/reading.h"
#include "cli/suppressing.h"
#include "collect/inspect.h"
#include "report/report.h"

struct leaks_options {
	const char *output;
	bool force;
	const char *heuristics;
	bool json;
	bool quiet;
	struct suppressing_options suppressing;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct leaks_options, output),
	  "keep the tape: what was recorded until now, and the result" },
	OUTPUT_FORCE_OPTION(struct leaks_options, force),
	LEAK_HEURISTICS_OPTION(struct leaks_options, heuristics),
	SUPPRESSING_OPTIONS(struct leaks_options, suppressing),
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct leaks_options, json),
	  "JSON with a stable schema" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct leaks_options, quiet),
	  "do not say how long the program stood still" },
	READING_SYMBOL_OPTIONS(struct leaks_options, symbols),
};

static struct err *pid_parse(const char *text, pid_t *pid_ret)
{
	char *end;
	const long number = strtol(text, &end, 10);

	if (*end || end == text || number <= 0 || number > INT32_MAX)
		return err_new(ERR_USAGE, "%s is not the number of a process", text);
	*pid_ret = (pid_t)number;
	return NULL;
}

static void print_pause(const struct inspect_settings *settings, struct inspect_result *result)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, "memtape: process %d stood still for ", (int)settings->pid);
	str_add_duration(&text, result->pause_ns);
	if (result->copy_err)
		str_printf(&text, ", until the scan was done: %s", err_message(result->copy_err));
	fprintf(stderr, "%s\n", str_text(&text));
}

static struct err *report_tape(const char *path, const struct leaks_options *options)
{
	const char *const words[] = { "leaks", path, "leak-classes", NULL };
	struct report_settings settings = {
		.with = parameters_usual(),
		.tape_path = path,
		.operands = words + 3,
		.format = options->json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	const struct report *report = report_find("leak-classes");
	struct err *err = report_settle(report, &settings);

	if (!err)
		err = suppressing_load(&suppressing, &options->suppressing);
	if (!err)
		err = reading_symbols_init(&symbols, &options->symbols, path);
	if (err)
		return err;
	settings.symbols = &symbols.options;
	settings.suppressions = &suppressing.rules;
	err = reading_model(path, report_depth(report, &settings), NULL, &model);
	return err ? err : report_run_model(report, model, &settings, stdout);
}

static struct err *scan(const struct leaks_options *options, struct inspect_settings *settings)
{
	struct inspect_result result;
	struct err *err = inspect_leaks(settings, &result);

	if (!err && !options->quiet)
		print_pause(settings, &result);
	err_destroy(result.copy_err);
	return err;
}

/* An older file of that name is replaced when the new one is complete. */
static struct err *scan_kept(const struct leaks_options *options, struct inspect_settings *settings)
{
	CLEAN(str_deinit) struct str path = { 0 };
	struct err *err;

	str_printf(&path, "%s.%d", options->output, (int)getpid());
	if (path.failed)
		return err_nomem();
	settings->output_path = path.ptr;
	err = scan(options, settings);
	if (!err && rename(path.ptr, options->output) < 0) {
		err = err_errno("%s", options->output);
		unlink(path.ptr);
	}
	return err ? err : report_tape(options->output, options);
}

static struct err *scan_temporarily(const struct leaks_options *options,
				    struct inspect_settings *settings)
{
	const char *directory = getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(str_deinit) struct str folder = { 0 };
	struct err *err;

	str_printf(&folder, "%s/memtape-leaks-XXXXXX", directory);
	if (folder.failed)
		return err_nomem();
	if (!mkdtemp(folder.ptr))
		return err_errno("%s", folder.ptr);
	str_printf(&path, "%s/leaks.mtape", folder.ptr);
	settings->output_path = str_text(&path);
	err = path.failed ? err_nomem() : scan(options, settings);
	if (!err)
		err = report_tape(settings->output_path, options);
	unlink(str_text(&path));
	rmdir(folder.ptr);
	return err;
}

static struct err *leaks_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct leaks_options options = { .heuristics = "all" };
	struct inspect_settings settings = { .level = CAPTURE_PACK_LEVEL };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (!err && operand_count != 1)
		err = err_new(ERR_USAGE, "expected the number of one process");
	if (!err)
		err = pid_parse(argv[1], &settings.pid);
	if (!err)
		err = leak_heuristics_parse(options.heuristics, &settings.heuristics);
	if (!err)
		err = output_check_file(options.output, options.force);
	if (err)
		return err;
	return options.output ? scan_kept(&options, &settings)
			      : scan_temporarily(&options, &settings);
}

const struct command cmd_leaks = {
	.name = "leaks",
	.summary = "which blocks of a running program are lost",
	.options = {
		.usage = "memtape leaks [options] PID",
		.about = "Looks for pointers in the memory of process PID, which memtape records at this moment, and shows which blocks are lost: definitely, indirectly or possibly, as Memcheck does. The program stands still for a moment only, while its memory is copied (copy-on-write).",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = leaks_run,
};
