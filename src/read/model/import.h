/*
 * import: the origin of a tape that was converted from another tool's file, and what that file
 * could not provide.
 */
#ifndef MEMTAPE_MODEL_IMPORT_H
#define MEMTAPE_MODEL_IMPORT_H

#include "base/str.h"
#include "model/model.h"

/* Texts live in the given arena; "" if unknown. */
struct model_import {
	const char *format;
	const char *tool;
	const char *file;
	const char *const *notes; /* further notes, one per line */
	size_t note_count;
	uint32_t missing; /* enum tape_missing */
};

/* *import_ret NULL: the tape was recorded. */
struct err *model_import_get(const struct model *model, struct arena *arena,
			     const struct model_import **import_ret);

/* Which of the tape's facts are unknown: enum tape_missing; 0 if it was recorded. */
uint32_t model_missing(const struct model *model);

/*
 * Whether the tape ends before its program, or may, as where recording stopped on a fault: what is
 * not freed on it may still be. Not of another tool's file without an end: most have none.
 */
bool model_goes_on(const struct model *model);

/* A bit of enum tape_missing, in words ("addresses") and as a key ("addresses"); bit < _COUNT. */
const char *model_missing_words(unsigned bit);
const char *model_missing_key(unsigned bit);

/* "threads, addresses and usable sizes": the words for everything missing; "" for nothing. */
void model_missing_add(struct str *out, uint32_t missing);

#endif
