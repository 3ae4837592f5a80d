#include "plot/pen.h"

#include <assert.h>
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>

enum { CSS_DPI = 96, PDF_DPI = 72 };

struct pen {
	enum canvas_format format;
	cairo_surface_t *surface;
	cairo_t *cairo;
	struct vec_u8 pdf; /* output of cairo so far */
	bool has_failed;   /* out of memory for it */
};

static cairo_status_t collect(void *context, const unsigned char *data, unsigned len)
{
	struct pen *pen = context;

	if (!vec_u8_reserve(&pen->pdf, pen->pdf.count + len)) {
		pen->has_failed = true;
		return CAIRO_STATUS_NO_MEMORY;
	}
	memcpy(pen->pdf.items + pen->pdf.count, data, len);
	pen->pdf.count += len;
	return CAIRO_STATUS_SUCCESS;
}

static struct err *pen_check(const struct pen *pen)
{
	cairo_status_t status = cairo_status(pen->cairo);

	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(pen->surface);
	if (status == CAIRO_STATUS_SUCCESS)
		return NULL;
	if (status == CAIRO_STATUS_NO_MEMORY || pen->has_failed)
		return err_nomem();
	return err_new(ERR_LIMIT, "cannot draw: %s", cairo_status_to_string(status));
}

static cairo_surface_t *surface_create(struct pen *pen, const struct canvas_settings *settings)
{
	const double scale = (double)settings->dpi / CSS_DPI;

	switch (settings->format) {
	case CANVAS_PNG:
		return cairo_image_surface_create(CAIRO_FORMAT_RGB24,
						  (int)lround(settings->width * scale),
						  (int)lround(settings->height * scale));
	case CANVAS_PDF:
		return cairo_pdf_surface_create_for_stream(
			collect, pen, (double)settings->width * PDF_DPI / CSS_DPI,
			(double)settings->height * PDF_DPI / CSS_DPI);
	case CANVAS_SVG:
		break;
	}
	return cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
}

/* Measured as on a large page, independent of this one's pixels. */
static void fonts_init(struct pen *pen)
{
	cairo_font_options_t *options = cairo_font_options_create();

	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	cairo_set_font_options(pen->cairo, options);
	cairo_font_options_destroy(options);
}

struct err *pen_create(const struct canvas_settings *settings, struct pen **pen_ret)
{
	struct pen *pen = calloc(1, sizeof(*pen));
	struct err *err;

	assert((unsigned)settings->format <= CANVAS_PDF);
	if (!pen)
		return err_nomem();
	pen->format = settings->format;
	pen->surface = surface_create(pen, settings);
	pen->cairo = cairo_create(pen->surface);
	err = pen_check(pen);
	if (err) {
		pen_destroy(pen);
		return err;
	}
	if (settings->format == CANVAS_PNG)
		cairo_scale(pen->cairo, (double)settings->dpi / CSS_DPI,
			    (double)settings->dpi / CSS_DPI);
	if (settings->format == CANVAS_PDF) {
		cairo_scale(pen->cairo, (double)PDF_DPI / CSS_DPI, (double)PDF_DPI / CSS_DPI);
		cairo_pdf_surface_set_metadata(pen->surface, CAIRO_PDF_METADATA_CREATOR, "memtape");
	}
	cairo_set_line_join(pen->cairo, CAIRO_LINE_JOIN_ROUND);
	fonts_init(pen);
	*pen_ret = pen;
	return NULL;
}

void pen_destroy(struct pen *pen)
{
	if (!pen)
		return;
	cairo_destroy(pen->cairo);
	cairo_surface_destroy(pen->surface); /* may write the rest of a PDF */
	vec_u8_deinit(&pen->pdf);
	free(pen);
}

static void use_colour(struct pen *pen, uint32_t rgba)
{
	cairo_set_source_rgba(pen->cairo, (double)(rgba >> 24) / 255,
			      (double)(rgba >> 16 & 0xff) / 255, (double)(rgba >> 8 & 0xff) / 255,
			      (double)(rgba & 0xff) / 255);
}

