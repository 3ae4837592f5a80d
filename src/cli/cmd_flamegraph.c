/*
 * flamegraph: a tape as an interactive picture in one file.
 */
#include <time.h>

#include "cli/command.h"
#include "cli/reading.h"
#include "plot/flame.h"

enum { NS_PER_S = 1000000000 };

struct flame_options {
	const char *output;
	int metric;
	bool inverted;
	bool icicle;
	bool shows_all;
	bool debuginfod;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct flame_options, output),
	  "write to FILE instead of standard output" },
	{ "metric", 'm', "WHAT", OPTION_CHOICE, offsetof(struct flame_options, metric),
	  "peak (the default), leaked, allocated (bytes), count or temporary (calls)",
	  metric_words },
	{ "inverted", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, inverted),
	  "begin with the functions that allocate, their callers above them" },
	{ "icicle", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, icicle),
	  "the root on top, growing downwards" },
	{ "all-frames", 'a', NULL, OPTION_FLAG, offsetof(struct flame_options, shows_all),
	  "keep allocators and program start in stacks, which are folded away otherwise" },
	READING_DEBUGINFOD_OPTION(struct flame_options),
};

/* "Alive at the peak: 12.3 MiB" */
static void add_title(struct str *title, enum metric metric, const struct model_stack_sums *totals)
{
	static const char *const words[METRICS] = {
		[METRIC_PEAK] = "Alive at the peak: ",
		[METRIC_LEAKED] = "Never freed: ",
		[METRIC_ALLOCATED] = "Allocated: ",
		[METRIC_COUNT] = "Allocations: ",
		[METRIC_TEMPORARY] = "Temporary allocations: ",
	};

	str_add(title, words[metric]);
	if (metric_is_bytes(metric))
		str_add_iec(title, metric_value(metric, totals));
	else
		str_add_grouped(title, metric_value(metric, totals));
}

static void add_command(struct str *text, const struct model_process *process)
{
	enum { COMMAND_COLUMNS = 80 };
	const size_t begin = text->len;

	if (process->argc == 0)
		str_add(text, names_short_path(process->exe));
	for (uint32_t i = 0; i < process->argc && text->len - begin < COMMAND_COLUMNS; i++) {
		if (i > 0)
			str_add_char(text, ' ');
		str_add(text, i == 0 ? names_short_path(process->argv[i]) : process->argv[i]);
	}
}

static void add_date(struct str *text, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm broken;

	if (realtime_ns == 0 || !localtime_r(&seconds, &broken))
		return;
	str_printf(text, " · %04d-%02d-%02d %02d:%02d", broken.tm_year + 1900, broken.tm_mon + 1,
		   broken.tm_mday, broken.tm_hour, broken.tm_min);
}

static void add_subtitle(struct str *text, const struct model *model, enum metric metric)
{
	const struct model_process *process = model_process(model);
	const struct model_quality *quality = model_quality(model);

	add_command(text, process);
	str_printf(text, " · pid %u", process->pid);
	add_date(text, process->start_realtime_ns);
	str_add(text, " · ran ");
	str_add_duration(text, process->duration_ns);
	if (metric == METRIC_PEAK) {
		str_add(text, " · peak after ");
		str_add_duration(text, model_totals(model)->peak_ns);
	}
	str_add(text, " · ");
	str_add_grouped(text, model_totals(model)->allocated.count);
	str_add(text, " allocations");
	if (quality->lost_events > 0) {
		str_add(text, " · ");
		str_add_grouped(text, quality->lost_events);
		str_add(text, " events lost");
	}
}

static struct err *flame_draw(const struct flame_options *options, const struct model *model,
			      const struct symbol_options *symbols, struct str *svg)
{
	const enum metric metric = (enum metric)options->metric;
	const struct model_stack_sums totals = metric_totals(model);
	const struct tree_settings tree_settings = {
		.direction = options->inverted ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
		.mode = options->shows_all ? WALK_ALL : WALK_FOLD,
		.metric = metric,
		.value_min = flame_value_min(metric_value(metric, &totals)),
		.depth_max = FLAME_DEPTH_MAX + 1,
	};
	CLEAN(names_destroy) struct names *names = names_create(model, symbols);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	struct tree tree;
	struct err *err;

	if (!names)
		return err_nomem();
	err = tree_build(model, names, &tree_settings, &arena, &tree);
	if (err)
		return err;
	add_title(&title, metric, &totals);
	add_subtitle(&subtitle, model, metric);
	if (options->inverted)
		str_add(&subtitle, " · inverted: callers stand on those they called");
	return flame_svg(&tree, names,
			 &(struct flame_settings) {
				 .title = str_text(&title),
				 .subtitle = str_text(&subtitle),
				 .is_icicle = options->icicle,
				 .is_inverted = options->inverted,
			 },
			 svg);
}

static struct err *flame_write(const struct flame_options *options, const char *tape_path,
			       FILE *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(debuginfod_destroy) struct debuginfod *debuginfod = NULL;
	CLEAN(str_deinit) struct str svg = { 0 };
	struct symbol_options symbols;
	struct err *err = reading_symbols(options->debuginfod, &symbols, &debuginfod);

	if (!err)
		err = model_load(tape_path, MODEL_SUMMARY, &model);
	if (!err)
		err = flame_draw(options, model, &symbols, &svg);
	if (err)
		return err;
	if (fwrite(svg.ptr, 1, svg.len, out) != svg.len)
		return err_errno("write");
	return NULL;
}

static struct err *flamegraph_run(const struct command *command, int argc, char **argv,
				  int *exit_code)
{
	struct flame_options options = { .metric = METRIC_PEAK };
	struct reading_output output;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "one tape is wanted");
	if (!options.output && isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE, "-o FILE is wanted: a picture is no text for a terminal");
	err = reading_output_open(&output, options.output, argv[1]);
	if (err)
		return err;
	return reading_output_close(&output, flame_write(&options, argv[1], output.file));
}

const struct command cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "draw a tape as an interactive flame graph",
	.options = {
		.usage = "memtape flamegraph TAPE -o FILE.svg [options]",
		.about = "Draws where the memory goes: a frame is as wide as its share, and stands "
			 "on its caller. The SVG file needs nothing else; in a browser it zooms, "
			 "searches and tells about each frame.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = flamegraph_run,
};
