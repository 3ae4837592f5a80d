#include "screen/screen.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/shorten.h"
#include "base/str.h"
#include "model/names.h"
#include "screen/draw_list.h"
#include "screen/lines.h"

enum {
	HEAD_LINES = 6, /* of a program: the bar, four figures, the heading of the table */
	BARS_AT = 41,	/* column of the curves */
	TEXT_HEAD_LINES = 2,
	WIDE = 110 /* columns from which on the place has a column of its own */
};

static const uint64_t BEHIND_NS = UINT64_C(2500000000); /* more is said */

uint64_t screen_points(unsigned width)
{
	return width > BARS_AT + 11 ? u64_min(width - BARS_AT - 1, 240) : 10;
}

/* --- parts of lines --------------------------------------------------------------------------- */

static void add_rate(struct str *out, double rate)
{
	if (rate > 0 && rate < 10)
		str_add_double(out, rate, 1);
	else
		str_add_grouped(out, (uint64_t)llround(fmin(rate, 1e18)));
}

static void add_growth(struct str *out, double rate)
{
	const int64_t bytes = (int64_t)fmax(fmin(rate, 9e18), -9e18);

	str_add(out, bytes > 0 ? "+" : "");
	str_add_iec_signed(out, bytes);
}

static void add_bytes_rate(struct str *out, double rate)
{
	str_add_iec(out, (uint64_t)fmin(rate, 1e19));
}

static enum cell_style growth_style(double rate)
{
	return rate >= 1 ? CELL_BAD : rate <= -1 ? CELL_GOOD : CELL_PLAIN;
}

static void add_place(struct str *out, const struct place *place, bool has_module)
{
	if (place->file) {
		str_add(out, names_short_path(place->file));
		if (place->line > 0)
			str_printf(out, ":%llu", (unsigned long long)place->line);
	}
	if (place->module && (has_module || !place->file))
		str_printf(out, "%s%s", out->len > 0 ? "  " : "", names_short_path(place->module));
}

/* --- the first lines of a program ------------------------------------------------------------- */

static void draw_bar(const struct screen *screen, struct cells *cells)
{
	const struct screen_data *data = &screen->data;
	const char *name = data->now && data->now->program[0] ? data->now->program : "memtape top";
	CLEAN(str_deinit) struct str left = { 0 };
	CLEAN(str_deinit) struct str right = { 0 };

	str_printf(&left, " %s", name);
	if (data->pid)
		str_printf(&left, "  pid %llu", (unsigned long long)data->pid);
	if (data->now) {
		str_add(&left, "  recorded ");
		str_add_duration(&left, data->duration_ns);
	}
	if (screen->is_paused)
		str_add(&right, "PAUSED  ");
	if (data->now && !data->has_ended &&
	    data->duration_ns >= data->now->duration_ns + BEHIND_NS)
		str_printf(&right, "figures %llu s old  ",
			   (unsigned long long)((data->duration_ns - data->now->duration_ns) /
						1000000000));
	str_printf(&right, "%s ", data->state ? data->state : "");
	cells_style_line(cells, 0, CELL_BAR);
	cells_put(cells, 0, 0, cells->width, CELL_BAR, str_text(&left));
	cells_put_right(cells, cells->width, 0, cells->width, CELL_BAR, str_text(&right));
}

static void draw_fact(struct cells *cells, unsigned y, const char *label, const char *value,
		      enum cell_style style, const char *more)
{
	cells_put(cells, 1, y, 8, CELL_DIM, label);
	cells_put_right(cells, 19, y, 11, CELL_VALUE, value);
	cells_put(cells, 21, y, BARS_AT - 22, style, more);
}

enum curve { CURVE_LIVE, CURVE_RSS, CURVE_RATE };

static uint64_t step_value(const struct timeline_step *step, enum curve curve)
{
	switch (curve) {
	case CURVE_LIVE:
		return step->live_bytes_end;
	case CURVE_RSS:
		return step->rss_bytes;
	case CURVE_RATE:
		return step->allocated_count;
	}
	return 0;
}

static void draw_curve(const struct screen *screen, struct cells *cells, unsigned y,
		       enum curve curve, enum cell_style style)
{
	const struct shape_rows *rows = &screen->data.now->timeline;
	const struct timeline_step *steps = rows->items;
	const size_t count = u64_min(rows->count, CELLS_SIDE_MAX);
	uint64_t values[CELLS_SIDE_MAX];

	if (cells->width <= BARS_AT + 1)
		return;
	for (size_t i = 0; i < count; i++)
		values[i] = step_value(&steps[i], curve);
	cells_put_bars(cells, BARS_AT, y, cells->width - BARS_AT - 1, style, values, count,
		       screen->data.is_utf8);
}

