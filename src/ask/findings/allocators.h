/*
 * allocators: allocators with names of their own (je_malloc, mi_free) whose calls are on the tape.
 */
#ifndef MEMTAPE_FINDINGS_ALLOCATORS_H
#define MEMTAPE_FINDINGS_ALLOCATORS_H

#include "base/str.h"
#include "model/model.h"

struct allocator_seen {
	const struct model_note *note; /* the last note about it */
	char name[64];
	char prefix[64];
	const char *path; /* object that exports it; NULL: none, or not known */
};

/* The next one from note *at on; advances *at past it. false: no more. *at starts at 0. */
bool allocators_next(const struct model *model, size_t *at, struct allocator_seen *seen_ret);

/* Whether a malloc that the program calls internally hides allocations and frees. */
bool allocators_hide(const struct model *model);

/*
 * For an allocator that was requested but recorded only in part or not at all: why, and what to do.
 * False: nothing to report.
 */
bool allocator_complaint(const struct allocator_seen *seen, struct str *out);

#endif
