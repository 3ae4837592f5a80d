/*
 * density: how often pairs of values occur, and with how many bytes, as a grid of cells: sizes over
 * time, lifetimes over sizes. Blocks that were never freed have no lifetime; they are counted
 * separately, by column.
 */
#ifndef MEMTAPE_GROUPS_DENSITY_H
#define MEMTAPE_GROUPS_DENSITY_H

#include "select/selection.h"

enum density_kind {
	DENSITY_TIME,
	DENSITY_SIZE,
	DENSITY_LIFETIME,
	DENSITY_LATENCY /* of the call; blocks without a known latency are left out */
};

enum { DENSITY_SIDE_MAX = 256 };

/* In the order of the enum, NULL at the end. */
extern const char *const density_kind_words[];

/*
 * A cell ranges from an edge to before the next; the last one includes its upper edge. Edges are
 * integers, so there may be fewer cells than requested.
 */
struct density_axis {
	enum density_kind kind;
	bool is_log; /* all but time; values below the first edge, 0, are in the first cell */
	size_t count;
	uint64_t edges[DENSITY_SIDE_MAX + 1];
};

struct density {
	struct density_axis x;
	struct density_axis y;
	struct model_sum *cells; /* row by row, lowest first */
	struct model_sum *never; /* by column; NULL if no axis is lifetimes */
};

struct density_settings {
	enum density_kind x;
	enum density_kind y; /* differs from x, and is not time */
	size_t column_count; /* 1 .. DENSITY_SIDE_MAX, as rows */
	size_t row_count;
	uint64_t from_ns; /* of the time axis */
	uint64_t until_ns;
};

/* Two passes over the selected rows (MODEL_FULL). Lives in the arena. */
struct err *density_find(const struct selection *selection, const struct density_settings *settings,
			 struct arena *arena, struct density *density_ret);

#endif
