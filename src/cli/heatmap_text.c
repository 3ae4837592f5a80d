/* Heat maps of text, compatible with trace2heatmap.pl but without its data loss. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "cli/heatmap_options.h"
#include "plot/pairs.h"

static const double ns_per_unit[] = { 1e9, 1e6, 1e3, 1 }; /* by time_unit */

struct err *heatmap_number(const char *option, const char *text, double *number_ret)
{
	char *end;
	const double number = strtod(text, &end);

	assert(option && text);
	if (end == text || *end || !isfinite(number))
		return err_new(ERR_USAGE, "%s: '%s' is not a number", option, text);
	*number_ret = number;
	return NULL;
}

static struct err *step_of(const char *option, const char *text, double *step_ret)
{
	struct err *err = heatmap_number(option, text, step_ret);

	if (!err && *step_ret <= 0)
		err = err_new(ERR_USAGE, "%s must be greater than 0", option);
	return err;
}

struct extent {
	double time_min, time_max;
	double min, max;
	bool has_any;
};

/* The extent of the pairs shown. */
static struct extent extent_of(const struct pair_vec *pairs, const double *min, const double *max)
{
	struct extent extent = { 0 };

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		if ((min && pair->value < *min) || (max && pair->value > *max))
			continue;
		extent.time_min = extent.has_any ? fmin(extent.time_min, pair->time) : pair->time;
		extent.time_max = extent.has_any ? fmax(extent.time_max, pair->time) : pair->time;
		extent.max = extent.has_any ? fmax(extent.max, pair->value) : pair->value;
		extent.min = extent.has_any ? fmin(extent.min, pair->value) : pair->value;
		extent.has_any = true;
	}
	return extent;
}

/* Starts at the first event even if it is outside the picture, so that maps can be compared. */
static double first_time(const struct pair_vec *pairs)
{
	double first = pairs->items[0].time;

	for (size_t i = 1; i < pairs->count; i++)
		first = fmin(first, pairs->items[i].time);
	return first;
}

static struct err *columns_make(const struct heatmap_options *options, double seconds,
				struct heat_axis *x)
{
	double step = 1;
	struct err *err = options->column_seconds
				  ? step_of("--stepsec", options->column_seconds, &step)
				  : NULL;

	if (err)
		return err;
	*x = (struct heat_axis) {
		.title = "time", .unit = TICKS_NS, .suffix = "", .step = step * 1e9
	};
	x->count = (size_t)fmin(floor(seconds / step + 1e-9) + 1, HEAT_SIDE_MAX + 1);
	if (options->columns_max > 0)
		x->count = u64_min(x->count, options->columns_max);
	return NULL;
}

static const char *label_of(const struct heatmap_options *options)
{
	const char *label = options->label ? options->label : options->old_label;

	return label ? label : "";
}

double heatmap_value_ns(const struct heatmap_options *options)
{
	static const struct {
		const char *label;
		double ns;
	} units[] = { { "ns", 1 },	  { "us", 1e3 }, { "\u00b5s", 1e3 },
		      { "\u03bcs", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	for (size_t i = 0; i < array_size(units); i++) {
		if (strcmp(label_of(options), units[i].label) == 0)
			return units[i].ns;
	}
	return 0;
}

/* Converts label units to nanoseconds, so that both axes format times alike. */
static void rows_of_times(struct heat_axis *y, double ns)
{
	y->title = "duration";
	y->unit = TICKS_NS;
	y->suffix = "";
	y->min *= ns;
	if (!y->is_log)
		y->step *= ns;
}

static struct err *rows_make(const struct heatmap_options *options, double min, double max,
			     struct heat_axis *y)
{
	const char *label = label_of(options);
	double step = 0;
	struct err *err = options->row_step ? step_of("--steplat", options->row_step, &step) : NULL;

	if (err)
		return err;
	*y = (struct heat_axis) {
		.title = label, .unit = TICKS_PLAIN, .suffix = label, .min = min
	};
	y->is_log = options->scale == HEATMAP_SCALE_LOG;
	if (y->is_log) {
		if (min <= 0)
			return err_new(ERR_USAGE, "--scale log: --minlat must be greater than 0");
		max = fmax(max, min * 2);
		y->count = options->rows;
		y->step = log(max / min) / (double)options->rows;
		return NULL;
	}
	if (step == 0) /* whole numbers if there are enough of them */
		step = (max - min) / (double)options->rows;
	if (!options->row_step && step > 1)
		step = ceil(step - 1e-9);
	y->step = step > 0 ? step : 1;
	y->count = heat_cells(max - min, y->step);
	return NULL;
}

static struct err *range_find(const struct heatmap_options *options, const struct pair_vec *pairs,
			      double *min_ret, double *max_ret, struct extent *extent_ret)
{
	const bool is_log = options->scale == HEATMAP_SCALE_LOG;
	double min = is_log ? 1 : 0, max = 0;
	struct err *err = options->min ? heatmap_number("--minlat", options->min, &min) : NULL;
	struct extent extent;

	if (!err && options->max)
		err = heatmap_number("--maxlat", options->max, &max);
	if (!err && options->max && options->min && max < min)
		err = err_new(ERR_USAGE, "--minlat is greater than --maxlat");
	if (err)
		return err;
	extent = extent_of(pairs, options->min ? &min : NULL, options->max ? &max : NULL);
	if (!extent.has_any)
		return err_new(ERR_NOT_FOUND, "%s: nothing to draw", options->input);
	if (!options->min && (extent.min < 0 || is_log))
		min = is_log ? fmax(extent.min, 1e-9) : extent.min;
	*min_ret = min;
	*max_ret = options->max ? max : extent.max;
	*extent_ret = extent;
	return NULL;
}

struct err *heatmap_of_text(const struct heatmap_options *options, struct arena *arena,
			    struct heat *heat)
{
	const double unit = ns_per_unit[options->time_unit], value_ns = heatmap_value_ns(options);
	CLEAN(pair_vec_deinit) struct pair_vec pairs = { 0 };
	double min = 0, max = 0, first;
	struct extent extent = { 0 };
	struct err *err =
		pairs_read(options->input, options->is_delta ? PAIRS_DELTA : PAIRS_TWO, &pairs);

	assert((unsigned)options->time_unit < array_size(ns_per_unit));
	if (!err)
		err = range_find(options, &pairs, &min, &max, &extent);
	if (err)
		return err;
	first = first_time(&pairs);
	*heat = (struct heat) { 0 };
	err = columns_make(options, (extent.time_max - first) * unit / 1e9, &heat->x);
	if (!err)
		err = rows_make(options, min, max, &heat->y);
	if (!err && value_ns > 0)
		rows_of_times(&heat->y, value_ns);
	if (!err)
		err = heat_init(heat, arena);
	if (err)
		return err;
	for (size_t i = 0; i < pairs.count; i++)
		heat_add(heat, (pairs.items[i].time - first) * unit,
			 pairs.items[i].value * (value_ns > 0 ? value_ns : 1));
	return NULL;
}
