/*
 * The file: styles, a header, one rectangle per frame and labels where they fit, the same data as
 * JSON for the script, and the script. The script redraws as needed; what is drawn here is shown by
 * viewers and pages without script.
 */
#include "plot/flame.h"

#include <assert.h>

#include "base/number.h"
#include "plot/flame_assets.h"
#include "plot/flame_parts.h"
#include "plot/palette.h"

enum { FOOT = 46, LEGEND_MAX = 8, LABEL_CHARS_MIN = 3, MODULES_MAX = 4096, GAP = 1 };

const char *const flame_style_hash = flame_css_hash;
const char *const flame_script_hash = flame_js_hash;

const struct name flame_root_name = { .function = "all", .module = "", .module_short = "" };

static const struct name *frame_name(const struct flame_picture *picture,
				     const struct flame_frame *frame)
{
	return picture->facts[frame - picture->layout.frames].name;
}

void flame_add_value(const struct flame_picture *picture, uint64_t value)
{
	assert((unsigned)picture->metric < METRICS_KEYED);
	if (picture->settings->is_time)
		str_add_duration(picture->out, value);
	else if (metric_is_bytes(picture->metric))
		str_add_iec(picture->out, value);
	else
		str_add_grouped(picture->out, value);
}

static uint64_t value_of_all(const struct flame_picture *picture)
{
	return picture->layout.frames[0].value;
}

unsigned flame_height(const struct flame_picture *picture)
{
	assert(picture->row > 0);
	return picture->top + picture->row * (picture->layout.depth_max + 1) + FOOT;
}

/* Centred in the row: capitals are seven tenths of the font size. */
unsigned flame_baseline(const struct flame_picture *picture)
{
	assert(picture->row > 0 && picture->font > 0);
	return (picture->row * 10 + picture->font * 7 + 10) / 20;
}

unsigned flame_char_hundredths(const struct flame_picture *picture)
{
	assert(picture->font > 0);
	return picture->font * 602 / 10;
}

static bool has_legend(const struct flame_picture *picture)
{
	return picture->is_diff || picture->settings->look.palette == FLAME_BY_MODULE;
}

static unsigned frame_y(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const uint32_t row = picture->settings->is_icicle
				     ? frame->depth
				     : picture->layout.depth_max - frame->depth;

	return picture->top + picture->row * row;
}

/* In hundredths of a pixel. */
static uint64_t scaled(const struct flame_picture *picture, uint64_t value)
{
	const uint64_t room = (picture->width - 2 * FLAME_MARGIN) * 100;

	return value_of_all(picture) ? u64_mul_div(value, room, value_of_all(picture)) : room;
}

static void svg_begin(const struct flame_picture *picture)
{
	const char *notes = picture->settings->look.notes;
	struct str *out = picture->out;

	if (!picture->settings->is_part)
		str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	str_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" role=\"img\"%s>\n<title>",
		   picture->width, flame_height(picture), picture->width, flame_height(picture),
		   picture->settings->is_part ? " tabindex=\"0\"" : "");
	str_add_xml(out, picture->settings->title);
	str_add(out, "</title>\n");
	if (notes) {
		str_add(out, "<desc>");
		str_add_xml(out, notes);
		str_add(out, "</desc>\n");
	}
	str_add(out, "<style><![CDATA[\n");
	str_add(out, flame_css);
	str_add(out, "]]></style>\n");
	flame_look_write(picture);
	str_add(out, "<rect id=\"ground\" class=\"paper\" fill=\"#fff\" width=\"100%\" "
		     "height=\"100%\"/>\n");
}

