/*
 * /api/v1/children: the children of one node of the call tree, a page of them.
 */
#include "http/api_trees.h"

enum { PATH_ONLY_CHILDREN = 1 };

static void row_emit(struct call *call, const struct api_tree *found, uint32_t index)
{
	const struct tree_node *node = &found->tree.nodes[index];
	const struct name_frame frame = { .name = node->name,
					  .line = node->line,
					  .file = node->file };
	const enum metric metric = found->tree.metric;

	emit_object(call->emit, NULL);
	api_function(call, found->names, &frame);
	emit_u64(call->emit, "total", metric_value(metric, &node->total), EMIT_BYTES);
	emit_u64(call->emit, "self", metric_value(metric, &node->self), EMIT_BYTES);
	emit_u64(call->emit, "allocations", node->total.allocated.count, EMIT_COUNT);
	emit_u64(call->emit, "peak", node->total.peak.bytes, EMIT_BYTES);
	emit_u64(call->emit, "leaked", node->total.leaked.bytes, EMIT_BYTES);
	/* Nothing is too small here: what was pruned are the children, which are too deep. */
	emit_u64(call->emit, "children", node->pruned_count, EMIT_COUNT);
	emit_end(call->emit);
}

static void rows_emit(struct call *call, const struct api_tree *found, uint32_t first)
{
	const uint64_t skip = call_number(call, "off"), count = call_number(call, "n");
	uint64_t at = 0;

	emit_list(call->emit, "rows");
	for (uint32_t node = first; node != TREE_NONE && at < skip + count; at++) {
		if (at >= skip)
			row_emit(call, found, node);
		node = found->tree.nodes[node].next_sibling;
	}
	emit_end(call->emit);
}

static uint64_t siblings_count(const struct tree *tree, uint32_t node)
{
	uint64_t count = 0;

	for (; node != TREE_NONE; node = tree->nodes[node].next_sibling)
		count++;
	return count;
}

static struct err *run(struct call *call)
{
	const struct api_tree_settings settings = {
		.depth_max = PATH_ONLY_CHILDREN,
		.path = "path",
		.mode = WALK_FOLD,
	};
	const struct tree_node *parent;
	struct api_tree found;
	uint32_t first;
	struct err *err = api_tree_find(call, &settings, &found);

	if (err)
		return err;
	if (found.tree.path_end < found.path_count)
		return call_blame(call, "path",
				  err_new(ERR_NOT_FOUND, "there is no such node in the tree"));
	parent = &found.tree.nodes[found.tree.path_end];
	first = parent->first_child;
	emit_text(call->emit, "m", metric_words_all[call_choice(call, "m")]);
	emit_u64(call->emit, "total", metric_value(found.tree.metric, &parent->total), EMIT_BYTES);
	emit_u64(call->emit, "count", siblings_count(&found.tree, first), EMIT_COUNT);
	rows_emit(call, &found, first);
	return NULL;
}

static const struct param params[] = {
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_DIRECTION,
	{ .name = "path",
	  .kind = PARAM_PATH,
	  .doc = "the node whose children are wanted: hashes of functions from the root to it",
	  .missing = "the root" },
	API_PARAM_OFF,
	API_PARAM_N,
};

const struct route route_api_children = {
	.path = "/api/v1/children",
	.summary = "children of a node of the call tree",
	.answer = "TreeRows",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
