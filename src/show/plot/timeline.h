/*
 * timeline: memory over time, or over the number of allocations, as a picture. The source of the
 * values - a tape, a memusage file - is up to the caller.
 */
#ifndef MEMTAPE_PLOT_TIMELINE_H
#define MEMTAPE_PLOT_TIMELINE_H

#include "plot/chart_marks.h"
#include "time/course.h"

enum timeline_stack { TIMELINE_STACK_SAME, TIMELINE_STACK_OWN, TIMELINE_STACK_NONE };

struct timeline_range {
	double low;
	double high;
};

/* Columns from left to right; each extends to the next one's x, the last one to x_max. Bytes. */
struct timeline {
	const char *x_title;
	enum ticks_unit x_unit;
	double x_min;
	double x_max;
	size_t count;
	const double *x;
	const struct timeline_range *heap;
	const struct timeline_range *stack; /* NULL: unknown */
	const struct timeline_range *total; /* heap and stack; NULL: not drawn */
	const double *allocated;	    /* total at the end of each column; NULL: not drawn */
	const struct canvas_point *rss;
	size_t rss_count;
	const struct chart_mark *marks;
	size_t mark_count;
	/* band_count values per column, which add up to its heap.high; NULL: one area. */
	const uint64_t *bands;
	size_t band_count;
	const char *const *band_titles;
	bool has_rest; /* the last band is everything else */
	const uint64_t *peak_bands;
	bool has_peak;
	struct canvas_point peak;
	bool has_own_stack_scale;
};

struct err *timeline_draw(const struct timeline *timeline, const struct chart_settings *settings,
			  FILE *out);

struct timeline_settings {
	struct chart_settings chart;
	uint64_t from_ns; /* the range shown: [from_ns, until_ns), not empty */
	uint64_t until_ns;
	bool is_by_number;
	bool hides_rss;
	bool shows_allocated;
	bool has_bands;
	enum group_by by;
	enum walk_mode mode;
	size_t top;
};

/* How many columns a picture can show. */
size_t timeline_columns(const struct canvas_settings *settings);

/* From a tape. Numbers of allocations, bands and parts of a tape need MODEL_FULL. */
struct err *timeline_of_tape(const struct selection *selection,
			     const struct timeline_settings *settings, struct arena *arena,
			     struct timeline *timeline_ret);

#endif
