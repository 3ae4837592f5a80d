/*
 * tags: which tag a thread had at a time, from the TAG records of a tape. Read-only once made, so
 * any number of threads may ask.
 */
#ifndef MEMTAPE_SELECT_TAGS_H
#define MEMTAPE_SELECT_TAGS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

#define TAG_NONE UINT32_MAX

struct tag_change {
	uint64_t ns;
	uint32_t tag; /* from then on; TAG_NONE: none */
};

/* Everything lives in the arena. All 0: no tape has a tag. */
struct tags {
	const char **texts; /* by tag; all different, in the order in which they were set first */
	uint32_t count;
	struct tag_change *changes; /* of one thread after the other, in order of time */
	size_t *first;		    /* by thread, one more than there are: its first change */
};

struct err *tags_find(const struct model *model, struct arena *arena, struct tags *tags);

/* The tag that a thread has at a time, after the changes of then; TAG_NONE: none. */
uint32_t tags_at(const struct tags *tags, uint32_t thread, uint64_t ns);

#endif
