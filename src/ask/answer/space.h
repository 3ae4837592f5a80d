/*
 * space: a map of the heap, cell by cell, and a list of everything that is mapped; by default where
 * most of the heap was free.
 */
#ifndef MEMTAPE_ANSWER_SPACE_H
#define MEMTAPE_ANSWER_SPACE_H

#include "answer/about.h"
#include "space/space_cells.h"
#include "space/space_waste.h"

struct heap_region {
	struct space_region region;
	const char *kind, *name;
	uint64_t cell_bytes;
	struct shape_numbers live, resident; /* bytes, by cell */
};

struct extent {
	struct space_part part;
	const char *kind, *name;
};

struct space_answer {
	uint64_t at_ns;
	bool has_snapshot;
	struct shape_rows regions; /* of struct heap_region */
	struct shape_rows extents; /* of struct extent */
	struct quality quality;
};

#endif
