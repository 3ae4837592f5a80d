/*
 * timeline: live bytes over time. Programs get every span the model has, or as many as they ask
 * for; people get a chart that fits the terminal, one line per step of time.
 */
#include "report/moment.h"
#include "report/quality.h"
#include "report/table.h"
#include "time/spans.h"

enum {
	LINES_DEFAULT = 32,
	TIME_COLUMNS = 10,
	BYTES_COLUMNS = 11,
	BAR_COLUMNS_MAX = 64,
	POINTS_MAX = 1000000
};

/* What is shown: a part of the run, in steps. */
struct chart {
	const struct report_context *context;
	const struct model_timeline_span *steps;
	size_t count;
	uint64_t end_ns;
	size_t usage_at; /* of the next sample of resident bytes, as the steps go by */
	uint64_t rss;	 /* the newest; UINT64_MAX: none yet */
};

/* As the samples are in the order of time, so must the questions be. */
static uint64_t rss_until(struct chart *chart, uint64_t ns)
{
	const struct model *model = chart->context->model;

	for (; chart->usage_at < model_usage_count(model); chart->usage_at++) {
		const struct model_usage *usage = &model_usages(model)[chart->usage_at];

		if (usage->ns > ns)
			break;
		if (usage->usage.rss_bytes != UINT64_MAX)
			chart->rss = usage->usage.rss_bytes;
	}
	return chart->rss;
}

static uint64_t step_end(const struct chart *chart, size_t index)
{
	return index + 1 < chart->count ? chart->steps[index + 1].begin_ns : chart->end_ns;
}

/* The model's spans, some together as one so that there are `count`. */
static struct err *steps_join(struct chart *chart, size_t count)
{
	const struct model *model = chart->context->model;
	const struct model_timeline_span *spans = model_timeline(model);
	const size_t span_count = model_timeline_count(model);
	struct model_timeline_span *steps =
		arena_array(chart->context->arena, count, sizeof(*steps));

	if (!steps)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const size_t end = (i + 1) * span_count / count;
		size_t at = i * span_count / count;

		steps[i] = spans[at];
		for (at++; at < end; at++) {
			steps[i].live_bytes_max =
				u64_max(steps[i].live_bytes_max, spans[at].live_bytes_max);
			steps[i].live_bytes_end = spans[at].live_bytes_end;
			steps[i].live_count_end = spans[at].live_count_end;
			steps[i].allocated.count += spans[at].allocated.count;
			steps[i].allocated.bytes += spans[at].allocated.bytes;
			steps[i].free_count += spans[at].free_count;
		}
	}
	chart->steps = steps;
	chart->count = count;
	chart->end_ns = model_process(model)->duration_ns;
	return NULL;
}

static bool needs_rows(const struct report_settings *settings)
{
	return settings->with.from || settings->with.until ||
	       settings->with.points > MODEL_TIMELINE_MAX / 2;
}

static struct err *steps_find(struct chart *chart, uint64_t count)
{
	const struct report_context *context = chart->context;
	const bool is_all = selection_is_all(context->selection);
	struct model_timeline_span *steps;
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err;

