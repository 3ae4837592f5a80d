/*
 * tree: who called whom, with what it cost. People see what is worth a look: branches of at least
 * one percent; a chain of single calls is one block without further indentation.
 */
#include "query/tree.h"

#include "report/quality.h"

enum {
	SHARE_MIN = 100, /* text: one in so many */
	SHARE_MIN_JSON = 1000,
	DEPTH_MAX = 256,
	SHARE_COLUMNS = 9,
	VALUE_COLUMNS = 12,
	CALLS_COLUMNS = 12,
	INDENT_MAX = 40
};

static enum metric metric_of(const struct report_context *context)
{
	return context->settings->has_sort ? context->settings->sort : METRIC_PEAK;
}

/* --- text ---------------------------------------------------------------------------------- */

static void add_node(struct text *text, const struct report_context *context,
		     const struct tree *tree, uint32_t index, size_t indent)
{
	const struct tree_node *node = &tree->nodes[index];
	const struct name *name = names_get(context->names, node->name);
	const uint64_t whole = metric_value(tree->metric, &tree->nodes[TREE_ROOT].total);
	const bool is_bytes = metric_is_bytes(tree->metric);
	char share[STR_SHORT_BYTES], bytes[STR_SHORT_BYTES], calls[STR_SHORT_BYTES];
	CLEAN(str_deinit) struct str place = { 0 };
	size_t columns;

	str_percent(share, metric_value(tree->metric, &node->total), whole);
	str_iec(bytes, metric_bytes(tree->metric, &node->total));
	str_grouped(calls, metric_calls(tree->metric, &node->total));
	text_right(text, TEXT_BOLD, share, SHARE_COLUMNS);
	text_right(text, TEXT_VALUE, is_bytes ? bytes : calls, VALUE_COLUMNS);
	text_right(text, TEXT_DIM, is_bytes ? calls : bytes, CALLS_COLUMNS);
	str_add_repeated(&text->out, ' ', indent + 2);
	text_place(&place, node->file, node->line, name);
	columns = SHARE_COLUMNS + VALUE_COLUMNS + CALLS_COLUMNS + indent + 4 +
		  str_width(str_text(&place));
	text_function(text, TEXT_PLAIN, name->function,
		      text->width > columns + 24 ? text->width - columns : 24);
	str_add(&text->out, "  ");
	text_add(text, TEXT_DIM, str_text(&place));
	str_add_char(&text->out, '\n');
}

static bool is_only_child(const struct tree *tree, const struct tree_node *node)
{
	return tree->nodes[node->parent].first_child != TREE_NONE &&
	       tree->nodes[tree->nodes[node->parent].first_child].next_sibling == TREE_NONE;
}

static void add_title(struct text *text, const struct report_context *context,
		      const struct tree *tree)
{
	const struct model_stack_sums *total = &tree->nodes[TREE_ROOT].total;
	CLEAN(str_deinit) struct str title = { 0 };

	if (metric_is_bytes(tree->metric))
		str_add_iec(&title, metric_value(tree->metric, total));
	else
		str_add_grouped(&title, metric_value(tree->metric, total));
	str_add_char(&title, ' ');
	str_add(&title, metric_title(tree->metric));
	text_add(text, TEXT_BOLD, str_text(&title));
	text_add(text, TEXT_DIM,
		 context->settings->is_bottom_up
			 ? "   bottom-up: under each function, who called it"
			 : "   top-down: under each function, what it called");
	str_add_char(&text->out, '\n');
}

