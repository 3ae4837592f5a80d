/*
 * curves: live bytes over time for a picture: columns of equal spans, in bands by group, with
 * samples of resident bytes and marks.
 */
#include "answer/about.h"
#include "base/number.h"
#include "groups/group_filter.h"
#include "questions/questions.h"
#include "sums/owner.h"
#include "time/course.h"

enum { COLUMNS_MAX = 3840, COLUMNS = 1000, TOP_MAX = 7, MARKS_MAX = 1000 };

struct curve_band {
	const char *title;
	const char *q;
	bool rest;
	struct shape_numbers values;
};

struct curve_samples {
	struct shape_numbers ns, bytes;
};

struct curve_peak {
	uint64_t ns, bytes;
};

struct curve_mark {
	uint64_t ns;
	const char *text;
};

struct curves {
	const char *by;
	uint64_t from_ns, until_ns, cols;
	struct shape_numbers live_max, live_min, live_count;
	struct shape_numbers allocated_bytes, allocated_count, freed_count;
	struct shape_rows bands; /* of struct curve_band */
	struct curve_samples rss;
	struct curve_peak peak;
	struct shape_rows marks; /* of struct curve_mark */
	struct quality quality;
};

static const struct member band_members[] = {
	MEMBER(struct curve_band, title, TEXT, NULL),
	MEMBER(struct curve_band, q, TEXT, "a filter that selects it", .nullable = true),
	MEMBER(struct curve_band, rest, FLAG, "all that is in no other band"),
	MEMBER(struct curve_band, values, NUMBERS,
	       "its bytes when the column's live bytes were highest; not stacked"),
};
static const struct shape shape_band = SHAPE("CurveBand", struct curve_band, band_members);

static const struct member samples_members[] = {
	MEMBER(struct curve_samples, ns, NUMBERS, "when"),
	MEMBER(struct curve_samples, bytes, NUMBERS, "the most of each column"),
};
static const struct shape shape_samples =
	SHAPE("CurveSamples", struct curve_samples, samples_members);

static const struct member peak_members[] = {
	MEMBER(struct curve_peak, ns, NS, "when"),
	MEMBER(struct curve_peak, bytes, BYTES, NULL),
};
static const struct shape shape_peak = SHAPE("CurvePeak", struct curve_peak, peak_members);

static const struct member mark_members[] = {
	MEMBER(struct curve_mark, ns, NS, "when"),
	MEMBER(struct curve_mark, text, TEXT, "its name"),
};
static const struct shape shape_mark = SHAPE("Mark", struct curve_mark, mark_members);

