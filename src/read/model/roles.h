/*
 * roles: whose code a function is: the user's, a library's, an allocator's, or what starts
 * programs and threads. By its name, its source and its module; users have the last word.
 */
#ifndef MEMTAPE_MODEL_ROLES_H
#define MEMTAPE_MODEL_ROLES_H

#include "model/names.h"

/* What is known of a function. */
struct role_subject {
	const char *function; /* in full */
	const char *module;   /* path; "" for code outside of every object */
	const char *file;     /* of its source; NULL: unknown */
	const char *linked;   /* path that module, a link, led to; NULL: module is none */
};

/*
 * What users say, a role and a list of patterns (core/glob.h) with commas between. A pattern is
 * for a function, with or without parameters; a source file; or a module. One with a '/' is for
 * paths, and matches from any folder of the path on, so that "src/x.c" is also /home/me/src/x.c;
 * one that ends with "/" is for everything in that folder. Blanks around a pattern do not count.
 */
struct role_rule {
	enum name_role role; /* NAME_ALLOCATOR: a wrapper of the allocator */
	const char *patterns;
};

/* The last rule that matches decides. */
struct role_rules {
	const struct role_rule *rules;
	size_t count;
};

/* rules may be NULL. */
enum name_role role_of(const struct role_subject *subject, const struct role_rules *rules);

/* "mine", "library", "allocator", "start" */
const char *role_word(enum name_role role);

/* ERR_USAGE, at its place: a pattern is empty, too long, or has a control character. */
struct err *role_patterns_check(const char *patterns);

/* The next of a list of patterns, without the blanks around it; NULL: no more. */
const char *role_pattern_next(const char **list, size_t *len_ret);

/* What is known without users: names, paths of sources and of modules, or how they begin. */
enum role_builtin_match { ROLE_BUILTIN_ALL, ROLE_BUILTIN_BEGIN, ROLE_BUILTIN_WITHIN };

struct role_builtin {
	enum name_role role;
	const char *of; /* "function", "source" or "module" */
	const char *text;
	enum role_builtin_match match;
};

/* By number, from 0; false: no more. */
bool role_builtin(size_t index, struct role_builtin *builtin_ret);

#endif
