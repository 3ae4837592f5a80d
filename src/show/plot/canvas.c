#include "plot/canvas.h"

#include <assert.h>
#include <math.h>
#include <strings.h>

#include "plot/pen.h"

struct canvas {
	struct canvas_settings settings;
	struct pen *pen; /* for an SVG: only measures */
	struct str svg;
	unsigned clip_count;
};

static const struct {
	const char *ending;
	enum canvas_format format;
} endings[] = {
	{ ".svg", CANVAS_SVG },
	{ ".png", CANVAS_PNG },
	{ ".pdf", CANVAS_PDF },
};

bool canvas_format_of(const char *path, enum canvas_format *format_ret)
{
	const size_t len = strlen(path);

	for (size_t i = 0; i < array_size(endings); i++) {
		const size_t ending_len = strlen(endings[i].ending);

		if (len >= ending_len &&
		    strcasecmp(path + len - ending_len, endings[i].ending) == 0) {
			*format_ret = endings[i].format;
			return true;
		}
	}
	return false;
}

struct err *canvas_check(const struct canvas_settings *settings)
{
	const uint64_t area = (uint64_t)settings->width * settings->height;

	if (settings->width < CANVAS_WIDTH_MIN || settings->width > CANVAS_SIDE_MAX)
		return err_new(ERR_USAGE, "--width: %d to %d pixels", (int)CANVAS_WIDTH_MIN,
			       (int)CANVAS_SIDE_MAX);
	if (settings->height < CANVAS_HEIGHT_MIN || settings->height > CANVAS_SIDE_MAX)
		return err_new(ERR_USAGE, "--height: %d to %d pixels", (int)CANVAS_HEIGHT_MIN,
			       (int)CANVAS_SIDE_MAX);
	if (settings->dpi < CANVAS_DPI_MIN || settings->dpi > CANVAS_DPI_MAX)
		return err_new(ERR_USAGE, "--dpi: %d to %d", (int)CANVAS_DPI_MIN,
			       (int)CANVAS_DPI_MAX);
	if (settings->format == CANVAS_PNG &&
	    area * settings->dpi / 96 * settings->dpi / 96 > CANVAS_PIXELS_MAX)
		return err_new(ERR_USAGE, "picture too large; lower --dpi or the size");
	return NULL;
}

/* --- SVG ------------------------------------------------------------------------------------ */

static void add_number(struct str *out, double value)
{
	str_add_double(out, value, 2);
	while (out->len > 0 && out->ptr[out->len - 1] == '0') /* the text has a decimal point */
		out->ptr[--out->len] = '\0';
	if (out->len > 0 && out->ptr[out->len - 1] == '.')
		out->ptr[--out->len] = '\0';
}

static void add_attribute(struct str *out, const char *name, double value)
{
	str_printf(out, " %s=\"", name);
	add_number(out, value);
	str_add_char(out, '"');
}

static void add_colour(struct str *out, const char *name, uint32_t rgba)
{
	str_printf(out, " %s=\"#%06x\"", name, rgba >> 8);
	if ((rgba & 0xff) != 0xff) {
		str_printf(out, " %s-opacity=\"", name);
		add_number(out, (double)(rgba & 0xff) / 255);
		str_add_char(out, '"');
	}
}

static void add_end(struct str *out, const char *tag, const char *tip)
{
	if (!tip) {
		str_add(out, "/>\n");
		return;
	}
	str_add(out, "><title>");
	str_add_xml(out, tip);
	str_printf(out, "</title></%s>\n", tag);
}

static void add_points(struct str *out, const struct canvas_point *points, size_t count)
{
	str_add(out, " points=\"");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			str_add_char(out, ' ');
		add_number(out, points[i].x);
		str_add_char(out, ',');
		add_number(out, points[i].y);
	}
	str_add_char(out, '"');
}

static void svg_begin(struct canvas *canvas)
{
	const struct canvas_settings *settings = &canvas->settings;

	str_printf(&canvas->svg,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" font-family=\"'" CANVAS_FONT "', Arial, Helvetica, "
		   "sans-serif\">\n",
		   settings->width, settings->height, settings->width, settings->height);
	if (settings->title) {
		str_add(&canvas->svg, "<title>");
		str_add_xml(&canvas->svg, settings->title);
		str_add(&canvas->svg, "</title>\n");
	}
}

static void svg_text(struct str *out, struct canvas_point at, const struct canvas_font *font,
		     const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };

	str_add(out, "<text");
	add_attribute(out, "x", at.x);
	add_attribute(out, "y", at.y);
	add_attribute(out, "font-size", font->size);
	add_colour(out, "fill", font->rgba);
	if (font->anchor != CANVAS_LEFT)
		str_printf(out, " text-anchor=\"%s\"", anchors[font->anchor]);
	if (font->is_bold)
		str_add(out, " font-weight=\"bold\"");
	if (font->is_upright) {
		str_add(out, " transform=\"rotate(-90 ");
		add_number(out, at.x);
		str_add_char(out, ' ');
		add_number(out, at.y);
		str_add(out, ")\"");
	}
	str_add_char(out, '>');
	str_add_xml(out, text);
	str_add(out, "</text>\n");
}

/* --- both ----------------------------------------------------------------------------------- */

struct err *canvas_create(const struct canvas_settings *settings, struct canvas **canvas_ret)
{
	CLEAN(canvas_destroy) struct canvas *canvas = calloc(1, sizeof(*canvas));
	struct err *err = canvas_check(settings);

