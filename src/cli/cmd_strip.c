/*
 * strip: makes a tape smaller by removing what is not needed.
 */

#include "capture/embedded.h"
#include "capture/strip.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "cli/suppressing.h"
#include "model/names.h"
#include "select/moment.h"
#include "symbol/rename.h"

enum { LEVEL_DEFAULT = 9, LEVEL_MAX = 19 };

struct strip_options {
	const char *output;
	uint64_t level;
	const char *min_lifetime;
	struct reading_part_options part;
	bool free_stacks;
	bool names;
	bool space;
	bool force;
	bool quiet;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct strip_options, output),
	  "output tape (required)" },
	{ "min-lifetime", 0, "D", OPTION_TEXT, offsetof(struct strip_options, min_lifetime),
	  "remove blocks freed in less than D (1ms, 50us, 2s)" },
	{ "from", 0, "T", OPTION_TEXT, READING_PART_ROW(struct strip_options, part, from),
	  "remove blocks freed before T (1.5s, 20ms, 75%, peak, mark(NAME))" },
	{ "until", 0, "T", OPTION_TEXT, READING_PART_ROW(struct strip_options, part, until),
	  "remove blocks allocated after T" },
	{ "filter", 0, "EXPR", OPTION_TEXT, READING_PART_ROW(struct strip_options, part, filter),
	  "only allocations that match EXPR; see memtape-filter(7)" },
	{ "no-free-stacks", 0, NULL, OPTION_UNFLAG, offsetof(struct strip_options, free_stacks),
	  "remove stacks of frees" },
	{ "no-names", 0, NULL, OPTION_UNFLAG, offsetof(struct strip_options, names),
	  "remove embedded names" },
	{ "no-space", 0, NULL, OPTION_UNFLAG, offsetof(struct strip_options, space),
	  "remove snapshots of the address space" },
	{ "level", 'l', "N", OPTION_U64, offsetof(struct strip_options, level),
	  "compression level from 1 (fast) to 19 (small); default: 9" },
	OUTPUT_FORCE_OPTION(struct strip_options, force),
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct strip_options, quiet),
	  "print errors only" },
	READING_SYMBOL_OPTIONS(struct strip_options, symbols),
};

static uint64_t model_clock(const void *context, uint64_t ticks)
{
	return model_ns(context, ticks);
}

static struct err *moment_of(const struct model *model, const char *option, const char *text,
			     uint64_t *ns_ret)
{
	struct moment moment;
	struct err *err = text ? moment_parse(text, &moment) : NULL;

	if (text && !err && strcmp(option, "until") == 0)
		err = moment_until_ns(&moment, model, ns_ret);
	else if (text && !err)
		err = moment_ns(&moment, model, ns_ret);
	return err_wrap(err, "--%s", option);
}

static struct err *duration_of(const char *text, uint64_t *ns_ret)
{
	struct moment moment = { .kind = MOMENT_END };
	struct err *err = moment_parse(text, &moment);

	if (!err && (moment.kind != MOMENT_TIME || moment.value == 0))
		err = err_new(ERR_USAGE, "expected a time above 0, such as 1ms");
	if (!err)
		*ns_ret = moment.value;
	return err_wrap(err, "--min-lifetime");
}

static void print_result(const char *path, const struct stripped *stripped)
{
	const struct rewritten *rewritten = &stripped->rewritten;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, path);
	str_add(&text, ": ");
	str_add_iec(&text, rewritten->bytes_in);
	str_add(&text, " -> ");
	str_add_iec(&text, rewritten->bytes_out);
	str_add(&text, ", ");
	str_add_counted(&text, rewritten->event_count, "event");
	str_add(&text, "; left out: ");
	str_add_grouped(&text, stripped->count);
	str_add(&text, stripped->count == 1 ? " allocation (" : " allocations (");
	str_add_iec(&text, stripped->bytes);
	str_add(&text, "), at most ");
	str_add_iec(&text, stripped->hidden_bytes);
	str_add(&text, " of them alive at once");
	if (rewritten->damage_count > 0) {
		str_add(&text, "; damaged in ");
		str_add_counted(&text, rewritten->damage_count, "place");
	}
	printf("%s\n", str_text(&text));
}

/* Names of JIT code refer to stack numbers, which change. */
static bool object_is_kept(void *context, const struct embedded_object *object,
			   const char **path_ret, const uint8_t **build_id_ret)
{
	bool *drops_some = context;

	(void)build_id_ret;
	if (strcmp(*path_ret, NAMES_JIT_MODULE) != 0)
		return true;
	*drops_some = object != NULL;
	return false;
}

/* The names to append to the tape if the existing ones cannot be kept; else none. */
static struct err *names_choose(const struct reading_symbols *symbols,
				struct strip_settings *settings, struct vec_u8 *names)
{
	bool drops_some = false;
	const struct renamer renamer = { .context = &drops_some, .object = object_is_kept };
	struct err *err = NULL;

