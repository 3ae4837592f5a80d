/*
 * pattern: names of tapes. %p pid, %e file name of the program, %h host, %t start in seconds since
 * 1970, %n the smallest number from 0 whose file does not exist yet, %% a percent sign; anything
 * else is literal. The recorder expands the same patterns in processes without a collector.
 */
#ifndef MEMTAPE_COLLECT_PATTERN_H
#define MEMTAPE_COLLECT_PATTERN_H

#include "base/err.h"
#include "base/str.h"

#define PATTERN_DEFAULT "memtape.%e.%p.mtape"
#define PATTERN_SESSION "memtape.%e.%p.session" /* of the folder of a process tree */

struct pattern_values {
	const char *program; /* path or name; only the part after the last slash is used */
	int64_t pid;
	int64_t start_seconds;
	uint64_t number; /* %n */
};

/* Whether the pattern contains %letter. */
bool pattern_has(const char *pattern, char letter);

/* Adds the expansion to path. */
void pattern_expand(struct str *path, const char *pattern, const struct pattern_values *values);

/* Adds the pattern, prefixed with the working directory if it is relative. */
struct err *pattern_absolute(struct str *absolute, const char *pattern);

/* Adds the directory part of path ("." if it has none). */
void pattern_directory(struct str *directory, const char *path);

#endif
