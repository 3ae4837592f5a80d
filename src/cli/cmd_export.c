/*
 * export: a tape's sums as files of other tools.
 */
#include "export/export.h"

#include "cli/command.h"
#include "cli/reading.h"

struct export_options {
	const char *format;
	const char *output;
	int metric;
	struct reading_part_options part;
	bool shows_all;
	struct reading_symbol_options symbols;
	bool list;
};

static const struct option_row rows[] = {
	{ "to", 't', "FORMAT", OPTION_TEXT, offsetof(struct export_options, format),
	  "the format, one of --list" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct export_options, output),
	  "write to FILE instead of standard output" },
	{ "metric", 'm', "WHAT", OPTION_CHOICE, offsetof(struct export_options, metric),
	  "peak (the default), leaked, allocated (bytes), count or temporary (calls)",
	  metric_words },
	READING_PART_OPTIONS(struct export_options, part),
	{ "all-frames", 'a', NULL, OPTION_FLAG, offsetof(struct export_options, shows_all),
	  "keep allocators and program start in stacks, which are folded away otherwise" },
	READING_SYMBOL_OPTIONS(struct export_options, symbols),
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct export_options, list),
	  "list the formats there are" },
};

static void formats_list(void)
{
	for (const struct export_format *const *at = export_table; *at; at++)
		printf("%-12s %s\n", (*at)->name, (*at)->summary);
}

static struct err *format_choose(const char *name, const struct export_format **format_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };

	*format_ret = name ? export_find(name) : NULL;
	if (*format_ret)
		return NULL;
	for (const struct export_format *const *at = export_table; *at; at++)
		str_printf(&known, "%s%s", at == export_table ? "" : ", ", (*at)->name);
	if (!name)
		return err_new(ERR_USAGE, "--to FORMAT is wanted: %s", str_text(&known));
	return err_new(ERR_USAGE, "no format '%s'; there are %s", name, str_text(&known));
}

static struct err *export_write(const struct export_format *format,
				const struct export_options *options, const char *tape_path,
				FILE *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct selection_settings part = reading_part(&options->part);
	const struct selection *selection;
	struct err *err = reading_symbols_init(&symbols, &options->symbols, tape_path);

	if (!err)
		err = reading_model(tape_path, reading_part_depth(&options->part, format->depth),
				    NULL, &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	if (!names)
		return err_nomem();
	err = selection_make(model, names, &part, &arena, &selection);
	if (err)
		return err;
	return format->write(
		&(struct export_context) {
			.tape_path = tape_path,
			.model = model,
			.names = names,
			.selection = selection,
			.sums = selection->sums,
			.metric = (enum metric)options->metric,
			.mode = options->shows_all ? WALK_ALL : WALK_FOLD,
		},
		out);
}

static struct err *export_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct export_options options = { .metric = METRIC_PEAK };
	const struct export_format *format;
	struct selection_settings part;
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
		return err_new(ERR_USAGE, "one tape is wanted");
	err = format_choose(options.format, &format);
	if (err)
		return err;
	part = reading_part(&options.part);
	err = selection_check(&part);
	if (!err)
		err = reading_output_open(&output, options.output, argv[1]);
	if (err)
		return err;
	return reading_output_close(&output, export_write(format, &options, argv[1], output.file));
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write a tape as a file of another tool",
	.options = {
		.usage = "memtape export TAPE --to FORMAT [-o FILE] [options]",
		.about = "Writes what is on a tape in a format of other tools.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = export_run,
};
