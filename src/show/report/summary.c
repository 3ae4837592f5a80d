/*
 * summary: the first thing anybody reads. What is alive at the peak and who made it, what leaked,
 * what was temporary, what to type next - on one screen.
 */
#include "groups/call_times.h"
#include "model/import.h"
#include "report/quality.h"
#include "report/rank.h"
#include "report/suppressed.h"

enum { SITES_SHOWN = 5, LABEL_VALUE_COLUMNS = 12, RSS_REMARKABLE = 32 << 20 };

/* --- text ---------------------------------------------------------------------------------- */

/* "  peak        12.3 MiB" with room for what explains it. */
static void add_fact(struct text *text, const char *label, const char *value)
{
	text_label(text, label);
	text_right(text, TEXT_VALUE, value, LABEL_VALUE_COLUMNS);
	str_add(&text->out, "   ");
}

static void add_bytes_fact(struct text *text, const char *label, uint64_t bytes)
{
	char value[STR_SHORT_BYTES];

	add_fact(text, label, str_iec(value, bytes));
}

static void add_count_fact(struct text *text, const char *label, uint64_t count)
{
	char value[STR_SHORT_BYTES];

	add_fact(text, label, str_grouped(value, count));
}

static uint64_t rss_max(const struct model *model)
{
	uint64_t most = 0;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		const uint64_t rss = model_usages(model)[i].usage.rss_bytes;

		if (rss != UINT64_MAX && rss > most)
			most = rss;
	}
	return most;
}

static void add_peak(struct text *text, const struct model *model,
		     const struct model_totals *totals)
{
	struct str *out = &text->out;

	add_bytes_fact(text, "peak", totals->peak.bytes);
	str_add(out, "in ");
	text_counted(out, totals->peak.count, "block");
	if (!(model_missing(model) & TAPE_MISSING_TIMES)) {
		str_add(out, ", after ");
		str_add_duration(out, totals->peak_ns);
	}
	if (model_process(model)->flags & TAPE_FLAG_FORKED)
		str_add(out, ", besides what it had from its parent");
	if (rss_max(model) > 0) {
		str_add(out, "; resident at most ");
		str_add_iec(out, rss_max(model));
	}
	str_add_char(out, '\n');
}

/* Without what is suppressed, which is told apart. */
static void add_leaked(struct text *text, const struct report_context *context,
		       const struct model_totals *totals)
{
	const struct model_sum *suppressed = &context->selection->suppressed_leaks.total;
	const struct suppressions *rules = &context->selection->facts->suppressor->rules;
	const struct model *model = context->model;
	struct str *out = &text->out;

	add_bytes_fact(text, "leaked", totals->leaked.bytes);
	str_add(out, "in ");
	text_counted(out, totals->leaked.count, "block");
	str_add(out, text_goes_on(model)	? " not freed yet, "
		     : text_was_replaced(model) ? " alive when it became another program, "
						: " never freed, ");
	str_add_percent(out, totals->leaked.bytes, totals->peak.bytes);
	str_add(out, " of the peak");
	if (suppressed->count > 0) {
		str_add(out, "; ");
		str_add_iec(out, suppressed->bytes);
		str_add(out, " more suppressed");
	}
	if (rules->file) {
		str_add(out, " (");
		suppressed_add_origins(out, rules);
		str_add(out, ")");
	}
	str_add_char(out, '\n');
}

static void add_allocated(struct text *text, const struct model *model,
			  const struct model_totals *totals)
{
	const uint64_t duration_ms = model_process(model)->duration_ns / 1000000;
	struct str *out = &text->out;

	add_bytes_fact(text, "allocated", totals->allocated.bytes);
	str_add(out, "in ");
	text_counted(out, totals->allocated.count, "allocation");
	if (totals->allocated.count > 0) {
		str_add(out, ", on average ");
		str_add_iec(out, totals->allocated.bytes / totals->allocated.count);
	}
	if (duration_ms > 0 && !(model_missing(model) & TAPE_MISSING_TIMES)) {
		str_add(out, ", ");
		str_add_grouped(out, totals->allocated.count * 1000 / duration_ms);
		str_add(out, " a second");
	}
	str_add_char(out, '\n');
}

static void add_temporary(struct text *text, const struct model *model,
			  const struct model_totals *totals)
{
	struct str *out = &text->out;

	if (model_process(model)->flags & TAPE_FLAG_AVERAGES)
		return; /* nobody knows */
	add_count_fact(text, "temporary", totals->temporary.count);
	str_add(out, "allocations, ");
	str_add_percent(out, totals->temporary.count, totals->allocated.count);
	str_add(out, " of all, were freed before their thread allocated again\n");
}

