#include "plot/chart.h"

#include <assert.h>
#include <math.h>

static const double LINE = 1.5; /* line height, relative to the font size */

enum { WORDS_WIDTH_MIN = 200, WORDS_HEIGHT_MIN = 150, FONT_TINY = 6 };

struct canvas_font chart_font(const struct chart *chart, enum canvas_anchor anchor)
{
	assert((unsigned)anchor <= CANVAS_RIGHT);
	return (struct canvas_font) {
		.size = chart->font,
		.rgba = chart->theme->soft,
		.anchor = anchor,
	};
}

static void take_top(struct chart *chart, double height)
{
	chart->room.y += height;
	chart->room.height -= height;
}

static void text_line(struct chart *chart, const struct canvas_font *font, const char *text)
{
	CLEAN(str_deinit) struct str fit = { 0 };

	canvas_text_fit(chart->canvas, font, text, chart->room.width, &fit);
	take_top(chart, font->size);
	canvas_text(chart->canvas, (struct canvas_point) { chart->room.x, chart->room.y }, font,
		    str_text(&fit));
	take_top(chart, font->size * (LINE - 1));
}

void chart_begin(struct chart *chart, struct canvas *canvas, const struct chart_settings *settings)
{
	const double width = settings->canvas.width, height = settings->canvas.height;
	const bool is_tiny = width < WORDS_WIDTH_MIN || height < WORDS_HEIGHT_MIN;
	const double font = is_tiny ? FONT_TINY : fmin(fmax(sqrt(width * height) / 62, 8.5), 40);
	struct canvas_font heading = { .size = font * 1.5, .is_bold = true };

	assert(settings->theme);
	assert(canvas);
	*chart = (struct chart) {
		.canvas = canvas,
		.theme = settings->theme,
		.font = font,
		.is_tiny = is_tiny,
		.room = { font * 1.2, font, width - font * 2.4, height - font * 1.8 },
	};
	heading.rgba = chart->theme->ink;
	canvas_rect(canvas, (struct canvas_box) { 0, 0, width, height }, chart->theme->paper, NULL);
	if (is_tiny)
		return;
	text_line(chart, &heading, settings->title);
	if (settings->subtitle && height >= font * 16) {
		const struct canvas_font soft = chart_font(chart, CANVAS_LEFT);

		text_line(chart, &soft, settings->subtitle);
	}
	take_top(chart, font * .3);
}

/* --- legends -------------------------------------------------------------------------------- */

/* A key's symbol, its left edge at x, vertically centred on lower-case letters. */
static void draw_key(struct chart *chart, const struct chart_key *key, double x, double baseline)
{
	const double size = chart->font * .8, middle = baseline - chart->font * .32;

	if (key->kind == CHART_KEY_BOX) {
		canvas_rect(chart->canvas, (struct canvas_box) { x, middle - size / 2, size, size },
			    key->rgba, NULL);
		return;
	}
	canvas_lines(chart->canvas,
		     (struct canvas_point[]) { { x, middle }, { x + size * 1.5, middle } }, 2,
		     &(struct canvas_stroke) { .rgba = key->rgba, .width = chart->font * .2 });
}

void chart_keys(struct chart *chart, const struct chart_key *keys, size_t count)
{
	const struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	double x = chart->room.x;

	assert(keys || count == 0);
	if (count == 0 || chart->is_tiny)
		return;
	take_top(chart, chart->font);
	for (size_t i = 0; i < count; i++) {
		const double sign = chart->font * (keys[i].kind == CHART_KEY_BOX ? 1.2 : 1.6);
		const double width = sign + canvas_text_width(chart->canvas, &font, keys[i].label);

		if (i > 0 && x + width > chart->room.x + chart->room.width) {
			x = chart->room.x;
			take_top(chart, chart->font * LINE);
		}
		draw_key(chart, &keys[i], x, chart->room.y);
		canvas_text(chart->canvas, (struct canvas_point) { x + sign, chart->room.y }, &font,
			    keys[i].label);
		x += width + chart->font * 1.6;
	}
	take_top(chart, chart->font * .6);
}

