/*
 * leaks: which blocks of a running program, or of one that a core dump shows, are lost, and what
 * holds the others.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/brief.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/leak_heuristics.h"
#include "cli/pid_operand.h"
#include "collect/inspect.h"
#include "collect/postmortem.h"

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

static struct brief brief_of(const struct leaks_options *options)
{
	return (struct brief) { .report = "leak-classes",
				.is_json = options->json,
				.with = parameters_usual(),
				.suppressing = &options->suppressing,
				.symbols = &options->symbols };
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
	struct brief brief = brief_of(options);
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
	brief.with.scan = scan_id;
	return err ? err : brief_show(&brief, options->output);
}

/* A scan whose tape is not kept. */
struct passing {
	const struct leaks_subject *subject;
	struct brief brief;
};

static struct err *make_passing(void *context, const char *path)
{
	struct passing *passing = context;
	uint32_t scan_id = 0;
	struct err *err = scan(passing->subject, path, &scan_id);

	passing->brief.with.scan = scan_id;
	return err;
}

static struct err *scan_temporarily(const struct leaks_subject *subject)
{
	struct passing passing = { subject, brief_of(subject->options) };

	return brief_show_made(&passing.brief, make_passing, &passing);
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