/* Of tapes that say how long calls took. */
static void add_latency(struct text *text, const struct report_context *context)
{
	struct model_latency total;
	struct str *out = &text->out;
	char value[STR_SHORT_BYTES];

	if (!model_latencies(context->model) || !selection_is_all(context->selection))
		return;
	call_times_total(context->model, &total);
	add_fact(text, "allocator", str_duration(value, total.total_ns));
	str_add(out, "in ");
	text_counted(out, total.count, "call");
	if (total.count > 0) {
		str_add(out, ", on average ");
		str_add_duration(out, total.total_ns / total.count);
		str_add(out, ", 99 % within ");
		str_add_duration(out, latency_percentile(&total, 99));
		str_add(out, ", the longest ");
		str_add_duration(out, total.max_ns);
	}
	str_add_char(out, '\n');
}

static void add_facts(struct text *text, const struct report_context *context,
		      const struct model_totals *totals)
{
	const struct model *model = context->model;

	add_peak(text, model, totals);
	add_leaked(text, context, totals);
	add_allocated(text, model, totals);
	add_temporary(text, model, totals);
	if (totals->realloc_count > 0) {
		add_count_fact(text, "reallocated", totals->realloc_count);
		str_add(&text->out, "of the allocations grew or shrank a block\n");
	}
	if (totals->failed_count > 0) {
		add_count_fact(text, "failed", totals->failed_count);
		str_add(&text->out, "allocations returned NULL\n");
	}
}

static void add_next_line(struct text *text, const struct report_context *context,
			  const char *command, const char *options, const char *why)
{
	CLEAN(str_deinit) struct str line = { 0 };
	const size_t columns =
		strlen("memtape flamegraph  -o peak.svg  ") + strlen(context->settings->tape_path);
	size_t width;

	str_printf(&line, "memtape %s ", command);
	str_add_shell(&line, context->settings->tape_path);
	str_add(&line, options);
	width = str_width(str_text(&line));
	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, str_text(&line));
	str_add_repeated(&text->out, ' ', width < columns ? columns - width : 2);
	text_add(text, TEXT_DIM, why);
	str_add_char(&text->out, '\n');
}

static void add_next(struct text *text, const struct report_context *context)
{
	const struct model_totals *totals = model_totals(context->model);

	if (!selection_is_all(context->selection))
		return;
	if (!context->settings->tape_path || totals->allocated.count == 0)
		return;
	text_heading(text, "Next", NULL);
	add_next_line(text, context, "flamegraph", " -o peak.svg", "the peak as a picture");
	if (totals->leaked.count > 0)
		add_next_line(text, context, "report", " leaks",
			      text_goes_on(context->model) ? "what is not freed yet, by stack"
			      : text_was_replaced(context->model)
				      ? "what was alive when it became another program, by stack"
				      : "what was never freed, by stack");
	if (rss_max(context->model) > 2 * totals->peak.bytes + RSS_REMARKABLE)
		add_next_line(text, context, "report", " rss",
			      "what is resident beside live blocks");
	if (totals->temporary.count > totals->allocated.count / 10)
		add_next_line(text, context, "report", " temporary", "what was freed at once");
	if (model_latencies(context->model))
		add_next_line(text, context, "report", " latency",
			      "calls that took long, and whose");
	add_next_line(text, context, "report", " tree", "the peak from main downwards");
}

static struct err *summary_text(const struct report_context *context, FILE *out)
{
	static const enum metric metrics[] = { METRIC_PEAK, METRIC_LEAKED, METRIC_TEMPORARY };
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const struct report_settings *settings = context->settings;
	const size_t top = settings->with.top ? settings->with.top : SITES_SHOWN;
	const struct model_totals totals = selection_totals(context->selection);
	struct sites sites;
	struct err *err =
		sites_find(&context->sums, context->names, context->mode, context->arena, &sites);