void pen_rect(struct pen *pen, struct canvas_box box, uint32_t rgba)
{
	assert(pen->format != CANVAS_SVG);
	use_colour(pen, rgba);
	cairo_rectangle(pen->cairo, box.x, box.y, box.width, box.height);
	cairo_fill(pen->cairo);
}

static void path(struct pen *pen, const struct canvas_point *points, size_t count)
{
	cairo_new_path(pen->cairo);
	for (size_t i = 0; i < count; i++)
		cairo_line_to(pen->cairo, points[i].x, points[i].y);
}

void pen_lines(struct pen *pen, const struct canvas_point *points, size_t count,
	       const struct canvas_stroke *stroke)
{
	const double dashes[] = { stroke->width * 4, stroke->width * 3 };

	assert(pen->format != CANVAS_SVG);
	assert(count >= 2);
	use_colour(pen, stroke->rgba);
	cairo_set_line_width(pen->cairo, stroke->width);
	cairo_set_dash(pen->cairo, dashes, stroke->is_dashed ? 2 : 0, 0);
	path(pen, points, count);
	cairo_stroke(pen->cairo);
}

void pen_area(struct pen *pen, const struct canvas_point *points, size_t count, uint32_t rgba)
{
	assert(pen->format != CANVAS_SVG);
	use_colour(pen, rgba);
	path(pen, points, count);
	cairo_close_path(pen->cairo);
	cairo_fill(pen->cairo);
}

static void use_font(struct pen *pen, const struct canvas_font *font)
{
	cairo_select_font_face(pen->cairo, font->family ? font->family : CANVAS_FONT,
			       CAIRO_FONT_SLANT_NORMAL,
			       font->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(pen->cairo, font->size);
}

double pen_text_width(struct pen *pen, const struct canvas_font *font, const char *text)
{
	cairo_text_extents_t extents;

	assert(font->size > 0);
	use_font(pen, font);
	cairo_text_extents(pen->cairo, text, &extents);
	return extents.x_advance;
}

void pen_text(struct pen *pen, struct canvas_point at, const struct canvas_font *font,
	      const char *text)
{
	const double width = pen_text_width(pen, font, text);
	const double left = font->anchor == CANVAS_LEFT	    ? 0
			    : font->anchor == CANVAS_MIDDLE ? width / 2
							    : width;

	assert(pen->format != CANVAS_SVG);
	use_colour(pen, font->rgba);
	cairo_save(pen->cairo);
	cairo_translate(pen->cairo, at.x, at.y);
	if (font->is_upright)
		cairo_rotate(pen->cairo, -M_PI / 2);
	cairo_move_to(pen->cairo, -left, 0);
	cairo_show_text(pen->cairo, text);
	cairo_restore(pen->cairo);
}

void pen_clip(struct pen *pen, struct canvas_box box)
{
	assert(pen->format != CANVAS_SVG);
	cairo_save(pen->cairo);
	cairo_rectangle(pen->cairo, box.x, box.y, box.width, box.height);
	cairo_clip(pen->cairo);
}

void pen_unclip(struct pen *pen)
{
	assert(pen->format != CANVAS_SVG);
	cairo_restore(pen->cairo);
}

struct err *pen_write(struct pen *pen, FILE *out)
{
	struct err *err = pen_check(pen);

	assert(pen->format != CANVAS_SVG);
	if (err)
		return err;
	if (pen->format == CANVAS_PNG)
		cairo_surface_write_to_png_stream(pen->surface, collect, pen);
	else
		cairo_surface_finish(pen->surface);
	if (pen->has_failed)
		return err_nomem();
	if (fwrite(pen->pdf.items, 1, pen->pdf.count, out) != pen->pdf.count)
		return err_errno("write");
	return NULL;
}
