#include "questions/tree.h"

#include "questions/questions.h"
#include "report/branches.h"
#include "report/quality.h"
#include "report/suppressed.h"

enum {
	ONE_IN = 100,
	TREE_LINES = 60,
	FUNCTION_LINES = 18 /* per side, by default */
};

static void add_pruned(struct text *text, const struct report_context *context, uint64_t count)
{
	const uint64_t one_in = context->settings->with.one_in;
	const uint64_t whole = one_in ? one_in : ONE_IN;

	if (count == 0)
		return;
	text_style(text, TEXT_DIM);
	str_add(&text->out, "\nBranches under ");
	str_add_ratio(&text->out, 100, whole, whole <= 100 ? 0 : whole <= 1000 ? 1 : 4);
	str_add(&text->out, " % are left out: ");
	str_add_grouped(&text->out, count);
	str_add(&text->out, one_in ? " of them.\n" : " of them. --json has those down to 0.1 %.\n");
	text_style(text, TEXT_PLAIN);
}

static struct err *whole_text(const struct report_context *context,
			      const struct tree_answer *answer, struct text *text)
{
	const size_t top = context->settings->with.top;
	CLEAN(str_deinit) struct str title = { 0 };

	branches_total(&title, context, &answer->tree);
	text_heading(text, str_text(&title),
		     answer->bottom_up ? "bottom-up: under each function, who called it"
				       : "top-down: under each function, what it called");
	return branches_text(text, context, &answer->tree, top ? top : TREE_LINES);
}

static struct err *add_side(struct text *text, const struct report_context *context,
			    const struct tree *tree, const char *words)
{
	const size_t top = context->settings->with.top;

	text_heading(text, words, NULL);
	return branches_text(text, context, tree, top ? top : FUNCTION_LINES);
}

static struct err *function_text(const struct report_context *context,
				 const struct tree_answer *answer, struct text *text)
{
	const struct tree *callees = &answer->tree;
	const struct model_stack_sums *total = &callees->nodes[TREE_ROOT].total;
	CLEAN(str_deinit) struct str title = { 0 };
	char share[STR_SHORT_BYTES];
	struct err *err;

	branches_total(&title, context, callees);
	str_add(&title, " in ");
	str_add_function(&title, answer->function, 60);
	str_percent(share, metric_value(callees->metric, total), answer->whole);
	text_heading(text, str_text(&title), share);
	err = add_side(text, context, &answer->up, "Who called it");
	return err ? err : add_side(text, context, callees, "What it called");
}

static struct err *tree_text(const struct report_context *context, const void *result, FILE *out)
{
	const struct tree_answer *answer = result;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct err *err;

	text_head(&text, context->model);
	err = answer->function ? function_text(context, answer, &text)
			       : whole_text(context, answer, &text);
	if (err)
		return err;
	add_pruned(&text, context, answer->pruned);
	if (answer->tree.metric == METRIC_LEAKED)
		suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->one_in == 0)
		with->one_in = ONE_IN;
}

const struct report report_tree = {
	.question = &question_tree,
	.text = tree_text,
	.for_text = for_text,
};
