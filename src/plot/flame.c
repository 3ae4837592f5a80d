/*
 * The file: styles, a header, one rectangle per frame and labels where they fit, the same facts
 * as JSON for the script, and the script. The script redraws what it needs; what is drawn here
 * is what pictures and pages without script show.
 */
#include "plot/flame.h"

#include "base/map.h"
#include "plot/flame_assets.h"
#include "plot/flame_layout.h"
#include "plot/palette.h"

enum {
	MARGIN = 16,
	TOP = 104,
	ROW = 20,
	FOOT = 46,
	LEGEND_MAX = 8,
	CHAR_HUNDREDTHS = 662, /* width of a letter of the labels, in pixels / 100 */
	LABEL_CHARS_MIN = 3,
	MODULES_MAX = 4096
};

struct svg {
	struct str *out;
	const struct tree *tree;
	const struct names *names;
	const struct flame_settings *settings;
	struct flame_layout layout;
	struct map name_numbers; /* name -> position in the table of names + 1 */
	struct interner files;
};

uint64_t flame_value_min(uint64_t total)
{
	return total / 20000; /* a sixteenth of a pixel */
}

static const struct name *frame_name(const struct svg *svg, const struct flame_frame *frame)
{
	static const struct name root = { .function = "all", .module = "", .module_short = "" };

	if (frame->node == TREE_ROOT)
		return &root;
	return names_get(svg->names, svg->tree->nodes[frame->node].name);
}

static void add_value(const struct svg *svg, uint64_t value)
{
	if (svg->settings->is_time)
		str_add_duration(svg->out, value);
	else if (metric_is_bytes(svg->tree->metric))
		str_add_iec(svg->out, value);
	else
		str_add_grouped(svg->out, value);
}

static uint64_t value_of_all(const struct svg *svg)
{
	return svg->layout.frames[0].value;
}

static unsigned height_of(const struct svg *svg)
{
	return TOP + ROW * (svg->layout.depth_max + 1) + FOOT;
}

static unsigned frame_y(const struct svg *svg, const struct flame_frame *frame)
{
	const uint32_t row =
		svg->settings->is_icicle ? frame->depth : svg->layout.depth_max - frame->depth;

	return TOP + ROW * row;
}

/* In hundredths of a pixel. */
static uint64_t scaled(const struct svg *svg, uint64_t value)
{
	const unsigned __int128 room = (FLAME_WIDTH - 2 * MARGIN) * 100;

	return value_of_all(svg) ? (uint64_t)(value * room / value_of_all(svg)) : (uint64_t)room;
}

static void svg_begin(const struct svg *svg)
{
	struct str *out = svg->out;

	str_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		   "viewBox=\"0 0 %d %u\" role=\"img\">\n<title>",
		   FLAME_WIDTH, height_of(svg), FLAME_WIDTH, height_of(svg));
	str_add_xml(out, svg->settings->title);
	str_add(out, "</title>\n<style><![CDATA[\n");
	str_add(out, flame_css);
	str_add(out, "]]></style>\n"
		     "<rect class=\"paper\" fill=\"#fff\" width=\"100%\" height=\"100%\"/>\n");
}

/* Stays in sight when the page is scrolled, so it has paper of its own. */
static void svg_header(const struct svg *svg)
{
	struct str *out = svg->out;

	str_printf(out,
		   "<g id=\"head\"><rect class=\"paper\" fill=\"#fff\" width=\"100%%\" "
		   "height=\"%d\"/>\n<text class=\"title\" x=\"%d\" y=\"35\">",
		   TOP - 6, MARGIN);
	str_add_xml(out, svg->settings->title);
	str_printf(out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"57\">", MARGIN);
	str_add_xml(out, svg->settings->subtitle);
	str_printf(out,
		   "</text>\n<g id=\"right\" transform=\"translate(%d 0)\">"
		   "<text id=\"result\" class=\"soft\" y=\"57\" text-anchor=\"end\"/>"
		   "<g id=\"reset\" class=\"button\" style=\"visibility:hidden\">"
		   "<rect x=\"-330\" y=\"14\" width=\"100\" height=\"26\" rx=\"6\" fill=\"#fff\"/>"
		   "<text x=\"-280\" y=\"31\">Reset zoom</text></g></g>\n",
		   FLAME_WIDTH - MARGIN);
}

