/*
 * heatmap: a tape, or two columns of text, as an interactive heat map.
 */
#include "cli/caption.h"
#include "cli/command.h"
#include "cli/heatmap_options.h"
#include "cli/input.h"
#include "cli/session_operand.h"
#include "cli/suppressing.h"
#include "questions/address_space.h"
#include "questions/questions.h"

enum {
	ROWS_DEFAULT = 50,
	COLUMNS_DEFAULT = 150,
	FONT_DEFAULT = 12,
	BOX_DEFAULT = 8,
	PIXELS_MAX = 1000
};

static const char *const time_units[] = { "s", "ms", "us", "ns", NULL };
static const char *const scales[] = { "log", "linear", NULL };

#define ROW(member) offsetof(struct heatmap_options, member)

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, ROW(output),
	  "write to FILE instead of standard output" },
	OUTPUT_FORCE_OPTION(struct heatmap_options, force),
	{ "title", 0, "TEXT", OPTION_TEXT, ROW(title), "title" },
	{ "what", 0, "WHAT", OPTION_CHOICE, ROW(what),
	  "of a tape: what is shown over time (size-lifetime: lifetime by size; latency: of "
	  "allocating calls; idle: for how long live memory was not touched); default: size",
	  heat_what_words },
	{ "scale", 0, "SCALE", OPTION_CHOICE, ROW(scale),
	  "scale of values; default: log for tapes, linear for text", scales },
	{ "unitstime", 0, "UNIT", OPTION_CHOICE, ROW(time_unit),
	  "unit of the first column of text; default: s", time_units },
	{ "unitslabel", 0, "TEXT", OPTION_TEXT, ROW(label),
	  "unit of the second column; s, ms, us and ns are times" },
	{ "unitslatency", 0, "TEXT", OPTION_TEXT, ROW(old_label), "same as --unitslabel" },
	{ "minlat", 0, "N", OPTION_TEXT, ROW(min),
	  "smallest value shown; default: 0 for text, 4KiB or 10us for tapes" },
	{ "maxlat", 0, "N", OPTION_TEXT, ROW(max), "largest value shown" },
	{ "rows", 0, "N", OPTION_U64, ROW(rows), "rows of cells (default: 50)" },
	{ "steplat", 0, "N", OPTION_TEXT, ROW(row_step), "height of a row, instead of --rows" },
	{ "stepsec", 0, "SECONDS", OPTION_TEXT, ROW(column_seconds),
	  "time per column; default: 1 for text, what gives --columns for tapes" },
	{ "columns", 0, "N", OPTION_U64, ROW(columns),
	  "of a tape: columns of cells (default: 150)" },
	{ "maxcol", 0, "N", OPTION_U64, ROW(columns_max), "of text: at most N columns" },
	{ "maxcount", 0, "N", OPTION_U64, ROW(count_max),
	  "events in a cell with the darkest colour; default: the most there are" },
	{ "linear-colors", 0, NULL, OPTION_FLAG, ROW(is_linear_colour),
	  "colours proportional to counts, not to their logarithm" },
	{ "reflat", 0, "N", OPTION_TEXT, ROW(reference), "draw a red line at this value" },
	{ "delta", 0, NULL, OPTION_FLAG, ROW(is_delta),
	  "text has one column, a time; the value is the time since the line before" },
	{ "grid", 0, NULL, OPTION_FLAG, ROW(has_grid), "draw grid lines" },
	{ "accstats", 0, NULL, OPTION_FLAG, ROW(has_accumulated),
	  "tooltips: also the number of events up to each cell of a column" },
	{ "fonttype", 0, "NAME", OPTION_TEXT, ROW(font), "font (default: Verdana)" },
	{ "fontsize", 0, "PIXELS", OPTION_U64, ROW(font_size), "font size (default: 12)" },
	{ "boxsize", 0, "PIXELS", OPTION_U64, ROW(box_size), "size of a cell (default: 8)" },
	READING_PART_OPTIONS(struct heatmap_options, part),
};

/* --- idle memory ------------------------------------------------------------------------------ */

static struct err *idle_check(const struct heatmap_options *options)
{
	if (options->scale == HEATMAP_SCALE_LINEAR || options->row_step || options->min ||
	    options->max)
		return err_new(ERR_USAGE, "--what idle has rows of its own: --scale, --steplat, "
					  "--minlat and --maxlat are for the others");
	return NULL;
}

