/* mappings_parts: shared by the source files of mappings. Internal to mappings. */
#ifndef MEMTAPE_SPACE_MAPPINGS_PARTS_H
#define MEMTAPE_SPACE_MAPPINGS_PARTS_H

#include "base/arena.h"
#include "space/mappings.h"

enum { MAPPINGS_RECENT = 64, MAPPINGS_NOBODY = UINT32_MAX };

struct mappings_range {
	uint64_t begin;
	uint64_t end;
	uint64_t ns;
};

struct mappings {
	const struct model *model;
	struct mappings_pieces pieces;
	struct mapping_vec all;
	struct mappings_image image;
	struct mappings_snapshot_vec snapshots;
	struct mappings_range recent[MAPPINGS_RECENT]; /* unmapped last, by calls; a ring */
	size_t recent_count;
	size_t next_note;
	uint64_t now_ns;
	uint64_t page_bytes; /* the kernel's, a power of two */
	uint32_t heap;	     /* the brk mapping; MAPPINGS_NOBODY: none yet */
	uint32_t next_part;  /* of the snapshot being read */
	bool image_is_whole;
};

/* Adds a mapping over the range. Returns its index; MAPPINGS_NOBODY: out of memory. */
uint32_t mappings_add(struct mappings *mappings, uint64_t begin, uint64_t end,
		      const struct mapping *mapping);

/* Called for a complete image: takes over what no call explains. False: out of memory. */
bool mappings_reconcile(struct mappings *mappings, const struct mappings_snapshot *snapshot);

#endif
