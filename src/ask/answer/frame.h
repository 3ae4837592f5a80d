/*
 * frame: places in the program, as used in results.
 */
#ifndef MEMTAPE_ANSWER_FRAME_H
#define MEMTAPE_ANSWER_FRAME_H

#include "answer/question.h"
#include "answer/shape.h"
#include "sums/walk.h"

struct place {
	const char *function; /* NULL: none; then the other members are unknown */
	const char *brief;    /* as people read it: struct name */
	const char *file;
	uint64_t line;
	const char *module;
	uint64_t hash; /* sums/name_hash.h */
};

struct frame {
	const char *function;
	const char *brief;
	const char *file;
	uint64_t line;
	const char *module;
	uint64_t hash;
	bool inlined;
	bool folded;	  /* machinery of allocation or of program start */
	const char *role; /* role_word(); constant */
};

/* What `brief` is, in shapes that have it after `function`. */
#define PLACE_BRIEF_MEANING                                                                        \
	"the same, shortened for people: without return type and a library's template arguments"

extern const struct shape shape_place; /* all members may be null */
extern const struct shape shape_frame;

/* Both borrow from names. place_of NULL: nothing is known. */
struct place place_of(const struct model *model, const struct names *names,
		      const struct name_frame *frame);
/* The place of the innermost frame that is shown. */
struct place place_of_stack(const struct asked *asked, uint32_t stack);

struct frame frame_of(const struct model *model, const struct names *names,
		      const struct name_frame *frame);

#endif
