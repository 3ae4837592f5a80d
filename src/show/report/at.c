#include "questions/between.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 12, NUMBER_COLUMNS = 12, NUMBERS_COLUMNS = 36 };

/* The moment as given on the command line: nanoseconds are not readable. */
static void add_title(struct text *text, const struct model *model, const struct at_answer *at)
{
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str right = { 0 };

	str_add(&title, "Alive after ");
	str_add_duration(&title, at->at_ns);
	str_add_iec(&right, at->live_bytes);
	str_add(&right, " in ");
	str_add_counted(&right, at->live_count, "block");
	str_add(&right, ", ");
	str_add_percent(&right, at->live_bytes, model_totals(model)->peak.bytes);
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

static struct err *at_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct at_answer *at = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	add_title(&text, context->model, at);
	if (at->sites.count > 0)
		add_columns(&text);
	for (size_t i = 0; i < at->sites.count; i++) {
		const struct site *site = at->ranked[i];
		const uint32_t stack = site->stacks[METRIC_PEAK];

		rank_numbers(&text, METRIC_PEAK, &site->sums, at->live_bytes);
		rank_frame(&text, context, rank_site_frame(context, stack), 1, TEXT_BOLD,
			   text.width - NUMBERS_COLUMNS);
		rank_callers(&text, context, stack, NUMBER_COLUMNS);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_at = {
	.question = &question_at,
	.text = at_text,
	.for_text = for_text,
};
