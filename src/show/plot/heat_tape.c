#include <assert.h>
#include <math.h>

#include "plot/heat.h"
#include "select/passes.h"

/* Blocks as pairs of values. */
struct walk_rows {
	const struct selection *selection;
	enum heat_what what;
	struct pass_rows rows;
	uint64_t latency[MODEL_BATCH];
};

struct range {
	double min;
	double max;
};

struct extent {
	struct range x;
	struct range y;
	uint64_t count;
};

static bool is_latency(enum heat_what what)
{
	return what == HEAT_LATENCY || what == HEAT_FREE_LATENCY;
}

static bool latency_of(const struct walk_rows *walk, size_t i, double *x, double *y)
{
	const bool is_free = walk->what == HEAT_FREE_LATENCY;

	*x = (double)(is_free ? walk->rows.free_ns[i] : walk->rows.alloc_ns[i]);
	*y = (double)walk->latency[i];
	return walk->latency[i] != MODEL_NEVER;
}

static bool pair_of(const struct walk_rows *walk, size_t i, double *x, double *y)
{
	const struct pass_rows *rows = &walk->rows;
	const bool has_lifetime =
		rows->free_ns[i] != MODEL_NEVER && !(rows->flags[i] & MODEL_ALLOCATION_LOST_FREE);

	if (is_latency(walk->what))
		return latency_of(walk, i, x, y);
	*x = walk->what == HEAT_SIZE_LIFETIME ? (double)rows->size[i] : (double)rows->alloc_ns[i];
	if (walk->what == HEAT_SIZE) {
		*y = (double)rows->size[i];
		return true;
	}
	*y = (double)(rows->free_ns[i] - rows->alloc_ns[i]);
	return has_lifetime;
}

static void each(struct walk_rows *walk, void (*visit)(void *context, double x, double y),
		 void *context)
{
	struct pass pass = pass_begin(walk->selection->model, walk->selection);

	while (pass_next(&pass)) {
		pass_rows_read(&pass, &walk->rows);
		if (is_latency(walk->what))
			pass_read(&pass,
				  walk->what == HEAT_LATENCY ? MODEL_LATENCY : MODEL_FREE_LATENCY,
				  walk->latency);
		for (size_t i = 0; i < pass.count; i++) {
			double x, y;

			if (pair_of(walk, i, &x, &y))
				visit(context, x, y);
		}
	}
}

static void range_add(struct range *range, double value, bool is_first)
{
	range->min = is_first ? value : fmin(range->min, value);
	range->max = is_first ? value : fmax(range->max, value);
}

static void extent_add(void *context, double x, double y)
{
	struct extent *extent = context;

	range_add(&extent->x, x, extent->count == 0);
	range_add(&extent->y, y, extent->count == 0);
	extent->count++;
}

static void cell_add(void *context, double x, double y)
{
	heat_add(context, x, y);
}

/* Values are integers: a linear step is at least one. */
static void axis_fit(struct heat_axis *axis, struct range range, size_t count, double step,
		     bool is_log)
{
	axis->is_log = is_log;
	axis->count = count;
	if (is_log) {
		axis->min = fmax(range.min, 1);
		range.max = fmax(range.max, axis->min * 2);
		axis->step = log(range.max / axis->min) / (double)count;
		return;
	}
	axis->min = range.min;
	axis->step = step > 0 ? step : fmax(ceil((range.max - range.min) / (double)count), 1);
	axis->count = heat_cells(range.max - range.min, axis->step);
}

static const char *y_title(enum heat_what what)
{
	if (is_latency(what))
		return "time the call took";
	return what == HEAT_SIZE ? "size of the block" : "lifetime";
}

static const char *nothing_to_draw(enum heat_what what)
{
	if (what == HEAT_SIZE)
		return "no allocations to draw";
	return is_latency(what) ? "no latencies were recorded"
				: "no block was freed, so there are no lifetimes";
}

static void axes_make(const struct heat_request *request, struct extent extent, struct heat *heat)
{
	const bool by_size = request->what == HEAT_SIZE_LIFETIME;

	heat->things = is_latency(request->what) ? "calls" : "blocks";
	heat->x = (struct heat_axis) { .title = by_size ? "size of the block" : "time",
				       .unit = by_size ? TICKS_BYTES : TICKS_NS,
				       .suffix = "" };
	heat->y = (struct heat_axis) {
		.title = y_title(request->what),
		.unit = request->what == HEAT_SIZE ? TICKS_BYTES : TICKS_NS,
		.suffix = "",
	};
	if (request->has_min)
		extent.y.min = request->min;
	if (request->has_max)
		extent.y.max = request->max;
	if (!by_size && (request->column_ns > 0 ||
			 extent.x.min < extent.x.max / 20)) /* start at zero if it is near */
		extent.x.min = 0;
	axis_fit(&heat->x, extent.x, request->columns, by_size ? 0 : request->column_ns,
		 by_size && request->is_log);
	axis_fit(&heat->y, extent.y, request->rows, request->row_step, request->is_log);
}

static struct err *marks_find(const struct model *model, struct arena *arena, struct heat *heat)
{
	const double end = ceil(heat_edge(&heat->x, heat->x.count));
	struct chart_mark *marks;
	struct err *err = chart_marks_find(model, (uint64_t)fmax(heat->x.min, 0),
					   end < 1.8e19 ? (uint64_t)end : UINT64_MAX, arena, &marks,
					   &heat->mark_count);

	if (!err)
		heat->marks = marks;
	return err;
}

struct err *heat_of_tape(const struct selection *selection, const struct heat_request *request,
			 struct arena *arena, struct heat *heat_ret)
{
	CLEAN(free) struct walk_rows *walk = malloc(sizeof(*walk));
	struct heat heat = { 0 };
	struct extent extent = { 0 };
	struct err *err;

	assert((unsigned)request->what <= HEAT_FREE_LATENCY);
	if (!walk)
		return err_nomem();
	if (is_latency(request->what) && !model_latencies(selection->model))
		return facts_no_latencies();
	walk->selection = selection;
	walk->what = request->what;
	each(walk, extent_add, &extent);
	if (extent.count == 0)
		return err_new(ERR_NOT_FOUND, "%s", nothing_to_draw(request->what));
	axes_make(request, extent, &heat);
	err = heat_init(&heat, arena);
	if (err)
		return err;
	each(walk, cell_add, &heat);
	if (request->what != HEAT_SIZE_LIFETIME)
		err = marks_find(selection->model, arena, &heat);
	*heat_ret = heat;
	return err;
}
