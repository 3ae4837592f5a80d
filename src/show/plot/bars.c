#include <assert.h>
#include <math.h>

#include "plot/bars_parts.h"

#include "base/number.h"

static const char *const part_titles[BAR_PARTS] = {
	[BAR_TEMPORARY] = "temporary: freed before the next allocation",
	[BAR_FREED] = "freed later",
	[BAR_LEAKED] = "never freed",
};

static uint64_t bar_value(struct model_sum sum, enum bars_metric metric)
{
	return metric == BARS_BYTES ? sum.bytes : sum.count;
}

void bars_tick(struct bars *bars, double at, bool is_minor, const char *label)
{
	struct tick *tick;

	assert(bars->ticks.count <= TICKS_MAX);
	assert(label);
	if (bars->ticks.count == TICKS_MAX)
		return;
	tick = &bars->ticks.items[bars->ticks.count++];
	*tick = (struct tick) { .value = at, .is_minor = is_minor };
	str_format(tick->label, sizeof(tick->label), "%s", label);
}

static void part_colours(const struct theme *theme, uint32_t colours[BAR_PARTS])
{
	colours[BAR_TEMPORARY] = theme->stack;
	colours[BAR_FREED] = theme->heap;
	colours[BAR_LEAKED] = theme->rss;
}

static void add_sum(struct str *out, const struct model_sum *sum)
{
	str_add_grouped(out, sum->count);
	str_add(out, sum->count == 1 ? " block, " : " blocks, ");
	str_add_iec(out, sum->bytes);
}

static void make_tip(const struct bar *bar, struct str *tip)
{
	const struct model_sum whole = bar_whole(bar);

	str_printf(tip, "%s: ", bar->title);
	add_sum(tip, &whole);
	if (bar->parts[BAR_TEMPORARY].count > 0) {
		str_add(tip, "; temporary: ");
		add_sum(tip, &bar->parts[BAR_TEMPORARY]);
	}
	if (bar->parts[BAR_LEAKED].count > 0) {
		str_add(tip, "; never freed: ");
		add_sum(tip, &bar->parts[BAR_LEAKED]);
	}
}

static void draw_bar(const struct chart *chart, const struct bar *bar, enum bars_metric metric)
{
	const double left = chart_x(chart, bar->begin), right = chart_x(chart, bar->end);
	const double gap = right - left > 6 ? fmin((right - left) * .12, chart->font * .5) : 0;
	CLEAN(str_deinit) struct str tip = { 0 };
	uint32_t colours[BAR_PARTS];
	uint64_t at = 0;

	part_colours(chart->theme, colours);
	make_tip(bar, &tip);
	for (unsigned i = 0; i < BAR_PARTS; i++) {
		const uint64_t value = bar_value(bar->parts[i], metric);
		const double bottom = chart_y(chart, (double)at);
		const double top = chart_y(chart, (double)(at + value));

		at += value;
		if (value > 0) /* a bar must be visible, however high the others are */
			canvas_rect(chart->canvas,
				    (struct canvas_box) { left + gap / 2, fmin(top, bottom - .6),
							  fmax(right - left - gap, 1),
							  fmax(bottom - top, .6) },
				    colours[i], str_text(&tip));
	}
}

/* The share of each bar above it, if there is room. */
static void draw_share(const struct chart *chart, const struct bar *bar, uint64_t whole,
		       enum bars_metric metric)
{
	const double left = chart_x(chart, bar->begin), right = chart_x(chart, bar->end);
	const uint64_t value = bar_value(bar_whole(bar), metric);
	struct canvas_font font = chart_font(chart, CANVAS_MIDDLE);
	char text[STR_SHORT_BYTES];
	const uint64_t percent = whole ? u64_mul_div(value, 100, whole) : 0;

	if (value == 0)
		return;
	font.size *= .85;
	font.rgba = chart->theme->ink;
	if (percent == 0)
		str_format(text, sizeof(text), "<1 %%");
	else
		str_format(text, sizeof(text), "%llu %%", (unsigned long long)percent);
	if (canvas_text_width(chart->canvas, &font, text) > right - left)
		return;
	canvas_text(chart->canvas,
		    (struct canvas_point) { (left + right) / 2,
					    chart_y(chart, (double)value) - chart->font * .35 },
		    &font, text);
}

