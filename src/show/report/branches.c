#include "report/branches.h"

#include <assert.h>

enum { SHARE_COLUMNS = 9, VALUE_COLUMNS = 12, CALLS_COLUMNS = 12, INDENT_MAX = 40 };

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
	text_place(&place, node->file, node->line, name, text->fold ? text->width / 2 : 0);
	columns = SHARE_COLUMNS + VALUE_COLUMNS + CALLS_COLUMNS + indent + 4 +
		  str_width(str_text(&place));
	text_function(text, TEXT_PLAIN, name->brief,
		      text->width > columns + 24 ? text->width - columns : 24);
	if (place.len > 0) {
		str_add(&text->out, "  ");
		text_add(text, TEXT_DIM, str_text(&place));
	}
	str_add_char(&text->out, '\n');
}

static bool is_only_child(const struct tree *tree, const struct tree_node *node)
{
	return tree->nodes[node->parent].first_child != TREE_NONE &&
	       tree->nodes[tree->nodes[node->parent].first_child].next_sibling == TREE_NONE;
}

struct err *branches_text(struct text *text, const struct report_context *context,
			  const struct tree *tree, size_t top)
{
	CLEAN(free) uint8_t *indents = calloc(tree->count, 1);
	size_t shown = 0;

	assert(tree->count >= 1);
	assert(tree->nodes[TREE_ROOT].parent == TREE_NONE);
	if (!indents)
		return err_nomem();
	for (uint32_t node = tree_next(tree, TREE_ROOT, true); node != TREE_NONE;
	     node = tree_next(tree, node, true)) {
		const struct tree_node *at = &tree->nodes[node];
		const uint8_t outer = indents[at->parent];

		indents[node] = !is_only_child(tree, at) && outer < INDENT_MAX
					? (uint8_t)(outer + 2)
					: outer;
		if (top && ++shown > top)
			continue;
		add_node(text, context, tree, node, indents[node]);
	}
	if (top && shown > top) {
		text_style(text, TEXT_DIM);
		str_add_repeated(&text->out, ' ', SHARE_COLUMNS - 1);
		str_add(&text->out, "… and ");
		str_add_counted(&text->out, shown - top, "more line");
		str_add(&text->out, "; --top N shows N\n");
		text_style(text, TEXT_PLAIN);
	}
	return NULL;
}

void branches_total(struct str *out, const struct report_context *context, const struct tree *tree)
{
	const struct model_stack_sums *total = &tree->nodes[TREE_ROOT].total;

	assert(tree->count >= 1);
	if (metric_is_bytes(tree->metric))
		str_add_iec(out, metric_value(tree->metric, total));
	else
		str_add_grouped(out, metric_value(tree->metric, total));
	str_add_char(out, ' ');
	str_add(out, metric_title_of(tree->metric, text_goes_on(context->model)));
}
