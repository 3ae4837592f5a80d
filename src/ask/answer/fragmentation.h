/*
 * fragmentation: what of the heap is resident and holds nothing, and whose blocks keep it: by
 * default where most of it was free.
 */
#ifndef MEMTAPE_ANSWER_FRAGMENTATION_H
#define MEMTAPE_ANSWER_FRAGMENTATION_H

#include "answer/about.h"
#include "answer/frame.h"
#include "space/space_waste.h"

struct slack_class {
	uint64_t size_min, size_max;
	struct space_class sums;
};

struct waste_site {
	struct place place;
	struct model_stack_sums sums; /* as space_waste.h has them */
	uint32_t stack;
};

struct fragmentation {
	struct space_waste waste; /* but for regions and pinned, which are empty */
	bool has_snapshot;
	uint64_t slack_bytes;
	struct shape_numbers fills;
	struct shape_rows sizes; /* of struct slack_class */
	struct shape_rows sites; /* of struct waste_site */
	struct quality quality;
};

#endif
