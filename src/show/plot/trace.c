#include "plot/trace.h"

#include <assert.h>
#include <math.h>

struct err *trace_init(struct trace *trace, size_t column_count, double x_min, double x_max,
		       struct arena *arena)
{
	assert(x_min <= x_max);
	assert(column_count > 0);
	*trace = (struct trace) {
		.x_min = x_min,
		.x_max = x_max,
		.count = column_count,
		.x = arena_array(arena, column_count, sizeof(*trace->x)),
		.heap = arena_array(arena, column_count, sizeof(*trace->heap)),
		.stack = arena_array(arena, column_count, sizeof(*trace->stack)),
		.total = arena_array(arena, column_count, sizeof(*trace->total)),
		.ends = arena_array(arena, column_count, sizeof(*trace->ends)),
		.is_known = arena_array(arena, column_count, sizeof(*trace->is_known)),
	};
	if (!trace->x || !trace->heap || !trace->stack || !trace->total || !trace->ends ||
	    !trace->is_known)
		return err_nomem();
	for (size_t i = 0; i < column_count; i++)
		trace->x[i] = x_min + (x_max - x_min) * (double)i / (double)column_count;
	return NULL;
}

static void range_add(struct timeline_range *range, bool is_first, double value)
{
	range->low = is_first ? value : fmin(range->low, value);
	range->high = is_first ? value : fmax(range->high, value);
}

void trace_add(struct trace *trace, double x, uint64_t heap, uint64_t stack)
{
	const double share = (x - trace->x_min) / (trace->x_max - trace->x_min);
	bool is_first;
	size_t i;

	assert(trace->count > 0);
	if (!(share >= 0) || share > 1)
		return;
	i = u64_min((uint64_t)(share * (double)trace->count), trace->count - 1);
	is_first = !trace->is_known[i];
	trace->is_known[i] = true;
	range_add(&trace->heap[i], is_first, (double)heap);
	range_add(&trace->stack[i], is_first, (double)stack);
	range_add(&trace->total[i], is_first, (double)heap + (double)stack);
	trace->ends[i] = (struct timeline_range) { (double)heap, (double)stack };
	if ((double)heap > trace->peak.y)
		trace->peak = (struct canvas_point) { x, (double)heap };
}

void trace_finish(struct trace *trace, struct timeline *timeline)
{
	struct timeline_range last = { 0 };

	assert(trace->count > 0);
	for (size_t i = 0; i < trace->count; i++) {
		if (trace->is_known[i]) {
			last = trace->ends[i];
			continue;
		}
		trace->heap[i] = (struct timeline_range) { last.low, last.low };
		trace->stack[i] = (struct timeline_range) { last.high, last.high };
		trace->total[i] =
			(struct timeline_range) { last.low + last.high, last.low + last.high };
	}
	timeline->x_min = trace->x_min;
	timeline->x_max = trace->x_max;
	timeline->count = trace->count;
	timeline->x = trace->x;
	timeline->heap = trace->heap;
	timeline->stack = trace->stack;
	timeline->total = trace->total;
	timeline->peak = trace->peak;
	timeline->has_peak = trace->peak.y > 0;
}
