/* Pictures of a tape. */
#include <assert.h>

#include "cli/caption.h"
#include "cli/plot_options.h"
#include "cli/suppressing.h"
#include "plot/bars.h"
#include "plot/heat.h"
#include "plot/rate.h"
#include "plot/timeline.h"
#include "select/moment.h"

/* The time window of --from and --until; *until_ret is exclusive. */
static struct err *window_find(const struct plot *plot, const struct model *model,
			       uint64_t *from_ret, uint64_t *until_ret)
{
	const struct reading_part_options *part = &plot->options->part;
	struct moment_span window = { .until = { .kind = MOMENT_END } };
	struct err *err = NULL;

	if (part->from)
		err = moment_parse(part->from, &window.from);
	if (!err && part->until)
		err = moment_parse(part->until, &window.until);
	if (!err)
		err = moment_span_ns(&window, model, from_ret, until_ret);
	if (!err && *from_ret > *until_ret)
		err = err_new(ERR_USAGE, "--from is not before --until");
	if (!err)
		++*until_ret; /* events at the end time are included */
	return err;
}

static struct err *draw_timeline(struct plot *plot, const struct selection *selection, FILE *out)
{
	const struct plot_options *options = plot->options;
	const bool has_bands = options->by != PLOT_BY_NONE;
	struct timeline_settings settings = {
		.chart = plot->chart,
		.is_by_number = options->x == PLOT_X_NUMBER,
		.shows_allocated = options->shows_allocated,
		.hides_rss =
			options->rss == PLOT_RSS_DEFAULT ? has_bands : options->rss == PLOT_RSS_NO,
		.has_bands = has_bands,
		.by = (enum group_by)options->by,
		.mode = (enum walk_mode)options->frames,
		.top = options->top,
	};
	struct timeline timeline;
	struct err *err =
		window_find(plot, selection->model, &settings.from_ns, &settings.until_ns);

	if (!err)
		err = timeline_of_tape(selection, &settings, &plot->arena, &timeline);
	return err ? err : timeline_draw(&timeline, &plot->chart, out);
}

static struct err *draw_rate(struct plot *plot, const struct selection *selection, FILE *out)
{
	uint64_t from_ns, until_ns;
	struct err *err = window_find(plot, selection->model, &from_ns, &until_ns);

	return err ? err : rate_draw(selection, from_ns, until_ns, &plot->chart, out);
}

static struct err *draw_heat(struct plot *plot, const struct selection *selection, FILE *out)
{
	const struct heat_request request = {
		.what = (enum heat_what)plot->options->what,
		.columns = plot->chart.canvas.width / 8,
		.rows = plot->chart.canvas.height / 10,
		.is_log = true,
	};
	struct heat heat;
	struct err *err = heat_of_tape(selection, &request, &plot->arena, &heat);

	return err ? err : heat_draw(&heat, &plot->chart, out);
}

static struct err *draw(struct plot *plot, const struct selection *selection, FILE *out)
{
	const enum bars_metric metric = (enum bars_metric)plot->options->metric;

	switch ((enum plot_kind)plot->options->kind) {
	case PLOT_TIMELINE:
		return draw_timeline(plot, selection, out);
	case PLOT_HISTOGRAM:
		return bars_sizes(selection, (enum bars_buckets)plot->options->buckets, metric,
				  &plot->chart, out);
	case PLOT_LIFETIMES:
		return bars_lifetimes(selection, metric, &plot->chart, out);
	case PLOT_HEATMAP:
		return draw_heat(plot, selection, out);
	case PLOT_RATE:
		break;
	}
	return draw_rate(plot, selection, out);
}

static void add_title(struct str *title, const struct plot *plot, const struct model *model)
{
	static const char *const subjects[] = {
		[PLOT_TIMELINE] = "",
		[PLOT_HISTOGRAM] = "Sizes of blocks: ",
		[PLOT_LIFETIMES] = "Lifetimes of blocks: ",
		[PLOT_HEATMAP] = "",
		[PLOT_RATE] = "Allocation rate: ",
	};

	str_add(title, plot->options->kind == PLOT_HEATMAP
			       ? heat_what_title((enum heat_what)plot->options->what)
			       : subjects[plot->options->kind]);
	if (plot->options->kind == PLOT_HEATMAP)
		str_add(title, ": ");
	caption_command(title, model_process(model));
}

