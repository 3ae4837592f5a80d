/*
 * chart_marks: named moments over a chart: a line for each, and above the chart its name where there
 * is room. Names never overlap; how many were left out is said. Internal to plot.
 *
 *	chart_marks_room(&chart);	before chart_axes()
 *	... curves ...
 *	chart_marks(&chart, marks, count);
 */
#ifndef MEMTAPE_PLOT_CHART_MARKS_H
#define MEMTAPE_PLOT_CHART_MARKS_H

#include "plot/chart.h"

struct chart_mark {
	double x;	  /* in the unit of the axis, within it; marks ascend */
	const char *name; /* as it is on the tape; "": a line alone */
};

/* Takes the line of names above the axes. */
void chart_marks_room(struct chart *chart);

void chart_marks(const struct chart *chart, const struct chart_mark *marks, size_t count);

#endif
