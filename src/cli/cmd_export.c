/*
 * export: writes a tape's sums as other tools' files.
 */
#include "export/export.h"

#include "capture/zst.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "cli/report_html.h"
#include "cli/session_operand.h"
#include "cli/suppressing.h"
#include "export/gzip.h"
#include "groups/measure.h"
#include "http/html_report.h"
#include "select/moment.h"
#include "select/sums_rows.h"
#include "sums/scans.h"

struct export_options {
	const char *format;
	const char *output;
	bool force;
	int metric; /* metric_words_stacks; -1: not given */
	uint64_t scan;
	struct reading_part_options part;
	struct suppressing_options suppressing;
	const char *at;
	int frames; /* enum walk_mode */
	struct reading_symbol_options symbols;
	bool list;
};

static const struct option_row rows[] = {
	{ "to", 't', "FORMAT", OPTION_TEXT, offsetof(struct export_options, format),
	  "the format, one of --list" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct export_options, output),
	  "write to FILE instead of standard output; compressed if it ends in .gz or .zst" },
	OUTPUT_FORCE_OPTION(struct export_options, force),
	{ "metric", 'm', "WHAT", OPTION_CHOICE, offsetof(struct export_options, metric),
	  "metric (retained: at a leak scan; stale: alive and not used); default: peak",
	  metric_words_stacks },
	{ "scan", 0, "N", OPTION_U64, offsetof(struct export_options, scan),
	  "--metric retained: of the Nth leak scan (default: the last)" },
	READING_PART_OPTIONS(struct export_options, part),
	SUPPRESSING_OPTIONS(struct export_options, suppressing),
	{ "at", 0, "T", OPTION_TEXT, offsetof(struct export_options, at),
	  "what was alive at T, for formats that are sums" },
	{ "frames", 0, "WHICH", OPTION_CHOICE, offsetof(struct export_options, frames),
	  "frames of stacks: my: of the user's own code; exact (default): of libraries too; all: "
	  "of "
	  "allocators and program start too",
	  walk_mode_words },
	READING_SYMBOL_OPTIONS(struct export_options, symbols),
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct export_options, list), "list the formats" },
};

static enum metric metric_of(const struct export_options *options)
{
	return options->metric >= 0 ? metric_of_stacks((unsigned)options->metric) : METRIC_PEAK;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Readers choose the compression by file name. */
enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

static enum packing packing_of(const char *output)
{
	if (output && ends_with(output, ".gz"))
		return PACKING_GZIP;
	return output && ends_with(output, ".zst") ? PACKING_ZSTD : PACKING_NONE;
}

/*
 * HTML is produced by http, which export may not include, and always covers the whole tape. Its
 * options are those of report --html.
 */

static bool is_html(const struct export_options *options)
{
	return options->format && strcmp(options->format, HTML_REPORT_NAME) == 0;
}

static struct err *html_run(const struct export_options *options, const char *tape_path)
{
	const struct report_html_options html = { .html = true };

	if (options->metric >= 0 || options->scan || options->part.filter || options->part.from ||
	    options->part.until || options->at || options->frames != WALK_EXACT)
		return err_new(ERR_USAGE, "--to html: the page has the whole tape; --metric, "
					  "--scan, --filter, --from, "
					  "--until, --at and --frames do not go with it");
	if (packing_of(options->output) != PACKING_NONE)
		return err_new(
			ERR_USAGE,
			"%s: browsers do not open compressed files; the page is compressed inside",
			options->output);
	return report_html(&html, &options->symbols, &options->suppressing, tape_path,
			   options->output, options->force);
}

static void formats_list(void)
{
	static const char *const groups[] = {
		[EXPORT_SUMS] = "Sums, of the whole run or of a moment (--at):",
		[EXPORT_COURSE] = "The whole run, over time:",
		[EXPORT_EVENTS] = "Single allocations and frees:",
	};

	for (size_t kind = 0; kind < array_size(groups); kind++) {
		printf("%s%s\n", kind ? "\n" : "", groups[kind]);
		for (const struct export_format *const *at = export_table; *at; at++) {
			if ((*at)->kind == (enum export_kind)kind)
				printf("  %-12s %s\n", (*at)->name, (*at)->summary);
		}
	}
	printf("\nEverything:\n  %-12s %s\n", HTML_REPORT_NAME, HTML_REPORT_SUMMARY);
}

static struct err *format_choose(const char *name, const struct export_format **format_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };

	*format_ret = name ? export_find(name) : NULL;
	if (*format_ret)
		return NULL;
	for (const struct export_format *const *at = export_table; *at; at++)
		str_printf(&known, "%s, ", (*at)->name);
	str_add(&known, HTML_REPORT_NAME);
	if (!name)
		return err_new(ERR_USAGE, "expected --to FORMAT: %s", str_text(&known));
	return err_new(ERR_USAGE, "unknown format '%s'; expected one of %s", name,
		       str_text(&known));
}

/* Whether the format supports --at. */
static struct err *moment_check(const struct export_format *format, const char *at,
				struct moment *moment_ret)
{
	struct err *err = moment_parse(at, moment_ret);

