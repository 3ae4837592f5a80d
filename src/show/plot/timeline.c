#include "plot/timeline.h"

#include <assert.h>
#include <math.h>

enum { COLUMNS_MAX = 4096, KEYS_MAX = 8 };

VEC_DEFINE(points, struct canvas_point);

struct drawing {
	const struct timeline *timeline;
	struct chart chart;
	struct points points;
	bool has_failed;
};

size_t timeline_columns(const struct canvas_settings *settings)
{
	const unsigned dpi =
		settings->format == CANVAS_PNG && settings->dpi > 96 ? settings->dpi : 96;

	assert(settings->width > 0);
	return u64_min((uint64_t)settings->width * dpi / 96, COLUMNS_MAX);
}

/* --- outlines ------------------------------------------------------------------------------- */

/* A constant level needs no intermediate points. */
static void point_add(struct drawing *drawing, double x, double y)
{
	struct points *points = &drawing->points;
	const size_t count = points->count;

	if (count >= 2 && points->items[count - 1].y == y && points->items[count - 2].y == y)
		points->items[count - 1].x = x;
	else if (!points_push(points, (struct canvas_point) { x, y }))
		drawing->has_failed = true;
}

static double column_end(const struct timeline *timeline, size_t i)
{
	return i + 1 < timeline->count ? timeline->x[i + 1] : timeline->x_max;
}

enum edge { EDGE_LOW, EDGE_HIGH };

static double edge_of(const struct timeline_range *range, enum edge edge)
{
	return edge == EDGE_LOW ? range->low : range->high;
}

/* Both ends of every column, from left to right. */
static void steps_add(struct drawing *drawing, const struct timeline_range *ranges, enum edge edge,
		      double (*y_of)(const struct chart *, double))
{
	const struct timeline *timeline = drawing->timeline;
	const struct chart *chart = &drawing->chart;

	for (size_t i = 0; i < timeline->count; i++) {
		const double y = y_of(chart, edge_of(&ranges[i], edge));

		point_add(drawing, chart_x(chart, timeline->x[i]), y);
		point_add(drawing, chart_x(chart, column_end(timeline, i)), y);
	}
}

static void steps_add_back(struct drawing *drawing, const struct timeline_range *ranges,
			   double (*y_of)(const struct chart *, double))
{
	const struct timeline *timeline = drawing->timeline;
	const struct chart *chart = &drawing->chart;

	for (size_t i = timeline->count; i-- > 0;) {
		const double y = y_of(chart, ranges[i].low);

		point_add(drawing, chart_x(chart, column_end(timeline, i)), y);
		point_add(drawing, chart_x(chart, timeline->x[i]), y);
	}
}

static struct canvas_stroke stroke_of(const struct drawing *drawing, uint32_t rgba)
{
	return (struct canvas_stroke) { .rgba = rgba, .width = drawing->chart.font * .14 };
}

/* --- curves --------------------------------------------------------------------------------- */

static void draw_ranges(struct drawing *drawing, const struct timeline_range *ranges, uint32_t rgba,
			bool is_filled, double (*y_of)(const struct chart *, double))
{
	const struct canvas_stroke stroke = stroke_of(drawing, rgba);
	struct points *points = &drawing->points;
	const double bottom = y_of(&drawing->chart, 0);

	points->count = 0;
	steps_add(drawing, ranges, EDGE_HIGH, y_of);
	canvas_lines(drawing->chart.canvas, points->items, points->count, &stroke);
	if (is_filled && points->count > 0) {
		const double left = points->items[0].x;

		point_add(drawing, points->items[points->count - 1].x, bottom);
		point_add(drawing, left, bottom);
		canvas_area(drawing->chart.canvas, points->items, points->count,
			    theme_fade(rgba, 0x2c), NULL);
	}
	points->count = 0;
	steps_add(drawing, ranges, EDGE_HIGH, y_of);
	steps_add_back(drawing, ranges, y_of);
	canvas_area(drawing->chart.canvas, points->items, points->count, theme_fade(rgba, 0x50),
		    NULL);
}

