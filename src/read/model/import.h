/*
 * import: where a tape comes from that was not recorded but made of another tool's file, and what
 * that file could not say.
 */
#ifndef MEMTAPE_MODEL_IMPORT_H
#define MEMTAPE_MODEL_IMPORT_H

#include "base/str.h"
#include "model/model.h"

/* Texts live in the arena that was given; "" where nothing is known. */
struct model_import {
	const char *format;
	const char *tool;
	const char *file;
	const char *const *notes; /* what else is to be known, a line each */
	size_t note_count;
	uint32_t missing; /* enum tape_missing */
};

/* *import_ret NULL: the tape was recorded. */
struct err *model_import_get(const struct model *model, struct arena *arena,
			     const struct model_import **import_ret);

/* What is not known of the tape's facts: enum tape_missing; 0 of one that was recorded. */
uint32_t model_missing(const struct model *model);

/* A bit of enum tape_missing, in words ("addresses") and as a key ("addresses"); bit < _COUNT. */
const char *model_missing_words(unsigned bit);
const char *model_missing_key(unsigned bit);

/* "threads, addresses and usable sizes": the words of all that is missing; "" for nothing. */
void model_missing_add(struct str *out, uint32_t missing);

#endif
