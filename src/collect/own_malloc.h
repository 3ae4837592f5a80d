/*
 * own_malloc: whether an executable has a malloc of its own. Calls of it, and of the libraries it
 * loads, are bound to that one and come by no library that was preloaded.
 */
#ifndef MEMTAPE_COLLECT_OWN_MALLOC_H
#define MEMTAPE_COLLECT_OWN_MALLOC_H

#include <stdbool.h>

/* False also for what cannot be read or is no ELF file. */
bool own_malloc_is_in(const char *path);

#endif
