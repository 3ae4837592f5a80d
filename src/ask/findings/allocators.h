/*
 * allocators: allocators with names of their own (je_malloc, mi_free) whose calls are on the tape.
 */
#ifndef MEMTAPE_FINDINGS_ALLOCATORS_H
#define MEMTAPE_FINDINGS_ALLOCATORS_H

#include "base/str.h"
#include "model/model.h"

struct allocator_seen {
	const struct model_note *note; /* the last that tells of it */
	char name[64];
	char prefix[64];
	const char *path; /* of the object that exports it; NULL: none does, or it is not known */
};

/* The next one from note *at on, and *at behind it; false: there are no more. *at begins at 0. */
bool allocators_next(const struct model *model, size_t *at, struct allocator_seen *seen_ret);

/* Whether blocks came and went unseen: of a malloc that the program calls in itself. */
bool allocators_hide(const struct model *model);

/*
 * Asked for, and nothing of it is recorded, or only a part: why, and what to do. False: there is
 * nothing to say.
 */
bool allocator_complaint(const struct allocator_seen *seen, struct str *out);

#endif
