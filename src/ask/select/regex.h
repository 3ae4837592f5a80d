/*
 * regex: Perl-compatible regular expressions (PCRE2), with limits: a pattern that would take very
 * long on some text is an error, not a wait. Only regex.c includes the library.
 *
 * Not thread-safe.
 */
#ifndef MEMTAPE_SELECT_REGEX_H
#define MEMTAPE_SELECT_REGEX_H

#include "base/err.h"

struct regex;

struct regex_problem {
	char text[200];
	size_t at; /* byte offset in the pattern */
};

/* False: problem describes the error. */
bool regex_create(const char *pattern, struct regex **regex_ret, struct regex_problem *problem);
void regex_destroy(struct regex *regex); /* NULL is fine */
CLEAN_DEFINE(regex_destroy, struct regex *);

enum regex_answer { REGEX_NO, REGEX_YES, REGEX_TOO_HARD };

/* Whether it matches anywhere in the text, which may contain invalid UTF-8. */
enum regex_answer regex_match(const struct regex *regex, const char *text);

#endif