	return err_wrap(err ? err : export_at_check(format), "--at");
}

/* Chooses the sums of the selection, or those at the requested moment or leak scan. */
static struct err *sums_choose(const struct selection *selection,
			       const struct export_options *options, struct arena *arena,
			       uint64_t *ns_ret, struct export_context *context)
{
	const struct measure measure = { .metric = metric_of(options), .scan = options->scan };
	struct moment moment;
	struct err *err;

	if (measure.metric == METRIC_RETAINED) {
		err = scan_choose(selection->model, measure.scan, &context->scan);
		return err ? err : measure_sums(selection, &measure, arena, &context->sums);
	}
	if (metric_is_seen(measure.metric))
		return measure_sums(selection, &measure, arena, &context->sums);
	if (!options->at) {
		context->sums = selection->sums;
		return NULL;
	}
	err = moment_parse(options->at, &moment);
	if (!err)
		err = moment_ns(&moment, selection->model, ns_ret);
	if (err)
		return err_wrap(err, "--at");
	context->at_ns = ns_ret;
	return sums_at(selection->model, selection_is_all(selection) ? NULL : selection, *ns_ret,
		       arena, &context->sums);
}

static struct err *export_write(const struct export_format *format,
				const struct export_options *options, const char *tape_path,
				FILE *out)
{
	const enum model_depth depth =
		options->at || measure_needs_rows(metric_of(options)) ? MODEL_FULL : format->depth;
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	struct selection_settings part = reading_part(&options->part);
	struct export_context context = {
		.tape_path = tape_path,
		.metric = metric_of(options),
		.mode = (enum walk_mode)options->frames,
	};
	const struct model_settings how = reading_part_model(&options->part);
	uint64_t at_ns = 0;
	struct err *err = reading_symbols_init(&symbols, &options->symbols, tape_path);

	if (!err)
		err = suppressing_load(&suppressing, &options->suppressing);
	if (!err)
		err = reading_model(tape_path, reading_part_depth(&options->part, depth), &how,
				    &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	if (!names)
		return err_nomem();
	suppressor_init(&suppressor, model, names, &suppressing.rules);
	part.suppressor = &suppressor;
	part.ignores_leaks = format->has_alive || format->kind != EXPORT_SUMS;
	err = selection_make(model, names, &part, &arena, &context.selection);
	if (!err)
		err = sums_choose(context.selection, options, &arena, &at_ns, &context);
	if (err)
		return err;
	context.model = model;
	context.names = names;
	return format->write(&context, out);
}

/* Writes to out, compressed as its name requires unless the format compresses itself. */
static struct err *export_pack(const struct export_format *format,
			       const struct export_options *options, const char *tape_path,
			       FILE *out)
{
	const enum packing packing = format->is_gzip ? PACKING_NONE : packing_of(options->output);
	FILE *file;
	struct err *err;

	if (packing == PACKING_NONE)
		return export_write(format, options, tape_path, out);
	file = packing == PACKING_GZIP ? gzip_open(out) : zst_open(out);
	if (!file)
		return err_nomem();
	err = export_write(format, options, tape_path, file);
	if (fclose(file) != 0 && !err)
		err = err_errno("write");
	return err;
}

static struct err *options_check(const struct export_options *options,
				 const struct export_format **format_ret)
{
	const struct selection_settings part = reading_part(&options->part);
	struct moment moment;
	struct err *err = format_choose(options->format, format_ret);

	if (!err && options->at)
		err = moment_check(*format_ret, options->at, &moment);
	if (!err)
		err = export_metric_check(*format_ret, metric_of(options), options->at != NULL);
	if (!err && options->scan && metric_of(options) != METRIC_RETAINED)
		err = err_new(ERR_USAGE, "--scan is for --metric retained");
	if (!err && (*format_ret)->is_gzip && packing_of(options->output) == PACKING_ZSTD)
		err = err_new(ERR_USAGE,
			      "%s: readers would take it for zstd, but a file of %s is gzip; "
			      "its name ends with %s",
			      options->output, (*format_ret)->name, (*format_ret)->suffix);
	return err ? err : selection_check(&part);
}

static struct err *export_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct export_options options = { .metric = -1, .frames = WALK_EXACT };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct export_format *format;
	struct reading_output output;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (options.list) {
		formats_list();
		return NULL;
	}
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	err = session_operands(argv + 1, 1, &arena);
	if (err)
		return err;
	if (is_html(&options))
		return html_run(&options, argv[1]);
	err = options_check(&options, &format);
	if (!err)
		err = reading_output_open(&output, options.output, options.force, argv[1]);
	if (err)
		return err;
	return reading_output_close(&output, export_pack(format, &options, argv[1], output.file));
}

const struct command cmd_export = {
	.name = "export",
	.summary = "export a tape to the format of another tool",
	.options = {
		.usage = "memtape export TAPE --to FORMAT [-o FILE] [options]",
		.about = "Exports a tape to the format of another tool.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = export_run,
};