/* Stays visible when the page is scrolled, so it has its own background. */
static void svg_header(const struct flame_picture *picture)
{
	struct str *out = picture->out;

	str_printf(out,
		   "<g id=\"head\"><rect class=\"paper\" fill=\"#fff\" width=\"100%%\" "
		   "height=\"%d\"/>\n<text class=\"title\" x=\"%d\" y=\"35\">",
		   picture->top - 6, FLAME_MARGIN);
	str_add_xml(out, picture->settings->title);
	str_printf(out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"57\">", FLAME_MARGIN);
	str_add_xml(out, picture->settings->subtitle);
	str_printf(out,
		   "</text>\n<g id=\"right\" transform=\"translate(%d 0)\">"
		   "<text id=\"result\" class=\"soft\" y=\"57\" text-anchor=\"end\" "
		   "role=\"status\"/><g id=\"reset\" class=\"button\" visibility=\"hidden\">"
		   "<rect x=\"-330\" y=\"14\" width=\"100\" height=\"26\" rx=\"6\" fill=\"#fff\"/>"
		   "<text x=\"-280\" y=\"31\">Reset zoom</text></g></g>\n",
		   (int)picture->width - FLAME_MARGIN);
}

struct module_share {
	const char *module; /* "" means none */
	const char *hue;
	uint32_t rgb;
	uint64_t value;
};

static void share_add(struct module_share *shares, size_t *count, const struct name *name,
		      uint64_t value)
{
	size_t i = 0;

	while (i < *count && strcmp(shares[i].module, name->module_short) != 0)
		i++;
	if (i == *count && *count < MODULES_MAX)
		shares[(*count)++] = (struct module_share) { name->module_short, palette_hue(name),
							     palette_rgb(name), 0 };
	if (i < *count)
		shares[i].value += value;
}

static int share_compare(const void *a, const void *b)
{
	const uint64_t left = ((const struct module_share *)a)->value;
	const uint64_t right = ((const struct module_share *)b)->value;

	return (left < right) - (left > right);
}

/* Whether an outer frame belongs to the same module, and was counted for it already. */
static bool is_inside_own_module(const struct flame_picture *picture,
				 const struct flame_frame *frame)
{
	const char *module = frame_name(picture, frame)->module;

	while (frame->parent != UINT32_MAX) {
		frame = &picture->layout.frames[frame->parent];
		if (strcmp(frame_name(picture, frame)->module, module) == 0)
			return true;
	}
	return false;
}

/* The modules with the largest shares, their callees included, and their colours. */
static void svg_legend(const struct flame_picture *picture, struct module_share *shares)
{
	const struct flame_layout *layout = &picture->layout;
	size_t count = 0;
	uint64_t x = FLAME_MARGIN;

	for (size_t i = 1; i < layout->count; i++) {
		const struct flame_frame *frame = &layout->frames[i];

		if (!is_inside_own_module(picture, frame))
			share_add(shares, &count, frame_name(picture, frame), frame->value);
	}
	qsort(shares, count, sizeof(*shares), share_compare);
	for (size_t i = 0; i < count && i < LEGEND_MAX; i++) {
		const char *label = shares[i].module[0] ? shares[i].module : "other code";
		const size_t width = 34 + str_width(label) * 13 / 2;

		if (x + width > picture->width - FLAME_MARGIN)
			break;
		str_printf(picture->out,
			   "<rect class=\"swatch %s\" x=\"%u\" y=\"75\" width=\"12\" height=\"12\" "
			   "rx=\"3\" fill=\"#%06x\"/><text class=\"soft\" x=\"%u\" y=\"85\">",
			   shares[i].hue, (unsigned)x, shares[i].rgb, (unsigned)x + 17);
		str_add_xml(picture->out, label);
		str_add(picture->out, "</text>\n");
		x += width;
	}
}

/* Index of a step between less and more in the palette. */
static unsigned change_of(const struct flame_picture *picture, unsigned step)
{
	return picture->settings->look.is_negated ? PALETTE_CHANGES - 1 - step : step;
}

