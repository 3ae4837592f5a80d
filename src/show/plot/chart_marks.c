#include "plot/chart_marks.h"

#include <assert.h>
#include <math.h>

#include "base/str.h"

static const double NAMES_HEIGHT = 1.5;	  /* relative to the font */
static const double TITLES_HEIGHT = 2.2;  /* of the axes, between names and curves */
static const double NAME_WIDTH_MAX = .25; /* of the chart */
static const double LINES_GAP = .25;	  /* closer ones are one line */

enum { NAMED_ALPHA = 0x80, NAMELESS_ALPHA = 0x40 };

/* The line of names, from left to right. */
struct names_row {
	const struct chart *chart;
	double begin, end; /* of what is free */
	size_t left_out;
	bool is_drawn; /* false: counted only */
};

struct err *chart_marks_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			     struct arena *arena, struct chart_mark **marks_ret, size_t *count_ret)
{
	const struct model_note *notes = model_notes(model);
	const size_t count = model_note_count(model);
	struct chart_mark *marks = arena_array(arena, count + 1, sizeof(*marks));
	size_t taken = 0;

	if (!marks)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		if (notes[i].type != TAPE_EXT_MARK || notes[i].ns < from_ns ||
		    notes[i].ns >= until_ns)
			continue;
		marks[taken] = (struct chart_mark) {
			.x = (double)notes[i].ns,
			.name = arena_strdup(arena, notes[i].text),
		};
		if (!marks[taken++].name)
			return err_nomem();
	}
	*marks_ret = marks;
	*count_ret = taken;
	return NULL;
}

void chart_marks_room(struct chart *chart)
{
	if (chart->is_tiny)
		return;
	chart->room.y += chart->font * NAMES_HEIGHT;
	chart->room.height -= chart->font * NAMES_HEIGHT;
}

static void line(const struct chart *chart, double x, double top, unsigned alpha)
{
	const double bottom = chart->plot.y + chart->plot.height;

	canvas_lines(chart->canvas, (struct canvas_point[]) { { x, top }, { x, bottom } }, 2,
		     &(struct canvas_stroke) { .rgba = theme_fade(chart->theme->ink, alpha),
					       .width = fmax(chart->font / 13, .5),
					       .is_dashed = true });
}

static void lines(const struct chart *chart, const struct chart_mark *marks, size_t count)
{
	double last = -INFINITY;

	for (size_t i = 0; i < count; i++) {
		const double x = chart_x(chart, marks[i].x);

		if (x - last < chart->font * LINES_GAP)
			continue;
		line(chart, x, chart->plot.y, NAMELESS_ALPHA);
		last = x;
	}
}

/* Right of its line, or left of it at the right end. */
static void name_place(struct names_row *row, const struct chart_mark *mark)
{
	const struct chart *chart = row->chart;
	const double x = chart_x(chart, mark->x), gap = chart->font * .35;
	const double top = chart->plot.y - chart->font * (TITLES_HEIGHT + NAMES_HEIGHT - .3);
	struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	CLEAN(str_deinit) struct str clean = { 0 };
	CLEAN(str_deinit) struct str fit = { 0 };
	double width, begin = x + gap;

	str_add_terminal(&clean, mark->name);
	canvas_text_fit(chart->canvas, &font, str_text(&clean), chart->plot.width * NAME_WIDTH_MAX,
			&fit);
	width = canvas_text_width(chart->canvas, &font, str_text(&fit));
	if (begin + width > row->end)
		begin = x - gap - width;
	if (fmin(begin, x) < row->begin || begin + width > row->end || x > row->end) {
		row->left_out++;
		return;
	}
	row->begin = fmax(begin + width, x) + chart->font;
	if (!row->is_drawn)
		return;
	font.rgba = chart->theme->ink;
	line(chart, x, top, NAMED_ALPHA);
	canvas_text(chart->canvas, (struct canvas_point) { begin, top + chart->font * .85 }, &font,
		    str_text(&fit));
}

static size_t names(const struct chart *chart, const struct chart_mark *marks, size_t count,
		    double reserved, bool is_drawn)
{
	struct names_row row = {
		.chart = chart,
		.begin = chart->plot.x - chart->font,
		.end = chart->plot.x + chart->plot.width + chart->font - reserved,
		.is_drawn = is_drawn,
	};

	for (size_t i = 0; i < count; i++)
		if (marks[i].name[0])
			name_place(&row, &marks[i]);
	return row.left_out;
}

void chart_marks(const struct chart *chart, const struct chart_mark *marks, size_t count)
{
	struct canvas_font font = chart_font(chart, CANVAS_RIGHT);
	const double top = chart->plot.y - chart->font * (TITLES_HEIGHT + NAMES_HEIGHT - .3);
	CLEAN(str_deinit) struct str more = { 0 };
	size_t left_out;
	double width;

	assert(marks || count == 0);
	lines(chart, marks, count);
	if (count == 0 || chart->is_tiny)
		return;
	if (names(chart, marks, count, 0, false) == 0) {
		names(chart, marks, count, 0, true);
		return;
	}
	str_printf(&more, "%zu more marks", count);
	width = canvas_text_width(chart->canvas, &font, str_text(&more)) + chart->font * 1.5;
	left_out = names(chart, marks, count, width, true);
	str_clear(&more);
	str_printf(&more, "%zu more %s", left_out, left_out == 1 ? "mark" : "marks");
	canvas_text(chart->canvas,
		    (struct canvas_point) { chart->plot.x + chart->plot.width,
					    top + chart->font * .85 },
		    &font, str_text(&more));
}