	if (!settings->drops_names && symbols->embedded.objects.count > 0)
		err = names_rename(&symbols->embedded, &renamer, names);
	if (drops_some)
		settings->drops_names = true;
	else
		vec_u8_deinit(names);
	return err;
}

static struct err *tape_write(const char *tape_path, const char *out_path,
			      const struct strip_settings *settings, const struct vec_u8 *names,
			      struct stripped *stripped)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct reading_output output;
	struct err *err = capture_open(tape_path, &capture);

	if (!err)
		err = reading_output_open(&output, out_path, true, tape_path);
	if (err)
		return err;
	if (!output.temporary)
		err = err_new(ERR_USAGE, "--output: expected a file");
	if (!err)
		err = err_wrap(strip_tape(capture, fileno(output.file), settings, stripped), "%s",
			       out_path);
	if (!err && names->count > 0)
		err = capture_embedded_write(output.temporary, names->items, names->count);
	return reading_output_close(&output, err);
}

static struct err *strip(const struct strip_options *options, const char *tape_path,
			 struct stripped *stripped)
{
	struct selection_settings part = { .filter = options->part.filter, .ignores_leaks = true };
	const bool has_filter = part.filter && *part.filter;
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(vec_u8_deinit) struct vec_u8 embedded = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct selection *selection = NULL;
	struct strip_settings settings = {
		.level = (int)options->level,
		.ns = model_clock,
		.until_ns = UINT64_MAX,
		.filter = has_filter ? part.filter : NULL,
		.drops_free_stacks = !options->free_stacks,
		.drops_names = !options->names,
		.drops_space = !options->space,
	};
	struct err *err = NULL;

	if (options->min_lifetime)
		err = duration_of(options->min_lifetime, &settings.min_lifetime_ns);
	if (!err)
		err = reading_symbols_init(&symbols, &options->symbols, tape_path);
	if (!err)
		err = reading_model(tape_path, has_filter ? MODEL_FULL : MODEL_SUMMARY, NULL,
				    &model);
	if (!err)
		err = moment_of(model, "from", options->part.from, &settings.from_ns);
	if (!err)
		err = moment_of(model, "until", options->part.until, &settings.until_ns);
	if (!err && settings.from_ns > settings.until_ns)
		err = err_new(ERR_USAGE, "--until is before --from");
	if (!err && has_filter) {
		names = names_create(model, &symbols.options);
		err = names ? suppressing_load(&suppressing, NULL) : err_nomem();
	}
	if (!err && has_filter) {
		suppressor_init(&suppressor, model, names, &suppressing.rules);
		part.suppressor = &suppressor;
		err = selection_make(model, names, &part, &arena, &selection);
	}
	if (err)
		return err;
	err = names_choose(&symbols, &settings, &embedded);
	if (err)
		return err;
	settings.ns_context = model;
	settings.selected = selection ? selection->bits : NULL;
	return tape_write(tape_path, options->output, &settings, &embedded, stripped);
}

static struct err *options_check(const struct strip_options *options, int operand_count)
{
	const struct selection_settings part = reading_part(&options->part);
	struct err *err;

	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	if (!options->output)
		return err_new(ERR_USAGE, "expected --output FILE; the tape itself is not changed");
	if (options->level < 1 || options->level > LEVEL_MAX)
		return err_new(ERR_USAGE, "--level must be from 1 to %d", LEVEL_MAX);
	if (!options->min_lifetime && !options->part.from && !options->part.until &&
	    !options->part.filter && options->free_stacks && options->names && options->space)
		return err_new(ERR_USAGE,
			       "nothing to remove; expected --min-lifetime, --from, --until, "
			       "--filter, --no-free-stacks, --no-names or --no-space");
	err = output_check_file(options->output, options->force);
	return err ? err : selection_check(&part);
}

static struct err *strip_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct strip_options options = {
		.level = LEVEL_DEFAULT, .free_stacks = true, .names = true, .space = true
	};
	struct stripped stripped = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = options_check(&options, operand_count);
	if (!err)
		err = strip(&options, argv[1], &stripped);
	if (err)
		return err;
	if (!options.quiet)
		print_result(options.output, &stripped);
	*exit_code = stripped.rewritten.damage_count ? EXIT_FINDINGS : EXIT_OK;
	return NULL;
}

const struct command cmd_strip = {
	.name = "strip",
	.summary = "write a tape without short-lived blocks, times or details",
	.options = {
		.usage = "memtape strip TAPE -o FILE [options]",
		.about = "Writes a smaller tape, without short-lived blocks, blocks outside a time range, or blocks that do not match a filter. The new tape and its reports say what was removed. TAPE is not changed.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = strip_run,
};
