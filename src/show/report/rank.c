#include "report/rank.h"

#include <assert.h>

#include "answer/frame.h"
#include "answer/ranking.h"
#include "answer/speak.h"
#include "report/quality.h"
#include "report/suppressed.h"

enum {
	TOP_DEFAULT = 10,
	STACKS_SHOWN = 3,     /* per function */
	STACK_SHARE_MIN = 20, /* at least one in this many of the function's bytes or calls */
	FRAMES_SHOWN = 24,    /* per stack, in text */
	SHARE_COLUMNS = 9,
	VALUE_COLUMNS = 12,
	OTHER_COLUMNS = 13,
	FUNCTION_COLUMNS_MIN = 24,
	PLACE_COLUMNS_MIN = 16,
	VIA_COLUMNS = 36
};

const struct name_frame *rank_site_frame(const struct report_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);

	assert(stack < model_stack_count(context->model));
	return walk_next(&walk);
}

/* --- text ---------------------------------------------------------------------------------- */

void rank_numbers(struct text *text, enum metric metric, const struct model_stack_sums *sums,
		  uint64_t whole)
{
	char share[STR_SHORT_BYTES], bytes[STR_SHORT_BYTES], calls[STR_SHORT_BYTES];
	const bool is_bytes = metric_is_bytes(metric);

	assert((unsigned)metric < METRICS_KEYED);
	str_percent(share, metric_value(metric, sums), whole);
	str_iec(bytes, metric_bytes(metric, sums));
	str_grouped(calls, metric_calls(metric, sums));
	text_right(text, TEXT_BOLD, share, SHARE_COLUMNS);
	text_right(text, TEXT_VALUE, is_bytes ? bytes : calls, VALUE_COLUMNS);
	text_right(text, TEXT_PLAIN, is_bytes ? calls : bytes, OTHER_COLUMNS);
	str_add(&text->out, "  ");
}