static const struct member curves_members[] = {
	MEMBER(struct curves, by, TEXT, "what the blocks of a band have in common; null: no bands",
	       .words = group_by_words, .nullable = true),
	MEMBER(struct curves, from_ns, NS, NULL),
	MEMBER(struct curves, until_ns, NS, "the end, exclusive"),
	MEMBER(struct curves, cols, COUNT, "equal spans of time; lists have a value for each"),
	MEMBER(struct curves, live_max, NUMBERS, "most bytes alive in it"),
	MEMBER(struct curves, live_min, NUMBERS,
	       "fewest bytes alive in it; of all allocations: the smaller of its two ends"),
	MEMBER(struct curves, live_count, NUMBERS, "blocks alive at its end"),
	MEMBER(struct curves, allocated_bytes, NUMBERS, NULL),
	MEMBER(struct curves, allocated_count, NUMBERS, NULL),
	MEMBER(struct curves, freed_count, NUMBERS, NULL),
	MEMBER(struct curves, bands, ROWS, "what lived, the largest first", .shape = &shape_band),
	MEMBER(struct curves, rss, OBJECT, "samples of resident bytes", .shape = &shape_samples),
	MEMBER(struct curves, peak, OBJECT, "of the time shown", .shape = &shape_peak),
	MEMBER(struct curves, marks, ROWS, "set by the program", .shape = &shape_mark),
	MEMBER(struct curves, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_curves = SHAPE("Curves", struct curves, curves_members);

static const struct {
	const char *word;
	enum group_by by;
} bands[] = {
	{ "module", GROUP_BY_MODULE },	   { "lifetime", GROUP_BY_LIFETIME },
	{ "thread", GROUP_BY_THREAD },	   { "size", GROUP_BY_SIZE },
	{ "function", GROUP_BY_FUNCTION }, { "process", GROUP_BY_PROCESS },
};

/* The displayed part. */
struct view {
	const struct asked *asked;
	uint64_t from_ns, until_ns; /* exclusive */
	size_t count;
	bool has_bands;
	enum group_by by;
	struct course course;
};

/* --- all allocations: the model knows whole spans ------------------------------------------ */

/* When live bytes were highest in a span: each step narrows it to a thousandth. */
static uint64_t moment_of_most(const struct asked *asked, uint64_t from_ns, uint64_t until_ns)
{
	enum { PARTS = 1000 };
	struct model_timeline_span *spans = arena_array(asked->arena, PARTS, sizeof(*spans));

	while (spans && until_ns - from_ns > 1) {
		const size_t count = u64_min(PARTS, until_ns - from_ns);
		size_t most = 0;

		model_timeline_window(asked->model, from_ns, until_ns, count, spans);
		for (size_t i = 0; i < count; i++) {
			if (spans[i].live_bytes_max > spans[most].live_bytes_max)
				most = i;
		}
		from_ns = spans[most].begin_ns;
		until_ns = most + 1 < count ? spans[most + 1].begin_ns : until_ns;
	}
	return from_ns;
}

static void peak_find(struct view *view)
{
	const struct model_totals *totals = model_totals(view->asked->model);
	struct course *course = &view->course;
	const struct course_column *columns = course->columns;
	size_t most = 0;

	for (size_t i = 0; i < view->count; i++) {
		if (columns[i].live_max > columns[most].live_max)
			most = i;
	}
	course->peak_bytes = columns[most].live_max;
	if (totals->peak_ns >= view->from_ns && totals->peak_ns < view->until_ns)
		course->peak_ns = totals->peak_ns;
	else
		course->peak_ns = moment_of_most(view->asked, columns[most].begin_ns,
						 most + 1 < view->count ? columns[most + 1].begin_ns
									: view->until_ns);
}

static uint64_t live_before(const struct model *model, uint64_t ns)
{
	struct model_timeline_span span;

	if (ns == 0)
		return 0;
	model_timeline_window(model, 0, ns, 1, &span);
	return span.live_bytes_end;
}

/* A column's minimum is taken from its two edges. */
static struct err *columns_of_model(struct view *view)
{
	struct arena *arena = view->asked->arena;
	const struct model *model = view->asked->model;
	struct model_timeline_span *spans = arena_array(arena, view->count, sizeof(*spans));
	struct course_column *columns = arena_array(arena, view->count, sizeof(*columns));
	uint64_t live = live_before(model, view->from_ns);

	if (!spans || !columns)
		return err_nomem();
	model_timeline_window(model, view->from_ns, view->until_ns, view->count, spans);
	for (size_t i = 0; i < view->count; i++) {
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
	view->course = (struct course) { .columns = columns,
					 .column_count = view->count,
					 .end_ns = view->until_ns };
	peak_find(view);
	return NULL;
}

static struct course_settings settings_of(const struct view *view)
{
	const uint64_t top = view->asked->with->top;

	return (struct course_settings) {
		.from_ns = view->from_ns,
		.until_ns = view->until_ns,
		.column_count = view->count,
		.has_bands = view->has_bands,
		.by = view->by,
		.mode = view->asked->mode,
		.top = top && top < TOP_MAX ? top : TOP_MAX,
	};
}

/*
 * Bands at each column's maximum of live bytes. If events of the same nanosecond had another order
 * on the tape, their sum is lower than the maximum: the last band gets the rest.
 */
static struct err *bands_of_model(struct view *view)
{
	struct course *course = &view->course;
	const struct course_settings settings = settings_of(view);
	struct model_peak *peaks = arena_array(view->asked->arena, view->count, sizeof(*peaks));
	struct err *err;

	if (!peaks)
		return err_nomem();
	model_timeline_peaks(view->asked->model, settings.from_ns, settings.until_ns, view->count,
			     peaks);
	err = course_bands_at(view->asked->selection, &settings, peaks, view->asked->arena, course);
	for (size_t i = 0; i < view->count && !err && course->band_count; i++) {
		const uint64_t most = course->columns[i].live_max;

		course->bands[(i + 1) * course->band_count - 1] +=
			most - u64_min(most, peaks[i].bytes);
	}
	return err;
}

static struct err *columns_of_rows(struct view *view)
{
	const struct course_settings settings = settings_of(view);

	return course_find(view->asked->selection, &settings, view->asked->arena, &view->course);
}

/* --- the answer ---------------------------------------------------------------------------- */

static struct err *columns_fill(const struct view *view, struct curves *curves)
{
	const struct {
		struct shape_numbers *numbers;
		size_t offset;
	} rows[] = {
		{ &curves->live_max, offsetof(struct course_column, live_max) },
		{ &curves->live_min, offsetof(struct course_column, live_min) },
		{ &curves->live_count, offsetof(struct course_column, live_count_end) },
		{ &curves->allocated_bytes, offsetof(struct course_column, allocated.bytes) },
		{ &curves->allocated_count, offsetof(struct course_column, allocated.count) },
		{ &curves->freed_count, offsetof(struct course_column, free_count) },
	};

	for (size_t row = 0; row < array_size(rows); row++) {
		uint64_t *values = arena_array(view->asked->arena, view->count, sizeof(*values));

		if (!values)
			return err_nomem();
		for (size_t i = 0; i < view->count; i++)
			values[i] = *(const uint64_t *)((const char *)&view->course.columns[i] +
							rows[row].offset);
		*rows[row].numbers = (struct shape_numbers) { values, view->count };
	}
	return NULL;
}

static struct err *bands_fill(const struct view *view, struct shape_rows *rows)
{
	const struct course *course = &view->course;
	struct arena *arena = view->asked->arena;
	struct curve_band *items = arena_array(arena, course->band_count + 1, sizeof(*items));
	const struct group_filters *filters;
	struct err *err =
		group_filters_make(view->asked->selection, &course->band_groups, arena, &filters);

	if (err || !items)
		return err ? err : err_nomem();
	for (size_t band = 0; band < course->band_count; band++) {
		uint64_t *values = arena_array(arena, view->count, sizeof(*values));
		const bool is_rest = band >= course->band_groups.count;

		if (!values)
			return err_nomem();
		for (size_t i = 0; i < view->count; i++)
			values[i] = course->bands[i * course->band_count + band];
		items[band] = (struct curve_band) {
			.title = course->band_titles[band],
			.q = is_rest ? NULL : group_filter(filters, band, arena),
			.rest = band == course->band_groups.count,
			.values = { values, view->count },
		};
	}
	*rows = (struct shape_rows) { items, course->band_count };
	return NULL;
}

static size_t column_of(const struct view *view, uint64_t ns)
{
	return (size_t)u64_mul_div(ns - view->from_ns, view->count, view->until_ns - view->from_ns);
}

static bool is_shown(const struct view *view, uint64_t ns)
{
	return ns >= view->from_ns && ns < view->until_ns;
}

/* For each column, its highest sample. */
static struct err *rss_fill(const struct view *view, struct curve_samples *samples)
{
	const struct model *model = view->asked->model;
	uint64_t *ns = arena_array(view->asked->arena, view->count, sizeof(*ns));
	uint64_t *bytes = arena_array(view->asked->arena, view->count, sizeof(*bytes));
	size_t count = 0, last = SIZE_MAX;

	if (!ns || !bytes)
		return err_nomem();
	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *usage = &model_usages(model)[i];

		if (usage->usage.rss_bytes == UINT64_MAX || !is_shown(view, usage->ns))
			continue;
		if (last == column_of(view, usage->ns)) {
			if (usage->usage.rss_bytes <= bytes[count - 1])
				continue;
			count--;
		}
		last = column_of(view, usage->ns);
		ns[count] = usage->ns;
		bytes[count++] = usage->usage.rss_bytes;
	}
	samples->ns = (struct shape_numbers) { ns, count };
	samples->bytes = (struct shape_numbers) { bytes, count };
	return NULL;
}

/* If there are very many, only the first of each column. */
static struct err *marks_fill(const struct view *view, struct shape_rows *rows)
{
	const struct model *model = view->asked->model;
	const struct model_note *notes = model_notes(model);
	size_t count = 0, kept = 0, last = SIZE_MAX;
	struct curve_mark *items;

	for (size_t i = 0; i < model_note_count(model); i++)
		count += notes[i].type == TAPE_EXT_MARK && is_shown(view, notes[i].ns);
	items = arena_array(view->asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < model_note_count(model); i++) {
		size_t column;

		if (notes[i].type != TAPE_EXT_MARK || !is_shown(view, notes[i].ns))
			continue;
		column = column_of(view, notes[i].ns);
		if (count > MARKS_MAX && column == last)
			continue;
		last = column;
		items[kept++] = (struct curve_mark) { notes[i].ns, notes[i].text };
	}
	*rows = (struct shape_rows) { items, kept };
	return NULL;
}

static struct err *curves_fill(const struct view *view, struct curves *curves)
{
	struct err *err = columns_fill(view, curves);

	curves->by = view->has_bands ? group_by_words[view->by] : NULL;
	curves->from_ns = view->from_ns;
	curves->until_ns = view->until_ns;
	curves->cols = view->count;
	curves->peak = (struct curve_peak) { view->course.peak_ns, view->course.peak_bytes };
	curves->bands.items = curves; /* an empty list */
	if (!err && view->course.band_count > 0)
		err = bands_fill(view, &curves->bands);
	if (!err)
		err = rss_fill(view, &curves->rss);
	if (!err)
		err = marks_fill(view, &curves->marks);
	return err ? err : quality_find(view->asked, &curves->quality);
}

static struct err *band_choose(const char *word, enum group_by *by_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (size_t i = 0; i < array_size(bands); i++) {
		if (strcmp(bands[i].word, word) == 0) {
			*by_ret = bands[i].by;
			return NULL;
		}
		str_printf(&known, "%s%s", i ? ", " : "", bands[i].word);
	}
	return err_new(ERR_USAGE, "bands by '%s': expected auto or one of %s", word,
		       str_text(&known));
}

/* By module, unless one module has nearly all of the peak: then by function. */
static struct err *band_suggest(const struct asked *asked, enum group_by *by_ret)
{
	bool is_one;
	struct err *err = owner_is_one_module(&asked->selection->sums, asked->names, asked->mode,
					      asked->arena, &is_one);

	if (!err)
		*by_ret = is_one ? GROUP_BY_FUNCTION : GROUP_BY_MODULE;
	return err;
}

static bool is_auto(const struct parameters *with)
{
	return strcmp(with->bands, "auto") == 0;
}

static struct err *check(const struct parameters *with)
{
	enum group_by by;

	if (with->points > COLUMNS_MAX)
		return err_new(ERR_USAGE, "at most %d points", COLUMNS_MAX);
	return with->bands && !is_auto(with) ? band_choose(with->bands, &by) : NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const bool is_all = selection_is_all(asked->selection);
	const uint64_t points = asked->with->points ? asked->with->points : COLUMNS;
	struct view view = { .asked = asked, .has_bands = asked->with->bands };
	struct err *err = asked_range(asked, &view.from_ns, &view.until_ns);

	/* Events at the end time are included. */
	view.until_ns = u64_min(view.until_ns, UINT64_MAX - 1) + 1;
	view.count = u64_min(points, view.until_ns - view.from_ns);
	if (!err && view.has_bands)
		err = is_auto(asked->with) ? band_suggest(asked, &view.by)
					   : band_choose(asked->with->bands, &view.by);
	if (!err)
		err = is_all ? columns_of_model(&view) : columns_of_rows(&view);
	if (!err && view.has_bands && is_all)
		err = bands_of_model(&view);
	return err ? err : curves_fill(&view, result);
}

const struct question question_curves = {
	.name = "curves",
	.summary = "live bytes over time in columns and bands, as charts show them",
	.shape = &shape_curves,
	.depth = MODEL_FULL,
	.takes = TAKES(points) | TAKES(bands) | TAKES(top),
	.selects = true,
	.has_window = true,
	.ignores_leaks = true,
	.check = check,
	.ask = ask,
};