static uint32_t band_colour(const struct drawing *drawing, size_t band)
{
	const struct timeline *timeline = drawing->timeline;
	const struct theme *theme = drawing->chart.theme;

	if (timeline->has_rest && band + 1 == timeline->band_count)
		return theme->other;
	return theme->bands[band % THEME_BANDS];
}

/* The largest band is at the bottom; the rest is on top. */
static struct err *draw_bands(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	CLEAN(free) struct timeline_range *ranges = calloc(timeline->count, sizeof(*ranges));

	if (!ranges)
		return err_nomem();
	for (size_t band = 0; band < timeline->band_count; band++) {
		CLEAN(str_deinit) struct str tip = { 0 };

		str_printf(&tip, "%s: ", timeline->band_titles[band]);
		str_add_iec(&tip, timeline->peak_bands[band]);
		str_add(&tip, " at the peak");
		for (size_t i = 0; i < timeline->count; i++) {
			ranges[i].low = ranges[i].high;
			ranges[i].high += (double)timeline->bands[i * timeline->band_count + band];
		}
		drawing->points.count = 0;
		steps_add(drawing, ranges, EDGE_HIGH, chart_y);
		steps_add_back(drawing, ranges, chart_y);
		canvas_area(drawing->chart.canvas, drawing->points.items, drawing->points.count,
			    band_colour(drawing, band), str_text(&tip));
	}
	return NULL;
}

static void draw_rss(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	const struct chart *chart = &drawing->chart;
	struct canvas_stroke stroke = stroke_of(drawing, chart->theme->rss);

	drawing->points.count = 0;
	for (size_t i = 0; i < timeline->rss_count; i++)
		point_add(drawing, chart_x(chart, timeline->rss[i].x),
			  chart_y(chart, timeline->rss[i].y));
	stroke.width *= 1.2;
	canvas_lines(chart->canvas, drawing->points.items, drawing->points.count, &stroke);
}

static void draw_allocated(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	const struct chart *chart = &drawing->chart;
	const struct canvas_stroke stroke = stroke_of(drawing, chart->theme->allocated);

	drawing->points.count = 0;
	for (size_t i = 0; i < timeline->count; i++)
		point_add(drawing, chart_x(chart, column_end(timeline, i)),
			  chart_y2(chart, timeline->allocated[i]));
	canvas_lines(chart->canvas, drawing->points.items, drawing->points.count, &stroke);
}

static void draw_peak(const struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	const struct chart *chart = &drawing->chart;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, "peak ");
	str_add_iec(&text, (uint64_t)timeline->peak.y);
	chart_note(chart, chart_x(chart, timeline->peak.x), chart_y(chart, timeline->peak.y),
		   timeline->bands ? chart->theme->ink : chart->theme->heap, str_text(&text));
}

/* --- axes and legend ------------------------------------------------------------------------ */

static double highest(const struct timeline_range *ranges, size_t count)
{
	double most = 0;

	for (size_t i = 0; ranges && i < count; i++)
		most = fmax(most, ranges[i].high);
	return most;
}

static double highest_left(const struct timeline *timeline)
{
	double most = highest(timeline->heap, timeline->count);

	most = fmax(most, highest(timeline->total, timeline->count));
	if (!timeline->has_own_stack_scale)
		most = fmax(most, highest(timeline->stack, timeline->count));
	for (size_t i = 0; i < timeline->rss_count; i++)
		most = fmax(most, timeline->rss[i].y);
	if (timeline->has_peak)
		most = fmax(most, timeline->peak.y);
	return fmax(most, 1);
}

static void draw_legend(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	const struct theme *theme = drawing->chart.theme;
	struct chart_key keys[KEYS_MAX];
	size_t count = 0;

	if (!timeline->bands)
		keys[count++] = (struct chart_key) { .label = "live heap (requested)",
						     .rgba = theme->heap };
	if (timeline->rss_count > 1)
		keys[count++] =
			(struct chart_key) { .label = "resident memory (RSS)", .rgba = theme->rss };
	if (timeline->stack)
		keys[count++] = (struct chart_key) { .label = timeline->has_own_stack_scale
								      ? "stack (right scale)"
								      : "stack",
						     .rgba = theme->stack };
	if (timeline->total)
		keys[count++] =
			(struct chart_key) { .label = "heap and stack", .rgba = theme->total };
	if (timeline->allocated)
		keys[count++] = (struct chart_key) { .label = "allocated, summed up (right scale)",
						     .rgba = theme->allocated };
	if (count > 0)
		chart_keys(&drawing->chart, keys, count);
}

