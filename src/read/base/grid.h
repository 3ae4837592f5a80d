/*
 * grid: the aligned text table of emit. The first rows are held back to determine the widths; later
 * rows stream, and a wider cell shifts only its own line. Where a line has no room for all cells the
 * row goes on in the next; names are cut in the middle, numbers never. Internal to base.
 */
#ifndef MEMTAPE_BASE_GRID_H
#define MEMTAPE_BASE_GRID_H

#include "base/arena.h"
#include "base/emit.h"
#include "base/str.h"

struct grid {
	const struct emit_column *columns;
	size_t column_count;
	unsigned width; /* of the line; 0: unlimited */
	bool colour;
	size_t indent;
	struct str *cells; /* of the row being filled, one per column */
	size_t *widths;
	char **line; /* cells of the row being written */
	char **held; /* cells of the rows held back, row after row */
	size_t held_rows;
	bool streaming;	    /* widths are fixed, the header is written */
	struct arena arena; /* of everything above */
};

bool grid_begin(struct grid *grid, const struct emit_column *columns, size_t column_count,
		const struct emit_settings *settings, size_t indent);

/* The cell of this key, or NULL: not shown. */
struct str *grid_cell(struct grid *grid, const char *key);

/* Both append finished lines to out. */
void grid_row_end(struct grid *grid, struct str *out);
void grid_end(struct grid *grid, struct str *out); /* frees all */

/* "peak_bytes" -> "Peak bytes" */
void grid_title(struct str *out, const char *key);

#endif
