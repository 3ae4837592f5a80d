/*
 * lines: allocations by line of one source file.
 *
 * A line's total is what was allocated while it was on the stack, counted once per stack. Its self
 * value is what was allocated there by the innermost function that is not allocation machinery.
 */
#ifndef MEMTAPE_GROUPS_LINES_H
#define MEMTAPE_GROUPS_LINES_H

#include "sums/sums.h"
#include "sums/walk.h"

struct selection;

struct line {
	uint32_t line; /* from 1 */
	uint32_t name; /* a function that contains the line */
	/* One of its frames: inlined into the frames that follow, up to one that is not inlined. */
	const struct name_frame *frame;
	struct model_stack_sums total;
	struct model_stack_sums self;
	struct model_sum freed; /* while the line was on the freeing stack, whoever allocated */
};

struct lines {
	const char *file;   /* as the debug information has it */
	struct line *items; /* by line number; lines without data are left out */
	size_t count;
};

/*
 * `file` is the end of the path, in whole folders: "list.c", "src/list.c". Needs MODEL_FULL.
 * ERR_NOT_FOUND: no allocations from such a file; ERR_USAGE: several files match. Lives in the
 * arena.
 */
struct err *lines_find(const struct sums *sums, const struct selection *selection,
		       struct names *names, enum walk_mode mode, const char *file,
		       struct arena *arena, struct lines *lines_ret);

#endif