	if (is_all && !needs_rows(context->settings))
		return steps_join(chart, u64_min(count, model_timeline_count(context->model)));
	err = report_window(context, &from_ns, &until_ns);
	if (err)
		return err;
	if (from_ns >= until_ns)
		return err_new(ERR_USAGE, "--from is not before --until");
	until_ns++; /* what happens at a moment has happened then */
	count = u64_min(count, until_ns - from_ns);
	steps = arena_array(context->arena, count, sizeof(*steps));
	if (!steps)
		return err_nomem();
	if (is_all)
		model_timeline_window(context->model, from_ns, until_ns, count, steps);
	else
		err = spans_find(context->selection, from_ns, until_ns, count, steps);
	if (err)
		return err;
	chart->steps = steps;
	chart->count = count;
	chart->end_ns = until_ns;
	return NULL;
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static const struct emit_column step_columns[] = {
	{ .key = "begin_ns" },	     { .key = "live_bytes_max" },  { .key = "live_bytes_end" },
	{ .key = "live_count_end" }, { .key = "allocated_count" }, { .key = "allocated_bytes" },
	{ .key = "free_count" },     { .key = "rss_bytes" },
};

static void emit_step(struct emit *emit, const struct model_timeline_span *step, uint64_t rss)
{
	emit_row(emit);
	emit_u64(emit, "begin_ns", step->begin_ns, EMIT_DURATION);
	emit_u64(emit, "live_bytes_max", step->live_bytes_max, EMIT_BYTES);
	emit_u64(emit, "live_bytes_end", step->live_bytes_end, EMIT_BYTES);
	emit_u64(emit, "live_count_end", step->live_count_end, EMIT_COUNT);
	emit_u64(emit, "allocated_count", step->allocated.count, EMIT_COUNT);
	emit_u64(emit, "allocated_bytes", step->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "free_count", step->free_count, EMIT_COUNT);
	if (rss == UINT64_MAX)
		emit_null(emit, "rss_bytes");
	else
		emit_u64(emit, "rss_bytes", rss, EMIT_BYTES);
	emit_end(emit);
}

static struct err *chart_emit(struct chart *chart, FILE *out)
{
	struct table table;
	struct err *err = table_begin(&table, chart->context, out, "timeline", step_columns,
				      array_size(step_columns));

	if (err)
		return err;
	for (size_t i = 0; i < chart->count; i++)
		emit_step(table.emit, &chart->steps[i], rss_until(chart, step_end(chart, i)));
	return table_end(&table);
}

/* --- text ---------------------------------------------------------------------------------- */

static void add_step(struct text *text, const struct model_timeline_span *step, uint64_t rss,
		     uint64_t most, size_t bar_columns)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_DIM, str_duration(words, step->begin_ns), TIME_COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, step->live_bytes_max), BYTES_COLUMNS);
	text_right(text, TEXT_DIM, rss == UINT64_MAX ? "-" : str_iec(words, rss), BYTES_COLUMNS);
	text_right(text, TEXT_DIM, str_grouped(words, step->allocated.count), BYTES_COLUMNS + 2);
	str_add(&text->out, "  ");
	text_bar(text, step->live_bytes_max, most, bar_columns);
	str_add_char(&text->out, '\n');
}

static struct err *chart_text(struct chart *chart, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(chart->context->settings);
	const size_t taken = TIME_COLUMNS + 3 * BYTES_COLUMNS + 4;
	const size_t bar_columns = text.width > taken + 8 ? text.width - taken : 8;
	uint64_t most = 0;

	for (size_t i = 0; i < chart->count; i++)
		most = u64_max(most, chart->steps[i].live_bytes_max);
	text_right(&text, TEXT_DIM, "time", TIME_COLUMNS);
	text_right(&text, TEXT_DIM, "live", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "resident", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "allocations", BYTES_COLUMNS + 2);
	str_add_char(&text.out, '\n');
	for (size_t i = 0; i < chart->count; i++)
		add_step(&text, &chart->steps[i], rss_until(chart, step_end(chart, i)), most,
			 u64_min(bar_columns, BAR_COLUMNS_MAX));
	quality_text(&text, chart->context);
	return text_write(&text, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	struct chart chart = { .context = context, .rss = UINT64_MAX };
	uint64_t count = settings->with.points;
	struct err *err;

	if (count == 0 && is_text)
		count = settings->with.top ? settings->with.top : LINES_DEFAULT;
	err = steps_find(&chart, count ? count : MODEL_TIMELINE_MAX);
	if (err)
		return err;
	return is_text ? chart_text(&chart, out) : chart_emit(&chart, out);
}

static struct err *check(const struct report_settings *settings)
{
	return settings->with.points > POINTS_MAX
		       ? err_new(ERR_USAGE, "--points: at most %d", (int)POINTS_MAX)
		       : NULL;
}

const struct report report_timeline = {
	.name = "timeline",
	.summary = "live and resident bytes over time",
	.depth = MODEL_SUMMARY,
	.check = check,
	.needs_rows = needs_rows,
	.selects = true,
	.ignores_leaks = true,
	.has_window = true,
	.run = run,
};
