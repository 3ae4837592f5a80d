#include "plot/rate.h"

#include <assert.h>
#include <math.h>

#include "plot/chart_marks.h"
#include "time/spans.h"

enum { STEP_PIXELS = 3, STEPS_MAX = 1024, NS_PER_S = 1000000000 };

struct rate {
	const struct model_timeline_span *spans;
	size_t count;
	uint64_t from_ns;
	uint64_t until_ns;
	struct canvas_point *points; /* buffer for an outline */
	struct chart_mark *marks;
	size_t mark_count;
};

static double per_second(const struct rate *rate, uint64_t value)
{
	const double span_ns = (double)(rate->until_ns - rate->from_ns) / (double)rate->count;

	return (double)value * NS_PER_S / span_ns;
}

static uint64_t allocated_count(const struct model_timeline_span *span)
{
	return span->allocated.count;
}

static uint64_t allocated_bytes(const struct model_timeline_span *span)
{
	return span->allocated.bytes;
}

static uint64_t free_count(const struct model_timeline_span *span)
{
	return span->free_count;
}

typedef uint64_t value_fn(const struct model_timeline_span *span);

static double highest(const struct rate *rate, value_fn *value)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rate->count; i++)
		most = u64_max(most, value(&rate->spans[i]));
	return fmax(per_second(rate, most), 1);
}

static void draw_curve(const struct chart *chart, const struct rate *rate, value_fn *value,
		       uint32_t rgba, bool is_filled)
{
	const double bottom = chart_y(chart, 0);
	const double left = chart->plot.x, width = chart->plot.width;
	struct canvas_point *points = rate->points;
	size_t count = 0;

	points[count++] = (struct canvas_point) { left, bottom };
	for (size_t i = 0; i < rate->count; i++) {
		const double y = chart_y(chart, per_second(rate, value(&rate->spans[i])));

		for (size_t j = i; j <= i + 1; j++)
			points[count++] = (struct canvas_point) {
				left + width * (double)j / (double)rate->count, y
			};
	}
	points[count++] = (struct canvas_point) { left + width, bottom };
	if (is_filled)
		canvas_area(chart->canvas, points, count, theme_fade(rgba, 0x38), NULL);
	canvas_lines(chart->canvas, points, count,
		     &(struct canvas_stroke) { .rgba = rgba, .width = chart->font * .1 });
}

static void draw(struct chart *chart, const struct rate *rate)
{
	const struct theme *theme = chart->theme;
	const struct chart_key keys[] = {
		{ .label = "allocations", .rgba = theme->heap },
		{ .label = "frees", .rgba = theme->rss },
		{ .label = "bytes allocated", .rgba = theme->stack },
	};
	struct axis x = { .title = "",
			  .unit = TICKS_NS,
			  .min = (double)rate->from_ns,
			  .max = (double)rate->until_ns };
	struct axis y = { .title = "calls per second", .unit = TICKS_COUNT_RATE };
	CLEAN(str_deinit) struct str title = { 0 };
	char step[STR_SHORT_BYTES];

	y.max = fmax(highest(rate, allocated_count), highest(rate, free_count));
	chart->labels_min = chart->font * 5.2;
	chart_keys(chart, keys, array_size(keys));
	if (rate->mark_count > 0)
		chart_marks_room(chart);
	chart_axes_above(chart, .52, &x, &y);
	draw_curve(chart, rate, allocated_count, theme->heap, true);
	draw_curve(chart, rate, free_count, theme->rss, false);
	chart_marks(chart, rate->marks, rate->mark_count);
	chart_frame(chart);
	str_printf(&title, "time, each step %s",
		   str_duration(step, (rate->until_ns - rate->from_ns) / rate->count));
	x.title = str_text(&title);
	y = (struct axis) { .title = "bytes per second",
			    .unit = TICKS_BYTE_RATE,
			    .max = highest(rate, allocated_bytes) };
	chart_axes(chart, &x, &y, NULL);
	draw_curve(chart, rate, allocated_bytes, theme->stack, true);
	chart_frame(chart);
}

static struct err *rate_find(const struct selection *selection, struct rate *rate,
			     struct model_timeline_span *spans)
{
	rate->spans = spans;
	if (!selection_is_all(selection))
		return spans_find(selection, rate->from_ns, rate->until_ns, rate->count, spans);
	model_timeline_window(selection->model, rate->from_ns, rate->until_ns, rate->count, spans);
	return NULL;
}

struct err *rate_draw(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
		      const struct chart_settings *settings, FILE *out)
{
	CLEAN(canvas_destroy) struct canvas *canvas = NULL;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct rate rate = {
		.from_ns = from_ns,
		.until_ns = until_ns,
		.count = u64_min(u64_min(settings->canvas.width / STEP_PIXELS, STEPS_MAX),
				 until_ns - from_ns),
	};
	struct model_timeline_span *spans = arena_array(&arena, rate.count, sizeof(*spans));
	struct chart chart;
	struct err *err = canvas_create(&settings->canvas, &canvas);

	assert(from_ns < until_ns);
	assert(settings->theme);
	rate.points = arena_array(&arena, rate.count * 2 + 2, sizeof(*rate.points));
	if (!err && (!spans || !rate.points))
		err = err_nomem();
	if (!err)
		err = rate_find(selection, &rate, spans);
	if (!err)
		err = chart_marks_find(selection->model, from_ns, until_ns, &arena, &rate.marks,
				       &rate.mark_count);
	if (err)
		return err;
	chart_begin(&chart, canvas, settings);
	draw(&chart, &rate);
	return canvas_write(canvas, out);
}
