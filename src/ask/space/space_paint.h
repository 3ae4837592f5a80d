/*
 * space_paint: the heap at a moment as cells to draw: live and resident bytes of each, how many of
 * its pages are kept by a single block, and what most of its live bytes have in common: age, size,
 * thread or allocating function.
 *
 * The number of cells is bounded, whatever is on the tape.
 */
#ifndef MEMTAPE_SPACE_SPACE_PAINT_H
#define MEMTAPE_SPACE_SPACE_PAINT_H

#include "space/space_cells.h"
#include "space/space_waste.h"

struct names;

enum space_paint_by {
	SPACE_PAINT_USE, /* no classes */
	SPACE_PAINT_AGE,
	SPACE_PAINT_SIZE,
	SPACE_PAINT_THREAD,
	SPACE_PAINT_SITE
};

extern const char *const space_paint_words[]; /* by enum space_paint_by, NULL at the end */

enum {
	SPACE_PAINT_CLASSES = 7,
	SPACE_PAINT_NO_CLASS = SPACE_PAINT_CLASSES, /* of a cell without live bytes */
	SPACE_PAINT_REGIONS = 64,
	SPACE_PAINT_REGION_CELLS = 64 /* minimum per region, if it has that many pages */
};

struct space_paint_class {
	/* AGE (ns), SIZE (bytes): lower bound of the class; the next class's is its end. */
	uint64_t from;
	uint32_t thread; /* THREAD; others: MODEL_NO_THREAD */
	uint32_t stack;	 /* SITE: one of its stacks; others: UINT32_MAX */
	struct model_sum live;
};

struct space_paint_region {
	const struct space_region *region;
	uint64_t cell_bytes;
	size_t first; /* index of its first cell */
	size_t count;
};

struct space_paint {
	struct space_paint_region *regions; /* the largest, in address order */
	size_t region_count;
	struct space_cell *cells;
	uint16_t *pinned; /* pages of the cell kept by a single block */
	uint8_t *classes; /* the class with most live bytes */
	size_t cell_count;
	struct space_paint_class class_sums[SPACE_PAINT_CLASSES]; /* of all live blocks */
	size_t class_count;
};

/*
 * waste and space: as space_waste_find left them; both must outlive the answer, which is in the
 * arena. About cell_max cells. names are needed for SPACE_PAINT_SITE only.
 */
struct err *space_paint_find(const struct space *space, const struct space_waste *waste,
			     enum space_paint_by by, struct names *names, uint64_t cell_max,
			     struct arena *arena, struct space_paint *paint_ret);

#endif
