#include <assert.h>
#include <math.h>

#include "plot/timeline.h"

enum { OVERSAMPLING = 4 /* spans per column, to find its minimum */ };

struct columns {
	double *x;
	struct timeline_range *heap;
	double *allocated;
	size_t count;
};

static struct err *columns_init(struct columns *columns, size_t count, struct arena *arena)
{
	columns->count = count;
	columns->x = arena_array(arena, count, sizeof(*columns->x));
	columns->heap = arena_array(arena, count, sizeof(*columns->heap));
	columns->allocated = arena_array(arena, count, sizeof(*columns->allocated));
	return columns->x && columns->heap && columns->allocated ? NULL : err_nomem();
}

/* --- from sums over time: no rows are needed ------------------------------------------------- */

static struct err *columns_of_spans(const struct model *model,
				    const struct timeline_settings *settings,
				    struct columns *columns)
{
	const size_t span_count = columns->count * OVERSAMPLING;
	CLEAN(free) struct model_timeline_span *spans = calloc(span_count, sizeof(*spans));
	double allocated = 0;

	if (!spans)
		return err_nomem();
	model_timeline_window(model, settings->from_ns, settings->until_ns, span_count, spans);
	for (size_t i = 0; i < columns->count; i++) {
		const struct model_timeline_span *span = &spans[i * OVERSAMPLING];

		columns->x[i] = (double)span->begin_ns;
		columns->heap[i].low = (double)span->live_bytes_end;
		for (size_t j = 0; j < OVERSAMPLING; j++) {
			columns->heap[i].low =
				fmin(columns->heap[i].low, (double)span[j].live_bytes_end);
			columns->heap[i].high =
				fmax(columns->heap[i].high, (double)span[j].live_bytes_max);
			allocated += (double)span[j].allocated.bytes;
		}
		columns->allocated[i] = allocated;
	}
	return NULL;
}

/* --- from rows ------------------------------------------------------------------------------- */

static void columns_of_course(const struct course *course, bool is_by_number,
			      struct columns *columns)
{
	double allocated = 0, number = (double)course->first_number;

	for (size_t i = 0; i < columns->count; i++) {
		const struct course_column *column = &course->columns[i];

		columns->x[i] = is_by_number ? number : (double)column->begin_ns;
		columns->heap[i] = (struct timeline_range) { (double)column->live_min,
							     (double)column->live_max };
		allocated += (double)column->allocated.bytes;
		number += (double)column->allocated.count;
		columns->allocated[i] = allocated;
	}
}

static struct err *course_of(const struct selection *selection,
			     const struct timeline_settings *settings, size_t count,
			     struct arena *arena, struct course *course)
{
	const struct course_settings wanted = {
		.from_ns = settings->from_ns,
		.until_ns = settings->until_ns,
		.column_count = count,
		.is_by_number = settings->is_by_number,
		.has_bands = settings->has_bands,
		.by = settings->by,
		.mode = settings->mode,
		.top = settings->top,
	};

	return course_find(selection, &wanted, arena, course);
}

/* "0x1234 [libfoo.so+0x1234]" without repeating the address. */
static const char *title_of(const char *title, struct arena *arena)
{
	const char *bracket = strstr(title, " [");
	const size_t len = bracket ? strlen(bracket) : 0;

	if (strncmp(title, "0x", 2) != 0 || len < 4 || bracket[len - 1] != ']')
		return title;
	return arena_text(arena, bracket + 2, len - 3);
}

static struct err *bands_take(struct timeline *timeline, const struct course *course,
			      struct arena *arena)
{
	const char **titles = arena_array(arena, course->band_count, sizeof(*titles));

	if (course->band_count == 0)
		return NULL;
	if (!titles)
		return err_nomem();
	for (size_t i = 0; i < course->band_count; i++) {
		titles[i] = title_of(course->band_titles[i], arena);
		if (!titles[i])
			return err_nomem();
	}
	timeline->bands = course->bands;
	timeline->band_count = course->band_count;
	timeline->has_rest = course->has_rest;
	timeline->band_titles = titles;
	timeline->peak_bands = course->peak_bands;
	return NULL;
}

/* --- resident memory -------------------------------------------------------------------------- */

