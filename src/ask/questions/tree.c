#include "questions/tree.h"

#include "groups/measure.h"
#include "questions/questions.h"

enum { ONE_IN_USUAL = 1000, DEPTH_MAX = 256 };

struct tree_row {
	const char *direction;
	uint64_t id, parent, depth;
	const char *function, *file;
	uint64_t line;
	const char *module;
	uint64_t bytes, count;
	uint64_t self_bytes, self_count;
};

static const struct member node_members[] = {
	MEMBER(struct tree_row, id, PLAIN, NULL),
	MEMBER(struct tree_row, parent, PLAIN, "its id; parents come before their children",
	       .nullable = true),
	MEMBER(struct tree_row, depth, PLAIN, "0: no parent"),
	MEMBER(struct tree_row, function, TEXT, "name of the function"),
	MEMBER(struct tree_row, file, TEXT, "its source file", .nullable = true),
	MEMBER(struct tree_row, line, PLAIN, "line in the source file", .nullable = true),
	MEMBER(struct tree_row, module, TEXT, "path of the program or library", .nullable = true),
	MEMBER(struct tree_row, bytes, BYTES, "of the metric, and all below"),
	MEMBER(struct tree_row, count, COUNT, "blocks or allocations"),
	MEMBER(struct tree_row, self_bytes, BYTES, "allocated by itself"),
	MEMBER(struct tree_row, self_count, COUNT, NULL),
};
static const struct shape shape_node = SHAPE("TreeNode", struct tree_row, node_members);

static const struct member side_members[] = {
	MEMBER(struct tree_row, direction, TEXT, NULL),
	MEMBER_ALL_OF(struct tree_row, shape_node),
};
static const struct shape shape_side = SHAPE("TreeSide", struct tree_row, side_members);

