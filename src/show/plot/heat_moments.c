#include <assert.h>
#include <math.h>

#include "plot/heat.h"

enum { UNIT_BYTES = 1024 };

static void axes_make(const struct heat_moments *moments, const struct heat_request *request,
		      const char *title, struct heat *heat)
{
	const double end = fmax((double)moments->end_ns, 1);
	const double step = request->column_ns > 0 ? request->column_ns
						   : fmax(ceil(end / (double)request->columns), 1);
	const double low = moments->bound_count > 1 ? (double)moments->bounds[1] : 1e8;
	const size_t rows = moments->bound_count > 1 ? moments->bound_count - 1 : 1;

	heat->things = "KiB";
	heat->is_amount = true;
	heat->x = (struct heat_axis) {
		.title = "time",
		.unit = TICKS_NS,
		.suffix = "",
		.step = step,
		.count = heat_cells(end, step),
	};
	heat->y = (struct heat_axis) {
		.title = title,
		.unit = TICKS_NS,
		.suffix = "",
		.min = low,
		.step = rows > 1 ? log((double)moments->bounds[2] / low) : log(10),
		.count = rows,
		.is_log = true,
	};
}

/* The last moment before a time; the first if there is none. */
static const struct heat_moment *moment_before(const struct heat_moments *moments, double ns)
{
	size_t at = 0;

	while (at + 1 < moments->count && (double)moments->items[at + 1].ns < ns)
		at++;
	return &moments->items[at];
}

struct err *heat_of_moments(const struct heat_moments *moments, const struct heat_request *request,
			    struct arena *arena, struct heat *heat_ret)
{
	const char *title = arena_printf(arena, "not %s for", moments->done);
	struct heat heat = { 0 };
	struct err *err;

	assert(moments->count > 0 && moments->bound_count > 0);
	if (!title)
		return err_nomem();
	axes_make(moments, request, title, &heat);
	err = heat_init(&heat, arena);
	if (err)
		return err;
	for (size_t column = 0; column < heat.x.count; column++) {
		const double begin = heat_edge(&heat.x, column);
		const struct heat_moment *moment = moment_before(moments, begin + heat.x.step);

		if ((double)moment->ns >= begin + heat.x.step) /* before the first */
			continue;
		for (size_t i = 0; i < moments->bound_count; i++)
			heat_add_many(&heat, begin, fmax((double)moments->bounds[i], heat.y.min),
				      div_up(moment->bytes[i], UNIT_BYTES));
	}
	if (heat.total == 0)
		return err_new(ERR_NOT_FOUND, "no live memory was watched: nothing to draw");
	*heat_ret = heat;
	return NULL;
}
