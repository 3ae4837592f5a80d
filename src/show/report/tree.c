/*
 * tree: who called whom, with what it cost. People see what is worth a look: branches of at least
 * one percent. With --function both sides of one function: who called it, and what it called.
 */
#include "trees/tree.h"

#include "report/branches.h"
#include "report/quality.h"
#include "report/suppressed.h"

enum {
	SHARE_MIN = 100, /* text: one in so many */
	SHARE_MIN_JSON = 1000,
	DEPTH_MAX = 256,
	TREE_LINES = 60,
	FUNCTION_LINES = 18 /* of each side, where nobody says how many */
};

static enum metric metric_of(const struct report_context *context)
{
	return context->settings->has_sort ? (enum metric)context->settings->sort : METRIC_PEAK;
}

static struct err *build(const struct report_context *context, enum tree_direction direction,
			 const struct focus *focus, struct tree *tree_ret)
{
	const bool is_text = context->settings->format == EMIT_TEXT;
	const struct tree_settings settings = {
		.direction = direction,
		.mode = context->mode,
		.metric = metric_of(context),
		.share_min = is_text ? SHARE_MIN : SHARE_MIN_JSON,
		.depth_max = DEPTH_MAX,
		.focus = focus,
	};

	return tree_build(&context->sums, context->names, &settings, context->arena, tree_ret);
}

static void add_pruned(struct text *text, uint64_t count)
{
	if (count == 0)
		return;
	text_style(text, TEXT_DIM);
	str_add(&text->out, "\nBranches under ");
	str_add_ratio(&text->out, 100, SHARE_MIN, 0);
	str_add(&text->out, " % are left out: ");
	str_add_grouped(&text->out, count);
	str_add(&text->out, " of them. --json has those down to 0.1 %.\n");
	text_style(text, TEXT_PLAIN);
}

static struct emit *emit_begin(const struct report_context *context, FILE *out)
{
	const struct emit_settings settings = { .format = context->settings->format };

	return emit_create(out, &settings);
}

static void emit_facts(struct emit *emit, const struct tree *tree)
{
	const struct model_stack_sums *total = &tree->nodes[TREE_ROOT].total;

	emit_u64(emit, "bytes", metric_bytes(tree->metric, total), EMIT_BYTES);
	emit_u64(emit, "count", metric_calls(tree->metric, total), EMIT_COUNT);
}

/* --- everything ---------------------------------------------------------------------------- */

