/*
 * rate: allocations and bytes per second over time, as a picture.
 */
#ifndef MEMTAPE_PLOT_RATE_H
#define MEMTAPE_PLOT_RATE_H

#include "plot/chart.h"
#include "select/selection.h"

/* The range [from_ns, until_ns), not empty. Parts of a tape need MODEL_FULL. */
struct err *rate_draw(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
		      const struct chart_settings *settings, FILE *out);

#endif
