/*
 * bars_parts: the data of bars, and drawing them. Internal to plot.
 */
#ifndef MEMTAPE_PLOT_BARS_PARTS_H
#define MEMTAPE_PLOT_BARS_PARTS_H

#include "base/arena.h"
#include "plot/bars.h"

enum bar_part { BAR_TEMPORARY, BAR_FREED, BAR_LEAKED };
enum { BAR_PARTS = BAR_LEAKED + 1 };

/* Positions are in units of the axis; strings are the arena's. */
struct bar {
	double begin;
	double end;
	struct model_sum parts[BAR_PARTS];
	const char *title; /* "1 KiB .. 2 KiB" */
};

VEC_DEFINE(bar_vec, struct bar);

struct bar_mark {
	double x;
	const char *label;
};

struct bars {
	struct bar_vec items;
	struct axis x;
	struct ticks ticks;
	struct bar_mark marks[4];
	size_t mark_count;
	const char *end_label; /* of a separate bar at the right; NULL: none */
	double end_x;
	bool has_one_part; /* all are BAR_FREED, as the fate of blocks is unknown */
};

static inline struct model_sum bar_whole(const struct bar *bar)
{
	struct model_sum sum = { 0 };

	for (unsigned i = 0; i < BAR_PARTS; i++) {
		sum.count += bar->parts[i].count;
		sum.bytes += bar->parts[i].bytes;
	}
	return sum;
}

void bars_tick(struct bars *bars, double at, bool is_minor, const char *label);
struct err *bars_draw(const struct bars *bars, enum bars_metric metric,
		      const struct chart_settings *settings, FILE *out);

#endif
