/*
 * mark: the marks of a tape by what users write in mark(...): NAME is the first of that name,
 * NAME#2 the second, NAME#-1 the last; #1 and #-1 are the first and the last of all. A mark whose
 * whole name is "step#2" comes before the second "step".
 */
#ifndef MEMTAPE_SELECT_MARK_H
#define MEMTAPE_SELECT_MARK_H

#include "base/arena.h"
#include "model/model.h"

/* Nanoseconds since recording began. text is not terminated. false: there is no such mark. */
bool mark_find(const struct model *model, const char *text, size_t len, uint64_t *ns_ret);

/* The mark's place among those of its name, from 1, and how many there are. */
struct mark_place {
	size_t number, count;
};

struct mark_place mark_place_of(const struct model *model, const struct model_note *mark);

/*
 * "mark(loaded)", "mark(step#2)", "mark(#3)" of one without a name: a moment (select/moment.h). NULL:
 * no memory.
 */
const char *mark_moment(const struct model *model, const struct model_note *mark,
			struct arena *arena);

#endif