static void draw_mark(const struct chart *chart, const struct bar_mark *mark, size_t index)
{
	const double x = chart_x(chart, mark->x), top = chart->plot.y;
	const double right = chart->plot.x + chart->plot.width;
	const double baseline = top + chart->font * (1 + 1.4 * (double)index);
	struct canvas_font font = chart_font(chart, CANVAS_LEFT);
	const double width = canvas_text_width(chart->canvas, &font, mark->label);
	const bool is_left = x + width + chart->font > right;

	font.rgba = chart->theme->ink;
	font.anchor = is_left ? CANVAS_RIGHT : CANVAS_LEFT;
	canvas_lines(chart->canvas,
		     (struct canvas_point[]) { { x, top }, { x, top + chart->plot.height } }, 2,
		     &(struct canvas_stroke) { .rgba = chart->theme->ink,
					       .width = chart->font / 13,
					       .is_dashed = true });
	canvas_rect(chart->canvas,
		    (struct canvas_box) {
			    is_left ? x - width - chart->font * .6 : x + chart->font * .2,
			    baseline - chart->font, width + chart->font * .4, chart->font * 1.3 },
		    theme_fade(chart->theme->paper, 0xd0), NULL);
	canvas_text(chart->canvas,
		    (struct canvas_point) { x + chart->font * (is_left ? -.4 : .4), baseline },
		    &font, mark->label);
}

static void draw_end_label(const struct chart *chart, const struct bars *bars)
{
	const struct canvas_font font = chart_font(chart, CANVAS_MIDDLE);

	canvas_text(
		chart->canvas,
		(struct canvas_point) { chart_x(chart, bars->end_x),
					chart->plot.y + chart->plot.height + chart->font * 1.45 },
		&font, bars->end_label);
}

static void draw_legend(struct chart *chart, const struct bars *bars)
{
	struct chart_key keys[BAR_PARTS];
	uint32_t colours[BAR_PARTS];
	size_t count = 0;

	part_colours(chart->theme, colours);
	for (unsigned part = 0; part < BAR_PARTS && !bars->has_one_part; part++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < bars->items.count; i++)
			sum += bars->items.items[i].parts[part].count;
		if (sum > 0)
			keys[count++] = (struct chart_key) { .label = part_titles[part],
							     .rgba = colours[part],
							     .kind = CHART_KEY_BOX };
	}
	chart_keys(chart, keys, count);
}

static void draw(struct chart *chart, const struct bars *bars, enum bars_metric metric)
{
	struct axis y = { .title = metric == BARS_BYTES ? "bytes" : "blocks",
			  .unit = metric == BARS_BYTES ? TICKS_BYTES : TICKS_COUNT,
			  .max = 1 };
	struct axis x = bars->x;
	uint64_t whole = 0;

	for (size_t i = 0; i < bars->items.count; i++) {
		const uint64_t value = bar_value(bar_whole(&bars->items.items[i]), metric);

		whole += value;
		y.max = fmax(y.max, (double)value);
	}
	if (bars->ticks.count > 0)
		x.ticks = &bars->ticks;
	draw_legend(chart, bars);
	chart_axes(chart, &x, &y, NULL);
	for (size_t i = 0; i < bars->items.count; i++)
		draw_bar(chart, &bars->items.items[i], metric);
	for (size_t i = 0; i < bars->items.count; i++)
		draw_share(chart, &bars->items.items[i], whole, metric);
	for (size_t i = 0; i < bars->mark_count; i++)
		draw_mark(chart, &bars->marks[i], i);
	if (bars->end_label)
		draw_end_label(chart, bars);
	chart_frame(chart);
}

struct err *bars_draw(const struct bars *bars, enum bars_metric metric,
		      const struct chart_settings *settings, FILE *out)
{
	CLEAN(canvas_destroy) struct canvas *canvas = NULL;
	struct chart chart;
	struct err *err = canvas_create(&settings->canvas, &canvas);

	assert(metric == BARS_COUNT || metric == BARS_BYTES);
	assert(bars->mark_count <= array_size(bars->marks));
	if (err)
		return err;
	chart_begin(&chart, canvas, settings);
	draw(&chart, bars, metric);
	return canvas_write(canvas, out);
}