static double side_width(struct chart *chart, const struct chart_key *keys, size_t count,
			 double *values_ret)
{
	const struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	double labels = 0, values = 0;

	for (size_t i = 0; i < count; i++) {
		labels = fmax(labels, canvas_text_width(chart->canvas, &font, keys[i].label));
		if (keys[i].value)
			values = fmax(values,
				      canvas_text_width(chart->canvas, &font, keys[i].value));
	}
	*values_ret = values;
	return chart->font * 2.2 + labels + values;
}

void chart_side_keys(struct chart *chart, const char *heading, const struct chart_key *keys,
		     size_t count)
{
	const struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	struct canvas_font right = chart_font(chart, CANVAS_RIGHT);
	const double gap = chart->font * 1.4, step = chart->font * 1.65;
	double values, width = side_width(chart, keys, count, &values);
	double x, end, y = chart->room.y + chart->font;

	assert(keys || count == 0);
	if (chart->is_tiny)
		return;
	width = fmin(width, chart->room.width * .38);
	x = chart->room.x + chart->room.width - width;
	end = chart->room.x + chart->room.width;
	right.rgba = chart->theme->ink;
	canvas_text(chart->canvas, (struct canvas_point) { end, y }, &right, heading);
	for (size_t i = 0; i < count; i++) {
		const double room = width - chart->font * 2.2 - values;
		CLEAN(str_deinit) struct str label = { 0 };

		y += step;
		if (y > chart->room.y + chart->room.height)
			break;
		draw_key(chart, &keys[i], x, y);
		canvas_text_fit(chart->canvas, &font, keys[i].label, room + 1, &label);
		canvas_text(chart->canvas, (struct canvas_point) { x + chart->font * 1.2, y },
			    &font, str_text(&label));
		if (keys[i].value)
			canvas_text(chart->canvas, (struct canvas_point) { end, y }, &right,
				    keys[i].value);
	}
	chart->room.width -= width + gap;
}

/* --- axes ----------------------------------------------------------------------------------- */

static double position(const struct axis *axis, double value)
{
	if (axis->is_log)
		return (log(fmax(value, axis->min)) - log(axis->min)) /
		       (log(axis->max) - log(axis->min));
	return (value - axis->min) / (axis->max - axis->min);
}

double chart_x(const struct chart *chart, double value)
{
	return chart->plot.x + chart->plot.width * position(&chart->x, value);
}

double chart_y(const struct chart *chart, double value)
{
	return chart->plot.y + chart->plot.height * (1 - position(&chart->y, value));
}

double chart_y2(const struct chart *chart, double value)
{
	assert(chart->has_y2);
	return chart->plot.y + chart->plot.height * (1 - position(&chart->y2, value));
}

static double widest(struct chart *chart, const struct ticks *ticks)
{
	const struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	double width = 0;

	for (size_t i = 0; i < ticks->count; i++)
		width = fmax(width, canvas_text_width(chart->canvas, &font, ticks->items[i].label));
	return width;
}

/*
 * Extends the axis to a tick, so that the curve's maximum is between two ticks. That may lead to
 * the next unit, whose steps differ.
 */
static void fit_vertical(struct axis *axis, unsigned count, struct ticks *ticks)
{
	const double most = axis->max;
	double step = 0;

	if (axis->is_log) {
		ticks_log(axis->unit, axis->min, axis->max, count, ticks);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		step = ticks_step(axis->unit, (most - axis->min) / count, axis->max);
		axis->max = axis->min + ceil((most - axis->min) / step - 1e-9) * step;
	}
	ticks_linear(axis->unit, axis->min, axis->max, step, ticks);
}

/* Keeps every n-th labelled tick, from the first on; the others become minor, without label. */
static void thin_ticks(const struct ticks *given, unsigned count, struct ticks *ticks)
{
	size_t labels = 0, every = 1, at = 0;

	for (size_t i = 0; i < given->count; i++)
		labels += !given->items[i].is_minor;
	every = labels > count ? div_up(labels, count) : 1;
	*ticks = *given;
	for (size_t i = 0; i < ticks->count; i++) {
		if (!ticks->items[i].is_minor && at++ % every != 0)
			ticks->items[i].is_minor = true;
		if (ticks->items[i].is_minor)
			ticks->items[i].label[0] = '\0';
	}
}

