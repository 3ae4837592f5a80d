/*
 * pen: draws PNG and PDF, and measures text for all pictures. The adapter of cairo; internal to
 * plot. Strings are valid UTF-8. Belongs to one thread.
 */
#ifndef MEMTAPE_PLOT_PEN_H
#define MEMTAPE_PLOT_PEN_H

#include "plot/canvas.h"

struct pen;

/* CANVAS_SVG: a pen for measuring only. */
struct err *pen_create(const struct canvas_settings *settings, struct pen **pen_ret);
void pen_destroy(struct pen *pen); /* NULL is fine */

void pen_rect(struct pen *pen, struct canvas_box box, uint32_t rgba);
void pen_lines(struct pen *pen, const struct canvas_point *points, size_t count,
	       const struct canvas_stroke *stroke);
void pen_area(struct pen *pen, const struct canvas_point *points, size_t count, uint32_t rgba);
void pen_text(struct pen *pen, struct canvas_point at, const struct canvas_font *font,
	      const char *text);
double pen_text_width(struct pen *pen, const struct canvas_font *font, const char *text);
void pen_clip(struct pen *pen, struct canvas_box box);
void pen_unclip(struct pen *pen);

/* Writes the whole picture to out. */
struct err *pen_write(struct pen *pen, FILE *out);

#endif
