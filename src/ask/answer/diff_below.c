/* Where nearly all of a change is: down the tree of both sides while one child holds it. */
#include <assert.h>
#include <string.h>

#include "answer/diff.h"
#include "compare/diff_tree.h"

static const double NEARLY_ALL = 0.9;

static double node_change(const struct diff_tree *tree, uint32_t node)
{
	const uint64_t *totals = tree->nodes[node].totals;

	return diff_tree_value(tree, DIFF_B, totals[DIFF_B]) -
	       diff_tree_value(tree, DIFF_A, totals[DIFF_A]);
}

/* The child with nearly all of it; DIFF_NONE: none has. */
static uint32_t heir_find(const struct diff_tree *tree, uint32_t node, double total)
{
	uint32_t child = tree->nodes[node].first_child;

	while (child != DIFF_NONE && node_change(tree, child) / total < NEARLY_ALL)
		child = tree->nodes[child].next_sibling;
	return child;
}

struct err *diff_below_find(const struct diff_found *found, struct arena *arena,
			    struct diff_below *below_ret)
{
	const double total = diff_change(found->sides, found->diff.metric, found->totals);
	struct diff_tree tree;
	struct err *err;
	const struct name *name;
	uint32_t node = DIFF_ROOT, child;

	*below_ret = (struct diff_below) { 0 };
	if (total == 0)
		return NULL;
	err = diff_tree_build(found->sides, found->settings->mode, found->diff.metric, arena,
			      &tree);
	if (err)
		return err;
	while ((child = heir_find(&tree, node, total)) != DIFF_NONE)
		node = child;
	if (node == DIFF_ROOT)
		return NULL;
	name = diff_tree_name(&tree, node);
	if (strcmp(name->function, "main") == 0)
		return NULL;
	*below_ret = (struct diff_below) {
		.function = name->function,
		.brief = name->brief,
		.file = tree.nodes[node].file,
		.line = tree.nodes[node].line ? tree.nodes[node].line : SHAPE_NONE,
		.module = name->module,
		.hash = diff_tree_hash(&tree, node),
		.difference = node_change(&tree, node),
	};
	return NULL;
}
