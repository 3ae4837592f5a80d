/*
 * text_file: a text file written incrementally, in pieces of a sensible size. A failure sticks, so
 * it is enough to check once, at the end. Internal to export.
 *
 *	struct text_file file = { .out = out };
 *	str_add(&file.text, ...);
 *	text_file_step(&file);	now and then
 *	return text_file_end(&file);
 */
#ifndef MEMTAPE_EXPORT_TEXT_FILE_H
#define MEMTAPE_EXPORT_TEXT_FILE_H

#include "base/err.h"
#include "base/str.h"

struct text_file {
	FILE *out;	 /* the caller's */
	struct str text; /* not yet written */
	struct err *err; /* sticks */
};

/* Writes the buffered text if there is much of it. false: something failed, no use in going on. */
bool text_file_step(struct text_file *file);

/* Writes the rest and frees the buffer; returns the first failure, or NULL. */
struct err *text_file_end(struct text_file *file);

/* ,"key":value for JSON; key includes all surrounding punctuation. */
static inline void text_file_u64(struct text_file *file, const char *key, uint64_t value)
{
	str_add(&file->text, key);
	str_add_u64(&file->text, value);
}

static inline void text_file_json(struct text_file *file, const char *key, const char *value)
{
	str_add(&file->text, key);
	str_add_json(&file->text, value);
}

#endif
