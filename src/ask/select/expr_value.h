/*
 * expr_value: sizes, times, counts as they are written in filter expressions. Internal to select.
 */
#ifndef MEMTAPE_SELECT_EXPR_VALUE_H
#define MEMTAPE_SELECT_EXPR_VALUE_H

#include "select/expr.h"

/*
 * The first len bytes of text as a value of a field. NULL: fine; else what is wrong with it, a
 * phrase that goes on from "'1x' ".
 */
const char *expr_value_parse(const char *text, size_t len, const struct field *field,
			     struct expr_value *value_ret);

/* "something like 4KiB" */
const char *expr_value_example(enum field_type type);

#endif
