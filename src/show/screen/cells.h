/*
 * cells: a screen as a grid of characters with styles, which knows no terminal. Texts may be hostile:
 * control bytes and invalid UTF-8 become '?'. What the locale cannot show does, too (wcwidth).
 *
 * A grid belongs to one thread.
 */
#ifndef MEMTAPE_SCREEN_CELLS_H
#define MEMTAPE_SCREEN_CELLS_H

#include "base/clean.h"

enum cell_style {
	CELL_PLAIN,
	CELL_DIM,
	CELL_BOLD,
	CELL_VALUE,
	CELL_GOOD,
	CELL_BAD,
	CELL_ALARM,
	CELL_BAR,      /* the first line and the last one */
	CELL_KEY,      /* keys, in the last line */
	CELL_HEADING,  /* of the table */
	CELL_SORTED,   /* the heading of what it is sorted by */
	CELL_SELECTED, /* the line */
	CELL_STYLES
};

enum { CELL_BYTES = 5, CELLS_SIDE_MAX = 4096 };

struct cell {
	char text[CELL_BYTES]; /* one character, NUL-terminated; "": the one before is two wide */
	uint8_t style;	       /* enum cell_style */
};

struct cells {
	unsigned width, height;
	struct cell *items; /* row by row */
};

/*
 * Blanks, of this size; a size over CELLS_SIDE_MAX is cut. False: out of memory, the grid is as it was.
 * All zeros is an empty grid.
 */
bool cells_reset(struct cells *cells, unsigned width, unsigned height);
void cells_deinit(struct cells *cells);
CLEAN_DEFINE_DEINIT(cells_deinit, struct cells);

/* NULL: it is outside. */
const struct cell *cells_at(const struct cells *cells, unsigned x, unsigned y);

/*
 * Writes text at a place, in at most this many columns, and not beyond the edge. Returns how many
 * were used.
 */
unsigned cells_put(struct cells *cells, unsigned x, unsigned y, unsigned columns,
		   enum cell_style style, const char *text);

/* The same, so that it ends before column `end`, cut on its right if it does not fit. */
void cells_put_right(struct cells *cells, unsigned end, unsigned y, unsigned columns,
		     enum cell_style style, const char *text);

/* A whole line gets this style. */
void cells_style_line(struct cells *cells, unsigned y, enum cell_style style);

/* Columns that it takes. */
unsigned cells_width(const char *text);

/*
 * A row of bars, a column a value, of the last values if there are more than columns; each in eight
 * steps up to the largest. UINT64_MAX: unknown. is_utf8: with block characters, else with others.
 */
void cells_put_bars(struct cells *cells, unsigned x, unsigned y, unsigned columns,
		    enum cell_style style, const uint64_t *values, size_t count, bool is_utf8);

#endif
