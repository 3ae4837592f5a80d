/*
 * trace: values one after the other - as many as you like - kept as the least and the most of each
 * column of a timeline. Adding one takes constant time and no memory.
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
	bool *is_known;		  /* by column: there is a value in it */
	struct canvas_point peak; /* of the heap */
	/* The last values of each column, from which the next one begins. */
	struct timeline_range *ends; /* low: heap, high: stack */
};

/* x_min < x_max. Lives in the arena. */
struct err *trace_init(struct trace *trace, size_t column_count, double x_min, double x_max,
		       struct arena *arena);

/* What is outside of x_min .. x_max is left out. */
void trace_add(struct trace *trace, double x, uint64_t heap, uint64_t stack);

/* A level goes on until it changes. The timeline borrows from the trace. */
void trace_finish(struct trace *trace, struct timeline *timeline);

#endif
