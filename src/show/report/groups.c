#include "questions/groups.h"

#include "questions/questions.h"
#include "report/answered.h"
#include "report/quality.h"
#include "report/suppressed.h"
#include "report/text.h"

enum { GROUPS_SHOWN = 20 };

/* "120 of 5,000 allocations in 3 groups by function" */
static void add_head(struct text *text, const struct model *model,
		     const struct groups_answer *groups)
{
	const uint64_t all = model_row_count(model);

	text_style(text, TEXT_DIM);
	if (groups->allocations < all) {
		str_add_grouped(&text->out, groups->allocations);
		str_add(&text->out, " of ");
	}
	str_add_counted(&text->out, all, "allocation");
	str_add(&text->out, ", in ");
	str_add_counted(&text->out, groups->total_count, "group");
	str_printf(&text->out, " by %s", groups->by);
	text_style(text, TEXT_PLAIN);
	str_add(&text->out, "\n\n");
}

static void add_rest(struct text *text, const struct report_context *context,
		     const struct groups_answer *groups)
{
	const uint64_t rest = groups->total_count - groups->groups.count;

	if (rest == 0)
		return;
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	str_add_counted(&text->out, rest, "more group");
	str_add(&text->out, context->settings->with.top ? "" : "; --top says how many are shown");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static struct err *groups_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct groups_answer *groups = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct err *err;

	add_head(&text, context->model, groups);
	err = text_write(&text, out);
	if (!err && groups->groups.count > 0)
		err = answered_table(&question_groups, context, answer, out);
	if (err)
		return err;
	add_rest(&text, context, groups);
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = GROUPS_SHOWN;
}

const struct report report_groups = {
	.question = &question_groups,
	.text = groups_text,
	.for_text = for_text,
};
