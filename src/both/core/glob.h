/*
 * Patterns of names, as a shell's: `*` any characters, `?` one, `[a-z]` and `[!a-z]` one of a set.
 * A `[` without its `]` is a character like others; there is no way to quote one.
 */
#ifndef MEMTAPE_CORE_GLOB_H
#define MEMTAPE_CORE_GLOB_H

#include "core/core.h"

/* pattern has len bytes; name ends with a NUL. */
bool glob_matches(const char *pattern, size_t len, const char *name);

/* Whether one of the patterns in a list with commas matches. */
bool glob_list_matches(const char *list, const char *name);

#endif
