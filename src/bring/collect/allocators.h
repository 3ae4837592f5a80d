/*
 * allocators: which allocators with their own function names the recorder looks for, in the user's
 * syntax: NAME (a known one), NAME=PREFIX, or "none"; comma-separated.
 */
#ifndef MEMTAPE_COLLECT_ALLOCATORS_H
#define MEMTAPE_COLLECT_ALLOCATORS_H

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

/* ERR_USAGE if the recorder would reject it. */
struct err *allocators_check(const struct option_list *list);

/* Adds ",allocator=..." for each, in MEMTAPE_OPTIONS syntax. The list must have been checked. */
void allocators_add_options(const struct option_list *list, struct str *out);

#endif