static void draw_heap(const struct screen *screen, struct cells *cells)
{
	const struct now_rates *total = &screen->data.now->total;
	CLEAN(str_deinit) struct str more = { 0 };
	char value[STR_SHORT_BYTES];

	add_growth(&more, total->growth_rate);
	str_add(&more, "/s");
	draw_fact(cells, 1, "Heap", str_iec(value, total->live_bytes),
		  growth_style(total->growth_rate), str_text(&more));
	draw_curve(screen, cells, 1, CURVE_LIVE, growth_style(total->growth_rate));
}

static void draw_rss(const struct screen *screen, struct cells *cells)
{
	const struct now_answer *now = screen->data.now;
	CLEAN(str_deinit) struct str more = { 0 };
	char value[STR_SHORT_BYTES];

	str_add(&more, "heap peak ");
	str_add_iec(&more, now->peak_bytes);
	draw_fact(cells, 2, "RSS",
		  screen->data.rss_bytes == SHAPE_NONE ? "not known"
						       : str_iec(value, screen->data.rss_bytes),
		  CELL_DIM, str_text(&more));
	draw_curve(screen, cells, 2, CURVE_RSS, CELL_PLAIN);
}

static void draw_rate(const struct screen *screen, struct cells *cells)
{
	const struct now_rates *total = &screen->data.now->total;
	CLEAN(str_deinit) struct str value = { 0 };
	CLEAN(str_deinit) struct str more = { 0 };

	add_rate(&value, total->allocated_rate);
	str_add(&value, "/s");
	add_bytes_rate(&more, total->allocated_bytes_rate);
	str_add(&more, "/s");
	draw_fact(cells, 3, "Allocs", str_text(&value), CELL_PLAIN, str_text(&more));
	draw_curve(screen, cells, 3, CURVE_RATE, CELL_PLAIN);
}

/* The worst one, or what is lost or wrong. */
static void draw_finding(const struct screen *screen, struct cells *cells)
{
	const struct screen_data *data = &screen->data;
	const struct findings_answer *found = data->findings;
	const struct finding_answer *first = found ? found->findings.items : NULL;
	CLEAN(str_deinit) struct str text = { 0 };
	unsigned used;

	if (!found || found->findings.count == 0) {
		cells_put(cells, 1, 4, cells->width, CELL_DIM,
			  found ? "No findings" : "Looking for findings ...");
		return;
	}
	str_printf(&text, "! %s", first->title);
	if (first->place.function)
		str_printf(&text, ": %s", first->place.function);
	used = cells_put(cells, 1, 4, cells->width - 2, CELL_ALARM, str_text(&text));
	str_clear(&text);
	str_add_iec(&text, first->bytes);
	if (found->total > 1)
		str_printf(&text, ", and %llu more: f", (unsigned long long)(found->total - 1));
	cells_put(cells, 1 + used + 2, 4, cells->width - 1, CELL_DIM, str_text(&text));
}

/* --- the table of functions ------------------------------------------------------------------- */

struct column {
	const char *title;
	unsigned width; /* with a blank before */
	enum now_order order;
};

static const struct column columns[] = {
	{ "LIVE", 10, NOW_BY_LIVE },	     { "BLOCKS", 10, NOW_BY_BLOCKS },
	{ "GROWTH/s", 12, NOW_BY_GROWTH },   { "ALLOCS/s", 10, NOW_BY_CHURN },
	{ "BYTES/s", 11, NOW_BY_ALLOCATED },
};

static unsigned place_at(const struct cells *cells)
{
	return cells->width - cells->width / 3;
}

static void draw_heading(const struct screen *screen, struct cells *cells, unsigned y)
{
	unsigned x = 0;

	cells_style_line(cells, y, CELL_HEADING);
	for (size_t i = 0; i < array_size(columns); i++) {
		x += columns[i].width;
		cells_put_right(cells, x, y, columns[i].width,
				columns[i].order == screen->order ? CELL_SORTED : CELL_HEADING,
				columns[i].title);
	}
	cells_put(cells, x + 2, y, cells->width, CELL_HEADING, "FUNCTION");
	if (cells->width >= WIDE)
		cells_put(cells, place_at(cells), y, cells->width, CELL_HEADING, "PLACE");
}

static void add_number(struct str *out, const struct now_rates *rates, enum now_order order)
{
	switch (order) {
	case NOW_BY_LIVE:
		str_add_iec(out, rates->live_bytes);
		return;
	case NOW_BY_BLOCKS:
		str_add_grouped(out, rates->live_count);
		return;
	case NOW_BY_GROWTH:
		add_growth(out, rates->growth_rate);
		return;
	case NOW_BY_CHURN:
		add_rate(out, rates->allocated_rate);
		return;
	case NOW_BY_ALLOCATED:
		add_bytes_rate(out, rates->allocated_bytes_rate);
		return;
	}
}