static struct err *tree_text(const struct report_context *context, const struct tree *tree,
			     FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(str_deinit) struct str title = { 0 };
	struct err *err;

	text_head(&text, context->model);
	branches_total(&title, tree);
	text_heading(&text, str_text(&title),
		     context->settings->with.bottom_up
			     ? "bottom-up: under each function, who called it"
			     : "top-down: under each function, what it called");
	err = branches_text(&text, context, tree,
			    context->settings->with.top ? context->settings->with.top : TREE_LINES);
	if (err)
		return err;
	add_pruned(&text, tree->pruned_count);
	if (tree->metric == METRIC_LEAKED)
		suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *tree_emit(const struct report_context *context, const struct tree *tree,
			     FILE *out)
{
	CLEAN(emit_destroy) struct emit *emit = emit_begin(context, out);
	const bool is_json = context->settings->format == EMIT_JSON;

	if (!emit)
		return err_nomem();
	if (is_json) {
		emit_object(emit, NULL);
		emit_text(emit, "metric", metric_words[tree->metric]);
		emit_bool(emit, "bottom_up", context->settings->with.bottom_up);
		emit_facts(emit, tree);
		emit_u64(emit, "pruned", tree->pruned_count, EMIT_COUNT);
	}
	emit_table(emit, is_json ? "nodes" : NULL, branches_columns, branches_column_count);
	branches_emit(emit, context, tree, NULL);
	emit_end(emit);
	if (is_json) {
		suppressed_emit(emit, context);
		quality_emit(emit, context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

static struct err *run_whole(const struct report_context *context, FILE *out)
{
	const bool is_up = context->settings->with.bottom_up;
	struct tree tree;
	struct err *err = build(context, is_up ? TREE_BOTTOM_UP : TREE_TOP_DOWN, NULL, &tree);

	if (err)
		return err;
	return context->settings->format == EMIT_TEXT ? tree_text(context, &tree, out)
						      : tree_emit(context, &tree, out);
}

/* --- one function -------------------------------------------------------------------------- */

static struct err *add_side(struct text *text, const struct report_context *context,
			    const struct tree *tree, const char *words)
{
	const size_t top = context->settings->with.top;

	text_heading(text, words, NULL);
	return branches_text(text, context, tree, top ? top : FUNCTION_LINES);
}

static struct err *function_text(const struct report_context *context, const struct tree *callees,
				 const struct tree *callers, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const struct model_stack_sums *total = &callees->nodes[TREE_ROOT].total;
	CLEAN(str_deinit) struct str title = { 0 };
	char share[STR_SHORT_BYTES];
	struct err *err;

	text_head(&text, context->model);
	branches_total(&title, callees);
	str_add(&title, " in ");
	text_function_short(&title, context->settings->with.function, 60);
	str_percent(share, metric_value(callees->metric, total),
		    metric_value(callees->metric, &context->sums.total));
	text_heading(&text, str_text(&title), share);
	err = add_side(&text, context, callers, "Who called it");
	if (!err)
		err = add_side(&text, context, callees, "What it called");
	if (err)
		return err;
	add_pruned(&text, callees->pruned_count + callers->pruned_count);
	if (callees->metric == METRIC_LEAKED)
		suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *function_emit(const struct report_context *context, const struct tree *callees,
				 const struct tree *callers, FILE *out)
{
	CLEAN(emit_destroy) struct emit *emit = emit_begin(context, out);
	const bool is_json = context->settings->format == EMIT_JSON;
	const size_t count = branches_column_count;
	struct emit_column *columns = arena_array(context->arena, count + 1, sizeof(*columns));

	if (!emit || !columns)
		return err_nomem();
	columns[0] = (struct emit_column) { .key = "direction" };
	memcpy(columns + 1, branches_columns, count * sizeof(*columns));
	if (is_json) {
		emit_object(emit, NULL);
		emit_text(emit, "metric", metric_words[callees->metric]);
		emit_text(emit, "function", context->settings->with.function);
		emit_facts(emit, callees);
		emit_u64(emit, "pruned", callees->pruned_count + callers->pruned_count, EMIT_COUNT);
		emit_table(emit, "callers", branches_columns, count);
		branches_emit(emit, context, callers, NULL);
		emit_end(emit);
		emit_table(emit, "callees", branches_columns, count);
		branches_emit(emit, context, callees, NULL);
		emit_end(emit);
		suppressed_emit(emit, context);
		quality_emit(emit, context);
	} else {
		emit_table(emit, NULL, columns, count + 1);
		branches_emit(emit, context, callers, "caller");
		branches_emit(emit, context, callees, "callee");
	}
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *run_function(const struct report_context *context, FILE *out)
{
	struct tree callees, callers;
	struct focus focus;
	struct err *err = focus_find(&context->sums, context->names,
				     context->settings->with.function, context->arena, &focus);

	if (!err)
		err = build(context, TREE_TOP_DOWN, &focus, &callees);
	if (!err)
		err = build(context, TREE_BOTTOM_UP, &focus, &callers);
	if (err)
		return err;
	return context->settings->format == EMIT_TEXT
		       ? function_text(context, &callees, &callers, out)
		       : function_emit(context, &callees, &callers, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	return context->settings->with.function ? run_function(context, out)
						: run_whole(context, out);
}

const struct report report_tree = {
	.name = "tree",
	.summary = "who called whom, top-down or --bottom-up, or around one --function",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.run = run,
};