static struct err *idle_heat(const struct idle_answer *idle, const struct model *model,
			     const struct heat_request *request, struct arena *arena,
			     struct heat *heat)
{
	const struct idle_look *looks = idle->looks.items;
	struct heat_moment *items = arena_array(arena, idle->looks.count, sizeof(*items));
	const struct heat_moments moments = { items,
					      idle->looks.count,
					      idle->bounds_ns.items,
					      idle->bounds_ns.count,
					      model_process(model)->duration_ns,
					      idle->done };

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < idle->looks.count; i++)
		items[i] = (struct heat_moment) { looks[i].ns, looks[i].bytes.items };
	return heat_of_moments(&moments, request, arena, heat);
}

static struct err *heat_of_idle(const struct selection *selection, struct names *names,
				const struct heat_request *request, struct arena *arena,
				struct heat *heat)
{
	struct parameters with = parameters_usual();
	struct asked asked = { .model = selection->model,
			       .names = names,
			       .selection = selection,
			       .arena = arena,
			       .with = &with };
	const void *answer;
	struct err *err;

	with.points = u64_min(request->columns, IDLE_POINTS_MAX);
	err = question_prepare(&question_idle, &asked);
	if (!err)
		err = question_ask(&question_idle, &asked, &answer);
	return err ? err : idle_heat(answer, selection->model, request, arena, heat);
}

/* --- tapes ----------------------------------------------------------------------------------- */

/* A value of the vertical axis: bytes or nanoseconds. */
static struct err *number_parse(const struct heatmap_options *options, const char *option,
				const char *text, double *value_ret)
{
	const bool is_size = options->what == HEAT_SIZE;
	uint64_t value;

	if (is_size ? str_parse_bytes(text, &value) : str_parse_duration(text, &value)) {
		*value_ret = (double)value;
		return NULL;
	}
	return err_new(ERR_USAGE, "%s: '%s' is not a %s", option, text,
		       is_size ? "size such as 4KiB" : "time such as 10us");
}

static struct err *request_make(const struct heatmap_options *options, struct heat_request *request)
{
	double seconds = 0;
	struct err *err = NULL;

	*request = (struct heat_request) {
		.what = (enum heat_what)options->what,
		.columns = options->columns,
		.rows = options->rows,
		.is_log = options->scale != HEATMAP_SCALE_LINEAR,
		.has_min = options->min != NULL,
		.has_max = options->max != NULL,
	};
	if (request->what == HEAT_IDLE)
		err = idle_check(options);
	if (err)
		return err;
	if (options->row_step && request->is_log)
		return err_new(ERR_USAGE, "--steplat is for --scale linear");
	if (options->min)
		err = number_parse(options, "--minlat", options->min, &request->min);
	if (!err && options->max)
		err = number_parse(options, "--maxlat", options->max, &request->max);
	if (!err && options->row_step)
		err = number_parse(options, "--steplat", options->row_step, &request->row_step);
	if (!err && options->column_seconds)
		err = heatmap_number("--stepsec", options->column_seconds, &seconds);
	if (!err && (seconds < 0 || (options->column_seconds && seconds == 0)))
		err = err_new(ERR_USAGE, "--stepsec must be greater than 0");
	if (!err && options->min && options->max && request->max < request->min)
		err = err_new(ERR_USAGE, "--minlat is greater than --maxlat");
	request->column_ns = seconds * 1e9;
	return err;
}

static struct err *heat_of_model(const struct heatmap_options *options, struct arena *arena,
				 struct heat *heat, struct str *title, struct str *subtitle)
{
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	struct selection_settings part = reading_part(&options->part);
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(names_destroy) struct names *names = NULL;
	const struct selection *selection;
	const struct model_settings how = reading_part_model(&options->part);
	struct heat_request request;
	struct err *err = request_make(options, &request);

	if (!err)
		err = suppressing_load(&suppressing, NULL);
	if (!err)
		err = reading_model(options->input, MODEL_FULL, &how, &model);
	if (err)
		return err;
	names = names_create(model, NULL);
	if (!names)
		return err_nomem();
	suppressor_init(&suppressor, model, names, &suppressing.rules);
	part.suppressor = &suppressor;
	part.ignores_leaks = true;
	err = selection_make(model, names, &part, arena, &selection);
	if (!err && request.what == HEAT_IDLE)
		err = heat_of_idle(selection, names, &request, arena, heat);
	else if (!err)
		err = heat_of_tape(selection, &request, arena, heat);
	if (err)
		return err;
	str_printf(title, "%s: ", heat_what_title(request.what));
	caption_command(title, model_process(model));
	caption_facts(subtitle, model, &options->part);
	return NULL;
}

