/*
 * /api/v1/timeline: live bytes over time in columns of equal spans, in bands of what they belong
 * to. from and until say what is shown, not what is selected.
 */
#include "groups/group_filter.h"
#include "http/api_parts.h"
#include "time/course.h"

enum { COLUMNS_MAX = 3840, COLUMNS = 1000, TOP_MAX = 7, MARKS_MAX = 1000 };

static const char *const by_words[] = { "none", "module",   "lifetime", "thread",
					"size", "function", NULL };

enum { BY_NONE };

static const enum group_by by_groups[] = { GROUP_BY_PROCESS, GROUP_BY_MODULE, GROUP_BY_LIFETIME,
					   GROUP_BY_THREAD,  GROUP_BY_SIZE,   GROUP_BY_FUNCTION };

struct timeline {
	struct call *call;
	const struct selection *selection;
	struct api_range range;
	size_t count;
	struct course course;
};

/* --- all allocations: the model knows whole spans ------------------------------------------ */

/* When the most was alive in a span that has it: each step looks at a thousandth of the last. */
static uint64_t moment_of_most(struct call *call, uint64_t from_ns, uint64_t until_ns)
{
	enum { PARTS = 1000 };
	struct model_timeline_span *spans = arena_array(call->arena, PARTS, sizeof(*spans));

	while (spans && until_ns - from_ns > 1) {
		const size_t count = u64_min(PARTS, until_ns - from_ns);
		size_t most = 0;

		model_timeline_window(call->model, from_ns, until_ns, count, spans);
		for (size_t i = 0; i < count; i++) {
			if (spans[i].live_bytes_max > spans[most].live_bytes_max)
				most = i;
		}
		from_ns = spans[most].begin_ns;
		until_ns = most + 1 < count ? spans[most + 1].begin_ns : until_ns;
	}
	return from_ns;
}

static void peak_find(struct timeline *timeline)
{
	const struct model_totals *totals = model_totals(timeline->call->model);
	struct course *course = &timeline->course;
	const struct course_column *columns = course->columns;
	size_t most = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		if (columns[i].live_max > columns[most].live_max)
			most = i;
	}
	course->peak_bytes = columns[most].live_max;
	if (totals->peak_ns >= timeline->range.from_ns &&
	    totals->peak_ns < timeline->range.until_ns)
		course->peak_ns = totals->peak_ns;
	else
		course->peak_ns =
			moment_of_most(timeline->call, columns[most].begin_ns,
				       most + 1 < timeline->count ? columns[most + 1].begin_ns
								  : timeline->range.until_ns);
}

static uint64_t live_before(const struct model *model, uint64_t ns)
{
	struct model_timeline_span span;

	if (ns == 0)
		return 0;
	model_timeline_window(model, 0, ns, 1, &span);
	return span.live_bytes_end;
}

/* The least of a column is that of its two edges. */
static struct err *columns_of_model(struct timeline *timeline)
{
	struct arena *arena = timeline->call->arena;
	const struct model *model = timeline->call->model;
	struct model_timeline_span *spans = arena_array(arena, timeline->count, sizeof(*spans));
	struct course_column *columns = arena_array(arena, timeline->count, sizeof(*columns));
	uint64_t live = live_before(model, timeline->range.from_ns);

	if (!spans || !columns)
		return err_nomem();
	model_timeline_window(model, timeline->range.from_ns, timeline->range.until_ns,
			      timeline->count, spans);
	for (size_t i = 0; i < timeline->count; i++) {
		columns[i] = (struct course_column) {
			.begin_ns = spans[i].begin_ns,
			.live_min = u64_min(live, spans[i].live_bytes_end),
			.live_max = spans[i].live_bytes_max,
			.live_end = spans[i].live_bytes_end,
			.live_count_end = spans[i].live_count_end,
			.allocated = spans[i].allocated,
			.free_count = spans[i].free_count,
		};
		live = spans[i].live_bytes_end;
	}
	timeline->course = (struct course) { .columns = columns,
					     .column_count = timeline->count,
					     .end_ns = timeline->range.until_ns };
	peak_find(timeline);
	return NULL;
}

static struct course_settings settings_of(const struct timeline *timeline, unsigned by)
{
	return (struct course_settings) {
		.from_ns = timeline->range.from_ns,
		.until_ns = timeline->range.until_ns,
		.column_count = timeline->count,
		.has_bands = by != BY_NONE,
		.by = by_groups[by],
		.mode = WALK_FOLD,
		.top = call_number(timeline->call, "top"),
	};
}

