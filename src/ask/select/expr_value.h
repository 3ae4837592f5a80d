/*
 * expr_value: parses sizes, times and counts in filter expressions. Internal to select.
 */
#ifndef MEMTAPE_SELECT_EXPR_VALUE_H
#define MEMTAPE_SELECT_EXPR_VALUE_H

#include "select/expr.h"

/*
 * Parses the first len bytes of text as a value of the field. NULL: success; else the problem, as a
 * phrase that follows "'1x' ".
 */
const char *expr_value_parse(const char *text, size_t len, const struct field *field,
			     struct expr_value *value_ret);

/* "something like 4KiB" */
const char *expr_value_example(enum field_type type);

#endif
