/*
 * focus: one function, in all the stacks that it is in. Where a function calls itself its outermost
 * frame counts, so that nothing is counted twice.
 */
#ifndef MEMTAPE_TREES_FOCUS_H
#define MEMTAPE_TREES_FOCUS_H

#include "model/names.h"
#include "sums/sums.h"

struct focus_place {
	uint32_t stack; /* whose innermost address has the frame */
	uint32_t frame; /* index into its names_frames */
};

struct focus {
	struct focus_place *places; /* by ascending stack; no place is inside of another */
	size_t count;
};

/*
 * The function is `word` as a name in full; or without its parameters and template arguments; or,
 * where none is called so, whatever contains the word. Looks where something was allocated only.
 * ERR_NOT_FOUND: no such function in any stack. Lives in the arena.
 */
struct err *focus_find(const struct sums *sums, struct names *names, const char *word,
		       struct arena *arena, struct focus *focus_ret);

/*
 * The frame of a place. What stands for stacks that are not known, or for frames further out, is a
 * place as well, of the special stack with that meaning.
 */
const struct name_frame *focus_frame(struct names *names, const struct focus_place *place);

/*
 * The same of a function by its name_hash, or of what stands for none. ERR_NOT_FOUND: it is in no
 * stack that allocated.
 */
struct err *focus_find_hash(const struct sums *sums, struct names *names, uint64_t hash,
			    struct arena *arena, struct focus *focus_ret);

#endif
