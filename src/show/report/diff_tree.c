/* A comparison by stack, for programs: folded stacks with two numbers, and a tree in JSON. */
#include "report/diff_tree.h"

#include <assert.h>

#include "base/emit.h"

/* The format has no escapes, so characters that would end a frame or a line are replaced. */
static void add_frame(struct str *line, const char *function)
{
	const size_t begin = line->len;

	str_add_terminal(line, function);
	for (size_t i = begin; i < line->len; i++) {
		if (line->ptr[i] == ';')
			line->ptr[i] = ':';
	}
}

static void add_number(struct str *line, const struct diff_tree *tree, unsigned side,
		       uint64_t value)
{
	str_add_char(line, ' ');
	if (tree->sides[side].units > 1)
		str_add_double(line, diff_tree_value(tree, side, value), 3);
	else
		str_add_u64(line, value);
}

static struct err *line_write(struct str *line, const struct diff_tree *tree, uint32_t node,
			      FILE *out)
{
	const size_t path_len = line->len;

	for (unsigned side = 0; side < DIFF_SIDES; side++)
		add_number(line, tree, side, tree->nodes[node].selfs[side]);
	str_add_char(line, '\n');
	if (line->failed)
		return err_nomem();
	if (fwrite(line->ptr, 1, line->len, out) != line->len)
		return err_errno("write");
	line->len = path_len;
	return NULL;
}

static bool has_own(const struct diff_node *node)
{
	return node->selfs[DIFF_A] > 0 || node->selfs[DIFF_B] > 0;
}

struct err *diff_tree_write_folded(const struct diff_tree *tree, FILE *out)
{
	CLEAN(str_deinit) struct str line = { 0 };
	CLEAN(free) size_t *lens = NULL; /* bytes of the line up to and with the frame at a depth */
	uint32_t depth = 0;
	struct err *err = NULL;

	assert(tree->count >= 1);
	assert(tree->nodes[DIFF_ROOT].parent == DIFF_NONE);
	for (size_t i = 0; i < tree->count; i++)
		depth = (uint32_t)u64_max(depth, tree->nodes[i].depth);
	lens = calloc((size_t)depth + 1, sizeof(*lens));
	if (!lens)
		return err_nomem();
	if (has_own(&tree->nodes[DIFF_ROOT])) { /* stacks with nothing but machinery */
		str_add(&line, "(outside of the program)");
		err = line_write(&line, tree, DIFF_ROOT, out);
	}
	for (uint32_t node = diff_tree_next(tree, DIFF_ROOT, true); node != DIFF_NONE && !err;
	     node = diff_tree_next(tree, node, true)) {
		const struct diff_node *at = &tree->nodes[node];

		line.len = lens[at->depth - 1];
		if (line.len > 0)
			str_add_char(&line, ';');
		add_frame(&line, diff_tree_name(tree, node)->function);
		lens[at->depth] = line.len;
		if (has_own(at))
			err = line_write(&line, tree, node, out);
	}
	return err;
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* Integers, unless divided by one of several units of work. */
static void emit_value(struct emit *emit, const char *key, double value)
{
	if (value == (double)(int64_t)value)
		emit_i64(emit, key, (int64_t)value);
	else
		emit_ratio(emit, key, value, 3);
}

static void emit_node(struct emit *emit, const struct diff_tree *tree, uint32_t node,
		      const uint32_t *numbers)
{
	const struct diff_node *at = &tree->nodes[node];
	const struct name *name = node == DIFF_ROOT ? NULL : diff_tree_name(tree, node);
	double values[DIFF_SIDES], selfs[DIFF_SIDES];

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		values[side] = diff_tree_value(tree, side, at->totals[side]);
		selfs[side] = diff_tree_value(tree, side, at->selfs[side]);
	}
	emit_object(emit, NULL);
	if (node == DIFF_ROOT)
		emit_null(emit, "parent");
	else
		emit_u64(emit, "parent", numbers[at->parent], EMIT_PLAIN);
	emit_u64(emit, "depth", at->depth, EMIT_PLAIN);
	emit_text(emit, "function", name ? name->function : NULL);
	emit_text(emit, "module", name && name->module[0] ? name->module_short : NULL);
	emit_text(emit, "file", at->file);
	if (at->line)
		emit_u64(emit, "line", at->line, EMIT_PLAIN);
	else
		emit_null(emit, "line");
	emit_text(emit, "status", diff_status_words[diff_tree_status(tree, node)]);
	emit_value(emit, "a", values[DIFF_A]);
	emit_value(emit, "b", values[DIFF_B]);
	emit_value(emit, "difference", values[DIFF_B] - values[DIFF_A]);
	emit_value(emit, "self_a", selfs[DIFF_A]);
	emit_value(emit, "self_b", selfs[DIFF_B]);
	emit_end(emit);
}

struct err *diff_tree_write_json(const struct diff_tree *tree, FILE *out)
{
	const struct emit_settings settings = { .format = EMIT_JSON };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	CLEAN(free) uint32_t *numbers = calloc(tree->count, sizeof(*numbers));
	uint32_t count = 0;

	assert(tree->count >= 1);
	assert(tree->nodes[DIFF_ROOT].parent == DIFF_NONE);
	if (!emit || !numbers)
		return err_nomem();
	emit_object(emit, NULL);
	emit_text(emit, "metric", metric_words[tree->metric]);
	emit_list(emit, "nodes");
	for (uint32_t node = DIFF_ROOT; node != DIFF_NONE;
	     node = diff_tree_next(tree, node, true)) {
		numbers[node] = count++;
		emit_node(emit, tree, node, numbers);
	}
	emit_end(emit);
	emit_end(emit);
	return emit_finish(emit);
}
