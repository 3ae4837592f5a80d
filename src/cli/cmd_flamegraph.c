/*
 * flamegraph: a tape as an interactive flame graph in one file.
 */
#include "cli/command.h"
#include "cli/flame_options.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "cli/session_operand.h"
#include "cli/suppressing.h"
#include "groups/call_times.h"
#include "groups/measure.h"
#include "select/moment.h"
#include "select/sums_rows.h"
#include "sums/kernel_events.h"
#include "sums/scans.h"

struct flame_options {
	const char *output;
	bool force;
	const char *process; /* of a session; NULL: all */
	int metric;	     /* flame_words */
	bool is_chosen;	     /* else it is the usual one of the tape */
	uint64_t scan;
	const char *at;
	struct reading_part_options part;
	struct suppressing_options suppressing;
	bool inverted;
	bool reversed; /* a synonym of it */
	bool merges;
	const char *width_min;
	int colors; /* enum flame_palette */
	struct flame_look_options look;
	bool icicle;
	int frames; /* enum walk_mode */
	struct reading_symbol_options symbols;
};

/* Those of stacks, and METRIC_ALLOCATED of latency sums. */
static const char *const flame_words[] = { METRIC_WORDS, METRIC_WORDS_STACKS, "latency", NULL };
enum { FLAME_LATENCY = array_size(flame_words) - 2 };

static bool is_latency(const struct flame_options *options)
{
	return options->metric == FLAME_LATENCY;
}

/* Place in flame_words of what most want to see: of a tape without allocations, what it has. */
static unsigned metric_usual(const struct model *model)
{
	if (model_totals(model)->allocated.count > 0)
		return METRIC_PEAK;
	for (uint32_t kind = 0; kind < TAPE_KERNEL_OOM; kind++)
		if (kernel_events_total(model, kind, 0, UINT64_MAX).recorded > 0)
			return METRICS + METRIC_BRK - METRIC_RETAINED + kind;
	return METRIC_PEAK;
}

static enum metric metric_of(const struct flame_options *options)
{
	return is_latency(options) ? METRIC_ALLOCATED : metric_of_stacks((unsigned)options->metric);
}

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct flame_options, output),
	  "write to FILE instead of standard output" },
	OUTPUT_FORCE_OPTION(struct flame_options, force),
	{ "metric", 'm', "WHAT", OPTION_CHOICE, offsetof(struct flame_options, metric),
	  "metric (retained: kept alive, at a leak scan; stale: alive and not used; brk ... "
	  "owned_faults: of `memtape trace`; latency: time in the allocator); default: peak",
	  flame_words },
	{ "scan", 0, "N", OPTION_U64, offsetof(struct flame_options, scan),
	  "--metric retained: of the Nth leak scan (default: the last)" },
	{ "at", 0, "T", OPTION_TEXT, offsetof(struct flame_options, at),
	  "what was alive at T (1.5s, 20ms, 75%, end, mark(NAME)), instead of at the peak" },
	SESSION_PROCESS_OPTION(struct flame_options, process),
	READING_PART_OPTIONS(struct flame_options, part),
	SUPPRESSING_OPTIONS(struct flame_options, suppressing),
	{ "inverted", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, inverted),
	  "start with the functions that allocate, callers above them" },
	{ "icicle", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, icicle),
	  "root on top, growing downwards" },
	{ "reverse", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, reversed),
	  "same as --inverted (flamegraph.pl's name)" },
	{ "merge-recursion", 0, NULL, OPTION_FLAG, offsetof(struct flame_options, merges),
	  "merge direct recursion into one frame" },
	{ "min-width", 0, "PIXELS", OPTION_TEXT, offsetof(struct flame_options, width_min),
	  "omit frames narrower than this at --width, or than a part of it (0.5%)" },
	{ "colors", 0, "PALETTE", OPTION_CHOICE, offsetof(struct flame_options, colors),
	  "flame graph: by module (default), or a palette of flamegraph.pl", flame_palette_words },
	FLAME_LOOK_OPTIONS(struct flame_options, look),
	READING_FRAMES_OPTION(struct flame_options, frames),
	READING_SYMBOL_OPTIONS(struct flame_options, symbols),
};

