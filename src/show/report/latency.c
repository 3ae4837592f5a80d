/*
 * latency: how long calls of the allocator took, of a tape that was recorded with --latency: by
 * function, the slowest calls, and whose calls they are.
 */
#include "groups/call_times.h"
#include "report/quality.h"
#include "report/rank.h"

enum {
	SITES_SHOWN = 8,
	CALLS_SHOWN = 8,
	CALLS_EMITTED = 100,
	COLUMNS = 11,
	CALL_COLUMNS = 16,
	FUNCTION_COLUMNS = 30
};

struct answer {
	const struct report_context *context;
	struct call_times times;
	size_t site_count; /* shown */
};

static const unsigned percents[] = { 50, 90, 99 };

static uint64_t mean_of(uint64_t total_ns, uint64_t count)
{
	return count ? total_ns / count : 0;
}

/* --- text ------------------------------------------------------------------------------------ */

static void add_time(struct text *text, enum text_style style, uint64_t ns)
{
	char words[STR_SHORT_BYTES];

	text_right(text, style, str_duration(words, ns), COLUMNS);
}

static void add_number(struct text *text, uint64_t number)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, str_grouped(words, number), COLUMNS);
}

static void add_titles(struct text *text, const char *const *titles, size_t count, const char *last)
{
	for (size_t i = 0; i < count; i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, last);
	str_add_char(&text->out, '\n');
}

static void add_function(struct text *text, const char *name, const struct model_latency *latency)
{
	add_time(text, TEXT_VALUE, latency->total_ns);
	add_number(text, latency->count);
	add_time(text, TEXT_PLAIN, mean_of(latency->total_ns, latency->count));
	for (size_t i = 0; i < array_size(percents); i++)
		add_time(text, TEXT_PLAIN, latency_percentile(latency, percents[i]));
	add_time(text, TEXT_PLAIN, latency->max_ns);
	str_add(&text->out, "  ");
	text_add(text, TEXT_BOLD, name);
	str_add_char(&text->out, '\n');
}

static void add_functions(struct text *text, const struct answer *answer)
{
	static const char *const titles[] = { "time", "calls", "mean",	 "p50",
					      "p90",  "p99",   "longest" };
	const struct model_latency *total = &answer->times.total;
	CLEAN(str_deinit) struct str right = { 0 };

	str_add_duration(&right, total->total_ns);
	str_add(&right, " in ");
	str_add_counted(&right, total->count, "call");
	text_heading(text, "Time in the allocator", str_text(&right));
	add_titles(text, titles, array_size(titles), "  call");
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++)
		if (answer->times.functions[fn].count > 0)
			add_function(text, tape_fn_name((enum tape_fn)fn),
				     &answer->times.functions[fn]);
}

/* "malloc(24)", "free" */
static void add_call(struct text *text, const struct slow_call *call)
{
	CLEAN(str_deinit) struct str words = { 0 };
	size_t width;

	str_add(&words, tape_fn_name((enum tape_fn)call->fn));
	text_add(text, TEXT_BOLD, str_text(&words));
	width = str_width(str_text(&words));
	str_add_repeated(&text->out, ' ', width < CALL_COLUMNS ? CALL_COLUMNS - width : 1);
}

static void add_slowest(struct text *text, const struct answer *answer)
{
	static const char *const titles[] = { "time", "at", "size" };
	const struct report_context *context = answer->context;
	const size_t columns = 3 * COLUMNS + CALL_COLUMNS + 2;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Slowest calls", NULL);
	add_titles(text, titles, array_size(titles), "  call            from");
	for (size_t i = 0; i < answer->times.slowest_count; i++) {
		const struct slow_call *call = &answer->times.slowest[i];

		add_time(text, TEXT_VALUE, call->ns);
		add_time(text, TEXT_PLAIN, call->event_ns);
		text_right(text, TEXT_PLAIN, str_iec(words, call->size), COLUMNS);
		str_add(&text->out, "  ");
		add_call(text, call);
		rank_frame(text, context, rank_site_frame(context, call->stack), 1, TEXT_PLAIN,
			   text->width > columns + FUNCTION_COLUMNS ? text->width - columns
								    : FUNCTION_COLUMNS);
		rank_callers(text, context, call->stack, columns);
	}
}

static void add_sites(struct text *text, const struct answer *answer)
{
	static const char *const titles[] = { "share", "time", "calls", "mean", "longest" };
	const struct report_context *context = answer->context;
	const size_t columns = array_size(titles) * COLUMNS + 2;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Who spends it", NULL);
	add_titles(text, titles, array_size(titles), "  function");
	for (size_t i = 0; i < answer->site_count; i++) {
		const struct call_site *site = &answer->times.sites[i];

		str_percent(words, site->sum.total_ns, answer->times.total.total_ns);
		text_right(text, TEXT_BOLD, words, COLUMNS);
		add_time(text, TEXT_VALUE, site->sum.total_ns);
		add_number(text, site->sum.count);
		add_time(text, TEXT_PLAIN, mean_of(site->sum.total_ns, site->sum.count));
		add_time(text, TEXT_PLAIN, site->sum.max_ns);
		str_add(&text->out, "  ");
		rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
			   text->width > columns + FUNCTION_COLUMNS ? text->width - columns
								    : FUNCTION_COLUMNS);
		rank_callers(text, context, site->stack, columns);
	}
}

