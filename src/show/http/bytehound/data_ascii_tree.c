/*
 * /data/<id>/allocation_ascii_tree: the call tree as a text table.
 */
#include "http/bytehound/data_filter.h"
#include "http/bytehound/data_tree.h"

static void add_right(struct str *line, const char *text, size_t columns)
{
	const size_t width = strlen(text);

	str_add_repeated(line, ' ', columns > width ? columns - width : 0);
	str_add(line, text);
}

/* Seconds since recording began, to the millisecond. */
static void add_time(struct str *line, uint64_t ns)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_ratio(&text, ns, 1000000000, 3);
	add_right(line, str_text(&text), 11);
}

/* For each ancestor, whether more siblings follow, then the node's own mark. */
static void add_branches(struct str *line, const struct data_tree *tree, uint32_t node,
			 struct str *marks)
{
	str_clear(marks);
	for (uint32_t at = node; tree->nodes[at].depth > 1; at = tree->nodes[at].parent) {
		const bool is_last = tree->nodes[at].next_sibling == UINT32_MAX;

		if (at == node)
			str_add_char(marks, is_last ? 'L' : 'T');
		else
			str_add_char(marks, is_last ? ' ' : 'I');
	}
	for (size_t i = marks->len; i-- > 0;) {
		switch (marks->ptr[i]) {
		case 'L':
			str_add(line, "└─");
			break;
		case 'T':
			str_add(line, "├─");
			break;
		case 'I':
			str_add(line, "│ ");
			break;
		default:
			str_add(line, "  ");
		}
	}
}

static void add_place(struct str *line, struct names *names, const struct data_node *node)
{
	const struct name *name = names_get(names, node->frame->name);

	str_add_terminal(line, name->function);
	if (node->frame->file) {
		str_add(line, " [");
		str_add_terminal(line, names_short_path(node->frame->file));
		if (node->frame->line)
			str_printf(line, ":%u", node->frame->line);
		str_add_char(line, ']');
	} else if (name->module[0]) {
		str_add(line, " [");
		str_add_terminal(line, name->module_short);
		str_add_char(line, ']');
	}
}

static struct err *line_write(const struct data_tree *tree, uint32_t index, struct names *names,
			      struct str *marks, FILE *out)
{
	const struct data_node *node = &tree->nodes[index];
	CLEAN(str_deinit) struct str line = { 0 };
	char number[STR_SHORT_BYTES];

	add_right(&line, str_iec(number, node->bytes), 11);
	add_right(&line, str_grouped(number, node->count), 14);
	add_time(&line, node->first_ns);
	add_time(&line, node->last_ns);
	str_add(&line, "  ");
	add_branches(&line, tree, index, marks);
	if (node->frame)
		add_place(&line, names, node);
	else
		str_add(&line, "(all)");
	str_add_char(&line, '\n');
	if (line.failed || marks->failed)
		return err_nomem();
	return fwrite(line.ptr, 1, line.len, out) == line.len ? NULL : err_errno("write");
}

/* In pre-order. */
static uint32_t next(const struct data_tree *tree, uint32_t node)
{
	if (tree->nodes[node].first_child != UINT32_MAX)
		return tree->nodes[node].first_child;
	while (node != 0 && tree->nodes[node].next_sibling == UINT32_MAX)
		node = tree->nodes[node].parent;
	return node == 0 ? UINT32_MAX : tree->nodes[node].next_sibling;
}

static struct err *run(struct call *call)
{
	CLEAN(str_deinit) struct str marks = { 0 };
	const struct selection *selection;
	struct names *names;
	struct data_tree tree;
	struct err *err = data_select(call, &selection);

	if (!err)
		err = call_names(call, &names);
	if (!err)
		err = data_tree_build(call, selection, names, &tree);
	if (err)
		return err;
	fprintf(call->out, "%11s%14s%11s%11s  %s\n", "SIZE", "COUNT", "FIRST", "LAST", "SOURCE");
	if (tree.nodes[0].count == 0)
		return NULL;
	for (uint32_t node = 0; node != UINT32_MAX && !err; node = next(&tree, node))
		err = line_write(&tree, node, names, &marks, call->out);
	return err;
}

static const struct param params[] = { DATA_FILTER_PARAMS };

const struct route route_data_ascii_tree = {
	.path = "/data/{c}/allocation_ascii_tree",
	.summary =
		"the tree of calls as text: bytes, allocations, seconds of the first and the last",
	.type = "text/plain; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
