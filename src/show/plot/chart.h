/*
 * chart: everything around the curves - title, axes with ticks, legend - and the mapping of values
 * to positions. The layout is computed from the size of the picture, and text is measured, so that
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
	double max; /* a linear vertical axis is extended to its next tick */
	bool is_log;
	uint32_t rgba;		   /* of labels; 0: the default */
	const struct ticks *ticks; /* horizontal axis: these, as many as fit; NULL: round numbers */
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
	double font;		/* font size of labels */
	bool is_tiny;		/* thumbnail: curves and numbers, no words */
	double labels_min;	/* minimum width of labels at the left, to align stacked charts */
	struct canvas_box room; /* remaining space */
	struct canvas_box plot; /* area of the curves */
	struct axis x, y, y2;
	struct ticks x_ticks, y_ticks, y2_ticks;
	bool has_y2;
};

void chart_begin(struct chart *chart, struct canvas *canvas, const struct chart_settings *settings);

/* On one or more lines below the title. */
void chart_keys(struct chart *chart, const struct chart_key *keys, size_t count);

/* At the right side, one per line, as many as fit. */
void chart_side_keys(struct chart *chart, const char *heading, const struct chart_key *keys,
		     size_t count);

/* For stacked charts: takes the upper share of the space; the rest is left for the next axes. */
void chart_axes_above(struct chart *chart, double share, const struct axis *x,
		      const struct axis *y);

/* Takes all remaining space; y2, a second scale at the right, may be NULL. Draws the grid. */
void chart_axes(struct chart *chart, const struct axis *x, const struct axis *y,
		const struct axis *y2);
void chart_frame(const struct chart *chart);

/* Position of a value in the picture; logarithmic axes need values over 0. */
double chart_x(const struct chart *chart, double value);
double chart_y(const struct chart *chart, double value);
double chart_y2(const struct chart *chart, double value);

/* A text at a value, with a dot there and a background, inside the plot. */
void chart_note(const struct chart *chart, double x, double y, uint32_t rgba, const char *text);

struct canvas_font chart_font(const struct chart *chart, enum canvas_anchor anchor);

#endif