static void draw_function(struct cells *cells, unsigned x, unsigned y, const struct now_site *site)
{
	const bool is_wide = cells->width >= WIDE;
	const unsigned end = is_wide ? place_at(cells) - 1 : cells->width;
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(str_deinit) struct str place = { 0 };
	unsigned used;

	if (x >= end)
		return;
	str_add_function(&name, site->place.function ? site->place.function : "no stack", end - x);
	used = cells_put(cells, x, y, end - x, CELL_BOLD, str_text(&name));
	add_place(&place, &site->place, is_wide);
	if (is_wide)
		cells_put(cells, end + 1, y, cells->width, CELL_DIM, str_text(&place));
	else if (x + used + 2 + cells_width(str_text(&place)) <= end)
		cells_put(cells, x + used + 2, y, cells->width, CELL_DIM, str_text(&place));
}

static void draw_site(const struct screen *screen, struct cells *cells, unsigned y,
		      const struct now_site *site)
{
	unsigned x = 0;

	for (size_t i = 0; i < array_size(columns); i++) {
		const enum now_order order = columns[i].order;
		CLEAN(str_deinit) struct str number = { 0 };

		x += columns[i].width;
		add_number(&number, &site->rates, order);
		cells_put_right(cells, x, y, columns[i].width,
				order == NOW_BY_GROWTH	 ? growth_style(site->rates.growth_rate)
				: order == screen->order ? CELL_VALUE
							 : CELL_PLAIN,
				str_text(&number));
	}
	draw_function(cells, x + 2, y, site);
}

static void draw_sites(const struct screen *screen, struct cells *cells)
{
	const struct now_answer *now = screen->data.now;
	const struct now_site *sites = now->sites.items;
	const size_t count = now->sites.count, selected = draw_line_selected(screen, count);
	const size_t first = draw_first_line(selected, count, screen->rows);

	draw_heading(screen, cells, HEAD_LINES - 1);
	for (unsigned i = 0; i < screen->rows && first + i < count; i++) {
		draw_site(screen, cells, HEAD_LINES + i, &sites[first + i]);
		if (first + i == selected)
			cells_style_line(cells, HEAD_LINES + i, CELL_SELECTED);
	}
	if (count == 0)
		cells_put(cells, 1, HEAD_LINES, cells->width, CELL_DIM,
			  screen->filter[0] ? "No allocation matches the filter."
					    : "Nothing is alive.");
}

