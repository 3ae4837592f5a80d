/*
 * speak: writes a result as JSON, CSV or text (base/emit.h), using its shape.
 */
#ifndef MEMTAPE_ANSWER_SPEAK_H
#define MEMTAPE_ANSWER_SPEAK_H

#include "answer/shape.h"
#include "base/emit.h"
#include "sums/walk.h"

struct speaker {
	struct emit *emit;
	const struct model *model;
	struct names *names;
	enum walk_mode mode; /* of stacks */
	bool is_document;    /* speak_object in text: lists become separate tables */
};

/* Writes the value's members into the open object. */
struct err *speak_members(const struct speaker *speaker, const struct shape *shape,
			  const void *value);

/* The same with the enclosing object: a whole document. */
struct err *speak_object(const struct speaker *speaker, const struct shape *shape,
			 const void *value);

/* JSON: the value's first list, as the whole document. */
struct err *speak_list_alone(const struct speaker *speaker, const struct shape *shape,
			     const void *value);

/*
 * For CSV and text: only the value's first list (or the one with `is_table`), as a table with a
 * header row. Without a list, the same as speak_members.
 */
struct err *speak_table(const struct speaker *speaker, const struct shape *shape,
			const void *value);

/* Frames (answer/frame.h), innermost first, at most frame_max. */
struct err *speak_stack(const struct speaker *speaker, const char *key, uint32_t stack,
			size_t frame_max);

/* The list that is the value's table; NULL: none. */
const struct member *speak_list(const struct shape *shape, const void *value);

#endif
