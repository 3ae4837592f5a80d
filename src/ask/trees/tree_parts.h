/*
 * tree_parts: a tree being built. Internal to trees; others see tree.h.
 *
 * Both directions work the same way, like a radix sort: what has come to a node - stacks on their
 * way outwards, or branches of the tree of stacks on their way inwards - is grouped by the next
 * function, and only groups that are big enough become nodes and are looked into. So nothing is
 * symbolized that is not near to something shown, and what is shown is exact.
 */
#ifndef MEMTAPE_TREES_TREE_PARTS_H
#define MEMTAPE_TREES_TREE_PARTS_H

#include "base/sort.h"
#include "base/vec.h"
#include "trees/tree.h"

VEC_DEFINE(tree_nodes, struct tree_node);

struct builder {
	const struct model *model;
	struct names *names;
	const struct tree_settings *settings;
	struct sums sums;   /* with totals */
	uint64_t value_min; /* smaller ones are not built */
	uint32_t path_at;   /* how much of the path was found */
	struct tree_nodes nodes;
	uint64_t pruned_count;
};

/* What has come to one function below a node. */
struct run {
	uint32_t node; /* the parent, then the node that was made; TREE_NONE: too small, or too deep
			*/
	size_t begin;  /* of those who came */
	size_t end;
};

VEC_DEFINE(runs, struct run);

/* Whether the settings leave this frame out. */
bool tree_hides(const struct builder *builder, const struct name_frame *frame);

/* A walk as the settings have it. */
struct walk tree_walk_begin(const struct builder *builder, uint32_t stack);

/* A node of its own for the group, unless it is too small: then the run's node is TREE_NONE. */
struct err *tree_run_place(struct builder *builder, struct run *run, const struct name_frame *frame,
			   const struct model_stack_sums *total);

/* A node that is reached from several lines has none. */
void tree_node_place_merge(struct tree_node *node, const struct name_frame *frame);

/* Fill the builder's nodes below the root, which is there. */
struct err *tree_build_top_down(struct builder *builder);
struct err *tree_build_bottom_up(struct builder *builder);
struct err *tree_build_folded(struct builder *builder); /* either way, without recursion */

#endif