/* Position of a time on the axis: itself, or the number of allocations until then. */
static double x_of(const struct timeline *timeline, const struct course *course, uint64_t ns)
{
	size_t low = 0, high = timeline->count;

	if (timeline->x_unit == TICKS_NS)
		return (double)ns;
	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (course->columns[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? timeline->x_min : timeline->x[low - 1];
}

/* Samples within the window, and the level at its edges. */
static struct err *rss_find(const struct model *model, const struct timeline_settings *settings,
			    const struct course *course, struct arena *arena,
			    struct timeline *timeline)
{
	const struct model_usage *usages = model_usages(model);
	const size_t count = model_usage_count(model);
	struct canvas_point *points = arena_array(arena, count + 2, sizeof(*points));
	size_t taken = 0;

	if (!points)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const double rss = (double)usages[i].usage.rss_bytes;

		if (usages[i].usage.rss_bytes == UINT64_MAX || usages[i].ns >= settings->until_ns)
			continue;
		if (usages[i].ns < settings->from_ns) { /* keeps the newest one before it */
			points[0] = (struct canvas_point) { timeline->x_min, rss };
			taken = 1;
			continue;
		}
		points[taken++] =
			(struct canvas_point) { x_of(timeline, course, usages[i].ns), rss };
	}
	if (taken > 0) {
		points[taken] = (struct canvas_point) { timeline->x_max, points[taken - 1].y };
		taken++;
	}
	timeline->rss = points;
	timeline->rss_count = taken;
	return NULL;
}

/* --- marks ------------------------------------------------------------------------------------ */

static struct err *marks_find(const struct model *model, const struct timeline_settings *settings,
			      const struct course *course, struct arena *arena,
			      struct timeline *timeline)
{
	struct chart_mark *marks;
	struct err *err = chart_marks_find(model, settings->from_ns, settings->until_ns, arena,
					   &marks, &timeline->mark_count);

	if (err)
		return err;
	for (size_t i = 0; i < timeline->mark_count; i++)
		marks[i].x = x_of(timeline, course, (uint64_t)marks[i].x);
	timeline->marks = marks;
	return NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool needs_rows(const struct selection *selection, const struct timeline_settings *settings)
{
	return settings->is_by_number || settings->has_bands || !selection_is_all(selection);
}

static void peak_of_columns(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count; i++) {
		if (timeline->heap[i].high > timeline->peak.y)
			timeline->peak =
				(struct canvas_point) { timeline->x[i], timeline->heap[i].high };
	}
}

/* The same number as in the report if the whole run is shown. */
static void peak_find(const struct selection *selection, const struct timeline_settings *settings,
		      const struct course *course, struct timeline *timeline)
{
	const struct model_totals *totals = model_totals(selection->model);
	const bool is_in =
		totals->peak_ns >= settings->from_ns && totals->peak_ns < settings->until_ns;

	if (course->columns)
		timeline->peak =
			(struct canvas_point) { settings->is_by_number ? (double)course->peak_number
								       : (double)course->peak_ns,
						(double)course->peak_bytes };
	else
		peak_of_columns(timeline);
	if (selection_is_all(selection) && is_in) {
		timeline->peak.y = (double)totals->peak.bytes;
		if (!settings->is_by_number)
			timeline->peak.x = (double)totals->peak_ns;
	}
	timeline->has_peak = timeline->peak.y > 0;
}

static struct err *rows_take(const struct selection *selection,
			     const struct timeline_settings *settings, struct arena *arena,
			     struct course *course, struct columns *columns)
{
	struct err *err = course_of(selection, settings, columns->count, arena, course);

	if (!err && settings->is_by_number && course->number_count < columns->count) {
		columns->count = u64_max(course->number_count, 1); /* one column per allocation */
		err = course_of(selection, settings, columns->count, arena, course);
	}
	if (!err)
		columns_of_course(course, settings->is_by_number, columns);
	return err;
}

struct err *timeline_of_tape(const struct selection *selection,
			     const struct timeline_settings *settings, struct arena *arena,
			     struct timeline *timeline_ret)
{
	struct course *course = arena_new(arena, struct course);
	struct timeline timeline = { .x_title = "time", .x_unit = TICKS_NS };
	struct columns columns;
	struct err *err = columns_init(&columns, timeline_columns(&settings->chart.canvas), arena);

	assert(settings->from_ns < settings->until_ns);
	assert(!settings->has_bands || (unsigned)settings->by < GROUP_BYS);
	if (err || !course)
		return err ? err : err_nomem();
	if (needs_rows(selection, settings))
		err = rows_take(selection, settings, arena, course, &columns);
	else
		err = columns_of_spans(selection->model, settings, &columns);
	if (err)
		return err;
	timeline.x_min = (double)settings->from_ns;
	timeline.x_max = (double)settings->until_ns;
	if (settings->is_by_number) {
		timeline.x_title = "allocations";
		timeline.x_unit = TICKS_COUNT;
		timeline.x_min = (double)course->first_number;
		timeline.x_max = timeline.x_min + fmax((double)course->number_count, 1);
	}
	timeline.count = columns.count;
	timeline.x = columns.x;
	timeline.heap = columns.heap;
	timeline.allocated = settings->shows_allocated ? columns.allocated : NULL;
	err = bands_take(&timeline, course, arena);
	peak_find(selection, settings, course, &timeline);
	if (!err)
		err = marks_find(selection->model, settings, course, arena, &timeline);
	if (!err && !settings->hides_rss)
		err = rss_find(selection->model, settings, course, arena, &timeline);
	if (!err)
		*timeline_ret = timeline;
	return err;
}
