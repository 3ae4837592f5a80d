/*
 * leaks: which blocks of a running program, or of one that a core dump shows, are lost, and what
 * holds the others.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/leak_heuristics.h"
#include "cli/pid_operand.h"
#include "cli/reading.h"
#include "cli/suppressing.h"
#include "collect/inspect.h"
#include "collect/postmortem.h"
#include "report/report.h"

struct leaks_options {
	const char *core;
	const char *tape;
	const char *output;
	bool force;
	const char *heuristics;
	bool json;
	bool quiet;
	struct suppressing_options suppressing;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "core", 'c', "CORE", OPTION_TEXT, offsetof(struct leaks_options, core),
	  "look at this core dump, written by the kernel or by gcore, instead of a process" },
	{ "tape", 0, "TAPE", OPTION_TEXT, offsetof(struct leaks_options, tape),
	  "with --core: the program's tape (the default: where the program wrote it)" },
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

static void print_pause(const struct inspect_settings *settings, struct inspect_result *result)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (result->was_asked) {
		fprintf(stderr,
			"memtape: process %d was scanned by the memtape that records it; the scan "
			"is "
			"number %u on its tape, too\n",
			(int)settings->pid, result->scan_id);
		return;
	}
	str_printf(&text, "memtape: process %d stood still for ", (int)settings->pid);
	str_add_duration(&text, result->pause_ns);
	if (result->copy_err)
		str_printf(&text, ", until the scan was done: %s", err_message(result->copy_err));
	fprintf(stderr, "%s\n", str_text(&text));
}

static struct err *report_tape(const char *path, uint32_t scan_id,
			       const struct leaks_options *options)
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
	struct err *err;

	settings.with.scan = scan_id;
	err = report_settle(report, &settings);
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

/* What is looked at: a process or a core dump. */
struct leaks_subject {
	const struct leaks_options *options;
	struct inspect_settings process;
	struct postmortem_settings core; /* core_path NULL: it is the process */
};

static struct err *scan_process(const struct leaks_subject *subject, const char *output_path,
				uint32_t *scan_id_ret)
{
	struct inspect_settings settings = subject->process;
	struct inspect_result result;
	struct err *err;

	settings.output_path = output_path;
	err = inspect_leaks(&settings, &result);
	if (!err && !subject->options->quiet)
		print_pause(&settings, &result);
	err_destroy(result.copy_err);
	*scan_id_ret = result.scan_id;
	return err;
}

static struct err *scan_core(const struct leaks_subject *subject, const char *output_path,
			     uint32_t *scan_id_ret)
{
	struct postmortem_settings settings = subject->core;
	struct postmortem_result result;
	struct err *err;

	settings.output_path = output_path;
	err = postmortem_leaks(&settings, &result);
	for (const char *at = str_text(&result.notes); *at && !subject->options->quiet;) {
		const size_t length = strcspn(at, "\n");

		fprintf(stderr, "memtape: %.*s\n", (int)length, at);
		at += length + (at[length] == '\n');
	}
	str_deinit(&result.notes);
	*scan_id_ret = result.scan_id;
	return err;
}

static struct err *scan(const struct leaks_subject *subject, const char *output_path,
			uint32_t *scan_id_ret)
{
	return subject->core.core_path ? scan_core(subject, output_path, scan_id_ret)
				       : scan_process(subject, output_path, scan_id_ret);
}

/* An older file of that name is replaced when the new one is complete. */
static struct err *scan_kept(const struct leaks_subject *subject)
{
	const struct leaks_options *options = subject->options;
	CLEAN(str_deinit) struct str path = { 0 };
	uint32_t scan_id = 0;
	struct err *err;

	str_printf(&path, "%s.%d", options->output, (int)getpid());
	if (path.failed)
		return err_nomem();
	err = scan(subject, path.ptr, &scan_id);
	if (!err && rename(path.ptr, options->output) < 0) {
		err = err_errno("%s", options->output);
		unlink(path.ptr);
	}
	return err ? err : report_tape(options->output, scan_id, options);
}

static struct err *scan_temporarily(const struct leaks_subject *subject)
{
	const char *directory = getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(str_deinit) struct str folder = { 0 };
	uint32_t scan_id = 0;
	struct err *err;

	str_printf(&folder, "%s/memtape-leaks-XXXXXX", directory);
	if (folder.failed)
		return err_nomem();
	if (!mkdtemp(folder.ptr))
		return err_errno("%s", folder.ptr);
	str_printf(&path, "%s/leaks.mtape", folder.ptr);
	err = path.failed ? err_nomem() : scan(subject, str_text(&path), &scan_id);
	if (!err)
		err = report_tape(str_text(&path), scan_id, subject->options);
	unlink(str_text(&path));
	rmdir(folder.ptr);
	return err;
}

/* The operand is a process, or of a core dump its executable, which may be left out. */
static struct err *subject_find(const struct leaks_options *options, int operand_count,
				char **operands, struct leaks_subject *subject)
{
	*subject = (struct leaks_subject) {
		.options = options,
		.process.level = CAPTURE_PACK_LEVEL,
		.core = { .core_path = options->core,
			  .exe_path = operand_count > 0 ? operands[0] : NULL,
			  .tape_path = options->tape,
			  .level = CAPTURE_PACK_LEVEL },
	};
	if (options->core)
		return operand_count <= 1 ? NULL
					  : err_new(ERR_USAGE, "expected one executable at most");
	if (options->tape)
		return err_new(ERR_USAGE, "--tape is of use with --core only");
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected the number of one process, or --core");
	return pid_operand(operand_count, operands, &subject->process.pid);
}

static struct err *leaks_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct leaks_options options = { .heuristics = "all" };
	struct leaks_subject subject;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (!err)
		err = subject_find(&options, operand_count, argv + 1, &subject);
	if (!err)
		err = leak_heuristics_parse(options.heuristics, &subject.process.heuristics);
	if (!err)
		err = output_check_file(options.output, options.force);
	if (err)
		return err;
	subject.core.heuristics = subject.process.heuristics;
	return options.output ? scan_kept(&subject) : scan_temporarily(&subject);
}

const struct command cmd_leaks = {
	.name = "leaks",
	.summary = "which blocks of a running program, or of a core dump, are lost",
	.options = {
		.usage = "memtape leaks [options] PID\n       memtape leaks [options] --core CORE [EXE]",
		.about = "Looks for pointers in the memory of process PID, or in a core dump, and shows which blocks are lost: definitely, indirectly or possibly, as Memcheck does. A process stands still for a moment only, while its memory is copied (copy-on-write).",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = leaks_run,
};
