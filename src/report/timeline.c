/*
 * timeline: live bytes over time. Programs get every span the model has; people get a chart that
 * fits the terminal, one line per step of time.
 */
#include "report/quality.h"
#include "report/table.h"

enum { LINES_DEFAULT = 32, TIME_COLUMNS = 10, BYTES_COLUMNS = 11, BAR_COLUMNS_MAX = 64 };

static const struct emit_column span_columns[] = {
	{ .key = "begin_ns" },	     { .key = "live_bytes_max" },  { .key = "live_bytes_end" },
	{ .key = "live_count_end" }, { .key = "allocated_count" }, { .key = "allocated_bytes" },
	{ .key = "free_count" },     { .key = "rss_bytes" },
};

/* The newest sample of resident bytes up to this time; UINT64_MAX: none. */
static uint64_t rss_at(const struct model *model, uint64_t ns)
{
	uint64_t rss = UINT64_MAX;

	for (size_t i = 0; i < model_usage_count(model) && model_usages(model)[i].ns <= ns; i++) {
		if (model_usages(model)[i].usage.rss_bytes != UINT64_MAX)
			rss = model_usages(model)[i].usage.rss_bytes;
	}
	return rss;
}

static uint64_t span_end(const struct model *model, size_t index)
{
	return index + 1 < model_timeline_count(model) ? model_timeline(model)[index + 1].begin_ns
						       : model_process(model)->duration_ns;
}

static struct err *timeline_emit(const struct report_context *context, FILE *out)
{
	const struct model_timeline_span *spans = model_timeline(context->model);
	struct table table;
	struct err *err = table_begin(&table, context, out, "timeline", span_columns,
				      array_size(span_columns));

	if (err)
		return err;
	for (size_t i = 0; i < model_timeline_count(context->model); i++) {
		const uint64_t rss = rss_at(context->model, span_end(context->model, i));

		emit_row(table.emit);
		emit_u64(table.emit, "begin_ns", spans[i].begin_ns, EMIT_DURATION);
		emit_u64(table.emit, "live_bytes_max", spans[i].live_bytes_max, EMIT_BYTES);
		emit_u64(table.emit, "live_bytes_end", spans[i].live_bytes_end, EMIT_BYTES);
		emit_u64(table.emit, "live_count_end", spans[i].live_count_end, EMIT_COUNT);
		emit_u64(table.emit, "allocated_count", spans[i].allocated.count, EMIT_COUNT);
		emit_u64(table.emit, "allocated_bytes", spans[i].allocated.bytes, EMIT_BYTES);
		emit_u64(table.emit, "free_count", spans[i].free_count, EMIT_COUNT);
		if (rss == UINT64_MAX)
			emit_null(table.emit, "rss_bytes");
		else
			emit_u64(table.emit, "rss_bytes", rss, EMIT_BYTES);
		emit_end(table.emit);
	}
	return table_end(&table);
}

/* --- text ---------------------------------------------------------------------------------- */

/* Several spans as one line. */
struct step {
	uint64_t begin_ns;
	uint64_t live_bytes_max;
	uint64_t count; /* allocations */
	uint64_t rss_bytes;
};

static struct step step_sum(const struct model *model, size_t begin, size_t end)
{
	const struct model_timeline_span *spans = model_timeline(model);
	struct step step = { .begin_ns = spans[begin].begin_ns };

	for (size_t i = begin; i < end; i++) {
		step.live_bytes_max = u64_max(step.live_bytes_max, spans[i].live_bytes_max);
		step.count += spans[i].allocated.count;
	}
	step.rss_bytes = rss_at(model, span_end(model, end - 1));
	return step;
}

/* Eighths of a column: a bar is read more finely than a letter is wide. */
static void add_bar(struct text *text, uint64_t value, uint64_t most, size_t columns)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const unsigned __int128 wide = (unsigned __int128)value * columns * 8;
	const size_t length = most ? (size_t)(wide / most) : 0;

	text_style(text, TEXT_VALUE);
	for (size_t i = 0; i < length / 8; i++)
		str_add(&text->out, "█");
	str_add(&text->out, eighths[length % 8]);
	text_style(text, TEXT_PLAIN);
}

static void add_step(struct text *text, const struct step *step, uint64_t most, size_t columns)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_DIM, str_duration(words, step->begin_ns), TIME_COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, step->live_bytes_max), BYTES_COLUMNS);
	text_right(text, TEXT_DIM,
		   step->rss_bytes == UINT64_MAX ? "-" : str_iec(words, step->rss_bytes),
		   BYTES_COLUMNS);
	text_right(text, TEXT_DIM, str_grouped(words, step->count), BYTES_COLUMNS + 2);
	str_add(&text->out, "  ");
	add_bar(text, step->live_bytes_max, most, columns);
	str_add_char(&text->out, '\n');
}

static struct err *timeline_text(const struct report_context *context, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const size_t taken = TIME_COLUMNS + 3 * BYTES_COLUMNS + 4;
	const size_t columns = text.width > taken + 8 ? text.width - taken : 8;
	const size_t count = model_timeline_count(context->model);
	const size_t wanted = context->settings->top ? context->settings->top : LINES_DEFAULT;
	const size_t lines = u64_min(wanted, count);
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = u64_max(most, model_timeline(context->model)[i].live_bytes_max);
	text_right(&text, TEXT_DIM, "time", TIME_COLUMNS);
	text_right(&text, TEXT_DIM, "live", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "resident", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "allocations", BYTES_COLUMNS + 2);
	str_add_char(&text.out, '\n');
	for (size_t i = 0; i < lines; i++) {
		const struct step step =
			step_sum(context->model, i * count / lines, (i + 1) * count / lines);

		add_step(&text, &step, most, u64_min(columns, BAR_COLUMNS_MAX));
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	return context->settings->format == EMIT_TEXT ? timeline_text(context, out)
						      : timeline_emit(context, out);
}

const struct report report_timeline = {
	.name = "timeline",
	.summary = "live and resident bytes over time",
	.depth = MODEL_SUMMARY,
	.run = run,
};
