/*
 * at: what was alive at a moment, and who had allocated it.
 */
#include "report/quality.h"
#include "report/rank.h"
#include "select/moment.h"
#include "select/sums_rows.h"

enum { SITES_SHOWN = 12, NUMBER_COLUMNS = 12, NUMBERS_COLUMNS = 36 };

struct answer {
	const struct report_context *context;
	uint64_t ns;
	struct sums sums; /* what was alive is in peak */
	struct sites sites;
	const struct site *const *ranked;
	size_t count;
};

static struct err *check(const struct report_settings *settings)
{
	struct moment moment;

	return err_wrap(moment_parse(settings->operands[0], &moment), "at");
}

/* The command's own words, because a moment is a count of nanoseconds only to the machine. */
static void add_title(struct text *text, const struct answer *answer)
{
	const struct model_totals *totals = model_totals(answer->context->model);
	const struct model_sum *live = &answer->sums.total.peak;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str right = { 0 };

	str_add(&title, "Alive after ");
	str_add_duration(&title, answer->ns);
	str_add_iec(&right, live->bytes);
	str_add(&right, " in ");
	text_counted(&right, live->count, "block");
	str_add(&right, ", ");
	str_add_percent(&right, live->bytes, totals->peak.bytes);
	str_add(&right, " of the peak");
	text_heading(text, str_text(&title), str_text(&right));
}

static void add_columns(struct text *text)
{
	text_right(text, TEXT_DIM, "share", NUMBER_COLUMNS - 3);
	text_right(text, TEXT_DIM, "bytes", NUMBER_COLUMNS);
	text_right(text, TEXT_DIM, "blocks", NUMBER_COLUMNS + 1);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

static struct err *at_text(const struct answer *answer, FILE *out)
{
	const struct report_context *context = answer->context;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	add_title(&text, answer);
	if (answer->count > 0)
		add_columns(&text);
	for (size_t i = 0; i < answer->count; i++) {
		const struct site *site = answer->ranked[i];
		const uint32_t stack = site->stacks[METRIC_PEAK];

		rank_numbers(&text, METRIC_PEAK, &site->sums, answer->sums.total.peak.bytes);
		rank_frame(&text, context, rank_site_frame(context, stack), 1, TEXT_BOLD,
			   text.width - NUMBERS_COLUMNS);
		rank_callers(&text, context, stack, NUMBER_COLUMNS);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void emit_site(struct emit *emit, const struct answer *answer, const struct site *site)
{
	const uint32_t stack = site->stacks[METRIC_PEAK];
	const struct model_stack_sums *sums = &site->sums;

	emit_row(emit);
	rank_emit_place(emit, answer->context, rank_site_frame(answer->context, stack));
	emit_u64(emit, "live_bytes", sums->peak.bytes, EMIT_BYTES);
	emit_u64(emit, "live_count", sums->peak.count, EMIT_COUNT);
	emit_u64(emit, "allocated_bytes", sums->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "allocated_count", sums->allocated.count, EMIT_COUNT);
	emit_u64(emit, "stacks", site->stack_count, EMIT_COUNT);
	rank_emit_stack(emit, "stack", answer->context, stack);
	emit_end(emit);
}

static struct err *at_emit(const struct answer *answer, FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "function" },
		{ .key = "file" },
		{ .key = "line" },
		{ .key = "module" },
		{ .key = "live_bytes" },
		{ .key = "live_count" },
		{ .key = "allocated_bytes" },
		{ .key = "allocated_count" },
		{ .key = "stacks" },
		{ .key = "stack" },
	};
	const struct report_context *context = answer->context;
	const struct emit_settings settings = { .format = context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;

	if (!emit)
		return err_nomem();
	if (is_json) {
		emit_object(emit, NULL);
		emit_u64(emit, "at_ns", answer->ns, EMIT_DURATION);
		emit_u64(emit, "live_bytes", answer->sums.total.peak.bytes, EMIT_BYTES);
		emit_u64(emit, "live_count", answer->sums.total.peak.count, EMIT_COUNT);
	}
	emit_table(emit, is_json ? "sites" : NULL, columns, array_size(columns));
	for (size_t i = 0; i < answer->count; i++)
		emit_site(emit, answer, answer->ranked[i]);
	emit_end(emit);
	if (is_json) {
		quality_emit(emit, context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const size_t top = settings->with.top ? settings->with.top : is_text ? SITES_SHOWN : 0;
	struct answer answer = { .context = context };
	struct moment moment;
	struct err *err = moment_parse(settings->operands[0], &moment);

	if (!err)
		err = moment_ns(&moment, context->model, &answer.ns);
	if (!err)
		err = sums_at(context->model, context->selection, answer.ns, context->arena,
			      &answer.sums);
	if (!err)
		err = sites_find(&answer.sums, context->names, context->mode, context->arena,
				 &answer.sites);
	if (!err)
		err = sites_rank(&answer.sites, METRIC_PEAK, top, context->arena, &answer.ranked,
				 &answer.count);
	if (err)
		return err;
	return is_text ? at_text(&answer, out) : at_emit(&answer, out);
}

const struct report report_at = {
	.name = "at",
	.summary = "what was alive at the moment T",
	.depth = MODEL_FULL,
	.operands = "T",
	.selects = true,
	.ignores_leaks = true,
	.check = check,
	.run = run,
};
