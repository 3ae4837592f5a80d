#include "plot/heat_svg.h"

#include <assert.h>
#include <math.h>

#include "base/number.h"
#include "heat_assets.h"

enum { HEAT_COLOURS = 16, WIDTH_MIN = 640 };

struct svg {
	const struct heat *heat;
	const struct heat_svg_settings *settings;
	struct str *out;
	struct ticks x_ticks;
	struct ticks y_ticks;
	double font;
	double box;
	double left; /* of the grid */
	double top;
	double width; /* of the grid */
	double height;
	double paper_width;
	double paper_height;
	uint64_t most;
};

/* Relative to the font. */
static const double MARKS_HEIGHT = 1.5;
static const double MARKS_GAP = .25; /* closer ones are one line */

static const char idle_text[] = "Point at a cell, or press m and the arrow keys.";

/* --- layout ---------------------------------------------------------------------------------- */

static double position(const struct heat_axis *axis, double value)
{
	const double at = axis->is_log ? (log(fmax(value, axis->min)) - log(axis->min)) / axis->step
				       : (value - axis->min) / axis->step;

	return at; /* in cells */
}

static double x_of(const struct svg *svg, double value)
{
	return svg->left + position(&svg->heat->x, value) * svg->box;
}

static double y_of(const struct svg *svg, double value)
{
	return svg->top + svg->height - position(&svg->heat->y, value) * svg->box;
}

static void make_ticks(const struct heat_axis *axis, double length, double apart,
		       struct ticks *ticks)
{
	const double max = heat_edge(axis, axis->count);
	const unsigned count = (unsigned)fmax(length / apart, 1);

	if (axis->is_log)
		ticks_log(axis->unit, axis->min, max, count, ticks);
	else
		ticks_linear(axis->unit, axis->min, max,
			     ticks_step(axis->unit, (max - axis->min) / count, max), ticks);
}

/* Letters cannot be measured here: most are not wider than this. */
static double text_width(const struct svg *svg, const char *text)
{
	return (double)str_width(text) * svg->font * .64;
}

static double labels_width(const struct svg *svg)
{
	double width = 0;

	for (size_t i = 0; i < svg->y_ticks.count; i++)
		width = fmax(width, text_width(svg, svg->y_ticks.items[i].label) +
					    text_width(svg, svg->heat->y.suffix));
	return width;
}

