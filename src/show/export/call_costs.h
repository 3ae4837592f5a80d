/*
 * call_costs: a file of costs by call stack in callgrind's format, for callgrind_annotate and
 * KCachegrind.
 *
 * A function's own cost is given for its lines, and the cost of its callees for the calling lines.
 * Readers add those up, so in a stack a line is charged once, where it is innermost, and a call
 * from the same line further out costs nothing; the outer occurrences of a recursive function are a
 * separate function, f'2. So the totals of lines and functions are exact: what was spent while
 * they were on the stack. The call count is 0, as in Valgrind's files: otherwise callgrind_annotate
 * would not show the cost of calls in sources.
 */
#ifndef MEMTAPE_EXPORT_CALL_COSTS_H
#define MEMTAPE_EXPORT_CALL_COSTS_H

#include <stdio.h>

#include "sums/walk.h"

enum { CALL_COSTS_EVENTS_MAX = 9 };

struct call_costs {
	uint64_t values[CALL_COSTS_EVENTS_MAX];
};

struct call_costs_event {
	const char *name;  /* "curB" */
	const char *words; /* "bytes alive" */
};

struct call_costs_file {
	const struct model *model;
	struct names *names;
	enum walk_mode mode; /* which frames are hidden */
	const struct call_costs_event *events;
	size_t event_count;
	const struct call_costs *costs; /* by stack */
};

/* Writes the file. One thread at a time uses the names. */
struct err *call_costs_write(const struct call_costs_file *what, FILE *out);

#endif