static void add_part(struct str *text, const struct flame_options *options)
{
	if (options->part.from || options->part.until)
		str_printf(text, " · allocated %s .. %s",
			   options->part.from ? options->part.from : "start",
			   options->part.until ? options->part.until : "end");
	if (options->part.filter)
		str_printf(text, " · only %s", options->part.filter);
}

/* Allocations in a time window need only its two ends, not the rows in between. */
static bool is_window_alone(const struct flame_options *options)
{
	const struct reading_part_options *part = &options->part;

	return (options->metric == METRIC_ALLOCATED || options->metric == METRIC_COUNT) &&
	       !options->at && !part->filter && (part->from || part->until);
}

static struct err *window_sums(const struct reading_part_options *part, const struct model *model,
			       struct arena *arena, struct sums *sums_ret)
{
	struct moment_span span = { .until = { .kind = MOMENT_END } };
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err = part->from ? moment_parse(part->from, &span.from) : NULL;

	if (!err && part->until)
		err = moment_parse(part->until, &span.until);
	if (!err)
		err = moment_span_ns(&span, model, &from_ns, &until_ns);
	return err ? err : sums_allocated_between(model, from_ns, until_ns, arena, sums_ret);
}

static struct err *retained_sums(uint64_t scan, const struct selection *selection,
				 struct arena *arena, struct sums *sums_ret,
				 struct flame_tape *tape)
{
	const struct measure measure = { .metric = METRIC_RETAINED, .scan = scan };
	struct err *err = scan_choose(selection->model, scan, &tape->scan);

	return err ? err : measure_sums(selection, &measure, arena, sums_ret);
}

/*
 * The sums to draw: of the whole tape, of a part, at a moment or a leak scan; and in tape, of when
 * they are.
 */
static struct err *flame_sums(const struct flame_options *options, struct suppressor *suppressor,
			      struct arena *arena, struct sums *sums_ret, struct flame_tape *tape)
{
	struct selection_settings part = reading_part(&options->part);
	const struct model *model = suppressor->model;
	const struct selection *selection;
	struct moment moment;
	uint64_t ns = 0;
	struct err *err;

	if (is_window_alone(options))
		return window_sums(&options->part, model, arena, sums_ret);
	part.suppressor = suppressor;
	err = selection_make(model, suppressor->names, &part, arena, &selection);
	if (err)
		return err;
	if (is_latency(options))
		return call_times_sums(selection, arena, sums_ret);
	if (metric_of(options) == METRIC_RETAINED)
		return retained_sums(options->scan, selection, arena, sums_ret, tape);
	if (metric_is_seen(metric_of(options)))
		return measure_sums(selection, &(struct measure) { .metric = metric_of(options) },
				    arena, sums_ret);
	*sums_ret = selection->sums;
	tape->peak_ns = selection->peak_ns;
	if (!options->at)
		return NULL;
	err = moment_parse(options->at, &moment);
	if (!err)
		err = moment_ns(&moment, model, &ns);
	return err ? err : sums_at(model, selection, ns, arena, sums_ret);
}

static struct err *look_make(const struct flame_options *options, struct flame_tape *tape)
{
	struct err *err = flame_look_make(&options->look, &tape->look);

	tape->look.palette = (enum flame_palette)options->colors;
	if (err || !options->width_min)
		return err;
	return flame_min_width_parse(options->width_min,
				     tape->look.width ? tape->look.width : FLAME_WIDTH,
				     &tape->share_min);
}