static void lay_out(struct svg *svg)
{
	const struct heat *heat = svg->heat;

	svg->font = svg->settings->font_size;
	svg->box = svg->settings->box_size;
	svg->width = (double)heat->x.count * svg->box;
	svg->height = (double)heat->y.count * svg->box;
	make_ticks(&heat->x, svg->width, svg->font * 7, &svg->x_ticks);
	make_ticks(&heat->y, svg->height, svg->font * 2.2, &svg->y_ticks);
	svg->left = labels_width(svg) + svg->font * 1.6;
	svg->top = svg->font * (svg->settings->subtitle ? 6 : 4.5);
	if (heat->mark_count > 0)
		svg->top += svg->font * MARKS_HEIGHT;
	svg->paper_width = fmax(svg->left + svg->width + svg->font * 2, WIDTH_MIN);
	svg->paper_height = svg->top + svg->height + svg->font * 6;
	svg->most = svg->settings->count_max ? svg->settings->count_max : heat->most;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static void add_number(struct svg *svg, const char *name, double value)
{
	str_printf(svg->out, " %s=\"", name);
	str_add_double(svg->out, value, 2);
	str_add_char(svg->out, '"');
}

static void add_text(struct svg *svg, const char *class, double x, double y, const char *anchor,
		     const char *text)
{
	str_add(svg->out, "<text");
	if (class)
		str_printf(svg->out, " class=\"%s\"", class);
	add_number(svg, "x", x);
	add_number(svg, "y", y);
	str_printf(svg->out, " text-anchor=\"%s\">", anchor);
	str_add_xml(svg->out, text);
	str_add(svg->out, "</text>\n");
}

static void add_line(struct svg *svg, const char *class, double x1, double y1, double x2, double y2)
{
	str_printf(svg->out, "<line class=\"%s\"", class);
	add_number(svg, "x1", x1);
	add_number(svg, "y1", y1);
	add_number(svg, "x2", x2);
	add_number(svg, "y2", y2);
	str_add(svg->out, "/>\n");
}

static unsigned colour_of(const struct svg *svg, uint64_t count)
{
	const double share = heat_share(count, svg->most, svg->settings->is_log_colour);

	return (unsigned)lround(share * (HEAT_COLOURS - 1));
}

/* Light background: from peach to dark red; dark background: from dull red to light. */
static void add_palette(struct svg *svg)
{
	static const struct theme *const themes[] = { &theme_light, &theme_dark };

	str_add(svg->out, "<style><![CDATA[\n");
	str_add(svg->out, heat_css);
	for (size_t t = 0; t < array_size(themes); t++) {
		if (t == 1)
			str_add(svg->out, "@media (prefers-color-scheme: dark) {\n");
		for (unsigned i = 0; i < HEAT_COLOURS; i++)
			str_printf(svg->out, ".h%u { fill: #%06x; }%s", i,
				   theme_mix(themes[t]->heat[0], themes[t]->heat[1],
					     (double)i / (HEAT_COLOURS - 1)) >>
					   8,
				   i + 1 == HEAT_COLOURS ? "\n" : " ");
	}
	str_add(svg->out, "}\n]]></style>\n");
}

static void svg_begin(struct svg *svg)
{
	const struct heat_svg_settings *settings = svg->settings;

	str_add(svg->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			  "<svg xmlns=\"http://www.w3.org/2000/svg\"");
	add_number(svg, "width", svg->paper_width);
	add_number(svg, "height", svg->paper_height);
	str_add(svg->out, " viewBox=\"0 0 ");
	str_add_double(svg->out, svg->paper_width, 2);
	str_add_char(svg->out, ' ');
	str_add_double(svg->out, svg->paper_height, 2);
	str_add(svg->out, "\" font-family=\"");
	str_add_xml(svg->out, settings->font);
	str_printf(svg->out, ", 'DejaVu Sans', sans-serif\" font-size=\"%u\">\n<title>",
		   settings->font_size);
	str_add_xml(svg->out, settings->title);
	str_add(svg->out, "</title>\n");
	add_palette(svg);
	str_add(svg->out,
		"<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

/* As much of the text as surely fits; the document's title has all of it. */
static void add_fitting(const struct svg *svg, double size, const char *text, struct str *out)
{
	size_t room = (size_t)((svg->paper_width - svg->font * 2) / (size * .66));

	if (str_width(text) <= room) {
		str_add(out, text);
		return;
	}
	for (; room > 1 && *text; room--) {
		const size_t bytes = str_utf8_bytes(text) > 0 ? str_utf8_bytes(text) : 1;

		str_add_bytes(out, text, bytes);
		text += bytes;
	}
	str_add(out, "\u2026");
}

/* The line above the grid, and above the names of marks. */
static double scale_y(const struct svg *svg)
{
	return svg->top - svg->font * (svg->heat->mark_count > 0 ? 1.5 + MARKS_HEIGHT : 1.5);
}

static void svg_titles(struct svg *svg)
{
	const double x = svg->font * .8, y = svg->font * 2;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };

	str_printf(svg->out, "<g font-size=\"%u\">\n", svg->settings->font_size + 5);
	add_fitting(svg, svg->font + 5, svg->settings->title, &title);
	add_text(svg, "title", x, y, "start", str_text(&title));
	str_add(svg->out, "</g>\n");
	if (svg->settings->subtitle) {
		add_fitting(svg, svg->font, svg->settings->subtitle, &subtitle);
		add_text(svg, NULL, x, y + svg->font * 1.5, "start", str_text(&subtitle));
	}
	add_text(svg, NULL, x, scale_y(svg) + svg->font * .72, "start", svg->heat->y.title);
}

/* The colours and their meaning, above the grid at the right. */
static void svg_scale(struct svg *svg)
{
	const double size = svg->font * .8, y = scale_y(svg);
	double x = svg->left + svg->width;
	char number[STR_SHORT_BYTES], most[2 * STR_SHORT_BYTES];

	if (x < svg->left + svg->font * 24)
		x = svg->left + svg->font * 24;
	add_text(svg, NULL, x, y + size * .9, "end",
		 str_format(most, sizeof(most), "%s%s%s", str_grouped(number, svg->most),
			    svg->heat->is_amount ? " " : "",
			    svg->heat->is_amount ? svg->heat->things : ""));
	x -= text_width(svg, most) + svg->font * .4 + size * HEAT_COLOURS;
	for (unsigned i = 0; i < HEAT_COLOURS; i++) {
		str_printf(svg->out, "<rect class=\"h%u\"", i);
		add_number(svg, "x", x + size * i);
		add_number(svg, "y", y);
		add_number(svg, "width", size);
		add_number(svg, "height", size);
		str_add(svg->out, "/>\n");
	}
	add_text(svg, NULL, x - svg->font * .4, y + size * .9, "end", "1");
}

static void svg_axes(struct svg *svg)
{
	const double bottom = svg->top + svg->height, right = svg->left + svg->width;

	for (size_t i = 0; i < svg->y_ticks.count; i++) {
		const struct tick *tick = &svg->y_ticks.items[i];
		const double y = y_of(svg, tick->value);
		CLEAN(str_deinit) struct str label = { 0 };

		if (tick->is_minor)
			continue;
		str_printf(&label, "%s%s", tick->label, svg->heat->y.suffix);
		add_line(svg, "tick", svg->left - svg->font * .4, y, svg->left, y);
		add_text(svg, NULL, svg->left - svg->font * .6, y + svg->font * .35, "end",
			 str_text(&label));
	}
	for (size_t i = 0; i < svg->x_ticks.count; i++) {
		const struct tick *tick = &svg->x_ticks.items[i];
		const double x = x_of(svg, tick->value);

		if (tick->is_minor)
			continue;
		add_line(svg, "tick", x, bottom, x, bottom + svg->font * .4);
		add_text(svg, NULL, x, bottom + svg->font * 1.6, "middle", tick->label);
	}
	add_line(svg, "frame", svg->left, svg->top, svg->left, bottom);
	add_line(svg, "frame", svg->left, bottom, right, bottom);
	add_text(svg, NULL, svg->left + svg->width / 2, bottom + svg->font * 3.1, "middle",
		 svg->heat->x.title);
}

static void svg_grid(struct svg *svg)
{
	const double bottom = svg->top + svg->height, right = svg->left + svg->width;

	if (!svg->settings->has_grid)
		return;
	for (size_t i = 0; i < svg->y_ticks.count; i++) {
		const double y = y_of(svg, svg->y_ticks.items[i].value);

		add_line(svg, "grid", svg->left, y, right, y);
	}
	for (size_t i = 0; i < svg->x_ticks.count; i++) {
		const double x = x_of(svg, svg->x_ticks.items[i].value);

		add_line(svg, "grid", x, svg->top, x, bottom);
	}
	add_line(svg, "grid", svg->left, svg->top, right, svg->top);
}

/* --- cells ----------------------------------------------------------------------------------- */

static uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? u64_mul_div(part, 100, whole) : 0;
}

static void add_range(struct str *out, const struct heat_axis *axis, size_t cell)
{
	heat_add_value(out, axis, heat_edge(axis, cell));
	str_add(out, " - ");
	heat_add_value(out, axis, heat_edge(axis, cell + 1));
}

static void make_tip(const struct svg *svg, size_t column, size_t row, uint64_t count,
		     uint64_t accumulated, struct str *tip)
{
	const struct heat *heat = svg->heat;
	const uint64_t whole = heat->column_totals[column];

	str_printf(tip, "%s ", heat->x.title);
	add_range(tip, &heat->x, column);
	str_add(tip, ", range ");
	add_range(tip, &heat->y, row);
	str_printf(tip, ", %s: ", svg->heat->is_amount ? svg->heat->things : "count");
	str_add_u64(tip, count);
	str_printf(tip, ", colpct: %llu%%", (unsigned long long)percent(count, whole));
	if (svg->settings->has_accumulated)
		str_printf(tip, ", acc: %llu, acc pct: %llu%%", (unsigned long long)accumulated,
			   (unsigned long long)percent(accumulated, whole));
}

static void svg_cell(struct svg *svg, size_t column, size_t row, uint64_t accumulated)
{
	const uint64_t count = svg->heat->counts[row * svg->heat->x.count + column];
	const unsigned colour = colour_of(svg, count);
	CLEAN(str_deinit) struct str tip = { 0 };

	str_printf(svg->out, "<rect class=\"h%u\" fill=\"#%06x\"", colour,
		   theme_mix(theme_light.heat[0], theme_light.heat[1],
			     (double)colour / (HEAT_COLOURS - 1)) >>
			   8);
	add_number(svg, "x", svg->left + (double)column * svg->box);
	add_number(svg, "y", svg->top + svg->height - (double)(row + 1) * svg->box);
	add_number(svg, "width", svg->box);
	add_number(svg, "height", svg->box);
	str_printf(svg->out, " data-count=\"%llu\"><title>", (unsigned long long)count);
	make_tip(svg, column, row, count, accumulated, &tip);
	str_add_xml(svg->out, str_text(&tip));
	str_add(svg->out, "</title></rect>\n");
	svg->out->failed |= tip.failed;
}

static void svg_cells(struct svg *svg)
{
	const struct heat *heat = svg->heat;

	str_add(svg->out, "<g id=\"cells\">\n");
	for (size_t column = 0; column < heat->x.count; column++) {
		uint64_t accumulated = 0;

		for (size_t row = 0; row < heat->y.count; row++) {
			const uint64_t count = heat->counts[row * heat->x.count + column];

			accumulated += count;
			if (count > 0)
				svg_cell(svg, column, row, accumulated);
		}
	}
	str_add(svg->out, "</g>\n");
}

/* On top of the cells, if within the grid. */
static void svg_reference(struct svg *svg)
{
	const struct heat_axis *axis = &svg->heat->y;
	const double value = svg->settings->reference;
	CLEAN(str_deinit) struct str label = { 0 };
	double y;

	if (!svg->settings->has_reference || value < axis->min ||
	    value > heat_edge(axis, axis->count))
		return;
	y = y_of(svg, value);
	heat_add_value(&label, axis, value);
	add_line(svg, "reference", svg->left, y, svg->left + svg->width, y);
	add_text(svg, "reference-label", svg->left + svg->width, y - svg->font * .3, "end",
		 str_text(&label));
}

/* A line for each mark, with its name where there is room, else under the pointer. */
static void svg_marks(struct svg *svg)
{
	const double bottom = svg->top + svg->height, row = svg->top - svg->font * .4;
	double free_from = svg->left - svg->font, last = -svg->font;

	for (size_t i = 0; i < svg->heat->mark_count; i++) {
		const struct chart_mark *mark = &svg->heat->marks[i];
		const double x = x_of(svg, mark->x);
		CLEAN(str_deinit) struct str name = { 0 };
		double width;

		if (x - last < svg->font * MARKS_GAP)
			continue;
		last = x;
		str_add_terminal(&name, mark->name);
		width = text_width(svg, str_text(&name));
		str_add(svg->out, "<g class=\"mark\"><title>");
		str_add_xml(svg->out, str_text(&name));
		str_add(svg->out, "</title>\n");
		add_line(svg, "mark", x, row - svg->font * .9, x, bottom);
		if (x >= free_from && x + svg->font * .4 + width < svg->paper_width) {
			add_text(svg, "mark", x + svg->font * .4, row, "start", str_text(&name));
			free_from = x + svg->font * 1.4 + width;
		}
		str_add(svg->out, "</g>\n");
		svg->out->failed |= name.failed;
	}
}

static void svg_status(struct svg *svg)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, idle_text);
	if (svg->heat->outside > 0) {
		str_add_char(&text, ' ');
		str_add_counted(&text, svg->heat->outside, "event");
		str_add(&text, svg->heat->outside == 1 ? " is" : " are");
		str_add(&text, " outside of the range.");
	}
	str_add(svg->out, "<text id=\"status\"");
	add_number(svg, "x", svg->font * .8);
	add_number(svg, "y", svg->paper_height - svg->font);
	str_add_char(svg->out, '>');
	str_add_xml(svg->out, str_text(&text));
	str_add(svg->out, "</text>\n<rect id=\"chosen\" style=\"visibility:hidden\"/>\n");
}

struct err *heat_svg(const struct heat *heat, const struct heat_svg_settings *settings,
		     struct str *out)
{
	struct svg svg = { .heat = heat, .settings = settings, .out = out };

	assert(heat->counts && heat->x.count >= 1 && heat->y.count >= 1);
	assert(settings->font_size > 0 && settings->box_size > 0);
	lay_out(&svg);
	svg_begin(&svg);
	svg_titles(&svg);
	svg_scale(&svg);
	svg_axes(&svg);
	svg_cells(&svg);
	svg_grid(&svg);
	svg_reference(&svg);
	svg_marks(&svg);
	svg_status(&svg);
	str_add(out, "<script><![CDATA[\n");
	str_add(out, heat_js);
	str_add(out, "]]></script>\n</svg>\n");
	return out->failed ? err_nomem() : NULL;
}
