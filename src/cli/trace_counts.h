/*
 * trace_counts: what `memtape trace` has counted, shown each so often while it traces.
 */
#ifndef MEMTAPE_CLI_TRACE_COUNTS_H
#define MEMTAPE_CLI_TRACE_COUNTS_H

#include "trace/tracing.h"

enum { TRACE_COUNTS_PROCESSES_MAX = 1000 };

struct trace_counts {
	uint32_t kinds;	      /* those traced: a set */
	bool is_json;	      /* an object each time */
	size_t process_count; /* most processes shown; 0: it is about one */
	uint64_t next_ns;     /* monotonic; when they are shown next */
	uint64_t period_ns;   /* 0: never */
	uint64_t begin_ns;
	uint64_t before[TAPE_KERNEL_KINDS];
	bool has_heading;
};

/* To be called often; prints to standard output when it is time to. */
struct err *trace_counts_show(struct trace_counts *counts, struct tracing *tracing);

#endif
