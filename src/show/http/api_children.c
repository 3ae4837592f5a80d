/*
 * /api/v1/children: a page of the children of a call tree node.
 */
#include "http/api_trees.h"

enum { PATH_ONLY_CHILDREN = 1 };

struct child {
	struct api_function function;
	uint64_t total, self, allocations, peak, leaked, children;
};

struct children {
	const char *m;
	uint64_t total, count;
	struct shape_rows rows;
};

static const struct member child_members[] = {
	MEMBER(struct child, function, FLAT, NULL, .shape = &api_shape_function),
	MEMBER(struct child, total, PLAIN, "of the metric, in it and what it calls"),
	MEMBER(struct child, self, PLAIN, "of the metric, allocated by itself"),
	MEMBER(struct child, allocations, COUNT, NULL),
	MEMBER(struct child, peak, BYTES, NULL),
	MEMBER(struct child, leaked, BYTES, NULL),
	MEMBER(struct child, children, COUNT, "how many it has"),
};
static const struct shape shape_child = SHAPE("TreeRow", struct child, child_members);

static const struct member children_members[] = {
	MEMBER(struct children, m, TEXT, "the metric"),
	MEMBER(struct children, total, PLAIN, "of the metric, of their parent"),
	MEMBER(struct children, count, COUNT, "children there are"),
	MEMBER(struct children, rows, ROWS, "a page of them", .shape = &shape_child),
};
static const struct shape shape_children = SHAPE("TreeRows", struct children, children_members);

static struct child child_of(const struct call *call, const struct api_tree *found, uint32_t index)
{
	const struct tree_node *node = &found->tree.nodes[index];
	const struct name_frame frame = { .name = node->name,
					  .line = node->line,
					  .file = node->file };
	const enum metric metric = found->tree.metric;

	return (struct child) {
		.function = api_function_of(call->model, found->names, &frame),
		.total = metric_value(metric, &node->total),
		.self = metric_value(metric, &node->self),
		.allocations = node->total.allocated.count,
		.peak = node->total.peak.bytes,
		.leaked = node->total.leaked.bytes,
		/* Nothing is too small here: pruned nodes are children that are too deep. */
		.children = node->pruned_count,
	};
}

static struct err *rows_fill(struct call *call, const struct api_tree *found, uint32_t first,
			     struct children *children)
{
	const uint64_t skip = call_number(call, "off"), count = call_number(call, "n");
	struct child *rows = arena_array(call->arena, count, sizeof(*rows));

	if (!rows)
		return err_nomem();
	children->rows.items = rows;
	for (uint32_t node = first; node != TREE_NONE; children->count++) {
		if (children->count >= skip && children->rows.count < count)
			rows[children->rows.count++] = child_of(call, found, node);
		node = found->tree.nodes[node].next_sibling;
	}
	return NULL;
}

static struct err *find(struct call *call, void *answer)
{
	const struct api_tree_settings settings = {
		.depth_max = PATH_ONLY_CHILDREN,
		.path = "path",
		.mode = api_frames(call),
	};
	struct children *children = answer;
	const struct tree_node *parent;
	struct api_tree found;
	struct err *err = api_tree_find(call, &settings, &found);

	if (err)
		return err;
	if (found.tree.path_end < found.path_count)
		return call_blame(call, "path", err_new(ERR_NOT_FOUND, "no such node in the tree"));
	parent = &found.tree.nodes[found.tree.path_end];
	children->m = metric_words_all[call_choice(call, "m")];
	children->total = metric_value(found.tree.metric, &parent->total);
	return rows_fill(call, &found, parent->first_child, children);
}

static const struct param params[] = {
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_SCAN,
	API_PARAM_DIRECTION,
	API_PARAM_FRAMES,
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
	.shape = &shape_children,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
