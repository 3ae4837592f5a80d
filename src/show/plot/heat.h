/*
 * heat: how often pairs of values occurred, as a grid of cells: the darker, the more often.
 *
 * Events are kept as counts per cell, so memory does not depend on their number. A cell ranges from
 * its minimum to just below that of the next; the last column and row include the maximum, too.
 */
#ifndef MEMTAPE_PLOT_HEAT_H
#define MEMTAPE_PLOT_HEAT_H

#include "base/arena.h"
#include "plot/chart_marks.h"
#include "select/selection.h"

enum heat_what {
	HEAT_SIZE,
	HEAT_LIFETIME,
	HEAT_SIZE_LIFETIME,
	HEAT_LATENCY, /* of allocating calls */
	HEAT_FREE_LATENCY,
	HEAT_IDLE /* of live memory: since when it was not touched */
};

/* The words of --what, in the order of the enum, NULL at the end. */
extern const char *const heat_what_words[];
const char *heat_what_title(enum heat_what what);

struct heat_axis {
	const char *title;
	enum ticks_unit unit;
	const char *suffix; /* of values of TICKS_PLAIN; "": none */
	double min;
	double step; /* per cell; on a logarithmic axis: in logarithms */
	size_t count;
	bool is_log; /* values below min, which is over 0, go to the first cell */
};

struct heat {
	struct heat_axis x;
	struct heat_axis y;
	const char *things; /* what is counted, "blocks"; for a tape */
	bool is_amount;	    /* things is a unit, not events */
	uint64_t *counts;   /* by row, the lowest first */
	uint64_t *column_totals;
	uint64_t total;
	uint64_t outside;		/* events outside of all cells */
	uint64_t most;			/* maximum of a cell */
	const struct chart_mark *marks; /* of a tape, over time; x in ns */
	size_t mark_count;
};

enum { HEAT_CELLS_MAX = 1 << 24, HEAT_SIDE_MAX = 10000 };

/* The axes must be set. ERR_LIMIT: too many cells. */
struct err *heat_init(struct heat *heat, struct arena *arena);
void heat_add(struct heat *heat, double x, double y);
void heat_add_many(struct heat *heat, double x, double y, uint64_t count);

/* How many cells of this step cover a range; more than HEAT_SIDE_MAX if it is too many. */
size_t heat_cells(double range, double step);

/* Lower bound of the i-th cell; i may be `count`: the end of the last. */
double heat_edge(const struct heat_axis *axis, size_t i);

/* "1.2 KiB", "12.5us" */
void heat_add_value(struct str *out, const struct heat_axis *axis, double value);

/* How hot a cell is: 0 for one event, 1 for `most`; logarithmic or linear. */
double heat_share(uint64_t count, uint64_t most, bool is_log);

struct heat_request {
	enum heat_what what; /* of a tape: not HEAT_IDLE */
	size_t columns;
	size_t rows;
	bool is_log; /* of sizes, lifetimes and latencies; never of time */
	/* To make pictures comparable; 0: fitted to the values. */
	double column_ns;      /* time per column */
	double row_step;       /* of a linear vertical axis */
	bool has_min, has_max; /* of the vertical axis */
	double min, max;
};

/*
 * From a tape: MODEL_FULL, two passes. Blocks that were never freed have no lifetime.
 * ERR_NOT_FOUND: there is nothing to draw, or the tape was recorded without latencies.
 */
struct err *heat_of_tape(const struct selection *selection, const struct heat_request *request,
			 struct arena *arena, struct heat *heat_ret);

/*
 * Bytes by value at moments, ascending. bounds: the least value of each of the bytes of a moment;
 * the first is 0, the others are in equal steps of a logarithmic scale.
 */
struct heat_moment {
	uint64_t ns;
	const uint64_t *bytes;
};

struct heat_moments {
	const struct heat_moment *items;
	size_t count; /* at least 1 */
	const uint64_t *bounds;
	size_t bound_count;
	uint64_t end_ns;
	const char *done; /* to memory that is touched: "written to" */
};

/* In KiB; a column is what the last moment before its end says. */
struct err *heat_of_moments(const struct heat_moments *moments, const struct heat_request *request,
			    struct arena *arena, struct heat *heat_ret);

/* As a chart: SVG, PNG or PDF. */
struct err *heat_draw(const struct heat *heat, const struct chart_settings *settings, FILE *out);

#endif
