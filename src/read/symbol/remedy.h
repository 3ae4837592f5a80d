/*
 * remedy: what a user can do about missing names on this distribution: the package with the debug
 * information, and the public debuginfod server (addresses from the distributions' own
 * documentation, listed at https://debuginfod.elfutils.org/). Thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_REMEDY_H
#define MEMTAPE_SYMBOL_REMEDY_H

#include "symbol/symbol.h"

/* Value for DEBUGINFOD_URLS on this distribution; never NULL. */
const char *remedy_server(void);

/*
 * The package that owns the file on Debian or a derivative; the caller frees it. NULL: none, or
 * another distribution.
 */
char *remedy_package(const char *path);

/*
 * Appends advice for `state` of the object at path: one line without a full stop, nothing if there
 * is nothing to do.
 */
void remedy_add(struct str *out, enum symbol_state state, const char *path);

#endif
