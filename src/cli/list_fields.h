/*
 * list_fields: the fields of an allocation for filters, sorting and SQL.
 */
#ifndef MEMTAPE_CLI_LIST_FIELDS_H
#define MEMTAPE_CLI_LIST_FIELDS_H

#include "base/emit.h"

struct err *list_fields(enum emit_format format, unsigned width, FILE *out);

#endif
