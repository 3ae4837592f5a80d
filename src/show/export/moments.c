#include "export/moments.h"

#include <assert.h>

#include "time/course.h"

/* Inserts it after what was at that time or before. */
static void peak_insert(struct moments *moments, struct export_moment peak)
{
	size_t at = moments->count++;

	for (; at > 0 && moments->items[at - 1].ns > peak.ns; at--)
		moments->items[at] = moments->items[at - 1];
	peak.is_peak = true;
	moments->items[at] = peak;
	moments->peak = at;
}

static void moment_add(struct moments *moments, uint64_t ns, uint64_t bytes, uint64_t count)
{
	moments->items[moments->count++] = (struct export_moment) { ns, bytes, count, false };
}

static struct err *of_model(const struct model *model, uint64_t end_ns, size_t span_count,
			    struct arena *arena, struct moments *moments)
{
	const struct model_totals *totals = model_totals(model);
	struct model_timeline_span *spans = arena_array(arena, span_count, sizeof(*spans));

	if (!spans)
		return err_nomem();
	model_timeline_window(model, 0, end_ns + 1, span_count, spans);
	for (size_t i = 0; i < span_count; i++)
		moment_add(moments, i + 1 < span_count ? spans[i + 1].begin_ns : end_ns,
			   spans[i].live_bytes_end, spans[i].live_count_end);
	/* Without rows, times are rounded up, and the last events may be past the end. */
	moments->items[span_count].bytes = totals->leaked.bytes;
	moments->items[span_count].count = totals->leaked.count;
	peak_insert(moments, (struct export_moment) { totals->peak_ns, totals->peak.bytes,
						      totals->peak.count, true });
	return NULL;
}

static struct err *of_selection(const struct selection *selection, uint64_t end_ns,
				size_t span_count, struct arena *arena, struct moments *moments)
{
	const struct course_settings settings = {
		.until_ns = end_ns + 1,
		.column_count = span_count,
	};
	struct course course;
	struct err *err = course_find(selection, &settings, arena, &course);

	if (err)
		return err;
	for (size_t i = 0; i < course.column_count; i++)
		moment_add(moments,
			   i + 1 < course.column_count ? course.columns[i + 1].begin_ns : end_ns,
			   course.columns[i].live_end, course.columns[i].live_count_end);
	peak_insert(moments, (struct export_moment) { course.peak_bytes ? course.peak_ns : 0,
						      course.peak_bytes, UINT64_MAX, true });
	return NULL;
}

struct err *moments_find(const struct export_context *context, size_t span_count,
			 struct arena *arena, struct moments *moments_ret)
{
	const uint64_t end_ns = model_process(context->model)->duration_ns;
	struct moments moments = { 0 };
	struct err *err;

	assert(span_count > 0);
	assert(context->selection->model == context->model);
	moments.items = arena_array(arena, span_count + 2, sizeof(*moments.items));
	if (!moments.items)
		return err_nomem();
	moment_add(&moments, 0, 0, 0);
	err = selection_is_all(context->selection)
		      ? of_model(context->model, end_ns, span_count, arena, &moments)
		      : of_selection(context->selection, end_ns, span_count, arena, &moments);
	assert(err || moments.peak < moments.count);
	assert(err || moments.count <= span_count + 2);
	if (!err)
		*moments_ret = moments;
	return err;
}
