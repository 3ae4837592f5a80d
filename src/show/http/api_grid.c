/*
 * /api/v1/grid: a heat map of two properties of allocations, with counts and bytes.
 */
#include "groups/density.h"
#include "http/api_parts.h"

enum { CELLS = 24 };

static const char *const x_words[] = { "time", "size", "lifetime", NULL };
static const char *const y_words[] = { "size", "lifetime", "latency", NULL };
static const enum density_kind y_kinds[] = { DENSITY_SIZE, DENSITY_LIFETIME, DENSITY_LATENCY };

enum { Y_LIFETIME = 1 };

struct axis {
	const char *kind, *unit;
	bool log;
	struct shape_numbers edges;
};

struct cells {
	struct shape_numbers count, bytes;
};

struct grid {
	struct axis x, y;
	struct cells cells;
	const struct cells *never;
};

static const char *const unit_words[] = { "ns", "bytes", NULL };

static const struct member axis_members[] = {
	MEMBER(struct axis, kind, TEXT, NULL, .words = density_kind_words),
	MEMBER(struct axis, unit, TEXT, NULL, .words = unit_words),
	MEMBER(struct axis, log, FLAG, "whether the scale is logarithmic"),
	MEMBER(struct axis, edges, NUMBERS, "of cells: one more than there are"),
};
static const struct shape shape_axis = SHAPE("Axis", struct axis, axis_members);

static const struct member cells_members[] = {
	MEMBER(struct cells, count, NUMBERS, "allocations; row by row, the lowest first"),
	MEMBER(struct cells, bytes, NUMBERS, "of them"),
};
static const struct shape shape_cells = SHAPE("GridCells", struct cells, cells_members);

static const struct member grid_members[] = {
	MEMBER(struct grid, x, OBJECT, "from left to right", .shape = &shape_axis),
	MEMBER(struct grid, y, OBJECT, "upwards", .shape = &shape_axis),
	MEMBER(struct grid, cells, FLAT, NULL, .shape = &shape_cells),
	MEMBER(struct grid, never, OBJECT, "y=lifetime: what was never freed, by column",
	       .shape = &shape_cells, .nullable = true),
};
static const struct shape shape_grid = SHAPE("Grid", struct grid, grid_members);

static struct axis axis_of(const struct density_axis *axis)
{
	return (struct axis) {
		.kind = density_kind_words[axis->kind],
		.unit = unit_words[axis->kind == DENSITY_SIZE],
		.log = axis->is_log,
		.edges = { axis->edges, axis->count + 1 },
	};
}

static struct err *cells_fill(struct arena *arena, const struct model_sum *sums, size_t count,
			      struct cells *cells)
{
	uint64_t *counts = arena_array(arena, count, sizeof(*counts));
	uint64_t *bytes = arena_array(arena, count, sizeof(*bytes));

	if (!counts || !bytes)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		counts[i] = sums[i].count;
		bytes[i] = sums[i].bytes;
	}
	cells->count = (struct shape_numbers) { counts, count };
	cells->bytes = (struct shape_numbers) { bytes, count };
	return NULL;
}

static struct err *settings_find(struct call *call, struct density_settings *settings)
{
	const enum density_kind y = y_kinds[call_choice(call, "y")];
	struct api_range range;
	struct err *err = api_range(call, &range);

	if (err)
		return err;
	if (y == DENSITY_LATENCY && !model_latencies(call->model))
		return call_blame(call, "y",
				  err_new(ERR_UNSUPPORTED, "this tape has no call latencies; "
							   "record with memtape record --latency"));
	*settings = (struct density_settings) {
		.x = (enum density_kind)call_choice(call, "x"),
		.y = y,
		.column_count = call_number(call, "nx"),
		.row_count = call_number(call, "ny"),
		.from_ns = range.from_ns,
		.until_ns = range.until_ns,
	};
	return settings->x == settings->y
		       ? call_blame(call, "y", err_new(ERR_USAGE, "x and y must differ"))
		       : NULL;
}

static struct err *never_fill(struct arena *arena, const struct density *density,
			      const struct cells **never_ret)
{
	struct cells *never = arena_new(arena, struct cells);

	*never_ret = never;
	return never ? cells_fill(arena, density->never, density->x.count, never) : err_nomem();
}

static struct err *find(struct call *call, void *answer)
{
	struct density_settings settings;
	const struct selection *selection;
	struct density *density = arena_new(call->arena, struct density);
	struct grid *grid = answer;
	struct err *err = density ? settings_find(call, &settings) : err_nomem();

	if (!err)
		err = call_select(call, &selection);
	if (!err)
		err = density_find(selection, &settings, call->arena, density);
	if (err)
		return err;
	grid->x = axis_of(&density->x);
	grid->y = axis_of(&density->y);
	err = cells_fill(call->arena, density->cells, density->x.count * density->y.count,
			 &grid->cells);
	if (!err && settings.y == DENSITY_LIFETIME)
		err = never_fill(call->arena, density, &grid->never);
	return err;
}

static const struct param params[] = {
	{ .name = "x",
	  .kind = PARAM_CHOICE,
	  .words = x_words,
	  .fallback = DENSITY_SIZE,
	  .doc = "from left to right",
	  .missing = "size" },
	{ .name = "y",
	  .kind = PARAM_CHOICE,
	  .words = y_words,
	  .fallback = Y_LIFETIME,
	  .doc = "upwards",
	  .missing = "lifetime" },
	{ .name = "nx",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = DENSITY_SIDE_MAX,
	  .fallback = CELLS,
	  .doc = "columns at most",
	  .missing = "24" },
	{ .name = "ny",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = DENSITY_SIDE_MAX,
	  .fallback = CELLS,
	  .doc = "rows at most",
	  .missing = "24" },
};

const struct route route_api_grid = {
	.path = "/api/v1/grid",
	.summary = "a heat map: sizes or lifetimes, over time or each other",
	.shape = &shape_grid,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
