#include "plot/heat.h"

#include <assert.h>
#include <math.h>

const char *const heat_what_words[] = { "size",	   "lifetime",	   "size-lifetime",
					"latency", "free-latency", "idle",
					NULL };

const char *heat_what_title(enum heat_what what)
{
	static const char *const titles[] = {
		[HEAT_SIZE] = "Sizes of blocks over time",
		[HEAT_LIFETIME] = "Lifetimes of blocks over time",
		[HEAT_SIZE_LIFETIME] = "Lifetimes of blocks by size",
		[HEAT_LATENCY] = "Latency of allocations",
		[HEAT_FREE_LATENCY] = "Latency of frees",
		[HEAT_IDLE] = "How long live memory was not touched",
	};

	assert((unsigned)what < array_size(titles));
	return titles[what];
}

struct err *heat_init(struct heat *heat, struct arena *arena)
{
	const size_t columns = heat->x.count, rows = heat->y.count;

	if (columns < 1 || rows < 1 || columns > HEAT_SIDE_MAX || rows > HEAT_SIDE_MAX ||
	    columns * rows > HEAT_CELLS_MAX)
		return err_new(ERR_LIMIT,
			       "%zu columns of %zu rows are too many to draw: choose "
			       "longer steps",
			       columns, rows);
	heat->counts = arena_array(arena, columns * rows, sizeof(*heat->counts));
	heat->column_totals = arena_array(arena, columns, sizeof(*heat->column_totals));
	return heat->counts && heat->column_totals ? NULL : err_nomem();
}

/* Rounding must not put a value at an edge into the wrong cell. */
static bool cell_of(const struct heat_axis *axis, double value, size_t *cell_ret)
{
	double at = axis->is_log ? (log(fmax(value, axis->min)) - log(axis->min)) / axis->step
				 : (value - axis->min) / axis->step;

	if (fabs(at - round(at)) < 1e-9 * (fabs(at) + 1))
		at = round(at);
	if (!(at >= 0) || at > (double)axis->count)
		return false;
	*cell_ret = u64_min((uint64_t)at, axis->count - 1);
	return true;
}

void heat_add(struct heat *heat, double x, double y)
{
	heat_add_many(heat, x, y, 1);
}

void heat_add_many(struct heat *heat, double x, double y, uint64_t count)
{
	size_t column, row;
	uint64_t *cell;

	assert(heat->counts && heat->column_totals);
	if (!cell_of(&heat->x, x, &column) || !cell_of(&heat->y, y, &row)) {
		heat->outside += count;
		return;
	}
	cell = &heat->counts[row * heat->x.count + column];
	*cell += count;
	heat->most = u64_max(heat->most, *cell);
	heat->column_totals[column] += count;
	heat->total += count;
}

size_t heat_cells(double range, double step)
{
	const double cells = ceil(range / step - 1e-9);

	assert(step > 0);
	if (!(cells < HEAT_SIDE_MAX + 1))
		return HEAT_SIDE_MAX + 1;
	return cells < 1 ? 1 : (size_t)cells;
}

double heat_edge(const struct heat_axis *axis, size_t i)
{
	assert(i <= axis->count);
	assert(axis->step > 0);
	if (axis->is_log)
		return axis->min * exp(axis->step * (double)i);
	return axis->min + axis->step * (double)i;
}

void heat_add_value(struct str *out, const struct heat_axis *axis, double value)
{
	if (axis->unit != TICKS_PLAIN) {
		ticks_add_value(out, axis->unit, value);
		return;
	}
	str_add_double(out, value, 6);
	while (out->ptr && out->ptr[out->len - 1] == '0')
		out->ptr[--out->len] = '\0';
	if (out->ptr && out->ptr[out->len - 1] == '.')
		out->ptr[--out->len] = '\0';
	str_add(out, axis->suffix);
}

double heat_share(uint64_t count, uint64_t most, bool is_log)
{
	assert(!is_log || most > 0);
	if (most <= 1 || count >= most)
		return 1;
	if (is_log)
		return log((double)count) / log((double)most);
	return (double)count / (double)most;
}