static void horizontal_ticks(struct chart *chart, unsigned count)
{
	const struct axis *axis = &chart->x;

	if (axis->ticks)
		thin_ticks(axis->ticks, count, &chart->x_ticks);
	else if (axis->is_log)
		ticks_log(axis->unit, axis->min, axis->max, count, &chart->x_ticks);
	else
		ticks_linear(axis->unit, axis->min, axis->max,
			     ticks_step(axis->unit, (axis->max - axis->min) / count, axis->max),
			     &chart->x_ticks);
}

static bool horizontal_fits(struct chart *chart)
{
	const double width = widest(chart, &chart->x_ticks) + chart->font;
	const struct tick *last = NULL;

	for (size_t i = 0; i < chart->x_ticks.count; i++) {
		const struct tick *tick = &chart->x_ticks.items[i];

		if (tick->is_minor)
			continue;
		if (last && chart_x(chart, tick->value) - chart_x(chart, last->value) < width)
			return false;
		last = tick;
	}
	return true;
}

/* As many as fit side by side with a gap. */
static void fit_horizontal(struct chart *chart)
{
	unsigned count = (unsigned)fmax(chart->plot.width / (chart->font * 3.5), 1);

	horizontal_ticks(chart, count);
	while (count > 1 && !horizontal_fits(chart))
		horizontal_ticks(chart, --count);
}

static void grid_line(const struct chart *chart, double x1, double y1, double x2, double y2,
		      uint32_t rgba)
{
	canvas_lines(chart->canvas, (struct canvas_point[]) { { x1, y1 }, { x2, y2 } }, 2,
		     &(struct canvas_stroke) { .rgba = rgba, .width = fmax(chart->font / 13, .5) });
}

static void draw_y(const struct chart *chart)
{
	const double right = chart->plot.x + chart->plot.width;
	struct canvas_font font = chart_font(chart, CANVAS_RIGHT);

	if (chart->y.rgba)
		font.rgba = chart->y.rgba;
	for (size_t i = 0; i < chart->y_ticks.count; i++) {
		const struct tick *tick = &chart->y_ticks.items[i];
		const double y = chart_y(chart, tick->value);

		grid_line(chart, chart->plot.x, y, right, y,
			  tick->is_minor ? theme_fade(chart->theme->grid, 0x80)
					 : chart->theme->grid);
		canvas_text(chart->canvas,
			    (struct canvas_point) { chart->plot.x - chart->font * .5,
						    y + chart->font * .35 },
			    &font, tick->label);
	}
}

static void draw_y2(const struct chart *chart)
{
	struct canvas_font font = chart_font(chart, CANVAS_LEFT);

	if (chart->y2.rgba)
		font.rgba = chart->y2.rgba;
	for (size_t i = 0; i < chart->y2_ticks.count; i++) {
		const struct tick *tick = &chart->y2_ticks.items[i];

		canvas_text(chart->canvas,
			    (struct canvas_point) {
				    chart->plot.x + chart->plot.width + chart->font * .5,
				    chart_y2(chart, tick->value) + chart->font * .35 },
			    &font, tick->label);
	}
}

static void draw_x(const struct chart *chart)
{
	const struct canvas_font font = chart_font(chart, CANVAS_MIDDLE);
	const double bottom = chart->plot.y + chart->plot.height;

	for (size_t i = 0; i < chart->x_ticks.count; i++) {
		const struct tick *tick = &chart->x_ticks.items[i];
		const double x = chart_x(chart, tick->value);

		grid_line(chart, x, chart->plot.y, x, bottom,
			  tick->is_minor ? theme_fade(chart->theme->grid, 0x80)
					 : chart->theme->grid);
		grid_line(chart, x, bottom, x, bottom + chart->font * .3, chart->theme->axis);
		canvas_text(chart->canvas, (struct canvas_point) { x, bottom + chart->font * 1.45 },
			    &font, tick->label);
	}
}

