/*
 * walk: iterates over the frames of a whole stack, innermost first, without the machinery of
 * allocation and of program start unless requested.
 *
 *	struct walk walk = walk_begin(model, names, stack, WALK_FOLD);
 *	while ((frame = walk_next(&walk)))
 */
#ifndef MEMTAPE_SUMS_WALK_H
#define MEMTAPE_SUMS_WALK_H

#include "model/names.h"

enum walk_mode {
	WALK_FOLD, /* what readers want; a stack of only machinery shows one frame of it */
	WALK_ALL
};

/* Functions and modules hidden by the user: their frames are left out. */
struct walk_hidden {
	const uint64_t *functions; /* name_hash */
	size_t function_count;
	const char *modules; /* short names, with '/' between them; "": none */
};

struct walk {
	const struct model *model;
	struct names *names;
	enum walk_mode mode;
	const struct walk_hidden *hidden_too; /* NULL: nothing; set it after walk_begin */
	uint32_t stack;			      /* its frames are in `frames` */
	struct name_frames frames;	      /* of one address */
	size_t at;			      /* index of the next one */
	bool is_ended;
	bool has_shown;			 /* at least one frame was returned */
	const struct name_frame *hidden; /* outermost hidden frame so far */
};

struct walk walk_begin(const struct model *model, struct names *names, uint32_t stack,
		       enum walk_mode mode);

/*
 * NULL: the end. A truncated stack ends with NAME_TRUNCATED; a missing stack is one frame,
 * NAME_NO_STACK.
 */
const struct name_frame *walk_next(struct walk *walk);

/* The next frame, merged with following ones of the same function (and line): recursion. */
const struct name_frame *walk_next_run(struct walk *walk, bool same_line, uint64_t *count_ret);

/* Whether the mode hides this frame. */
bool walk_hides(enum walk_mode mode, const struct names *names, const struct name_frame *frame);

/* Whether the user hides it. hidden NULL: no. */
bool walk_is_hidden(const struct walk_hidden *hidden, const struct model *model,
		    const struct names *names, const struct name_frame *frame);

#endif
