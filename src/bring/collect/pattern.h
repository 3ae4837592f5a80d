/*
 * pattern: names of tapes. %p pid, %e name of the program's file, %h host, %t start in seconds
 * since 1970, %n the smallest number from 0 whose file does not exist yet, %% a percent sign;
 * anything else stays as it is. The recorder expands the same for processes it meets alone.
 */
#ifndef MEMTAPE_COLLECT_PATTERN_H
#define MEMTAPE_COLLECT_PATTERN_H

#include "base/err.h"
#include "base/str.h"

#define PATTERN_DEFAULT "memtape.%e.%p.mtape"

struct pattern_values {
	const char *program; /* path or name; only what follows the last slash is used */
	int64_t pid;
	int64_t start_seconds;
	uint64_t number; /* %n */
};

/* Whether the pattern has %letter. */
bool pattern_has(const char *pattern, char letter);

/* Adds the expansion to path. */
void pattern_expand(struct str *path, const char *pattern, const struct pattern_values *values);

/* Adds the pattern with the working directory before it when it is not absolute. */
struct err *pattern_absolute(struct str *absolute, const char *pattern);

/* Adds the directory part of path ("." when it has none). */
void pattern_directory(struct str *directory, const char *path);

#endif
