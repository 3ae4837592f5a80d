/*
 * focus: one function, in all stacks that contain it. For recursion the outermost frame counts, so
 * that nothing is counted twice.
 */
#ifndef MEMTAPE_TREES_FOCUS_H
#define MEMTAPE_TREES_FOCUS_H

#include "model/names.h"
#include "sums/sums.h"

struct focus_place {
	uint32_t stack; /* the stack whose innermost address has the frame */
	uint32_t frame; /* index into its names_frames */
};

struct focus {
	struct focus_place *places; /* by ascending stack; no place is inside another */
	size_t count;
};

/*
 * Matches `word` against full function names; or without parameters and template arguments; or, if
 * there is no such function, against any part of the name. Searches only stacks with allocations.
 * ERR_NOT_FOUND: no such function in any stack. Lives in the arena.
 */
struct err *focus_find(const struct sums *sums, struct names *names, const char *word,
		       struct arena *arena, struct focus *focus_ret);

/*
 * The frame of a place. The special stacks for unknown stacks or missing outer frames are places
 * too.
 */
const struct name_frame *focus_frame(struct names *names, const struct focus_place *place);

/*
 * The same by name_hash of a function or special frame. ERR_NOT_FOUND: not in any stack that
 * allocated.
 */
struct err *focus_find_hash(const struct sums *sums, struct names *names, uint64_t hash,
			    struct arena *arena, struct focus *focus_ret);

#endif