	if (err)
		return err;
	if (!canvas)
		return err_nomem();
	canvas->settings = *settings;
	err = pen_create(settings, &canvas->pen);
	if (err)
		return err;
	if (settings->format == CANVAS_SVG)
		svg_begin(canvas);
	*canvas_ret = steal(canvas);
	return NULL;
}

void canvas_destroy(struct canvas *canvas)
{
	if (!canvas)
		return;
	pen_destroy(canvas->pen);
	str_deinit(&canvas->svg);
	free(canvas);
}

static bool is_svg(const struct canvas *canvas)
{
	return canvas->settings.format == CANVAS_SVG;
}

void canvas_rect(struct canvas *canvas, struct canvas_box box, uint32_t rgba, const char *tip)
{
	struct str *out = &canvas->svg;

	if (!is_svg(canvas)) {
		pen_rect(canvas->pen, box, rgba);
		return;
	}
	str_add(out, "<rect");
	add_attribute(out, "x", box.x);
	add_attribute(out, "y", box.y);
	add_attribute(out, "width", box.width);
	add_attribute(out, "height", box.height);
	add_colour(out, "fill", rgba);
	add_end(out, "rect", tip);
}

void canvas_lines(struct canvas *canvas, const struct canvas_point *points, size_t count,
		  const struct canvas_stroke *stroke)
{
	struct str *out = &canvas->svg;

	assert(points || count == 0);
	assert(stroke->width > 0);
	if (count < 2)
		return;
	if (!is_svg(canvas)) {
		pen_lines(canvas->pen, points, count, stroke);
		return;
	}
	str_add(out, "<polyline fill=\"none\" stroke-linejoin=\"round\"");
	add_colour(out, "stroke", stroke->rgba);
	add_attribute(out, "stroke-width", stroke->width);
	if (stroke->is_dashed) {
		str_add(out, " stroke-dasharray=\"");
		add_number(out, stroke->width * 4);
		str_add_char(out, ' ');
		add_number(out, stroke->width * 3);
		str_add_char(out, '"');
	}
	add_points(out, points, count);
	add_end(out, "polyline", NULL);
}

void canvas_area(struct canvas *canvas, const struct canvas_point *points, size_t count,
		 uint32_t rgba, const char *tip)
{
	assert(points || count == 0);
	if (!is_svg(canvas)) {
		pen_area(canvas->pen, points, count, rgba);
		return;
	}
	str_add(&canvas->svg, "<polygon");
	add_colour(&canvas->svg, "fill", rgba);
	add_points(&canvas->svg, points, count);
	add_end(&canvas->svg, "polygon", tip);
}

void canvas_text(struct canvas *canvas, struct canvas_point at, const struct canvas_font *font,
		 const char *text)
{
	CLEAN(str_deinit) struct str safe = { 0 };

	assert(font->size > 0);
	assert((unsigned)font->anchor <= CANVAS_RIGHT);
	if (is_svg(canvas)) {
		svg_text(&canvas->svg, at, font, text);
		return;
	}
	str_add_terminal(&safe, text);
	pen_text(canvas->pen, at, font, str_text(&safe));
}

double canvas_text_width(struct canvas *canvas, const struct canvas_font *font, const char *text)
{
	CLEAN(str_deinit) struct str safe = { 0 };

	assert(font->size > 0);
	str_add_terminal(&safe, text);
	return pen_text_width(canvas->pen, font, str_text(&safe));
}

void canvas_text_fit(struct canvas *canvas, const struct canvas_font *font, const char *text,
		     double width, struct str *out)
{
	CLEAN(str_deinit) struct str safe = { 0 };
	CLEAN(str_deinit) struct str cut = { 0 };
	size_t len;

	assert(font->size > 0);
	str_add_terminal(&safe, text);
	if (pen_text_width(canvas->pen, font, str_text(&safe)) <= width) {
		str_add(out, str_text(&safe));
		return;
	}
	for (len = safe.len; len > 0; len--) {
		if (((uint8_t)safe.ptr[len] & 0xc0) == 0x80) /* inside a character */
			continue;
		str_clear(&cut);
		str_add_bytes(&cut, safe.ptr, len);
		str_add(&cut, "\u2026");
		if (pen_text_width(canvas->pen, font, str_text(&cut)) <= width)
			break;
	}
	str_add(out, len > 0 ? str_text(&cut) : "");
}

void canvas_clip(struct canvas *canvas, struct canvas_box box)
{
	struct str *out = &canvas->svg;

	if (!is_svg(canvas)) {
		pen_clip(canvas->pen, box);
		return;
	}
	str_printf(out, "<clipPath id=\"clip%u\"><rect", ++canvas->clip_count);
	add_attribute(out, "x", box.x);
	add_attribute(out, "y", box.y);
	add_attribute(out, "width", box.width);
	add_attribute(out, "height", box.height);
	str_printf(out, "/></clipPath>\n<g clip-path=\"url(#clip%u)\">\n", canvas->clip_count);
}

void canvas_unclip(struct canvas *canvas)
{
	if (is_svg(canvas))
		str_add(&canvas->svg, "</g>\n");
	else
		pen_unclip(canvas->pen);
}

struct err *canvas_write(struct canvas *canvas, FILE *out)
{
	assert(out);
	if (!is_svg(canvas))
		return pen_write(canvas->pen, out);
	str_add(&canvas->svg, "</svg>\n");
	if (canvas->svg.failed)
		return err_nomem();
	if (fwrite(canvas->svg.ptr, 1, canvas->svg.len, out) != canvas->svg.len)
		return err_errno("write");
	return NULL;
}