/*
 * Bands as they were when most was alive in each column. Where events of one nanosecond were in
 * another order on the tape, that is less than the most of the column: the last band has the rest.
 */
static struct err *bands_of_model(struct timeline *timeline, unsigned by)
{
	struct course *course = &timeline->course;
	const struct course_settings settings = settings_of(timeline, by);
	struct model_peak *peaks =
		arena_array(timeline->call->arena, timeline->count, sizeof(*peaks));
	struct err *err;

	if (!peaks)
		return err_nomem();
	model_timeline_peaks(timeline->call->model, settings.from_ns, settings.until_ns,
			     timeline->count, peaks);
	err = course_bands_at(timeline->selection, &settings, peaks, timeline->call->arena, course);
	for (size_t i = 0; i < timeline->count && !err && course->band_count; i++) {
		const uint64_t most = course->columns[i].live_max;

		course->bands[(i + 1) * course->band_count - 1] +=
			most - u64_min(most, peaks[i].bytes);
	}
	return err;
}

static struct err *columns_of_rows(struct timeline *timeline, unsigned by)
{
	const struct course_settings settings = settings_of(timeline, by);

	return course_find(timeline->selection, &settings, timeline->call->arena,
			   &timeline->course);
}

/* --- the answer ---------------------------------------------------------------------------- */

static struct err *columns_emit(const struct timeline *timeline)
{
	static const struct {
		const char *key;
		size_t offset;
	} rows[] = {
		{ "live_max", offsetof(struct course_column, live_max) },
		{ "live_min", offsetof(struct course_column, live_min) },
		{ "live_count", offsetof(struct course_column, live_count_end) },
		{ "allocated_bytes", offsetof(struct course_column, allocated.bytes) },
		{ "allocated_count", offsetof(struct course_column, allocated.count) },
		{ "freed_count", offsetof(struct course_column, free_count) },
	};
	uint64_t *values = arena_array(timeline->call->arena, timeline->count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t row = 0; row < array_size(rows); row++) {
		for (size_t i = 0; i < timeline->count; i++)
			values[i] = *(const uint64_t *)((const char *)&timeline->course.columns[i] +
							rows[row].offset);
		json_u64s(timeline->call->emit, rows[row].key, values, timeline->count);
	}
	return NULL;
}

static void band_emit(const struct timeline *timeline, size_t band, const char *filter,
		      uint64_t *values)
{
	const struct course *course = &timeline->course;
	struct emit *emit = timeline->call->emit;

	for (size_t i = 0; i < timeline->count; i++)
		values[i] = course->bands[i * course->band_count + band];
	emit_object(emit, NULL);
	emit_text(emit, "title", course->band_titles[band]);
	emit_text(emit, "q", filter);
	emit_bool(emit, "rest", band == course->band_groups.count);
	json_u64s(emit, "values", values, timeline->count);
	emit_end(emit);
}

static struct err *bands_emit(const struct timeline *timeline)
{
	const struct course *course = &timeline->course;
	struct arena *arena = timeline->call->arena;
	uint64_t *values = arena_array(arena, timeline->count, sizeof(*values));
	const struct group_filters *filters;
	struct err *err =
		group_filters_make(timeline->selection, &course->band_groups, arena, &filters);

	if (err || !values)
		return err ? err : err_nomem();
	for (size_t i = 0; i < course->band_count; i++)
		band_emit(timeline, i,
			  i < course->band_groups.count ? group_filter(filters, i, arena) : NULL,
			  values);
	return NULL;
}

static size_t column_of(const struct timeline *timeline, uint64_t ns)
{
	const struct api_range *range = &timeline->range;

	return (size_t)((unsigned __int128)(ns - range->from_ns) * timeline->count /
			(range->until_ns - range->from_ns));
}

static bool is_shown(const struct timeline *timeline, uint64_t ns)
{
	return ns >= timeline->range.from_ns && ns < timeline->range.until_ns;
}

/* Of the samples of a column the one with most. */
static struct err *rss_emit(const struct timeline *timeline)
{
	const struct model *model = timeline->call->model;
	struct arena *arena = timeline->call->arena;
	uint64_t *ns = arena_array(arena, timeline->count, sizeof(*ns));
	uint64_t *bytes = arena_array(arena, timeline->count, sizeof(*bytes));
	size_t count = 0, last = SIZE_MAX;

