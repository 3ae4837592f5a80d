/*
 * plot: draws a tape, or a data file of memusage.
 */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/plot_options.h"
#include "cli/session_operand.h"
#include "groups/groups.h"
#include "plot/heat.h"

enum { WIDTH_DEFAULT = 1200, HEIGHT_DEFAULT = 675, DPI_DEFAULT = 96, TOP_DEFAULT = 7 };

static const char *const kinds[] = {
	"timeline", "histogram", "lifetimes", "heatmap", "rate", NULL
};
static const char *const themes[] = { "light", "dark", NULL };
static const char *const x_axes[] = { "time", "number", NULL };
static const char *const yes_no[] = { "yes", "no", NULL };
static const char *const stacks[] = { "same-scale", "different-scales", "none", NULL };
static const char *const metrics[] = { "count", "bytes", NULL };
static const char *const buckets[] = { "log2", "16", NULL };

#define ROW(member) offsetof(struct plot_options, member)

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, ROW(output),
	  "write to FILE, ending in .svg, .png or .pdf" },
	OUTPUT_FORCE_OPTION(struct plot_options, force),
	{ "kind", 'k', "KIND", OPTION_CHOICE, ROW(kind), "what to plot; default: timeline", kinds },
	{ "x", 0, "WHAT", OPTION_CHOICE, ROW(x),
	  "horizontal axis of a timeline: time (default for tapes), or number of allocations",
	  x_axes },
	{ "time", 't', NULL, OPTION_FLAG, ROW(is_by_time), "same as --x time" },
	{ "by", 0, "WHAT", OPTION_CHOICE, ROW(by), "split the heap of a timeline", group_by_words },
	{ "top", 0, "N", OPTION_U64, ROW(top),
	  "with --by: number of parts with their own colour (default: 7), by bytes at the peak" },
	READING_FRAMES_OPTION(struct plot_options, frames),
	{ "rss", 0, "yes|no", OPTION_CHOICE, ROW(rss),
	  "resident memory in a timeline; default: yes, with --by no", yes_no },
	{ "allocated", 0, NULL, OPTION_FLAG, ROW(shows_allocated),
	  "total allocated so far in a timeline, on its own scale" },
	{ "metric", 'm', "WHAT", OPTION_CHOICE, ROW(metric),
	  "what histogram and lifetimes count: blocks or bytes; default: count", metrics },
	{ "buckets", 0, "WHAT", OPTION_CHOICE, ROW(buckets),
	  "bars of the histogram: powers of two, or 16 bytes each as in memusage; default: log2",
	  buckets },
	{ "what", 0, "WHAT", OPTION_CHOICE, ROW(what),
	  "what the heat map shows over time (size-lifetime: lifetime by size; latency: of "
	  "allocating calls); default: size",
	  heat_what_words },
	{ "stack", 0, "WHERE", OPTION_CHOICE, ROW(stack),
	  "the stack, for memusage data files and tapes of memtape memusage; default: same-scale",
	  stacks },
	{ "total", 'T', NULL, OPTION_FLAG, ROW(shows_total),
	  "heap and stack together, for memusage data files and tapes of memtape memusage" },
	{ "clock", 0, "HZ", OPTION_U64, ROW(clock_hz),
	  "clock ticks per second of a memusage data file" },
	{ "print-parsed-entries", 0, NULL, OPTION_FLAG, ROW(prints_entries),
	  "do not plot: print the records of a memusage data file" },
	{ "title", 0, "TEXT", OPTION_TEXT, ROW(title), "title; default: the command line" },
	{ "width", 0, "PIXELS", OPTION_U64, ROW(width), "width of the picture (default: 1200)" },
	{ "height", 0, "PIXELS", OPTION_U64, ROW(height), "height of the picture (default: 675)" },
	{ "dpi", 0, "N", OPTION_U64, ROW(dpi),
	  "resolution of a PNG: 192 has two pixels for each one of --width (default: 96)" },
	{ "theme", 0, "WORD", OPTION_CHOICE, ROW(theme), "colours; default: light", themes },
	READING_PART_OPTIONS(struct plot_options, part),
	READING_SYMBOL_OPTIONS(struct plot_options, symbols),
};

/* Checks that need no input file. */
static struct err *chart_settings(const struct plot_options *options, struct chart_settings *chart)
{
	const struct selection_settings part = reading_part(&options->part);
	struct err *err;

	if (!options->output)
		return err_new(ERR_USAGE, "expected -o FILE");
	if (!canvas_format_of(options->output, &chart->canvas.format))
		return err_new(ERR_USAGE, "%s: expected a name ending in .svg, .png or .pdf",
			       options->output);
	chart->canvas.width = (unsigned)u64_min(options->width, UINT16_MAX);
	chart->canvas.height = (unsigned)u64_min(options->height, UINT16_MAX);
	chart->canvas.dpi = (unsigned)u64_min(options->dpi, UINT16_MAX);
	chart->theme = options->theme ? &theme_dark : &theme_light;
	err = canvas_check(&chart->canvas);
	if (err)
		return err;
	if (options->top < 1 || options->top > THEME_BANDS)
		return err_new(ERR_USAGE, "--top: 1 to %d", (int)THEME_BANDS);
	if (options->is_by_time && options->x == PLOT_X_NUMBER)
		return err_new(ERR_USAGE, "--time and --x number exclude each other");
	return selection_check(&part);
}

static struct err *plot_write(const struct plot_options *options)
{
	struct plot plot = { .options = options };
	struct reading_output output;
	enum input_kind kind;
	struct err *err = chart_settings(options, &plot.chart);

	if (!err)
		err = input_kind_of(options->input, &kind);
	if (!err)
		err = reading_output_open(&output, options->output, options->force, options->input);
	if (err)
		return err;
	err = kind == INPUT_TAPE ? plot_tape(&plot, output.file)
				 : plot_memusage(&plot, output.file);
	arena_deinit(&plot.arena);
	return reading_output_close(&output, err);
}

static struct err *plot_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct plot_options options = {
		.x = PLOT_X_DEFAULT,
		.by = PLOT_BY_NONE,
		.rss = PLOT_RSS_DEFAULT,
		.stack = PLOT_STACK_DEFAULT,
		.top = TOP_DEFAULT,
		.width = WIDTH_DEFAULT,
		.height = HEIGHT_DEFAULT,
		.dpi = DPI_DEFAULT,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count < 1 || operand_count > 2 || (operand_count == 2 && options.output))
		return err_new(ERR_USAGE, "expected one tape or one data file of memusage");
	err = session_operands(argv + 1, 1, &arena);
	if (err)
		return err;
	options.input = argv[1];
	if (operand_count == 2) /* as plot-memusage does */
		options.output = argv[2];
	return options.prints_entries ? plot_memusage_entries(&options, stdout)
				      : plot_write(&options);
}

const struct command cmd_plot = {
	.name = "plot",
	.summary = "draw a tape, or a file of memusage, as a chart",
	.options = {
		.usage = "memtape plot TAPE|FILE -o FILE.svg|.png|.pdf [options]",
		.about = "Plots live and resident memory over time, block sizes, lifetimes, or the allocation rate.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = plot_run,
};