/* For differences: the meaning of the colours between less and more. */
static void svg_scale(const struct flame_picture *picture)
{
	struct str *out = picture->out;
	unsigned x = FLAME_MARGIN;

	str_printf(out, "<text class=\"soft\" x=\"%u\" y=\"85\">less</text>\n", x);
	x += 28;
	for (unsigned at = 0; at < PALETTE_CHANGES; at++, x += 14) {
		const unsigned step = change_of(picture, at);

		str_printf(out,
			   "<rect class=\"swatch %s\" x=\"%u\" y=\"75\" width=\"14\" height=\"12\" "
			   "fill=\"#%06x\"/>",
			   palette_change_class(step), x, palette_change_rgb(step));
	}
	str_printf(out,
		   "<text class=\"soft\" x=\"%u\" y=\"85\">more; a stack is as wide as on the side "
		   "where it is larger</text>\n",
		   x + 6);
}

/* class="..." fill="...", where classes adapt to a dark background. */
static void add_colour(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const struct name *name = frame_name(picture, frame);
	const enum flame_palette palette = picture->settings->look.palette;

	if (picture->is_diff) {
		const struct flame_facts *facts = &picture->facts[frame - picture->layout.frames];
		const unsigned step =
			change_of(picture, palette_change(facts->before, facts->after));

		str_printf(picture->out, "class=\"%s\" fill=\"#%06x\"", palette_change_class(step),
			   palette_change_rgb(step));
	} else if (palette == FLAME_BY_MODULE) {
		str_printf(picture->out, "class=\"%s %s\" fill=\"#%06x\"", palette_hue(name),
			   palette_shade(name), palette_rgb(name));
	} else {
		str_printf(picture->out, "fill=\"#%06x\"", flame_palette_rgb(palette, name));
	}
}

/* Tooltip of a frame in viewers without script: "main (12.3 MiB, 45.6 %)". */
static void add_tooltip(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const struct flame_look *look = &picture->settings->look;
	struct str *out = picture->out;

	str_add(out, "<title>");
	if (look->name_type) {
		str_add_xml(out, look->name_type);
		str_add_char(out, ' ');
	}
	str_add_xml(out, frame_name(picture, frame)->function);
	str_add(out, " (");
	flame_add_value(picture, frame->value / picture->scale);
	if (look->count_name) {
		str_add_char(out, ' ');
		str_add_xml(out, look->count_name);
	}
	str_add(out, ", ");
	str_add_percent(out, frame->value, value_of_all(picture));
	str_add(out, ")</title>");
}

static void svg_frame(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const uint64_t left = FLAME_MARGIN * 100 + scaled(picture, frame->begin);
	uint64_t width = scaled(picture, frame->value);

	if (width > 300)
		width -= 100;
	str_add(picture->out, "<rect ");
	add_colour(picture, frame);
	str_add(picture->out, " x=\"");
	str_add_ratio(picture->out, left, 100, 2);
	str_printf(picture->out, "\" y=\"%u\" width=\"", frame_y(picture, frame));
	str_add_ratio(picture->out, u64_max(width, 10), 100, 2);
	str_printf(picture->out, "\" height=\"%u\" rx=\"2\">", picture->row - GAP);
	add_tooltip(picture, frame);
	str_add(picture->out, "</rect>\n");
}

/* Length of the first `chars` code points in bytes. */
static size_t prefix_bytes(const char *text, size_t chars)
{
	size_t len = 0;

	for (; chars > 0 && text[len]; chars--) {
		const size_t bytes = str_utf8_bytes(text + len);

		len += bytes ? bytes : 1;
	}
	return len;
}

/* Only palettes have colours on which dark text is unreadable. */
static bool is_dark(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const enum flame_palette palette = picture->settings->look.palette;

	return !picture->is_diff && palette != FLAME_BY_MODULE &&
	       flame_brightness(flame_palette_rgb(palette, frame_name(picture, frame))) < 110;
}

