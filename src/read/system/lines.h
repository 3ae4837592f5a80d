/*
 * lines: values in texts of lines "NAME VALUE", "NAME: VALUE kB" and the like, as files of /proc
 * and of cgroups have them.
 */
#ifndef MEMTAPE_SYSTEM_LINES_H
#define MEMTAPE_SYSTEM_LINES_H

#include "system/looks.h"

/* Behind the name and its blanks, to the end of the text; NULL: no line begins with the name. */
const char *line_find(const char *text, const char *name);

/* The decimal number that text begins with, behind blanks. SYSTEM_UNKNOWN: none, or it is too large. */
uint64_t line_number(const char *text);

/* The number of the named line, times its unit if that is kB. text may be NULL: unknown. */
uint64_t line_value(const char *text, const char *name);

/* The rest of the line, in the arena. */
char *line_rest(const char *text, struct arena *arena);

/* What is to be read of a text: names, and the offsets of uint64_t's. */
struct line_row {
	const char *name;
	size_t offset;
};

/* Fills the fields of values: SYSTEM_UNKNOWN where text (which may be NULL) has no such line. */
void lines_read(const char *text, const struct line_row *rows, size_t count, void *values);

#endif