static void add_columns(struct text *text, enum metric metric)
{
	const bool is_bytes = metric_is_bytes(metric);
	const char *calls = metric == METRIC_PEAK || metric == METRIC_LEAKED ? "blocks" : "calls";

	text_right(text, TEXT_DIM, "share", SHARE_COLUMNS);
	text_right(text, TEXT_DIM, is_bytes ? "bytes" : calls, VALUE_COLUMNS);
	text_right(text, TEXT_DIM, is_bytes ? calls : "bytes", OTHER_COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

/* function  file:line  module */
void rank_frame(struct text *text, const struct report_context *context,
		const struct name_frame *frame, uint64_t times, enum text_style style,
		size_t columns)
{
	const struct name *name = names_get(context->names, frame->name);
	/* What has no room beside the function is below it, and further in. */
	const size_t below = columns > PLACE_COLUMNS_MIN + 4 ? columns - 4 : PLACE_COLUMNS_MIN;
	CLEAN(str_deinit) struct str place = { 0 };
	size_t rest;

	assert(frame);
	assert(times >= 1);
	text_place(&place, frame->file, frame->line, name, text->fold ? below : 0);
	text_times(&place, times);
	rest = str_width(str_text(&place)) + 2;
	text_function(text, style, name->brief,
		      columns > rest + FUNCTION_COLUMNS_MIN ? columns - rest
		      : text->fold			    ? u64_max(columns, FUNCTION_COLUMNS_MIN)
							    : FUNCTION_COLUMNS_MIN);
	if (place.len > 0) {
		str_add(&text->out, "  ");
		text_add(text, TEXT_DIM, str_text(&place));
	}
	str_add_char(&text->out, '\n');
}

/* "via std::vector::resize", what the user's code called. */
static void add_via(struct text *text, const struct report_context *context,
		    const struct name_frame *via, size_t columns)
{
	text_add(text, TEXT_DIM, "via ");
	text_function(text, TEXT_DIM, names_get(context->names, via->name)->brief,
		      columns - strlen("via "));
}

void rank_callers(struct text *text, const struct report_context *context, uint32_t stack,
		  size_t indent)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *via;
	struct walk ahead;
	bool has_callers;

	assert(stack < model_stack_count(context->model));
	walk_next(&walk); /* the function itself */
	via = walk.via;
	ahead = walk;
	has_callers = walk_next(&ahead);
	if (!has_callers && !via)
		return;
	str_add_repeated(&text->out, ' ', indent);
	if (via)
		add_via(text, context, via, VIA_COLUMNS);
	if (via && has_callers)
		str_add_char(&text->out, ' ');
	text_callers(text, context, &walk, text->width - indent - (via ? VIA_COLUMNS : 0));
	str_add_char(&text->out, '\n');
}

/* Adds how many frames are left; `count` of them have been taken from the walk already. */
static void add_rest(struct text *text, struct walk *walk, uint64_t count, size_t indent)
{
	while (walk_next(walk))
		count++;
	str_add_repeated(&text->out, ' ', indent);
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	str_add_counted(&text->out, count, "more frame");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_via_line(struct text *text, const struct report_context *context,
			 const struct name_frame *via, size_t indent)
{
	str_add_repeated(&text->out, ' ', indent);
	add_via(text, context, via, text->width - indent);
	str_add_char(&text->out, '\n');
}

/* A stack with all of its function's bytes needs no numbers, and does not repeat the function. */
static void add_stack(struct text *text, const struct report_context *context,
		      const struct site *site, enum metric metric, uint32_t stack, uint64_t whole)
{
	const size_t indent = SHARE_COLUMNS + VALUE_COLUMNS + OTHER_COLUMNS + 2;
	const struct model_stack_sums *sums = sums_of_stack(&context->sums, stack);
	const bool is_all = metric_value(metric, sums) == metric_value(metric, &site->sums);
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame;
	uint64_t times;

	for (size_t i = 0; (frame = walk_next_run(&walk, true, &times)); i++) {
		if (i == FRAMES_SHOWN) {
			add_rest(text, &walk, times, indent);
			return;
		}
		if (i == 0 && !is_all)
			rank_numbers(text, metric, sums, whole);
		else if (i > 0 || times > 1)
			str_add_repeated(&text->out, ' ', indent);
		if (i > 0 || !is_all || times > 1)
			rank_frame(text, context, frame, times,
				   frame->is_inlined ? TEXT_DIM : TEXT_PLAIN, text->width - indent);
		if (i == 0 && walk.via)
			add_via_line(text, context, walk.via, indent);
	}
}

/* The heaviest stacks, as long as their share is significant. */
static struct err *add_stacks(struct text *text, const struct report_context *context,
			      const struct sites *sites, const struct site *site,
			      enum metric metric, uint64_t whole)
{
	const struct sums *sums = &context->sums;
	const uint64_t value_min = metric_value(metric, &site->sums) / STACK_SHARE_MIN;
	const uint32_t *stacks;
	size_t count, shown = 0;
	struct err *err = sites_stacks(sites, site, metric, 0, context->arena, &stacks, &count);

	if (err)
		return err;
	while (shown < count && shown < STACKS_SHOWN &&
	       (shown == 0 ||
		metric_value(metric, sums_of_stack(sums, stacks[shown])) >= value_min))
		add_stack(text, context, site, metric, stacks[shown++], whole);
	if (shown < count) {
		str_add_repeated(&text->out, ' ',
				 SHARE_COLUMNS + VALUE_COLUMNS + OTHER_COLUMNS + 2);
		text_style(text, TEXT_DIM);
		str_add(&text->out, "… and ");
		str_add_counted(&text->out, count - shown, "more stack");
		text_style(text, TEXT_PLAIN);
		str_add_char(&text->out, '\n');
	}
	return NULL;
}

static void add_title(const struct report_context *context, struct text *text, enum metric metric)
{
	const struct model_stack_sums *totals = &context->sums.total;
	const bool goes_on = text_goes_on(context->model);
	const char *const titles[METRICS] = {
		[METRIC_PEAK] = "Alive at the peak",
		[METRIC_LEAKED] = goes_on ? "Not freed yet"
				  : text_was_replaced(context->model)
					  ? "Alive when it became another program"
					  : "Never freed",
		[METRIC_ALLOCATED] = "Most bytes allocated",
		[METRIC_COUNT] = "Most calls",
		[METRIC_TEMPORARY] = "Temporary: freed before their thread allocated again",
	};
	CLEAN(str_deinit) struct str right = { 0 };

	if (metric_is_bytes(metric)) {
		str_add_iec(&right, metric_bytes(metric, totals));
		str_add(&right, " in ");
	}
	str_add_counted(&right, metric_calls(metric, totals),
			metric_is_bytes(metric) && metric != METRIC_ALLOCATED ? "block" : "call");
	text_heading(text, titles[metric], str_text(&right));
}

/* "… and 12 more functions: 3.4 MiB (5.1 %)", those behind the last one shown. */
static void add_others(struct text *text, const struct sites *sites, enum metric metric,
		       size_t shown, uint64_t rest)
{
	const uint64_t whole = metric_value(metric, &sites->sums->total);
	size_t count = 0;

	for (size_t i = 0; i < sites->count; i++)
		count += metric_value(metric, &sites->items[i].sums) > 0;
	if (count <= shown)
		return;
	str_add_char(&text->out, '\n');
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… and ");
	str_add_counted(&text->out, count - shown, "more function");
	str_add(&text->out, ": ");
	if (metric_is_bytes(metric))
		str_add_iec(&text->out, rest);
	else
		str_add_counted(&text->out, rest, "call");
	str_add(&text->out, ", ");
	str_add_percent(&text->out, rest, whole);
	str_add(&text->out, "; --top shows more");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_note(struct text *text, const char *note)
{
	if (!note)
		return;
	str_add_repeated(&text->out, ' ', SHARE_COLUMNS + VALUE_COLUMNS + OTHER_COLUMNS + 2);
	str_add(&text->out, note);
	str_add_char(&text->out, '\n');
}

struct err *rank_text(const struct report_context *context, struct text *text,
		      const struct sites *sites, enum metric metric, size_t top,
		      enum rank_detail detail, const char *const *notes)
{
	const struct model_stack_sums *totals = &context->sums.total;
	const uint64_t whole = metric_value(metric, totals);
	const struct site *const *ranked;
	uint64_t shown = 0;
	size_t count;
	struct err *err = sites_rank(sites, metric, top, context->arena, &ranked, &count);

	assert((unsigned)metric < METRICS_KEYED);
	assert(detail == RANK_CALLERS || detail == RANK_STACKS);
	assert(sites->sums->model == context->model);
	if (err || count == 0)
		return err;
	add_title(context, text, metric);
	add_columns(text, metric);
	for (size_t i = 0; i < count; i++) {
		rank_numbers(text, metric, &ranked[i]->sums, whole);
		rank_frame(text, context, rank_site_frame(context, ranked[i]->stacks[metric]), 1,
			   TEXT_BOLD,
			   text->width - SHARE_COLUMNS - VALUE_COLUMNS - OTHER_COLUMNS - 2);
		add_note(text, notes ? notes[ranked[i] - sites->items] : NULL);
		if (detail == RANK_CALLERS)
			rank_callers(text, context, ranked[i]->stacks[metric], SHARE_COLUMNS + 3);
		else
			err = add_stacks(text, context, sites, ranked[i], metric, whole);
		if (err)
			return err;
		if (detail == RANK_STACKS && i + 1 < count)
			str_add_char(&text->out, '\n');
		shown += metric_value(metric, &ranked[i]->sums);
	}
	if (detail == RANK_STACKS)
		add_others(text, sites, metric, count, whole - u64_min(shown, whole));
	return NULL;
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

struct err *rank_noted_text(const struct report_context *context, const struct ranking *ranking,
			    const char *const *notes, FILE *out)
{
	const bool is_leaks = ranking->metric == METRIC_LEAKED;
	const size_t top = context->settings->with.top ? context->settings->with.top : TOP_DEFAULT;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	size_t head_bytes;
	struct err *err;

	assert((unsigned)ranking->metric < METRICS_KEYED);
	text_head(&text, context->model);
	head_bytes = text.out.len;
	err = rank_text(context, &text, &ranking->found, ranking->metric, top, RANK_STACKS, notes);
	if (err)
		return err;
	if (text.out.len == head_bytes) {
		str_add_char(&text.out, '\n');
		text_add(&text, TEXT_GOOD, is_leaks ? "Nothing leaked." : "Nothing of that kind.");
		str_add_char(&text.out, '\n');
	}
	if (is_leaks)
		suppressed_text(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

struct err *rank_ranking_text(const struct report_context *context, const void *answer, FILE *out)
{
	return rank_noted_text(context, answer, NULL, out);
}