static const struct member tree_members[] = {
	MEMBER(struct tree_answer, metric, TEXT, "the metric by which they are sorted"),
	MEMBER(struct tree_answer, bottom_up, FLAG, "begins with the functions that allocate"),
	MEMBER(struct tree_answer, function, TEXT, "the one it is about", .optional = true),
	MEMBER(struct tree_answer, bytes, BYTES, "of the metric"),
	MEMBER(struct tree_answer, count, COUNT, "blocks or allocations"),
	MEMBER(struct tree_answer, pruned, COUNT, "branches that are left out: too small"),
	MEMBER(struct tree_answer, nodes, ROWS, "parents before their children",
	       .shape = &shape_node, .optional = true, .is_table = true),
	MEMBER(struct tree_answer, callers, ROWS, "who called the function", .shape = &shape_node,
	       .optional = true),
	MEMBER(struct tree_answer, callees, ROWS, "what the function called", .shape = &shape_node,
	       .optional = true),
	MEMBER(struct tree_answer, sides, ROWS, NULL, .shape = &shape_side, .optional = true,
	       .is_table = true, .is_column = true),
	MEMBER(struct tree_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_tree = SHAPE("Tree", struct tree_answer, tree_members);

static struct tree_row row_of(const struct asked *asked, const struct tree *tree, uint32_t index,
			      const char *direction)
{
	const struct tree_node *node = &tree->nodes[index];
	const struct name *name = names_get(asked->names, node->name);

	return (struct tree_row) {
		.direction = direction,
		.id = index,
		.parent = node->parent == TREE_ROOT ? SHAPE_NONE : node->parent,
		.depth = node->depth - 1,
		.function = name->function,
		.file = node->file,
		.line = node->line ? node->line : SHAPE_NONE,
		.module = name->module[0] ? name->module : NULL,
		.bytes = metric_bytes(tree->metric, &node->total),
		.count = metric_calls(tree->metric, &node->total),
		.self_bytes = metric_bytes(tree->metric, &node->self),
		.self_count = metric_calls(tree->metric, &node->self),
	};
}

/* Appends to items, which has room. */
static size_t nodes_add(const struct asked *asked, const struct tree *tree, const char *direction,
			struct tree_row *items)
{
	size_t count = 0;

	for (uint32_t node = tree_next(tree, TREE_ROOT, true); node != TREE_NONE;
	     node = tree_next(tree, node, true))
		items[count++] = row_of(asked, tree, node, direction);
	return count;
}

static enum metric metric_asked(const struct asked *asked)
{
	return metric_of_stacks(asked->sort);
}

static struct err *build(const struct asked *asked, const struct sums *sums,
			 enum tree_direction direction, const struct focus *focus,
			 struct tree *tree_ret)
{
	const struct tree_settings settings = {
		.direction = direction,
		.mode = asked->mode,
		.metric = metric_asked(asked),
		.share_min = asked->with->one_in ? (uint32_t)asked->with->one_in : ONE_IN_USUAL,
		.depth_max = DEPTH_MAX,
		.focus = focus,
	};

	return tree_build(sums, asked->names, &settings, asked->arena, tree_ret);
}

static struct err *whole_find(const struct asked *asked, const struct sums *sums,
			      struct tree_answer *answer)
{
	struct tree_row *items;
	struct err *err =
		build(asked, sums, asked->with->bottom_up ? TREE_BOTTOM_UP : TREE_TOP_DOWN, NULL,
		      &answer->tree);

	if (err)
		return err;
	items = arena_array(asked->arena, answer->tree.count, sizeof(*items));
	if (!items)
		return err_nomem();
	answer->nodes.items = items;
	answer->nodes.count = nodes_add(asked, &answer->tree, NULL, items);
	answer->pruned = answer->tree.pruned_count;
	return NULL;
}

static struct err *function_find(const struct asked *asked, const struct sums *sums,
				 struct tree_answer *answer)
{
	struct tree_row *items;
	struct focus focus;
	size_t up;
	struct err *err =
		focus_find(sums, asked->names, asked->with->function, asked->arena, &focus);

	if (!err)
		err = build(asked, sums, TREE_TOP_DOWN, &focus, &answer->tree);
	if (!err)
		err = build(asked, sums, TREE_BOTTOM_UP, &focus, &answer->up);
	if (err)
		return err;
	items = arena_array(asked->arena, answer->tree.count + answer->up.count, sizeof(*items));
	if (!items)
		return err_nomem();
	up = nodes_add(asked, &answer->up, "caller", items);
	answer->callers = (struct shape_rows) { .items = items, .count = up };
	answer->callees = (struct shape_rows) {
		.items = items + up,
		.count = nodes_add(asked, &answer->tree, "callee", items + up),
	};
	answer->sides = (struct shape_rows) { .items = items, .count = up + answer->callees.count };
	answer->function = asked->with->function;
	answer->pruned = answer->tree.pruned_count + answer->up.pruned_count;
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct tree_answer *answer = result;
	const struct measure measure = { .metric = metric_asked(asked), .scan = asked->with->scan };
	const struct model_stack_sums *total;
	struct sums sums;
	struct err *err = measure_sums(asked->selection, &measure, asked->arena, &sums);

	if (!err)
		err = asked->with->function ? function_find(asked, &sums, answer)
					    : whole_find(asked, &sums, answer);
	if (err)
		return err;
	total = &answer->tree.nodes[TREE_ROOT].total;
	answer->metric = metric_words_all[measure.metric];
	answer->whole = metric_value(measure.metric, &sums.total);
	answer->bottom_up = asked->with->bottom_up;
	answer->bytes = metric_bytes(answer->tree.metric, total);
	answer->count = metric_calls(answer->tree.metric, total);
	return about_find(asked, &answer->about);
}

static bool needs_rows(const struct parameters *with)
{
	return with->sort && strcmp(with->sort, metric_words_all[METRIC_STALE]) == 0;
}

static struct err *check(const struct parameters *with)
{
	if (with->scan &&
	    (!with->sort || strcmp(with->sort, metric_words_all[METRIC_RETAINED]) != 0))
		return err_new(ERR_USAGE, "a leak scan is for the metric retained");
	return NULL;
}

const struct question question_tree = {
	.name = "tree",
	.summary = "who called whom, top-down or --bottom-up, or around one --function",
	.shape = &shape_tree,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(bottom_up) | TAKES(function) | TAKES(one_in) | TAKES(scan) | TAKES(top),
	.selects = true,
	.sorts = metric_words_stacks,
	.needs_rows = needs_rows,
	.sort = METRIC_PEAK,
	.check = check,
	.ask = ask,
};