struct module_share {
	const char *module; /* "" is none of them */
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

/* Whether a frame further out is the same module's, and counts for it already. */
static bool is_inside_own_module(const struct svg *svg, const struct flame_frame *frame)
{
	const char *module = frame_name(svg, frame)->module;

	while (frame->parent != UINT32_MAX) {
		frame = &svg->layout.frames[frame->parent];
		if (strcmp(frame_name(svg, frame)->module, module) == 0)
			return true;
	}
	return false;
}

/* The modules with the largest shares, their callees included, and their colours. */
static void svg_legend(const struct svg *svg, struct module_share *shares)
{
	const struct flame_layout *layout = &svg->layout;
	size_t count = 0;
	uint64_t x = MARGIN;

	for (size_t i = 1; i < layout->count; i++) {
		const struct flame_frame *frame = &layout->frames[i];

		if (!is_inside_own_module(svg, frame))
			share_add(shares, &count, frame_name(svg, frame), frame->value);
	}
	qsort(shares, count, sizeof(*shares), share_compare);
	for (size_t i = 0; i < count && i < LEGEND_MAX; i++) {
		const char *label = shares[i].module[0] ? shares[i].module : "other code";
		const size_t width = 34 + str_width(label) * 13 / 2;

		if (x + width > FLAME_WIDTH - MARGIN)
			break;
		str_printf(svg->out,
			   "<rect class=\"swatch %s\" x=\"%u\" y=\"75\" width=\"12\" height=\"12\" "
			   "rx=\"3\" fill=\"#%06x\"/><text class=\"soft\" x=\"%u\" y=\"85\">",
			   shares[i].hue, (unsigned)x, shares[i].rgb, (unsigned)x + 17);
		str_add_xml(svg->out, label);
		str_add(svg->out, "</text>\n");
		x += width;
	}
	str_add(svg->out, "</g>\n");
}

static void svg_frame(const struct svg *svg, const struct flame_frame *frame)
{
	const struct name *name = frame_name(svg, frame);
	const uint64_t left = MARGIN * 100 + scaled(svg, frame->begin);
	uint64_t width = scaled(svg, frame->value);

	if (width > 300)
		width -= 100;
	str_printf(svg->out, "<rect class=\"%s %s\" fill=\"#%06x\" x=\"", palette_hue(name),
		   palette_shade(name), palette_rgb(name));
	str_add_ratio(svg->out, left, 100, 2);
	str_printf(svg->out, "\" y=\"%u\" width=\"", frame_y(svg, frame));
	str_add_ratio(svg->out, u64_max(width, 10), 100, 2);
	str_printf(svg->out, "\" height=\"%d\" rx=\"2\"/>\n", ROW - 1);
}

/* Bytes of the first `chars` code points. */
static size_t prefix_bytes(const char *text, size_t chars)
{
	size_t len = 0;

	for (; chars > 0 && text[len]; chars--) {
		const size_t bytes = str_utf8_bytes(text + len);

		len += bytes ? bytes : 1;
	}
	return len;
}

static void svg_label(const struct svg *svg, const struct flame_frame *frame)
{
	const char *text = frame_name(svg, frame)->function;
	const uint64_t width = scaled(svg, frame->value);
	const size_t fit = width > 800 ? (size_t)((width - 800) / CHAR_HUNDREDTHS) : 0;
	CLEAN(str_deinit) struct str cut = { 0 };

	if (fit < LABEL_CHARS_MIN)
		return;
	if (str_width(text) <= fit) {
		str_add(&cut, text);
	} else {
		str_add_bytes(&cut, text, prefix_bytes(text, fit - 1));
		str_add(&cut, "\u2026");
	}
	str_add(svg->out, "<text x=\"");
	str_add_ratio(svg->out, (MARGIN + 4) * 100 + scaled(svg, frame->begin), 100, 2);
	str_printf(svg->out, "\" y=\"%u\">", frame_y(svg, frame) + ROW - 6);
	str_add_xml(svg->out, str_text(&cut));
	str_add(svg->out, "</text>\n");
}

static void svg_footer(const struct svg *svg)
{
	const struct flame_layout *layout = &svg->layout;
	struct str *out = svg->out;

	str_printf(out, "<text class=\"soft\" x=\"%d\" y=\"%u\">", MARGIN, height_of(svg) - 16);
	str_add_grouped(out, layout->count - 1);
	str_add(out, " frames drawn");
	if (svg->tree->pruned_count > 0 || layout->value_min > 1) {
		str_add(out, "; those under ");
		add_value(svg, u64_max(layout->value_min, flame_value_min(value_of_all(svg))));
		str_add(out, " are left out");
	}
	if (layout->is_cut)
		str_printf(out, "; stacks are cut at %u frames", layout->depth_max);
	str_add(out, ". Click: zoom. Keys: arrows, Enter, 0 reset, / search, n next, i flip.");
	str_add(out, "</text>\n");
}

/* --- data for the script ------------------------------------------------------------------- */

/* As JSON, which stands in XML: escaped twice. */
static void add_json(struct svg *svg, const char *text)
{
	CLEAN(str_deinit) struct str json = { 0 };

	str_add_json(&json, text);
	str_add_xml(svg->out, str_text(&json));
	svg->out->failed |= json.failed;
}

static bool data_names(struct svg *svg)
{
	uint64_t count = 0;

	str_add(svg->out, "\"names\":[\n");
	for (size_t i = 0; i < svg->layout.count; i++) {
		const struct name *name = frame_name(svg, &svg->layout.frames[i]);
		uint64_t *place = map_put(&svg->name_numbers, (uintptr_t)name, NULL);

		if (!place)
			return false;
		if (*place)
			continue;
		*place = ++count;
		str_add(svg->out, count == 1 ? "[" : ",\n[");
		add_json(svg, name->function);
		str_add_char(svg->out, ',');
		add_json(svg, name->module);
		str_add_char(svg->out, ']');
	}
	str_add(svg->out, "],\n");
	return true;
}

static void data_frame(struct svg *svg, const struct flame_frame *frame)
{
	const struct tree_node *node = &svg->tree->nodes[frame->node];
	const enum metric metric = svg->tree->metric;
	const uint64_t *name = map_find(&svg->name_numbers, (uintptr_t)frame_name(svg, frame));
	int64_t file = -1;

	if (frame->node != TREE_ROOT && node->file)
		file = interner_put(&svg->files, node->file, strlen(node->file));
	str_printf(svg->out, "[%d,%llu,%llu,%llu,%llu,%llu,%lld,%u]",
		   frame->parent == UINT32_MAX ? -1 : (int)frame->parent,
		   (unsigned long long)*name - 1, (unsigned long long)frame->value,
		   (unsigned long long)metric_calls(metric, &node->total),
		   (unsigned long long)metric_bytes(metric, &node->total),
		   (unsigned long long)metric_value(metric, &node->self), (long long)file,
		   node->line);
}

static void data_facts(struct svg *svg)
{
	const struct flame_settings *settings = svg->settings;

	str_add(svg->out, "{\"metric\":");
	add_json(svg,
		 settings->is_time ? "time in the allocator" : metric_title(svg->tree->metric));
	str_printf(svg->out,
		   ",\"is_bytes\":%s,\"is_time\":%s,\"icicle\":%s,\"is_inverted\":%s,\n"
		   "\"layout\":{\"row\":%d,\"margin\":%d,\"top\":%d,\"char\":%d.%d,"
		   "\"width\":%d,\"width_min\":640,\"height\":%u},\n",
		   metric_is_bytes(svg->tree->metric) ? "true" : "false",
		   settings->is_time ? "true" : "false", settings->is_icicle ? "true" : "false",
		   settings->is_inverted ? "true" : "false", ROW, MARGIN, TOP,
		   CHAR_HUNDREDTHS / 100, CHAR_HUNDREDTHS % 100, FLAME_WIDTH, height_of(svg));
}

static bool svg_data(struct svg *svg)
{
	struct str *out = svg->out;

	str_add(out, "<g id=\"tip\" style=\"visibility:hidden\">"
		     "<rect width=\"430\" height=\"10\" rx=\"8\"/><g/></g>\n"
		     "<script type=\"application/json\" id=\"data\">");
	data_facts(svg);
	if (!data_names(svg))
		return false;
	str_add(out, "\"frames\":[");
	for (size_t i = 0; i < svg->layout.count; i++) {
		str_add(out, i ? ",\n" : "\n");
		data_frame(svg, &svg->layout.frames[i]);
	}
	str_add(out, "],\n\"files\":[");
	for (uint32_t i = 0; i < svg->files.count; i++) {
		str_add(out, i ? ",\n" : "\n");
		add_json(svg, svg->files.texts[i]);
	}
	str_add(out, "]}\n</script>\n<script><![CDATA[\n");
	str_add(out, flame_js);
	str_add(out, "]]></script>\n");
	return true;
}

static void svg_body(const struct svg *svg)
{
	struct str *out = svg->out;

	str_add(out, "<g id=\"frames\">\n");
	for (size_t i = 0; i < svg->layout.count; i++)
		svg_frame(svg, &svg->layout.frames[i]);
	str_add(out, "</g>\n<g id=\"labels\">\n");
	for (size_t i = 0; i < svg->layout.count; i++)
		svg_label(svg, &svg->layout.frames[i]);
	str_printf(
		out,
		"</g>\n<rect id=\"outline\" height=\"%d\" rx=\"2\" style=\"visibility:hidden\"/>\n"
		"<g id=\"tip\"><rect width=\"430\" height=\"10\" rx=\"8\"/><g/></g>\n",
		ROW - 1);
}

struct err *flame_svg(const struct tree *tree, const struct names *names,
		      const struct flame_settings *settings, struct str *out)
{
	struct svg svg = { .out = out, .tree = tree, .names = names, .settings = settings };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct module_share *shares = arena_array(&arena, MODULES_MAX, sizeof(*shares));
	bool ok;
	struct err *err =
		flame_layout(tree, FLAME_FRAMES_MAX, FLAME_DEPTH_MAX, &arena, &svg.layout);

	if (err)
		return err;
	if (!shares)
		return err_nomem();
	svg_begin(&svg);
	svg_body(&svg);
	svg_footer(&svg);
	svg_header(&svg);
	svg_legend(&svg, shares);
	ok = svg_data(&svg);
	str_add(out, "</svg>\n");
	map_deinit(&svg.name_numbers);
	interner_deinit(&svg.files);
	return ok && !out->failed ? NULL : err_nomem();
}
