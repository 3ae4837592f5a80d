/* shorten: fits texts and function names into a number of columns. */
#ifndef MEMTAPE_BASE_SHORTEN_H
#define MEMTAPE_BASE_SHORTEN_H

#include "base/str.h"

/* Its beginning and "…", at most `columns` wide. */
void str_add_cut(struct str *out, const char *words, size_t columns);

/* Its beginning, "…" and its end. */
void str_add_cut_middle(struct str *out, const char *words, size_t columns);

/*
 * A function name as people write it: std::string for basic_string<...>, no default allocators;
 * parameters, template arguments and finally enclosing scopes are elided until it fits into
 * `columns`.
 */
void str_add_function(struct str *out, const char *function, size_t columns);

#endif