static struct err *latency_text(const struct answer *answer, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(answer->context->settings);

	text_head(&text, answer->context->model);
	if (answer->times.total.count == 0) {
		str_add(&text.out, "\nNo call was measured.\n");
	} else {
		add_functions(&text, answer);
		add_slowest(&text, answer);
		add_sites(&text, answer);
	}
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- JSON and CSV ---------------------------------------------------------------------------- */

static void emit_times(struct emit *emit, uint64_t count, uint64_t total_ns, uint64_t max_ns)
{
	emit_u64(emit, "calls", count, EMIT_COUNT);
	emit_u64(emit, "total_ns", total_ns, EMIT_DURATION);
	emit_u64(emit, "mean_ns", mean_of(total_ns, count), EMIT_DURATION);
	emit_u64(emit, "max_ns", max_ns, EMIT_DURATION);
}

static void emit_latency(struct emit *emit, const struct model_latency *latency)
{
	static const char *const keys[] = { "p50_ns", "p90_ns", "p99_ns" };

	emit_times(emit, latency->count, latency->total_ns, latency->max_ns);
	for (size_t i = 0; i < array_size(keys); i++)
		emit_u64(emit, keys[i], latency_percentile(latency, percents[i]), EMIT_DURATION);
}

static void emit_histogram(struct emit *emit, const struct model_latency *latency)
{
	emit_list(emit, "histogram");
	for (size_t i = 0; i < MODEL_LATENCY_BUCKETS; i++) {
		if (latency->buckets[i] == 0)
			continue;
		emit_object(emit, NULL);
		emit_u64(emit, "min_ns", latency_bucket_begin(i), EMIT_DURATION);
		emit_u64(emit, "max_ns", latency_bucket_begin(i + 1) - 1, EMIT_DURATION);
		emit_u64(emit, "count", latency->buckets[i], EMIT_COUNT);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_functions(struct emit *emit, const char *key, const struct answer *answer)
{
	static const struct emit_column columns[] = {
		{ .key = "call" },    { .key = "calls" },  { .key = "total_ns" },
		{ .key = "mean_ns" }, { .key = "max_ns" }, { .key = "p50_ns" },
		{ .key = "p90_ns" },  { .key = "p99_ns" },
	};

	emit_table(emit, key, columns, array_size(columns));
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		const struct model_latency *latency = &answer->times.functions[fn];

		if (latency->count == 0)
			continue;
		emit_row(emit);
		emit_text(emit, "call", tape_fn_name((enum tape_fn)fn));
		emit_latency(emit, latency);
		if (emit_format_of(emit) == EMIT_JSON)
			emit_histogram(emit, latency);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_slowest(struct emit *emit, const struct answer *answer)
{
	const struct report_context *context = answer->context;

	emit_list(emit, "slowest");
	for (size_t i = 0; i < answer->times.slowest_count; i++) {
		const struct slow_call *call = &answer->times.slowest[i];

		emit_object(emit, NULL);
		emit_u64(emit, "latency_ns", call->ns, EMIT_DURATION);
		emit_u64(emit, "time_ns", call->event_ns, EMIT_DURATION);
		emit_text(emit, "call", tape_fn_name((enum tape_fn)call->fn));
		emit_bool(emit, "is_free", call->is_free);
		emit_u64(emit, "allocation", call->row, EMIT_PLAIN);
		emit_u64(emit, "size", call->size, EMIT_BYTES);
		if (call->thread == MODEL_NO_THREAD)
			emit_null(emit, "thread");
		else
			emit_u64(emit, "thread", model_thread(context->model, call->thread)->tid,
				 EMIT_PLAIN);
		rank_emit_stack(emit, "stack", context, call->stack);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_sites(struct emit *emit, const struct answer *answer)
{
	emit_list(emit, "sites");
	for (size_t i = 0; i < answer->site_count; i++) {
		const struct call_site *site = &answer->times.sites[i];

		emit_object(emit, NULL);
		rank_emit_place(emit, answer->context,
				rank_site_frame(answer->context, site->stack));
		emit_times(emit, site->sum.count, site->sum.total_ns, site->sum.max_ns);
		emit_percent(emit, "share", site->sum.total_ns, answer->times.total.total_ns);
		rank_emit_stack(emit, "stack", answer->context, site->stack);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *latency_emit(const struct answer *answer, FILE *out)
{
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_CSV) {
		emit_functions(emit, NULL, answer);
		return emit_finish(emit);
	}
	emit_object(emit, NULL);
	emit_latency(emit, &answer->times.total);
	emit_functions(emit, "functions", answer);
	emit_slowest(emit, answer);
	emit_text(emit, "sort", call_times_order_words[answer->context->settings->sort]);
	emit_sites(emit, answer);
	quality_emit(emit, answer->context);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const struct call_times_settings asked = {
		.order = (enum call_times_order)settings->sort,
		.mode = context->mode,
		.slowest_max = settings->with.top ? settings->with.top
			       : is_text	  ? CALLS_SHOWN
						  : CALLS_EMITTED,
	};
	const size_t sites_max = settings->with.top ? settings->with.top
				 : is_text	    ? SITES_SHOWN
						    : SIZE_MAX;
	struct answer answer = { .context = context };
	struct err *err = call_times_find(context->selection, context->names, &asked,
					  context->arena, &answer.times);

	if (err)
		return err;
	answer.site_count = u64_min(answer.times.site_count, sites_max);
	return is_text ? latency_text(&answer, out) : latency_emit(&answer, out);
}

const struct report report_latency = {
	.name = "latency",
	.summary = "how long calls of the allocator took; record with --latency",
	.depth = MODEL_FULL,
	.sorts = call_times_order_words,
	.selects = true,
	.ignores_leaks = true,
	.run = run,
};
