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

static void axis_emit(struct emit *emit, const char *key, const struct density_axis *axis)
{
	emit_object(emit, key);
	emit_text(emit, "kind", density_kind_words[axis->kind]);
	emit_text(emit, "unit", axis->kind == DENSITY_SIZE ? "bytes" : "ns");
	emit_bool(emit, "log", axis->is_log);
	json_u64s(emit, "edges", axis->edges, axis->count + 1);
	emit_end(emit);
}

static struct err *sums_emit(struct call *call, const struct model_sum *sums, size_t count)
{
	uint64_t *values = arena_array(call->arena, count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		values[i] = sums[i].count;
	json_u64s(call->emit, "count", values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = sums[i].bytes;
	json_u64s(call->emit, "bytes", values, count);
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
				  err_new(ERR_UNSUPPORTED,
					  "how long calls took is not on this tape: it is recorded "
					  "with memtape record --latency"));
	*settings = (struct density_settings) {
		.x = (enum density_kind)call_choice(call, "x"),
		.y = y,
		.column_count = call_number(call, "nx"),
		.row_count = call_number(call, "ny"),
		.from_ns = range.from_ns,
		.until_ns = range.until_ns,
	};
	return settings->x == settings->y
		       ? call_blame(call, "y", err_new(ERR_USAGE, "x and y are the same"))
		       : NULL;
}

static struct err *run(struct call *call)
{
	struct density_settings settings;
	const struct selection *selection;
	struct density density;
	struct err *err = settings_find(call, &settings);

	if (!err)
		err = call_select(call, &selection);
	if (!err)
		err = density_find(selection, &settings, call->arena, &density);
	if (err)
		return err;
	axis_emit(call->emit, "x", &density.x);
	axis_emit(call->emit, "y", &density.y);
	err = sums_emit(call, density.cells, density.x.count * density.y.count);
	if (err || settings.y != DENSITY_LIFETIME) {
		emit_null(call->emit, "never");
		return err;
	}
	emit_object(call->emit, "never");
	err = sums_emit(call, density.never, density.x.count);
	emit_end(call->emit);
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
	.answer = "Grid",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
