#include "trees/tree.h"

#include <assert.h>

#include "sums/name_hash.h"
#include "trees/tree_parts.h"

static void builder_deinit(struct builder *builder)
{
	tree_nodes_deinit(&builder->nodes);
}

CLEAN_DEFINE_DEINIT(builder_deinit, struct builder);

static bool is_too_small(const struct builder *builder, const struct model_stack_sums *sums)
{
	const uint64_t value = metric_value(builder->settings->metric, sums);

	return value == 0 || value < builder->value_min;
}

static bool is_too_deep(const struct builder *builder, uint32_t node)
{
	const uint32_t depth_max = builder->settings->depth_max;

	return depth_max > 0 && builder->nodes.items[node].depth >= depth_max;
}

static uint32_t node_add(struct builder *builder, uint32_t parent, const struct name_frame *frame)
{
	struct tree_node *node = tree_nodes_add(&builder->nodes);

	if (!node)
		return TREE_NONE;
	*node = (struct tree_node) {
		.parent = parent,
		.first_child = TREE_NONE,
		.next_sibling = TREE_NONE,
		.depth = parent == TREE_NONE ? 0 : builder->nodes.items[parent].depth + 1,
		.name = frame->name,
		.line = frame->line,
		.file = frame->file,
	};
	return (uint32_t)(builder->nodes.count - 1);
}

void tree_node_place_merge(struct tree_node *node, const struct name_frame *frame)
{
	if (!node->file)
		return;
	if (!frame->file || (node->file != frame->file && strcmp(node->file, frame->file) != 0)) {
		node->file = NULL;
		node->line = 0;
	} else if (node->line != frame->line) {
		node->line = 0;
	}
}

static uint64_t value_min(const struct builder *builder, uint32_t node)
{
	const struct tree_settings *settings = builder->settings;
	const struct model_stack_sums *total = &builder->nodes.items[node].total;
	const uint64_t share = settings->share_min
				       ? metric_value(settings->metric, total) / settings->share_min
				       : 0;

	return u64_max(settings->value_min, share);
}

/* Nodes of the path come first, each the only child of the previous one. */
static bool is_beside_path(const struct builder *builder, uint32_t parent,
			   const struct name_frame *frame)
{
	const struct tree_settings *settings = builder->settings;

	if (parent >= settings->path_count)
		return false;
	return parent != builder->path_at ||
	       name_hash(builder->model, names_get(builder->names, frame->name)) !=
		       settings->path[parent];
}

static bool is_on_path(const struct builder *builder, uint32_t node)
{
	return node <= builder->settings->path_count;
}

bool tree_hides(const struct builder *builder, uint32_t stack, const struct name_frame *frame)
{
	return walk_hides(builder->settings->mode, builder->names, stack, frame) ||
	       walk_is_hidden(builder->settings->hidden, builder->model, builder->names, frame);
}

struct walk tree_walk_begin(const struct builder *builder, uint32_t stack)
{
	struct walk walk =
		walk_begin(builder->model, builder->names, stack, builder->settings->mode);

	walk.hidden_too = builder->settings->hidden;
	return walk;
}

struct err *tree_run_place(struct builder *builder, struct run *run, const struct name_frame *frame,
			   const struct model_stack_sums *total)
{
	assert(run->node < builder->nodes.count);
	if (is_beside_path(builder, run->node, frame)) {
		run->node = TREE_NONE;
		return NULL;
	}
	if (is_too_small(builder, total) || is_too_deep(builder, run->node)) {
		const bool has_some = metric_value(builder->settings->metric, total) > 0;

		builder->pruned_count += has_some;
		builder->nodes.items[run->node].pruned_count += has_some;
		run->node = TREE_NONE;
		return NULL;
	}
	run->node = node_add(builder, run->node, frame);
	if (run->node == TREE_NONE)
		return err_nomem();
	builder->nodes.items[run->node].total = *total;
	if (is_on_path(builder, run->node)) {
		builder->path_at = run->node;
		if (run->node == builder->settings->path_count)
			builder->value_min = value_min(builder, run->node);
	}
	return NULL;
}

/* Links each node's children, by the metric, largest first. */
static struct err *children_link(struct tree *tree)
{
	CLEAN(free) struct sort_pair *pairs = calloc(tree->count, sizeof(*pairs));

	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < tree->count; i++)
		pairs[i] = (struct sort_pair) { metric_value(tree->metric, &tree->nodes[i].total),
						(uint32_t)i };
	if (!sort_pairs(pairs, tree->count))
		return err_nomem();
	/* Pushing the smallest first to the front of each list puts the largest first. */
	for (size_t i = 0; i < tree->count; i++) {
		struct tree_node *node = &tree->nodes[pairs[i].index];

		if (node->parent == TREE_NONE)
			continue;
		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = pairs[i].index;
	}
	return NULL;
}

static struct model_stack_sums root_total(const struct builder *builder)
{
	const struct focus *focus = builder->settings->focus;
	struct model_stack_sums total = { 0 };

	if (!focus)
		return builder->sums.total;
	for (size_t i = 0; i < focus->count; i++)
		metric_sums_add(&total, &builder->sums.totals[focus->places[i].stack]);
	return total;
}

struct err *tree_build(const struct sums *sums, struct names *names,
		       const struct tree_settings *settings, struct arena *arena,
		       struct tree *tree_ret)
{
	CLEAN(arena_deinit) struct arena scratch = { 0 };
	CLEAN(builder_deinit)
	struct builder builder = {
		.model = sums->model,
		.names = names,
		.settings = settings,
		.sums = *sums,
	};
	struct tree tree = { .metric = settings->metric };
	struct err *err = sums_total_up(&builder.sums, &scratch);

	assert((unsigned)settings->metric < METRICS_KEYED);
	assert(settings->direction <= TREE_BOTTOM_UP);
	assert(settings->path_count == 0 || settings->path);
	assert(!settings->focus || settings->focus->places);
	if (err)
		return err;
	if (node_add(&builder, TREE_NONE, &(struct name_frame) { 0 }) == TREE_NONE)
		return err_nomem();
	builder.nodes.items[TREE_ROOT].total = root_total(&builder);
	if (settings->path_count == 0)
		builder.value_min = value_min(&builder, TREE_ROOT);
	err = settings->merges_recursion	     ? tree_build_folded(&builder)
	      : settings->direction == TREE_TOP_DOWN ? tree_build_top_down(&builder)
						     : tree_build_bottom_up(&builder);
	if (err)
		return err;
	tree.count = builder.nodes.count;
	tree.pruned_count = builder.pruned_count;
	tree.value_min = builder.value_min;
	tree.path_end = builder.path_at;
	tree.nodes = arena_array(arena, tree.count, sizeof(*tree.nodes));
	if (!tree.nodes)
		return err_nomem();
	memcpy(tree.nodes, builder.nodes.items, tree.count * sizeof(*tree.nodes));
	err = children_link(&tree);
	if (err)
		return err;
	assert(tree.nodes[TREE_ROOT].parent == TREE_NONE);
	assert(tree.path_end < tree.count);
	*tree_ret = tree;
	return NULL;
}

uint32_t tree_next(const struct tree *tree, uint32_t node, bool into)
{
	assert(node < tree->count);
	if (into && tree->nodes[node].first_child != TREE_NONE)
		return tree->nodes[node].first_child;
	while (node != TREE_ROOT && tree->nodes[node].next_sibling == TREE_NONE)
		node = tree->nodes[node].parent;
	return node == TREE_ROOT ? TREE_NONE : tree->nodes[node].next_sibling;
}
