/*
 * Folded stacks: a line per stack, "main;parse;read_block 4096" - the outermost function first,
 * then the metric's value. Read by flamegraph.pl, inferno, speedscope and others. The format has no
 * escapes, so characters that would end a frame or a line are replaced: ';' by ':' and control
 * bytes by '?'. A space may stay, because readers take the value after the last one.
 *
 * The lines are the paths of the tree of all stacks: those that look the same are merged.
 */
#include "base/arena.h"
#include "export/export.h"
#include "trees/tree.h"

static void add_frame(struct str *line, const char *function)
{
	const size_t begin = line->len;

	str_add_terminal(line, function);
	for (size_t i = begin; i < line->len; i++) {
		if (line->ptr[i] == ';')
			line->ptr[i] = ':';
	}
}

static struct err *line_write(struct str *line, uint64_t value, FILE *out)
{
	const size_t path_len = line->len;

	str_add_char(line, ' ');
	str_add_u64(line, value);
	str_add_char(line, '\n');
	if (line->failed)
		return err_nomem();
	if (fwrite(line->ptr, 1, line->len, out) != line->len)
		return err_errno("write");
	line->len = path_len;
	return NULL;
}

/* lens[d]: length of the line up to and including the frame at depth d. */
static struct err *paths_write(const struct export_context *context, const struct tree *tree,
			       size_t *lens, FILE *out)
{
	const uint64_t outside = metric_value(tree->metric, &tree->nodes[TREE_ROOT].self);
	CLEAN(str_deinit) struct str line = { 0 };

	if (outside > 0) { /* stacks with nothing but machinery */
		struct err *err;

		str_add(&line, "(outside of the program)");
		err = line_write(&line, outside, out);
		if (err)
			return err;
	}
	for (uint32_t node = tree_next(tree, TREE_ROOT, true); node != TREE_NONE;
	     node = tree_next(tree, node, true)) {
		const struct tree_node *at = &tree->nodes[node];
		const uint64_t value = metric_value(tree->metric, &at->self);
		struct err *err;

		line.len = lens[at->depth - 1];
		if (line.len > 0)
			str_add_char(&line, ';');
		add_frame(&line, names_get(context->names, at->name)->function);
		lens[at->depth] = line.len;
		err = value > 0 ? line_write(&line, value, out) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

static struct err *folded_write(const struct export_context *context, FILE *out)
{
	const struct tree_settings settings = { .mode = context->mode, .metric = context->metric };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(free) size_t *lens = NULL;
	uint32_t depth = 0;
	struct tree tree;
	struct err *err = tree_build(&context->sums, context->names, &settings, &arena, &tree);

	if (err)
		return err;
	for (size_t i = 0; i < tree.count; i++)
		depth = (uint32_t)u64_max(depth, tree.nodes[i].depth);
	lens = calloc((size_t)depth + 1, sizeof(*lens));
	if (!lens)
		return err_nomem();
	return paths_write(context, &tree, lens, out);
}

const struct export_format export_folded = {
	.name = "folded",
	.summary = "a line per stack, for flamegraph.pl, inferno, speedscope and others",
	.suffix = ".folded",
	.kind = EXPORT_SUMS,
	.has_metric = true,
	.depth = MODEL_SUMMARY,
	.write = folded_write,
};
