/*
 * Shell-like patterns for names: `*` any characters, `?` one, `[a-z]` and `[!a-z]` one of a set. A
 * `[` without a `]` is an ordinary character; there is no quoting.
 */
#ifndef MEMTAPE_CORE_GLOB_H
#define MEMTAPE_CORE_GLOB_H

#include "core/core.h"

/* pattern has len bytes; name is NUL-terminated. */
bool glob_matches(const char *pattern, size_t len, const char *name);

/* Whether one of the patterns in a comma-separated list matches. */
bool glob_list_matches(const char *list, const char *name);

#endif