static struct err *flame_draw(const struct flame_options *options, const struct model *model,
			      const struct symbol_options *symbols,
			      const struct suppressions *suppressions, struct str *svg)
{
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	CLEAN(names_destroy) struct names *names = names_create(model, symbols);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str part = { 0 };
	struct sums sums = { 0 };
	struct flame_tape tape = {
		.sums = &sums,
		.names = names,
		.metric = metric_of(options),
		/* What the kernel does for the allocator is of interest with its frames. */
		.mode = metric_is_of_kernel(metric_of(options)) ? WALK_ALL
								: (enum walk_mode)options->frames,
		.direction = options->inverted ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
		.merges_recursion = options->merges,
		.moment = options->at,
		.title = options->look.title,
		.subtitle = options->look.subtitle,
		.is_icicle = options->icicle,
		.is_time = is_latency(options),
	};
	struct err *err;

	if (!names)
		return err_nomem();
	suppressor_init(&suppressor, model, names, suppressions);
	err = look_make(options, &tape);
	if (!err)
		err = flame_sums(options, &suppressor, &arena, &sums, &tape);
	if (err)
		return err;
	add_part(&part, options);
	tape.part = str_text(&part);
	return flame_tape_svg(&tape, svg);
}

static enum model_depth flame_depth(const struct flame_options *options)
{
	return options->at || measure_needs_rows(metric_of(options))
		       ? MODEL_FULL
		       : reading_part_depth(&options->part, MODEL_SUMMARY);
}

/* Checks that need no tape. */
static struct err *flame_check(const struct flame_options *options)
{
	const struct selection_settings part = reading_part(&options->part);
	struct moment moment;
	struct flame_tape drawn = { 0 };
	struct err *err = options->at ? err_wrap(moment_parse(options->at, &moment), "--at") : NULL;

	if (!err)
		err = look_make(options, &drawn);
	if (!err && options->at && is_latency(options))
		return err_new(ERR_USAGE, "--at is for live memory, --metric latency for calls");
	if (!err && options->at && metric_of(options) == METRIC_RETAINED)
		return err_new(
			ERR_USAGE,
			"--at is for live memory, --metric retained for a leak scan: --scan");
	if (!err && options->at && metric_is_seen(metric_of(options)))
		return err_new(ERR_USAGE, "--at is for live memory, not for --metric %s",
			       flame_words[options->metric]);
	if (!err && options->scan && metric_of(options) != METRIC_RETAINED)
		return err_new(ERR_USAGE, "--scan is for --metric retained");
	return err ? err : selection_check(&part);
}

static struct err *flame_write(struct flame_options *options, const char *tape_path, FILE *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(str_deinit) struct str svg = { 0 };
	const struct model_settings how = reading_part_model(&options->part);
	struct err *err = reading_symbols_init(&symbols, &options->symbols, tape_path);

	if (!err)
		err = suppressing_load(&suppressing, &options->suppressing);
	if (!err)
		err = reading_model(tape_path, flame_depth(options), &how, &model);
	if (err)
		return err;
	if (!options->is_chosen)
		options->metric = (int)metric_usual(model);
	err = flame_draw(options, model, &symbols.options, &suppressing.rules, &svg);
	if (err)
		return err;
	if (fwrite(svg.ptr, 1, svg.len, out) != svg.len)
		return err_errno("write");
	return NULL;
}

static struct err *flamegraph_run(const struct command *command, int argc, char **argv,
				  int *exit_code)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct flame_options options = { .metric = -1 };
	struct reading_output output;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	const char *tape_path = argv[1];

	(void)exit_code;
	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	if (!options.output && isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE, "expected -o FILE; a picture is not for a terminal");
	options.inverted |= options.reversed;
	options.is_chosen = options.metric >= 0 || options.at || options.scan;
	if (options.metric < 0)
		options.metric = METRIC_PEAK;
	err = flame_check(&options);
	if (!err)
		err = output_check_svg(options.output);
	if (!err)
		err = session_operand(&tape_path, options.process, NULL, &arena);
	if (!err)
		err = reading_output_open(&output, options.output, options.force, tape_path);
	if (err)
		return err;
	return reading_output_close(&output, flame_write(&options, tape_path, output.file));
}

const struct command cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "draw a tape as an interactive flame graph",
	.options = {
		.usage = "memtape flamegraph TAPE|SESSION -o FILE.svg [options]",
		.about = "Draws a flame graph: the width of a frame is its share, and it stands on its caller. The SVG file is self-contained; in a browser it has zoom, search and tooltips.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = flamegraph_run,
};
