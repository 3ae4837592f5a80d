/*
 * canvas: a drawing surface for one SVG, PNG or PDF file.
 *
 *	CLEAN(canvas_destroy) struct canvas *canvas = NULL;
 *	err = canvas_create(&settings, &canvas);
 *	canvas_rect(canvas, box, 0x0072b2ff, NULL);
 *	err = canvas_write(canvas, stdout);
 *
 * The same calls give the same picture in all three. SVG text stays text: it can be searched and
 * edited, and no fonts are embedded. Coordinates are CSS pixels (1/96 inch) from the top left;
 * colours are 0xrrggbbaa. Strings may be hostile. Failures stick until canvas_write. A canvas
 * belongs to one thread.
 */
#ifndef MEMTAPE_PLOT_CANVAS_H
#define MEMTAPE_PLOT_CANVAS_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum canvas_format { CANVAS_SVG, CANVAS_PNG, CANVAS_PDF };

enum {
	CANVAS_WIDTH_MIN = 100,
	CANVAS_HEIGHT_MIN = 80,
	CANVAS_SIDE_MAX = 16384,
	CANVAS_DPI_MIN = 24,
	CANVAS_DPI_MAX = 1200,
	CANVAS_PIXELS_MAX = 1 << 27 /* for a PNG: half a GiB */
};

#define CANVAS_FONT "Liberation Sans"

struct canvas_settings {
	enum canvas_format format;
	unsigned width; /* CSS pixels */
	unsigned height;
	unsigned dpi;	   /* for a PNG: 96 is one pixel per CSS pixel */
	const char *title; /* accessible name of the picture; may be NULL */
};

/* By the file name's suffix; false: unknown format. */
bool canvas_format_of(const char *path, enum canvas_format *format_ret);

struct canvas_point {
	double x;
	double y;
};

struct canvas_box {
	double x;
	double y;
	double width;
	double height;
};

struct canvas_stroke {
	uint32_t rgba;
	double width;
	bool is_dashed;
};

enum canvas_anchor { CANVAS_LEFT, CANVAS_MIDDLE, CANVAS_RIGHT };

struct canvas_font {
	double size;
	uint32_t rgba;
	enum canvas_anchor anchor; /* which point of the text is at the given point */
	bool is_bold;
	bool is_upright;    /* rotated, reads from bottom to top */
	const char *family; /* NULL: CANVAS_FONT */
};

struct canvas;

/* ERR_USAGE: sizes out of range. */
struct err *canvas_check(const struct canvas_settings *settings);
struct err *canvas_create(const struct canvas_settings *settings, struct canvas **canvas_ret);
void canvas_destroy(struct canvas *canvas); /* NULL is fine */
CLEAN_DEFINE(canvas_destroy, struct canvas *);

/* tip: the tooltip in an SVG; may be NULL. */
void canvas_rect(struct canvas *canvas, struct canvas_box box, uint32_t rgba, const char *tip);
void canvas_lines(struct canvas *canvas, const struct canvas_point *points, size_t count,
		  const struct canvas_stroke *stroke);
void canvas_area(struct canvas *canvas, const struct canvas_point *points, size_t count,
		 uint32_t rgba, const char *tip);

/* The baseline of the text begins, is halfway or ends at the point. */
void canvas_text(struct canvas *canvas, struct canvas_point at, const struct canvas_font *font,
		 const char *text);
double canvas_text_width(struct canvas *canvas, const struct canvas_font *font, const char *text);

/* Appends text to out, truncated with an ellipsis so that it is not wider than width. */
void canvas_text_fit(struct canvas *canvas, const struct canvas_font *font, const char *text,
		     double width, struct str *out);

/* Until the end of clipping, only what is inside the box is visible. */
void canvas_clip(struct canvas *canvas, struct canvas_box box);
void canvas_unclip(struct canvas *canvas);

struct err *canvas_write(struct canvas *canvas, FILE *out);

#endif
