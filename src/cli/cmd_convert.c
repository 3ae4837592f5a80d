/*
 * convert: converts another tool's recording to a tape.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "convert/convert.h"
#include "model/import.h"

enum { PROGRESS_BYTES = 16 << 20 }; /* between two progress lines */

struct convert_options {
	const char *output;
	const char *format;
	bool force;
	bool quiet;
	bool list;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct convert_options, output),
	  "output tape; default: the name of IN with .mtape appended, in the current folder" },
	{ "from", 0, "FORMAT", OPTION_TEXT, offsetof(struct convert_options, format),
	  "format of IN, one of --list; default: detected from its content" },
	OUTPUT_FORCE_OPTION(struct convert_options, force),
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct convert_options, quiet),
	  "print errors only" },
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct convert_options, list),
	  "list the formats, and how such files are made" },
};

static void importers_list(void)
{
	for (size_t i = 0; importer_table[i]; i++)
		printf("  %-12s %s\n  %-12s   %s\n", importer_table[i]->name,
		       importer_table[i]->title, "", importer_table[i]->recipe);
}

static struct err *importer_choose(const char *name, const struct importer **importer_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };

	*importer_ret = name ? importer_find(name) : NULL;
	if (*importer_ret || !name)
		return NULL;
	for (size_t i = 0; importer_table[i]; i++)
		str_printf(&known, "%s%s", i ? ", " : "", importer_table[i]->name);
	return err_new(ERR_USAGE, "--from: unknown format '%s'; expected one of %s", name,
		       str_text(&known));
}

/* --- while it takes time ---------------------------------------------------------------------- */

struct progress {
	uint64_t shown_bytes;
	bool is_shown;
};

static void progress_show(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	struct progress *progress = context;
	CLEAN(str_deinit) struct str line = { 0 };

	if (done_bytes - progress->shown_bytes < PROGRESS_BYTES)
		return;
	progress->shown_bytes = done_bytes;
	progress->is_shown = true;
	str_add(&line, "\rread ");
	str_add_iec(&line, done_bytes);
	if (total_bytes > 0) {
		str_add(&line, " of ");
		str_add_iec(&line, total_bytes);
	}
	str_add(&line, "   ");
	fputs(str_text(&line), stderr);
}

static void progress_end(const struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
}

/* --- what was done ---------------------------------------------------------------------------- */

static void result_print(const char *in, const char *out, const struct converted *converted)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, in);
	str_printf(&text, " (%s, ", converted->importer->name);
	str_add_iec(&text, converted->bytes_in);
	str_add(&text, ") -> ");
	str_add_terminal(&text, out);
	str_add(&text, " (");
	str_add_iec(&text, converted->bytes_out);
	str_add(&text, "), ");
	str_add_grouped(&text, converted->event_count);
	str_add(&text, " events\n");
	if (converted->missing) {
		str_add(&text, "not in that file: ");
		model_missing_add(&text, converted->missing);
		str_add_char(&text, '\n');
	}
	str_add(&text, str_text(&converted->notes));
	fputs(str_text(&text), stdout);
}

/* Appends .mtape to the file's name and keeps its old extension. */
static struct err *output_name(const char *in, struct str *out)
{
	const char *slash = strrchr(in, '/');

	str_printf(out, "%s.mtape", slash ? slash + 1 : in);
	return out->failed ? err_nomem() : NULL;
}

static struct err *run_with(const struct convert_options *options, const char *in, const char *out,
			    int *exit_code)
{
	struct progress progress = { 0 };
	struct convert_settings settings = { .overwrite = options->force, .context = &progress };
	struct converted converted = { 0 };
	struct err *err = importer_choose(options->format, &settings.importer);

	if (err)
		return err;
	if (!options->quiet && isatty(STDERR_FILENO))
		settings.progress = progress_show;
	err = convert_file(in, out, &settings, &converted);
	progress_end(&progress);
	if (err && err_errno_of(err) == EEXIST) {
		err_destroy(err);
		return output_exists(out);
	}
	if (err)
		return err;
	if (!options->quiet)
		result_print(in, out, &converted);
	if (converted.is_torn)
		*exit_code = EXIT_FINDINGS;
	str_deinit(&converted.notes);
	return NULL;
}

static struct err *convert_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct convert_options options = { 0 };
	CLEAN(str_deinit) struct str name = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (err)
		return err;
	if (options.list) {
		importers_list();
		return NULL;
	}
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one file");
	if (!options.output)
		err = output_name(argv[1], &name);
	if (err)
		return err;
	return run_with(&options, argv[1], options.output ? options.output : name.ptr, exit_code);
}

const struct command cmd_convert = {
	.name = "convert",
	.summary = "convert another tool's recording to a tape",
	.options = {
		.usage = "memtape convert IN [-o FILE] [--from FORMAT]",
		.about = "Converts a recording of another memory profiler to a tape. What that tool does not record is marked as missing, and reports say so.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = convert_run,
};