	if (!ns || !bytes)
		return err_nomem();
	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *usage = &model_usages(model)[i];

		if (usage->usage.rss_bytes == UINT64_MAX || !is_shown(timeline, usage->ns))
			continue;
		if (last == column_of(timeline, usage->ns)) {
			if (usage->usage.rss_bytes <= bytes[count - 1])
				continue;
			count--;
		}
		last = column_of(timeline, usage->ns);
		ns[count] = usage->ns;
		bytes[count++] = usage->usage.rss_bytes;
	}
	emit_object(timeline->call->emit, "rss");
	json_u64s(timeline->call->emit, "ns", ns, count);
	json_u64s(timeline->call->emit, "bytes", bytes, count);
	emit_end(timeline->call->emit);
	return NULL;
}

/* Where there are very many, the first of each column. */
static void marks_emit(const struct timeline *timeline)
{
	const struct model *model = timeline->call->model;
	const struct model_note *notes = model_notes(model);
	struct emit *emit = timeline->call->emit;
	size_t count = 0, last = SIZE_MAX;

	for (size_t i = 0; i < model_note_count(model); i++)
		count += notes[i].type == TAPE_EXT_MARK && is_shown(timeline, notes[i].ns);
	emit_list(emit, "marks");
	for (size_t i = 0; i < model_note_count(model); i++) {
		size_t column;

		if (notes[i].type != TAPE_EXT_MARK || !is_shown(timeline, notes[i].ns))
			continue;
		column = column_of(timeline, notes[i].ns);
		if (count > MARKS_MAX && column == last)
			continue;
		last = column;
		emit_object(emit, NULL);
		emit_u64(emit, "ns", notes[i].ns, EMIT_DURATION);
		emit_text(emit, "text", notes[i].text);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *answer(const struct timeline *timeline)
{
	struct emit *emit = timeline->call->emit;
	struct err *err;

	emit_u64(emit, "from_ns", timeline->range.from_ns, EMIT_DURATION);
	emit_u64(emit, "until_ns", timeline->range.until_ns, EMIT_DURATION);
	emit_u64(emit, "cols", timeline->count, EMIT_COUNT);
	err = columns_emit(timeline);
	if (err)
		return err;
	emit_list(emit, "bands");
	if (timeline->course.band_count > 0)
		err = bands_emit(timeline);
	emit_end(emit);
	if (!err)
		err = rss_emit(timeline);
	if (err)
		return err;
	emit_object(emit, "peak");
	emit_u64(emit, "ns", timeline->course.peak_ns, EMIT_DURATION);
	emit_u64(emit, "bytes", timeline->course.peak_bytes, EMIT_BYTES);
	emit_end(emit);
	marks_emit(timeline);
	return NULL;
}

static struct err *run(struct call *call)
{
	const unsigned by = call_choice(call, "by");
	struct timeline timeline = { .call = call };
	struct names *names;
	struct err *err = api_range(call, &timeline.range);

	if (!err && by != BY_NONE)
		err = call_names(call, &names);
	if (!err)
		err = call_blame(call, "q",
				 call_select_part(call, call_text(call, "q"), NULL, NULL,
						  CALL_ALIVE, &timeline.selection));
	if (err)
		return err;
	timeline.count = u64_min(call_number(call, "cols"),
				 timeline.range.until_ns - timeline.range.from_ns);
	if (!selection_is_all(timeline.selection))
		err = columns_of_rows(&timeline, by);
	else
		err = columns_of_model(&timeline);
	if (!err && by != BY_NONE && selection_is_all(timeline.selection))
		err = bands_of_model(&timeline, by);
	return err ? err : answer(&timeline);
}

static const struct param params[] = {
	{ .name = "cols",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = COLUMNS_MAX,
	  .fallback = COLUMNS,
	  .doc = "columns",
	  .missing = "1000" },
	{ .name = "by",
	  .kind = PARAM_CHOICE,
	  .words = by_words,
	  .doc = "what bands are of",
	  .missing = "none" },
	{ .name = "top",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = TOP_MAX,
	  .fallback = TOP_MAX,
	  .doc = "bands, without that of the rest",
	  .missing = "7" },
};

const struct route route_api_timeline = {
	.path = "/api/v1/timeline",
	.summary = "live bytes over time; from and until are what is shown",
	.answer = "Timeline",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
