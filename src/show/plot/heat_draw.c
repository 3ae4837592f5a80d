#include <assert.h>
#include <math.h>

#include "plot/heat.h"

static void axis_of(const struct heat_axis *from, struct axis *axis)
{
	*axis = (struct axis) {
		.title = from->title,
		.unit = from->unit,
		.min = from->min,
		.max = heat_edge(from, from->count),
		.is_log = from->is_log,
	};
}

/* Adjacent cells of one colour are one rectangle, so that large pictures stay small files. */
static void draw_row(const struct chart *chart, const struct heat *heat, size_t row)
{
	const uint64_t *counts = &heat->counts[row * heat->x.count];
	const double bottom = chart_y(chart, heat_edge(&heat->y, row));
	const double top = chart_y(chart, heat_edge(&heat->y, row + 1));
	size_t end;

	for (size_t i = 0; i < heat->x.count; i = end) {
		double left, right;
		uint32_t rgba;

		for (end = i + 1; end < heat->x.count && counts[end] == counts[i];)
			end++;
		if (counts[i] == 0)
			continue;
		left = chart_x(chart, heat_edge(&heat->x, i));
		right = chart_x(chart, heat_edge(&heat->x, end));
		rgba = theme_mix(chart->theme->heat[0], chart->theme->heat[1],
				 heat_share(counts[i], heat->most, true));
		canvas_rect(chart->canvas,
			    (struct canvas_box) { left, top, right - left + .2, bottom - top + .2 },
			    rgba, NULL);
	}
}

/* From one to the maximum, next to the title of the vertical axis. */
static void draw_scale(const struct chart *chart, const struct heat *heat)
{
	enum { STEPS = 24 };
	const double width = chart->font * 9, height = chart->font * .8;
	const double right = chart->plot.x + chart->plot.width;
	const double top = chart->plot.y - chart->font * 1.7;
	struct canvas_font font = chart_font(chart, CANVAS_RIGHT);
	char number[STR_SHORT_BYTES], text[STR_SHORT_BYTES + 8];
	double left;

	str_format(text, sizeof(text), "%s %s", str_grouped(number, heat->most), heat->things);
	canvas_text(chart->canvas, (struct canvas_point) { right, top + height * .95 }, &font,
		    text);
	left = right - canvas_text_width(chart->canvas, &font, text) - chart->font * .5 - width;
	for (unsigned i = 0; i < STEPS; i++)
		canvas_rect(chart->canvas,
			    (struct canvas_box) { left + width * i / STEPS, top, width / STEPS + .2,
						  height },
			    theme_mix(chart->theme->heat[0], chart->theme->heat[1],
				      (double)i / (STEPS - 1)),
			    NULL);
	canvas_text(chart->canvas,
		    (struct canvas_point) { left - chart->font * .5, top + height * .95 }, &font,
		    "1");
}

struct err *heat_draw(const struct heat *heat, const struct chart_settings *settings, FILE *out)
{
	CLEAN(canvas_destroy) struct canvas *canvas = NULL;
	struct chart chart;
	struct axis x, y;
	struct err *err = canvas_create(&settings->canvas, &canvas);

	assert(heat->counts && heat->x.count >= 1 && heat->y.count >= 1);
	if (err)
		return err;
	axis_of(&heat->x, &x);
	axis_of(&heat->y, &y);
	chart_begin(&chart, canvas, settings);
	if (heat->mark_count > 0)
		chart_marks_room(&chart);
	chart_axes(&chart, &x, &y, NULL);
	for (size_t row = 0; row < heat->y.count; row++)
		draw_row(&chart, heat, row);
	draw_scale(&chart, heat);
	chart_marks(&chart, heat->marks, heat->mark_count);
	chart_frame(&chart);
	return canvas_write(canvas, out);
}
