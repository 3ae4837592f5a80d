/*
 * walk: iterates over the frames of a whole stack, innermost first: those of the user's own code,
 * all but the machinery of allocation and of program start, or all.
 *
 *	struct walk walk = walk_begin(model, names, stack, WALK_MY);
 *	while ((frame = walk_next(&walk)))
 */
#ifndef MEMTAPE_SUMS_WALK_H
#define MEMTAPE_SUMS_WALK_H

#include "model/names.h"

/*
 * What is left out. Whether a frame is depends on it and on its callers, never on what it calls:
 * stacks that begin alike are shown alike. A stack of only machinery shows one frame of it.
 */
enum walk_mode {
	WALK_MY,    /* machinery, and library functions that the user's code calls */
	WALK_EXACT, /* machinery */
	WALK_ALL    /* nothing */
};

/* "my", "exact", "all", by enum walk_mode; NULL-terminated. */
extern const char *const walk_mode_words[];

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
	/* Outermost hidden frame of a library so far: after the first walk_next() what the user's
	   code called, and NULL if that allocates itself. */
	const struct name_frame *via;
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

/* Whether the mode hides this frame of names_frames(names, stack). */
bool walk_hides(enum walk_mode mode, struct names *names, uint32_t stack,
		const struct name_frame *frame);

/* Whether the user hides it. hidden NULL: no. */
bool walk_is_hidden(const struct walk_hidden *hidden, const struct model *model,
		    const struct names *names, const struct name_frame *frame);

#endif
