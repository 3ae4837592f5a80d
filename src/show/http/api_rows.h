/*
 * api_rows: allocations as members of an answer.
 */
#ifndef MEMTAPE_HTTP_API_ROWS_H
#define MEMTAPE_HTTP_API_ROWS_H

#include "http/api_parts.h"

enum { API_ROWS_MAX = 256 };

/* Rows that will be shown, at most API_ROWS_MAX, in any order; lives in the arena. */
struct err *api_rows_read(struct call *call, const uint64_t *rows, size_t count,
			  const struct batch **batch_ret);

/* The i-th of them as an object. */
void api_row_emit(struct call *call, struct names *names, const char *key,
		  const struct batch *batch, size_t i);

#endif
