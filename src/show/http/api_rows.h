/*
 * api_rows: allocations as members of an answer.
 */
#ifndef MEMTAPE_HTTP_API_ROWS_H
#define MEMTAPE_HTTP_API_ROWS_H

#include "http/api_parts.h"

enum { API_ROWS_MAX = 256 };

/* Rows to be shown, at most API_ROWS_MAX, in any order; lives in the arena. */
struct err *api_rows_read(struct call *call, const uint64_t *rows, size_t count,
			  const struct batch **batch_ret);

struct api_row {
	uint64_t row, address, size, usable, ns, thread;
	const char *thread_name, *call, *pool;
	uint64_t free_ns, free_thread;
	const char *free_call;
	struct api_function function;
	bool temporary, at_peak, lost_free;
	uint64_t chain_length, latency_ns;
};

extern const struct shape api_shape_row;

/* The i-th of them; and a list of some. */
struct api_row api_row_of(const struct model *model, struct names *names, const struct batch *batch,
			  size_t i);
struct err *api_rows_fill(struct call *call, struct names *names, const struct batch *batch,
			  size_t first, size_t count, struct shape_rows *rows);

#endif
