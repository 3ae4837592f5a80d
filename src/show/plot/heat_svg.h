/*
 * heat_svg: a heat map for a browser, in one file that needs nothing else. Without script it is a
 * picture whose cells tell about themselves; with it there are a line that tells about the cell
 * under the pointer and keys to walk from cell to cell. Every text in it is escaped.
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
	uint64_t count_max; /* what has the hottest colour; 0: the most of this map */
	bool is_log_colour;
	bool has_grid;
	bool has_accumulated; /* sums from the bottom of the column, in tips */
	bool has_reference;
	double reference; /* a horizontal line */
};

struct err *heat_svg(const struct heat *heat, const struct heat_svg_settings *settings,
		     struct str *out);

#endif
