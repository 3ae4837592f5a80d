/*
 * shorten: texts and names of functions that have to fit into so many columns.
 */
#ifndef MEMTAPE_BASE_SHORTEN_H
#define MEMTAPE_BASE_SHORTEN_H

#include "base/str.h"

/* Its beginning and "…", at most `columns` wide. */
void str_add_cut(struct str *out, const char *words, size_t columns);

/*
 * A function as people say it: std::string for basic_string<...>, no default allocators, and
 * parameters, template arguments and at last what it is nested in left out until it fits into
 * `columns`.
 */
void str_add_function(struct str *out, const char *function, size_t columns);

#endif
