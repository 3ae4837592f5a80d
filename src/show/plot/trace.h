/*
 * trace: a series of values of any length, reduced to the minimum and maximum per column of a
 * timeline. Adding one takes constant time and no memory.
 */
#ifndef MEMTAPE_PLOT_TRACE_H
#define MEMTAPE_PLOT_TRACE_H

#include "plot/timeline.h"

struct trace {
	double x_min;
	double x_max;
	size_t count;
	double *x;
	struct timeline_range *heap;
	struct timeline_range *stack;
	struct timeline_range *total;
	bool *is_known;		  /* by column: has a value */
	struct canvas_point peak; /* of the heap */
	/* The last values of each column, where the next one begins. */
	struct timeline_range *ends; /* low: heap, high: stack */
};

/* x_min < x_max. Lives in the arena. */
struct err *trace_init(struct trace *trace, size_t column_count, double x_min, double x_max,
		       struct arena *arena);

/* Values outside of x_min .. x_max are ignored. */
void trace_add(struct trace *trace, double x, uint64_t heap, uint64_t stack);

/* Extends each level until it changes. The timeline borrows from the trace. */
void trace_finish(struct trace *trace, struct timeline *timeline);

#endif
