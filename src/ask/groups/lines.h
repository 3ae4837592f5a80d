/*
 * lines: what the lines of one source file allocated.
 *
 * A line has what was allocated while it was on the stack (total), once for each stack however
 * often it is on it, and what the innermost function that is not machinery of allocation allocated
 * there (self).
 */
#ifndef MEMTAPE_GROUPS_LINES_H
#define MEMTAPE_GROUPS_LINES_H

#include "sums/sums.h"
#include "sums/walk.h"

struct selection;

struct line {
	uint32_t line; /* from 1 */
	uint32_t name; /* a function that the line is in */
	/* One of its frames: inlined into those that follow it, until one is not, if any is. */
	const struct name_frame *frame;
	struct model_stack_sums total;
	struct model_stack_sums self;
	struct model_sum
		freed; /* while the line was on the stack of the free, whoever allocated it */
};

struct lines {
	const char *file;   /* as the debug information has it */
	struct line *items; /* by ascending line, each with something */
	size_t count;
};

/*
 * `file` is the end of the file's path, of whole folders: "list.c", "src/list.c". Needs MODEL_FULL.
 * ERR_NOT_FOUND: nothing was allocated from a file of that name; ERR_USAGE: from several. Lives in
 * the arena.
 */
struct err *lines_find(const struct sums *sums, const struct selection *selection,
		       struct names *names, enum walk_mode mode, const char *file,
		       struct arena *arena, struct lines *lines_ret);

#endif