/* Titles of vertical axes are horizontal, above them, for readability. */
static void draw_titles(const struct chart *chart)
{
	const struct canvas_font middle = chart_font(chart, CANVAS_MIDDLE);
	struct canvas_font left = chart_font(chart, CANVAS_LEFT);
	struct canvas_font right = chart_font(chart, CANVAS_RIGHT);
	const double above = chart->plot.y - chart->font * .9;

	if (chart->y.rgba)
		left.rgba = chart->y.rgba;
	canvas_text(chart->canvas, (struct canvas_point) { chart->room.x, above }, &left,
		    chart->y.title);
	canvas_text(chart->canvas,
		    (struct canvas_point) { chart->plot.x + chart->plot.width / 2,
					    chart->room.y + chart->room.height },
		    &middle, chart->x.title);
	if (!chart->has_y2)
		return;
	right.rgba = chart->y2.rgba ? chart->y2.rgba : right.rgba;
	canvas_text(chart->canvas,
		    (struct canvas_point) { chart->room.x + chart->room.width, above }, &right,
		    chart->y2.title);
}

void chart_axes(struct chart *chart, const struct axis *x, const struct axis *y,
		const struct axis *y2)
{
	const double top = chart->font * (chart->is_tiny ? .5 : 2.2);
	const double bottom = chart->font * (chart->is_tiny ? 1.5 : 3.1);
	const double height = chart->room.height - top - bottom;
	const unsigned count = (unsigned)fmax(height / (chart->font * 3.2), 2);
	double left, right = chart->font * 1.6;

	assert(!x->is_log || x->min > 0);
	assert(!y->is_log || y->min > 0);
	chart->x = *x;
	chart->y = *y;
	fit_vertical(&chart->y, count, &chart->y_ticks);
	left = fmax(widest(chart, &chart->y_ticks), chart->labels_min) + chart->font * .5;
	chart->has_y2 = y2 != NULL;
	if (y2) {
		chart->y2 = *y2;
		fit_vertical(&chart->y2, count, &chart->y2_ticks);
		right = widest(chart, &chart->y2_ticks) + chart->font * .5;
	}
	chart->plot = (struct canvas_box) {
		chart->room.x + left,
		chart->room.y + top,
		fmax(chart->room.width - left - right, 10),
		fmax(height, 10),
	};
	fit_horizontal(chart);
	draw_y(chart);
	draw_x(chart);
	if (y2)
		draw_y2(chart);
	if (!chart->is_tiny)
		draw_titles(chart);
}

void chart_axes_above(struct chart *chart, double share, const struct axis *x, const struct axis *y)
{
	const struct canvas_box whole = chart->room;

	assert(share > 0 && share < 1);
	chart->room.height *= share;
	chart_axes(chart, x, y, NULL);
	chart->room = whole;
	take_top(chart, whole.height * share + chart->font * .5);
}

void chart_frame(const struct chart *chart)
{
	const double bottom = chart->plot.y + chart->plot.height;

	grid_line(chart, chart->plot.x, bottom, chart->plot.x + chart->plot.width, bottom,
		  chart->theme->axis);
}

void chart_note(const struct chart *chart, double x, double y, uint32_t rgba, const char *text)
{
	const double size = chart->font * .3, gap = chart->font * .6;
	struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	const double right = chart->plot.x + chart->plot.width;
	double width, left = x + gap, baseline = y - gap;

	if (chart->is_tiny)
		return;
	font.is_bold = true;
	font.rgba = chart->theme->ink;
	width = canvas_text_width(chart->canvas, &font, text);
	if (left + width > right)
		left = fmax(x - gap - width, chart->plot.x + gap / 2);
	if (baseline - chart->font < chart->plot.y - chart->font)
		baseline = y + chart->font * 1.4;
	canvas_rect(chart->canvas,
		    (struct canvas_box) { left - gap / 3, baseline - chart->font * .95,
					  width + gap * 2 / 3, chart->font * 1.3 },
		    theme_fade(chart->theme->paper, 0xc8), NULL);
	canvas_text(chart->canvas, (struct canvas_point) { left, baseline }, &font, text);
	canvas_rect(chart->canvas, (struct canvas_box) { x - size, y - size, size * 2, size * 2 },
		    chart->theme->paper, NULL);
	canvas_rect(chart->canvas,
		    (struct canvas_box) { x - size * .7, y - size * .7, size * 1.4, size * 1.4 },
		    rgba, NULL);
}
