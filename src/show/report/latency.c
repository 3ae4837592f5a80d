#include "questions/latency.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { ROWS_SHOWN = 8, COLUMNS = 11, CALL_COLUMNS = 16, FUNCTION_COLUMNS = 30 };

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

static void add_function(struct text *text, const struct timed_function *function)
{
	const struct call_spread *spread = &function->spread;

	add_time(text, TEXT_VALUE, spread->time.total_ns);
	add_number(text, spread->time.calls);
	add_time(text, TEXT_PLAIN, spread->time.mean_ns);
	add_time(text, TEXT_PLAIN, spread->p50_ns);
	add_time(text, TEXT_PLAIN, spread->p90_ns);
	add_time(text, TEXT_PLAIN, spread->p99_ns);
	add_time(text, TEXT_PLAIN, spread->time.max_ns);
	str_add(&text->out, "  ");
	text_add(text, TEXT_BOLD, function->call);
	str_add_char(&text->out, '\n');
}

static void add_functions(struct text *text, const struct latency_answer *answer)
{
	static const char *const titles[] = { "time", "calls", "mean",	 "p50",
					      "p90",  "p99",   "longest" };
	const struct timed_function *functions = answer->functions.items;
	CLEAN(str_deinit) struct str right = { 0 };

	str_add_duration(&right, answer->total.time.total_ns);
	str_add(&right, " in ");
	str_add_counted(&right, answer->total.time.calls, "call");
	text_heading(text, "Time in the allocator", str_text(&right));
	add_titles(text, titles, array_size(titles), "  call");
	for (size_t i = 0; i < answer->functions.count; i++)
		add_function(text, &functions[i]);
}

static void add_call(struct text *text, const char *call)
{
	const size_t width = str_width(call);

	text_add(text, TEXT_BOLD, call);
	str_add_repeated(&text->out, ' ', width < CALL_COLUMNS ? CALL_COLUMNS - width : 1);
}

static void add_slowest(struct text *text, const struct report_context *context,
			const struct latency_answer *answer)
{
	static const char *const titles[] = { "time", "at", "size" };
	const size_t columns = 3 * COLUMNS + CALL_COLUMNS + 2;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Slowest calls", NULL);
	add_titles(text, titles, array_size(titles), "  call            from");
	for (size_t i = 0; i < answer->slowest.count; i++) {
		const struct slowest_call *call =
			&((const struct slowest_call *)answer->slowest.items)[i];

		add_time(text, TEXT_VALUE, call->latency_ns);
		add_time(text, TEXT_PLAIN, call->time_ns);
		text_right(text, TEXT_PLAIN, str_iec(words, call->size), COLUMNS);
		str_add(&text->out, "  ");
		add_call(text, call->call);
		rank_frame(text, context, rank_site_frame(context, call->stack), 1, TEXT_PLAIN,
			   text->width > columns + FUNCTION_COLUMNS ? text->width - columns
								    : FUNCTION_COLUMNS);
		rank_callers(text, context, call->stack, columns);
	}
}

static void add_sites(struct text *text, const struct report_context *context,
		      const struct latency_answer *answer)
{
	static const char *const titles[] = { "share", "time", "calls", "mean", "longest" };
	const size_t columns = array_size(titles) * COLUMNS + 2;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Who spends it", NULL);
	add_titles(text, titles, array_size(titles), "  function");
	for (size_t i = 0; i < answer->sites.count; i++) {
		const struct timed_site *site =
			&((const struct timed_site *)answer->sites.items)[i];

		str_percent(words, site->share.part, site->share.whole);
		text_right(text, TEXT_BOLD, words, COLUMNS);
		add_time(text, TEXT_VALUE, site->time.total_ns);
		add_number(text, site->time.calls);
		add_time(text, TEXT_PLAIN, site->time.mean_ns);
		add_time(text, TEXT_PLAIN, site->time.max_ns);
		str_add(&text->out, "  ");
		rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
			   text->width > columns + FUNCTION_COLUMNS ? text->width - columns
								    : FUNCTION_COLUMNS);
		rank_callers(text, context, site->stack, columns);
	}
}

static struct err *latency_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct latency_answer *latency = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	if (latency->total.time.calls == 0) {
		str_add(&text.out, "\nNo call was measured.\n");
	} else {
		add_functions(&text, latency);
		add_slowest(&text, context, latency);
		add_sites(&text, context, latency);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = ROWS_SHOWN;
}

const struct report report_latency = {
	.question = &question_latency,
	.text = latency_text,
	.for_text = for_text,
};