/* With time as an axis the window limits the picture; otherwise it selects allocations. */
static struct selection_settings selection_of(const struct plot_options *options)
{
	struct selection_settings part = reading_part(&options->part);

	if (options->kind == PLOT_TIMELINE || options->kind == PLOT_RATE)
		part.from = part.until = NULL;
	return part;
}

static struct err *draw_model(struct plot *plot, const struct model *model, struct names *names,
			      FILE *out)
{
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	struct selection_settings part = selection_of(plot->options);
	const struct selection *selection;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	struct err *err = suppressing_load(&suppressing, NULL);

	if (err)
		return err;
	suppressor_init(&suppressor, model, names, &suppressing.rules);
	part.suppressor = &suppressor;
	part.ignores_leaks = true; /* histograms show what was never freed */
	err = selection_make(model, names, &part, &plot->arena, &selection);
	if (err)
		return err;
	add_title(&title, plot, model);
	caption_facts(&subtitle, model, &plot->options->part);
	plot->chart.title = plot->options->title ? plot->options->title : str_text(&title);
	plot->chart.subtitle = str_text(&subtitle);
	plot->chart.canvas.title = plot->chart.title;
	return draw(plot, selection, out);
}

static enum model_depth depth_of(const struct plot_options *options)
{
	const bool needs_rows =
		options->kind == PLOT_LIFETIMES || options->kind == PLOT_HEATMAP ||
		(options->kind == PLOT_HISTOGRAM && options->buckets == BARS_BUCKETS_16) ||
		options->x == PLOT_X_NUMBER || options->by != PLOT_BY_NONE;

	return needs_rows ? MODEL_FULL : reading_part_depth(&options->part, MODEL_SUMMARY);
}

static struct err *tape_options_check(const struct plot_options *options)
{
	if (options->clock_hz > 0 || options->prints_entries)
		return err_new(ERR_USAGE, "--clock and --print-parsed-entries are for data files "
					  "of memusage");
	return NULL;
}

/* Checks options for a picture of heap and stack. */
static struct err *check_stack(const struct plot_options *options)
{
	if (options->kind != PLOT_TIMELINE)
		return err_new(ERR_USAGE, "--stack and --total are for a timeline");
	if (options->by != PLOT_BY_NONE || options->shows_allocated || options->part.filter ||
	    options->part.from || options->part.until || options->rss == PLOT_RSS_YES)
		return err_new(ERR_USAGE,
			       "--stack and --total show heap and stack of a whole tape, "
			       "without --by, --allocated, --rss, --filter, --from and "
			       "--until");
	return tape_options_check(options);
}

static struct err *draw_stack(const struct plot *plot, FILE *out)
{
	struct plot_options options = *plot->options;
	struct plot with_stack = *plot;
	struct err *err = check_stack(&options);

	if (err)
		return err;
	if (options.x == PLOT_X_DEFAULT)
		options.x = PLOT_X_TIME;
	if (!options.title)
		options.title = names_short_path(options.input);
	with_stack.options = &options;
	return plot_memusage_of_tape(&with_stack, false, true, out);
}

struct err *plot_tape(struct plot *plot, FILE *out)
{
	const struct plot_options *options = plot->options;
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	struct model_settings how = reading_part_model(&options->part);
	struct err *err;

	assert(options->input);
	if (options->shows_total ||
	    (options->stack != PLOT_STACK_DEFAULT && options->stack != TIMELINE_STACK_NONE))
		return draw_stack(plot, out);
	if (options->by == GROUP_BY_POOL)
		how.subject = MODEL_OF_POOLS;
	err = tape_options_check(options);
	if (!err)
		err = reading_symbols_init(&symbols, &options->symbols, options->input);
	if (!err)
		err = reading_model(options->input, depth_of(options), &how, &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	return names ? draw_model(plot, model, names, out) : err_nomem();
}
