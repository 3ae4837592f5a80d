/*
 * space_cells: a part of the address space as cells of equal size, for maps: live and resident
 * bytes of each.
 */
#ifndef MEMTAPE_SPACE_SPACE_CELLS_H
#define MEMTAPE_SPACE_SPACE_CELLS_H

#include "space/space.h"

struct space_cell {
	uint64_t live;	   /* usable bytes of live blocks */
	uint64_t resident; /* bytes, at the last snapshot; 0 without one */
};

/* The smallest power of two, at least a page, so that `most` cells cover this many bytes. */
uint64_t space_cell_bytes(uint64_t bytes, uint64_t most);

/* div_up(end - begin, cell_bytes) cells; begin and cell_bytes are whole pages. */
void space_cells_fill(const struct space *space, uint64_t begin, uint64_t end, uint64_t cell_bytes,
		      struct space_cell *cells);

#endif
