/*
 * timeline: a chart of live bytes that fits the terminal, one line per time step.
 */
#include "questions/timeline.h"

#include "questions/questions.h"
#include "report/quality.h"

enum { LINES_DEFAULT = 32, TIME_COLUMNS = 10, BYTES_COLUMNS = 11, BAR_COLUMNS_MAX = 64 };

static void add_step(struct text *text, const struct timeline_step *step, uint64_t most,
		     size_t bar_columns)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_DIM, str_duration(words, step->begin_ns), TIME_COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, step->live_bytes_max), BYTES_COLUMNS);
	text_right(text, TEXT_DIM,
		   step->rss_bytes == SHAPE_NONE ? "-" : str_iec(words, step->rss_bytes),
		   BYTES_COLUMNS);
	text_right(text, TEXT_DIM, str_grouped(words, step->allocated_count), BYTES_COLUMNS + 2);
	str_add(&text->out, "  ");
	text_bar(text, step->live_bytes_max, most, bar_columns);
	str_add_char(&text->out, '\n');
}

static struct err *timeline_text(const struct report_context *context, const void *answer,
				 FILE *out)
{
	const struct timeline_answer *timeline = answer;
	const struct timeline_step *steps = timeline->timeline.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const size_t taken = TIME_COLUMNS + 3 * BYTES_COLUMNS + 4;
	const size_t bar_columns = text.width > taken + 8 ? text.width - taken : 8;
	uint64_t most = 0;

	for (size_t i = 0; i < timeline->timeline.count; i++)
		most = u64_max(most, steps[i].live_bytes_max);
	text_right(&text, TEXT_DIM, "time", TIME_COLUMNS);
	text_right(&text, TEXT_DIM, "live", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "resident", BYTES_COLUMNS);
	text_right(&text, TEXT_DIM, "allocations", BYTES_COLUMNS + 2);
	str_add_char(&text.out, '\n');
	for (size_t i = 0; i < timeline->timeline.count; i++)
		add_step(&text, &steps[i], most, u64_min(bar_columns, BAR_COLUMNS_MAX));
	quality_text(&text, context);
	return text_write(&text, out);
}

/* As many lines as fit a terminal. */
static void for_text(struct parameters *with)
{
	if (with->points == 0 && with->top == 0)
		with->points = LINES_DEFAULT;
}

const struct report report_timeline = {
	.question = &question_timeline,
	.for_text = for_text,
	.text = timeline_text,
};