/* Bands are listed in stacking order. */
static void draw_band_legend(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	struct chart_key keys[COURSE_BANDS_MAX + 1];
	char values[COURSE_BANDS_MAX + 1][STR_SHORT_BYTES];

	for (size_t i = 0; i < timeline->band_count; i++) {
		const size_t band = timeline->band_count - 1 - i;

		keys[i] = (struct chart_key) {
			.label = timeline->band_titles[band],
			.value = str_iec(values[i], timeline->peak_bands[band]),
			.rgba = band_colour(drawing, band),
			.kind = CHART_KEY_BOX,
		};
	}
	chart_side_keys(&drawing->chart, "at the peak", keys, timeline->band_count);
}

static void draw_axes(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	const struct theme *theme = drawing->chart.theme;
	const bool has_stack = timeline->stack && timeline->has_own_stack_scale;
	const struct axis x = { .title = timeline->x_title,
				.unit = timeline->x_unit,
				.min = timeline->x_min,
				.max = timeline->x_max };
	const struct axis y = { .title = "bytes",
				.unit = TICKS_BYTES,
				.max = highest_left(timeline),
				.rgba = has_stack ? theme->heap : 0 };
	struct axis y2 = { .unit = TICKS_BYTES };

	if (has_stack) {
		y2.title = "stack";
		y2.rgba = theme->stack;
		y2.max = fmax(highest(timeline->stack, timeline->count), 1);
	} else if (timeline->allocated) {
		y2.title = "allocated";
		y2.rgba = theme->allocated;
		y2.max = fmax(timeline->allocated[timeline->count - 1], 1);
	}
	chart_axes(&drawing->chart, &x, &y, y2.title ? &y2 : NULL);
}

static struct err *draw(struct drawing *drawing)
{
	const struct timeline *timeline = drawing->timeline;
	struct chart *chart = &drawing->chart;
	struct err *err = NULL;

	draw_legend(drawing);
	if (timeline->bands)
		draw_band_legend(drawing);
	if (timeline->mark_count > 0)
		chart_marks_room(chart);
	draw_axes(drawing);
	canvas_clip(chart->canvas,
		    (struct canvas_box) { chart->plot.x, chart->plot.y - chart->font,
					  chart->plot.width, chart->plot.height + chart->font });
	if (timeline->total)
		draw_ranges(drawing, timeline->total, chart->theme->total, false, chart_y);
	if (timeline->bands)
		err = draw_bands(drawing);
	else
		draw_ranges(drawing, timeline->heap, chart->theme->heap, true, chart_y);
	if (timeline->allocated)
		draw_allocated(drawing);
	if (timeline->stack)
		draw_ranges(drawing, timeline->stack, chart->theme->stack, false,
			    timeline->has_own_stack_scale ? chart_y2 : chart_y);
	draw_rss(drawing);
	canvas_unclip(chart->canvas);
	chart_frame(chart);
	chart_marks(chart, timeline->marks, timeline->mark_count);
	if (timeline->has_peak)
		draw_peak(drawing);
	return err;
}

struct err *timeline_draw(const struct timeline *timeline, const struct chart_settings *settings,
			  FILE *out)
{
	CLEAN(canvas_destroy) struct canvas *canvas = NULL;
	struct drawing drawing = { .timeline = timeline };
	struct err *err = canvas_create(&settings->canvas, &canvas);

	assert(timeline->count >= 1);
	assert(timeline->x_min <= timeline->x_max);
	assert(!timeline->bands || timeline->band_count > 0);
	if (err)
		return err;
	chart_begin(&drawing.chart, canvas, settings);
	err = draw(&drawing);
	if (!err && drawing.has_failed)
		err = err_nomem();
	points_deinit(&drawing.points);
	return err ? err : canvas_write(canvas, out);
}