static void draw_program(const struct screen *screen, struct cells *cells)
{
	draw_bar(screen, cells);
	if (!screen->data.now) {
		cells_put(cells, 1, 2, cells->width, CELL_DIM,
			  screen->data.trouble ? "" : "Reading the tape ...");
		return;
	}
	draw_heap(screen, cells);
	draw_rss(screen, cells);
	draw_rate(screen, cells);
	draw_finding(screen, cells);
	draw_sites(screen, cells);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void draw_text(const struct screen *screen, struct cells *cells, const char *title,
		      const struct lines *lines)
{
	const size_t count = lines->items.count;
	const size_t most = count > screen->rows ? count - screen->rows : 0;
	const size_t first = u64_min(screen->scroll, most);

	cells_style_line(cells, 1, CELL_HEADING);
	cells_put(cells, 1, 1, cells->width, CELL_HEADING, title);
	if (count > screen->rows) {
		char place[64];

		str_format(place, sizeof(place), "lines %zu to %zu of %zu ", first + 1,
			   first + screen->rows, count);
		cells_put_right(cells, cells->width, 1, 40, CELL_HEADING, place);
	}
	for (unsigned i = 0; i < screen->rows && first + i < count; i++) {
		const struct line *line = &lines->items.items[first + i];

		cells_put(cells, line->indent, TEXT_HEAD_LINES + i, cells->width, line->style,
			  line->text);
	}
}

static const char *site_name(const struct screen *screen)
{
	const struct now_answer *now = screen->data.now;
	const struct now_site *sites = now ? now->sites.items : NULL;

	for (size_t i = 0; sites && i < now->sites.count; i++)
		if (sites[i].place.hash == screen->site)
			return sites[i].place.function ? sites[i].place.function : "no stack";
	return "Stack";
}

static void draw_page(const struct screen *screen, struct cells *cells)
{
	CLEAN(lines_deinit) struct lines lines = { .width = cells->width };

	draw_bar(screen, cells);
	if (screen->page == PAGE_STACK) {
		lines_of_stack(screen, &lines);
		draw_text(screen, cells, site_name(screen), &lines);
	} else if (screen->page == PAGE_FINDINGS) {
		lines_of_findings(screen, &lines);
		draw_text(screen, cells, "Findings", &lines);
	} else {
		lines_of_help(screen, &lines);
		draw_text(screen, cells, "Help", &lines);
	}
}

/* --- the last line ---------------------------------------------------------------------------- */

static const struct {
	const char *key, *what;
	bool is_of_list, is_of_sites, is_of_texts;
} keys[] = {
	{ "?", "Help", true, true, false },	  { "/", "Filter", true, true, false },
	{ "Enter", "Open", true, false, false },  { "a", "Attach", true, false, false },
	{ "s", "Sort", false, true, false },	  { "w", "Window", false, true, false },
	{ "f", "Findings", false, true, false },  { "p", "Pause", true, true, true },
	{ "Enter", "Stack", false, true, false }, { "Esc", "Back", false, false, true },
	{ "q", "Quit", true, true, true },
};

static void draw_window(const struct screen *screen, struct cells *cells, unsigned after,
			unsigned y)
{
	char text[STR_SHORT_BYTES];

	if (after >= cells->width)
		return;
	str_format(text, sizeof(text), "window %s ", screen_windows[screen->window]);
	cells_put_right(cells, cells->width, y, cells->width - after, CELL_BAR, text);
}

static void draw_keys(const struct screen *screen, struct cells *cells, unsigned y)
{
	const bool is_list = screen->page == PAGE_LIST, is_sites = screen->page == PAGE_SITES;
	unsigned x = 0;

	for (size_t i = 0; i < array_size(keys); i++) {
		if (!(is_list	 ? keys[i].is_of_list
		      : is_sites ? keys[i].is_of_sites
				 : keys[i].is_of_texts))
			continue;
		x += cells_put(cells, x, y, cells->width, CELL_KEY, keys[i].key);
		x += cells_put(cells, x, y, cells->width, CELL_BAR, keys[i].what);
		x += cells_put(cells, x, y, cells->width, CELL_BAR, " ");
	}
	if (is_sites)
		draw_window(screen, cells, x + 2, y);
}

static void draw_filter(const struct screen *screen, struct cells *cells, unsigned y,
			const char *filter)
{
	CLEAN(str_deinit) struct str text = { 0 };
	const unsigned room = cells->width > 42 ? cells->width - 42 : 10;

	str_add(&text, " Filter: ");
	str_add_cut(&text, filter, room);
	str_add(&text, "  (/ Change, Esc All)");
	cells_put(cells, 0, y, cells->width, CELL_BAR, str_text(&text));
	if (screen->page == PAGE_SITES)
		draw_window(screen, cells, cells_width(str_text(&text)), y);
}

static void draw_last(const struct screen *screen, struct cells *cells)
{
	const unsigned y = cells->height - 1;
	const char *filter = screen->page == PAGE_LIST	  ? screen->list_filter
			     : screen->page == PAGE_SITES ? screen->filter
							  : "";
	CLEAN(str_deinit) struct str text = { 0 };

	cells_style_line(cells, y, CELL_BAR);
	if (screen->prompt == PROMPT_FILTER) {
		str_printf(&text, "Filter: %s_", screen->text);
		cells_put(cells, 0, y, cells->width, CELL_BAR, str_text(&text));
	} else if (screen->prompt != PROMPT_NONE) {
		cells_put(cells, 1, y, cells->width, CELL_BAR, screen->text);
	} else if (screen->data.trouble) {
		cells_style_line(cells, y, CELL_ALARM);
		cells_put(cells, 1, y, cells->width, CELL_ALARM, screen->data.trouble);
	} else if (filter[0]) {
		draw_filter(screen, cells, y, filter);
	} else {
		draw_keys(screen, cells, y);
	}
}

void screen_draw(struct screen *screen, struct cells *cells)
{
	const unsigned head = screen->page == PAGE_LIST	   ? LIST_HEAD_LINES
			      : screen->page == PAGE_SITES ? HEAD_LINES
							   : TEXT_HEAD_LINES;

	assert(screen->window < 8);
	screen->rows = cells->height > head + 2 ? cells->height - head - 1 : 1;
	if (cells->height == 0 || cells->width == 0)
		return;
	if (screen->page == PAGE_LIST)
		draw_list(screen, cells);
	else if (screen->page == PAGE_SITES)
		draw_program(screen, cells);
	else
		draw_page(screen, cells);
	draw_last(screen, cells);
}
