#include "questions/address_space.h"

#include "questions/questions.h"
#include "report/answered.h"
#include "report/quality.h"
#include "report/text.h"

enum { ROWS_SHOWN = 40, FRAMES_SHOWN = 4, FUNCTION_COLUMNS = 32 };

/* The file, or the functions that mapped the memory. NULL: out of memory. */
static const char *what_of(const struct report_context *context, const struct mapping_row *row)
{
	struct walk walk = walk_begin(context->model, context->names, row->stack, context->mode);
	CLEAN(str_deinit) struct str words = { 0 };
	const struct name_frame *frame;

	str_add(&words, row->name);
	for (size_t i = 0;
	     row->stack != CAPTURE_STACK_NONE && i < FRAMES_SHOWN && (frame = walk_next(&walk));
	     i++) {
		if (words.len > 0)
			str_add(&words, i == 0 ? "  " : " < ");
		str_add_function(&words, names_get(context->names, frame->name)->brief,
				 FUNCTION_COLUMNS);
	}
	return arena_strdup(context->arena, str_text(&words));
}

static struct err *mappings_text(const struct report_context *context, const void *answer,
				 FILE *out)
{
	struct mappings_answer shown = *(const struct mappings_answer *)answer;
	const size_t count = shown.mappings.count;
	struct mapping_row *rows = arena_array(context->arena, count + 1, sizeof(*rows));
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct err *err;

	if (!rows)
		return err_nomem();
	memcpy(rows, shown.mappings.items, count * sizeof(*rows));
	for (size_t i = 0; i < count; i++) {
		rows[i].what = what_of(context, &rows[i]);
		if (!rows[i].what)
			return err_nomem();
	}
	shown.mappings.items = rows;
	err = answered_table(&question_mappings, context, &shown, out);
	if (err)
		return err;
	quality_text(&text, context);
	return text_write(&text, out);
}

/* Largest first. */
static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = ROWS_SHOWN;
	if (!with->sort)
		with->sort = "resident";
}

const struct report report_mappings = {
	.question = &question_mappings,
	.text = mappings_text,
	.for_text = for_text,
};