	if (err)
		return err;
	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	add_facts(&text, context, &totals);
	add_latency(&text, context);
	if (settings->has_sort)
		err = rank_text(context, &text, &sites, (enum metric)settings->sort, top,
				RANK_CALLERS);
	for (size_t i = 0; i < array_size(metrics) && !err && !settings->has_sort; i++)
		err = rank_text(context, &text, &sites, metrics[i], top, RANK_CALLERS);
	if (err)
		return err;
	quality_text(&text, context);
	add_next(&text, context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_sum(struct emit *emit, const char *key, const struct model_sum *sum)
{
	emit_object(emit, key);
	emit_u64(emit, "count", sum->count, EMIT_COUNT);
	emit_u64(emit, "bytes", sum->bytes, EMIT_BYTES);
	emit_end(emit);
}

static void emit_process(struct emit *emit, const struct model_process *process)
{
	emit_object(emit, "process");
	emit_u64(emit, "pid", process->pid, EMIT_PLAIN);
	emit_text(emit, "exe", process->exe);
	emit_list(emit, "argv");
	for (uint32_t i = 0; i < process->argc; i++)
		emit_text(emit, NULL, process->argv[i]);
	emit_end(emit);
	if (process->end_kind == TAPE_END_EXIT && process->end_status >= 0)
		emit_i64(emit, "exit_code", process->end_status);
	else
		emit_null(emit, "exit_code");
	if (process->end_kind == TAPE_END_SIGNAL)
		emit_i64(emit, "signal", process->end_status);
	else
		emit_null(emit, "signal");
	emit_end(emit);
}

/* Several numbers of the tape are one function for the user: realloc(NULL, n), realloc(p, n) ... */
static struct model_function function_sum(const struct model *model, const char *name)
{
	const struct model_function *functions = model_functions(model);
	struct model_function sum = { 0 };

	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		if (strcmp(tape_fn_name(fn), name) != 0)
			continue;
		sum.calls += functions[fn].calls;
		sum.failed += functions[fn].failed;
		if (tape_fn_class(fn) != TAPE_CLASS_REALLOC_OUT && fn != TAPE_FN_REALLOC_FREE)
			sum.bytes += functions[fn].bytes;
	}
	return sum;
}

static bool function_is_first(unsigned fn)
{
	for (unsigned before = 0; before < fn; before++) {
		if (strcmp(tape_fn_name(before), tape_fn_name(fn)) == 0)
			return false;
	}
	return true;
}

static void emit_functions(struct emit *emit, const struct model *model)
{
	emit_object(emit, "functions");
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		struct model_function sum;

		if (!function_is_first(fn))
			continue;
		sum = function_sum(model, tape_fn_name(fn));
		if (sum.calls == 0)
			continue;
		emit_object(emit, tape_fn_name(fn));
		emit_u64(emit, "calls", sum.calls, EMIT_COUNT);
		emit_u64(emit, "bytes", sum.bytes, EMIT_BYTES);
		emit_u64(emit, "failed", sum.failed, EMIT_COUNT);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_calls(struct emit *emit, const struct model *model)
{
	struct model_latency total;

	if (!model_latencies(model))
		return;
	call_times_total(model, &total);
	emit_object(emit, "latency");
	emit_u64(emit, "calls", total.count, EMIT_COUNT);
	emit_u64(emit, "total_ns", total.total_ns, EMIT_DURATION);
	emit_u64(emit, "mean_ns", total.count ? total.total_ns / total.count : 0, EMIT_DURATION);
	emit_u64(emit, "p50_ns", latency_percentile(&total, 50), EMIT_DURATION);
	emit_u64(emit, "p99_ns", latency_percentile(&total, 99), EMIT_DURATION);
	emit_u64(emit, "max_ns", total.max_ns, EMIT_DURATION);
	emit_end(emit);
}

/* What is known of the whole tape alone. */
static void emit_whole(struct emit *emit, const struct report_context *context)
{
	static const char *const keys[] = { "functions",     "reallocs",   "failed",
					    "unknown_frees", "null_frees", "usable_bytes" };
	const struct model_totals *totals = model_totals(context->model);

	if (!selection_is_all(context->selection)) {
		for (size_t i = 0; i < array_size(keys); i++)
			emit_null(emit, keys[i]);
		return;
	}
	emit_functions(emit, context->model);
	emit_u64(emit, "reallocs", totals->realloc_count, EMIT_COUNT);
	emit_u64(emit, "failed", totals->failed_count, EMIT_COUNT);
	emit_u64(emit, "unknown_frees", totals->unknown_free_count, EMIT_COUNT);
	emit_u64(emit, "null_frees", totals->free_null_count, EMIT_COUNT);
	emit_u64(emit, "usable_bytes", totals->usable_bytes, EMIT_BYTES);
	emit_calls(emit, context->model);
}

static struct err *summary_emit(const struct report_context *context, FILE *out)
{
	const struct emit_settings settings = { .format = context->settings->format };
	const struct model_totals part = selection_totals(context->selection), *totals = &part;
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_u64(emit, "duration_ns", model_process(context->model)->duration_ns, EMIT_DURATION);
	emit_sum(emit, "allocations", &totals->allocated);
	emit_sum(emit, "frees", &totals->freed);
	emit_object(emit, "peak");
	emit_u64(emit, "bytes", totals->peak.bytes, EMIT_BYTES);
	emit_u64(emit, "count", totals->peak.count, EMIT_COUNT);
	emit_u64(emit, "time_ns", totals->peak_ns, EMIT_DURATION);
	emit_end(emit);
	emit_sum(emit, "leaked", &totals->leaked);
	suppressed_emit(emit, context);
	emit_sum(emit, "temporary", &totals->temporary);
	emit_u64(emit, "lost_events", model_quality(context->model)->lost_events, EMIT_COUNT);
	emit_whole(emit, context);
	emit_u64(emit, "rss_max_bytes", rss_max(context->model), EMIT_BYTES);
	emit_u64(emit, "threads", model_thread_count(context->model), EMIT_COUNT);
	emit_process(emit, model_process(context->model));
	quality_emit(emit, context);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	return context->settings->format == EMIT_TEXT ? summary_text(context, out)
						      : summary_emit(context, out);
}

const struct report report_summary = {
	.name = "summary",
	.summary = "peak, leaks and temporaries on one screen",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.run = run,
};
