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

#include "base/arena.h"
#include "model/model.h"
#include "plot/chart.h"

struct chart_mark {
	double x;	  /* in the unit of the axis, within it; marks ascend */
	const char *name; /* as it is on the tape; "": a line alone */
};

/* Those of a tape in [from_ns, until_ns), in ns; from the arena. */
struct err *chart_marks_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			     struct arena *arena, struct chart_mark **marks_ret, size_t *count_ret);

/* Takes the line of names above the axes. */
void chart_marks_room(struct chart *chart);

void chart_marks(const struct chart *chart, const struct chart_mark *marks, size_t count);

#endif
