/*
 * bars: histograms of block sizes or lifetimes. Bars are divided by the fate of the blocks.
 */
#ifndef MEMTAPE_PLOT_BARS_H
#define MEMTAPE_PLOT_BARS_H

#include "plot/chart.h"
#include "select/selection.h"

enum bars_metric { BARS_COUNT, BARS_BYTES };

enum bars_buckets {
	BARS_BUCKETS_LOG2, /* by powers of two */
	BARS_BUCKETS_16	   /* 16 bytes wide up to 64 KiB, as those of memusage */
};

/* Sizes of all blocks of the selection. BARS_BUCKETS_16 and parts of a tape need rows. */
struct err *bars_sizes(const struct selection *selection, enum bars_buckets buckets,
		       enum bars_metric metric, const struct chart_settings *settings, FILE *out);

/* Lifetimes: MODEL_FULL. */
struct err *bars_lifetimes(const struct selection *selection, enum bars_metric metric,
			   const struct chart_settings *settings, FILE *out);

#endif
