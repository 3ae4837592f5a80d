#include "questions/groups.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SHOWN = 12, COLUMNS = 12 };

static void add_moment(struct str *out, const struct saving *saving)
{
	str_add_iec(out, saving->peak_without_bytes);
	if (saving->peak_without_ns == SHAPE_NONE)
		return;
	str_add(out, ", then at ");
	str_add_duration(out, saving->peak_without_ns);
}

static void add_facts(struct text *text, const struct savings_answer *answer)
{
	char value[STR_SHORT_BYTES];

	text_heading(text, "What would it save?", "the peak without each group");
	text_label(text, "peak");
	text_right(text, TEXT_VALUE, str_iec(value, answer->peak_bytes), COLUMNS);
	if (answer->peak_ns != SHAPE_NONE) {
		str_add(&text->out, "   at ");
		str_add_duration(&text->out, answer->peak_ns);
	}
	str_add_char(&text->out, '\n');
	if (!answer->selected)
		return;
	text_label(text, "filtered");
	text_right(text, TEXT_GOOD, str_iec(value, answer->selected->saves_bytes), COLUMNS);
	str_add(&text->out, "   saved without all of them: ");
	add_moment(&text->out, answer->selected);
	str_add_char(&text->out, '\n');
}

static void add_name(struct text *text, const struct report_context *context,
		     const struct saving_row *row)
{
	const size_t indent = 3 * COLUMNS + 2;

	if (row->stack == CAPTURE_STACK_NONE || !row->place.function) {
		text_add(text, TEXT_BOLD, row->title);
		str_add_char(&text->out, '\n');
		return;
	}
	rank_frame(text, context, rank_site_frame(context, row->stack), 1, TEXT_BOLD,
		   text->width - indent);
	rank_callers(text, context, row->stack, indent);
}

static void add_rows(struct text *text, const struct report_context *context,
		     const struct savings_answer *answer, size_t count)
{
	static const char *const titles[] = { "saves", "peak then", "at" };
	const struct saving_row *rows = answer->savings.items;
	char words[STR_SHORT_BYTES];

	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	str_add(&text->out, "  ");
	text_add(text, TEXT_DIM, answer->by);
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < count; i++) {
		const struct saving *saving = &rows[i].saving;
		CLEAN(str_deinit) struct str at = { 0 };

		if (saving->peak_without_ns != SHAPE_NONE)
			str_add_duration(&at, saving->peak_without_ns);
		text_right(text, TEXT_GOOD, str_iec(words, saving->saves_bytes), COLUMNS);
		text_right(text, TEXT_VALUE, str_iec(words, saving->peak_without_bytes), COLUMNS);
		text_right(text, TEXT_PLAIN, str_text(&at), COLUMNS);
		str_add(&text->out, "  ");
		add_name(text, context, &rows[i]);
	}
}

static struct err *savings_text(const struct report_context *context, const void *value, FILE *out)
{
	const struct savings_answer *answer = value;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const size_t count = answer->savings.count;

	text_head(&text, context->model);
	add_facts(&text, answer);
	if (count == 0)
		str_add(&text.out, "\nWithout any one of them the peak would be the same\n");
	else
		add_rows(&text, context, answer, count);
	if (count < answer->total_count) {
		str_add(&text.out, "… and ");
		str_add_counted(&text.out, answer->total_count - count, "more group");
		str_add(&text.out, "; --top N shows N\n");
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SHOWN;
}

const struct report report_savings = {
	.question = &question_savings,
	.text = savings_text,
	.for_text = for_text,
};
