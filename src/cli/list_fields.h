/*
 * list_fields: what can be asked of an allocation in filters, to sort by and in SQL.
 */
#ifndef MEMTAPE_CLI_LIST_FIELDS_H
#define MEMTAPE_CLI_LIST_FIELDS_H

#include "base/emit.h"

struct err *list_fields(enum emit_format format, unsigned width, FILE *out);

#endif