static void svg_label(const struct flame_picture *picture, const struct flame_frame *frame)
{
	const char *text = frame_name(picture, frame)->function;
	const uint64_t width = scaled(picture, frame->value);
	const size_t fit =
		width > 800 ? (size_t)((width - 800) / flame_char_hundredths(picture)) : 0;
	CLEAN(str_deinit) struct str cut = { 0 };

	if (fit < LABEL_CHARS_MIN)
		return;
	if (str_width(text) <= fit) {
		str_add(&cut, text);
	} else {
		str_add_bytes(&cut, text, prefix_bytes(text, fit - 1));
		str_add(&cut, "\u2026");
	}
	str_add(picture->out, "<text x=\"");
	str_add_ratio(picture->out, (FLAME_MARGIN + 4) * 100 + scaled(picture, frame->begin), 100,
		      2);
	str_printf(picture->out, "\" y=\"%u\"%s>",
		   frame_y(picture, frame) + flame_baseline(picture),
		   is_dark(picture, frame) ? " class=\"on-dark\"" : "");
	str_add_xml(picture->out, str_text(&cut));
	str_add(picture->out, "</text>\n");
}

static void svg_footer(const struct flame_picture *picture)
{
	const struct flame_layout *layout = &picture->layout;
	struct str *out = picture->out;

	str_printf(out, "<text class=\"soft\" x=\"%d\" y=\"%u\">", FLAME_MARGIN,
		   flame_height(picture) - 16);
	str_add_counted(out, layout->count - 1, "frame");
	str_add(out, " drawn");
	if (picture->value_min > 0) {
		str_add(out, "; those under ");
		flame_add_value(picture, picture->value_min / picture->scale);
		str_add(out, " are left out");
	}
	if (layout->is_cut)
		str_printf(out, "; stacks are cut at %u frames", layout->depth_max);
	str_add(out, ". Click: zoom. Keys: arrows, Enter, 0 reset, / search, n next, i flip.");
	str_add(out, "</text>\n");
}

static void svg_body(const struct flame_picture *picture)
{
	struct str *out = picture->out;

	/* Module colours are given by classes. */
	str_add(out, picture->is_diff || picture->settings->look.palette != FLAME_BY_MODULE
			     ? "<g id=\"frames\">\n"
			     : "<g id=\"frames\" class=\"by-module\">\n");
	for (size_t i = 0; i < picture->layout.count; i++)
		svg_frame(picture, &picture->layout.frames[i]);
	str_add(out, "</g>\n<g id=\"labels\">\n");
	for (size_t i = 0; i < picture->layout.count; i++)
		svg_label(picture, &picture->layout.frames[i]);
	str_printf(out,
		   "</g>\n<rect id=\"outline\" height=\"%u\" rx=\"2\" visibility=\"hidden\"/>\n",
		   picture->row - GAP);
}

/* Defaults for sizes not given. */
static void sizes_settle(struct flame_picture *picture)
{
	const struct flame_look *look = &picture->settings->look;

	picture->width = look->width ? look->width : FLAME_WIDTH;
	picture->row = look->row ? look->row : FLAME_ROW;
	picture->font = look->font ? look->font : FLAME_FONT;
	picture->top = FLAME_HEAD + (has_legend(picture) ? FLAME_LEGEND : 0);
}

struct err *flame_picture_write(struct flame_picture *picture)
{
	CLEAN(free) struct module_share *shares = calloc(MODULES_MAX, sizeof(*shares));
	bool ok;

	assert(picture->layout.count >= 1);
	assert(picture->out && picture->settings);
	if (!shares)
		return err_nomem();
	sizes_settle(picture);
	svg_begin(picture);
	svg_body(picture);
	svg_footer(picture);
	svg_header(picture);
	if (picture->is_diff)
		svg_scale(picture);
	else if (has_legend(picture))
		svg_legend(picture, shares);
	str_add(picture->out, "</g>\n");
	ok = flame_data_write(picture);
	str_add(picture->out, "</svg>\n");
	map_deinit(&picture->name_numbers);
	interner_deinit(&picture->files);
	return ok && !picture->out->failed ? NULL : err_nomem();
}
