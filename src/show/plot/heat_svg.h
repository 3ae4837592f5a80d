/*
 * heat_svg: a heat map for a browser, in one self-contained file. Without script it is a picture
 * with tooltips on its cells; with it there are a line about the cell under the pointer and
 * keyboard navigation between cells. All strings in it are escaped.
 */
#ifndef MEMTAPE_PLOT_HEAT_SVG_H
#define MEMTAPE_PLOT_HEAT_SVG_H

#include "plot/heat.h"

struct heat_svg_settings {
	const char *title;
	const char *subtitle; /* may be NULL */
	const char *font;
	unsigned font_size; /* pixels */
	unsigned box_size;  /* of a cell */
	uint64_t count_max; /* count with the hottest colour; 0: the maximum of this map */
	bool is_log_colour;
	bool has_grid;
	bool has_accumulated; /* cumulative sums from the bottom of the column, in tooltips */
	bool has_reference;
	double reference; /* a horizontal line */
};

struct err *heat_svg(const struct heat *heat, const struct heat_svg_settings *settings,
		     struct str *out);

#endif
