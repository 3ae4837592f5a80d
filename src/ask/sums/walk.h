/*
 * walk: the frames of a whole stack, one after the other, innermost first, with the machinery of
 * allocation and of program start left out unless asked for.
 *
 *	struct walk walk = walk_begin(model, names, stack, WALK_FOLD);
 *	while ((frame = walk_next(&walk)))
 */
#ifndef MEMTAPE_SUMS_WALK_H
#define MEMTAPE_SUMS_WALK_H

#include "model/names.h"

enum walk_mode {
	WALK_FOLD, /* what a reader wants; a stack of nothing but machinery shows one frame of it */
	WALK_ALL
};

/* What somebody does not want to see just now: frames without a place of their own. */
struct walk_hidden {
	const uint64_t *functions; /* name_hash */
	size_t function_count;
	const char *modules; /* short names, with '/' between them; "": none */
};

struct walk {
	const struct model *model;
	struct names *names;
	enum walk_mode mode;
	const struct walk_hidden *hidden_too; /* NULL: nothing; set after walk_begin */
	uint32_t stack;			      /* its frames are in `frames` */
	struct name_frames frames;	      /* of one address */
	size_t at;			      /* the next of them */
	bool is_ended;
	bool has_shown;			 /* at least one frame came out */
	const struct name_frame *hidden; /* outermost left out so far */
};

struct walk walk_begin(const struct model *model, struct names *names, uint32_t stack,
		       enum walk_mode mode);

/*
 * NULL: the end. After the outermost frame of a stack that was cut short comes NAME_TRUNCATED; a
 * missing stack is one frame, NAME_NO_STACK.
 */
const struct name_frame *walk_next(struct walk *walk);

/* The next frame together with those after it in the same function (and line): recursion. */
const struct name_frame *walk_next_run(struct walk *walk, bool same_line, uint64_t *count_ret);

/* Whether the mode leaves this frame out. */
bool walk_hides(enum walk_mode mode, const struct names *names, const struct name_frame *frame);

/* Whether somebody does not want to see it. hidden NULL: no. */
bool walk_is_hidden(const struct walk_hidden *hidden, const struct model *model,
		    const struct names *names, const struct name_frame *frame);

#endif