/* --- both ------------------------------------------------------------------------------------ */

static struct err *heatmap_draw(struct heatmap_options *options, enum input_kind kind,
				struct arena *arena, FILE *out)
{
	CLEAN(str_deinit) struct str svg = { 0 };
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	struct heat_svg_settings settings = {
		.font = options->font,
		.font_size = (unsigned)options->font_size,
		.box_size = (unsigned)options->box_size,
		.count_max = options->count_max,
		.is_log_colour = !options->is_linear_colour,
		.has_grid = options->has_grid,
		.has_accumulated = options->has_accumulated,
		.has_reference = options->reference != NULL,
	};
	struct heat heat;
	struct err *err = NULL;

	if (options->reference)
		err = kind == INPUT_TAPE
			      ? number_parse(options, "--reflat", options->reference,
					     &settings.reference)
			      : heatmap_number("--reflat", options->reference, &settings.reference);
	if (!err && kind != INPUT_TAPE && heatmap_value_ns(options) > 0)
		settings.reference *= heatmap_value_ns(options);
	if (!err && kind == INPUT_TAPE)
		err = heat_of_model(options, arena, &heat, &title, &subtitle);
	else if (!err)
		err = heatmap_of_text(options, arena, &heat);
	if (err)
		return err;
	settings.title = options->title	      ? options->title
			 : kind == INPUT_TAPE ? str_text(&title)
					      : "Latency Heat Map";
	settings.subtitle = subtitle.len > 0 ? str_text(&subtitle) : NULL;
	err = heat_svg(&heat, &settings, &svg);
	if (!err && fwrite(svg.ptr, 1, svg.len, out) != svg.len)
		err = err_errno("write");
	return err;
}

static struct err *heatmap_check(const struct heatmap_options *options)
{
	const struct selection_settings part = reading_part(&options->part);

	if (!options->output && isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE, "expected -o FILE; a picture is not for a terminal");
	if (options->rows < 1 || options->rows > HEAT_SIDE_MAX)
		return err_new(ERR_USAGE, "--rows: 1 to %d", (int)HEAT_SIDE_MAX);
	if (options->columns < 1 || options->columns > HEAT_SIDE_MAX)
		return err_new(ERR_USAGE, "--columns: 1 to %d", (int)HEAT_SIDE_MAX);
	if (options->font_size < 1 || options->font_size > PIXELS_MAX || options->box_size < 1 ||
	    options->box_size > PIXELS_MAX)
		return err_new(ERR_USAGE, "--fontsize and --boxsize: 1 to %d", (int)PIXELS_MAX);
	return selection_check(&part);
}

static struct err *heatmap_write(struct heatmap_options *options)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct reading_output output;
	enum input_kind kind;
	struct err *err = heatmap_check(options);

	if (!err)
		err = input_kind_of(options->input, &kind);
	if (!err && kind != INPUT_TAPE &&
	    (options->part.filter || options->part.from || options->part.until))
		err = err_new(ERR_USAGE, "--filter, --from and --until are for tapes");
	if (!err)
		err = reading_output_open(&output, options->output, options->force, options->input);
	if (err)
		return err;
	return reading_output_close(&output, heatmap_draw(options, kind, &arena, output.file));
}

static struct err *heatmap_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct heatmap_options options = {
		.rows = ROWS_DEFAULT,
		.columns = COLUMNS_DEFAULT,
		.font = "Verdana",
		.font_size = FONT_DEFAULT,
		.box_size = BOX_DEFAULT,
		.scale = HEATMAP_SCALE_DEFAULT,
		.input = "-",
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count > 1)
		return err_new(ERR_USAGE, "expected one tape or file");
	err = output_check_svg(options.output);
	if (!err)
		err = session_operands(argv + 1, (size_t)operand_count, &arena);
	if (operand_count == 1)
		options.input = argv[1];
	return err ? err : heatmap_write(&options);
}

const struct command cmd_heatmap = {
	.name = "heatmap",
	.summary = "draw a tape, or two columns of text, as a heat map",
	.options = {
		.usage = "memtape heatmap [TAPE|FILE] -o FILE.svg [options]",
		.about = "Draws a heat map of block sizes, lifetimes or allocator latency over time, or of a text file with a time and a value per line. FILE - or none is standard input. In a browser, cells have tooltips.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = heatmap_run,
};
