/*
 * allocators: which allocators with names of their own the recorder is to look for, as the user
 * says it: NAME of a known one, NAME=PREFIX, or "none"; several with commas.
 */
#ifndef MEMTAPE_COLLECT_ALLOCATORS_H
#define MEMTAPE_COLLECT_ALLOCATORS_H

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

/* ERR_USAGE where the recorder would not understand it. */
struct err *allocators_check(const struct option_list *list);

/* Adds ",allocator=..." for each, as MEMTAPE_OPTIONS has it. The list has been checked. */
void allocators_add_options(const struct option_list *list, struct str *out);

#endif
