/*
 * plot_options: options of `memtape plot`, and its drawing functions.
 */
#ifndef MEMTAPE_CLI_PLOT_OPTIONS_H
#define MEMTAPE_CLI_PLOT_OPTIONS_H

#include "base/arena.h"
#include "cli/reading.h"
#include "plot/chart.h"

enum plot_kind { PLOT_TIMELINE, PLOT_HISTOGRAM, PLOT_LIFETIMES, PLOT_HEATMAP, PLOT_RATE };
enum plot_x { PLOT_X_DEFAULT = -1, PLOT_X_TIME, PLOT_X_NUMBER };
enum {
	PLOT_BY_NONE = -1,
	PLOT_STACK_DEFAULT = -1,
	PLOT_RSS_DEFAULT = -1,
	PLOT_RSS_YES = 0,
	PLOT_RSS_NO = 1
};

struct plot_options {
	const char *input;
	const char *output;
	bool force;
	int kind; /* enum plot_kind */
	int x;	  /* enum plot_x */
	bool is_by_time;
	int by; /* enum group_by, or PLOT_BY_NONE */
	uint64_t top;
	int rss;
	bool shows_allocated;
	bool shows_total;
	int stack;   /* enum timeline_stack, or PLOT_STACK_DEFAULT */
	int metric;  /* enum bars_metric */
	int buckets; /* enum bars_buckets */
	int what;    /* enum heat_what */
	uint64_t clock_hz;
	bool prints_entries;
	const char *title;
	uint64_t width;
	uint64_t height;
	uint64_t dpi;
	int theme;
	int frames; /* enum walk_mode */
	struct reading_part_options part;
	struct reading_symbol_options symbols;
};

/* One drawing. */
struct plot {
	const struct plot_options *options;
	struct chart_settings chart; /* except the titles */
	struct arena arena;
};

struct err *plot_tape(struct plot *plot, FILE *out);
struct err *plot_memusage(struct plot *plot, FILE *out);

/*
 * Heap and stack of a tape, drawn like its data file. with_mappings: count mmap and similar calls;
 * needs_stack: a tape without stack depths is an error.
 */
struct err *plot_memusage_of_tape(const struct plot *plot, bool with_mappings, bool needs_stack,
				  FILE *out);

/* One line per record, for comparison with other readers of the file. */
struct err *plot_memusage_entries(const struct plot_options *options, FILE *out);

#endif