static struct err *tree_text(const struct report_context *context, const struct tree *tree,
			     FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(free) uint8_t *indents = calloc(tree->count, 1);
	const size_t top = context->settings->top;
	size_t shown = 0;

	if (!indents)
		return err_nomem();
	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	add_title(&text, context, tree);
	for (uint32_t node = tree_next(tree, TREE_ROOT, true); node != TREE_NONE;
	     node = tree_next(tree, node, true)) {
		const struct tree_node *at = &tree->nodes[node];
		const uint8_t outer = indents[at->parent];

		indents[node] = !is_only_child(tree, at) && outer < INDENT_MAX
					? (uint8_t)(outer + 2)
					: outer;
		if (top && ++shown > top)
			break;
		add_node(&text, context, tree, node, indents[node]);
	}
	text_style(&text, TEXT_DIM);
	if (tree->pruned_count > 0) {
		str_add(&text.out, "\nBranches under ");
		str_add_ratio(&text.out, 100, SHARE_MIN, 0);
		str_add(&text.out, " % are left out: ");
		str_add_grouped(&text.out, tree->pruned_count);
		str_add(&text.out, " of them. --json has those down to 0.1 %.\n");
	}
	text_style(&text, TEXT_PLAIN);
	quality_text(&text, context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_node_facts(struct emit *emit, const struct report_context *context,
			    const struct tree *tree, uint32_t index)
{
	const struct tree_node *node = &tree->nodes[index];
	const struct name *name = names_get(context->names, node->name);

	emit_u64(emit, "id", index, EMIT_PLAIN);
	if (node->parent == TREE_ROOT)
		emit_null(emit, "parent");
	else
		emit_u64(emit, "parent", node->parent, EMIT_PLAIN);
	emit_u64(emit, "depth", node->depth - 1, EMIT_PLAIN);
	emit_text(emit, "function", name->function);
	emit_text(emit, "file", node->file);
	if (node->line)
		emit_u64(emit, "line", node->line, EMIT_PLAIN);
	else
		emit_null(emit, "line");
	emit_text(emit, "module", name->module[0] ? name->module : NULL);
	emit_u64(emit, "bytes", metric_bytes(tree->metric, &node->total), EMIT_BYTES);
	emit_u64(emit, "count", metric_calls(tree->metric, &node->total), EMIT_COUNT);
	emit_u64(emit, "self_bytes", metric_bytes(tree->metric, &node->self), EMIT_BYTES);
	emit_u64(emit, "self_count", metric_calls(tree->metric, &node->self), EMIT_COUNT);
}

static struct err *tree_emit(const struct report_context *context, const struct tree *tree,
			     FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "id" },	 { .key = "parent" },	  { .key = "depth" },
		{ .key = "function" },	 { .key = "file" },	  { .key = "line" },
		{ .key = "module" },	 { .key = "bytes" },	  { .key = "count" },
		{ .key = "self_bytes" }, { .key = "self_count" },
	};
	const struct emit_settings settings = { .format = context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;

	if (!emit)
		return err_nomem();
	if (is_json) {
		emit_object(emit, NULL);
		emit_text(emit, "metric", metric_words[tree->metric]);
		emit_bool(emit, "bottom_up", context->settings->is_bottom_up);
		emit_u64(emit, "bytes", metric_bytes(tree->metric, &tree->nodes[TREE_ROOT].total),
			 EMIT_BYTES);
		emit_u64(emit, "count", metric_calls(tree->metric, &tree->nodes[TREE_ROOT].total),
			 EMIT_COUNT);
		emit_u64(emit, "pruned", tree->pruned_count, EMIT_COUNT);
	}
	emit_table(emit, is_json ? "nodes" : NULL, columns, array_size(columns));
	for (uint32_t node = tree_next(tree, TREE_ROOT, true); node != TREE_NONE;
	     node = tree_next(tree, node, true)) {
		emit_row(emit);
		emit_node_facts(emit, context, tree, node);
		emit_end(emit);
	}
	emit_end(emit);
	if (is_json) {
		quality_emit(emit, context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct model_stack_sums totals = metric_totals(context->model);
	const bool is_text = context->settings->format == EMIT_TEXT;
	const struct tree_settings settings = {
		.direction = context->settings->is_bottom_up ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
		.mode = context->mode,
		.metric = metric_of(context),
		.value_min = metric_value(metric_of(context), &totals) /
			     (is_text ? SHARE_MIN : SHARE_MIN_JSON),
		.depth_max = DEPTH_MAX,
	};
	struct tree tree;
	struct err *err =
		tree_build(context->model, context->names, &settings, context->arena, &tree);

	if (err)
		return err;
	return is_text ? tree_text(context, &tree, out) : tree_emit(context, &tree, out);
}

const struct report report_tree = {
	.name = "tree",
	.summary = "who called whom, top-down or --bottom-up",
	.depth = MODEL_SUMMARY,
	.run = run,
};
