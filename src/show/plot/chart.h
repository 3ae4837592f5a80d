/*
 * chart: what is around the curves - title, axes with their ticks, legend - and where on the paper
 * a value is. Everything is laid out from the size of the paper, and texts are measured, so that
 * nothing overlaps at any size; a thumbnail has curves and numbers only. Internal to plot.
 *
 *	chart_begin(&chart, canvas, &settings);		paper, title
 *	chart_keys(&chart, keys, key_count);		legend
 *	chart_axes(&chart, &x, &y, NULL);		chart_x(), chart_y() are known now
 *	... curves ...
 *	chart_frame(&chart);				what stands before the curves
 */
#ifndef MEMTAPE_PLOT_CHART_H
#define MEMTAPE_PLOT_CHART_H

#include "plot/canvas.h"
#include "plot/theme.h"
#include "plot/ticks.h"

struct chart_settings {
	struct canvas_settings canvas;
	const char *title;
	const char *subtitle; /* may be NULL */
	const struct theme *theme;
};

struct axis {
	const char *title;
	enum ticks_unit unit;
	double min;
	double max; /* a linear vertical axis goes on to its next tick */
	bool is_log;
	uint32_t rgba;		   /* of labels; 0: as the others */
	const struct ticks *ticks; /* horizontal: these, as many as fit; NULL: round numbers */
};

enum chart_key_kind { CHART_KEY_LINE, CHART_KEY_BOX };

struct chart_key {
	const char *label;
	const char *value; /* in a legend at the side; may be NULL */
	uint32_t rgba;
	enum chart_key_kind kind;
};

struct chart {
	struct canvas *canvas;
	const struct theme *theme;
	double font;	   /* size of labels */
	bool is_tiny;	   /* a thumbnail: curves and numbers, no words */
	double labels_min; /* room for labels at the left, so that charts above each other align */
	struct canvas_box room; /* what is left of the paper */
	struct canvas_box plot; /* where curves are */
	struct axis x, y, y2;
	struct ticks x_ticks, y_ticks, y2_ticks;
	bool has_y2;
};

void chart_begin(struct chart *chart, struct canvas *canvas, const struct chart_settings *settings);

/* In one or more lines under the title. */
void chart_keys(struct chart *chart, const struct chart_key *keys, size_t count);

/* At the right side, one line each, as many as there is room for. */
void chart_side_keys(struct chart *chart, const char *heading, const struct chart_key *keys,
		     size_t count);

/* Above another one: the upper share of the room; what is below is left for the next axes. */
void chart_axes_above(struct chart *chart, double share, const struct axis *x,
		      const struct axis *y);

/* Takes the whole room; y2, a second scale at the right, may be NULL. Draws the grid. */
void chart_axes(struct chart *chart, const struct axis *x, const struct axis *y,
		const struct axis *y2);
void chart_frame(const struct chart *chart);

/* A value's place, on the paper; logarithmic axes take values over 0. */
double chart_x(const struct chart *chart, double value);
double chart_y(const struct chart *chart, double value);
double chart_y2(const struct chart *chart, double value);

/* A text at a value, with a dot at it and paper behind it, within the plot. */
void chart_note(const struct chart *chart, double x, double y, uint32_t rgba, const char *text);

struct canvas_font chart_font(const struct chart *chart, enum canvas_anchor anchor);

#endif
